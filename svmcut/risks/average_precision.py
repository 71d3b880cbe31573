# SPDX-License-Identifier: BSD-3-Clause
"""Average precision of the ranking by score, in percent.

    R(s) = max over rankings of  L (1 - AP) - m sum over pairs ranked wrongly of (s_p - s_n)
           L = 100, m = 2

AP is the mean over positives of the precision at their rank. The weight m of a pair is svm_perf's:
it is not divided by the number of pairs. See Yue et al., SIGIR 2007, section 3.3 and Algorithm 1
(there L = 1, m = 2/(P N)).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native.constraints import average_precision_cut, workspace
from svmcut.risks.classes import RiskOfBothClasses
from svmcut.risks.protocol import Linearization


class AveragePrecisionRisk(RiskOfBothClasses):
    """svm_perf -l 11."""

    name = "average-precision"

    def _bound(self, positive, negative, threads: int) -> BoundAveragePrecision:
        return BoundAveragePrecision(positive, negative, threads)


class BoundAveragePrecision:
    """Average precision of given labels. O(n log n) time per call; 52 bytes of workspace per row,
    allocated once. Not reentrant."""

    scale = 100.0
    weight = 2.0

    def __init__(self, positive, negative, threads):
        self._positive, self._negative, self._threads = positive, negative, threads
        self._work = workspace(len(positive) + len(negative))

    def linearize(self, s: NDArray) -> Linearization:
        """The most violated ranking: value, coefficients (n,), and offset, which is its loss in
        percent."""
        s = np.ascontiguousarray(s, np.float64)
        value, coef, offset = average_precision_cut(
            s, self._positive, self._negative, self.scale, self.weight, self._work, self._threads
        )
        return Linearization(
            0.0 if value < 0 else value, coef, offset
        )  # below 0 by rounding alone; nan stays
