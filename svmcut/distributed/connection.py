# SPDX-License-Identifier: BSD-3-Clause
"""Clients of Dask's schedulers, running ones or one started here with workers for a run; and direct
messages to workers.

Direct messages replace tasks of the scheduler: one to every worker that has parts, and one back,
which is half as many steps between processes, and known vectors are not sent again. Lost work is
not repeated here: if a worker or a part is gone, it is `Lost`, and the round is done by tasks, with
the same bytes. The placement of parts on workers is decided here too.
"""

from __future__ import annotations

import contextlib
import datetime
import logging
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing import resource_tracker

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, Security, get_client
from numpy.typing import NDArray

from svmcut.base.errors import ClusterError, SvmcutError, UsageError
from svmcut.base.typing import Any
from svmcut.distributed import work
from svmcut.distributed.parts import Place

#: Of an elliptic curve, which costs no time; for a day or so, as whoever has the key has the
#: certificate too.
_NAME, _DAYS = "svmcut", 30
_OPENSSL = (
    "openssl",
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-sha256",
    "-days",
    str(_DAYS),
    "-subj",
    f"/CN={_NAME}",
    "-addext",
    f"subjectAltName=DNS:{_NAME}",
)
GONE = (
    "all workers of local:N are gone, and none came up again; where they had no memory left, use "
    "fewer of them or "
    "smaller files"
)
PLAIN = (
    "workers of local:N are reached without encryption, on 127.0.0.1 alone, where every user of "
    "this machine may reach "
    "them; install the Python package cryptography or the program openssl"
)
#: Of Dask's scheduler and workers that are started here. A worker that ended has the first of these
#: to come again.
SETTINGS: dict[str, Any] = {
    "distributed.deploy.lost-worker-timeout": "80s",
    "distributed.scheduler.worker-ttl": "60s",
    "distributed.scheduler.allowed-failures": 30,
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    # what looks at the processes themselves takes 7 % of two cores otherwise
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "1s",
    # scores and coefficients come and go every round: their memory stays with the process
    "distributed.nanny.pre-spawn-environ": {
        "OMP_NUM_THREADS": 1,
        "OPENBLAS_NUM_THREADS": 1,
        "MALLOC_TRIM_THRESHOLD_": 1 << 27,
        "MALLOC_MMAP_THRESHOLD_": 1 << 25,
    },
}


def make_credentials() -> tuple[str, str] | None:
    """Return a key and a certificate as PEM texts, made by the library `cryptography` or by
    openssl; None without both."""
    for make in (_by_library, _by_program):
        with contextlib.suppress(ImportError, OSError, subprocess.SubprocessError, ValueError):
            return make()
    return None


def _by_library() -> tuple[str, str]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, _NAME)])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - datetime.timedelta(hours=1))
    builder = builder.not_valid_after(now + datetime.timedelta(days=_DAYS))
    builder = builder.add_extension(
        x509.SubjectAlternativeName([x509.DNSName(_NAME)]), critical=False
    )
    certificate = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, *form).decode(), certificate.decode()


def _by_program() -> tuple[str, str]:
    with tempfile.TemporaryDirectory() as folder:  # of this user alone
        paths = [os.path.join(folder, name) for name in ("key", "certificate")]
        line = [*_OPENSSL, "-keyout", paths[0], "-out", paths[1]]
        subprocess.run(line, check=True, capture_output=True, timeout=60)
        texts = []
        for path in paths:
            with open(path, encoding="ascii") as file:
                texts.append(file.read())
        key, certificate = texts
        return key, certificate


#: By address, of the schedulers that this process has started and not yet stopped.
_OWN: dict[str, Security] = {}
#: What is missing where encryption cannot begin.
CERTIFICATES = (
    "this scheduler is reached by tls:// and with certificates; set "
    "DASK_DISTRIBUTED__COMM__TLS__CA_FILE, "
    "DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT and DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY"
)


class OwnCluster(LocalCluster):
    """A scheduler and workers that svmcut started for one run."""


