# SPDX-License-Identifier: BSD-3-Clause
"""What stands between a run and the shell: messages, exit statuses, signals, closed pipes."""

from __future__ import annotations

import contextlib
import gc
import mmap
import os
import sys

from svmcut.base.errors import FileError, SvmcutError
from svmcut.base.messages import Message, printable, without_secrets
from svmcut.base.typing import TYPE_CHECKING
from svmcut.cli.termination import (
    INTERRUPTED,
    STOPPED,
    TERMINATED,
    Terminated,
    pending_signal,
    settle,
    signals_raised,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


#: Objects that a start makes and keeps, and some more.
STARTED = 50_000

#: Address space without pages, given back before a failure is told.
_reserve = mmap.mmap(-1, 4 << 20)


class CtrlC(BaseException):
    """Takes a KeyboardInterrupt past click, which would print an empty line and forget its
    message."""

    def __init__(self, interrupt: KeyboardInterrupt):
        self.interrupt = interrupt


def collect_late() -> None:
    """Looks for cycles of objects from STARTED on: a tenth of a start is spent in looking through
    what it keeps."""
    usual = gc.get_threshold()

    def first(phase: str, _: object) -> None:
        if phase == "stop":
            gc.callbacks.remove(first)
            gc.freeze()
            gc.set_threshold(*usual)

    gc.callbacks.append(first)
    gc.set_threshold(STARTED, *usual[1:])


def guard(
    work: Callable[[], int | None],
    program: Callable[[], str],
    *,
    statuses: tuple[int, ...] | None = None,
    resumable: bool = False,
    final: bool = False,
) -> int:
    """Run ``work`` and turn whatever ends it into one message on stderr and an exit status.

    Parameters
    ----------
    work : callable
        Returns the exit status, None for 0.
    program : callable
        The name that opens messages which name no file; asked when a message is due.
    statuses : tuple of int or None
        The statuses allowed; any other becomes 1. None allows all. Where they are given the
        messages are those of the executables with the originals' names.
    resumable : bool
        Whether a run stopped by SIGTERM can go on, which is status 75.
    final : bool
        Whether the process ends with this call: signals change nothing afterwards.

    Returns
    -------
    int
        The exit status. A closed pipe is quiet and 1.

    Notes
    -----
    With SVMCUT_DEBUG=1 in the environment, exceptions come through with their traceback.
    """
    _occupy_standard_descriptors()
    if final:
        collect_late()
    with signals_raised(final), _any_text(final):
        try:
            try:
                status = work() or 0
                if sys.stdout is not None:
                    sys.stdout.flush()
            except (Exception, KeyboardInterrupt, Terminated) as error:
                status = _report(error, program, resumable, statuses is not None)
            settle()
        except (KeyboardInterrupt, Terminated) as error:  # while another ending was told
            settle()
            status = _report(error, program, resumable, statuses is not None)
    status = status if statuses is None or status in statuses else 1
    if final:
        _leave(status)
    return status


def _leave(status: int) -> None:
    """Ends the process as its program would, but for clearing away all modules, which takes a
    twentieth of a small run; not where something else waits for the end."""
    import atexit

    gc.freeze()  # the interpreter would look through all there is twice more
    threading, monitoring = sys.modules.get("threading"), getattr(sys, "monitoring", None)
    if (
        (threading is not None and threading.active_count() > 1)
        or sys.flags.interactive
        or sys.gettrace() is not None
        or sys.getprofile() is not None
        or (monitoring is not None and any(map(monitoring.get_tool, range(6))))
    ):
        return
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            return
    os._exit(status)


def warn(program: str, message: str) -> None:
    """One warning on stderr, in the words of the command line."""
    if isinstance(message, Message):
        from svmcut.cli.advice import in_options

        message = in_options(message)
    _complain(f"{program}: warning: {message}")


def drop_stdout() -> None:
    """Prints nothing more; the descriptor is left as it is, for an output that is written to it."""
    stream = sys.stdout
    with contextlib.suppress(OSError, ValueError):
        kept = os.dup(stream.fileno())
        try:
            _silence_stdout()
            stream.flush()
        finally:
            os.dup2(kept, stream.fileno())
            os.close(kept)
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _report(
    error: BaseException, program: Callable[[], str], resumable: bool, original: bool
) -> int:
    if os.environ.get("SVMCUT_DEBUG") == "1":
        raise error
    _make_room(error)
    if pending_signal() and not isinstance(error, SvmcutError | KeyboardInterrupt | Terminated):
        error = Terminated()
    if isinstance(error, KeyboardInterrupt | Terminated):
        if isinstance(error, KeyboardInterrupt):
            what, status = "interrupted", INTERRUPTED
        else:
            what = f"stopped by {pending_signal()}"
            status = STOPPED if resumable and error.kept else TERMINATED
        early = (
            ["no state was written, the same command goes on from one that was there"]
            if resumable
            else []
        )
        _complain("; ".join((f"{program()}: {what}", *getattr(error, "__notes__", early))))
        return status
    if isinstance(error, BrokenPipeError):
        _silence_stdout()
        return 1
    if isinstance(error, SvmcutError):
        text = error.original if original else error.sentence
        with contextlib.suppress(MemoryError):  # too little even for the options' names
            from svmcut.cli.advice import in_options

            text = in_options(text, original)
        _complain(text if isinstance(error, FileError) else f"{program()}: {text}")
        return error.exit_status
    if isinstance(error, OSError):
        _silence_stdout()
        where = f": {printable(error.filename)}" if error.filename else ""
        _complain(f"{program()}: {error.strerror or error}{where}")
        return 1
    if isinstance(error, MemoryError):
        _complain(f"{program()}: out of memory{': ' + str(error) if str(error) else ''}")
    elif isinstance(error, ImportError):
        _complain(f"{program()}: a library cannot be loaded: {_cause(error)}")
    else:
        _complain(
            f"{program()}: internal error: {type(error).__name__}: {error}; SVMCUT_DEBUG=1 shows "
            "where"
        )
    return 1


def _make_room(error: BaseException) -> None:
    """Gives back what is kept for this moment, and what the frames that failed still hold: saying
    that memory is short takes some."""
    _reserve.close()
    if isinstance(error, MemoryError):
        error.__traceback__ = error.__context__ = None


def _cause(error: BaseException) -> str:
    """What the first of a chain of failures says, on one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    return " ".join(str(error).split())


def _complain(text: str) -> None:
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError):
        print(printable(without_secrets(text), lines=True), file=sys.stderr, flush=True)


def _silence_stdout() -> None:
    """What is still buffered for a stdout that fails would fail again, loudly, when the interpreter
    ends."""
    if sys.stdout is None:
        return
    with contextlib.suppress(OSError, ValueError):
        descriptor = sys.stdout.fileno()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, descriptor)
        os.close(null)


@contextlib.contextmanager
def _any_text(final: bool) -> Iterator[None]:
    """Standard output takes characters its encoding lacks, as escapes: a name in a model is no
    reason to die."""
    stream = sys.stdout
    errors = getattr(stream, "errors", None)
    if errors is not None and hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        if (
            errors is not None
            and not final
            and not stream.closed
            and hasattr(stream, "reconfigure")
        ):
            stream.reconfigure(errors=errors)


def _occupy_standard_descriptors() -> None:
    """Fill closed descriptors 0 to 2, so that no file opened later is taken for standard output or
    error.

    Each is opened the wrong way round: using it fails as it would have failed when closed.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            with contextlib.suppress(OSError):
                os.open(os.devnull, os.O_WRONLY if descriptor == 0 else os.O_RDONLY)
