# SPDX-License-Identifier: BSD-3-Clause
"""Crammer and Singer's classes of few rows, solved as a whole by interior-point steps.

    problem      min_W  1/2 |W|^2 + sum_i C_i (lambda_i),  lambda_i >= W_k.x_i - W_y.x_i + [k != y]
    conditions   W = X'alpha,  alpha_k = C [y = k] - x_k,  x >= 0,  sum_k x_k = C,
                 z_k = lambda + [y = k] - X W_k >= 0,  x z = 0
    step         dW_k by least squares of [(x/z)^1/2 X, I], one factorisation a class, and one
                 matrix of the rows for dlambda (Mehrotra, SIAM J. Optim. 2, 1992)

lambda is shifted by the score of the right class. Steps of one row at a time may need a million
epochs where scales of columns are far apart; W has its own digits here, which the sum of the rows
loses where C is large.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, lstsq, qr, solve_triangular

from svmcut.base.typing import NamedTuple
from svmcut.qp.box import step_to_boundary

#: Most rows, and most numbers of the factors of all classes.
MAX_ROWS, MAX_NUMBERS = 500, 2_000_000
MAX_STEPS = 100
REFINEMENTS = 2
#: Sum of x z at which steps end, as a fraction of the objective.
RELATIVE_GAP = 1e-10
#: Steps in a row that may take less than a tenth off the error.
MAX_STALLED_STEPS = 10


def is_few(n: int, d: int, K: int) -> bool:
    """Tell whether n rows of d features and K classes are solved as a whole."""
    return n <= MAX_ROWS and n * (n + min(n, d)) * K <= MAX_NUMBERS


class Solution(NamedTuple):
    """A point near the optimum, whose W is not exactly the sum of its rows."""

    #: (n, K) within its bounds.
    alpha: NDArray[np.float64]
    #: (d, K).
    W: NDArray[np.float64]


class _LeastSquares:
    """min |B dW - b|^2 + |dW - c|^2 for B (n, d) with rows of very different sizes."""

    def __init__(self, B: NDArray):
        n, d = B.shape
        whole = np.vstack([B, np.eye(d)])
        order = np.argsort(-np.abs(whole).max(axis=1), kind="stable")
        Q, self._R, self._columns = qr(whole[order], mode="economic", pivoting=True)
        self._Q = np.empty_like(Q)
        self._Q[order] = Q
        self.projector: NDArray[np.float64] = np.eye(n) - self._Q[:n] @ self._Q[:n].T

    def solve(self, b: NDArray, c: NDArray) -> NDArray[np.float64]:
        """dW (d,)."""
        x = np.empty(len(c))
        x[self._columns] = solve_triangular(self._R, self._Q.T @ np.concatenate([b, c]))
        return x


class _Point:
    """W (K, d), lambda (n,), and x and z (K, n) above 0."""

    def __init__(self, rows: NDArray, y: NDArray, tops: NDArray, K: int):
        self._rows, self._tops = rows, tops
        self._right = (np.arange(K)[:, None] == y).astype(np.float64)
        self.x = np.broadcast_to(tops / K, (K, len(y))).copy()
        self.W = np.zeros((K, rows.shape[1]))
        self._shift, self.z = np.ones(len(y)), 1.0 + self._right
        self.alpha = self._coefficients(self._tops * self._right - self.x)

    def measure_error(self) -> tuple[float, float]:
        """Complementarity plus dual residual in units of the objective, and the objective."""
        self.alpha = self._coefficients(self._tops * self._right - self.x)
        self._weight_residual = self.W - self.alpha @ self._rows
        self._dual_residual = self._shift + self._right - self.W @ self._rows.T - self.z
        self._primal_residual = self.x.sum(axis=0) - self._tops
        self._complementarity = float((self.x * self.z).sum())
        value = float((self.alpha * self._right).sum() - 0.5 * np.square(self.W).sum())
        off = float((np.abs(self._dual_residual) @ self._tops).sum())
        return self._complementarity + off, value

    def factor(self) -> None:
        """Factorise the equations of a step; raises LinAlgError or ValueError where only rounding
        is left."""
        self._roots = np.sqrt(self.x / self.z)
        self._squares = [_LeastSquares(root[:, None] * self._rows) for root in self._roots]
        parts = zip(self._roots, self._squares, strict=True)
        self._schur = np.sum([root[:, None] * each.projector * root for root, each in parts], 0)

    def _coefficients(self, alpha: NDArray) -> NDArray[np.float64]:
        """alpha whose columns add up to 0: the largest x of a row takes what rounding left."""
        main = self.x.argmax(axis=0), np.arange(self.x.shape[1])
        alpha[main] = 0.0
        alpha[main] = -alpha.sum(axis=0)
        return alpha

    def _directions(self, aim: NDArray | float) -> tuple[NDArray, ...]:
        """dW, dx, dz and dlambda that lead to x z = aim, W = X'alpha and sum x = C."""
        X, z, squared = self._rows, self.z, self._roots**2
        g = aim / self.x - z - self._dual_residual
        before = squared * (g + self._moves(g) @ X.T)
        rise = np.linalg.solve(self._schur, before.sum(axis=0) + self._primal_residual)
        weights = self._moves(g - rise)
        change = g - rise + weights @ X.T
        return weights, squared * change, aim / self.x - z - change, rise

    def _moves(self, g: NDArray) -> NDArray[np.float64]:
        """(K, d) dW for these right-hand sides (K, n)."""
        each = zip(self._squares, self._roots * g, self._weight_residual, strict=True)
        return np.array([squares.solve(-b, -c) for squares, b, c in each])

    def step(self) -> None:
        """Take a predictor-corrector step; raises as `factor`."""
        self.factor()
        x, z = self.x, self.z
        _, dx, dz, _ = self._directions(0.0)
        a = step_to_boundary((x, dx), (z, dz))
        mu = self._complementarity / x.size
        after = float(((x + a * dx) * (z + a * dz)).sum()) / x.size
        weights, dx, dz, rise = self._directions(min(1.0, max(after / mu, 0.0) ** 3) * mu - dx * dz)
        a = step_to_boundary((x, dx), (z, dz))
        self.x, self.z, self._shift = x + a * dx, z + a * dz, self._shift + a * rise
        self.W = self.W + a * weights

    def fit_to_weights(self) -> None:
        """Move x between its bounds to where the rows add up to W, as far as it stays inside."""
        K, n = self.x.shape
        main = self.x.argmax(axis=0)
        others = self.x.copy()
        others[main, np.arange(n)] = 0.0
        free = others > self.z * min(float(others.max()), float(self._tops.max()))
        to, at = np.nonzero(free)
        if not len(at):
            return
        columns = np.zeros((K, self._rows.shape[1], len(at)))
        columns[main[at], :, np.arange(len(at))] += self._rows[at]
        columns[to, :, np.arange(len(at))] -= self._rows[at]
        own = lstsq(columns.reshape(-1, len(at)), self._weight_residual.ravel(), 1e-15)[0]
        dx = np.zeros((K, n))
        dx[to, at] = own
        np.subtract.at(dx, (main[at], at), own)
        self.x = self.x + step_to_boundary((self.x, dx)) * dx

    def is_inside(self) -> bool:
        return bool((self.x > 0).all() and (self.z > 0).all())


