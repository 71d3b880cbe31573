# SPDX-License-Identifier: BSD-3-Clause
"""Blocks of labels, or of nodes of a tree of them, on workers: whoever trains a block finds the
same bytes."""

from __future__ import annotations

import time
from collections.abc import Iterator

from svmcut._native.interrupt import Cancelled
from svmcut.base.errors import UsageError
from svmcut.base.records import replace
from svmcut.base.typing import Any, NamedTuple
from svmcut.data.examples import Csr
from svmcut.distributed.jobs import Hands, Jobs, task_watch
from svmcut.solvers.label_lanes import BlockResult, LabelLanes, LanesProblem, LanesRun
from svmcut.solvers.protocol import Interrupted, Progress
from svmcut.spaces.linear import LinearSpace
from svmcut.spec.catalog import TASKS
from svmcut.spec.entries import SETS
from svmcut.training.driver import Driver
from svmcut.training.label_sets import LabelBlockPlan
from svmcut.training.pieces import split

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
