# SPDX-License-Identifier: BSD-3-Clause
"""The risk of Crammer and Singer: R(s) = sum_i v_i max_k ([k != y_i] + s_ik - s_iy), v_i = 1
without weights.

Scores are (n, K) row by row. A cut has q_i in the simplex of the classes: coef_ik = v_i (q_ik - [k
= y_i]), offset sum_i v_i (1 - q_iy); the most violated one puts q_i on the first class with the
largest term. With xi_i^2 in place of the term xi_i of every row, a cut of R is squared row by row
as in svmcut.risks.squared.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native import multiclass
from svmcut._native.chain import Chains
from svmcut.base.typing import NamedTuple
from svmcut.risks.chain import SequenceSum, Violations
from svmcut.risks.protocol import Linearization
from svmcut.risks.weights import example_weights


class CrammerSingerRisk:
    """An ExactLineRisk of right classes y (n,), from 0; `weights` (n,) are those of the examples,
    None for 1 each. Results do not depend on `threads`."""

    def __init__(self, y, n_classes: int, threads: int = 1, weights=None):
        self.y = np.ascontiguousarray(y, np.int32)
        self.n_classes = n_classes
        self._threads = threads
        self.weights = example_weights(weights, len(y))

    def linearize(self, s) -> Linearization:
        """Value, subgradient and offset; O(n K)."""
        coef = np.empty((len(self.y), self.n_classes))
        scores = np.ascontiguousarray(s, np.float64).reshape(coef.shape)
        value, offset = multiclass.crammer_singer(self.y, scores, coef, self._threads, self.weights)
        return Linearization(value, coef.ravel(), offset)

    def value(self, s) -> float:
        """R(s); O(n K)."""
        scores = np.ascontiguousarray(s, np.float64).reshape(len(self.y), self.n_classes)
        return multiclass.crammer_singer(self.y, scores, None, self._threads, self.weights)[0]

    def line_minimum(self, s, e, wd: float, dd: float, C: float) -> float:
        """The t >= 0 that minimises (t^2 dd + 2 t wd)/2 + C R(s + t e), to a thousandth of its
        gain; O(n K) a step. s None is 0."""
        shape = len(self.y), self.n_classes
        e = np.ascontiguousarray(e, np.float64).reshape(shape)
        s = None if s is None else np.ascontiguousarray(s, np.float64).reshape(shape)
        return multiclass.crammer_singer_line(self.y, s, e, wd, dd, C, self._threads, self.weights)


class SquaredCrammerSingerRisk:
    """A BoundRisk, sum_i v_i xi_i^2; see CrammerSingerRisk."""

    def __init__(self, y, n_classes: int, threads: int = 1, weights=None):
        self._plain = CrammerSingerRisk(y, n_classes, threads)
        self.y = self._plain.y
        self.n_classes = n_classes
        self.weights = example_weights(weights, len(y))

    def linearize(self, s) -> Linearization:
        """Value, subgradient and offset; O(n K)."""
        coef = self._plain.linearize(s).coef.reshape(-1, self.n_classes)
        met = coef.any(axis=1)
        xi = met + np.einsum("ik,ik->i", coef, np.reshape(s, coef.shape))
        weighed = xi if self.weights is None else self.weights * xi
        squared = float(weighed @ xi)
        return Linearization(
            squared, (2 * weighed[:, None] * coef).ravel(), 2 * float(weighed @ met) - squared
        )


class PairLosses(NamedTuple):
    """Delta(y, k) for the classes that rows have."""

    #: (P, K) float64, one row for every class that occurs, 0 at the class itself.
    values: NDArray[np.float64]
    #: (n,) int64, the row of `values` of an example.
    kinds: NDArray[np.int64]


def squared_differences(names: NDArray[np.float64], y: NDArray) -> PairLosses:
    """(name of y - name of k)^2 for examples of classes y in 0 to K - 1 with these (K,) names."""
    present, kinds = np.unique(y, return_inverse=True)
    return PairLosses((names[present][:, None] - names) ** 2, kinds.astype(np.int64))


class ClassCostRisk:
    """Multiclass risk with a cost for every pair of classes: Crammer and Singer's with a loss
    Delta.

        margin rescaling   R(s) = sum_i v_i max_k (Delta(y, k) + s_ik - s_iy),   y = y_i
        slack rescaling    R(s) = sum_i v_i max_k Delta(y, k) (1 + s_ik - s_iy)
        squared slack      R(s) = sum_i v_i xi_i^2, xi_i that maximum with sqrt(Delta) for Delta

    Delta(y, y) = 0, and so is the term of k = y. Squares have cuts as in svmcut.risks.squared, row
    by row; the root makes xi_i^2 a bound of Delta (Tsochantaridis et al., JMLR 2005, section 2.2).

    A BoundRisk of right classes y (n,), from 0, with rescaling "margin" or "slack" and slack norm
    1 or 2; `weights` (n,) are those of the examples, None for 1 each.
    """

    def __init__(
        self, y, losses: PairLosses, rescaling: str = "margin", slack_norm: int = 1, weights=None
    ):
        self.y, self.weights = np.ascontiguousarray(y, np.int32), example_weights(weights, len(y))
        self._values = np.sqrt(losses.values) if slack_norm == 2 else losses.values
        self._kinds = losses.kinds
        self._scaled = rescaling == "slack"
        self._squared = slack_norm == 2
        self.n_classes, self._rows = losses.values.shape[1], np.arange(len(y))
        largest = float(self._values.max(initial=0.0)) if self._scaled else 1.0
        self.steepest = np.inf if self._squared else 2 * largest

    def worst(self, s) -> Violations:
        """The first class with the largest term of every row at scores s (n, K); terms are margins,
        or their roots."""
        s = np.asarray(s, np.float64)
        terms = s - s[self._rows, self.y][:, None]
        heights = self._values[self._kinds]
        if self._scaled:
            terms += 1.0
            terms *= heights
        else:
            terms += heights
        labels = np.argmax(terms, axis=1)
        labels = np.where(terms[self._rows, labels] > 0, labels, self.y).astype(np.int32)
        slacks, offsets = terms[self._rows, labels], heights[self._rows, labels]
        return Violations(
            labels, slacks, offsets if self._scaled else np.ones(len(labels)), offsets
        )

    def linearize(self, s) -> Linearization:
        """Value, subgradient and offset; O(n K)."""
        labels, xi, steps, offsets = self.worst(np.reshape(s, (len(self.y), self.n_classes)))
        if self._squared:
            xi, steps, offsets = xi**2, 2 * xi * steps, xi * (2 * offsets - xi)
        if self.weights is not None:
            xi, steps, offsets = self.weights * xi, self.weights * steps, self.weights * offsets
        coef = np.zeros((len(self.y), self.n_classes))
        coef[self._rows, labels] = steps
        coef[self._rows, self.y] -= steps
        return Linearization(float(xi.sum()), coef.ravel(), float(offsets.sum()))


class TokenCostRisk(SequenceSum):
    """The same risk for sequences of one token without transitions, for training with kernels.
    `risk` has slack norm 1, or roots."""

    def __init__(self, chains: Chains, risk: ClassCostRisk, weights=None):
        super().__init__(chains, weights)
        self._risk = risk

    def violations(self, s) -> Violations:
        n = self.chains.n_sequences
        nodes = s[: n * self.chains.node_size].reshape(n, -1)
        return self._risk.worst(nodes[:, : self._risk.n_classes])
