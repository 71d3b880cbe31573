# SPDX-License-Identifier: BSD-3-Clause
"""Runs made of runs: one that is watched to its end, and one that hands over to another solver."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from svmcut.base.typing import Any
from svmcut.solvers.protocol import Interrupted, Progress, Run, Solver, Start, Watch
from svmcut.spec import schemas
from svmcut.spec.schemas import OWN, Form, Kept, State


class Watched(Kept):
    """The steps of a run until it ends by itself or makes no progress.

    Its arguments are those of Solver.start, the state being one of its own, and a patience for
    Watch in place of the solver's.
    """

    def __init__(
        self,
        solver: Solver,
        problem: Any,
        start: Start | None = None,
        state: State | None = None,
        patience: int | None = None,
    ):
        self.run = solver.start(problem, start)
        patience = solver.patience if patience is None else patience
        self._watch = None if patience is None else Watch(patience)
        #: Its last step; None before the first.
        self.last: Progress | None = None
        #: Whether it was ended because it makes no progress.
        self.idle = False
        if state is not None:
            self.restore(state)

    def state(self) -> State:
        return {"watch": self._watch and self._watch.state(), "solver": self.run.state()}

    def restore(self, state: State) -> None:
        schemas.checked(state, schemas.fields(watch=schemas.anything, solver=schemas.anything))
        self.run.restore(state["solver"])
        if self._watch is not None:
            self._watch.restore(state["watch"])

    def __iter__(self) -> Iterator[Progress]:
        try:
            for progress in self.run:
                self.last = progress
                self.idle = self._watch is not None and self._watch.has_stalled(progress)
                yield progress
                if self.idle:
                    return
        except Interrupted as signal:
            self.last = signal.progress
            raise


class Continuation(Kept):
    """The run of another solver after a first one: its steps are counted on, and the bound never
    falls back."""

    called = "then"

    def __init__(self) -> None:
        #: The run that goes on, once it has begun.
        self.run: Run | None = None
        self._handed: tuple[int, float, float, float] | None = None
        self._saved: State | None = None

    def form(self) -> Form:
        real = schemas.REAL
        return {"_handed": schemas.maybe(schemas.row(schemas.COUNT, real, real, real))}

    def restore(self, state: State) -> None:
        super().restore(state)
        schemas.checked(state, schemas.fields(next=schemas.anything), self.called)
        self._saved = state["next"]

    @property
    def has_begun(self) -> bool:
        """True once the first run is over."""
        return self._handed is not None

    def begin_after(self, last: Progress) -> None:
        """Take over from this step."""
        self._handed = last.iteration, last.passes, last.seconds, last.dual

    def state(self) -> State:
        return super().state() | {"next": self.run and self.run.state()}

    def steps(
        self, whole: Run, solver: Solver, problem: Any, start: Callable[[], Start | None]
    ) -> Iterator[Progress]:
        """Yield the steps of the solver, which begins at `start` unless its state was saved;
        `whole` gets the cuts."""
        assert self._handed is not None
        iteration, passes, seconds, lower = self._handed
        saved, self._saved = self._saved, None
        self.run = solver.start(problem, start() if saved is None else None, saved)
        for p in self.run:
            whole.bundle, dual = self.run.bundle, max(lower, p.dual)
            if self.run.fractions is not None:
                whole.fractions = self.run.fractions
            yield p._replace(
                iteration=iteration + p.iteration,
                passes=passes + p.passes,
                seconds=seconds + p.seconds,
                dual=dual,
                gap=p.primal - dual,
            )


class HandOverRun(Run):
    """A run of `solver.first`, then of another solver; a subclass says when, in __iter__."""

    def __init__(
        self, solver: Any, problem: Any, start: Start | None, patience: int | None = None
    ) -> None:
        super().__init__(solver, problem, start)
        self._then = Continuation()
        self._first = Watched(solver.first, problem, start, patience=patience)

    def form(self) -> Form:
        return {"_then": OWN} | ({} if self._then.has_begun else {"_first": OWN})

    def restore(self, state: State) -> None:
        schemas.restore(self, {"_then": OWN}, state)
        super().restore(state)

    def _lead(self) -> Iterator[Progress]:
        """Yield the steps of the first run and take over its cuts."""
        first = self._first.run
        for progress in self._first:
            self.bundle, self.longest_cut = first.bundle, first.longest_cut
            yield progress
