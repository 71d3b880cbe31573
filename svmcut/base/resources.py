# SPDX-License-Identifier: BSD-3-Clause
"""What this process may use of the computer, and the CPU seconds that parts of training take.

Parts lie within each other, and a second counts for the innermost. Nothing is measured where nobody
asked for it, and what is measured decides nothing.
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

#: What BLAS libraries read when they are loaded.
BLAS_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


class _Blas:
    """How many callers at once have BLAS in one thread; `single` where it was loaded so."""

    single = False
    callers = 0
    lock: Any = None
    controller: Any = None
    limits: Any = None


def load_single_blas() -> None:
    """One thread for BLAS, whatever the environment says; to be called before numpy is imported."""
    os.environ.update(dict.fromkeys(BLAS_VARIABLES, "1"))
    _Blas.single = True


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within it BLAS has one thread: its sums have other bytes with another number of them.

    The setting is the process's. The first of several threads makes it, and the last of them undoes
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
                _freed()
                _Blas.limits = _Blas.controller.limit(limits=1, user_api="blas")
            _Blas.callers += 1
            entered = True
        yield
    finally:
        if entered:
            with _Blas.lock:
                _Blas.callers -= 1
                if not _Blas.callers:
                    _freed()
                    _Blas.limits.restore_original_limits()
                    _freed()


def _freed() -> None:
    """From threadpoolctl 3.7 on the first thread that sets a limit is the only one that can, until
    it is let go."""
    for library in _Blas.controller.lib_controllers:
        if clear := getattr(library, "clear_controlling_thread", None):
            clear(force=True)


def _alone() -> None:
    """After a fork no other thread holds the lock or trains."""
    _Blas.lock, _Blas.callers = None, 0


os.register_at_fork(after_in_child=_alone)


def usable_cpus() -> int:
    """CPUs by affinity and by the quota of the control group, at least 1."""
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
    """Bytes of this process's address space; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="utf-8") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def planned_memory(limit: float | None) -> float:
    """Megabytes a trainer may plan with: 0.8 of those available, 4000 where nobody says, and no
    more than the limit."""
    available = available_memory()
    return min(limit or math.inf, 0.8 * available if available is not None else 4000.0)


def shortage(need: float, limit: float | None = None, least: float = 0.0) -> str:
    """How many megabytes are available, or may be used, in words, where they are fewer than the
    need; else nothing.

    Needs up to `least` are not doubted: a control group counts files that are merely cached as
    used.
    """
    available = limit if limit is not None or need <= least else available_memory()
    return (
        f"{available:,.0f} MB are available" if available is not None and need > available else ""
    )


def available_memory() -> float | None:
    """Megabytes this process may still use: the system's, or less where a control group or a limit
    says so."""
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


#: Solving; kernel values; most violated labellings; feature vectors and products with them; what
#: comes before.
QP, KERNEL, ARGMAX, PSI, INIT = "QP", "kernel", "Argmax", "Psi", "init"


class Stopwatch:
    """The seconds of parts, as far as one thread runs them.

    Attributes
    ----------
    seconds : dict of str to float
        CPU seconds by part, those of all threads while it ran.
    """

    def __init__(self) -> None:
        self.seconds = dict.fromkeys((QP, KERNEL, ARGMAX, PSI, INIT), 0.0)
        self.thread = get_ident()
        self._within: list[str] = []
        self._last = 0.0

    def run(self, name: str, function: Callable[..., Any], *words: Any, **named: Any) -> Any:
        """The value of a function whose time is this part's, but for the parts within."""
        self._count()
        self._within.append(name)
        try:
            return function(*words, **named)
        finally:
            self._count()
            self._within.pop()

    def _count(self) -> None:
        now = time.process_time()
        if self._within:
            self.seconds[self._within[-1]] += now - self._last
        self._last = now


#: The one that runs, where there is one.
running: list[Stopwatch] = []


@contextlib.contextmanager
def watching() -> Iterator[Stopwatch]:
    """Has the parts of this thread measured."""
    running.append(Stopwatch())
    try:
        yield running[-1]
    finally:
        running.pop()


def part(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of functions whose time is that of a part."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def timed(*words: Any, **named: Any) -> Any:
            if not running or running[-1].thread != get_ident():
                return function(*words, **named)
            return running[-1].run(name, function, *words, **named)

        return timed

    return decorate
