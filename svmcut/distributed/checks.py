# SPDX-License-Identifier: BSD-3-Clause
"""What a scheduler and its workers are asked before training: their svmcut, and settings that cost
time."""

from __future__ import annotations

import math

from svmcut._version import __version__
from svmcut.errors import ClusterError
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


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
    """What to type where settings of the scheduler's process cost time."""

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
