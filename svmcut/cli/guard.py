# SPDX-License-Identifier: BSD-3-Clause
"""What stands between a run and the shell: messages, exit statuses, signals, closed pipes."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING

from svmcut.errors import FileError, SvmcutError

if TYPE_CHECKING:
    from collections.abc import Callable

INTERRUPTED = 130
TERMINATED = 143


class Terminated(BaseException):
    """SIGTERM, raised where the run is so that what it holds open is put away; no failure, hence no Exception.

    Parameters
    ----------
    status : int
        What the program exits with.
    """

    def __init__(self, status: int = TERMINATED):
        self.status = status


def guard(
    work: Callable[[], int | None], program: Callable[[], str], *, statuses: tuple[int, ...] | None = None
) -> int:
    """Run ``work`` and turn whatever ends it into one message on stderr and an exit status.

    Parameters
    ----------
    work : callable
        Returns the exit status, None for 0.
    program : callable
        The name that opens messages which name no file; asked when a message is due.
    statuses : tuple of int or None
        The statuses allowed; any other becomes 1. None allows all. Where they are given the messages are those of the
        executables with the originals' names.

    Returns
    -------
    int
        The exit status. A closed pipe is quiet and 1.

    Notes
    -----
    With SVMCUT_DEBUG=1 in the environment, exceptions come through with their traceback.
    """
    _occupy_standard_descriptors()
    _raise_on_sigterm()
    try:
        status = work() or 0
        if sys.stdout is not None:
            sys.stdout.flush()
    except (Exception, KeyboardInterrupt, Terminated) as error:
        if os.environ.get("SVMCUT_DEBUG") == "1":
            raise
        status = _report(error, program, original=statuses is not None)
    return status if statuses is None or status in statuses else 1


def warn(program: str, message: str) -> None:
    """One warning on stderr."""
    _complain(f"{program}: warning: {message}")


def _report(error: BaseException, program: Callable[[], str], original: bool) -> int:
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, Terminated):
        return error.status
    if isinstance(error, BrokenPipeError):
        _silence_stdout()
        return 1
    if isinstance(error, FileError):
        _complain(str(error))
        return error.exit_status
    if isinstance(error, SvmcutError):
        _complain(f"{program()}: {error.original if original else error}")
        return error.exit_status
    if isinstance(error, OSError):
        _silence_stdout()
        where = f": {error.filename}" if error.filename else ""
        _complain(f"{program()}: {error.strerror or error}{where}")
        return 1
    if isinstance(error, MemoryError):
        _complain(f"{program()}: out of memory{': ' + str(error) if str(error) else ''}")
    elif isinstance(error, ImportError):
        _complain(f"{program()}: a library cannot be loaded: {_cause(error)}")
    else:
        _complain(f"{program()}: internal error: {type(error).__name__}: {error}; SVMCUT_DEBUG=1 shows where")
    return 1


def _cause(error: BaseException) -> str:
    """What the first of a chain of failures says, on one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    return " ".join(str(error).split())


def _complain(text: str) -> None:
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def _silence_stdout() -> None:
    """What is still buffered for a stdout that fails would fail again, loudly, when the interpreter ends."""
    if sys.stdout is None:
        return
    with contextlib.suppress(OSError, ValueError):
        descriptor = sys.stdout.fileno()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, descriptor)
        os.close(null)


def _occupy_standard_descriptors() -> None:
    """Fill closed descriptors 0 to 2, so that no file opened later is taken for standard output or error.

    Each is opened the wrong way round: using it fails as it would have failed when closed.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            with contextlib.suppress(OSError):
                os.open(os.devnull, os.O_WRONLY if descriptor == 0 else os.O_RDONLY)


def _raise_on_sigterm() -> None:
    def stop(number, frame):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not disturb the clearing away
        raise Terminated

    # Only the main thread may; elsewhere the program around keeps its own handling.
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGTERM, stop)
