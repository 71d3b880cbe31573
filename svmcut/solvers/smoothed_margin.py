# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method on a linear hinge machine with a free bias, to a tolerance of the KKT conditions.

    problem      min_{w,b}  1/2 |w|^2 + sum_i C_i max(0, 1 - y_i (w.x_i + b)),   b free, or 0;  C_i = C v_i
    smoothed     u_i = clip(z_i / delta + 1/2, 0, 1), z_i = 1 - y_i (w.x_i + b): the loss of svmcut/solvers/newton.py
    update       Newton with exact line search; delta falls to the tolerance, each level from the last one's end
    dual         beta_i = C_i u_i y_i is feasible: at the minimum over b, sum beta = 0; w = X'beta
    stop         v = y - X w: highest v that may rise - lowest that may fall <= tolerance, as solvers/smo.py

At the smoothed minimum a point strictly inside its box has its margin within delta / 2 of 1, and one at a bound lies
beyond: delta is the violation of the KKT conditions, whatever n is. The step alone regularises the bias, by its square
times 1e-6 in the unit of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from svmcut._native import newton as native
from svmcut.risks.weights import boxes
from svmcut.solvers.newton import DENSE_DIM, line_step, smooth
from svmcut.solvers.protocol import Solution
from svmcut.spaces.linear import LinearSpace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.data import Csr

#: The first delta: every row has a curvature at 0. Part of it that the next level keeps, and of the tolerance that the
#: last one is.
FIRST, LEVEL, LAST = 4.0, 0.25, 0.9
#: Newton steps of a level, and those of conjugate gradients of one Newton step.
MOST_STEPS, MOST_PRODUCTS = 60, 400
_STIFFNESS = 1e3


class MarginStep(NamedTuple):
    """A solution and its scores, the violation of its KKT conditions, and steps so far."""

    solution: Solution
    scores: NDArray[np.float64]
    violation: float
    steps: int


