# SPDX-License-Identifier: BSD-3-Clause
"""The base of runs of passes over structures, which end at their gap or where rounding stops
them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from svmcut.base.typing import Any
from svmcut.solvers.protocol import Interrupted, Progress, Run, Stall, Start, constant
from svmcut.spec import schemas
from svmcut.spec.schemas import OWN, Form
from svmcut.structured.protocol import StructuredProblem


def due(passes: int) -> int:
    """Return the pass of the next look after one at this pass, each costing no more than a pass."""
    return max(passes + 1, int(1.2 * passes))


class PassRun(Run):
    """A step after every look at the gap; a subclass makes the passes.

    `primal` is P(0), inf where that is unknown; `patience` counts the looks without a smaller gap
    that end the run.
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
        #: The best point (dim,), its P, and the best bound.
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
                self.ends = self.stop.met(self.primal, self.lower) or self.stall.has_stalled(
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
        certificate: Any = {"primal": self.primal, "dual": self.lower}
        return Progress.since(began, **certificate, solution=constant(self.best), **self._counts())

    def _end_early(self) -> None:
        """Evaluate the present weights, where the run must end and no point but w = 0 is known."""

    def _begin(self) -> None:
        """Prepare the first look."""

    def _advance(self) -> None:
        """Make the passes up to the next look, and the look."""
        raise NotImplementedError

    def _counts(self) -> dict[str, Any]:
        """Return the other fields of a Progress."""
        raise NotImplementedError
