# SPDX-License-Identifier: BSD-3-Clause
"""Exact optima of small machines in rational arithmetic: rows are at 0, at C or between, and who is
where is right if the optimality conditions hold without any rounding."""

from fractions import Fraction

import numpy as np


def rational(values):
    """Numbers of float64 or float32 as fractions, none of which is rounded."""
    return [[Fraction(float(value)) for value in row] for row in np.atleast_2d(values)]


def kernel_value(kernel, x, z):
    """The linear kernel with a constant feature, or (s x.z + r)^d, of fractions."""
    product = sum((a * b for a, b in zip(x, z, strict=True)), Fraction(0))
    if kernel["name"] == "linear":
        return product + Fraction(kernel["bias"]) ** 2
    inner = Fraction(kernel["scale"]) * product + Fraction(kernel["offset"])
    return inner ** kernel["degree"]


def solution(A, b):
    """x of A x = b, or None where A is singular."""
    rows = [[*row, value] for row, value in zip(A, b, strict=True)]
    m = len(rows)
    for k in range(m):
        pivot = next((i for i in range(k, m) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(m):
            if i != k and rows[i][k]:
                factor = rows[i][k]
                rows[i] = [a - factor * c for a, c in zip(rows[i], rows[k], strict=True)]
    return [row[m] for row in rows]


class ExactMachine:
    """The optimum of 1/2 |w|^2 + C sum_i max(0, 1 - y_i f(x_i))^p, p = 1 or 2, or of the tube's
    loss for numbers.

    Parameters
    ----------
    X : (n, d) float
        Taken as they are.
    y : (n,) float
    C : float
    start : (n,) float
        Coefficients beta near the optimum, which say who is where.
    kernel : dict
        As `kernel_value` takes it.
    loss : {"error-rate", "squared-hinge", "epsilon-insensitive"}
    tube : float

    Attributes
    ----------
    beta : list of Fraction or None
        f = sum_i beta_i K(x_i, .); None where no guess of who is where proves right.
    """

    def __init__(self, X, y, C, start, kernel, loss="error-rate", tube=0.0):
        self.X, self.y = rational(X), [Fraction(float(label)) for label in y]
        self.C, self.kernel, self.loss = Fraction(float(C)), kernel, loss
        self.tube = Fraction(float(tube))
        self.K = [[kernel_value(kernel, a, b) for b in self.X] for a in self.X]
        self.beta = None
        for part in (1e-6, 1e-4, 1e-9, 1e-2, 1e-12):
            self.beta = self._settled([self._place(value, part) for value in start])
            if self.beta is not None:
                break

    def _place(self, beta, part):
        """-1, 0 or 1 at a bound or at 0, None between, by a guess."""
        C = float(self.C)
        if abs(beta) <= part * C:
            return 0
        if self.loss != "squared-hinge" and abs(beta) >= (1 - part) * C:
            return int(np.sign(beta))
        return None if beta > 0 else "below"

    def _settled(self, places):
        """The coefficients, where rows move until the conditions hold."""
        for _ in range(4 * len(places) + 8):
            beta = self._solved(places)
            if beta is None:
                return None
            wrong = self._wrong(beta, places)
            if not wrong:
                return beta
            for i, place in wrong:
                places[i] = place
        return None

    def _solved(self, places):
        n = len(places)
        beta = [self.C * place if isinstance(place, int) else Fraction(0) for place in places]
        free = [i for i in range(n) if not isinstance(places[i], int)]
        curve = 1 / (2 * self.C) if self.loss == "squared-hinge" else Fraction(0)
        A = [[self.K[i][j] + (curve if i == j else 0) for j in free] for i in free]
        b = [self._edge(i, places[i]) - sum(self.K[i][j] * beta[j] for j in range(n)) for i in free]
        found = solution(A, b) if free else []
        if found is None:
            return None
        for i, value in zip(free, found, strict=True):
            beta[i] = value
        return beta

    def _edge(self, i, place):
        """The score of a row between."""
        if self.loss != "epsilon-insensitive":
            return self.y[i]  # y f = 1, less the slack of a squared loss
        return self.y[i] - (self.tube if place is None else -self.tube)

    def _wrong(self, beta, places):
        """Rows for which the conditions do not hold, and where they go."""
        found = []
        for i, place in enumerate(places):
            f = sum(self.K[i][j] * beta[j] for j in range(len(beta)))
            if self.loss == "epsilon-insensitive":
                found += self._wrong_number(i, place, beta[i], self.y[i] - f)
                continue
            y, margin = self.y[i], self.y[i] * f
            sign, between = int(y), None if y > 0 else "below"
            if place == 0:
                found += [(i, between)] if margin < 1 else []
            elif isinstance(place, int):
                found += [(i, between)] if margin > 1 or place != sign else []
            elif y * beta[i] < 0:
                found.append((i, 0))
            elif self.loss == "error-rate" and y * beta[i] > self.C:
                found.append((i, sign))
        return found[:1]

    def _wrong_number(self, i, place, beta, r):
        if place == 0:
            side = None if r > self.tube else "below"
            return [] if abs(r) <= self.tube else [(i, side)]
        sign = place if isinstance(place, int) else (1 if place is None else -1)
        if isinstance(place, int):
            return [(i, None if sign > 0 else "below")] if sign * r < self.tube else []
        if sign * beta < 0:
            return [(i, 0)]
        return [(i, sign)] if sign * beta > self.C else []

    def score(self, x):
        """That of a row of floats."""
        (row,) = rational(x)
        return sum(
            (b * kernel_value(self.kernel, row, z) for b, z in zip(self.beta, self.X, strict=True)),
            Fraction(0),
        )
