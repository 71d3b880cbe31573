# SPDX-License-Identifier: BSD-3-Clause
"""Work that falls into pieces none of which hangs on another: a plan says what they are, whoever is
there trains them, in any order, and the plan puts them together as one machine would.

A plan takes part by the attributes of `Splits`: how many `pieces` there are, for each a plan of its
own, and what the whole is worth and is when some are over. `split(driver, data, hands)` has the
pieces of a driver's plan trained by `hands`: `here`, in this process, or
svmcut.distributed.jobs.Hands, on workers. The driver's checkpoint keeps the pieces that are over;
limits, signals and failures are those of every run. A piece is trained by a Driver of its own with
one thread, so nothing of it may hang on threads, and its outcome travels without callables.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from svmcut.base.errors import UsageError
from svmcut.base.messages import Message
from svmcut.base.records import record, replace
from svmcut.base.typing import Any, ClassVar, NamedTuple, Protocol
from svmcut.solvers.protocol import Progress, Run, Solver, Start
from svmcut.spec import schemas
from svmcut.spec.catalog import load, plan_of
from svmcut.spec.parameters import Settings
from svmcut.spec.schemas import Form, State
from svmcut.training.driver import Driver, Ended, Plan, Stage
from svmcut.training.outcome import Objective, Outcome

Costs = tuple[float | None, float | None]
Done = Mapping[int, Outcome]


class Splits(Protocol):
    """A plan whose work falls into pieces."""

    #: True; a plan without it is one piece.
    splits: bool

    def pieces(self, objective: Objective) -> int:
        """The number of pieces."""
        ...

    def piece(self, objective: Objective, k: int) -> tuple[Plan, Costs]:
        """A plan of piece k alone, and C for it, as Driver.fit takes it."""
        ...

    def check_piece(self, objective: Objective, k: int, outcome: Outcome) -> None:
        """Refuses an outcome that is none of piece k, as a StateError."""
        ...

    def sums(self, objective: Objective, done: Done) -> Progress:
        """The progress of the whole with these pieces; the others stand where training begins."""
        ...

    def whole(self, objective: Objective, done: Done, ended: Ended) -> Outcome:
        """The judged outcome of these pieces, which are all unless a limit ended the run."""
        ...


class Work:
    """The settings, resolved, and the data that pieces are trained on; each process makes the plan
    once."""

    def __init__(self, settings: Settings, data: Any):
        self._settings, self._data = replace(settings, threads=1), data
        self._lock = threading.Lock()
        self._plan: Any = None

    def __reduce__(self):
        return Work, (self._settings, self._data)

    def train(
        self,
        objective: Objective,
        k: int,
        left: float | None,
        look: Callable[[], None] = lambda: None,
    ) -> Outcome:
        """The outcome of piece k, for which so many seconds are left; look: called at every step,
        and what it raises ends the training."""
        s = self._settings
        with self._lock:
            if self._plan is None:
                name = plan_of(s.task, s.has_kernel, s.solver, s.multiclass)
                self._plan = load(name)(self._data, s)
            plan, costs = self._plan.piece(objective, k)
        driver = Driver(plan)
        driver.settings = replace(driver.settings, time_limit=left)
        cost, example_cost = costs
        return driver.fit(cost, example_cost, lambda progress, objective: look()).portable()


#: Gives pieces and their outcomes, in the order in which they end: (work, objective, those that
#: are open, a function that gives the seconds that are left).
Hands = Callable[
    [Work, "Objective", Sequence[int], Callable[[], float | None]], Iterator[tuple[int, Outcome]]
]


def here(
    work: Work, objective: Objective, open_now: Sequence[int], left: Callable[[], float | None]
) -> Iterator[tuple[int, Outcome]]:
    """Hands of this process: a piece after the other."""
    for k in open_now:
        yield k, work.train(objective, k, left())


def is_splittable(driver: Driver) -> bool:
    """Decide if the plan's work falls into independent pieces."""
    return not _reason_not_to_split(driver)


