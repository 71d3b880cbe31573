# SPDX-License-Identifier: BSD-3-Clause
"""Turns the end of a run into messages and an exit status: failures, signals, closed pipes."""

from __future__ import annotations

import contextlib
import gc
import mmap
import os
import sys

from svmcut.base.errors import FileError, SvmcutError
from svmcut.base.messages import Message, escape, hide_secrets
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
MAX_START_OBJECTS = 50_000

#: Address space without pages, given back before a failure is told.
_reserve = mmap.mmap(-1, 4 << 20)


class CtrlC(BaseException):
    """Carries a KeyboardInterrupt past click, which would print an empty line and forget its
    message."""

    def __init__(self, interrupt: KeyboardInterrupt):
        self.interrupt = interrupt


def collect_late() -> None:
    """Delays the search for cyclic garbage until MAX_START_OBJECTS objects exist: a tenth of a
    start would go into searching what it keeps."""
    usual = gc.get_threshold()

    def first(phase: str, _: object) -> None:
        if phase == "stop":
            gc.callbacks.remove(first)
            gc.freeze()
            gc.set_threshold(*usual)

    gc.callbacks.append(first)
    gc.set_threshold(MAX_START_OBJECTS, *usual[1:])


def guard(
    work: Callable[[], int | None],
    program: Callable[[], str],
    *,
    statuses: tuple[int, ...] | None = None,
    resumable: bool = False,
    final: bool = False,
) -> int:
    """Runs ``work`` and turns whatever ends it into one message on stderr and an exit status.

    `program()` is the name that opens messages without a file. Statuses other than `statuses`
    become 1; if they are given, messages are those of the original programs. `resumable` gives a
    run that SIGTERM stops status 75. If `final`, the process ends with this call and signals change
    nothing afterwards. A closed pipe is quiet and 1. With SVMCUT_DEBUG=1 in the environment,
    exceptions keep their traceback.
    """
    _occupy_standard_descriptors()
    if final:
        collect_late()
    with signals_raised(final), _escape_unknown_characters(final):
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
    """Ends the process without the teardown of all modules, a twentieth of a small run, unless a
    thread, debugger or profiler waits for the usual end."""
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
    """Prints one warning on stderr, in the words of the command line."""
    if isinstance(message, Message):
        from svmcut.cli.advice import in_options

        message = in_options(message)
    _complain(f"{program}: warning: {message}")


def drop_stdout() -> None:
    """Stops printing; the descriptor stays open for an output that is written to it."""
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
    _free_memory(error)
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
        where = f": {escape(error.filename)}" if error.filename else ""
        _complain(f"{program()}: {error.strerror or error}{where}")
        return 1
    if isinstance(error, MemoryError):
        _complain(f"{program()}: out of memory{': ' + str(error) if str(error) else ''}")
    elif isinstance(error, ImportError):
        _complain(f"{program()}: a library cannot be loaded: {_root_cause(error)}")
    else:
        _complain(
            f"{program()}: internal error: {type(error).__name__}: {error}; SVMCUT_DEBUG=1 shows "
            "where"
        )
    return 1


def _free_memory(error: BaseException) -> None:
    """Frees the reserved memory and what the failed frames hold, so that the message has room."""
    _reserve.close()
    if isinstance(error, MemoryError):
        error.__traceback__ = error.__context__ = None


def _root_cause(error: BaseException) -> str:
    """First failure of a chain of failures, on one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    return " ".join(str(error).split())


def _complain(text: str) -> None:
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError):
        print(escape(hide_secrets(text), lines=True), file=sys.stderr, flush=True)


def _silence_stdout() -> None:
    """Discards what is buffered for a failed stdout, which would fail again when the interpreter
    ends."""
    if sys.stdout is None:
        return
    with contextlib.suppress(OSError, ValueError):
        descriptor = sys.stdout.fileno()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, descriptor)
        os.close(null)


@contextlib.contextmanager
def _escape_unknown_characters(final: bool) -> Iterator[None]:
    """Lets standard output escape characters that its encoding lacks, such as names in a model."""
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
    """Opens closed descriptors 0 to 2, so that no file opened later becomes standard output or
    error.

    Each is opened the wrong way round: using it fails as if it were closed.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            with contextlib.suppress(OSError):
                os.open(os.devnull, os.O_WRONLY if descriptor == 0 else os.O_RDONLY)
