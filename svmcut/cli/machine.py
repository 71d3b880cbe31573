# SPDX-License-Identifier: BSD-3-Clause
"""What this process may use of the machine."""

from __future__ import annotations

import os


def usable_cpus() -> int:
    """CPUs by affinity and by the quota of the control group, at least 1."""
    affinity = getattr(os, "sched_getaffinity", None)
    cpus = len(affinity(0)) if affinity else os.cpu_count() or 1
    try:
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as file:
            quota, period = file.read().split()
        if quota != "max":
            cpus = min(cpus, -(-int(quota) // int(period)))
    except (OSError, ValueError, ZeroDivisionError):
        pass
    return max(cpus, 1)
