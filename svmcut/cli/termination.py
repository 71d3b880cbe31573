# SPDX-License-Identifier: BSD-3-Clause
"""SIGTERM and Ctrl-C as exceptions that reach the end of the run wherever they are raised."""

from __future__ import annotations

import contextlib
import signal
import sys

INTERRUPTED = 130
TERMINATED = 143
#: Stopped by SIGTERM, and a run with --resume will go on: sysexits' EX_TEMPFAIL.
STOPPED = 75


class Terminated(BaseException):
    """SIGTERM, raised where the run is so that what it holds open is put away; no failure, hence no Exception.

    Parameters
    ----------
    kept : bool
        False where a state that was due could not be written and there is no older one.
    """

    def __init__(self, kept: bool = True):
        super().__init__()
        self.kept = kept


class _State:
    asked = over = lost = False


_state = _State()


@contextlib.contextmanager
def signals_raised(final: bool):
    """SIGTERM raises Terminated within the context, once: a second one must not disturb the clearing away.

    Parameters
    ----------
    final : bool
        The process ends after the context: neither signal may change its status any more. Python gives signals back
        to the system while it clears its modules away, so they are ignored from here on.
    """
    global _state
    state = _state = _State()

    def stop(number, frame):
        if not (state.asked or state.over):
            state.asked = True
            raise Terminated

    def lose(unraisable):
        if issubclass(unraisable.exc_type, Terminated | KeyboardInterrupt):
            state.lost = True
        else:
            hook(unraisable)

    before = None
    # Only the main thread may; elsewhere the program around keeps its own handling.
    with contextlib.suppress(ValueError):
        before = signal.signal(signal.SIGTERM, stop)
    hook, sys.unraisablehook = sys.unraisablehook, lose
    try:
        yield
    finally:
        sys.unraisablehook = hook
        if final:
            with contextlib.suppress(ValueError):
                for number in (signal.SIGTERM, signal.SIGINT):
                    signal.signal(number, signal.SIG_IGN)
        elif before is not None:
            signal.signal(signal.SIGTERM, before)


def settle() -> None:
    """The status of the run is known: SIGTERM changes it no more."""
    _state.over = True


def asked() -> bool:
    """Whether SIGTERM came: what fails from then on may fail of its exception, raised within a library."""
    return _state.asked


def look() -> None:
    """Raises a signal's exception again where it was lost.

    Raised in a destructor or in a callback of the import system, it is dropped there and the run would go on.
    """
    if _state.asked:
        raise Terminated
    if _state.lost:
        _state.lost = False
        raise KeyboardInterrupt
