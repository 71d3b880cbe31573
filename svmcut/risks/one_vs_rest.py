# SPDX-License-Identifier: BSD-3-Clause
"""One class or label against the rest: R(s) = sum_k R_k(s_k), each a risk of two classes."""

from __future__ import annotations

import numpy as np

from svmcut.risks.protocol import BoundRisk, Linearization, Risk, SumRisk
from svmcut.risks.weights import example_weights

#: Scores, or weights, of some classes held in memory in addition to those of all.
MAX_SCORES = 1 << 22


class OneVsRestRisk:
    """A BoundRisk of scores (n, K), row by row. `risk` is a sum over examples of two classes,
    `positive` (n, K) says which classes or labels are right, and `weights` (n,) are those of the
    examples, None for 1 each. Results do not depend on `threads`."""

    def __init__(self, risk: Risk, positive, threads: int = 1, weights=None):
        self.positive, self._risk, self._threads = positive, risk, threads
        self.n_classes, self.weights = positive.shape[1], example_weights(weights, len(positive))
        machine = self.machine(0)
        assert isinstance(machine, SumRisk)
        #: The largest slope of a loss.
        self.steepest = machine.steepest

    @classmethod
    def of_classes(
        cls, risk: Risk, y, n_classes: int, threads: int = 1, weights=None
    ) -> OneVsRestRisk:
        """The risk of one right class a row, y (n,) from 0."""
        places = np.asarray(y)
        positive = np.zeros((len(places), n_classes), bool)
        for k in range(n_classes):
            positive[:, k] = places == k
        return cls(risk, positive, threads, weights)

    def only(self, labels: range) -> OneVsRestRisk:
        """The risk of these labels."""
        positive = np.ascontiguousarray(self.positive[:, labels.start : labels.stop])
        return OneVsRestRisk(self._risk, positive, self._threads, self.weights)

    def machine(self, k: int) -> BoundRisk:
        """R_k, whose positive examples are those with k right."""
        return self._risk.bind(
            np.where(self.positive[:, k], 1.0, -1.0), None, self.weights, self._threads
        )

    def value_at(self, space, w) -> float:
        """R at the scores of w (dim,) in a LabelSpace without pairs; scores are formed for a few
        classes at a time."""
        K, value = self.n_classes, 0.0
        W = w.reshape(-1, K)
        step = max(1, MAX_SCORES // max(1, len(self.positive), len(W)))
        for first in range(0, K, step):
            S = space.scores_of(W[:, first : first + step])
            for k in range(S.shape[1]):
                value += self.machine(first + k).linearize(S[:, k]).value
        return value

    def linearize(self, s) -> Linearization:
        """The sum over the classes; O(n K)."""
        scores = np.asarray(s).reshape(self.positive.shape)
        coef, value, offset = np.empty(scores.shape), 0.0, 0.0
        for k in range(self.n_classes):
            part = self.machine(k).linearize(scores[:, k])
            coef[:, k], value, offset = part.coef, value + part.value, offset + part.offset
        return Linearization(value, coef.ravel(), offset)
