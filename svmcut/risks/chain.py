# SPDX-License-Identifier: BSD-3-Clause
"""The structured hinge of chains as a risk of scores.

    R(s) = sum_n max_y [score_s(y) + Delta(y_n, y)] - score_s(y_n)        Delta = wrong tags

s as svmcut.spaces.chain lays it out. Its most violated labellings are found by Viterbi's recursion, O(tokens K^2) at
transition order 1.
"""

from __future__ import annotations

import numpy as np

from svmcut._native import chain
from svmcut.risks.protocol import Linearization


class ChainRisk:
    """A BoundRisk, but for the coefficients of its linearizations: the (tokens,) int32 labels stand for them.

    Of the scores' coefficients all but two a wrong tag would be 0; ChainSpace.adjoint knows what labels mean.

    Parameters
    ----------
    chains : chain.Chains
        Sequences and their right tags.
    beam : int
        States kept a token, 0 for all.
    threads : int
    """

    def __init__(self, chains: chain.Chains, beam: int = 0, threads: int = 1):
        self._chains, self._beam, self._threads = chains, beam, threads
        self._n_nodes = chains.n_tokens * chains.node_size
        self._w = np.zeros(chains.dim)  # of which only the transitions are read

    def linearize(self, s) -> Linearization:
        """Value, labels and offset at scores s."""
        chains = self._chains
        self._w[chains.emissions :] = s[self._n_nodes :]
        labels = np.empty(chains.n_tokens, np.int32)
        slacks, losses = np.empty(chains.n_sequences), np.empty(chains.n_sequences)
        chain.argmax(chains, self._w, s, chain.HAMMING, self._beam, labels, slacks, losses, self._threads)
        return Linearization(float(slacks.sum()), labels, float(losses.sum()))

    def along(self, s, e, t: float, known: Linearization | None = None) -> tuple[float, float]:
        """R and its slope in t at the scores s + t e, which are not formed; known: the linearization there."""
        chains = self._chains
        if known is not None:
            return known.value, chain.slope(chains, known.coef, e)
        labels = np.empty(chains.n_tokens, np.int32)
        slacks, rates = np.empty(chains.n_sequences), np.empty(chains.n_sequences)
        chain.line(chains, s, e, t, self._beam, labels, slacks, rates, self._threads)
        return float(slacks.sum()), float(rates.sum())
