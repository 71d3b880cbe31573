# SPDX-License-Identifier: BSD-3-Clause
"""Losses of contingency tables for quantification, unbalanced classes and floors.

    R(s) = max over labellings y' with Delta(y') > 0 of
           Delta(y') - 100/n sum over flipped i of y_i s_i

and 0 where that is negative. With P positives, N negatives, n = P + N, m misses, b false positives,
a = P - m, k = b - m:

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

kld is no percentage, all others are. 0/0 is 0, and a class without examples has no errors.

References
----------
A. Esuli, F. Sebastiani, Optimizing text quantifiers for multivariate loss functions, ACM TKDD 2015
(kld, nkld). J. Barranquero, J. Diez, J. J. del Coz, Quantification-oriented learning based on
reliable classifiers, Pattern Recognition 2015 (q). T. Joachims, ICML 2005.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native.constraints import table_cut, workspace
from svmcut.risks.classes import split_classes
from svmcut.risks.protocol import Linearization
from svmcut.spec.catalog import losses

#: The numbers of the C++ side; svm_perf's where it has one.
_ABOVE = ("fbeta", "balanced-error", "recall-at-precision", "precision-at-recall")
NUMBERS = {
    name: 28 + _ABOVE.index(name) if row.number is None else row.number
    for name, row in losses("classification").items()
    if row.table and row.shared
}


class TableRisk:
    """A loss of this module. `at` is the floor of the losses that have one, `beta` is that of q,
    qacc, qf1, qgm and fbeta, and `one_class` accepts examples of one class."""

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
