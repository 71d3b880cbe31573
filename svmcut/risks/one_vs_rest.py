# SPDX-License-Identifier: BSD-3-Clause
"""One class against the rest, class after class: R(s) = sum_k R_k(s_k), each the risk of two classes."""

from __future__ import annotations

import numpy as np

from svmcut.risks.protocol import BoundRisk, Linearization, Risk, SumRisk
from svmcut.risks.weights import example_weights


class OneVsRestRisk:
    """A BoundRisk of scores (n, K) row by row.

    Parameters
    ----------
    risk : Risk
        Of two classes, a sum over examples.
    y : (n,) int
        Right classes, from 0.
    n_classes : int
    threads : int
        Results do not depend on it.
    weights : (n,) float64 or None
        Of the examples; None for 1 each.

    Attributes
    ----------
    steepest : float
        Of the slopes of a loss.
    """

    def __init__(self, risk: Risk, y, n_classes: int, threads: int = 1, weights=None):
        self.y, self.n_classes, self._risk, self._threads = y, n_classes, risk, threads
        self.weights = example_weights(weights, len(y))
        machine = self.machine(0)
        assert isinstance(machine, SumRisk)
        self.steepest = machine.steepest

    def machine(self, k: int) -> BoundRisk:
        """R_k, whose positive examples are those of class k."""
        return self._risk.bind(np.where(self.y == k, 1.0, -1.0), None, self.weights, self._threads)

    def linearize(self, s) -> Linearization:
        """The sum over the classes; O(n K)."""
        scores = np.reshape(s, (len(self.y), self.n_classes))
        coef, value, offset = np.empty(scores.shape), 0.0, 0.0
        for k in range(self.n_classes):
            part = self.machine(k).linearize(scores[:, k])
            coef[:, k], value, offset = part.coef, value + part.value, offset + part.offset
        return Linearization(value, coef.ravel(), offset)