@contextlib.contextmanager
def client_of(
    scheduler: Any, scheduler_file: str | None, seconds: float, patience: float
) -> Iterator[Any]:
    """A client of a scheduler: at an address, as its file says, or of `local:N`, one started here
    with N workers.

    It has so many seconds to answer, and its file so much patience to come; raises ClusterError
    where nobody answers.
    """
    for name in (
        "distributed",
        "distributed.client",
        "distributed.core",
        "distributed.comm",
        "tornado",
        "asyncio",
    ):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with contextlib.ExitStack() as stack:
        if scheduler is not None and scheduler.startswith("local:"):
            stack.enter_context(dask.config.set(SETTINGS))
            cluster = stack.enter_context(
                OwnCluster(
                    n_workers=0,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                    security=_own_security(),
                )
            )
            cluster.sync(_spare_workers)
            cluster.scale(int(scheduler.removeprefix("local:")))
            _OWN[cluster.scheduler_address] = cluster.security
            stack.callback(_OWN.pop, cluster.scheduler_address)
            scheduler = cluster
        try:
            if scheduler is None:
                _wait_for(scheduler_file or "", patience)
            known = _OWN.get(scheduler) if isinstance(scheduler, str) else None
            client = Client(
                scheduler, scheduler_file=scheduler_file, timeout=seconds, security=known
            )
        except (TypeError, RuntimeError):  # what Dask says of encryption
            raise ClusterError("{}: {}", scheduler or scheduler_file, CERTIFICATES) from None
        except (OSError, ValueError) as error:
            name = scheduler if scheduler else f"that of {scheduler_file}"
            text = " ".join(str(error).split())
            what = f"no scheduler answers at {name}: {text}"
            raise ClusterError("{}; start one with: dask scheduler", what) from None
        try:
            yield client
        finally:
            with contextlib.suppress(Exception):  # of a scheduler that is gone
                client.close()


def _own_security() -> Security:
    """Credentials of one run, in memory alone; no encryption where nothing here makes them."""
    made = make_credentials()
    if made is None:
        return Security(require_encryption=False)
    names = [f"tls_{role}_" for role in ("client", "scheduler", "worker")]
    parts = {
        name + what: text
        for name in names
        for what, text in zip(("key", "cert"), made, strict=True)
    }
    return Security(require_encryption=True, tls_ca_file=made[1], **parts)


def _wait_for(path: str, patience: float) -> None:
    """Waits for the file of a scheduler, which may only just have been started; an OSError where
    none comes."""
    ends = time.monotonic() + patience
    while not os.path.exists(path):
        if time.monotonic() > ends:
            raise OSError(f"there has been no such file for {patience} s")
        time.sleep(0.1)


async def _spare_workers() -> None:
    """Ctrl-C and a hang-up go to all processes of a terminal; those that are started from here on
    leave it to this."""
    # which would let the signal through to what it is started with
    resource_tracker.ensure_running()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})


def here(client: Any = None) -> Client:
    """The client given, or the current one; raises UsageError where there is none, and for an
    asynchronous one."""
    try:
        used = get_client() if client is None else client
    except ValueError:
        raise UsageError(
            "there is no client of Dask; make one as in client=dask.distributed.Client(address)"
        ) from None
    if getattr(used, "asynchronous", False):
        raise UsageError(
            "this client is asynchronous, and training waits for its answers; use "
            "Client(address) without asynchronous=True, in a coroutine by asyncio.to_thread"
        )
    return used


#: Bytes of vectors a round up to which the scheduler passes them on; above, workers give them to
#: each other.
MOST_PASSED = 100e6


class Lost(Exception):
    """A worker did not answer, or not with what it was to have."""


class Sent:
    """A vector with its name and what is sent for it, the task it is where it went by tasks, and
    whether workers know it directly."""

    def __init__(self, name: str, way: Any):
        self.name, self.way, self.is_known = name, way, False
        self.task: Any = None


