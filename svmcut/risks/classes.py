# SPDX-License-Identifier: BSD-3-Clause
"""The two classes behind the labels of a file, and losses of pairs of an example of each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native.constraints import average_precision_cut, workspace
from svmcut.base.errors import TrainingError
from svmcut.base.typing import Any, ClassVar
from svmcut.risks.ordinal import BoundOrdinal, Grades
from svmcut.risks.protocol import Linearization
from svmcut.scoring.measures import find_negative_range


def split_classes(
    y: NDArray, loss: str, both: bool = True
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Rows with y > 0 and rows with y <= 0, each (n_class,) int32 and increasing, by svm_perf's
    rule.

    Raises TrainingError, which names the loss, when there are no examples, or when `both` and a
    class is empty.
    """
    positive = np.flatnonzero(y > 0).astype(np.int32)
    negative = np.flatnonzero(~(y > 0)).astype(np.int32)
    n = len(y)
    if n == 0:
        raise TrainingError("loss '{}' needs examples, but there are none", loss)
    if both and (len(positive) == 0 or len(negative) == 0):
        sign = "+1" if len(positive) else "-1"
        which = f"all {n} labels are" if n > 1 else "the only label is"
        raise TrainingError("loss '{}' needs labels of both signs, but {} {}", loss, which, sign)
    return positive, negative


class RiskOfBothClasses:
    """A risk of pairs of a positive and a negative example; with `one_class` it is 0 for examples
    of one class."""

    name: ClassVar[str]

    def __init__(self, one_class: bool = False):
        self._one_class = one_class

    def bind(
        self, y: NDArray, qid: NDArray | None = None, cost: NDArray | None = None, threads: int = 1
    ) -> Any:
        """Rows with y > 0 are positive; qid and cost are ignored, as in svm_perf.

        Raises TrainingError when all labels have one sign and one_class does not allow it.
        """
        positive, negative = split_classes(y, self.name, not self._one_class)
        if not (len(positive) and len(negative)):
            return BoundNothing(len(y))
        return self._bound(positive, negative, threads)

    def _bound(self, positive: NDArray[np.int32], negative: NDArray[np.int32], threads: int) -> Any:
        """The risk of these rows of both classes."""
        raise NotImplementedError


class BoundNothing:
    """The risk 0 of n examples of one class, for a loss of pairs of both classes."""

    def __init__(self, n: int):
        self._n = n

    def linearize(self, s) -> Linearization:
        return Linearization(0.0, np.zeros(self._n), 0.0)


class RocAreaRisk(RiskOfBothClasses):
    """ROC area: the fraction of pairs of a positive and a negative example that are ranked wrongly,
    in percent (Joachims, ICML 2005, section 3.4 and Algorithm 3).

        R(s) = 100/(P N) sum over pairs of max(0, 1 - (s_p - s_n)),     P positives, N negatives
    """

    name = "roc-area"

    def _bound(self, positive, negative, threads: int) -> BoundOrdinal:
        n, pairs = len(positive) + len(negative), len(positive) * len(negative)
        grade = np.zeros(n, np.int32)
        grade[positive] = 1
        grades = Grades(
            np.array([0, n], np.int64), grade, np.array([2], np.int32), np.array([pairs], np.int64)
        )
        return BoundOrdinal(grades, np.array([100.0 / pairs]), workspace(n), threads)


class AveragePrecisionRisk(RiskOfBothClasses):
    """Average precision of the ranking by score, in percent.

        R(s) = max over rankings of  L (1 - AP) - m sum over pairs ranked wrongly of (s_p - s_n)
               L = 100, m = 2

    AP is the mean over positives of the precision at their rank. The weight m of a pair is
    svm_perf's: it is not divided by the number of pairs. See Yue et al., SIGIR 2007, section 3.3
    and Algorithm 1 (there L = 1, m = 2/(P N)).
    """

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


class PartialAucRisk(RiskOfBothClasses):
    """Partial ROC area: pairs ranked wrongly in a range of false-positive rates, in percent.

    With P positives, negatives t_1 >= t_2 >= .. by falling scores, of which the range [j_a, j_b) of
    places counts, and T_r = t_1 + .. + t_r:

        R(s) = 100/(P (j_b - j_a)) sum over positives i of  max over r of  (r - j_a)+ + T_r - r s_i

    Positive i has r negatives above it, at most j_b; up to j_a there is no loss, so the sum is the
    largest over all rankings of the loss less the pairs ranked wrongly. It is at least the loss
    with ties counted as wrong. The maximum is where r is the number of t > s_i, at most j_a, or of
    t + 1 > s_i, in [j_a, j_b].

    References
    ----------
    H. Narasimhan, S. Agarwal, A structural SVM based approach for optimizing partial AUC, ICML
    2013; Support vector algorithms for optimizing the partial area under the ROC curve, Neural
    Computation 2017.
    """

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
