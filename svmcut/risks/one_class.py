# SPDX-License-Identifier: BSD-3-Clause
"""One class: how far the lowest scores are from being high, labels being of no matter.

    R(s) = min_rho  sum_i v_i max(0, rho - s_i) - nu V rho   = max_a  -a.s,   0 <= a_i <= v_i,
    sum a = nu V,   V = sum v

the negative sum of the lowest scores, of weight nu V in all: with 1/2 |w|^2 the one-class SVM of
Schoelkopf et al., Neural Computation 13, 2001, in LIBSVM's scale.
"""

from __future__ import annotations

import numpy as np

from svmcut.base.typing import TYPE_CHECKING
from svmcut.risks.protocol import Linearization
from svmcut.risks.weights import example_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray


class BoundOneClass:
    """The risk of so many rows.

    Attributes
    ----------
    weights : (n,) float64 or None
    steepest : float
        Of the slopes of a loss.
    """

    steepest = 1.0

    def __init__(self, nu: float, n: int, weights: NDArray[np.float64] | None):
        self.nu, self.weights, self._v = nu, weights, np.ones(n) if weights is None else weights

    def linearize(self, s: NDArray) -> Linearization:
        """The lowest scores, each with its weight, the last of them with a part; O(n log n)."""
        coef, order = np.zeros(len(s)), np.argsort(s, kind="stable")
        ends = np.cumsum(self._v[order])
        begins = np.concatenate([[0.0], ends[:-1]])
        coef[order] = -np.clip(self.nu * ends[-1] - begins, 0.0, self._v[order])
        return Linearization(float(coef @ np.asarray(s, np.float64)), coef, 0.0)


class OneClassRisk:
    """Of all rows, whatever their labels; nu None is a half."""

    name = "one-class"

    def __init__(self, nu: float | None = None):
        self._nu = 0.5 if nu is None else nu

    def bind(self, y, qid=None, cost=None, threads: int = 1) -> BoundOneClass:
        return BoundOneClass(self._nu, len(y), example_weights(cost, len(y)))
