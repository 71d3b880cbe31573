# SPDX-License-Identifier: BSD-3-Clause
"""The structured hinge of chains as a risk of scores.

    R(s) = sum_n v_n (max_y [score_s(y) + Delta(y_n, y)] - score_s(y_n))        Delta = wrong tags

v_n is 1 without weights; s as svmcut.spaces.chain lays it out. Its most violated labellings are
found by Viterbi's recursion, O(tokens K^2) at transition order 1. Other losses and slacks of chains
are in svmcut.risks.chain_scaled.
"""

from __future__ import annotations

from bisect import bisect

import numpy as np

from svmcut._native import chain
from svmcut.base.typing import TYPE_CHECKING, NamedTuple
from svmcut.data.labellings import Labelling
from svmcut.risks.protocol import Linearization
from svmcut.risks.weights import example_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Violations(NamedTuple):
    """The most violated labelling of every sequence, and what it says of H_n, the sequence's part
    of the risk.

    Attributes
    ----------
    labels : (tokens,) int32
    slacks : (n,) float64
        H_n at these scores.
    weights, offsets : (n,) float64
        At any scores H_n >= offsets[n] + weights[n] (score(labels_n) - score(y_n)), with equality
        at these.
    """

    labels: NDArray
    slacks: NDArray
    weights: NDArray
    offsets: NDArray


class SequenceSum:
    """A BoundRisk R = sum_n v_n H_n whose parts H_n are told by `violations`.

    The coefficients of its linearizations are a Labelling.

    Parameters
    ----------
    chains : chain.Chains
        Sequences and their right tags.
    weights : (n,) float64 or None
        v, of the sequences; None for 1 each.
    """

    def __init__(self, chains: chain.Chains, weights: NDArray | None = None):
        self.chains, self.weights = chains, example_weights(weights, chains.n_sequences)

    def violations(self, s) -> Violations:
        """At scores s."""
        raise NotImplementedError

    def linearize(self, s) -> Linearization:
        """Value, coefficients and offset at scores s."""
        violated = self.violations(s)
        return self.weighted(violated.labels, violated.slacks, violated.weights, violated.offsets)

    def weighted(self, labels, slacks, weights, offsets) -> Linearization:
        """The linearization of what `violations` tells."""
        v = self.weights
        if v is not None:
            slacks, weights, offsets = v * slacks, v * weights, v * offsets
        return Linearization(float(slacks.sum()), Labelling(labels, weights), float(offsets.sum()))

    def along(self, s, e, known: Linearization) -> SequenceLine:
        """R on the line s + t e, t >= 0; known: its linearization at s."""
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
    """The risk of the module's head.

    Parameters
    ----------
    chains : chain.Chains
    beam : int
        States kept a token, 0 for all.
    threads : int
    weights : (n,) float64 or None
        Of the sequences; None for 1 each.
    """

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
    """The most violated labellings at a place of a line, their slacks (n,) and what those grow with
    t."""

    t: float
    labels: NDArray
    slacks: NDArray
    rates: NDArray


class ChainLine(SequenceLine):
    """Of the risk of the module's head; the scores are not formed.

    The slack of a sequence is convex in t and linear for one labelling: between two places where a
    sequence has the same most violated labelling there is no other, and none is searched. A beam,
    which may miss a labelling at one place, is taken at its word there too.
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
        return rate, self._risk.weighted(labels, here.slacks, np.ones(chains.n_sequences), losses)
