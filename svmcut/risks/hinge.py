# SPDX-License-Identifier: BSD-3-Clause
"""Error rate: R(s) = sum_i v_i max(0, 1 - y_i s_i), v_i = 1 without weights.

The most violated constraint flips exactly the examples inside the margin (Joachims, KDD 2006,
Algorithm 1, lines 5 to 7), so coef_i = -v_i y_i there and the offset is the sum of their weights;
100 / sum v is part of C.

    smoothed     z = 1 - y s,  u = clip(z / delta + 1/2, 0, 1)
                 loss = delta u^2 / 2 + max(0, z - delta / 2),  slope -y u,
                 curvature 1 / delta in the band 0 < u < 1;  below R by  sum v (max(z, 0) - u z)
"""

from __future__ import annotations

import numpy as np

from svmcut._native import newton, sparse
from svmcut.risks.protocol import Linearization
from svmcut.risks.sampling import HingeSampler
from svmcut.risks.smoothed import Smoothed
from svmcut.risks.weights import example_weights


class BoundHinge:
    """The hinge risk of labels in {-1, +1}, (n,) float64, with weights (n,) of the examples, None
    for 1 each. Results do not depend on `threads`."""

    #: The largest slope of a loss.
    steepest = 1.0
    has_narrow_band, has_two_curvatures, should_cut_ahead = True, False, False

    def __init__(self, signs, threads: int = 1, weights=None):
        self.signs, self.weights = signs, weights
        self._threads = threads

    def linearize(self, s) -> Linearization:
        """Value, subgradient and weight of the examples inside the margin; O(n)."""
        s = np.ascontiguousarray(s, np.float64)
        coef = np.empty(len(s))
        value, offset = sparse.hinge(self.signs, s, coef, self._threads, self.weights)
        return Linearization(value, coef, offset)

    def line_minimum(self, s, e, wd: float, dd: float, C: float) -> float:
        """The t >= 0 that minimises (t^2 dd + 2 t wd)/2 + C R(s + t e), exactly; expected O(n)
        (Franc and Sonnenburg, ICML 2008, section 3)."""
        return sparse.hinge_line(self.signs, s, e, wd, dd, C, self._threads, self.weights)

    def initial_width(self) -> float:
        """See SmoothedRisk."""
        return 1.0

    def smooth(self, s, delta: float) -> Smoothed:
        """See SmoothedRisk."""
        coef, rows = np.empty(len(s)), np.empty(len(s) + 1, np.int32)
        sums = newton.smooth_hinge(self.signs, s, delta, coef, self._threads, self.weights)
        rows = rows[: newton.band_rows(coef, rows, self.weights)]
        return Smoothed(sums[1], coef, sums[2], sums[3], rows, self.weights, delta)

    def slope(self, s, e, t: float, delta: float) -> tuple[float, float]:
        """See SmoothedRisk."""
        return newton.smooth_slope(self.signs, s, e, t, delta, self._threads, self.weights)

    def nearest_cut(self, coef) -> tuple:
        """See SmoothedRisk."""
        parts = np.clip(-coef * self.signs, 0.0, 1.0 if self.weights is None else self.weights)
        return -parts * self.signs, float(np.sum(parts))

    def corners(self, s) -> tuple:
        """(1, n) biases at which a loss has its corner, the jump of its slope there, and its slope
        below."""
        jumps = np.ones(len(s)) if self.weights is None else self.weights
        return (self.signs - s)[None], jumps[None], np.where(self.signs > 0, -jumps, 0.0)[None]

    def on_grid(self, s, target, grid, even: int):
        """See GridRisk; O(n + steps)."""
        return sparse.hinge_grid(self.signs, s, target, grid, even, self._threads, self.weights)

    def take(self, rows) -> BoundHinge:
        """The risk of these examples alone."""
        return BoundHinge(
            self.signs[rows], self._threads, None if self.weights is None else self.weights[rows]
        )

    def sampler(self):
        """A sampler of the violated examples."""
        return HingeSampler(self.signs, self.weights)


class HingeRisk:
    """Sum of weighted hinge losses; labels above 0 are positive, all others negative, as in
    svm_perf."""

    name = "error-rate"

    def bind(self, y, qid=None, cost=None, threads: int = 1) -> BoundHinge:
        return BoundHinge(
            np.where(np.asarray(y) > 0, 1.0, -1.0), threads, example_weights(cost, len(y))
        )
