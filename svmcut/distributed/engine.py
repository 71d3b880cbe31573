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

from svmcut.distributed import placing, work
from svmcut.distributed.by_file import Folder
from svmcut.distributed.checks import check_versions, settings_warnings
from svmcut.distributed.direct import Direct, Lost, Sent, bytes_of
from svmcut.distributed.parts import Reading
from svmcut.distributed.rows import Names, folded, node_of
from svmcut.errors import ClusterError, SvmcutError, UsageError
from svmcut.messages import quoted

try:
    import dask
    from dask.distributed import Client, KilledWorker, LocalCluster, get_client, wait
except ImportError as error:
    raise UsageError(
        f"training on a cluster needs Dask, which is not here ({error}); install it with: pip install 'svmcut[dask]'"
    ) from None

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.distributed.parts import Bound, Found, Place, Sizes

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
    work_dir : str or None
        Folder that all workers see, by which long vectors go.

    Attributes
    ----------
    rounds : int
    warnings : list of str
        What a user should know of the scheduler.
    """

    def __init__(self, client: Client, work_dir: str | None = None):
        self.rounds = 0
        self.warnings: list[str] = []
        self._client, self._run = client, uuid.uuid4().hex[:12]
        self._folder = Folder(work_dir, self._run)
        self._names, self._direct = Names(lambda name, w: Sent(name, self._folder.way(name, w))), Direct(client)
        self._paths: list[Any] = []
        self._parts: list[Any] = []
        self._workers: dict[str, int] = {}
        self._lost, self._moved, self._looked, self._generation = 0, 0, 0.0, 0
        self._groups: list[tuple[int, int]] = []
        self._asked: dict[str, list] = {}

    def workers(self) -> dict[str, int]:
        """Threads by address, once there is a worker; all have this svmcut."""
        self._workers = self._first_workers()
        self.warnings += settings_warnings(self._client)
        check_versions(self._client, self._workers)
        return self._workers

    def load(self, paths: Sequence[Any], reading: Reading) -> list[Found]:
        with told(self._client):
            self._paths, self._reading = list(paths), reading
            homes = placing.homes(len(paths), self.workers())
            if len(paths) < (threads := sum(self._workers.values())):
                cut = "cut the rows into more files" if len(paths) > 1 else "cut it"
                self.warnings.append(
                    f"{len(paths)} file{'s are' if len(paths) > 1 else ' is'} work for as many of {threads} threads of "
                    f"workers; {cut}"
                )
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
            self.warnings += self._folder.warnings(max(size.features for size in known))
            self._place()
            self._looked = time.monotonic()
            return known

    def sum(self, task: Any, places: Sequence[Any], *numbers: float, each: Sequence[Any] | None = None) -> NDArray:
        self.rounds += 1
        with told(self._client):
            self._look()
            where = [self._names.place(place) for place in places]
            with contextlib.suppress(Lost):
                nodes = None if each else self._direct.sums(self._asked, task, where, numbers)
                if nodes is None:
                    nodes = self._by_tasks(task, where, numbers, each)
                return folded(nodes, len(self._parts))
            nodes, self._looked = self._by_tasks(task, where, numbers, each), -LOOK
            return folded(nodes, len(self._parts))

    def _by_tasks(
        self, task: Any, where: list[Place], numbers: tuple, each: Sequence[Any] | None
    ) -> dict[tuple[int, int], NDArray]:
        """Nodes of the tree that cover the parts."""
        ends, futures = self._ends(where), {}
        for start, stop in self._groups:
            own = None if each is None else list(each[start:stop])
            parts = self._parts[start:stop]
            futures[node_of(start, stop, len(self._parts))] = (
                self._client.submit(work.ask, task, parts, ends, numbers, own, pure=False), self._home[start]
            )  # fmt: skip
        nodes = {node: future for node, (future, _) in futures.items()}
        if len(nodes) > ADDED_HERE:
            nodes = placing.added(nodes, len(self._parts), ADDED_HERE, self._add)
        got = dict(zip(nodes, self._gathered(list(nodes.values())), strict=True))
        if len(nodes) == len(futures) and any(got[node][1] != home for node, (_, home) in futures.items()):
            self._looked = -LOOK  # a part has moved
        return {node: value for node, (value, _) in got.items()}

    def gather(self, task: Any, places: Sequence[Any]) -> list[NDArray]:
        self.rounds += 1
        with told(self._client):
            self._look()
            ends = self._ends([self._names.place(place) for place in places])
            groups = [self._client.submit(work.answers, task, self._parts[start:stop], ends, pure=False)
                      for start, stop in self._groups]  # fmt: skip
            return [item for group in self._gathered(groups) for item in group]

    def close(self) -> None:
        """Lets go of all that workers hold for this run."""
        self._raw, self._parts, self._names = [], [], Names()

    def details(self) -> dict[str, Any]:
        return {
            "partitions": len(self._paths), "rounds": self.rounds, "workers": len(self._workers),
            "workers_lost": self._lost, "bytes_moved": self._moved + self._direct.moved,
        }  # fmt: skip

    def _ends(self, where: list[Place]) -> list[tuple]:
        """Places in which tasks stand for vectors."""
        return [(names, steps, [self._literal(vector) for vector in vectors]) for names, steps, vectors in where]

    def _literal(self, vector: Sent) -> Any:
        if vector.task is None:
            self._moved += bytes_of(vector.way) * len(self._workers)
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
                key = self._key(vector.name, 0)
                vector.task = self._client.submit(work.literal, vector.way, key=key, pure=False)
        return vector.task

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
        self._moved += bytes_of(found)
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
        return dict(sorted(self._client.nthreads().items()))  # scheduler_info may be of no workers

    def _look(self) -> None:
        """Sees who came and went, now and then, and gives work to those without."""
        if time.monotonic() - self._looked < LOOK:
            return
        members = self._members()
        gone, come = self._workers.keys() - members.keys(), members.keys() - self._workers.keys()
        forced = self._looked < 0
        self._looked = time.monotonic()
        if come:
            check_versions(self._client, come)
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
        self._groups, self._asked = placing.groups(self._home, self._workers), {}
        for start, stop in self._groups:
            keys = [part.key for part in self._parts[start:stop]]
            self._asked.setdefault(self._home[start], []).append((node_of(start, stop, len(self._parts)), keys))

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
        except (TypeError, RuntimeError):  # what Dask says of encryption
            raise ClusterError(f"{quoted(scheduler or scheduler_file)}: {CERTIFICATES}") from None
        except (OSError, ValueError) as error:
            name = quoted(scheduler) if scheduler else f"that of {quoted(scheduler_file)}"
            text = " ".join(str(error).split())
            what = f"no scheduler answers at {name}: {quoted(text)}"
            raise ClusterError(f"{what}; start one with: dask scheduler") from None
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
    """Ctrl-C and a hang-up go to all processes of a terminal; those that are started from here on leave it to this."""
    resource_tracker.ensure_running()  # which would let the signal through to what it is started with
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})


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


#: What is missing where encryption cannot begin.
CERTIFICATES = (
    "this scheduler is reached by tls:// and with certificates; set DASK_DISTRIBUTED__COMM__TLS__CA_FILE, "
    "DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT and DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY"
)
#: Of a scheduler and workers that are started here.
LOCAL = {
    "distributed.scheduler.worker-ttl": "60s", "distributed.scheduler.allowed-failures": 30,
    "distributed.scheduler.work-stealing": False, "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    # what looks at the processes themselves takes 7 % of two cores otherwise
    "distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s", "distributed.worker.memory.monitor-interval": "1s",
    # scores and coefficients come and go every round: their memory stays with the process
    "distributed.nanny.pre-spawn-environ": {
        "OMP_NUM_THREADS": 1, "OPENBLAS_NUM_THREADS": 1, "MALLOC_TRIM_THRESHOLD_": 1 << 27,
        "MALLOC_MMAP_THRESHOLD_": 1 << 25,
    },
}  # fmt: skip
