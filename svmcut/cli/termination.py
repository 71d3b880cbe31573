# SPDX-License-Identifier: BSD-3-Clause
"""SIGTERM, SIGHUP and Ctrl-C as exceptions that reach the end of the run wherever they are
raised."""

from __future__ import annotations

import contextlib
import sys

from svmcut.base.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import signal
else:
    try:
        import _signal as signal  # its numbers have no class, which takes a start a while to make
    except ImportError:
        import signal

INTERRUPTED = 130
TERMINATED = 143
#: Stopped by SIGTERM, and a run with --resume will go on: sysexits' EX_TEMPFAIL.
STOPPED = 75


class Terminated(BaseException):
    """SIGTERM or SIGHUP, raised where the run is so that what it holds open is put away; no
    failure, so no Exception.

    Parameters
    ----------
    kept : bool
        False where a state that was due could not be written and there is no older one.
    """

    def __init__(self, kept: bool = True):
        super().__init__()
        self.kept = kept


#: What ends a run so. A terminal that closes sends SIGHUP; under nohup it is ignored from the
#: start, and stays so.
_ENDING = {getattr(signal, name): name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)}


class _State:
    asked = ""
    over = lost = final = False


_state = _State()


@contextlib.contextmanager
def signals_raised(final: bool):
    """SIGTERM and SIGHUP raise Terminated within the context, once: a second must not disturb the
    clearing away.

    A SIGHUP that is ignored stays ignored.

    Parameters
    ----------
    final : bool
        The process ends after the context: no signal may change its status any more. Python gives
        signals back to the system while it clears its modules away, so they are ignored from here
        on.
    """
    global _state
    state = _state = _State()
    state.final = final

    def stop(number, frame):
        if not (state.asked or state.over):
            state.asked = _ENDING[number]
            raise Terminated

    def lose(unraisable):
        if issubclass(unraisable.exc_type, Terminated | KeyboardInterrupt):
            state.lost = True
        else:
            hook(unraisable)

    before: dict[int, Any] = {}
    # Only the main thread may; elsewhere the program around keeps its own handling.
    with contextlib.suppress(ValueError):
        for number in _ENDING:
            if number == signal.SIGTERM or signal.getsignal(number) != signal.SIG_IGN:
                before[number] = signal.signal(number, stop)
    hook, sys.unraisablehook = sys.unraisablehook, lose
    try:
        yield
    finally:
        sys.unraisablehook = hook
        if final:
            with contextlib.suppress(ValueError):
                for number in (*_ENDING, signal.SIGINT):
                    signal.signal(number, signal.SIG_IGN)
        else:
            for number, handler in before.items():
                signal.signal(number, handler)


def settle() -> None:
    """The status of the run is known: no signal changes it any more.

    To be called where a KeyboardInterrupt is still caught: one that is on its way may be raised
    here.
    """
    _state.over = True
    if _state.final:
        with contextlib.suppress(ValueError):  # not the main thread
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def pending_signal() -> str:
    """The name of the signal that came, if one did: what fails from then on may fail of its
    exception, raised within a library.
    """
    return _state.asked


def look() -> None:
    """Raises a signal's exception again where it was lost.

    Raised in a destructor or in a callback of the import system, it is dropped there and the run
    would go on.
    """
    if _state.asked:
        raise Terminated
    if _state.lost:
        _state.lost = False
        raise KeyboardInterrupt
