# SPDX-License-Identifier: BSD-3-Clause
"""One class: a weighted sum of the lowest scores, without labels.

    R(s) = min_rho  sum_i v_i max(0, rho - s_i) - nu V rho   = max_a  -a.s
           0 <= a_i <= v_i,   sum a = nu V,   V = sum v

That is the negative sum of the lowest scores, of total weight nu V; with 1/2 |w|^2 it is the
one-class SVM of Schoelkopf et al., Neural Computation 13, 2001, in LIBSVM's scale.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.risks.protocol import Linearization
from svmcut.risks.weights import example_weights


class BoundOneClass:
    """The risk of n rows, with weights (n,) or None for 1 each."""

    #: The largest slope of a loss.
    steepest = 1.0

    def __init__(self, nu: float, n: int, weights: NDArray[np.float64] | None):
        self.nu, self.weights, self._v = nu, weights, np.ones(n) if weights is None else weights

    def linearize(self, s: NDArray) -> Linearization:
        """The lowest scores, each with its weight, and the last one with a part of it; O(n log
        n)."""
        coef, order = np.zeros(len(s)), np.argsort(s, kind="stable")
        ends = np.cumsum(self._v[order])
        begins = np.concatenate([[0.0], ends[:-1]])
        coef[order] = -np.clip(self.nu * ends[-1] - begins, 0.0, self._v[order])
        return Linearization(float(coef @ np.asarray(s, np.float64)), coef, 0.0)


class OneClassRisk:
    """The risk of all rows, whatever their labels; nu None is 1/2."""

    name = "one-class"

    def __init__(self, nu: float | None = None):
        self._nu = 0.5 if nu is None else nu

    def bind(self, y, qid=None, cost=None, threads: int = 1) -> BoundOneClass:
        return BoundOneClass(self._nu, len(y), example_weights(cost, len(y)))
