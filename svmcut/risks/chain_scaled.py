# SPDX-License-Identifier: BSD-3-Clause
"""Slack rescaling, zero/one loss and squared slack of chains.

    slack rescaling   H_n = max_y Delta(y_n, y) (1 + score_s(y) - score_s(y_n)),  Delta = wrong tags
    zero/one loss     H_n = max_(y != y_n) 1 + score_s(y) - score_s(y_n), and at least 0
    squared slack     H_n^2 in place of H_n, with sqrt(Delta) for Delta:
                      H_n(s')^2 >= 2 H_n(s) H_n(s') - H_n(s)^2

With Delta = 1 for every mistake margin and slack rescaling are the same. All are maxima over the
number k of wrong tags (at most 1 for the zero/one loss) of losses[k] + prices[k] (score - right
score); csrc/chain/chain_counts.cc finds the best labelling for every k. At transition order 1 that
is O(T^2 K^2) time and T^2 K numbers for a sequence of T tokens, and twice Viterbi's recursion with
the zero/one loss. The root makes H_n^2 a bound of Delta (Tsochantaridis et al., JMLR 2005, section
2.2).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native import chain
from svmcut.risks.chain import SequenceSum, Violations


class CountedRisk(SequenceSum):
    """sum_n of the largest losses[k] + prices[k] (score_s(y) - score_s(y_n)) over y with k >= 1
    wrong tags, at least 0. `losses` and `prices` (most + 1,) count wrong tags up to most; `weights`
    are those of the sequences, None for 1 each."""

    def __init__(
        self,
        chains: chain.Chains,
        losses: NDArray,
        prices: NDArray,
        threads: int = 1,
        weights: NDArray | None = None,
    ):
        super().__init__(chains, weights)
        self._losses, self._prices, self._threads = losses, prices, threads

    def violations(self, s) -> Violations:
        labels, slacks = np.empty(self.chains.n_tokens, np.int32), np.empty(self.chains.n_sequences)
        counts = np.empty(self.chains.n_sequences, np.int64)
        chain.counted(
            self.chains, s, self._losses, self._prices, labels, slacks, counts, self._threads
        )
        return Violations(labels, slacks, self._prices[counts], self._losses[counts])


def slack_rescaled(
    chains: chain.Chains, longest: int, threads: int = 1, weights=None
) -> CountedRisk:
    """Slack rescaling of the number of wrong tags; `longest` is the length of the longest
    sequence."""
    wrong = np.arange(longest + 1.0)
    return CountedRisk(chains, wrong, wrong, threads, weights)


def square_slack(
    chains: chain.Chains, longest: int, rescaling: str, threads: int = 1, weights=None
) -> SquaredSequences:
    """Squared slack of the number of wrong tags, with rescaling "margin" or "slack"; see
    `slack_rescaled`."""
    root = np.sqrt(np.arange(longest + 1.0))
    prices = root if rescaling == "slack" else np.ones_like(root)
    return SquaredSequences(CountedRisk(chains, root, prices, threads, weights))


def zero_one(chains: chain.Chains, threads: int = 1, weights=None) -> CountedRisk:
    """A loss of 1 for a sequence with a wrong tag, for either rescaling."""
    mistake = np.array([0.0, 1.0])
    return CountedRisk(chains, mistake, mistake, threads, weights)


class SquaredSequences(SequenceSum):
    """sum_n v_n H_n^2 of a risk sum_n v_n H_n."""

    def __init__(self, risk: SequenceSum):
        super().__init__(risk.chains, risk.weights)
        self._risk = risk

    def violations(self, s) -> Violations:
        labels, slacks, weights, offsets = self._risk.violations(s)
        return Violations(labels, slacks**2, 2 * slacks * weights, slacks * (2 * offsets - slacks))
