# SPDX-License-Identifier: BSD-3-Clause
"""An unregularised bias: R0(s) = min over b of R(s + b), R a sum of losses of one score each.

    best b       R's slope there is 0: by Newton's method for losses without corners; for piecewise
                 linear ones a weighted quantile of the scores' corners
    cut          coefficients at the best b add up to 0, as those of a corner at b balance the
                 others: the cut offset + coef.(s + b) does not depend on b and lies below R at
                 every b, so below R0
    dual         that of R, with sum alpha y = 0
    Hessian      that of R bordered by b, which is then eliminated: rows less their mean, weighted
                 by curvatures

R0 is a convex function of the scores like any other risk: certificates, bundles and Newton's method
need not know b, which `bias` computes from the final scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from svmcut.base.typing import Any
from svmcut.risks.protocol import Linearization
from svmcut.risks.smoothed import Smoothed
from svmcut.risks.weights import total

MAX_STEPS = 200
#: Slope that is only rounding, as a fraction of the weight of all rows.
FLAT_SLOPE = 1e-16
#: The same where coefficients are corrected afterwards.
ROUGH_SLOPE = 1e-12
#: Distance of b from its best value, as a fraction of a band.
BAND_TOLERANCE = 0.1
#: Sum of coefficients that counts as 0, as a fraction of the sum of their sizes.
SUM_TOLERANCE = 1e-13
#: Largest bias without loss that is searched for.
MAX_BIAS = 1e300
#: Halvings of the interval that holds a bound of the biases without loss.
MAX_HALVINGS = 40


class FreeBias:
    """The minimum of a sum of losses over a bias. The risk is a SmoothedRisk, with `corners` if its
    losses have some."""

    def __init__(self, risk: Any):
        self.risk, self.weights, self.steepest = risk, risk.weights, risk.steepest
        self.has_narrow_band, self.has_two_curvatures, self.should_cut_ahead = (
            risk.has_narrow_band,
            risk.has_two_curvatures,
            risk.should_cut_ahead,
        )
        self._widest = risk.initial_width()

    def initial_width(self) -> float:
        return self._widest

    def bias(self, s) -> float:
        """The best b at scores s, (n,) float64; O(n log n), or about ten times O(n) for losses
        without corners.

        Labels of one sign have no best b under the logistic loss: b is then as large as makes a
        difference.
        """
        return self._quantile(*self.risk.corners(s)) if self._widest else self._find_bias(s, 0.0)

    def bias_sensitivity(self, b: float) -> float:
        """Bound on the change of R at the bias b, per relative change of b."""
        if not b:
            return 0.0
        n = len(self.risk.targets if hasattr(self.risk, "targets") else self.risk.signs)
        return abs(b) * self.steepest * total(self.weights, n)

    def linearize(self, s) -> Linearization:
        """R0 at s, and the cut there."""
        if not self._widest:
            at = self.risk.linearize(s + self._find_bias(s, 0.0))
            if _is_balanced(at.coef):
                return at
            coef, offset = self.nearest_cut(at.coef)
            return at._replace(coef=coef, offset=offset)
        points, jumps, lowest = self.risk.corners(s)
        b = self._quantile(points, jumps, lowest)
        at = points == b
        coef = (lowest + jumps * (points < b)).sum(0)
        coef -= (jumps * at).sum(0) * (float(coef.sum()) / float(jumps[at].sum() or 1.0))
        coef, offset = self.nearest_cut(coef)
        return Linearization(self.risk.linearize(s + b).value, coef, offset)

    def smooth(self, s, delta: float) -> Smoothed:
        """R near the b that is best for its smoothed losses, with the slopes and the shift that
        Newton's step to it predicts. That is exact within bands, and slopes have more digits than b
        in narrow ones."""
        b, at = 0.0, self.risk.smooth(s, delta) if delta else None
        if at is None or not abs(float(at.coef.sum())) <= BAND_TOLERANCE * at.total:
            b = self._find_bias(s, delta)
            s = s + b
            at = self.risk.smooth(s, delta)
        if not at.coef.any():
            more, shares = self._centre(s, delta)
            return at._replace(shift=b + more, shares=shares)
        shares, rest = np.zeros(len(s)), float(at.coef.sum())
        if len(at.rows):
            shares[at.rows] = (1.0 if at.bends is None else at.bends[at.rows]) / at.total
        at, wanted = at._replace(shift=b, shares=shares), at.coef
        if delta and len(at.rows):
            at = at._replace(shift=b - rest * at.width / at.total)
            wanted = wanted - rest * shares
        elif _is_balanced(wanted):
            return at
        coef, offset = self.nearest_cut(wanted)
        excess = max(0.0, at.value - offset - float(coef @ s))
        return at._replace(coef=coef, offset=offset, excess=excess)

    def slope(self, s, e, t: float, delta: float) -> tuple[float, float]:
        return self.risk.slope(s, e, t, delta)

    def nearest_cut(self, coef) -> tuple:
        """The cut of R with coefficients near these, those of the heavier sign shrunk until all add
        up to 0."""
        coef, offset = self.risk.nearest_cut(coef)
        if _is_balanced(coef):
            return coef, offset
        rest, size = float(coef.sum()), float(np.abs(coef).sum())
        lighter = (size - abs(rest)) / (size + abs(rest))
        return self.risk.nearest_cut(np.where(coef * rest > 0, coef * lighter, coef))

    def take(self, rows) -> FreeBias:
        """The risk of these examples alone."""
        return FreeBias(self.risk.take(rows))

    def _find_bias(self, s, delta: float) -> float:
        """The b at which the slope of the smoothed R(s + b) is 0."""
        s, ones = np.ascontiguousarray(s, np.float64), np.ones(len(s))
        flat = (ROUGH_SLOPE if delta else FLAT_SLOPE) * (
            len(s) if self.weights is None else float(self.weights.sum())
        )
        return find_root(lambda b: self.risk.slope(s, ones, b, delta), flat)

    def _centre(self, s, delta: float) -> tuple:
        """The middle of the interval of biases without loss at scores s, and halves of the rows
        that bound it; 0 and no shares if there is at most one bound.

        From a bound itself, a step on the line could be no longer than its row's distance from a
        loss.
        """
        s, ones, none = np.ascontiguousarray(s, np.float64), np.ones(len(s)), np.zeros(len(s))
        ends, shares = [], np.zeros(len(s))
        for sign in (1.0, -1.0):
            near, far = 0.0, 1.0
            while self.risk.slope(s, ones, sign * far, delta)[0] == 0:
                near, far = far, 4 * far
                if far > MAX_BIAS:
                    return 0.0, none
            for _ in range(MAX_HALVINGS):
                half = 0.5 * (near + far)
                is_free = self.risk.slope(s, ones, sign * half, delta)[0] == 0
                near, far = (half, far) if is_free else (near, half)
            ends.append(sign * near)
            shares[np.argmax(np.abs(self.risk.smooth(s + sign * far, delta).coef))] += 0.5
        return 0.5 * (ends[0] + ends[1]), shares

    @staticmethod
    def _quantile(points, jumps, lowest) -> float:
        """The first corner up to which R's slope, its lowest slopes plus the jumps so far, is no
        longer negative."""
        order = np.argsort(points, axis=None)
        reached = np.cumsum(jumps.ravel()[order])
        place = int(np.searchsorted(reached, -float(lowest.sum()) * (1 - 1e-15)))
        return float(points.ravel()[order[min(place, len(order) - 1)]])


def _is_balanced(coef) -> bool:
    """Check that coefficients add up to 0."""
    return abs(float(coef.sum())) <= SUM_TOLERANCE * float(np.abs(coef).sum())


class FreeBiasRisk:
    """A risk of losses of one score each, with a free bias."""

    def __init__(self, risk: Any):
        self.risk, self.name = risk, risk.name

    def bind(self, y, qid=None, cost=None, threads: int = 1) -> FreeBias:
        return FreeBias(self.risk.bind(y, qid, cost, threads))


def find_root(rate: Callable[[float], tuple[float, float]], flat: float) -> float:
    """The b at which a rising slope is 0, or at most `flat` in size; near 0 if there are many.

    `rate(b)` gives slope and curvature. Newton steps that leave the bracket are replaced by
    bisection.
    """
    low, high, b, reach = -math.inf, math.inf, 0.0, 1.0
    for _ in range(MAX_STEPS):
        here, bend = rate(b)
        if abs(here) <= flat:
            break
        low, high = (b, high) if here < 0 else (low, b)
        to = b - here / bend if bend > 0 else math.nan
        if not low < to < high:
            if high - low < math.inf:
                to = 0.5 * (low + high)
            else:
                to, reach = b - math.copysign(reach, here), 4 * reach
        if to in (low, high):
            break
        b = to
    return b
