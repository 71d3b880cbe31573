# SPDX-License-Identifier: BSD-3-Clause
"""Independent jobs on workers: chains of a search, pieces, and blocks of labels or of nodes of a
tree of labels.

Shared data goes from worker to worker. A job whose worker is lost is done again, and any worker
computes the same bytes.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from svmcut._native.interrupt import Cancelled
from svmcut.base.errors import ClusterError, UsageError
from svmcut.base.records import replace
from svmcut.base.typing import Any, NamedTuple
from svmcut.data.examples import Csr
from svmcut.distributed import work
from svmcut.selection.grid import Chain, Grid, Search
from svmcut.solvers.label_lanes import BlockResult, LabelLanes, LanesProblem, LanesRun
from svmcut.solvers.protocol import Interrupted, Progress
from svmcut.spaces.linear import LinearSpace
from svmcut.spec.catalog import TASKS
from svmcut.spec.entries import SETS
from svmcut.spec.parameters import Settings
from svmcut.training.driver import Driver
from svmcut.training.label_sets import LabelBlockPlan
from svmcut.training.outcome import Objective, Outcome
from svmcut.training.pieces import Work, split

#: Seconds between looks at what is done, and without a worker before a run ends.
LOOK, WITHOUT_WORKERS = 0.05, 600
#: How often, a second apart, workers are given what jobs share where one of them is lost meanwhile.
TRIES = 60


class Jobs:
    """Jobs that run on workers, one for each thread; `shared` is the first argument of every
    job."""

    def __init__(self, client: Any, shared: Any):
        self._client, self._shared, self._held = client, shared, None
        self._running: dict[Any, Any] = {}

    def run(
        self,
        task: Callable[..., Any],
        jobs: Sequence[Any],
        arguments: Callable[[Any], tuple],
        took: Callable[[Any, Any], None],
        look: Callable[[], None],
    ) -> None:
        """Runs all jobs as `ended` does; `took` is called here with a job and its result, and
        `look` several times a second: what it raises ends all jobs."""
        for over in self.results(task, list(jobs), arguments):
            if over is not None:
                took(*over)
            look()

    def results(
        self, task: Callable[..., Any], waiting: list[Any], arguments: Callable[[Any], tuple]
    ) -> Iterator[tuple[Any, Any] | None]:
        """Yields each job with its result of task(shared, *arguments(job)) in the order in which
        they end, and None several times a second.

        waiting: the jobs; one that is added meanwhile runs too. `arguments` is called when a job is
        sent. Raises the exception of the first job that failed, and ClusterError when there is no
        worker for long.
        """
        without = 0.0
        try:
            while waiting or self._running:
                threads = sum(self._client.nthreads().values())
                without = 0.0 if threads else without + LOOK
                if without >= WITHOUT_WORKERS:
                    raise ClusterError("no worker has been there for {:.0f} s; start one", without)
                while waiting and len(self._running) < threads:
                    job = waiting.pop(0)
                    future = self._submit(task, arguments(job))
                    self._running[future] = job
                ended = [future for future in self._running if future.done()]
                for future in ended:
                    job = self._running.pop(future)
                    if future.status in ("lost", "cancelled"):
                        waiting.insert(0, job)
                        self._held = None
                    else:
                        yield job, work.whole(future.result())
                yield None
                if not ended:
                    time.sleep(LOOK)
        finally:
            with contextlib.suppress(Exception):  # of a scheduler that is gone
                self._client.cancel([*self._running])
            self._running, self._held = {}, None

    def put(self, value: Any) -> Any:
        """A future of a value on some worker, for what is too large for messages of the
        scheduler."""
        tries = 0
        while True:
            try:
                (held,) = self._client.scatter([value], hash=False)
                return held
            except (OSError, KeyError):  # a worker is just going
                tries += 1
                if tries == TRIES or self._client.status != "running":
                    raise
                time.sleep(1.0)

    def _submit(self, task: Callable[..., Any], arguments: tuple) -> Any:
        if self._held is None:
            self._held = self.put(self._shared)
        return self._client.submit(work.run, task, self._held, *arguments, pure=False)


class SpreadSearch(Search):
    """A Search whose chains are trained by workers, each in one thread, to the same numbers."""

    def __init__(self, client: Any, task: Any, settings: Settings, *given: Any):
        super().__init__(task, replace(settings, threads=1), *given)
        self._client = client

    def run(self, look: Callable[[], None] = lambda: None) -> None:
        open_now = [k for k, chain in enumerate(self._chains) if self._is_open(chain)]

        def arguments(k: int) -> tuple:
            return self._chains[k], self._seconds_left(), self._standing.get(k, (0, None))

        def took(k: int, finished: list[tuple[int, dict[str, Any]]]) -> None:
            chain = self._chains[k]
            for place, result in finished:
                self.results[chain.part][place] = result
            if not self._is_open(chain):
                self._standing.pop(k, None)

        def watched() -> None:
            look()
            if self._seconds_left() == 0.0:
                raise _Over

        from svmcut.distributed.engine import translate_failures  # which needs Dask

        with contextlib.suppress(_Over), translate_failures(self._client):
            Jobs(self._client, self._grid).run(train_chain, open_now, arguments, took, watched)


class Hands:
    """Hands of svmcut.training.pieces that are workers: each thread of one takes a piece."""

    def __init__(self, client: Any):
        self._client = client

    def __call__(
        self,
        work: Work,
        objective: Objective,
        open_now: Sequence[int],
        left: Callable[[], float | None],
    ) -> Iterator[tuple[int, Outcome]]:
        from svmcut.distributed.engine import translate_failures  # which needs Dask

        arguments = lambda k: (objective, k, left())  # noqa: E731
        with translate_failures(self._client):
            for over in Jobs(self._client, work).results(piece, list(open_now), arguments):
                if over is not None:
                    yield over


def piece(work: Work, objective: Objective, k: int, left: float | None) -> Outcome:
    """The outcome of a piece, trained where it is sent."""
    is_wanted = task_watch()

    def look() -> None:
        if not is_wanted():
            raise Cancelled

    return work.train(objective, k, left, look)


class _Over(Exception):
    """The time is."""


def train_chain(
    grid: Grid, chain: Chain, left: float | None, standing: tuple[int, Any]
) -> list[tuple[int, dict[str, Any]]]:
    """The results of a chain, trained where it is sent; see Grid.train."""
    is_wanted = task_watch()

    def observe(at: int, driver: Any) -> None:
        if not is_wanted():
            raise Cancelled

    return list(grid.train(chain, left, standing, observe))


def task_watch() -> Callable[[], bool]:
    """Says whether the task of this thread is still waited for."""
    modules = sys.modules
    worker = modules["distributed"].get_worker()
    key = modules["distributed.worker"].thread_state.key

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state != "cancelled"

    return is_wanted


#: Seconds after which a block that is not over comes back, to stand in a checkpoint.
STRETCH = 5.0


class Shared(NamedTuple):
    """The part of a run that all blocks need; the rows go without their C++ objects."""

    solver: LabelLanes
    #: Without its space.
    problem: LanesProblem
    #: Of the space, like `bias`.
    X: Csr
    bias: float


class Sent:
    """The machines of a block, as a worker last sent them."""

    def __init__(self, states: list[Any]):
        self._states = states

    def state(self) -> list[Any]:
        """The state, as of label_lanes.Block."""
        return self._states

    def best_weights(self) -> list[Any]:
        """The best weights, as of label_lanes.Block."""
        return [state["best"] for state in self._states]


class Crew:
    """Trains the blocks of a run on workers, one for each thread."""

    def __init__(self, client: Any):
        self._client = client

    def __call__(self, run: LanesRun) -> Iterator[Progress]:
        """Yields a step of a run whenever a block ends or was trained for a while; raises
        ClusterError."""
        from svmcut.distributed.engine import translate_failures  # which needs Dask

        solver, problem = run.solver_and_problem
        space = problem.space
        shared = Shared(
            replace(solver, crew=None), replace(problem, space=None), space.X, space.bias
        )
        waiting = [b for b in range(run.blocks) if not run.is_over(b)]

        def arguments(b: int) -> tuple[Any, ...]:
            return b, jobs.put(run.going[b].state()) if b in run.going else None, STRETCH

        jobs = Jobs(self._client, shared)
        with translate_failures(self._client):
            try:
                for ended in jobs.results(stretch, waiting, arguments):
                    if ended is None:
                        continue
                    b, (known, states) = ended
                    run.take_step(b, known, Sent(states))
                    if states is not None:
                        waiting.insert(0, b)
                    yield run.progress()
            except KeyboardInterrupt:
                if not run.results:
                    raise
                raise Interrupted(run.progress()) from None


def share(driver: Driver, data: Any, client: Any) -> None:
    """Has workers train the blocks of labels of a driver, or the pieces of other tasks; raises
    UsageError where there is nothing to share."""
    plan = driver.plan
    if TASKS[driver.settings.task].labels != SETS:
        split(driver, data, Hands(client))
    elif isinstance(plan, LabelBlockPlan):
        plan.crew = Crew(client)
    else:
        raise UsageError(
            "{scheduler} spreads blocks of labels over workers; add {pairs=none} and {label_block}"
        )


def stretch(shared: Shared, b: int, states: Any, seconds: float) -> tuple[BlockResult, Any]:
    """A block, trained where it is sent for so many seconds; see LanesRun.train_block."""
    is_wanted, ends = task_watch(), time.monotonic() + seconds

    def goes_on() -> bool:
        if not is_wanted():
            raise Cancelled
        return time.monotonic() < ends

    space = LinearSpace(shared.X, shared.bias, 1)
    run = shared.solver.run(shared.solver, replace(shared.problem, space=space), None)
    return run.train_block(b, states, goes_on)
