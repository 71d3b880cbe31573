# SPDX-License-Identifier: BSD-3-Clause
"""Partial ROC area: pairs ranked wrongly in a range of false-positive rates, in percent.

With P positives, negatives t_1 >= t_2 >= .. by falling scores, of which the range [j_a, j_b) of
places counts, and T_r = t_1 + .. + t_r:

    R(s) = 100/(P (j_b - j_a)) sum over positives i of  max over r of  (r - j_a)+ + T_r - r s_i

Positive i has r negatives above it, at most j_b; up to j_a there is no loss, so the sum is the
largest over all rankings of the loss less the pairs ranked wrongly. It is at least the loss with
ties counted as wrong. The maximum is where r is the number of t > s_i, at most j_a, or of t + 1 >
s_i, in [j_a, j_b].

References
----------
H. Narasimhan, S. Agarwal, A structural SVM based approach for optimizing partial AUC, ICML 2013;
Support vector algorithms for optimizing the partial area under the ROC curve, Neural Computation
2017.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.risks.classes import RiskOfBothClasses
from svmcut.risks.protocol import Linearization
from svmcut.scoring.measures import find_negative_range


class PartialAucRisk(RiskOfBothClasses):
    """The partial area in the range `at` of false-positive rates."""

    name = "partial-auc"

    def __init__(self, at: tuple[float, float] = (0.0, 0.1), one_class: bool = False):
        super().__init__(one_class)
        self.at = at

    def _bound(self, positive, negative, threads: int) -> BoundPartialAuc:
        return BoundPartialAuc(positive, negative, *find_negative_range(self.at, len(negative)))


class BoundPartialAuc:
    """The risk of given labels; O(n log n), as negatives are sorted and every positive is placed
    among them."""

    def __init__(self, positive, negative, first: int, last: int):
        self._positive, self._negative = positive, negative
        self._first, self._last = first, last

    def linearize(self, s: NDArray) -> Linearization:
        """The most violated ranking: value, coefficients (n,), and offset, which is its loss."""
        s = np.asarray(s, np.float64)
        first, last, up = self._first, self._last, s[self._positive]
        order = _highest(s[self._negative], last)
        falling = -s[self._negative[order]]  # ascending
        sums = np.append(0.0, np.cumsum(-falling))
        outside = np.minimum(np.searchsorted(falling, -up), first)
        inside = np.clip(np.searchsorted(falling, 1.0 - up), first, last)
        lost = np.array([np.zeros(len(up)), inside - first])
        slack = np.array([sums[outside] - outside * up, sums[inside] - inside * up])
        wrong = lost[1] + slack[1] > slack[0]
        r = np.where(wrong, inside, outside)
        scale = 100.0 / (len(up) * (last - first))
        coef = np.zeros(len(s))
        coef[self._positive] = -scale * r
        placed = np.bincount(r, minlength=last + 1)[::-1].cumsum()[::-1]  # of positives with r >= q
        coef[self._negative[order]] = scale * placed[1 : last + 1]
        loss = scale * float(lost[1][wrong].sum())
        total = np.where(wrong, lost[1] + slack[1], slack[0])
        return Linearization(scale * float(np.maximum(0.0, total).sum()), coef, loss)


def _highest(scores, k: int):
    """Rows of the k highest scores in falling order, ties by row; the others are not sorted."""
    least = -np.partition(-scores, k - 1)[k - 1]
    rows = np.flatnonzero(~(scores < least))  # those equal to the least, and what is no number
    return rows[np.argsort(-scores[rows], kind="stable")][:k]
