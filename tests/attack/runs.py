# SPDX-License-Identifier: BSD-3-Clause
"""One run in a process of its own, forked from one that has svmcut imported."""

from __future__ import annotations

import importlib
import os
import pkgutil
import resource
import signal
import sys
import traceback
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

from svmcut.originals.names import LAUNCHERS

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
            if error.name not in ("dask", "distributed", "skl2onnx", "sklearn"):  # extras
                raise
    import osqp  # noqa: F401


def _entry(program, words):
    """Runs a program within this process; its status."""
    if program == "python":
        exec(compile("\n".join(words), "script.py", "exec"), {"__name__": "__main__"})
        return 0
    if program == "svmcut":
        from svmcut.cli.start import main

        return main([str(word) for word in words])
    if program in LAUNCHERS:
        module, function = LAUNCHERS[program].split(":")
        return getattr(importlib.import_module(module), function)([str(word) for word in words])
    sys.argv = [program, *map(str, words)]
    return entry_points(group="console_scripts")[program].load()()


def run(words, folder, limit=CPU_SECONDS, program="svmcut"):
    """Runs ``PROGRAM WORDS`` in a folder, within so many CPU seconds; python runs the words as
    lines of a script."""
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
            status = _entry(program, words)
            sys.stdout.flush()
            sys.stderr.flush()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 0 if end.code is None else 98
            sys.stdout.flush()
            sys.stderr.flush()
        except Exception:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(status)
    _, ended, usage = os.wait4(process, 0)
    texts = [
        Path(path).read_text(encoding="utf-8", errors="replace") if os.path.exists(path) else ""
        for path in outputs
    ]
    return Ended(os.waitstatus_to_exitcode(ended), usage.ru_utime + usage.ru_stime, *texts)
