# SPDX-License-Identifier: BSD-3-Clause
"""The structured hinge of chains as a risk of scores.

    R(s) = sum_n max_y [score_s(y) + Delta(y_n, y)] - score_s(y_n)        Delta = wrong tags

s as svmcut.spaces.chain lays it out. Its most violated labellings are found by Viterbi's recursion, O(tokens K^2) at
transition order 1. Other losses and slacks of chains are in svmcut.risks.chain_scaled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from svmcut._native import chain
from svmcut.data import Labelling
from svmcut.risks.protocol import Linearization

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Violations(NamedTuple):
    """The most violated labelling of every sequence, and what it says of H_n, the sequence's part of the risk.

    Attributes
    ----------
    labels : (tokens,) int32
    slacks : (n,) float64
        H_n at these scores.
    weights, offsets : (n,) float64
        At any scores H_n >= offsets[n] + weights[n] (score(labels_n) - score(y_n)), with equality at these.
    """

    labels: NDArray
    slacks: NDArray
    weights: NDArray
    offsets: NDArray


class SequenceSum:
    """A BoundRisk R = sum_n H_n whose parts are told by `violations`.

    The coefficients of its linearizations are a Labelling.

    Parameters
    ----------
    chains : chain.Chains
        Sequences and their right tags.
    """

    def __init__(self, chains: chain.Chains):
        self.chains = chains

    def violations(self, s) -> Violations:
        """At scores s."""
        raise NotImplementedError

    def linearize(self, s) -> Linearization:
        """Value, coefficients and offset at scores s."""
        found = self.violations(s)
        coef = Labelling(found.labels, found.weights)
        return Linearization(float(found.slacks.sum()), coef, float(found.offsets.sum()))

    def along(self, s, e, t: float, known: Linearization | None = None):
        """R and its slope in t at the scores s + t e, these scores and the linearization there; known: that one."""
        here = s + t * e if t else s
        cut = known or self.linearize(here)
        return cut.value, float(cut.coef.weights @ self.rates(cut.coef.labels, e)), here, cut

    def rates(self, labels, e) -> NDArray:
        """(n,) score(labels_n) - score(y_n) at scores e."""
        rates = np.empty(self.chains.n_sequences)
        chain.rates(self.chains, labels, e, rates)
        return rates


class ChainRisk(SequenceSum):
    """The risk of the module's head.

    Parameters
    ----------
    chains : chain.Chains
    beam : int
        States kept a token, 0 for all.
    threads : int
    """

    def __init__(self, chains: chain.Chains, beam: int = 0, threads: int = 1):
        super().__init__(chains)
        self._beam, self._threads = beam, threads
        self._n_nodes = chains.n_tokens * chains.node_size
        self._w = np.zeros(chains.dim)  # of which only the transitions are read

    def violations(self, s) -> Violations:
        chains = self.chains
        self._w[chains.emissions :] = s[self._n_nodes :]
        labels = np.empty(chains.n_tokens, np.int32)
        slacks, losses = np.empty(chains.n_sequences), np.empty(chains.n_sequences)
        chain.argmax(chains, self._w, s, chain.HAMMING, self._beam, labels, slacks, losses, self._threads)
        return Violations(labels, slacks, np.ones(chains.n_sequences), losses)

    def along(self, s, e, t: float, known: Linearization | None = None):
        """As told, but where the linearization is not known, None stands for it and for the scores s + t e."""
        if known is not None:
            return super().along(s, e, t, known)
        chains = self.chains
        labels = np.empty(chains.n_tokens, np.int32)
        slacks, rates = np.empty(chains.n_sequences), np.empty(chains.n_sequences)
        chain.line(chains, s, e, t, self._beam, labels, slacks, rates, self._threads)
        return float(slacks.sum()), float(rates.sum()), None, None
