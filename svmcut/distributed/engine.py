# SPDX-License-Identifier: BSD-3-Clause
"""Parts on the workers of Dask; only this file and connection.py import it.

Every part is a task that reads its file, every round a task for some neighbouring parts of one
worker and, if there are many, some that add. All are pure: lost results are computed again, with
the same bytes. A pickled part is the name of its file, so only the few rows that margin.py asks for
travel; a vector is a task with a literal, which workers pass on to each other. Long vectors go by
files in a folder that all workers see. Before training, workers are checked for their svmcut and
for slow settings.
"""

from __future__ import annotations

import contextlib
import functools
import io
import math
import os
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from svmcut._version import __version__
from svmcut.base.errors import ClusterError, SvmcutError, UsageError
from svmcut.base.messages import Message
from svmcut.base.typing import Any
from svmcut.distributed import connection, work
from svmcut.distributed.connection import Direct, Lost, Sent, bytes_of
from svmcut.distributed.parts import Bound, Found, Place, Reading, Sizes
from svmcut.distributed.rows import Names, fold_nodes, node_of
from svmcut.files.output import write_atomically

#: Bytes above which a vector is long: messages of Dask are meant to be smaller.
LARGE = 10_000_000


class InFile:
    """A vector in a file, which is removed with this. Pickled, it is the file's name, and arrives
    as the vector."""

    def __init__(self, path: str, w: NDArray):
        self.path, head = path, io.BytesIO()
        np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(w))
        with write_atomically(path) as output:
            output.write(head.getvalue())
            output.write(w.view(np.uint8).data)
        weakref.finalize(self, _remove, path)

    def __reduce__(self) -> Any:
        return read, (self.path,)


def read(path: str) -> NDArray[np.float64]:
    """Reads the vector of a file; raises ClusterError where this worker cannot."""
    try:
        return np.load(path)
    except OSError as error:
        text = error.strerror or str(error)
        raise ClusterError(
            "a worker cannot read {}: {}; all workers must see that folder", path, text
        ) from None


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


class Folder:
    """The folder that long vectors are written to, if there is one; raises UsageError where the
    path names none."""

    def __init__(self, path: str | None, run: str):
        if path is not None and not os.path.isdir(path):
            raise UsageError("{!r} is no folder; {work_dir} is one that all workers see", path)
        self._path, self._run = path and os.path.abspath(path), run

    def way(self, name: str, w: NDArray) -> Any:
        """The vector itself, or the file that is sent for it."""
        if self._path is None or w.nbytes <= LARGE:
            return w
        return InFile(os.path.join(self._path, f"svmcut-{self._run}-{name}.npy"), w)

    def warnings(self, features: int) -> list[str]:
        """A warning where vectors of so many features go by messages."""
        if self._path is not None or 8 * features <= LARGE:
            return []
        where = Message("name a folder that all of them see with {work_dir}")
        return [
            Message(
                "{:.0f} MB of weights go to the workers by messages; {}", 8e-06 * features, where
            )
        ]


def check_versions(client: Any, workers: Iterable[str]) -> None:
    """Refuses workers without svmcut, or with another."""
    text = "__import__('svmcut._version', fromlist=['_'])"
    versions = client.run(eval, f"{text}.__version__", workers=list(workers), on_error="return")
    for address, version in sorted(versions.items()):
        if isinstance(version, ImportError):
            raise ClusterError(
                "svmcut is missing on the worker {}; install svmcut {} there", address, __version__
            )
        if isinstance(version, str) and version != __version__:
            raise ClusterError(
                "svmcut {} is on the worker {}, and {} here; install one everywhere",
                version,
                address,
                __version__,
            )


def settings_warnings(client: Any) -> list[str]:
    """Warnings, with the command to type, where settings of the scheduler's process cost time."""

    def read(dask_scheduler: Any = None) -> list[Any]:
        import dask

        ttl, failures = (
            dask.config.get(f"distributed.scheduler.{name}", None)
            for name in ("worker-ttl", "allowed-failures")
        )
        return [dask.utils.parse_timedelta(ttl) if ttl else None, failures]

    seconds, failures = client.run_on_scheduler(read)
    warnings = []
    if (seconds or math.inf) > 120:
        warnings.append(
            "a worker that freezes holds up training for "
            f"{f'{seconds:.0f} s' if seconds else 'ever'}; start the "
            "scheduler with: DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL=60s dask scheduler"
        )
    if failures is not None and int(failures) < 10:
        warnings.append(
            f"{failures} deaths of workers under one task end training; start the scheduler with: "
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES=30 dask scheduler"
        )
    return warnings


