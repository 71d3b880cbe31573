# SPDX-License-Identifier: BSD-3-Clause
"""The structured hinge of label sets, relaxed to the local polytope, as a risk of scores.

    R(s, v) = sum_n c_n (max_(p, q) [sum_k p_k s_nk + sum_{k<l} q_kl v_kl + Delta(y_n, p)]
                         - score(y_n))

Delta is the number of wrong labels and c_n the weights of the examples, 1 without; s is laid out as
in svmcut.spaces.structures, followed by the pair weights.
"""

from __future__ import annotations

import numpy as np

from svmcut._native import multilabel
from svmcut.risks.protocol import Linearization
from svmcut.risks.weights import example_weights


class LabelRisk:
    """A BoundRisk of right labels `gold` (n, K); with `pairs` pair weights follow the scores.
    `weights` (n,) are those of the examples, None for 1 each."""

    def __init__(self, gold, pairs: bool, threads: int = 1, weights=None):
        self._gold, self._pairs, self._threads = gold, pairs, threads
        self.weights = example_weights(weights, len(gold))
        self._upper = np.triu_indices(gold.shape[1], 1)
        indptr = np.concatenate([[0], np.cumsum(gold.sum(axis=1))]).astype(np.int64)
        self._sets = multilabel.Sets(indptr, np.nonzero(gold)[1].astype(np.int32))

    def linearize(self, s) -> Linearization:
        """Value, subgradient and offset at scores s; O(n K) and the pairs of labels that are on
        together."""
        n, K = self._gold.shape
        v = None
        if self._pairs:
            v = np.zeros((K, K))
            v[self._upper] = s[n * K :]
            v += v.T
        nodes = np.ascontiguousarray(s[: n * K]).reshape(n, K)
        doubled, hinges, together = multilabel.relax_scores(
            nodes, v, self._sets, self._threads, self.weights
        )
        off = 0.5 * doubled - self._gold
        if self.weights is not None:
            hinges, off = self.weights * hinges, self.weights[:, None] * off
        return Linearization(
            float(hinges.sum()),
            np.concatenate([off.ravel(), together[self._upper]]) if self._pairs else off.ravel(),
            float(np.abs(off).sum()),
        )
