# SPDX-License-Identifier: BSD-3-Clause
"""SIGTERM, SIGHUP and Ctrl-C as exceptions that always reach the end of the run."""

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
    """SIGTERM or SIGHUP, raised where the run is so that it closes what is open; no failure, so no
    Exception."""

    def __init__(self, kept: bool = True):
        super().__init__()
        #: False if a state that was due could not be written and there is no older one.
        self.kept = kept


#: What ends a run so. A terminal that closes sends SIGHUP; under nohup it is ignored from the
#: start, and stays so.
_ENDING_SIGNALS = {
    getattr(signal, name): name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
}


class _State:
    signal_name = ""
    is_settled = lost = final = False


_state = _State()


@contextlib.contextmanager
def signals_raised(final: bool):
    """Makes SIGTERM and SIGHUP raise Terminated within the context, once: a second must not disturb
    the clean-up.

    A SIGHUP that is ignored stays ignored. `final`: the process ends after the context, and no
    signal may change its status any more; Python gives signals back to the system while it clears
    its modules away, so they are ignored from here on.
    """
    global _state
    state = _state = _State()
    state.final = final

    def stop(number, frame):
        if not (state.signal_name or state.is_settled):
            state.signal_name = _ENDING_SIGNALS[number]
            raise Terminated

    def lose(unraisable):
        if issubclass(unraisable.exc_type, Terminated | KeyboardInterrupt):
            state.lost = True
        else:
            hook(unraisable)

    before: dict[int, Any] = {}
    # Only the main thread may; elsewhere the program around keeps its own handling.
    with contextlib.suppress(ValueError):
        for number in _ENDING_SIGNALS:
            if number == signal.SIGTERM or signal.getsignal(number) != signal.SIG_IGN:
                before[number] = signal.signal(number, stop)
    hook, sys.unraisablehook = sys.unraisablehook, lose
    try:
        yield
    finally:
        sys.unraisablehook = hook
        if final:
            with contextlib.suppress(ValueError):
                for number in (*_ENDING_SIGNALS, signal.SIGINT):
                    signal.signal(number, signal.SIG_IGN)
        else:
            for number, handler in before.items():
                signal.signal(number, handler)


def settle() -> None:
    """Fixes the status of the run: no signal changes it any more. Call it where a KeyboardInterrupt
    is still caught; one that is on its way may be raised here."""
    _state.is_settled = True
    if _state.final:
        with contextlib.suppress(ValueError):  # not the main thread
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def pending_signal() -> str:
    """Name of the signal that came, "" for none: later failures may be due to its exception, raised
    within a library."""
    return _state.signal_name


def check_signals() -> None:
    """Raises a signal's exception again if it was dropped in a destructor or a callback of the
    import system."""
    if _state.signal_name:
        raise Terminated
    if _state.lost:
        _state.lost = False
        raise KeyboardInterrupt
