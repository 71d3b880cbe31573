# SPDX-License-Identifier: BSD-3-Clause
"""One machine of many that are trained one after the other: its own steps with the sums over
all."""

from __future__ import annotations

import time
from collections.abc import Iterator

from svmcut.base.records import record
from svmcut.base.typing import Any, ClassVar, NamedTuple
from svmcut.solvers.compose import Watched
from svmcut.solvers.protocol import Interrupted, Progress, Run, Solver, Start, constant
from svmcut.spec.schemas import OWN, Form


class Others(NamedTuple):
    """Sums over the other machines, of which those to come are at w = 0; `own` is the primal value
    of this one at w = 0."""

    iteration: int = 0
    passes: float = 0.0
    primal: float = 0.0
    dual: float = 0.0
    risk: float = 0.0
    cuts: int = 0
    support: int = 0
    evaluations: int = 0
    own: float = 0.0


class OneOfManyRun(Run):
    """The steps of the machine, with the sums over all."""

    def __init__(self, solver: OneOfMany, problem: Any, start: Start | None):
        super().__init__(solver, problem, start)
        #: Its own run.
        self.machine = Watched(solver.machine, problem, start)

    def form(self) -> Form:
        return {"machine": OWN}

    def __iter__(self) -> Iterator[Progress]:
        began = time.perf_counter()
        try:
            for progress in self.machine:
                yield self._sum(progress, began)
        except Interrupted as signal:
            raise Interrupted(self._sum(signal.progress, began)) from None
        except KeyboardInterrupt:
            others = self._solver.others
            if self.machine.last is not None or not others.iteration:
                raise
            none = Progress(0, 0.0, others.own, 0.0, others.own, 0.0, constant(None), evaluations=0)
            raise Interrupted(self._sum(none, began)) from None

    def _sum(self, p: Progress, began: float) -> Progress:
        others = self._solver.others
        primal, dual = others.primal + p.primal, others.dual + p.dual
        return p._replace(
            iteration=others.iteration + p.iteration,
            passes=others.passes + p.passes,
            primal=primal,
            dual=dual,
            gap=primal - dual,
            seconds=time.perf_counter() - began,
            cuts=others.cuts + p.cuts,
            support=others.support + p.support,
            risk=others.risk + p.risk,
            evaluations=others.evaluations + (p.evaluations or 0),
        )


@record
class OneOfMany(Solver):
    """A solver whose progress includes the other machines."""

    run = OneOfManyRun
    patience: ClassVar[int | None] = None  # the machine is watched on its own
    machine: Solver
    others: Others
