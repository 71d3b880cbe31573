# SPDX-License-Identifier: BSD-3-Clause
"""A bias that is not regularised: R0(s) = min over b of R(s + b), R a sum of losses of one score
each.

    best b       R's slope there is 0: of losses without corners by Newton's method; of piecewise
    linear ones a weighted
                 quantile of the scores' corners
    cut          coefficients at the best b add up to 0, those of a corner at b taking what the
                 others leave: the cut offset + coef.(s + b) knows no b and lies below R at every
                 one, so below R0
    dual         that of R, with sum alpha y = 0
    Hessian      that of R bordered by b, which is then eliminated: rows less their mean over the
                 curvatures

R0 is a convex function of the scores like any other risk: certificates, bundles and Newton's method
need not know b, which is `bias` of the scores in the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from svmcut.base.typing import Any
from svmcut.risks.protocol import Linearization
from svmcut.risks.smoothed import Smoothed
from svmcut.risks.weights import total

STEPS = 200
FLAT, ROUGH = (
    1e-16,
    1e-12,
)  # of the weight of all rows: slopes of rounding, and where the coefficients are mended
CLOSE = 0.1  # of a band b may be from where it is best
EVEN = 1e-13  # of what coefficients add up to may be left
FARTHEST, HALVES = 1e300, 40  # of biases without loss, and of the interval up to their ends


class FreeBias:
    """The least value of a sum of losses over a bias.

    Parameters
    ----------
    risk : SmoothedRisk
        With `corners` where its losses have some.
    """

    def __init__(self, risk: Any):
        self.risk, self.weights, self.steepest = risk, risk.weights, risk.steepest
        self.narrow, self.lasting, self.foresees = risk.narrow, risk.lasting, risk.foresees
        self._widest = risk.widest()

    def widest(self) -> float:
        return self._widest

    def bias(self, s) -> float:
        """The best b at scores s, (n,) float64; O(n log n), or some ten times O(n) where the losses
        have no corners.

        Labels of one sign have no best b under the logistic loss: it is then as large as makes a
        difference.
        """
        return self._quantile(*self.risk.corners(s)) if self._widest else self._root(s, 0.0)

    def rise(self, b: float) -> float:
        """R at the bias b changes by at most e times this where b changes by the part e of it."""
        if not b:
            return 0.0
        n = len(self.risk.targets if hasattr(self.risk, "targets") else self.risk.signs)
        return abs(b) * self.steepest * total(self.weights, n)

    def linearize(self, s) -> Linearization:
        """R0 at s, and the cut there."""
        if not self._widest:
            at = self.risk.linearize(s + self._root(s, 0.0))
            if _is_even(at.coef):
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

    def smoothed(self, s, delta: float) -> Smoothed:
        """R near the b that is best for its smoothed losses, with the slopes and the shift that
        Newton's step to it foresees: within bands it is exact, and slopes have more digits than b
        where these are narrow."""
        b, at = 0.0, self.risk.smoothed(s, delta) if delta else None
        if at is None or not abs(float(at.coef.sum())) <= CLOSE * at.total:
            b = self._root(s, delta)
            s = s + b
            at = self.risk.smoothed(s, delta)
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
        elif _is_even(wanted):
            return at
        coef, offset = self.nearest_cut(wanted)
        excess = max(0.0, at.value - offset - float(coef @ s))
        return at._replace(coef=coef, offset=offset, excess=excess)

    def slope(self, s, e, t: float, delta: float) -> tuple[float, float]:
        return self.risk.slope(s, e, t, delta)

    def nearest_cut(self, coef) -> tuple:
        """The cut of R with coefficients near these, those of the heavier sign made smaller until
        all add up to 0."""
        coef, offset = self.risk.nearest_cut(coef)
        if _is_even(coef):
            return coef, offset
        rest, size = float(coef.sum()), float(np.abs(coef).sum())
        lighter = (size - abs(rest)) / (size + abs(rest))
        return self.risk.nearest_cut(np.where(coef * rest > 0, coef * lighter, coef))

    def take(self, rows) -> FreeBias:
        """The risk of these examples alone."""
        return FreeBias(self.risk.take(rows))

    def _root(self, s, delta: float) -> float:
        """Where the slope of the smoothed R(s + b) is 0."""
        s, ones = np.ascontiguousarray(s, np.float64), np.ones(len(s))
        flat = (ROUGH if delta else FLAT) * (
            len(s) if self.weights is None else float(self.weights.sum())
        )
        return root(lambda b: self.risk.slope(s, ones, b, delta), flat)

    def _centre(self, s, delta: float) -> tuple:
        """Halfway between the ends of the biases that leave scores s no loss, and halves of the
        rows that are the ends: from an end itself, a step on the line could be no longer than what
        its row is away from a loss. 0 and nothing where there is one end at most."""
        s, ones, none = np.ascontiguousarray(s, np.float64), np.ones(len(s)), np.zeros(len(s))
        ends, shares = [], np.zeros(len(s))
        for sign in (1.0, -1.0):
            near, far = 0.0, 1.0
            while self.risk.slope(s, ones, sign * far, delta)[0] == 0:
                near, far = far, 4 * far
                if far > FARTHEST:
                    return 0.0, none
            for _ in range(HALVES):
                half = 0.5 * (near + far)
                is_free = self.risk.slope(s, ones, sign * half, delta)[0] == 0
                near, far = (half, far) if is_free else (near, half)
            ends.append(sign * near)
            shares[np.argmax(np.abs(self.risk.smoothed(s + sign * far, delta).coef))] += 0.5
        return 0.5 * (ends[0] + ends[1]), shares

    @staticmethod
    def _quantile(points, jumps, lowest) -> float:
        """The first corner up to which R's slope, its lowest ones and the jumps from there, is no
        longer below 0."""
        order = np.argsort(points, axis=None)
        reached = np.cumsum(jumps.ravel()[order])
        place = int(np.searchsorted(reached, -float(lowest.sum()) * (1 - 1e-15)))
        return float(points.ravel()[order[min(place, len(order) - 1)]])


def _is_even(coef) -> bool:
    """Whether coefficients add up to 0."""
    return abs(float(coef.sum())) <= EVEN * float(np.abs(coef).sum())


class FreeBiasRisk:
    """A risk of losses of one score each, with a free bias."""

    def __init__(self, risk: Any):
        self.risk, self.name = risk, risk.name

    def bind(self, y, qid=None, cost=None, threads: int = 1) -> FreeBias:
        return FreeBias(self.risk.bind(y, qid, cost, threads))


def root(rate: Callable[[float], tuple[float, float]], flat: float) -> float:
    """The b where a slope that rises with b is 0, or no further from it than `flat`; near 0 where
    it is at many.

    Newton steps, halved into the bracket where they leave it.

    Parameters
    ----------
    rate : Callable
        Slope and curvature at b.
    """
    low, high, b, reach = -math.inf, math.inf, 0.0, 1.0
    for _ in range(STEPS):
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
