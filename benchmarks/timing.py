# SPDX-License-Identifier: BSD-3-Clause
"""Whole processes timed fairly: pinned to CPUs, alternating, a warm-up round, medians, ratios round
by round."""

from __future__ import annotations

import math
import os
import resource
import signal
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple


class Measurement(NamedTuple):
    """One process: seconds by the clock, CPU seconds (user and system), and those of its first
    thread."""

    wall: float
    cpu: float
    main: float = 0.0


class ProcessFailed(Exception):
    """A process ended with a status that was not expected, or took too long."""


def first_cpus(count: int) -> set[int]:
    """The first CPUs this process may use."""
    usable = sorted(os.sched_getaffinity(0))
    if count > len(usable):
        raise ValueError(f"{count} threads asked for, {len(usable)} CPUs usable")
    return set(usable[:count])


def time_process(
    command: Sequence[str],
    *,
    threads: int = 1,
    timeout: float | None = None,
    statuses: Sequence[int] = (0,),
    most: float | None = None,
) -> Measurement:
    """Runs a command on the first ``threads`` CPUs, for at most ``most`` CPU seconds; its output
    goes to a temporary file.

    Raises
    ------
    ProcessFailed
        With the last line of what the process wrote.
    """
    cpus = first_cpus(threads)
    environment = os.environ | {
        "OMP_NUM_THREADS": str(threads),
        "OPENBLAS_NUM_THREADS": str(threads),
    }
    # programs that are installed have been compiled
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def prepare() -> None:
        os.sched_setaffinity(0, cpus)
        if most is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(most), math.ceil(most) + 1))

    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            preexec_fn=prepare,
        )
        status, usage, main = _wait(process, timeout)
        wall = time.perf_counter() - began
        if most is not None and status in (-signal.SIGXCPU, -signal.SIGKILL):
            raise ProcessFailed(f"{command[0]} took more than {most:.1f} CPU seconds")
        if status not in statuses:
            output.seek(0)
            tail = output.read().decode(errors="replace").strip()[-300:].splitlines() or [
                "no message"
            ]
            raise ProcessFailed(f"{command[0]} ended with status {status}: {tail[-1]}")
    return Measurement(wall, usage.ru_utime + usage.ru_stime, main)


def _wait(process: subprocess.Popen, timeout: float | None):
    """Status and resource usage of this one child, and the CPU seconds of its first thread; a timer
    kills it where it takes too long."""
    timer = threading.Timer(timeout, process.kill) if timeout else None
    if timer:
        timer.start()
    try:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        main = _first_thread(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
    finally:
        if timer:
            timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage, main


def _first_thread(pid: int) -> float:
    """CPU seconds of the thread that a process began with, to a hundredth; 0 where nobody says."""
    try:
        with open(f"/proc/{pid}/task/{pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def alternate(
    jobs: Mapping[str, Callable[[], Measurement]], rounds: int, *, warm_up: int = 1
) -> tuple[dict[str, list[Measurement]], dict[str, str]]:
    """Every job once, then every job again; every other round goes backwards.

    Returns
    -------
    measurements : dict of str to list
        One list a job, in the order of the rounds; without the warm-up.
    failures : dict of str to str
        Jobs that failed, and why; they have no measurements.
    """
    measurements: dict[str, list[Measurement]] = {name: [] for name in jobs}
    failures: dict[str, str] = {}
    for turn in range(warm_up + rounds):
        for name in list(jobs) if turn % 2 == 0 else list(reversed(jobs)):
            if name in failures:
                continue
            try:
                measurement = jobs[name]()
            except ProcessFailed as error:
                failures[name] = str(error)
                del measurements[name]
                continue
            if turn >= warm_up:
                measurements[name].append(measurement)
    return measurements, failures


def medians(measurements: Sequence[Measurement]) -> Measurement:
    """The median of each column."""
    return Measurement(*(statistics.median(column) for column in zip(*measurements)))


def cpu_medians(commands: Sequence[Sequence[str]], rounds: int) -> list[float]:
    """Median CPU seconds of each command, in turns; every other round goes backwards.

    Raises
    ------
    ProcessFailed
    """
    found: list[list[float]] = [[] for _ in commands]
    for turn in range(rounds):
        for k in sorted(range(len(commands)), reverse=turn % 2 == 1):
            found[k].append(time_process(commands[k]).cpu)
    return [statistics.median(seconds) for seconds in found]


def median_ratio(of: Sequence[Measurement], to: Sequence[Measurement]) -> float:
    """Median over the rounds of wall time / wall time of the same round."""
    return statistics.median(a.wall / b.wall for a, b in zip(of, to))
