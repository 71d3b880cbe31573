# SPDX-License-Identifier: BSD-3-Clause
"""Error rate: R(s) = sum_i max(0, 1 - y_i s_i).

The most violated constraint flips exactly the examples inside the margin (Joachims, KDD 2006, Algorithm 1, lines 5 to
7), so coef_i = -y_i there and the offset is their number. The weights are 1: svm_perf's 100/n stands in C.
"""

from __future__ import annotations

import numpy as np

from svmcut._native import sparse
from svmcut.risks.protocol import Linearization


class BoundHinge:
    """The hinge risk of given labels.

    Parameters
    ----------
    signs : (n,) float64
        Labels in {-1, +1}.
    threads : int
        Threads of the C calls; results do not depend on it.
    """

    def __init__(self, signs, threads: int = 1):
        self.signs = signs
        self._threads = threads

    def linearize(self, s) -> Linearization:
        """Value, subgradient and count of examples inside the margin; O(n)."""
        s = np.ascontiguousarray(s, np.float64)
        coef = np.empty(len(s))
        value, violated = sparse.hinge(self.signs, s, coef, self._threads)
        return Linearization(value, coef, float(violated))

    def line_minimum(self, s, e, wd: float, dd: float, C: float) -> float:
        """The t >= 0 minimising (t^2 dd + 2 t wd)/2 + C R(s + t e), exactly; expected O(n).

        References
        ----------
        Franc and Sonnenburg, ICML 2008, section 3 (optimised cutting planes).
        """
        return sparse.hinge_line(self.signs, s, e, wd, dd, C, self._threads)

    def take(self, rows) -> BoundHinge:
        """The risk of these examples alone."""
        return BoundHinge(self.signs[rows], self._threads)

    def sampler(self):
        """The violated examples, to draw from; see HingeSampler."""
        from svmcut.risks.sampling import HingeSampler

        return HingeSampler(self.signs)


class HingeRisk:
    """Sum of hinge losses; labels above 0 are positive, all others negative (svm_perf's rule)."""

    name = "error-rate"

    def bind(self, y, qid=None, cost=None, threads: int = 1) -> BoundHinge:
        return BoundHinge(np.where(np.asarray(y) > 0, 1.0, -1.0), threads)
