# SPDX-License-Identifier: BSD-3-Clause
"""What runs of passes over structures share: they end at their gap, or where rounding keeps them
from it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from svmcut.base.typing import Any
from svmcut.solvers.protocol import Interrupted, Progress, Run, Stall, Start, kept
from svmcut.spec import schemas
from svmcut.spec.schemas import OWN, Form
from svmcut.structured.protocol import StructuredProblem


def due(passes: int) -> int:
    """The pass of the look after the one at this pass, where a look costs no more than a pass."""
    return max(passes + 1, int(1.2 * passes))


class PassRun(Run):
    """A step after every look at the gap; a subclass makes the passes.

    Parameters
    ----------
    solver, problem, start, state
        As Run takes them; a subclass restores the state.
    primal : float
        P(0), inf where that is to be found out.
    patience : int
        Looks without a smaller gap that end the run.

    Attributes
    ----------
    best : (dim,) float64
    primal, lower : float
        P of the best point, the best bound.
    """

    def __init__(
        self,
        solver: Any,
        problem: StructuredProblem,
        start: Start | None,
        primal: float,
        patience: int,
    ):
        super().__init__(solver, problem, start)
        self.model, self.C, self.stop = problem.model, problem.C, problem.stop
        self.best, self.primal, self.lower = np.zeros(self.model.dim), primal, 0.0
        self.stall, self.ends = Stall(patience), False

    def form(self) -> Form:
        real = schemas.REAL
        known = {"stall": OWN, "primal": real, "lower": real, "ends": schemas.flag}
        return known | {"best": schemas.weights(self.model.dim)}

    def __iter__(self) -> Iterator[Progress]:
        began = time.perf_counter()
        if not self._resumed:
            self._begin()
        while True:
            if not self._resumed:
                self.ends = self.stop.met(self.primal, self.lower) or self.stall.update(
                    self.primal - self.lower
                )
            self._resumed = False
            yield self._progress(began)
            if self.ends:
                return
            try:
                self._advance()
            except KeyboardInterrupt:
                if self.best.any():
                    raise
                self._end_early()
                raise Interrupted(self._progress(began)) from None

    def _progress(self, began: float) -> Progress:
        return Progress(
            primal=self.primal,
            dual=self.lower,
            gap=self.primal - self.lower,
            seconds=time.perf_counter() - began,
            solution=kept(self.best),
            **self._counts(),
        )

    def _end_early(self) -> None:
        """Looks at the weights at hand, where the run must end and w = 0 is all that is known."""

    def _begin(self) -> None:
        """What comes before the first look."""

    def _advance(self) -> None:
        """Passes up to the next look, and the look."""
        raise NotImplementedError

    def _counts(self) -> dict[str, Any]:
        """The other fields of a Progress."""
        raise NotImplementedError