try:
    import dask
    from dask.distributed import Client, KilledWorker, wait

    from svmcut.distributed.connection import OwnCluster, client_of, here
except ImportError as error:
    raise UsageError(
        "training on a cluster needs Dask, which is not here ({}); install it with: pip install "
        "'dask[distributed]'",
        error,
    ) from None


__all__ = ["DaskRows", "connect", "each", "here", "translate_failures"]

#: Seconds to wait for the scheduler, and for the first worker.
CONNECT, FIRST_WORKER = 30, 60
#: Seconds that training waits while all workers are gone.
WITHOUT_WORKERS = 600
#: The same where they were started here and are started again within seconds.
WITHOUT_OWN = 90
#: Seconds between looks at who the workers are.
LOOK = 2.0
#: Nodes of the tree that are added here rather than by workers.
ADDED_HERE = 8


class DaskRows:
    """Parts on the workers of a scheduler.

    work_dir: a folder that all workers see, through which long vectors go.
    """

    def __init__(self, client: Client, work_dir: str | None = None):
        #: How often the parts were asked.
        self.rounds = 0
        #: What a user should know of the scheduler.
        self.warnings: list[str] = []
        self._client, self._run = client, uuid.uuid4().hex[:12]
        self._folder = Folder(work_dir, self._run)
        self._names = Names(lambda name, w: Sent(name, self._folder.way(name, w)))
        self._direct = Direct(client)
        self._paths: list[Any] = []
        self._parts: list[Any] = []
        self._workers: dict[str, int] = {}
        self._lost, self._moved, self._looked, self._generation = 0, 0, 0.0, 0
        self._bounds: Sequence[Bound] = []
        self._groups: list[tuple[int, int]] = []
        self._asked: dict[str, list] = {}

    def workers(self) -> dict[str, int]:
        """Threads by address, once there is a worker; all have this svmcut."""
        self._workers = self._first_workers()
        self.warnings += settings_warnings(self._client)
        if (own := self._own) is not None and not own.security.require_encryption:
            self.warnings.append(connection.PLAIN)
        check_versions(self._client, self._workers)
        return self._workers

    def each(self, task: Any, jobs: Sequence[tuple]) -> list[Any]:
        with translate_failures(self._client):
            self._workers = self._workers or self.workers()
            asked = [self._client.submit(work.run, task, *job, pure=False) for job in jobs]
            return [*map(work.whole, self._client.gather(asked))]

    def load(self, paths: Sequence[Any], reading: Reading) -> list[Found | None]:
        with translate_failures(self._client):
            self._paths, self._reading = list(paths), reading
            self._workers = self._workers or self.workers()
            if len(paths) < (threads := sum(self._workers.values())):
                self.warnings.append(_idle(paths, threads))
            self._raw = self._reads()
            facts = self._surely(
                lambda: [self._client.submit(work.facts, part, pure=False) for part in self._raw]
            )
            full = [k for k, one in enumerate(facts) if one is not None]
            self._paths, self._raw = [self._paths[k] for k in full], [self._raw[k] for k in full]
            return facts

    def bind(self, bounds: Sequence[Bound]) -> list[Sizes]:
        with translate_failures(self._client):
            self._bounds = bounds
            self._parts = [
                self._client.submit(work.bind, raw, bound, key=self._key("part", index))
                for index, (raw, bound) in enumerate(zip(self._raw, bounds, strict=True))
            ]
            known = self._surely(
                lambda: [self._client.submit(work.sizes, part, pure=False) for part in self._parts]
            )
            self._raw = []
            self.warnings += self._folder.warnings(max(size.features for size in known))
            self._place()
            self._looked = time.monotonic()
            return known

    def sum(
        self, task: Any, places: Sequence[Any], *numbers: float, each: Sequence[Any] | None = None
    ) -> NDArray:
        self.rounds += 1
        with translate_failures(self._client):
            self._look()
            where = [self._names.place(place) for place in places]
            with contextlib.suppress(Lost):
                nodes = None if each else self._direct.sums(self._asked, task, where, numbers)
                if nodes is None:
                    nodes = self._by_tasks(task, where, numbers, each)
                return fold_nodes(nodes, len(self._parts))
            while True:
                with contextlib.suppress(Lost):
                    nodes, self._looked = self._by_tasks(task, where, numbers, each), -LOOK
                    return fold_nodes(nodes, len(self._parts))

    def _by_tasks(
        self, task: Any, where: list[Place], numbers: tuple, each: Sequence[Any] | None
    ) -> dict[tuple[int, int], NDArray]:
        """Nodes of the tree that cover the parts."""
        ends, futures = self._ends(where), {}
        for start, stop in self._groups:
            own = None if each is None else list(each[start:stop])
            parts = self._parts[start:stop]
            futures[node_of(start, stop, len(self._parts))] = (
                self._client.submit(work.ask, task, parts, ends, numbers, own, pure=False),
                self._home[start],
            )
        nodes = {node: future for node, (future, _) in futures.items()}
        if len(nodes) > ADDED_HERE:
            add = functools.partial(self._client.submit, work.add, pure=False)
            nodes = connection.add_neighbours(nodes, len(self._parts), ADDED_HERE, add)
        got = dict(zip(nodes, self._gather_answers(list(nodes.values())), strict=True))
        if len(nodes) == len(futures) and any(
            got[node][1] != home for node, (_, home) in futures.items()
        ):
            self._looked = -LOOK  # a part has moved
        return {node: value for node, (value, _) in got.items()}

    def gather(self, task: Any, places: Sequence[Any], *numbers: float) -> list[Any]:
        self.rounds += 1
        with translate_failures(self._client):
            self._look()
            ends = self._ends([self._names.place(place) for place in places])
            groups = self._surely(
                lambda: [
                    self._client.submit(
                        work.answers, task, self._parts[start:stop], ends, numbers, pure=False
                    )
                    for start, stop in self._groups
                ]
            )
            return [item for group in groups for item in group]

    def close(self) -> None:
        """Lets go of all that workers hold for this run."""
        self._raw, self._parts, self._names = [], [], Names()

    def details(self) -> dict[str, Any]:
        return {
            "partitions": len(self._paths),
            "rounds": self.rounds,
            "workers": len(self._workers),
            "workers_lost": self._lost,
            "bytes_moved": self._moved + self._direct.moved,
        }

    def _ends(self, where: list[Place]) -> list[tuple]:
        """Places in which tasks stand for vectors."""
        return [
            (names, steps, [self._literal(vector) for vector in vectors])
            for names, steps, vectors in where
        ]

    def _literal(self, vector: Sent) -> Any:
        if vector.task is None:
            self._moved += bytes_of(vector.way) * len(self._workers)
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
                key = self._key(vector.name, 0)
                vector.task = self._client.submit(work.literal, vector.way, key=key, pure=False)
        return vector.task

    def _key(self, what: str, index: int) -> tuple[str, int]:
        return f"svmcut-{self._run}-{what}", index

    def _reads(self) -> list[Any]:
        """Tasks that read all files, bound where that is known, each at home on a worker there is
        now."""
        self._generation += 1
        homes = connection.homes(len(self._paths), self._workers)
        bounds: Sequence[Bound | None] = self._bounds or [None] * len(self._paths)
        return [
            self._client.submit(
                work.read,
                path,
                self._reading,
                bound,
                key=self._key(f"read-{self._generation}", index),
                workers=[home],
                allow_other_workers=True,
            )
            for index, (path, home, bound) in enumerate(
                zip(self._paths, homes, bounds, strict=True)
            )
        ]

    def _surely(self, submit: Callable[[], list[Any]]) -> list[Any]:
        """Gathers the answers of tasks, and submits them again when all workers were lost."""
        while True:
            with contextlib.suppress(Lost):
                return self._gather_answers(submit())

    def _gather_answers(self, futures: list[Any]) -> list[Any]:
        """Gathers the answers of tasks; raises Lost, with all files being read again, when other
        workers have replaced all there were."""
        self._wait(futures)
        answers = [*map(work.whole, self._client.gather(futures))]
        self._moved += bytes_of(answers)
        return answers

    def _wait(self, futures: list[Any]) -> None:
        without = 0.0
        while True:
            with contextlib.suppress(TimeoutError):
                wait(futures, timeout=LOOK)
                return
            members = self._members()
            without = 0.0 if members else without + LOOK
            if members and members.keys().isdisjoint(
                self._workers
            ):  # Dask keeps tasks that were at home with those
                check_versions(self._client, members)
                self._lost += len(self._workers)
                self._workers = members
                if self._bounds:
                    self._parts = self._reads()
                    self._place()
                else:
                    self._raw = self._reads()
                raise Lost
            if (own := self._own) is not None and (
                without >= WITHOUT_OWN or (without and not own.workers)
            ):
                raise ClusterError("{}", connection.GONE)
            if without >= WITHOUT_WORKERS:
                raise ClusterError(
                    "no worker has been there for {:.0f} s; start one, and this command again",
                    without,
                )

    @property
    def _own(self) -> OwnCluster | None:
        return self._client.cluster if isinstance(self._client.cluster, OwnCluster) else None

    def _first_workers(self) -> dict[str, int]:
        """Threads by address, once there is a worker."""
        with contextlib.suppress(TimeoutError):
            self._client.wait_for_workers(1, timeout=FIRST_WORKER)
        threads = self._members()
        if not threads:
            address = self._client.scheduler_info()["address"]
            raise ClusterError(
                "no worker came to the scheduler at {} within {} s; start one with: dask worker {}",
                address,
                FIRST_WORKER,
                address,
            )
        return threads

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
        """Looks up where the parts are, and groups neighbours that are asked together: as many as a
        thread of their worker has."""
        try:
            self._wait(self._parts)
        except Lost:  # other workers are in place, and their parts were looked up then
            return
        where = self._client.who_has(self._parts)
        self._home = []
        for future in self._parts:
            homes = where.get(future.key) or ()
            self._home.append(min(homes) if homes else "")
        self._groups, self._asked = connection.groups(self._home, self._workers), {}
        for start, stop in self._groups:
            keys = [part.key for part in self._parts[start:stop]]
            self._asked.setdefault(self._home[start], []).append(
                (node_of(start, stop, len(self._parts)), keys)
            )

    def _balance(self) -> None:
        """Gives parts of the fullest workers to the emptiest, which read them; Dask moves none by
        itself."""
        moved = False
        for index, address in [*connection.transfers(self._home, self._workers)]:
            self._generation += 1
            self._parts[index] = self._client.submit(
                work.read,
                self._paths[index],
                self._reading,
                self._bounds[index],
                workers=[address],
                allow_other_workers=True,
                key=self._key(f"part-{self._generation}", index),
            )
            moved = True
        if moved:
            self._place()


