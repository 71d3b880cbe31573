# SPDX-License-Identifier: BSD-3-Clause
"""Dual coordinate descent for any loss: epochs between exact looks at the gap, and the rule for
handing over."""

from __future__ import annotations

import math
from collections.abc import Generator

import numpy as np
from numpy.typing import NDArray

from svmcut._native import sparse
from svmcut.base.typing import Any
from svmcut.solvers.auto import epochs_between_looks
from svmcut.solvers.fractional import FractionalRun
from svmcut.solvers.protocol import Interrupted, Problem, Progress, Solver, Stall, Start
from svmcut.spec import schemas
from svmcut.spec.schemas import OWN, Form, State


def squared_norms(space: Any) -> NDArray[np.float64]:
    """Return |x_i|^2 (n,) of the rows with their constant feature."""
    norms = np.empty(space.X.n_rows)
    sparse.row_norms(space.rows, norms, space.threads)
    norms += space.bias**2
    return norms


def hinge_cut(
    fractions: NDArray, signs: NDArray, v: NDArray | None
) -> tuple[NDArray[np.float64], float]:
    """Return coefficients and offset of the cut of the hinge that alpha / C_i are."""
    parts = fractions if v is None else v * fractions
    coef = parts * signs
    np.negative(coef, out=coef)
    return coef, float(np.sum(parts))


class DescentRun(FractionalRun):
    """A step after every exact look at the gap. It begins at the fractions of the start, if any."""

    #: C of every row: (n,) float64, or a number.
    _boxes: Any
    #: Whether Newton's method may take over.
    _newton: bool

    def __init__(self, solver: Solver, problem: Problem, start: Start | None):
        super().__init__(solver, problem, start)
        self.fractions = None if start is None else start.fractions
        self._alpha = np.zeros(problem.space.X.n_rows)
        self._w = problem.space.zero()
        self._looks = 0
        # The estimate adds gaps of many moments and knows no search of the line: its last ratio to
        # the gap says when to look.
        self._ratio = 1.0
        self._stall = Stall(60)
        self._last = (0, math.inf)
        self._foreseen = math.inf

    def _multipliers(self, most: NDArray | None) -> schemas.Check:
        """Return the check of alpha up to these values, or of the fractions without."""
        raise NotImplementedError

    def form(self) -> Form:
        return super().form() | {"fractions": schemas.maybe(self._multipliers(None))}

    def _descent_form(self) -> Form:
        return {
            "_alpha": self._multipliers(np.broadcast_to(self._boxes, len(self._alpha))),
            "_w": self._problem.space.kinds().element,
            "_looks": schemas.COUNT,
            "_ratio": schemas.real(0),
            "_last": schemas.row(schemas.COUNT, schemas.REAL),
            "_foreseen": schemas.real(infinite=True),
            "_native": OWN,
            "_stall": OWN,
        }

    def _cut(self) -> tuple[NDArray[np.float64], float]:
        """Set the fractions of alpha; return coefficients and offset of their cut."""
        raise NotImplementedError

    def _look(self) -> NDArray[np.float64]:
        """Take in alpha as a cut and as a point; return the scores of its w."""
        space = self._problem.space
        coef, offset = self._cut()
        a = space.adjoint(coef)
        np.multiply(a, -self._problem.C, out=self._w)
        s = space.scores(self._w)
        self._looks += 2
        self.passes = self._looks + self._native.entries / max(1, space.X.nnz)
        self.search(self._w, s)
        known = s / -self._problem.C if space.should_keep_coefficients else None
        self.cut(a, offset, self.risk, coef, known)
        return s

    def _run_epochs(self, descent: Any, saved: State | None) -> Generator[Progress, None, bool]:
        """Yield after epochs of the compiled loop until the gap is met; return True where another
        solver should go on."""
        self._native = descent
        space, C, n = self._problem.space, self._problem.C, len(self._alpha)
        block = epochs_between_looks(n, space.X.nnz)
        if saved is not None:
            schemas.restore(self, self._descent_form(), saved, "descent")
        self._stage = "descent"
        while True:
            if saved is None:
                self._last = descent.epochs, self.gap
                try:
                    descent.run(C, max(block, descent.epochs // 5), self.target / self._ratio)
                except KeyboardInterrupt:
                    self._look()
                    raise Interrupted(self.progress()) from None
                s = self._look()
            else:
                s = space.scores(self._w)
            met = self.is_met()
            yield self.progress(again=saved is not None)
            saved = None
            if met:
                return False
            epochs, gap = self._last
            if epochs and self._should_hand_over(
                self._predict_epochs(gap / self.gap, descent.epochs - epochs, descent.active / n)
            ):
                return True
            if self._stall.has_stalled(self.gap):
                return True
            self._ratio = min(max(self.gap / descent.gap, 0.3), 1.5) if descent.gap > 0 else 1.0
            descent.wake(C, s)

    def _predict_epochs(self, fall: float, epochs: int, share: float) -> float:
        """Return the epochs of all rows that a gap still needs which fell by this factor in so many
        epochs of a share of them."""
        if not fall > 1 or self.target <= 0:
            return math.inf
        return share * epochs * math.log(self.gap / self.target) / math.log(fall)

    def _should_hand_over(self, epochs: float) -> bool:
        """Tell whether another solver should go on where so many epochs are predicted."""
        return self._newton and epochs > self._solver.max_epochs