def solve_classes(
    rows: NDArray[np.float64], y: NDArray[np.int32], boxes: NDArray[np.float64], K: int
) -> Solution:
    """A point near the optimum of rows (n, d) whose C are `boxes` (n,)."""
    alpha, used = np.zeros((len(y), K)), np.flatnonzero(boxes > 0)
    if not len(used):
        return Solution(alpha, np.zeros((rows.shape[1], K)))
    y, tops, X = y[used], boxes[used], rows[used]
    turned, scales, turn = np.linalg.svd(X, full_matrices=False)
    with np.errstate(all="ignore"):
        at = _Point(turned * scales, y, tops, K)
        least, best, waited = np.inf, at, 0
        for _ in range(MAX_STEPS):
            error, value = at.measure_error()
            waited = 0 if error < 0.9 * least else waited + 1
            if error < least:
                least, best = error, copy(at)
            if error <= RELATIVE_GAP * abs(value) or waited > MAX_STALLED_STEPS:
                break
            try:
                at.step()
            except (LinAlgError, ValueError):
                break
            if not at.is_inside():
                break
        for _ in range(2):
            best.measure_error()
            best.fit_to_weights()
        best.measure_error()
    alpha[used], W = best.alpha.T, best.W.T
    return Solution(alpha, turn.T @ W)
