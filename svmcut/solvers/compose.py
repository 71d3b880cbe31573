# SPDX-License-Identifier: BSD-3-Clause
"""Runs made of runs: one that is watched to its end, and one that hands over to another solver."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from svmcut.base.records import record
from svmcut.base.typing import Any, ClassVar, NamedTuple
from svmcut.solvers.protocol import Interrupted, Progress, Run, Solver, Start, Watch, constant
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
    """One machine of many that are trained one after the other: its own steps with the sums over
    all.
    """

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
