# SPDX-License-Identifier: BSD-3-Clause
"""Trainers of passes over structures, and cutting planes from the best point where they go no
further.

Where C is large beside the features, a pass moves the dual by so little that the gap takes millions
of passes, and soft agreement of factors leaves a gap for good. Cutting planes know nothing of
either. They go on where the trainer stands still by the rule of Watch, or has made MOST_PASSES; on
sets of that size they take a moment.
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

MOST_PASSES = 10_000
PATIENCE = 200  # passes
LARGEST_DIM = 250_000  # of w: beyond it the cuts would take memory that the trainer does not


class RelayRun(HandOverRun):
    """The steps of the trainer, then those of cutting planes, counted on; the bound never falls
    back."""

    def __init__(self, solver: Relay, problem: StructuredProblem, start: Start | None):
        super().__init__(solver, problem, start, PATIENCE)

    def __iter__(self) -> Iterator[Progress]:
        stop, last = self._problem.stop, None
        if not self._then.taken:
            for last in self._lead():
                yield last
                if last.iteration >= MOST_PASSES:
                    break
            if last is None or stop.met(last.primal, last.dual):
                return
            self.ended_by = "cap" if last.iteration >= MOST_PASSES else None
            if self._problem.model.dim > LARGEST_DIM:
                return
        try:
            cuts = self._solver.cuts()
        except MemoryLimitError:
            return
        self.ended_by = None
        if last is not None:
            self._then.take(last)

        def start() -> Start | None:
            return last and Start(CutBundle(cuts.space, make_qp(cuts.qp)), (last.solution(),))

        for progress in self._then.steps(self, CuttingPlane(), cuts, start):
            yield progress
            if stop.met(progress.primal, progress.dual):
                return


@record
class Relay(Solver):
    """A trainer, then cutting planes.

    Parameters
    ----------
    first : Solver
        Its iterations are passes.
    cuts : Callable
        Gives the same problem for cutting planes.
    """

    run = RelayRun
    patience: ClassVar[int | None] = None  # it watches the trainer itself, and cutting planes end
    first: Solver
    cuts: Callable[[], Any]
