# SPDX-License-Identifier: BSD-3-Clause
"""Parts on the workers of Dask; the one file that imports it.

Every part is a task that reads its file, every round a task for some neighbouring parts of one worker and, of many,
some that add. All are pure: what is lost is computed again, to the same bytes. Rows never travel, for a pickled part is
the name of its file; a vector is a task with a literal, which workers pass on to each other.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any

import numpy as np

from svmcut._version import __version__
from svmcut.distributed import placing, work
from svmcut.distributed.parts import Reading
from svmcut.distributed.rows import Names, folded, node_of
from svmcut.errors import ClusterError, SvmcutError, UsageError

try:
    import dask
    from dask.distributed import Client, KilledWorker, LocalCluster, get_client, wait
except ImportError as error:
    raise UsageError(
        f"training on a cluster needs Dask, which is not here ({error}); install it with: pip install 'svmcut[dask]'"
    ) from None

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.distributed.parts import Bound, Found, Sizes

#: Seconds to wait for the scheduler, and for the first worker.
CONNECT, FIRST_WORKER = 30, 60
#: Seconds that training waits while all workers are gone.
WITHOUT_WORKERS = 600
#: Seconds between looks at who the workers are.
LOOK = 2.0
#: Nodes of the tree that are added here rather than by workers.
ADDED_HERE = 8


class DaskRows:
    """Parts on the workers of a scheduler.

    Parameters
    ----------
    client : dask.distributed.Client

    Attributes
    ----------
    rounds : int
    warnings : list of str
        What a user should know of the scheduler.
    """

    def __init__(self, client: Client):
        self.rounds = 0
        self.warnings: list[str] = []
        self._client, self._run = client, uuid.uuid4().hex[:12]
        self._names = Names(self._literal)
        self._paths: list[Any] = []
        self._parts: list[Any] = []
        self._workers: dict[str, int] = {}
        self._lost, self._moved, self._looked, self._generation = 0, 0, 0.0, 0
        self._groups: list[tuple[int, int]] = []

    def workers(self) -> dict[str, int]:
        """Threads by address, once there is a worker; all have this svmcut."""
        self._workers = self._first_workers()
        self.warnings += settings_warnings(self._client)
        self._check_versions(self._workers)
        return self._workers

    def load(self, paths: Sequence[Any], reading: Reading) -> list[Found]:
        with told(self._client):
            self._paths, self._reading = list(paths), reading
            homes = placing.homes(len(paths), self.workers())
            self._raw = [
                self._client.submit(work.read, path, reading, key=self._key("read", index), workers=[home],
                                    allow_other_workers=True)
                for index, (path, home) in enumerate(zip(paths, homes, strict=True))
            ]  # fmt: skip
            return self._gathered([self._client.submit(work.found, part, pure=False) for part in self._raw])

    def bind(self, bounds: Sequence[Bound]) -> list[Sizes]:
        with told(self._client):
            self._bounds = bounds
            self._parts = [
                self._client.submit(work.bind, raw, bound, key=self._key("part", index))
                for index, (raw, bound) in enumerate(zip(self._raw, bounds, strict=True))
            ]
            known = self._gathered([self._client.submit(work.sizes, part, pure=False) for part in self._parts])
            self._raw = []
            self._place()
            self._looked = time.monotonic()
            return known

    def sum(self, task: Any, places: Sequence[Any], *numbers: float, each: Sequence[Any] | None = None) -> NDArray:
        self.rounds += 1
        with told(self._client):
            self._look()
            where = self._where(places)
            futures = {}
            for start, stop in self._groups:
                own = None if each is None else list(each[start:stop])
                parts = self._parts[start:stop]
                futures[node_of(start, stop, len(self._parts))] = (
                    self._client.submit(work.ask, task, parts, where, numbers, own, pure=False), self._home[start]
                )  # fmt: skip
            nodes = {node: future for node, (future, _) in futures.items()}
            if len(nodes) > ADDED_HERE:
                nodes = placing.added(nodes, len(self._parts), ADDED_HERE, self._add)
            got = dict(zip(nodes, self._gathered(list(nodes.values())), strict=True))
            if len(nodes) == len(futures) and any(got[node][1] != home for node, (_, home) in futures.items()):
                self._looked = -LOOK  # a part has moved
            return folded({node: value for node, (value, _) in got.items()}, len(self._parts))

    def gather(self, task: Any, places: Sequence[Any]) -> list[NDArray]:
        self.rounds += 1
        with told(self._client):
            self._look()
            where = self._where(places)
            groups = [self._client.submit(work.answers, task, self._parts[start:stop], where, pure=False)
                      for start, stop in self._groups]  # fmt: skip
            return [item for group in self._gathered(groups) for item in group]

    def close(self) -> None:
        """Lets go of all that workers hold for this run."""
        self._raw, self._parts, self._names = [], [], Names()

    def details(self) -> dict[str, Any]:
        return {
            "partitions": len(self._paths), "rounds": self.rounds, "workers": len(self._workers),
            "workers_lost": self._lost, "bytes_moved": self._moved,
        }  # fmt: skip

    def _where(self, places: Sequence[Any]) -> list[tuple]:
        """Places in which futures stand for vectors."""
        return [tuple(self._names.place(place)) for place in places]

    def _literal(self, name: str, w: NDArray) -> Any:
        self._moved += w.nbytes * len(self._workers)
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self._client.submit(work.literal, w, key=self._key(name, 0), pure=False)

    def _key(self, what: str, index: int) -> tuple[str, int]:
        return f"svmcut-{self._run}-{what}", index

    def _gathered(self, futures: list[Any]) -> list[Any]:
        without = 0.0
        while True:
            with contextlib.suppress(TimeoutError):
                wait(futures, timeout=LOOK)
                break
            without = 0.0 if self._members() else without + LOOK
            if without >= WITHOUT_WORKERS:
                raise ClusterError(f"no worker has been there for {without:.0f} s; start one, and this command again")
        found = self._client.gather(futures)
        self._moved += sum(_bytes(item) for item in found)
        return found

    def _add(self, a: Any, b: Any) -> Any:
        return self._client.submit(work.added, a, b, pure=False)

    def _first_workers(self) -> dict[str, int]:
        """Threads by address, once there is a worker."""
        with contextlib.suppress(TimeoutError):
            self._client.wait_for_workers(1, timeout=FIRST_WORKER)
        found = self._members()
        if not found:
            address = self._client.scheduler_info()["address"]
            raise ClusterError(
                f"no worker came to the scheduler at {address} within {FIRST_WORKER} s; start one with: dask worker "
                f"{address}"
            )
        return found

    def _members(self) -> dict[str, int]:
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        return {address: worker["nthreads"] for address, worker in sorted(workers.items())}

    def _check_versions(self, workers: Any) -> None:
        """Refuses workers without svmcut, or with another."""
        text = "__import__('svmcut._version', fromlist=['_'])"
        versions = self._client.run(eval, f"{text}.__version__", workers=list(workers), on_error="return")
        for address, version in sorted(versions.items()):
            if isinstance(version, ImportError):
                raise ClusterError(f"svmcut is missing on the worker {address}; install svmcut {__version__} there")
            if isinstance(version, str) and version != __version__:
                raise ClusterError(
                    f"svmcut {version} is on the worker {address}, and {__version__} here; install one everywhere"
                )

    def _look(self) -> None:
        """Sees who came and went, now and then, and gives work to those without."""
        if time.monotonic() - self._looked < LOOK:
            return
        members = self._members()
        gone, come = self._workers.keys() - members.keys(), members.keys() - self._workers.keys()
        forced = self._looked < 0
        self._looked = time.monotonic()
        if come:
            self._check_versions(come)
        self._lost += len(gone)
        self._workers = members
        if members and (gone or come or forced):
            self._place()
            self._balance()

    def _place(self) -> None:
        """Where the parts are, and which neighbours are asked together: as many as a thread of their worker has."""
        wait(self._parts)
        where = self._client.who_has(self._parts)
        self._home = []
        for future in self._parts:
            homes = where.get(future.key) or ()
            self._home.append(min(homes) if homes else "")
        self._groups = placing.groups(self._home, self._workers)

    def _balance(self) -> None:
        """Gives parts of the fullest workers to the emptiest, which read them; Dask moves none by itself."""
        moved = False
        for index, address in [*placing.transfers(self._home, self._workers)]:
            self._generation += 1
            self._parts[index] = self._client.submit(
                work.read, self._paths[index], self._reading, self._bounds[index], workers=[address],
                allow_other_workers=True, key=self._key(f"part-{self._generation}", index),
            )  # fmt: skip
            moved = True
        if moved:
            self._place()


@contextlib.contextmanager
def told(client: Client) -> Iterator[None]:
    """Failures of Dask as one line each; those of svmcut come through."""
    try:
        yield
    except SvmcutError:
        raise
    except KilledWorker as error:
        last = f", the last at {error.last_worker.address}" if error.last_worker else ""
        raise ClusterError(
            f"{error.allowed_failures + 1} workers died under the same task{last}; where they had no memory left, use "
            "smaller files or more memory a worker"
        ) from None
    except Exception as error:
        of = type(error).__module__.partition(".")[0]
        lost = client.status != "running" or isinstance(error, OSError | TimeoutError)
        if lost or of in ("distributed", "asyncio", "tornado", "concurrent"):
            raise ClusterError("the connection to the scheduler was lost") from None
        raise


def each(client: Client, task: Callable[..., Any], shared: Any, jobs: Sequence[tuple]) -> list[Any]:
    """task(shared, *job) of every job, in their order, each where there is room."""
    rows = DaskRows(client)
    with told(client):
        rows.workers()
        held = client.submit(work.literal, shared, pure=False)
        return client.gather([client.submit(task, held, *job, pure=False) for job in jobs])


@contextlib.contextmanager
def connected(scheduler: Any, scheduler_file: str | None = None) -> Iterator[Any]:
    """A client of a scheduler: at an address, as its file says, or `local:N`, one started here with N workers.

    Raises
    ------
    ClusterError
        Where nobody answers.
    """
    for name in ("distributed", "distributed.client", "distributed.core", "distributed.comm", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with contextlib.ExitStack() as stack:
        if scheduler is not None and scheduler.startswith("local:"):
            stack.enter_context(dask.config.set(LOCAL))
            cluster = stack.enter_context(LocalCluster(
                n_workers=0, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
            ))  # fmt: skip
            cluster.sync(_spare_workers)
            cluster.scale(int(scheduler.removeprefix("local:")))
            scheduler = cluster
        try:
            if scheduler is None:
                _wait_for(scheduler_file or "")
            client = Client(scheduler, scheduler_file=scheduler_file, timeout=CONNECT)
        except (OSError, ValueError) as error:
            name = scheduler or f"that of {scheduler_file}"
            text = " ".join(str(error).split())
            raise ClusterError(f"no scheduler answers at {name}: {text}; start one with: dask scheduler") from None
        try:
            yield client
        finally:
            with contextlib.suppress(Exception):  # of a scheduler that is gone
                client.close()


def _wait_for(path: str) -> None:
    """Waits for the file of a scheduler, which may only just have been started; an OSError where none comes."""
    ends = time.monotonic() + FIRST_WORKER
    while not os.path.exists(path):
        if time.monotonic() > ends:
            raise OSError(f"there has been no such file for {FIRST_WORKER} s")
        time.sleep(0.1)


async def _spare_workers() -> None:
    """Ctrl-C goes to all processes of a terminal; those that are started from here on leave it to this one."""
    resource_tracker.ensure_running()  # which would let the signal through to what it is started with
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def here(client: Any = None) -> Client:
    """This client, or the one there is.

    Raises
    ------
    UsageError
        Where there is none.
    """
    try:
        return get_client() if client is None else client
    except ValueError:
        raise UsageError("there is no client of Dask; make one as in client=dask.distributed.Client(address)") from None


#: Of a scheduler and workers that are started here.
LOCAL = {
    "distributed.scheduler.worker-ttl": "60s", "distributed.scheduler.allowed-failures": 30,
    "distributed.scheduler.work-stealing": False, "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
}  # fmt: skip


def _bytes(found: Any) -> int:
    """Of the arrays in an answer."""
    if isinstance(found, list | tuple):
        return sum(map(_bytes, found))
    return found.nbytes if isinstance(found, np.ndarray) else 0


def settings_warnings(client: Client) -> list[str]:
    """What to type where settings of the scheduler's process cost time."""
    def read(dask_scheduler: Any = None) -> list[Any]:
        import dask as here

        names = ("worker-ttl", "allowed-failures")
        return [here.config.get(f"distributed.scheduler.{name}", None) for name in names]

    ttl, failures = client.run_on_scheduler(read)
    found = []
    seconds = dask.utils.parse_timedelta(ttl) if ttl else np.inf
    if seconds > 120:
        found.append(
            f"a worker that freezes holds up training for {'ever' if seconds == np.inf else f'{seconds:.0f} s'}; start "
            "the scheduler with: DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL=60s dask scheduler"
        )
    if failures is not None and int(failures) < 10:
        found.append(
            f"{failures} deaths of workers under one task end training; start the scheduler with: "
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES=30 dask scheduler"
        )
    return found
