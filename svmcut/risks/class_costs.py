# SPDX-License-Identifier: BSD-3-Clause
"""Classes of which some mistakes cost more than others: the risk of Crammer and Singer with a loss
of every pair.

    margin rescaling   R(s) = sum_i v_i max_k (Delta(y, k) + s_ik - s_iy),           y = y_i,
    Delta(y, y) = 0 slack rescaling    R(s) = sum_i v_i max_k Delta(y, k) (1 + s_ik - s_iy) squared
    slack      R(s) = sum_i v_i xi_i^2, xi_i the maximum above with the root of Delta in its place

The terms of k = y are 0. Squares have cuts as in svmcut.risks.squared, row by row; the root makes
xi_i^2 a bound of Delta.

References
----------
I. Tsochantaridis, T. Joachims, T. Hofmann, Y. Altun, Large margin methods for structured and
interdependent output variables, JMLR 2005, section 2.2.
"""

from __future__ import annotations

import numpy as np

from svmcut.base.typing import TYPE_CHECKING, NamedTuple
from svmcut.risks.chain import SequenceSum, Violations
from svmcut.risks.protocol import Linearization
from svmcut.risks.weights import example_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut._native.chain import Chains


class PairLosses(NamedTuple):
    """Delta(y, k) of the classes that rows have.

    Attributes
    ----------
    values : (P, K) float64
        Of every class that is some row's, 0 at itself.
    kinds : (n,) int64
        The row of `values` of an example.
    """

    values: NDArray[np.float64]
    kinds: NDArray[np.int64]


def squared_differences(names: NDArray[np.float64], y: NDArray) -> PairLosses:
    """(name of y - name of k)^2 for examples of classes y in 0 to K - 1 with these (K,) names."""
    present, kinds = np.unique(y, return_inverse=True)
    return PairLosses((names[present][:, None] - names) ** 2, kinds.astype(np.int64))


class ClassCostRisk:
    """A BoundRisk.

    Parameters
    ----------
    y : (n,) int
        Right classes, from 0.
    losses : PairLosses
    rescaling : {"margin", "slack"}
    slack_norm : {1, 2}
    weights : (n,) float64 or None
        Of the examples; None for 1 each.

    Attributes
    ----------
    y, weights
        As given.
    n_classes : int
    steepest : float
        R changes by at most so much for a row of weight 1 whose scores change by 1; inf of squared
        slack.
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
        """The first class of the largest term of every row at scores s (n, K); those of margins, or
        their roots."""
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
    """The same of sequences of one token without transitions, as training by kernels has them;
    slack norm 1.

    Parameters
    ----------
    chains : Chains
    risk : ClassCostRisk
        Of slack norm 1, or of its roots.
    weights : (n,) float64 or None
    """

    def __init__(self, chains: Chains, risk: ClassCostRisk, weights=None):
        super().__init__(chains, weights)
        self._risk = risk

    def violations(self, s) -> Violations:
        n = self.chains.n_sequences
        nodes = s[: n * self.chains.node_size].reshape(n, -1)
        return self._risk.worst(nodes[:, : self._risk.n_classes])