def _idle(paths: Sequence[Any], threads: int) -> str:
    """The warning that there are fewer parts than threads."""
    what = "block" if isinstance(paths[0], dict) else "file"
    several = len(paths) > 1
    cut = f"cut the rows into more {what}s" if several else "cut it"
    return (
        f"{len(paths)} {what}{'s are' if several else ' is'} work for as many of {threads} threads "
        f"of workers; {cut}"
    )


@contextlib.contextmanager
def translate_failures(client: Client) -> Iterator[None]:
    """Raises failures of Dask as errors of one line; those of svmcut come through."""
    try:
        yield
    except SvmcutError:
        raise
    except KilledWorker as error:
        last = f", the last at {error.last_worker.address}" if error.last_worker else ""
        raise ClusterError(
            "{} workers died under the same task{}; where they had no memory left, use smaller "
            "files or more memory a "
            "worker",
            error.allowed_failures + 1,
            last,
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
    with translate_failures(client):
        rows.workers()
        held = client.submit(work.literal, shared, pure=False)
        return client.gather([client.submit(task, held, *job, pure=False) for job in jobs])


def connect(
    scheduler: Any, scheduler_file: str | None = None
) -> contextlib.AbstractContextManager[Any]:
    """The context of a client of a scheduler, as svmcut.distributed.connection.client_of has it."""
    return client_of(scheduler, scheduler_file, CONNECT, FIRST_WORKER)
