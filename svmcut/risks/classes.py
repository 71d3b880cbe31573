# SPDX-License-Identifier: BSD-3-Clause
"""The two classes behind the labels of a file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import TrainingError
from svmcut.base.typing import Any, ClassVar
from svmcut.risks.protocol import Linearization


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
