# SPDX-License-Identifier: BSD-3-Clause
"""Resources of the computer that this process may use, and the CPU seconds that parts of training
take.

Parts may be nested; a second counts for the innermost. Seconds are measured only on request and
never influence the result.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import resource
import time
from _thread import get_ident
from collections.abc import Callable, Iterator

from svmcut.base.typing import Any

#: Environment variables that BLAS libraries read when they are loaded.
BLAS_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


class _Blas:
    """The state of the limit of BLAS to one thread."""

    #: Whether BLAS was loaded with one thread.
    single = False
    #: Number of callers that currently need the limit.
    callers = 0
    lock: Any = None
    controller: Any = None
    limits: Any = None


def load_single_blas() -> None:
    """Set BLAS to one thread, whatever the environment says; call it before NumPy is imported."""
    os.environ.update(dict.fromkeys(BLAS_VARIABLES, "1"))
    _Blas.single = True


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread within the block: the bytes of its sums depend on the number of
    threads.

    The setting belongs to the process. The first of several threads makes it, the last one undoes
    it.
    """
    if _Blas.single:
        yield
        return
    if _Blas.lock is None:
        import threading

        _Blas.lock = _Blas.lock or threading.Lock()
    entered = False
    try:
        with _Blas.lock:
            if not _Blas.callers:
                if _Blas.controller is None:
                    import numpy.linalg  # noqa: F401  (with its BLAS)
                    from threadpoolctl import ThreadpoolController

                    _Blas.controller = ThreadpoolController()
                _release_controller()
                _Blas.limits = _Blas.controller.limit(limits=1, user_api="blas")
            _Blas.callers += 1
            entered = True
        yield
    finally:
        if entered:
            with _Blas.lock:
                _Blas.callers -= 1
                if not _Blas.callers:
                    _release_controller()
                    _Blas.limits.restore_original_limits()
                    _release_controller()


def limit_loaded_blas() -> None:
    """Include libraries that were loaded after the limit: SciPy brings a BLAS of its own."""
    if _Blas.controller is None:
        return
    with _Blas.lock:
        if _Blas.callers:
            from threadpoolctl import ThreadpoolController

            _release_controller()
            _Blas.limits.restore_original_limits()
            _Blas.controller = ThreadpoolController()
            _release_controller()
            _Blas.limits = _Blas.controller.limit(limits=1, user_api="blas")
        else:
            _Blas.controller = None


def _release_controller() -> None:
    """Release the thread that set a limit: from threadpoolctl 3.7 on no other thread can set one
    before."""
    for library in _Blas.controller.lib_controllers:
        if clear := getattr(library, "clear_controlling_thread", None):
            clear(force=True)


def _reset_after_fork() -> None:
    """Reset the limit: after a fork no other thread holds the lock or trains."""
    _Blas.lock, _Blas.callers = None, 0


os.register_at_fork(after_in_child=_reset_after_fork)


def usable_cpus() -> int:
    """Return the number of CPUs by affinity and by the quota of the control group, at least 1."""
    affinity = getattr(os, "sched_getaffinity", None)
    cpus = len(affinity(0)) if affinity else os.cpu_count() or 1
    try:
        with open("/sys/fs/cgroup/cpu.max", encoding="utf-8") as file:
            quota, period = file.read().split()
        if quota != "max":
            cpus = min(cpus, -(-int(quota) // int(period)))
    except (OSError, ValueError, ZeroDivisionError):
        pass
    return max(cpus, 1)


def _address_space() -> int:
    """Return the bytes of this process's address space; 0 if the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="utf-8") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def planned_memory(limit: float | None) -> float:
    """Return the megabytes a trainer may plan with: 0.8 of those available, 4000 if that is
    unknown, and never more than the limit."""
    available = available_memory()
    return min(limit or math.inf, 0.8 * available if available is not None else 4000.0)


def describe_shortage(need: float, limit: float | None = None, least: float = 0.0) -> str:
    """Return a phrase with the megabytes available, or allowed by `limit`, if they are fewer than
    the need; else an empty text.

    Needs up to `least` are not checked: a control group counts merely cached files as used.
    """
    available = limit if limit is not None or need <= least else available_memory()
    return (
        f"{available:,.0f} MB are available" if available is not None and need > available else ""
    )


def available_memory() -> float | None:
    """Return the megabytes this process may still use: the system's, or less if a control group or
    a limit says so."""
    bounds = []
    try:
        bounds.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        with open("/proc/meminfo", encoding="utf-8") as lines:
            bounds[0] = next(
                int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")
            )
    except (OSError, ValueError, StopIteration):
        pass
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        (
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        ),
    ):
        try:
            with open(limit, encoding="utf-8") as top, open(used, encoding="utf-8") as now:
                bounds.append(int(top.read()) - int(now.read()))
        except (OSError, ValueError):
            continue
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    if soft != resource.RLIM_INFINITY:
        bounds.append(max(0, soft - _address_space()))
    return min(bounds) / 1e6 if bounds else None


#: Parts: solving the QP; kernel values; most violated labellings; feature vectors and products with
#: them; everything before.
QP, KERNEL, ARGMAX, PSI, INIT = "QP", "kernel", "Argmax", "Psi", "init"


class Stopwatch:
    """CPU seconds of the parts that one thread runs."""

    def __init__(self) -> None:
        #: CPU seconds by part, including those of other threads while it ran.
        self.seconds = dict.fromkeys((QP, KERNEL, ARGMAX, PSI, INIT), 0.0)
        self.thread = get_ident()
        self._within: list[str] = []
        self._last = 0.0

    def run(self, name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return the value of a function whose time counts for this part, except that of nested
        parts."""
        self._count()
        self._within.append(name)
        try:
            return function(*args, **kwargs)
        finally:
            self._count()
            self._within.pop()

    def _count(self) -> None:
        now = time.process_time()
        if self._within:
            self.seconds[self._within[-1]] += now - self._last
        self._last = now


#: The stopwatch that runs, if any.
active_stopwatches: list[Stopwatch] = []


@contextlib.contextmanager
def measure_parts() -> Iterator[Stopwatch]:
    """Measure the parts that this thread runs within the block."""
    active_stopwatches.append(Stopwatch())
    try:
        yield active_stopwatches[-1]
    finally:
        active_stopwatches.pop()


def timed_part(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate functions whose time counts for a part."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            if not active_stopwatches or active_stopwatches[-1].thread != get_ident():
                return function(*args, **kwargs)
            return active_stopwatches[-1].run(name, function, *args, **kwargs)

        return timed

    return decorate
