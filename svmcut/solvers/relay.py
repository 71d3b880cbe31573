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
from typing import Any, ClassVar

from svmcut.cutting.bundle import CutBundle
from svmcut.errors import MemoryLimitError
from svmcut.qp import make_qp
from svmcut.solvers.cutting_plane import CuttingPlane
from svmcut.solvers.protocol import Progress, Run, Solver, Start, State, Watch, continued
from svmcut.spec import schemas
from svmcut.spec.records import record
from svmcut.structured.protocol import StructuredProblem

MOST_PASSES = 10_000
PATIENCE = 200  # passes
LARGEST_DIM = 250_000  # of w: beyond it the cuts would take memory that the trainer does not


class RelayRun(Run):
    """The steps of the trainer, then those of cutting planes, counted on; the bound never falls
    back."""

    def __init__(
        self, solver: Relay, problem: StructuredProblem, start: Start | None, state: State | None
    ):
        super().__init__(solver, problem, start, state)
        self._watch, self._then = Watch(PATIENCE), None
        self._handed = None
        if state is not None:
            counted = schemas.row(schemas.COUNT, schemas.REAL, schemas.REAL, schemas.REAL)
            schemas.checked(state, schemas.fields(handed=schemas.maybe(counted)))
            self._handed, self._then = state["handed"], state["then"]
        if self._handed is None:
            if state is not None:
                self._watch.restore(state["watch"])
            self._run: Run = solver.first.start(problem, start, state and state["first"])

    def state(self) -> State:
        if self._handed is None:
            return {
                "handed": None,
                "watch": self._watch.state(),
                "first": self._run.state(),
                "then": None,
            }
        return {"handed": self._handed, "watch": None, "first": None, "then": self._run.state()}

    def __iter__(self) -> Iterator[Progress]:
        problem, last, begin, handed = self._problem, None, None, self._handed
        if handed is None:
            for last in self._run:
                self.bundle, self.longest_cut = self._run.bundle, self._run.longest_cut
                over = self._watch.update(last) or last.iteration >= MOST_PASSES
                yield last
                if over and not problem.stop.met(last.primal, last.dual):
                    break
            if last is None or problem.stop.met(last.primal, last.dual):
                return
            self.ended_by = "cap" if last.iteration >= MOST_PASSES else None
            if problem.model.dim > LARGEST_DIM:
                return
            handed = (last.iteration, last.passes, last.seconds, last.dual)
        try:
            cuts = self._solver.cuts()
        except MemoryLimitError:
            return
        self.ended_by = None
        if last is not None:
            begin = Start(CutBundle(cuts.space, make_qp(cuts.qp)), (last.solution(),))
        self._run, self._handed = CuttingPlane().start(cuts, begin, self._then), handed
        for progress in continued(self._run, *handed):
            self.bundle = self._run.bundle
            yield progress
            if problem.stop.met(progress.primal, progress.dual):
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
