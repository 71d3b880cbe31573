# SPDX-License-Identifier: BSD-3-Clause
"""Trainers of passes over structures, and cutting planes from the best point where they go no further.

Where C is large beside the features, a pass moves the dual by so little that the gap takes millions of passes, and
soft agreement of factors leaves a gap for good. Cutting planes know nothing of either. They go on where the trainer
stands still by the rule of Watch, or has made MOST_PASSES; on sets of that size they take a moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from svmcut.cutting.bundle import CutBundle
from svmcut.errors import MemoryLimitError
from svmcut.qp.checked import CheckedSimplexQp
from svmcut.solvers.cutting_plane import CuttingPlane
from svmcut.solvers.protocol import Progress, Start, Watch
from svmcut.structured.protocol import StructuredProblem

MOST_PASSES = 10_000
PATIENCE = 200  # passes
LARGEST_DIM = 250_000  # of w: beyond it the cuts would take memory that the trainer does not


class Relay:
    """A trainer, then cutting planes.

    Parameters
    ----------
    first : Solver
        Its iterations are passes.
    cuts : Callable
        Gives the same problem for cutting planes.
    """

    patience = None  # it watches the trainer itself, and cutting planes end

    def __init__(self, first, cuts: Callable[[], Any]):
        self.first, self.name, self._cuts = first, first.name, cuts
        self._then: CuttingPlane | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__.get("_then") or self.__dict__["first"], name)

    def steps(
        self, problem: StructuredProblem, start: Start | None = None, state: dict[str, Any] | None = None
    ) -> Iterator[Progress]:
        """Those of the trainer, then those of cutting planes, counted on; the bound never falls back."""
        watch, self._then = Watch(PATIENCE), None
        last = None
        self._handed = state["handed"] if state else None
        if self._handed is None:
            if state is not None:
                watch.restore(state["watch"])
            given = {"start": start} if start is not None else {}
            if state is not None:
                given["state"] = state["first"]
            self.state = lambda: {
                "handed": None, "watch": watch.state(), "first": self.first.state(), "then": None,
            }  # fmt: skip
            for last in self.first.steps(problem, **given):
                over = watch.update(last) or last.iteration >= MOST_PASSES
                yield last
                if over and not problem.stop.met(last.primal, last.dual):
                    break
            if last is None or problem.stop.met(last.primal, last.dual) or problem.model.dim > LARGEST_DIM:
                return
            self._handed = (last.iteration, last.passes, last.seconds, last.dual)
        try:
            cuts = self._cuts()
        except MemoryLimitError:
            return
        then = CuttingPlane()
        handed = self._handed
        self.state = lambda: {"handed": handed, "watch": None, "first": None, "then": then.state()}
        begin = None if last is None else Start(CutBundle(cuts.space, CheckedSimplexQp()), (last.solution(),))
        iteration, passes, seconds, lower = handed
        for p in then.steps(cuts, begin, None if last is not None else state and state["then"]):
            self._then = then
            dual = max(lower, p.dual)
            yield p._replace(
                iteration=iteration + p.iteration, passes=passes + p.passes, seconds=seconds + p.seconds, dual=dual,
                gap=p.primal - dual,
            )  # fmt: skip
            if problem.stop.met(p.primal, dual):
                return
