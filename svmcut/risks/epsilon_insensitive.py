# SPDX-License-Identifier: BSD-3-Clause
"""Epsilon-insensitive loss: R(s) = sum_i v_i max(0, |y_i - s_i| - tube), linear support vector
regression.

    cut          c in [-1, 1]:   R(s') >= sum v (c y - tube |c|) - (v c).s';   the tangent has
                 c = sign(y - s) outside the tube and 0 inside
    dual         beta = C v c:   sum beta y - tube sum |beta| - 1/2 |w|^2
    smoothed     two smoothed hinges (svmcut/risks/hinge.py), of y - tube - s and of s - y - tube
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native import sparse
from svmcut._native.losses import TUBE
from svmcut.risks.tubes import BoundTube, TubeRisk
from svmcut.spec import schemas


class BoundEpsilonInsensitive(BoundTube):
    """The epsilon-insensitive risk of given targets."""

    number = TUBE

    def line_minimum(self, s, e, wd: float, dd: float, C: float) -> float:
        """The t >= 0 that minimises (t^2 dd + 2 t wd)/2 + C R(s + t e), exactly; expected O(n). The
        loss is a sum of two hinges."""
        beyond = 1.0 + self.tube
        signs, weights = self._hinges()
        scores = np.concatenate([s - self.targets + beyond, s - self.targets - beyond])
        return sparse.hinge_line(
            signs, scores, np.concatenate([e, e]), wd, dd, C, self._threads, weights
        )

    def on_grid(self, s, target, grid, even: int):
        """See GridRisk; O(n + steps). Hinges with the margin -tube lose no digit to adding 1."""
        rest, end = s - self.targets, target - self.targets
        signs, weights = self._hinges()
        ends = np.concatenate([rest, rest]), np.concatenate([end, end])
        return sparse.hinge_grid(signs, *ends, grid, even, self._threads, weights, -self.tube)

    def _hinges(self) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """(2n,) signs and weights of the two hinges of every row."""
        weights = None if self.weights is None else np.concatenate([self.weights, self.weights])
        return np.repeat([1.0, -1.0], len(self.targets)), weights

    def initial_width(self) -> float:
        """The mean loss at 0."""
        n = len(self.targets)
        return self.linearize(np.zeros(n)).value / n or 1.0

    def corners(self, s) -> tuple:
        """(2, n) biases at which a loss has its corners, the jumps of its slope there, and its
        slopes below each, where the second one starts from 0."""
        weights = np.ones(len(s)) if self.weights is None else self.weights
        rest = self.targets - s
        jumps = np.array([weights, weights])
        return (
            np.array([rest - self.tube, rest + self.tube]),
            jumps,
            np.array([-weights, np.zeros(len(s))]),
        )

    def dual_cut(self, fractions, logit) -> tuple:
        offset = float(
            np.sum(self.apply_weights(fractions * self.targets - self.tube * np.abs(fractions)))
        )
        return -self.apply_weights(fractions), offset

    def nearest_cut(self, coef) -> tuple:
        return self.dual_cut(np.clip(self.fractions(coef), -1.0, 1.0), None)

    def box(self, n: int, most: float = 1.0) -> schemas.Check:
        return schemas.reals(n, low=-most, high=most)


class EpsilonInsensitiveRisk(TubeRisk):
    """Sum of weighted epsilon-insensitive losses."""

    name = "epsilon-insensitive"
    bound = BoundEpsilonInsensitive