def _reason_not_to_split(driver: Driver) -> Message | None:
    """Why its work does not fall into such pieces, if so."""
    plan: Any = driver.plan
    if not getattr(plan, "splits", False):
        return Message(
            "{}: this training is one piece of work, which workers cannot share; leave out "
            "{scheduler}",
            plan.path,
        )
    if driver.settings.max_iterations is not None:
        return Message(
            "{max_iterations} counts the steps of one machine after the other; leave it out beside "
            "{scheduler}"
        )
    return None


def split(driver: Driver, data: Any, hands: Hands) -> None:
    """Has the pieces of a driver's plan trained by these hands; the driver is as make_driver gives
    it for the data. Raises UsageError where there is one piece alone, or pieces hang on each other.
    """
    if (reason := _reason_not_to_split(driver)) is not None:
        raise UsageError("{}", reason)
    plan: Any = driver.plan
    driver.plan = SplitPlan(plan, Work(driver.settings, data), hands)


class SplitPlan(Plan):
    """One stage: the pieces of another plan."""

    def __init__(self, plan: Any, work: Work, hands: Hands):
        super().__init__(plan.settings, plan.path, plan.units, plan.warnings)
        self._plan, self._solver = plan, Pieces(hands, work, self._time_left)
        self._began = time.perf_counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_plan"], name)

    def _time_left(self) -> float | None:
        limit = self.settings.time_limit
        return None if limit is None else max(0.0, self._began + limit - time.perf_counter())

    def stop(self, objective: Objective) -> Any:
        return self._plan.stop(objective)

    def next(self, objective: Objective, handed: dict[str, Any] | None) -> Stage:
        problem = PiecesProblem(self._plan, objective, objective.C)
        return Stage("pieces", self._solver, problem, objective)

    def finish(self, objective: Objective, handed: dict[str, Any] | None, ended: Ended) -> Outcome:
        outcome: Outcome = self._plan.whole(objective, ended.run.done, ended)
        return outcome


class PiecesProblem(NamedTuple):
    """Pieces of a plan for one C."""

    plan: Any
    objective: Objective
    C: float


class PiecesRun(Run):
    """A step for every piece that is over."""

    def __init__(self, solver: Pieces, problem: PiecesProblem, start: Start | None):
        super().__init__(solver, problem, start)
        self.done: dict[int, Outcome] = {}
        self._count = problem.plan.pieces(problem.objective)

    @property
    def _over(self) -> list[tuple[int, Outcome]]:
        return sorted(self.done.items())

    @_over.setter
    def _over(self, over: list[tuple[int, Outcome]]) -> None:
        self.done = dict(over)

    def form(self) -> Form:
        piece = schemas.row(schemas.count(0, self._count - 1), schemas.instance(Outcome))
        return {"_over": schemas.many(piece, most=self._count)}

    def restore(self, state: State) -> None:
        super().restore(state)
        for k, outcome in self.done.items():
            plan, objective, _ = self._problem
            plan.check_piece(objective, k, outcome.validate())

    def __iter__(self) -> Iterator[Progress]:
        began = time.perf_counter()
        _, objective, _ = self._problem
        yield self._progress(began)
        open_now = [k for k in range(self._count) if k not in self.done]
        solver = self._solver
        for k, outcome in solver.hands(solver.work, objective, open_now, solver.left):
            self.done[k] = outcome
            yield self._progress(began)

    def _progress(self, began: float) -> Progress:
        plan, objective, _ = self._problem
        progress: Progress = plan.sums(objective, self.done)
        extra = {"pieces_over": len(self.done), "pieces": self._count}
        return progress._replace(seconds=time.perf_counter() - began, extra=extra)


@record
class Pieces(Solver):
    """Pieces that are trained by others."""

    run = PiecesRun
    patience: ClassVar[int | None] = None  # every piece is watched on its own
    hands: Any
    work: Work
    #: Gives the seconds that are left, None without a limit.
    left: Callable[[], float | None]
