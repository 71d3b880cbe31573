# SPDX-License-Identifier: BSD-3-Clause
"""Choosing C and parameters of the kernel: every cell of a grid is trained on parts of the examples
and measured on the rest of them.

The work is cut into chains that do not hang on the threads: one part of the examples, one kernel,
and at most CHAIN values of C from the smallest on, each of which starts from the solution before.
Chains are independent and run in as many threads as there are; compiled loops leave the interpreter
to the others. So neither the threads nor a stop and a resumed run change a number.
"""

from __future__ import annotations

import contextvars
import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from svmcut._native.interrupt import Cancelled, Ending
from svmcut.base.errors import UsageError
from svmcut.base.messages import Parameter
from svmcut.base.records import replace
from svmcut.base.typing import TYPE_CHECKING, Any, NamedTuple, Self
from svmcut.data.folds import make_folds, split
from svmcut.data.labels import classes_of, labels_of
from svmcut.spec import schemas
from svmcut.spec.catalog import KERNEL_PARAMETERS, KERNELS, TASKS, measures
from svmcut.spec.entries import TWO_CLASSES
from svmcut.spec.kinds import ABOVE_ZERO
from svmcut.spec.parameters import Settings
from svmcut.tasks.prediction import measure
from svmcut.tasks.protocol import Task

if TYPE_CHECKING:  # it is on the way of classify, which trains nothing
    from svmcut.training.driver import Driver

#: Most values of C of a chain.
CHAIN = 4
#: Seconds between looks of the thread that waits.
WAIT = 0.1


class Crew:
    """Threads that do one job after the other; as a context it ends with them.

    jobs: taken from its front. work: does one, and calls `check` now and then. most: the most
    threads.
    """

    def __init__(self, jobs: list[Any], work: Callable[[Any], None], most: int):
        self._jobs, self._work, self._most = jobs, work, most
        #: change: notified of what a job yields.
        #: stopping: whether jobs are to end.
        #: working: threads that have not ended.
        self.change, self.stopping, self.working = threading.Condition(), False, 0
        self._members: list[threading.Thread] = []
        self._ending = Ending()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: Any) -> None:
        self.stopping = True
        self._ending.end()
        for member in self._members:
            member.join()

    def add(self, count: int) -> None:
        """Starts so many threads, as far as there are jobs for them."""
        with self.change:
            free = min(count, len(self._jobs), self._most - len(self._members))
            self.working += free
        for _ in range(free):
            copied = contextvars.copy_context()
            member = threading.Thread(target=copied.run, args=(self._run,), daemon=True)
            member.start()
            self._members.append(member)

    def wait(self, done: Callable[[], bool], look: Callable[[], None]) -> None:
        """Until that holds; what `look` raises, which is called several times a second, ends it."""
        while not done():
            with self.change:
                self.change.wait_for(done, WAIT)
            look()

    def check(self) -> None:
        """Raises Cancelled in a job that is not to be gone on with."""
        if self.stopping:
            raise Cancelled

    def _run(self) -> None:
        try:
            with self._ending.joined():
                while (job := self._next()) is not None:
                    self._work(job)
        except Cancelled:
            pass
        finally:
            with self.change:
                self.working -= 1
                self.change.notify_all()

    def _next(self) -> Any:
        with self.change:
            return None if self.stopping or not self._jobs else self._jobs.pop(0)


Cell = dict[str, float]
Part = Callable[[], tuple[Any, Any]]
Taken = Callable[[int, "Driver", Any, float, Any], None]


def cells_of(C: Sequence[float], others: Mapping[str, Sequence[float]]) -> list[Cell]:
    """Every combination, "C" first and slowest."""
    names = ("C", *others)
    return [
        dict(zip(names, values, strict=True)) for values in itertools.product(C, *others.values())
    ]


def check_grid(kernel: str, grid: Mapping[str, Sequence]) -> None:
    """Refuses several values of what the kernel does not read, and values that stand twice, as a
    UsageError."""
    for name, values in grid.items():
        if len(values) > 1 and name in KERNEL_PARAMETERS and name not in KERNELS[kernel].takes:
            raise UsageError(
                "{} has several values and no effect with the {} kernel; leave it out",
                Parameter(name),
                kernel,
            )
        if len(set(values)) < len(values):
            raise UsageError("the same value stands twice in {}; give each once", Parameter(name))


