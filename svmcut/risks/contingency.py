# SPDX-License-Identifier: BSD-3-Clause
"""Losses of contingency tables: the whole sample is one structure, its labelling y' in {-1, +1}^n.

    margin rescaling   R(s) = max over y' of  D(y') - kappa sum over flipped i of y_i s_i
    slack rescaling    R(s) = max over y' of  D(y') (1 - kappa sum over flipped i of y_i s_i)

kappa = 100/n, D = Delta with slack norm 1 and sqrt(Delta) with slack norm 2; Delta in percent
(zero-one: 0 or 1). The maximum is over the labellings of positive loss, and 0 where that is
negative. With a true positives, b false positives, P positives, N negatives, n = P + N:

    zero-one     1 for any mistake
    error-rate   100 (P - a + b)/n
    f1           100 (1 - 2a/(P + a + b))
    prbep        100 (1 - a/P), labellings with a + b = P
    prec-at-k    100 (1 - a/(a + b)), a + b >= k
    rec-at-k     100 (1 - a/P), a + b <= k

As in svm_perf, precision and recall are 0 if their denominator is. Without positives f1, prbep and
rec-at-k are therefore 100 for every labelling, also the right one, and w = 0 is optimal. See
Joachims, ICML 2005, sections 3.2, 3.3 and Algorithm 2.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from svmcut._native.constraints import contingency_cut, table_cut, workspace
from svmcut.base.typing import Literal, NamedTuple
from svmcut.risks.classes import split_classes
from svmcut.risks.protocol import Linearization
from svmcut.spec.catalog import losses
from svmcut.spec.places import fraction_of_positives

ROWS = {name: row for name, row in losses("classification").items() if row.table and not row.shared}


class ContingencyRisk:
    """A contingency loss. `p` gives k = max(1, floor(P p)) of the losses at k, 0 for their default.
    Slack norm 2 takes the root of the loss, for 1/2 w'w + C xi^2. With `one_class` examples of one
    class are accepted, as zero-one and error-rate always do."""

    def __init__(
        self,
        name: str,
        p: float = 0.0,
        rescaling: Literal["margin", "slack"] = "margin",
        slack_norm: Literal[1, 2] = 1,
        one_class: bool = False,
    ):
        self.name, self.rescaling, self.slack_norm = name, rescaling, slack_norm
        self.p = fraction_of_positives(ROWS[name], p)
        self._both = not one_class and name not in ("zero-one", "error-rate")

    def bind(
        self, y: NDArray, qid: NDArray | None = None, cost: NDArray | None = None, threads: int = 1
    ) -> BoundContingency | BoundWithoutPositives:
        """Rows with y > 0 are positive; qid and cost are ignored, as in svm_perf.

        Raises TrainingError when there are no examples, or when all labels have one sign and that
        is not accepted.
        """
        positive, negative = split_classes(y, self.name, self._both)
        if not len(positive) and self.name in ("f1", "prbep", "rec-at-k"):
            most = {"f1": len(y), "prbep": 0, "rec-at-k": 1}[self.name]
            return BoundWithoutPositives(len(y), most, self.rescaling == "slack", self.slack_norm)
        k = self.k(len(positive), len(negative))
        loss = TableLoss(ROWS[self.name].number, self.rescaling == "slack", self.slack_norm, k)
        return BoundContingency(positive, negative, loss, threads)

    def k(self, P: int, N: int) -> int:
        """The k of the losses at k, for P positives and N negatives."""
        return min(max(1, math.floor(P * self.p)), P + N)


class TableLoss(NamedTuple):
    """A loss of a table, as C++ takes it."""

    number: int | None
    #: True for slack rescaling.
    slack: bool
    slack_norm: int
    k: int


class BoundContingency:
    """A contingency loss of given labels.

    O(n) time for zero-one and for error-rate with margin rescaling and slack norm 1; else one sort
    of n scores and O(P log N), in practice O(P). 52 bytes of workspace per row, allocated once. Not
    reentrant.
    """

    def __init__(self, positive, negative, loss: TableLoss, threads: int):
        self._positive, self._negative, self._loss = positive, negative, loss
        self._work, self._threads = workspace(len(positive) + len(negative)), threads
        self.k = loss.k

    def linearize(self, s: NDArray) -> Linearization:
        """The most violated labelling: value, coefficients (n,), and offset, which is its loss as
        it enters R."""
        s = np.ascontiguousarray(s, np.float64)
        classes = self._positive, self._negative
        cut = contingency_cut(s, *classes, *self._loss, self._work, self._threads)
        return Linearization(*cut)


class BoundWithoutPositives:
    """The risk of n negatives for a loss of 100 whatever is predicted; `most` is the largest number
    of predicted positives of an admissible labelling: n, 1 or 0."""

    #: Of rec-at-k: the smallest one.
    k = 1

    def __init__(self, n: int, most: int, slack: bool, slack_norm: int):
        self._n, self._most, self._price = n, most, 100.0 / n
        self._loss = 10.0 if slack_norm == 2 else 100.0
        if slack:
            self._price *= self._loss

    def linearize(self, s: NDArray) -> Linearization:
        """See BoundContingency.linearize."""
        coef = np.zeros(self._n)
        if self._most == 1:
            highest = int(np.argmax(s))
            coef[highest] = self._price * (s[highest] > 0)
        elif self._most:
            coef[s > 0] = self._price
        return Linearization(self._loss + float(np.sum(coef * s)), coef, self._loss)


#: The numbers of the C++ side; svm_perf's where it has one.
_ABOVE = ("fbeta", "balanced-error", "recall-at-precision", "precision-at-recall")
NUMBERS = {
    name: 28 + _ABOVE.index(name) if row.number is None else row.number
    for name, row in losses("classification").items()
    if row.table and row.shared
}


class TableRisk:
    """Losses of contingency tables for quantification, unbalanced classes and floors.

        R(s) = max over labellings y' with Delta(y') > 0 of
               Delta(y') - 100/n sum over flipped i of y_i s_i

    and 0 where that is negative. With P positives, N negatives, n = P + N, m misses, b false
    positives, a = P - m, k = b - m:

        kld             p ln(p/p') + (1-p) ln((1-p)/(1-p')), p = (P + 1/2)/(n + 1),
                        p' = (P + k + 1/2)/(n + 1)
        nkld            100 - 200/(1 + exp(kld))
        mae, mrae       100 |k|/n,   50 |k| (1/(P + 1/2) + 1/(N + 1/2))
        q, qacc, qf1, qgm
                        100 (1 - H), H = (1 + beta^2) q c/(beta^2 c + q), q = 1 - |k|/max(P, N), c
                        recall, accuracy, F1 or the geometric mean of the two classes' recalls
        gmean           100 (1 - sqrt(a/P (N - b)/N))
        fbeta           100 (1 - (1 + beta^2) a/((1 + beta^2) a + beta^2 m + b))
        balanced-error  50 (m/P + b/N)
        recall-at-precision     100 m/P where a/(a + b) reaches the floor, else 100
        precision-at-recall     100 b/(a + b) where a/P reaches the floor, else 100

    kld is no percentage, all others are. 0/0 is 0, and a class without examples has no errors. `at`
    is the floor of the losses that have one, `beta` is that of q, qacc, qf1, qgm and fbeta, and
    `one_class` accepts examples of one class.

    References
    ----------
    A. Esuli, F. Sebastiani, Optimizing text quantifiers for multivariate loss functions, ACM TKDD
    2015 (kld, nkld). J. Barranquero, J. Diez, J. J. del Coz, Quantification-oriented learning based
    on reliable classifiers, Pattern Recognition 2015 (q). T. Joachims, ICML 2005.
    """

    def __init__(self, name: str, at: float = 1.0, beta: float = 1.0, one_class: bool = False):
        takes = losses("classification")[name].takes
        self.name, self.parameter = name, at if "at" in takes else beta
        self._both = not one_class

    def bind(
        self, y: NDArray, qid: NDArray | None = None, cost: NDArray | None = None, threads: int = 1
    ) -> BoundTable:
        """Rows with y > 0 are positive; qid and cost are ignored, as in svm_perf.

        Raises TrainingError when there are no examples, or when all labels have one sign and that
        is not accepted.
        """
        positive, negative = split_classes(y, self.name, self._both)
        return BoundTable(positive, negative, NUMBERS[self.name], self.parameter, threads)


class BoundTable:
    """A loss of given labels. O(n log n) time at most for all but q, qacc, qf1 and qgm, which sort
    and then search boxes of tables. Not reentrant."""

    def __init__(self, positive, negative, number: int, parameter: float, threads: int):
        self._classes, self._loss, self._threads = (
            (positive, negative),
            (number, parameter),
            threads,
        )
        self._work = workspace(len(positive) + len(negative))

    def linearize(self, s: NDArray) -> Linearization:
        """The most violated labelling: value, coefficients (n,), and offset, which is its loss."""
        s = np.ascontiguousarray(s, np.float64)
        return Linearization(*table_cut(s, *self._classes, *self._loss, self._work, self._threads))
