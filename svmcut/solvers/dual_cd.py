# SPDX-License-Identifier: BSD-3-Clause
"""Dual coordinate descent for the hinge loss, certified as one fractional cut.

    problem      min_w  1/2 |w|^2 + sum_i C_i max(0, 1 - y_i w.x_i),   C_i = C v_i, C without weights
    its dual     max    sum alpha - 1/2 |w|^2,   0 <= alpha_i <= C_i,   w = sum_i alpha_i y_i x_i
    update       one alpha at a time to its optimum, in random order (csrc/linear/dual_cd.cc)
    certificate  c_i = alpha_i / C_i is a cut; P at w and on the line to it from the best point so far

The fastest of the trainers here on sparse rows with many features. Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML
2008, Algorithm 3.

Deviations from the paper: the constant feature has its own weight and X is not copied; the run ends at a duality gap
and not at a projected gradient; the exact gap is computed when the sum of the gaps met on the way says that it is due.
Where the gap falls too slowly and features are few, Newton's method goes on from the point reached; where it stalls,
cutting planes do.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from svmcut import states
from svmcut._native import dual_cd, sparse
from svmcut.risks.weights import boxes, total
from svmcut.solvers.fractional import FractionalRun
from svmcut.solvers.newton import DENSE_DIM, Newton
from svmcut.solvers.protocol import Interrupted, Problem, Progress, Solver, Stall, Start, State

if TYPE_CHECKING:
    from numpy.typing import NDArray


class DualCdRun(FractionalRun):
    """A step after every exact look at the gap. It begins at the fractions of the start, where that has some."""

    def __init__(self, solver: DualCd, problem: Problem, start: Start | None, state: State | None):
        super().__init__(solver, problem, start, state)
        space, n = problem.space, len(problem.risk.signs)
        self.fractions = None if start is None else start.fractions
        if state is not None:
            states.checked(state, states.fields(fractions=states.maybe(states.reals(n, low=0, high=1))))
            self.fractions = state["fractions"]
        self._few = space.dim <= max(DENSE_DIM, n // 10)  # Newton's method could go on
        self._boxes, self._total = boxes(problem.C, problem.risk.weights), total(problem.risk.weights, n)
        self._alpha, self._w, self._looks = np.zeros(n), space.zero(), 0
        # The estimate adds gaps of many moments and knows no search of the line: its last ratio to the gap says when
        # to look.
        self._ratio, self._stall, self._last = 1.0, Stall(60), (0, math.inf)

    def state(self) -> State:
        return {**super().state(), "fractions": self.fractions}

    def _descent_state(self) -> State:
        return {
            "alpha": self._alpha.copy(), "w": self._w.copy(), "looks": self._looks, "native": self._native.save(),
            "numbers": (self._ratio, *self._last), "stall": self._stall.state(),
        }  # fmt: skip

    def _successor(self) -> Solver:
        return Newton() if self._few else super()._successor()

    def _descend(self, saved: State | None) -> Generator[Progress, None, bool]:
        problem, alpha, w = self._problem, self._alpha, self._w
        space, C, signs, rows, n = problem.space, problem.C, problem.risk.signs, problem.space.rows, len(alpha)
        v = problem.risk.weights
        norms = np.empty(n)
        sparse.row_norms(rows, norms, space.threads)
        norms += space.bias**2
        if saved is not None:
            numbers = states.row(states.real(0), states.COUNT, states.REAL)
            states.checked(saved, states.fields(
                alpha=states.reals(n, low=0), w=space.kinds().element, looks=states.COUNT, numbers=numbers,
                native=states.row(states.array(np.int32, 2 * n), states.anything),
            ), "descent")  # fmt: skip
            states.require(bool((saved["alpha"] <= self._boxes).all()), "descent.alpha and C", "no alpha above its C")
            np.copyto(alpha, saved["alpha"])
            np.copyto(w, saved["w"])
            self._looks = saved["looks"]
        elif self.fractions is not None and self._iteration == 1:
            np.multiply(self.fractions, self._boxes, out=alpha)
            np.copyto(w, space.adjoint(signs * alpha))
        elif self.fractions is not None or self.lower == 0:
            # The cut at 0 is c = 1. Where C is so small that its multiplier is C, it is a better start than 0, or the
            # end already.
            coef, resumed = -signs if v is None else -(v * signs), self.fractions is not None
            a = space.adjoint(coef)
            if not resumed:
                self.cut(a, float(self._total), float(self._total), coef)
            self._looks += 1
            if self.bundle.beta[-1] == 1.0:
                np.multiply(a, -C, out=w)
                alpha[:] = self._boxes
                self._looks += 1
                if not resumed:
                    self.fractions = np.ones(n)
                    self.search(w, space.scores(w))
                    met = self.met()
                    yield self.progress()
                    if met:
                        return False
        self._native = descent = dual_cd.Descent(rows, signs, norms, space.bias, alpha, w, self._solver.seed, v)
        block = min(max(10, 200_000 // (space.X.nnz + 10 * n)), 200)  # epochs that cost more than a look does
        if saved is not None:
            descent.load(*saved["native"])
            self._ratio, *last = saved["numbers"]
            self._last = tuple(last)
            self._stall.restore(saved["stall"])
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
                s = space.scores(w)
            met = self.met()
            yield self.progress(again=saved is not None)
            saved = None
            if met:
                return False
            epochs, gap = self._last
            if self._few and epochs and self._too_slow(gap / self.gap, descent.epochs - epochs, descent.active / n):
                return True
            if self._stall.update(self.gap):
                return True
            self._ratio = min(max(self.gap / descent.gap, 0.3), 1.5) if descent.gap > 0 else 1.0
            descent.wake(C, s)

    def _look(self) -> NDArray[np.float64]:
        """Takes alpha in as a cut and as a point; the scores of its w."""
        space, C, v = self._problem.space, self._problem.C, self._problem.risk.weights
        self.fractions = np.minimum(self._alpha / self._boxes, 1.0)
        parts = self.fractions if v is None else v * self.fractions
        coef = parts * self._problem.risk.signs
        np.negative(coef, out=coef)
        a = space.adjoint(coef)
        np.multiply(a, -C, out=self._w)
        s = space.scores(self._w)
        self._looks += 2
        self.passes = self._looks + self._native.entries / max(1, space.X.nnz)
        self.search(self._w, s)
        self.cut(a, float(np.sum(parts)), self.risk, coef)
        return s

    def _too_slow(self, fall: float, epochs: int, share: float) -> bool:
        """Whether a gap that fell to 1 / fall of itself in so many epochs, of that share of the rows, needs more than
        max_epochs of all rows yet."""
        if not fall > 1 or self.target <= 0:
            return True
        return share * epochs * math.log(self.gap / self.target) / math.log(fall) > self._solver.max_epochs


@dataclass(frozen=True)
class DualCd(Solver):
    """Dual coordinate descent.

    Parameters
    ----------
    seed : int
        Of the order of the visits.
    max_epochs : float
        Epochs of all rows the run may be predicted to need yet where Newton's method could go on (few features).
    """

    run = DualCdRun
    seed: int = 0
    max_epochs: float = 15
