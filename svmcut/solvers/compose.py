# SPDX-License-Identifier: BSD-3-Clause
"""Runs made of runs: one that is followed to its end, and one that another solver goes on from."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from svmcut.base.typing import Any
from svmcut.solvers.protocol import Interrupted, Progress, Run, Solver, Start, Watch
from svmcut.spec import schemas
from svmcut.spec.schemas import OWN, Form, Kept, State


class Watched(Kept):
    """The steps of a run until it ends of itself or makes no progress.

    Parameters
    ----------
    solver, problem, start
        As Solver.start takes them.
    state : dict or None
        What `state` gave in another run on the same problem.
    patience : int or None
        As of Watch; None for the solver's own.

    Attributes
    ----------
    run : Run
    last : Progress or None
        Its last step; None before the first.
    idle : bool
        Whether it was ended because it makes no progress.

    Raises
    ------
    StateError, MemoryError
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
        self.last: Progress | None = None
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
                self.idle = self._watch is not None and self._watch.update(progress)
                yield progress
                if self.idle:
                    return
        except Interrupted as signal:
            self.last = signal.progress
            raise


class Then(Kept):
    """What goes on where a run leads no further: its steps are counted on from there, and the bound
    never falls back.

    Attributes
    ----------
    run : Run or None
        The run that goes on, once it has begun.
    """

    called = "then"

    def __init__(self) -> None:
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
    def taken(self) -> bool:
        """Whether the first run is over."""
        return self._handed is not None

    def take(self, last: Progress) -> None:
        """Takes over from this step."""
        self._handed = last.iteration, last.passes, last.seconds, last.dual

    def state(self) -> State:
        return super().state() | {"next": self.run and self.run.state()}

    def steps(
        self, whole: Run, solver: Solver, problem: Any, start: Callable[[], Start | None]
    ) -> Iterator[Progress]:
        """Those of the solver, which begins at `start` unless its state was kept; `whole` gets the
        cuts."""
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
    """A run of `solver.first`, and what goes on from it; a subclass says when, in __iter__."""

    def __init__(
        self, solver: Any, problem: Any, start: Start | None, patience: int | None = None
    ) -> None:
        super().__init__(solver, problem, start)
        self._then = Then()
        self._first = Watched(solver.first, problem, start, patience=patience)

    def form(self) -> Form:
        return {"_then": OWN} | ({} if self._then.taken else {"_first": OWN})

    def restore(self, state: State) -> None:
        schemas.restore(self, {"_then": OWN}, state)
        super().restore(state)

    def _lead(self) -> Iterator[Progress]:
        """The steps of the first run, whose cuts are those of the whole."""
        first = self._first.run
        for progress in self._first:
            self.bundle, self.longest_cut = first.bundle, first.longest_cut
            yield progress
