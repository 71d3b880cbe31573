# SPDX-License-Identifier: BSD-3-Clause
"""Minimising the primal along a line, for any convex risk, on cached scores.

    phi(t) = (ww + 2 t wd + t^2 dd) / 2 + C R(s + t e)

with s the scores of w, e those of the direction d, and ww, wd, dd the dot products of w and d. No
pass over features.
"""

from __future__ import annotations

import math

from svmcut._native.sparse import dot
from svmcut.base.typing import Any, NamedTuple


class LinePoint(NamedTuple):
    """Step, phi(step), a certified lower bound of phi on the whole half line t >= 0, and what the
    line knows there."""

    t: float
    value: float
    lower: float
    evaluations: int
    known: Any


class ScoreLine:
    """A risk on the line s + t e of scores; its linearization at s may be known.

    Any object with such an `at` is a line.
    """

    def __init__(self, risk, s, e, known=None):
        self._risk, self._s, self._e, self._known = risk, s, e, known

    def at(self, t: float) -> tuple[float, float, tuple]:
        """R, its slope in t, and (scores, linearization): nobody needs to form them again."""
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
        """Of w and u - w, by w.w, w.u and u.u."""
        return cls(ww, wu - ww, uu - 2 * wu + ww)


def line_minimum(
    line,
    products: Products,
    C: float,
    tol: float,
    max_evaluations: int = 30,
    first: float = 1.0,
) -> LinePoint:
    """Cutting planes in one dimension: between two tangents of R the model is a parabola, minimised
    in closed form.

    Parameters
    ----------
    line : ScoreLine
        Or another with its `at`.
    products : Products
    tol : float
        Stop when phi is within tol of its minimum.
    first : float
        The step tried first.

    Returns
    -------
    LinePoint
    """

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
