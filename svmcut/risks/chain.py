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
    """A BoundRisk.

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
        """Value, subgradient and offset at scores s."""
        chains = self._chains
        self._w[chains.emissions :] = s[self._n_nodes :]
        labels = np.empty(chains.n_tokens, np.int32)
        slacks, losses = np.empty(chains.n_sequences), np.empty(chains.n_sequences)
        chain.argmax(chains, self._w, s, chain.HAMMING, self._beam, labels, slacks, losses, self._threads)
        coef = np.zeros(len(s))
        chain.joint_scores(chains, labels, np.full(chains.n_sequences, -1.0), coef)
        return Linearization(float(slacks.sum()), coef, float(losses.sum()))