class Direct:
    """Questions to workers that have parts."""

    def __init__(self, client: Any):
        #: moved: bytes of vectors sent and of answers.
        self._client, self.moved = client, 0

    def sums(
        self,
        asked: Mapping[str, list],
        task: Callable[..., NDArray],
        places: Sequence[Place],
        numbers: tuple,
    ) -> dict[tuple[int, int], NDArray] | None:
        """Nodes of the tree that cover the parts; None where the vectors are too long for this
        road.

        asked: by address of a worker, nodes of the tree with the keys of their parts. Raises Lost.
        """
        vectors = [vector for place in places for vector in place.vectors]
        if (
            not asked
            or len(asked) * bytes_of([vector.way for vector in vectors[-1:]]) > MOST_PASSED
        ):
            return None
        by_name = [(place.names, place.steps) for place in places]
        for again in (False, True):
            new = {vector.name: vector.way for vector in vectors if again or not vector.is_known}
            self.moved += len(asked) * bytes_of(list(new.values()))
            answers = self._client.run(
                work.sums,
                task,
                asked,
                by_name,
                new,
                numbers,
                workers=list(asked),
                on_error="return",
            )
            for vector in vectors:
                vector.is_known = True
            for answer in answers.values():
                if isinstance(answer, SvmcutError):
                    raise answer
            if all(isinstance(answer, dict) for answer in answers.values()):
                nodes = {
                    node: value for answer in answers.values() for node, value in answer.items()
                }
                self.moved += bytes_of(list(nodes.values()))
                return nodes
            if any(isinstance(answer, Exception) for answer in answers.values()):
                break
        raise Lost


def bytes_of(answer: Any) -> int:
    """The bytes of the arrays in an answer."""
    if isinstance(answer, list | tuple):
        return sum(map(bytes_of, answer))
    return answer.nbytes if isinstance(answer, np.ndarray) else 0


def homes(n: int, workers: Mapping[str, int]) -> list[str]:
    """A worker for each of n parts: neighbours on one, as many as it has threads for.

    workers : threads by address, of one worker at least.
    """
    slots = [address for address, threads in workers.items() for _ in range(max(1, threads))]
    return [slots[index * len(slots) // n] for index in range(n)]


def groups(home: Sequence[str], workers: Mapping[str, int]) -> list[tuple[int, int]]:
    """First part and end of neighbours that are asked together.

    They are the leaves of one node of the tree, on one worker, and no more than leave work for all
    its threads.
    """
    counts = {address: home.count(address) for address in home}
    neighbours, start, n = [], 0, len(home)
    while start < n:
        most, size = counts[home[start]] // max(1, workers.get(home[start], 1)), 1
        while (
            start % (2 * size) == 0
            and 2 * size <= max(1, most)
            and start + size < n
            and set(home[start : start + 2 * size]) == {home[start]}
        ):
            size *= 2
        neighbours.append((start, min(n, start + size)))
        start += size
    return neighbours


def transfers(home: Sequence[str], workers: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """Parts of the fullest workers, and the emptiest ones, which are to have them."""
    held: dict[str, list[int]] = {address: [] for address in workers}
    for index, address in enumerate(home):
        if address in held:
            held[address].append(index)

    def load(address: str, more: int = 0) -> float:
        return (len(held[address]) + more) / max(1, workers[address])

    while held:
        full, empty = max(held, key=load), min(held, key=load)
        if load(empty, 1) > load(full, -1):
            return
        index = held[full].pop()
        held[empty].append(index)
        yield index, empty


def add_neighbours(
    nodes: Mapping[tuple[int, int], Any], n: int, most: int, add: Callable[[Any, Any], Any]
) -> dict:
    """Nodes over the same n leaves, about `most` of them, made of these by adding neighbours; keys
    are level and place, as svmcut.distributed.rows.node_of gives them."""
    level = max(0, (n - 1).bit_length() - (most.bit_length() - 1))

    def at(level: int, index: int) -> Any:
        if (level, index) in nodes:
            return nodes[level, index]
        first = at(level - 1, 2 * index)
        return (
            add(first, at(level - 1, 2 * index + 1))
            if (2 * index + 1) << (level - 1) < n
            else first
        )

    kept = {node: value for node, value in nodes.items() if node[0] >= level}
    covered = {index << of >> level for of, index in kept} | {
        place
        for of, index in kept
        for place in range(index << (of - level), (index + 1) << (of - level))
    }
    places = range(-(-n // (1 << level)))
    return kept | {(level, place): at(level, place) for place in places if place not in covered}
