# SPDX-License-Identifier: BSD-3-Clause
"""CPU seconds that parts of training take, for programs that print their shares.

Parts lie within each other, and a second counts for the innermost. Nothing is measured where nobody asked for it, and
what is measured decides nothing.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

#: Solving; kernel values; most violated labellings; feature vectors and products with them; what comes before.
QP, KERNEL, ARGMAX, PSI, INIT = "QP", "kernel", "Argmax", "Psi", "init"


class Stopwatch:
    """The seconds of parts, as far as one thread runs them.

    Attributes
    ----------
    seconds : dict of str to float
        CPU seconds by part, those of all threads while it ran.
    """

    def __init__(self) -> None:
        self.seconds = dict.fromkeys((QP, KERNEL, ARGMAX, PSI, INIT), 0.0)
        self.thread = threading.get_ident()
        self._within: list[str] = []
        self._last = 0.0

    def run(self, name: str, function: Callable[..., Any], *words: Any, **named: Any) -> Any:
        """The value of a function whose time is this part's, but for the parts within."""
        self._count()
        self._within.append(name)
        try:
            return function(*words, **named)
        finally:
            self._count()
            self._within.pop()

    def _count(self) -> None:
        now = time.process_time()
        if self._within:
            self.seconds[self._within[-1]] += now - self._last
        self._last = now


#: The one that runs, where there is one.
running: list[Stopwatch] = []


@contextlib.contextmanager
def watching() -> Iterator[Stopwatch]:
    """Has the parts of this thread measured."""
    running.append(Stopwatch())
    try:
        yield running[-1]
    finally:
        running.pop()


def part(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of functions whose time is that of a part."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def timed(*words: Any, **named: Any) -> Any:
            if not running or running[-1].thread != threading.get_ident():
                return function(*words, **named)
            return running[-1].run(name, function, *words, **named)

        return timed

    return decorate
