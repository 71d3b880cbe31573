# SPDX-License-Identifier: BSD-3-Clause
"""Minimisation of the primal along a line, for any convex risk, on cached scores.

    phi(t) = (ww + 2 t wd + t^2 dd) / 2 + C R(s + t e)

Here s are the scores of w, e those of the direction d, and ww, wd and dd the dot products of w and
d. No pass over the features is needed.
"""

from __future__ import annotations

import math

from svmcut._native.sparse import dot
from svmcut.base.typing import Any, NamedTuple


class LinePoint(NamedTuple):
    """A step t, phi(t), a certified lower bound of phi for all t >= 0, and what the line has
    computed at t."""

    t: float
    value: float
    lower: float
    evaluations: int
    known: Any


class ScoreLine:
    """A risk on the line s + t e of scores; `known` is its linearization at s, if already computed.
    Any object with the same `at` serves as a line."""

    def __init__(self, risk, s, e, known=None):
        self._risk, self._s, self._e, self._known = risk, s, e, known

    def at(self, t: float) -> tuple[float, float, tuple]:
        """R, its slope in t, and (scores, linearization), for reuse."""
        here = self._s + t * self._e if t else self._s
        cut = (None if t else self._known) or self._risk.linearize(here)
        return cut.value, dot(cut.coef, self._e), (here, cut)


class Products(NamedTuple):
    """w.w, w.d and d.d of a point w and a direction d."""

    ww: float
    wd: float
    dd: float

    @classmethod
    def towards(cls, ww: float, wu: float, uu: float) -> Products:
        """The products of w and u - w, from w.w, w.u and u.u."""
        return cls(ww, wu - ww, uu - 2 * wu + ww)


def line_minimum(
    line,
    products: Products,
    C: float,
    tol: float,
    max_evaluations: int = 30,
    first: float = 1.0,
) -> LinePoint:
    """The minimum of phi to within `tol`, by cutting planes in one dimension: between two tangents
    of R the model is a parabola with a closed-form minimum. `first` is the first step tried."""

    ww, wd, dd = products

    def quadratic(t):
        return 0.5 * (ww + 2 * t * wd + t * t * dd)

    value, slope, known = line.at(0.0)
    best_t, best = 0.0, quadratic(0.0) + C * value
    if wd + C * slope >= 0 or dd <= 0:
        return LinePoint(best_t, best, best, 1, known)
    lo, hi, t, lower = (0.0, value, slope), None, first, -math.inf
    evaluations = 1
    while evaluations < max_evaluations:
        value, slope, here = line.at(t)
        evaluations += 1
        phi = quadratic(t) + C * value
        if phi < best:
            best_t, best, known = t, phi, here
        if wd + t * dd + C * slope < 0:
            lo = (t, value, slope)
        else:
            hi = (t, value, slope)
        t_lo, v_lo, r_lo = lo
        lowest = -(wd + C * r_lo) / dd
        if hi is None:
            t = lowest
            lower = quadratic(t) + C * (v_lo + r_lo * (t - t_lo))
        else:
            t_hi, v_hi, r_hi = hi
            highest = -(wd + C * r_hi) / dd
            rise = r_hi - r_lo
            crossing = (v_lo - v_hi + r_hi * t_hi - r_lo * t_lo) / rise if rise > 0 else lowest
            t = min(max(crossing, highest), lowest)
            lower = quadratic(t) + C * max(v_lo + r_lo * (t - t_lo), v_hi + r_hi * (t - t_hi))
        if best - lower <= tol or not math.isfinite(t):
            break
    return LinePoint(best_t, best, lower, evaluations, known)
