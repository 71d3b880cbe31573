# SPDX-License-Identifier: BSD-3-Clause
"""The structured hinge of chains as a risk of scores.

    R(s) = sum_n v_n (max_y [score_s(y) + Delta(y_n, y)] - score_s(y_n))        Delta = wrong tags

v_n is 1 without weights; s is laid out as in svmcut.spaces.structures. Viterbi's recursion finds
the most violated labellings, O(tokens K^2) at transition order 1. CountedRisk has other losses and
slacks.
"""

from __future__ import annotations

from bisect import bisect

import numpy as np
from numpy.typing import NDArray

from svmcut._native import chain
from svmcut.base.typing import NamedTuple
from svmcut.data.labellings import Labelling
from svmcut.risks.protocol import Linearization
from svmcut.risks.weights import example_weights


class Violations(NamedTuple):
    """The most violated labelling of every sequence, and the linear bound of H_n that it gives."""

    #: (tokens,) int32.
    labels: NDArray
    #: (n,) H_n at these scores.
    slacks: NDArray
    #: (n,) as is `offsets`: at any scores H_n >= offsets[n] + weights[n] (score(labels_n) -
    #: score(y_n)), with equality at these.
    weights: NDArray
    offsets: NDArray


class SequenceSum:
    """A BoundRisk R = sum_n v_n H_n with parts H_n from `violations`; `weights` are the v_n, None
    for 1 each. The coefficients of its linearizations are a Labelling."""

    def __init__(self, chains: chain.Chains, weights: NDArray | None = None):
        self.chains, self.weights = chains, example_weights(weights, chains.n_sequences)

    def violations(self, s) -> Violations:
        """The violations at scores s."""
        raise NotImplementedError

    def linearize(self, s) -> Linearization:
        """Value, coefficients and offset at scores s."""
        violated = self.violations(s)
        return self.linearize_violations(
            violated.labels, violated.slacks, violated.weights, violated.offsets
        )

    def linearize_violations(self, labels, slacks, weights, offsets) -> Linearization:
        """The linearization of these violations."""
        v = self.weights
        if v is not None:
            slacks, weights, offsets = v * slacks, v * weights, v * offsets
        return Linearization(float(slacks.sum()), Labelling(labels, weights), float(offsets.sum()))

    def along(self, s, e, known: Linearization) -> SequenceLine:
        """R on the line s + t e, t >= 0; `known` is its linearization at s."""
        return SequenceLine(self, s, e, known)

    def rates(self, labels, e) -> NDArray:
        """(n,) score(labels_n) - score(y_n) at scores e."""
        rates = np.empty(self.chains.n_sequences)
        chain.rates(self.chains, labels, e, rates)
        return rates


class SequenceLine:
    """R at the scores s + t e."""

    def __init__(self, risk: SequenceSum, s, e, known: Linearization):
        self._risk, self._s, self._e, self._known = risk, s, e, known

    def at(self, t: float) -> tuple[float, float, Linearization]:
        """R, its slope in t, and the linearization."""
        slope, cut = self._linearize(t) if t else (self._slope(self._known), self._known)
        return cut.value, slope, cut

    def _linearize(self, t: float) -> tuple[float, Linearization]:
        cut = self._risk.linearize(self._s + t * self._e)
        return self._slope(cut), cut

    def _slope(self, cut: Linearization) -> float:
        return float(cut.coef.weights @ self._risk.rates(cut.coef.labels, self._e))


class ChainRisk(SequenceSum):
    """The structured hinge of chains. `beam` is the number of states kept per token, 0 for all;
    `weights` are those of the sequences, None for 1 each."""

    def __init__(
        self, chains: chain.Chains, beam: int = 0, threads: int = 1, weights: NDArray | None = None
    ):
        super().__init__(chains, weights)
        self._beam, self._threads = beam, threads
        self._n_nodes = chains.n_tokens * chains.node_size
        self._w = np.zeros(chains.dim)  # of which only the transitions are read

    def violations(self, s) -> Violations:
        chains = self.chains
        self._w[chains.emissions :] = s[self._n_nodes :]
        labels = np.empty(chains.n_tokens, np.int32)
        slacks, losses = np.empty(chains.n_sequences), np.empty(chains.n_sequences)
        chain.argmax(
            chains, self._w, s, chain.HAMMING, self._beam, labels, slacks, losses, self._threads
        )
        return Violations(labels, slacks, np.ones(chains.n_sequences), losses)

    def along(self, s, e, known: Linearization) -> ChainLine:
        return ChainLine(self, s, e, known, self._beam, self._threads)


class LineLabels(NamedTuple):
    """The most violated labellings at a step t of a line, their slacks (n,) and the slopes of these
    in t."""

    t: float
    labels: NDArray
    slacks: NDArray
    rates: NDArray


class ChainLine(SequenceLine):
    """The structured hinge of chains on a line; the scores are not formed.

    The slack of a sequence is convex in t and linear for one labelling: between two steps with the
    same most violated labelling no other one exists, and none is searched. With a beam, which may
    miss a labelling, that holds for the labelling it finds.
    """

    def __init__(self, risk: ChainRisk, s, e, known: Linearization, beam: int, threads: int):
        super().__init__(risk, s, e, known)
        self._beam, self._threads = beam, threads
        self._places: list[LineLabels] = []  # by t

    def _linearize(self, t: float) -> tuple[float, Linearization]:
        chains = self._risk.chains
        k = bisect(self._places, t, key=lambda place: place.t)
        above = self._places[k] if k < len(self._places) else None
        below = self._places[k - 1].labels if k else self._known.coef.labels
        labels, losses = np.empty(chains.n_tokens, np.int32), np.empty(chains.n_sequences)
        here = LineLabels(t, labels, np.empty(chains.n_sequences), np.empty(chains.n_sequences))
        chain.line(
            chains,
            self._s,
            self._e,
            t,
            self._beam,
            labels,
            here.slacks,
            losses,
            here.rates,
            self._threads,
            below,
            above,
        )
        self._places.insert(k, here)
        v = self._risk.weights
        rate = float(here.rates.sum() if v is None else (v * here.rates).sum())
        return rate, self._risk.linearize_violations(
            labels, here.slacks, np.ones(chains.n_sequences), losses
        )


class CountedRisk(SequenceSum):
    """Slack rescaling, zero/one loss and squared slack of chains.

        slack rescaling   H_n = max_y Delta(y_n, y) (1 + score_s(y) - score_s(y_n))
        zero/one loss     H_n = max_(y != y_n) 1 + score_s(y) - score_s(y_n), and at least 0
        squared slack     H_n^2 in place of H_n, with sqrt(Delta) for Delta:
                          H_n(s')^2 >= 2 H_n(s) H_n(s') - H_n(s)^2

    With Delta = 1 for every mistake margin and slack rescaling are the same. All are maxima over
    the number k of wrong tags (at most 1 for the zero/one loss) of losses[k] + prices[k] (score -
    right score); csrc/chain/chain_counts.cc finds the best labelling for every k. At transition
    order 1 that is O(T^2 K^2) time and T^2 K numbers for a sequence of T tokens, and twice
    Viterbi's recursion with the zero/one loss. The root makes H_n^2 a bound of Delta
    (Tsochantaridis et al., JMLR 2005, section 2.2).

    sum_n of the largest losses[k] + prices[k] (score_s(y) - score_s(y_n)) over y with k >= 1
    wrong tags, at least 0. `losses` and `prices` (most + 1,) count wrong tags up to most; `weights`
    are those of the sequences, None for 1 each.
    """

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
