# SPDX-License-Identifier: BSD-3-Clause
"""ROC area: the fraction of pairs of a positive and a negative example that are ranked wrongly, in
percent (Joachims, ICML 2005, section 3.4 and Algorithm 3).

    R(s) = 100/(P N) sum over pairs of max(0, 1 - (s_p - s_n)),     P positives, N negatives
"""

from __future__ import annotations

import numpy as np

from svmcut._native.constraints import workspace
from svmcut.risks.classes import RiskOfBothClasses
from svmcut.risks.ordinal import BoundOrdinal, Grades


class RocAreaRisk(RiskOfBothClasses):
    """svm_perf -l 10."""

    name = "roc-area"

    def _bound(self, positive, negative, threads: int) -> BoundOrdinal:
        n, pairs = len(positive) + len(negative), len(positive) * len(negative)
        grade = np.zeros(n, np.int32)
        grade[positive] = 1
        grades = Grades(
            np.array([0, n], np.int64), grade, np.array([2], np.int32), np.array([pairs], np.int64)
        )
        return BoundOrdinal(grades, np.array([100.0 / pairs]), workspace(n), threads)
