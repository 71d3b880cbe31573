# SPDX-License-Identifier: BSD-3-Clause
"""A solver that makes passes over structures, then cutting planes from its best point.

Where C is large against the features, a pass moves the dual so little that the gap takes millions
of passes, and soft agreement of factors leaves a gap for good. Cutting planes suffer from neither.
They go on where the first solver stalls by the rule of Watch, or has made MAX_PASSES; on sets of
that size they take a moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from svmcut.base.errors import MemoryLimitError
from svmcut.base.records import record
from svmcut.base.typing import Any, ClassVar
from svmcut.cutting.bundle import CutBundle
from svmcut.qp import make_qp
from svmcut.solvers.compose import HandOverRun
from svmcut.solvers.cutting_plane import CuttingPlane
from svmcut.solvers.protocol import Progress, Solver, Start
from svmcut.structured.protocol import StructuredProblem

MAX_PASSES = 10_000
PATIENCE = 200  # passes
LARGEST_DIM = 250_000  # of w: the cuts of larger ones need much more memory than the first solver


class RelayRun(HandOverRun):
    """The steps of the first solver, then those of cutting planes, counted on."""

    def __init__(self, solver: Relay, problem: StructuredProblem, start: Start | None):
        super().__init__(solver, problem, start, PATIENCE)

    def __iter__(self) -> Iterator[Progress]:
        stop, last = self._problem.stop, None
        if not self._then.has_begun:
            for last in self._lead():
                yield last
                if last.iteration >= MAX_PASSES:
                    break
            if last is None or stop.met(last.primal, last.dual):
                return
            self.ended_by = "cap" if last.iteration >= MAX_PASSES else None
            if self._problem.model.dim > LARGEST_DIM:
                return
        try:
            cuts = self._solver.cuts()
        except MemoryLimitError:
            return
        self.ended_by = None
        if last is not None:
            self._then.begin_after(last)

        def start() -> Start | None:
            return last and Start(CutBundle(cuts.space, make_qp(cuts.qp)), (last.solution(),))

        for progress in self._then.steps(self, CuttingPlane(), cuts, start):
            yield progress
            if stop.met(progress.primal, progress.dual):
                return


@record
class Relay(Solver):
    """A trainer, then cutting planes."""

    run = RelayRun
    patience: ClassVar[int | None] = None  # it watches the first solver itself
    #: Its iterations are passes.
    first: Solver
    #: Gives the same problem for cutting planes.
    cuts: Callable[[], Any]
