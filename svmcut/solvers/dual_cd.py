# SPDX-License-Identifier: BSD-3-Clause
"""Dual coordinate descent for the hinge loss, certified as one fractional cut.

    problem      min_w  1/2 |w|^2 + sum_i C_i max(0, 1 - y_i w.x_i),   C_i = C v_i, C without weights
    its dual     max    sum alpha - 1/2 |w|^2,   0 <= alpha_i <= C_i,   w = sum_i alpha_i y_i x_i
    update       one alpha at a time to its optimum, in random order (csrc/linear/dual_cd.cc)
    certificate  c_i = alpha_i / C_i is a cut; P on the line from the best point so far to the best multiple of w

The fastest of the trainers here on sparse rows with many features. Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML
2008, Algorithm 3.

Deviations from the paper: the constant feature has its own weight and X is not copied; the run ends at a duality gap
and not at a projected gradient; the exact gap is computed when the sum of the gaps met on the way says that it is due.
Where the gap falls too slowly and features are few, Newton's method goes on from the point reached; where it stalls,
cutting planes do.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from svmcut import states
from svmcut._native import dual_cd
from svmcut.risks.weights import boxes, total
from svmcut.solvers.descent import DescentRun, squared_norms
from svmcut.solvers.newton import DENSE_DIM, Newton
from svmcut.solvers.protocol import Problem, Progress, Solver, Start, State

if TYPE_CHECKING:
    from numpy.typing import NDArray


class DualCdRun(DescentRun):
    """The hinge: its multipliers have a box, and the cut at 0 may be the end."""

    def __init__(self, solver: DualCd, problem: Problem, start: Start | None, state: State | None):
        super().__init__(solver, problem, start, state)
        space, n = problem.space, len(self._alpha)
        self._newton = space.dim <= max(DENSE_DIM, n // 10)
        self._boxes, self._total = boxes(problem.C, problem.risk.weights), total(problem.risk.weights, n)

    def _kept(self) -> states.Check:
        return states.reals(self._problem.space.X.n_rows, low=0, high=1)

    def _successor(self) -> Solver:
        return Newton() if self._newton else super()._successor()

    def _descend(self, saved: State | None) -> Generator[Progress, None, bool]:
        problem, alpha, w = self._problem, self._alpha, self._w
        space, C, signs, rows, n = problem.space, problem.C, problem.risk.signs, problem.space.rows, len(alpha)
        v = problem.risk.weights
        norms = squared_norms(space)
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
        descent = dual_cd.Descent(rows, signs, norms, space.bias, alpha, w, self._solver.seed, v)
        return (yield from self._rounds(descent, saved))

    def _cut(self) -> tuple[NDArray[np.float64], float]:
        v = self._problem.risk.weights
        self.fractions = np.minimum(self._alpha / self._boxes, 1.0)
        parts = self.fractions if v is None else v * self.fractions
        coef = parts * self._problem.risk.signs
        np.negative(coef, out=coef)
        return coef, float(np.sum(parts))


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
