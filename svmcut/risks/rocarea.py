# SPDX-License-Identifier: BSD-3-Clause
"""ROC area: the fraction of pairs of a positive and a negative example that are ranked wrongly, in
percent.

    R(s) = 100/(P N) sum over pairs of max(0, 1 - (s_p - s_n)),     P positives, N negatives

References
----------
T. Joachims, A support vector method for multivariate performance measures, ICML 2005, section 3.4
and Algorithm 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from svmcut._native.constraints import workspace
from svmcut.risks.classes import BoundNothing, split_classes
from svmcut.risks.ordinal import BoundOrdinal, Grades

if TYPE_CHECKING:
    from numpy.typing import NDArray


class RocAreaRisk:
    """svm_perf -l 10; with `one_class` the risk of examples of one class is 0."""

    name = "roc-area"

    def __init__(self, one_class: bool = False):
        self._one_class = one_class

    def bind(
        self, y: NDArray, qid: NDArray | None = None, cost: NDArray | None = None, threads: int = 1
    ) -> BoundOrdinal | BoundNothing:
        """Positive where y > 0; qid and cost are ignored, as svm_perf ignores them.

        Raises
        ------
        TrainingError
            When all labels have one sign and one_class does not allow it.
        """
        positive, negative = split_classes(y, self.name, not self._one_class)
        n, pairs = len(y), len(positive) * len(negative)
        if not pairs:
            return BoundNothing(n)
        grade = np.zeros(n, np.int32)
        grade[positive] = 1
        grades = Grades(
            np.array([0, n], np.int64), grade, np.array([2], np.int32), np.array([pairs], np.int64)
        )
        return BoundOrdinal(grades, np.array([100.0 / pairs]), workspace(n), threads)
