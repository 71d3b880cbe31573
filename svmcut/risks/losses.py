# SPDX-License-Identifier: BSD-3-Clause
"""Weighted sums of losses of one score each: R(s) = sum_i v_i l(y_i, s_i).

    cut          any g in the losses' domain:   R(s') >= sum v h(g) - (v g).s'      (csrc/linear/losses.h)
    dual         alpha = C v g of the cut's coefficients: C sum v h(g) - 1/2 |C A'(v g)|^2

At g = -l'(s) the cut is the tangent at s. So trainers that move alpha, or w, are certified by the cut they end with.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from svmcut import states
from svmcut._native import losses as native
from svmcut.risks.protocol import Linearization
from svmcut.risks.weights import example_weights

SEARCH_STEPS = 60
#: Of the slope at 0 is left at the end of a line.
FLAT = 1e-3


class BoundLosses:
    """A sum of losses of given labels or targets.

    Parameters
    ----------
    targets : (n,) float64
        Labels in {-1, +1}, or targets.
    threads : int
        Threads of the C calls; results do not depend on it.
    weights : (n,) float64 or None
        Of the examples; None for 1 each.

    Attributes
    ----------
    number : int
        Of svmcut._native.losses.
    tube : float
        Of the epsilon-insensitive loss.
    smooth : bool
        Whether the loss has a slope everywhere.
    signed : bool
        Whether alpha has the sign of its row's part of w.
    steepest : float
        Of the slopes of a loss.
    """

    number: ClassVar[int]
    smooth: ClassVar[bool] = True
    signed: ClassVar[bool] = False
    steepest: ClassVar[float] = 1.0
    tube = 0.0

    def __init__(self, targets, threads: int = 1, weights=None):
        self.targets, self.weights = targets, weights
        self._threads = threads

    def linearize(self, s) -> Linearization:
        """Value and tangent; O(n)."""
        return self.bent(s, None)

    def bent(self, s, curvature, delta: float = 0.0) -> Linearization:
        """The same, and the second derivatives v l'' in curvature, (n,) float64.

        Of a loss with corners those of its smoothing over a width of delta; the cut of its slopes lies below R at s.
        """
        s = np.ascontiguousarray(s, np.float64)
        coef = np.empty(len(s))
        value, offset = native.losses(
            self.number, self.targets, s, self.tube, coef, curvature, self._threads, self.weights, delta
        )
        return Linearization(value, coef, offset)

    def line_minimum(self, s, e, wd: float, dd: float, C: float) -> float:
        """As `smooth_minimum`, for R itself."""
        return self.smooth_minimum(s, e, wd, dd, C, 0.0)

    def smooth_minimum(self, s, e, wd: float, dd: float, C: float, delta: float) -> float:
        """A t >= 0 near the minimum of (t^2 dd + 2 t wd)/2 + C R(s + t e), R smoothed, and not above its value at 0.

        Safeguarded Newton steps on the slope, O(n) each.
        """
        low, high, t, first = 0.0, math.inf, 0.0, 0.0
        for step in range(SEARCH_STEPS):
            rise, curvature = native.slope(
                self.number, self.targets, s, e, self.tube, t, self._threads, self.weights, delta
            )
            here, bend = wd + t * dd + C * rise, dd + C * curvature
            if not step:
                first = -here
                if not (first > 0 and bend > 0):
                    return 0.0
            elif here <= 0:
                if -here <= FLAT * first:
                    break
            elif here <= FLAT * first and here * (t - low) <= 0.05 * first * low:  # what is won up to low is not lost
                break
            low, high = (t, high) if here < 0 else (low, t)
            t -= here / bend
            if not low < t < high:
                t = 0.5 * (low + high) if high < math.inf else 2 * low
        return t

    def take(self, rows) -> BoundLosses:
        """The risk of these examples alone."""
        weights = None if self.weights is None else self.weights[rows]
        return type(self)(self.targets[rows], self._threads, weights)

    def weighed(self, x):
        """v x; x itself where there are no weights."""
        return x if self.weights is None else self.weights * x

    def dual_cut(self, fractions, logit) -> tuple:
        """(coef, offset) of the cut that fractions = alpha / (C v) stand for; logit: theirs, where there are any."""
        raise NotImplementedError

    def nearest_cut(self, coef) -> tuple:
        """(coef, offset) of the cut of R whose coefficients are nearest to these."""
        raise NotImplementedError

    def fractions(self, coef):
        """Those of the cut with these coefficients."""
        found = -coef if self.signed else -(coef * self.targets)
        return found if self.weights is None else np.divide(found, self.weights, out=found, where=self.weights > 0)

    def box(self, n: int, most: float = 1.0) -> states.Check:
        """What fractions, times most, may be."""
        raise NotImplementedError


class SignedLosses(BoundLosses):
    """Losses of y_i s_i."""

    @classmethod
    def of(cls, y, cost, threads: int):
        """Labels above 0 are positive, all others negative (svm_perf's rule)."""
        return cls(np.where(np.asarray(y) > 0, 1.0, -1.0), threads, example_weights(cost, len(y)))
