# SPDX-License-Identifier: BSD-3-Clause
"""Clients of Dask's schedulers: of one that is there, or of one with workers that is started here
for a run."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import time
from collections.abc import Iterator
from multiprocessing import resource_tracker

import dask
from dask.distributed import Client, LocalCluster, Security, get_client

from svmcut.distributed import local
from svmcut.errors import ClusterError, UsageError
from svmcut.typing import Any

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
    """A client of a scheduler: at an address, as its file says, or `local:N`, one started here with
    N workers.

    It has so many seconds to answer, and its file so much patience to come.

    Raises
    ------
    ClusterError
        Where nobody answers.
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
            stack.enter_context(dask.config.set(local.SETTINGS))
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
    """With credentials of one run, in memory alone; without encryption where nothing here makes
    them."""
    made = local.temporary()
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
    """This client, or the one there is.

    Raises
    ------
    UsageError
        Where there is none, and for one whose answers are to be awaited.
    """
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
