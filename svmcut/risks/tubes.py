# SPDX-License-Identifier: BSD-3-Clause
"""The common part of the epsilon-insensitive losses."""

from __future__ import annotations

import numpy as np

from svmcut.base.typing import TYPE_CHECKING
from svmcut.risks.losses import BoundLosses
from svmcut.risks.weights import example_weights

if TYPE_CHECKING:
    from typing import Self


class BoundTube(BoundLosses):
    """A risk of errors beyond a tube around given targets."""

    signed = True

    def __init__(self, targets, threads: int = 1, weights=None, tube: float = 0.1):
        super().__init__(targets, threads, weights)
        self.tube = tube

    def take(self, rows) -> Self:
        weights = None if self.weights is None else self.weights[rows]
        return type(self)(self.targets[rows], self._threads, weights, self.tube)


class TubeRisk:
    """Sum of weighted losses of errors beyond a tube; `tube` is half its width."""

    bound: type[BoundTube]

    def __init__(self, tube: float = 0.1):
        self.tube = tube

    def bind(self, y, qid=None, cost=None, threads: int = 1) -> BoundTube:
        targets = np.ascontiguousarray(y, np.float64)
        return self.bound(targets, threads, example_weights(cost, len(targets)), self.tube)