class Chain(NamedTuple):
    """Cells that one thread trains on one part of the examples, by their places in the grid."""

    part: int
    cells: tuple[int, ...]


def chains_of(cells: Sequence[Cell], parts: int) -> list[Chain]:
    """The chains of a grid, those with the largest C first, which take the longest."""
    by_kernel: dict[tuple, list[int]] = {}
    for place, cell in enumerate(cells):
        by_kernel.setdefault(
            tuple(value for name, value in cell.items() if name != "C"), []
        ).append(place)
    chains = []
    for places in by_kernel.values():
        places.sort(key=lambda place: cells[place]["C"])
        pieces = np.array_split(places, math.ceil(len(places) / CHAIN))
        chains += [Chain(part, tuple(map(int, piece))) for piece in pieces for part in range(parts)]
    return sorted(chains, key=lambda chain: -cells[chain.cells[-1]]["C"])


def parts_of(data: Any, settings: Settings, K: int) -> tuple[list[Part], Settings, list[str]]:
    """The folds of K-fold cross-validation, the settings that train on them, and warnings.

    Raises UsageError for fewer examples, queries or sequences than folds, and for fewer than two
    rows of one of two classes; DataError as svmcut.data.labels.labels_of does.
    """
    dealt, counts, path = data, np.zeros(0, int), data.source.path
    if settings.labels == TWO_CLASSES:
        settings, positive = _name_positive(data, settings)
        dealt = replace(data, y=positive.astype(float))
    if TASKS[settings.task].has_classes:
        counts = np.unique(dealt.y, return_counts=True)[1]
    dealt_folds, least = (
        make_folds(settings.task, dealt, K, settings.seed),
        int(counts.min(initial=K)),
    )
    if least == 1 and settings.labels == TWO_CLASSES and len(counts) == 2:
        raise UsageError(
            "{} has one row of one of the classes, which cannot be both trained on and held out; "
            "choose "
            "on other examples, by {validate}",
            path,
        )
    warnings = [
        f"a class of {path} has {least} rows, fewer than the {K} folds: some hold none of it"
    ] * (least < K)

    def part(fold) -> Part:
        return lambda: split(data, fold)

    return [part(fold) for fold in dealt_folds], settings, warnings


def _name_positive(data: Any, settings: Settings) -> tuple[Settings, Any]:
    """Settings that name the positive class of two, so that all parts have the same, and the rows
    of it."""
    labels = labels_of(data.y, settings.positive, data.source.path)
    positive = classes_of(data.y, labels)[0]
    if labels is not None:
        return replace(settings, positive=labels[1]), positive
    if settings.positive != ABOVE_ZERO and positive.any():
        return replace(settings, positive=1.0), positive
    return settings, positive


def held_out(data: Any, validation: Any, settings: Settings) -> tuple[list[Part], Settings]:
    """One part: trained on all data and measured on others."""
    if settings.labels == TWO_CLASSES:
        settings = _name_positive(data, settings)[0]
    return [lambda: (data, validation)], settings


