# SPDX-License-Identifier: BSD-3-Clause
"""Minimising the primal along a line, for any convex risk, on cached scores.

    phi(t) = (ww + 2 t wd + t^2 dd) / 2 + C R(s + t e)

with s the scores of w, e those of the direction d, and ww, wd, dd the dot products of w and d. No pass over features.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from svmcut._native.sparse import dot


class LinePoint(NamedTuple):
    """Step, phi(step), a certified lower bound of phi on the whole half line t >= 0, and R at the step.

    Attributes
    ----------
    scores, cut : (n,) float64, Linearization
        s + t e and the linearization there: nobody needs to form them again. None from a risk that forms none.
    """

    t: float
    value: float
    lower: float
    evaluations: int
    scores: Any
    cut: Any


def line_minimum(
    risk, s, e, ww: float, wd: float, dd: float, C: float, tol: float, max_evaluations: int = 30, known=None
):
    """Cutting planes in one dimension: between two tangents of R the model is a parabola, minimised in closed form.

    Parameters
    ----------
    risk : BoundRisk
        One whose coefficients are no vector has ``along(s, e, t, known)``: R, its slope, the scores s + t e and the
        linearization there, the last two None where it does without.
    s, e : (n,) float64
        Scores at t = 0 and their rate.
    ww, wd, dd : float
        w.w, w.d, d.d
    tol : float
        Stop when phi is within tol of its minimum.
    known : Linearization or None
        That of R at s, where the caller has it.

    Returns
    -------
    LinePoint
    """

    def quadratic(t):
        return 0.5 * (ww + 2 * t * wd + t * t * dd)

    def evaluate(t):
        if hasattr(risk, "along"):
            return risk.along(s, e, t, None if t else known)
        here = s + t * e if t else s
        cut = (None if t else known) or risk.linearize(here)
        return cut.value, dot(cut.coef, e), here, cut

    value, slope, best_s, best_cut = evaluate(0.0)
    best_t, best = 0.0, quadratic(0.0) + C * value
    if wd + C * slope >= 0 or dd <= 0:
        return LinePoint(best_t, best, best, 1, best_s, best_cut)
    lo, hi, t, lower = (0.0, value, slope), None, 1.0, -math.inf
    evaluations = 1
    while evaluations < max_evaluations:
        value, slope, here, cut = evaluate(t)
        evaluations += 1
        phi = quadratic(t) + C * value
        if phi < best:
            best_t, best, best_s, best_cut = t, phi, here, cut
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
    return LinePoint(best_t, best, lower, evaluations, best_s, best_cut)
