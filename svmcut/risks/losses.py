# SPDX-License-Identifier: BSD-3-Clause
"""Weighted sums of losses of one score each: R(s) = sum_i v_i l(y_i, s_i).

    cut          any g in the losses' domain:   R(s') >= sum v h(g) - (v g).s'
                 (csrc/linear/losses.h)
    dual         alpha = C v g of the cut's coefficients: C sum v h(g) - 1/2 |C A'(v g)|^2

At g = -l'(s) the cut is the tangent at s, so trainers of alpha or w are certified by their last
cut.
"""

from __future__ import annotations

import numpy as np

from svmcut._native import losses as native
from svmcut._native import sparse
from svmcut.base.typing import ClassVar
from svmcut.risks.protocol import Linearization
from svmcut.risks.smoothed import Smoothed, line_step
from svmcut.risks.weights import example_weights
from svmcut.spec import schemas


class BoundLosses:
    """A sum of losses of given labels in {-1, +1}, or of targets, (n,) float64. Results do not
    depend on `threads`; `weights` (n,) are those of the examples, None for 1 each. See
    SmoothedRisk."""

    #: Of svmcut._native.losses.
    number: ClassVar[int]
    has_narrow_band: ClassVar[bool] = False
    has_two_curvatures: ClassVar[bool] = False
    should_cut_ahead: ClassVar[bool] = True
    #: True if alpha has the sign of its row's part of w.
    signed: ClassVar[bool] = False
    #: The largest slope of a loss.
    steepest: ClassVar[float] = 1.0
    #: Of the epsilon-insensitive loss.
    tube = 0.0

    def __init__(self, targets, threads: int = 1, weights=None):
        self.targets, self.weights = targets, weights
        self._threads = threads

    def linearize(self, s) -> Linearization:
        """Value and tangent; O(n)."""
        return self._evaluate(np.ascontiguousarray(s, np.float64), None, 0.0)

    def initial_width(self) -> float:
        """See SmoothedRisk; 0, for losses without corners."""
        return 0.0

    def smooth(self, s, delta: float) -> Smoothed:
        """See SmoothedRisk; delta is 0 for a loss without corners."""
        s = np.ascontiguousarray(s, np.float64)
        bends = np.empty(len(s))
        known = self._evaluate(s, bends, delta)
        rows = np.flatnonzero(bends).astype(np.int32)
        excess = (
            known.value - known.offset - sparse.dot(known.coef, s, self._threads) if delta else 0.0
        )
        return Smoothed(*known, excess, rows, bends, 1.0)

    def slope(self, s, e, t: float, delta: float) -> tuple[float, float]:
        """See SmoothedRisk."""
        return native.slope(
            self.number, self.targets, s, e, self.tube, t, self._threads, self.weights, delta
        )

    def _evaluate(self, s, bends, delta: float) -> Linearization:
        coef = np.empty(len(s))
        value, offset = native.losses(
            self.number, self.targets, s, self.tube, coef, bends, self._threads, self.weights, delta
        )
        return Linearization(value, coef, offset)

    def line_minimum(self, s, e, wd: float, dd: float, C: float) -> float:
        """A t >= 0 near the minimum of (t^2 dd + 2 t wd)/2 + C R(s + t e), not above its value at
        0; a few O(n)."""

        def rate(t: float) -> tuple[float, float]:
            rise, bend = self.slope(s, e, t, 0.0)
            return wd + t * dd + C * rise, dd + C * bend

        here, bend = rate(0.0)
        return line_step(rate, -here, -here / bend) if here < 0 < bend else 0.0

    def take(self, rows) -> BoundLosses:
        """The risk of these examples alone."""
        weights = None if self.weights is None else self.weights[rows]
        return type(self)(self.targets[rows], self._threads, weights)

    def apply_weights(self, x):
        """v x; x itself if there are no weights."""
        return x if self.weights is None else self.weights * x

    def dual_cut(self, fractions, logit) -> tuple:
        """(coef, offset) of the cut of fractions = alpha / (C v); `logit` are their logits, for the
        logistic loss."""
        raise NotImplementedError

    def nearest_cut(self, coef) -> tuple:
        """See SmoothedRisk."""
        raise NotImplementedError

    def fractions(self, coef):
        """The fractions alpha / (C v) of the cut with these coefficients."""
        parts = -coef if self.signed else -(coef * self.targets)
        return (
            parts
            if self.weights is None
            else np.divide(parts, self.weights, out=parts, where=self.weights > 0)
        )

    def box(self, n: int, most: float = 1.0) -> schemas.Check:
        """The check that fractions have to pass in a checkpoint; `most` scales their bounds."""
        raise NotImplementedError


class SignedLosses(BoundLosses):
    """Losses of y_i s_i."""

    @classmethod
    def from_labels(cls, y, cost, threads: int):
        """The risk of labels, positive above 0 and negative otherwise, as in svm_perf."""
        return cls(np.where(np.asarray(y) > 0, 1.0, -1.0), threads, example_weights(cost, len(y)))
