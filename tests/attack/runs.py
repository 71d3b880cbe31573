# SPDX-License-Identifier: BSD-3-Clause
"""One run in a process of its own, forked from one that has svmcut imported."""

from __future__ import annotations

import importlib
import os
import pkgutil
import resource
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

CPU_SECONDS = 20
"""What a run may take."""


@dataclass
class Ended:
    """How a run ended.

    Attributes
    ----------
    status : int
        Exit status; negative is the number of the signal that ended it.
    seconds : float
        CPU time.
    out, err : str
    """

    status: int
    seconds: float
    out: str
    err: str


def import_all():
    """Imports svmcut as a whole, once, so that forked processes need not."""
    import svmcut

    for found in pkgutil.walk_packages(svmcut.__path__, "svmcut."):
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            if error.name not in ("dask", "distributed", "sklearn"):  # extras
                raise
    import osqp  # noqa: F401


def run(words, folder, limit=CPU_SECONDS):
    """Runs ``svmcut WORDS`` in a folder, within so many CPU seconds."""
    outputs = [os.path.join(folder, name) for name in ("stdout", "stderr")]
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        status = 99
        try:
            os.chdir(folder)
            for number, path in enumerate(outputs, 1):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.signal(signal.SIGXCPU, signal.SIG_DFL)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(20 * limit)
            from svmcut.cli.start import main

            status = main([str(word) for word in words])
            sys.stdout.flush()
            sys.stderr.flush()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 98
        finally:
            os._exit(status)
    _, ended, usage = os.wait4(process, 0)
    texts = [Path(path).read_text(encoding="utf-8", errors="replace") if os.path.exists(path) else ""
             for path in outputs]  # fmt: skip
    return Ended(os.waitstatus_to_exitcode(ended), usage.ru_utime + usage.ru_stime, *texts)