class Grid(NamedTuple):
    """The problem that the chains of a grid train, wherever that is."""

    task: Task
    #: With the threads of a chain.
    settings: Settings
    cells: list[Cell]
    parts: list[Part]
    #: Pairs for Driver.fit, one for each cell.
    costs: list[tuple[float | None, float | None]]

    def train(
        self,
        chain: Chain,
        left: float | None,
        standing: tuple[int, Any] = (0, None),
        observe: Callable[[int, Driver], None] = lambda at, driver: None,
        taken: Taken | None = None,
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """Trains the cells of a chain, and yields the place and the result of each that came to an
        end.

        left: seconds for all of them. standing: the place in the chain of the first, and the state
        to go on from. observe: called with the place in the chain and the driver. taken: as in
        Terms.
        """
        train, held = self.parts[chain.part]()
        cell = self.cells[chain.cells[0]]
        values: dict[str, Any] = {name: value for name, value in cell.items() if name != "C"}
        settings = replace(self.settings, **values)
        driver = self.task.plan(train, settings, left)
        first, state = standing
        for at, place in enumerate(chain.cells[first:], first):
            look = lambda progress, objective, at=at: observe(at, driver)  # noqa: E731
            outcome, state = driver.fit(*self.costs[place], look, state), None
            if outcome.stopped_by == "limit" and driver.is_late():
                return
            measured = measure(
                self.task, outcome.model, held, threads=settings.threads, beam=settings.beam
            )
            if taken is not None:
                taken(chain.part, driver, held, self.cells[place]["C"], outcome)
            yield place, {"values": measured, "done": outcome.done}


class Terms(NamedTuple):
    """The limits of a search, and the state that it begins with."""

    #: Seconds for the rest of the search.
    time_limit: float | None = None
    #: The `state` of an equal search, which this one continues.
    state: dict[str, Any] | None = None
    #: Whether `state` will be called.
    keep: bool = False
    #: Whether a limit has grown since: chains with a model that was stopped are trained again.
    raised: bool = False
    #: Called in a thread of its own with the part, its driver, the examples held out, C and the
    #: outcome of every model that is trained here.
    taken: Taken | None = None


#: Without a limit, from the start.
OPEN = Terms()


class Search:
    """Trains and measures every cell on every part.

    settings: checked; C and the parameters of the grid are put in their place. cells: as cells_of
    gives them. parts: each gives examples to train on and examples to measure on. whole: the driver
    of all examples, whose unit of C counts: where the loss is a sum, the weight of one example's
    loss is the same in every part.
    """

    def __init__(
        self,
        task: Task,
        settings: Settings,
        cells: list[Cell],
        parts: list[Part],
        whole: Driver,
        terms: Terms = OPEN,
    ):
        self._task, self.cells, self._parts, self._terms = task, cells, parts, terms
        self._chains = chains_of(cells, len(parts))
        self._threads = min(settings.threads, len(self._chains))
        threads = settings.threads // self._threads
        self._settings = replace(
            settings, time_limit=None, threads=threads, probability=False, initial=None
        )
        costs = [costs_of(settings, whole, cell["C"]) for cell in cells]
        self._grid = Grid(task, self._settings, cells, parts, costs)
        limit = math.inf if terms.time_limit is None else terms.time_limit
        self._end = time.perf_counter() + limit
        #: [part][cell]: measures by name, and under "done" whether training reached its stopping
        #: rule; None where it did not come to an end.
        self.results: list[list[dict[str, Any] | None]] = [[None] * len(cells) for _ in parts]
        self._standing: dict[int, tuple[int, Any]] = {}
        if terms.state is not None:
            self._restore(terms.state)
        self._failures: dict[int, BaseException] = {}
        jobs = [k for k, chain in enumerate(self._chains) if self._is_open(chain)]
        self._crew = Crew(jobs, self._work, self._threads)

    @property
    def done(self) -> int:
        """The number of models that were measured."""
        return sum(result is not None for results in self.results for result in results)

    @property
    def size(self) -> int:
        """The number of models in all."""
        return len(self.cells) * len(self._parts)

    @property
    def complete(self) -> bool:
        return self.done == self.size

    def run(self, look: Callable[[], None] = lambda: None) -> None:
        """Trains until all is done, or until the time is over.

        look: called in this thread several times a second; what it raises ends the search. Raises
        the exception of the first chain that failed.
        """
        with self._crew as crew:
            crew.add(self._threads)
            crew.wait(lambda: not crew.working, look)
        if self._failures:
            raise self._failures[min(self._failures)]

    def state(self) -> dict[str, Any]:
        """The state of the search, for `look` or after the end."""
        standing = {
            str(k): {"at": at, "driver": driver}
            for k, (at, driver) in self._standing.copy().items()
        }
        return {"results": [list(results) for results in self.results], "standing": standing}

    def values(self, name: str) -> list[list[float]]:
        """A measure of every cell on the parts it was measured on."""
        columns = zip(*self.results, strict=True)
        return [
            [result["values"][name] for result in column if result is not None]
            for column in columns
        ]

    def best(self, name: str) -> int:
        """The place of the cell whose mean of a measure is best, the first of several: of those
        that were measured on all parts, where there are any."""
        task, values = self._settings.task, self.values(name)
        sign = 1 if measures(task)[name].rises else -1

        def merit(place: int) -> tuple[bool, float]:
            mean = float(np.mean(values[place])) if values[place] else math.nan
            return len(values[place]) == len(self._parts), -math.inf if math.isnan(
                mean
            ) else sign * mean

        return max(range(len(self.cells)), key=merit)

    def rows(self, name: str) -> list[dict[str, Any]]:
        """A report of every cell: parameters, mean and standard deviation of a measure over the
        parts (nan where time was over before), its values, and whether training reached its
        stopping rule on all."""
        rows, best = [], self.best(name)
        for place, (cell, values) in enumerate(zip(self.cells, self.values(name), strict=True)):
            whole = len(values) == len(self._parts)
            column = [results[place] for results in self.results]
            mean, std = (
                (float(np.mean(values)), float(np.std(values))) if whole else (math.nan, math.nan)
            )
            converged = all(result is not None and result["done"] for result in column)
            rows.append(
                cell
                | {
                    "mean": mean,
                    "std": std,
                    "folds": values,
                    "converged": converged,
                    "selected": place == best,
                }
            )
        return rows

    def _restore(self, state: dict[str, Any]) -> None:
        result = schemas.maybe(schemas.fields(values=schemas.instance(dict), done=schemas.flag))
        results = schemas.many(result, len(self.cells), len(self.cells))
        standing = schemas.instance(dict)
        schemas.checked(
            state,
            schemas.fields(
                results=schemas.many(results, len(self._parts), len(self._parts)), standing=standing
            ),
            "search",
        )
        known = measures(self._settings.task)
        least = {name for name, row in known.items() if not (row.of_chunks or row.of_counts)}
        for one in (one for row in state["results"] for one in row if one is not None):
            whole = least <= one["values"].keys() <= known.keys()
            schemas.require(whole, "measures", ", ".join(sorted(known)))
            schemas.many(schemas.ANY_REAL)(list(one["values"].values()), "measures")
        self.results = [list(row) for row in state["results"]]
        for key, kept in state["standing"].items():
            schemas.require(
                key in map(str, range(len(self._chains))), "chains", "those of the grid"
            )
            at = schemas.count(0, len(self._chains[int(key)].cells) - 1)
            schemas.checked(kept, schemas.fields(at=at, driver=schemas.instance(dict)), "standing")
            self._standing[int(key)] = kept["at"], kept["driver"]
        if self._terms.raised:
            self._reopen()

    def _reopen(self) -> None:
        """Leaves out the results of chains with a model that did not do what it was asked for."""
        for k, chain in enumerate(self._chains):
            own = self.results[chain.part]
            results = [result for place in chain.cells if (result := own[place]) is not None]
            if not all(result["done"] for result in results):
                self._standing.pop(k, None)
                for place in chain.cells:
                    own[place] = None

    def _is_open(self, chain: Chain) -> bool:
        return any(self.results[chain.part][place] is None for place in chain.cells)

    def _work(self, k: int) -> None:
        """Trains a chain."""
        if time.perf_counter() >= self._end:
            return
        try:
            self._train(k, self._chains[k])
        except Cancelled:
            raise
        except BaseException as failure:
            self._failures[k], self._crew.stopping = failure, True

    def _train(self, k: int, chain: Chain) -> None:
        def observe(at: int, driver: Driver) -> None:
            self._crew.check()
            if self._terms.keep:
                self._standing[k] = at, driver.state()

        standing = self._standing.get(k, (0, None))
        results = self._grid.train(
            chain, self._seconds_left(), standing, observe, self._terms.taken
        )
        for place, result in results:
            self.results[chain.part][place] = result
        if not self._is_open(chain):
            self._standing.pop(k, None)

    def _seconds_left(self) -> float | None:
        """Seconds that are left of the limit."""
        return None if self._end == math.inf else max(0.0, self._end - time.perf_counter())


def costs_of(settings: Settings, whole: Driver, C: float) -> tuple[float | None, float | None]:
    """C of a part, in the unit of the original and as the weight of one example's loss, one of
    which is None."""
    if settings.cost is None:
        return None, C
    units = whole.plan.units
    weight = units.example_cost(units.objective(C, None).c)
    return (C, None) if weight is None else (None, weight)