class SmoothedMargin:
    """One minimisation, to be iterated once; its last step meets the tolerance, or rounding forbids it.

    Parameters
    ----------
    X : Csr
        (n, d) rows.
    y : (n,) float64 in {-1, +1}
    C, weights : float, (n,) float64 or None
        C_i = C weights_i.
    free_bias : bool
    tolerance : float
        Of the KKT conditions.
    threads : int
        The result has the same bytes for any number.
    """

    def __init__(
        self, X: Csr, y: NDArray, C: float, weights: NDArray | None, free_bias: bool, tolerance: float, threads: int = 1
    ):  # fmt: skip
        self._space, self._y, self._C, self._weights = LinearSpace(X, 0.0, threads), y, C, weights
        self._free, self._tolerance, self._threads = free_bias, tolerance, threads
        length = np.sqrt(max(X.nnz and float((X.data[X.stored].astype(np.float64) ** 2).sum()) / X.n_rows, 1e-12))
        self._unit = (_STIFFNESS if X.n_features < DENSE_DIM else 1.0) * length if free_bias else 0.0

    def __iter__(self) -> Iterator[MarginStep]:
        space, delta, steps = self._space, max(FIRST, LAST * self._tolerance), 0
        w, b, s = space.zero(), 0.0, np.zeros(len(self._y))
        coef, rows, width = np.empty(len(s)), np.empty(len(s) + 1, np.int32), 1.0
        least, futile = np.inf, 0
        while True:
            last = delta <= LAST * self._tolerance
            for _ in range(MOST_STEPS):
                smooth(self._y, s, delta, self._threads, coef, self._weights)
                gradient, slope_b = w + self._C * space.adjoint(coef), self._C * float(coef.sum()) * self._free
                if last:
                    step = self._certified(coef, b, steps)
                    yield step
                    if step.violation <= self._tolerance:
                        return
                    futile = 0 if step.violation < 0.9 * least else futile + 1
                    least = min(least, step.violation)
                    if futile > MOST_STEPS:
                        return
                p, p_b = self._direction(gradient, slope_b, s, rows, delta, width)
                fall = space.dot(gradient, p) + slope_b * p_b
                size = 0.5 * space.dot(w, w) + self._C
                if not fall < 0:
                    break
                e = space.scores(p)
                e += p_b
                wd, dd = space.dot(w, p), space.dot(p, p)
                t = line_step(self._y, s, e, wd, dd, self._C, delta, fall, self._threads, self._weights)
                w, b, s = space.blend(1.0, w, t, p), b + t * p_b, space.blend(1.0, s, t, e)
                width, steps = (2 * width if t < 0.2 else max(1.0, width / 2) if t > 0.5 else width), steps + 1
                if not last and -fall <= 1e-4 * delta * size:
                    break
            if last:
                if delta < 1e-3 * self._tolerance:
                    return
                delta *= 0.5
            else:
                delta = max(LEVEL * delta, LAST * self._tolerance)

    def _direction(self, gradient, slope_b: float, s, rows, delta: float, width: float):
        """The Newton direction of w and of b, as if the band were so much wider."""
        space, scale, unit = self._space, self._C / delta, self._unit
        coef = smooth(self._y, s, width * delta, self._threads, None, self._weights).coef
        rows = rows[: native.band_rows(coef, rows, self._weights)]
        g = -(np.append(gradient, unit * slope_b) if unit else gradient)
        if len(g) <= DENSE_DIM:
            H, p = np.empty((len(g), len(g))), g.copy()
            native.band_gram(space.rows, rows, unit, H, self._threads, weights=self._weights)
            if not native.solve_shifted(H, scale, p):
                p = self._conjugate_gradients(g, rows, scale)
        else:
            p = self._conjugate_gradients(g, rows, scale)
        return (p[:-1], unit * float(p[-1])) if unit else (p, 0.0)

    def _conjugate_gradients(self, g, rows, scale: float):
        """(I + scale X'BX) p = g to a thousandth of g."""
        p, r, q = np.zeros(len(g)), g.copy(), g.copy()
        rr = float(r @ r)
        enough = 1e-6 * rr
        for _ in range(MOST_PRODUCTS):
            if not rr > enough:
                break
            Hq = np.zeros(len(g))
            native.band_product(self._space.rows, rows, self._unit, q, Hq, self._threads, self._weights)
            Hq *= scale
            Hq += q
            t = rr / float(q @ Hq)
            p += t * q
            r -= t * Hq
            before, rr = rr, float(r @ r)
            q *= rr / before
            q += r
        return p

    def _certified(self, coef, b: float, steps: int) -> MarginStep:
        """The dual solution -C coef, made feasible, and how far it is from the KKT conditions."""
        most = np.broadcast_to(boxes(self._C, self._weights), len(coef))
        parts = -coef * self._y
        full = parts >= (1.0 if self._weights is None else self._weights)
        alpha = np.where(full, most, np.minimum(self._C * parts, most))
        if self._free:
            balance(alpha, self._y, most)
        beta = alpha * self._y
        s = self._space.scores(self._space.adjoint(beta))
        v = self._y - s
        high, low = extremes(beta, v, self._y, most)
        if self._free:
            violation, b = max(0.0, high - low), bias_of(beta, v, self._y, most)
        else:
            violation, b = max(0.0, high, -low), 0.0
        return MarginStep(Solution(beta, b), s + b, violation, steps)


def extremes(beta: NDArray, v: NDArray, y: NDArray, most: NDArray) -> tuple[float, float]:
    """The highest v whose beta may rise, and the lowest whose beta may fall; infinite of none."""
    alpha = beta * y
    below, above = alpha < most, alpha > 0
    rising, falling = np.where(y > 0, below, above), np.where(y > 0, above, below)
    return float(v[rising].max(initial=-np.inf)), float(v[falling].min(initial=np.inf))


def bias_of(beta: NDArray, v: NDArray, y: NDArray, most: NDArray) -> float:
    """The mean v of the points strictly between their bounds, else the middle of the extremes."""
    between = (beta != 0) & (np.abs(beta) < most)
    if between.any():
        return float(v[between].mean())
    ends = [end for end in extremes(beta, v, y, most) if np.isfinite(end)]
    return float(sum(ends) / len(ends)) if ends else 0.0


def balance(alpha: NDArray, y: NDArray, most: NDArray) -> None:
    """Changes alpha so that sum alpha y = 0, by equal shares of the room; first where it is strictly inside its box."""
    for inside in (True, False):
        rest = float(alpha @ y)
        if abs(rest) <= 1e-12 * float(alpha.sum()):
            return
        down = y * rest > 0  # a smaller alpha lessens what is left over
        room = np.where(down, alpha, most - alpha)
        if inside:
            room[(alpha <= 0) | (alpha >= most)] = 0.0
        there = float(room.sum())
        if there > 0:
            alpha += np.where(down, -room, room) * min(1.0, abs(rest) / there)
