# SPDX-License-Identifier: BSD-3-Clause
"""A path of C over threads: cut into chains that do not hang on them, of which all but the first
are trained ahead.

A chain is values of C in the order given, each of which starts from the solution before; the first
of a chain starts from nothing, with one thread too. So the threads change no model. There are as
many chains as of `svmcut.selection.grid.CHAIN` values each, but the largest C takes most of the
work: chains are of about equal sums of sqrt(C), and the longest are trained first. The largest C
alone is often one of them, and loses little: of 100,000 rows like RCV1's it takes 152 passes from
nothing and 133 from a third of it, half of a path of eight either way. With a kernel all are one
chain: what is known of the kernel serves every C, and the threads go to its values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from svmcut._native.interrupt import Cancelled
from svmcut.selection.grid import CHAIN, Crew
from svmcut.spec.records import replace
from svmcut.typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from svmcut.spec.parameters import Settings
    from svmcut.training.driver import Driver
    from svmcut.training.outcome import Outcome

    Costs = tuple[float | None, float | None]


class Fitted(NamedTuple):
    """One model, what was told of its training, and its measures."""

    outcome: Outcome
    told: list[Any]
    measured: dict[str, Any]


def chains_of(work: NDArray[np.float64]) -> list[list[int]]:
    """Places of a path, chain by chain, by the work of each place."""
    count = math.ceil(len(work) / CHAIN)
    parts = (count * (np.cumsum(work) - work / 2) / np.sum(work)).astype(int)
    return [np.flatnonzero(parts == part).tolist() for part in np.flatnonzero(np.bincount(parts))]


class Ahead(Crew):
    """The chains behind the first one, trained by threads of their own; as a context it ends with
    them.

    Parameters
    ----------
    path : list of (cost, example_cost)
    threads : int
        Of the run; with 1 nothing is trained ahead.
    settings : Settings
    plan : callable
        Gives a driver of settings.
    tell : callable
        What is to be kept of a Progress and its objective.
    measure : callable
        Measures of a model.

    Attributes
    ----------
    starts : set of int
        Places where chains begin.
    """

    def __init__(
        self,
        path: Sequence[Costs],
        threads: int,
        settings: Settings,
        plan: Callable[..., Driver],
        tell: Callable[..., Any],
        measure: Callable[[Any], dict[str, Any]],
    ):
        work = np.sqrt([cost or example_cost or 0.0 for cost, example_cost in path])
        cut = [list(range(len(path)))] if settings.has_kernel else chains_of(work)
        self.starts = {chain[0] for chain in cut}
        chains = sorted(cut[1:], key=lambda chain: -work[chain].sum())
        self._ahead = {place for chain in chains for place in chain} if threads > 1 else set()
        super().__init__(chains, self._train, threads)
        self._settings = replace(settings, threads=max(1, threads // len(cut)))
        self._path, self._plan, self._tell, self._measure = path, plan, tell, measure
        self._fitted: dict[int, Fitted | BaseException] = {}

    def __enter__(self) -> Self:
        self.add(self._most - 1)
        return self

    def take(self, place: int, look: Callable[[], None]) -> Fitted | None:
        """The model of a place, once it is there; None where it is not trained ahead.

        Raises
        ------
        Exception
            Of its training.
        """
        if place not in self._ahead:
            return None
        self.add(1)  # this thread has nothing to train any more
        self.wait(lambda: place in self._fitted, look)
        fitted = self._fitted.pop(place)
        if isinstance(fitted, BaseException):
            raise fitted
        return fitted

    def _train(self, chain: list[int]) -> None:
        place = chain[0]
        try:
            driver = self._plan(self._settings)
            for place in chain:
                self._put(place, self._fit(driver, place))
        except Cancelled:
            raise
        except BaseException as failure:
            self._put(place, failure)

    def _fit(self, driver: Driver, place: int) -> Fitted:
        told: list[Any] = []

        def observe(progress, objective) -> None:
            self.check()
            if progress.report:
                told.append(self._tell(progress, objective))

        outcome = driver.fit(*self._path[place], observe)
        return Fitted(outcome, told, self._measure(outcome.model))

    def _put(self, place: int, fitted: Fitted | BaseException) -> None:
        with self.change:
            self._fitted[place] = fitted
            self.change.notify_all()
