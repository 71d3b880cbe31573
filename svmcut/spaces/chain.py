# SPDX-License-Identifier: BSD-3-Clause
"""The space of chains: weights on one side, scores of tokens and of transitions on the other.

    scores(w) = (W[k].x_t for every token t and tag k, V)        adjoint its transpose

Viterbi's recursion needs no more than these, so a chain machine is a convex risk of scores like any other, and every
trainer that knows risks and spaces knows chains.
"""

from __future__ import annotations

import numpy as np

from svmcut._native import chain
from svmcut.spaces.linear import LinearSpace


class ChainSpace(LinearSpace):
    """Scores of the tokens of sequences.

    Parameters
    ----------
    X : Csr
        (tokens, D)
    chains : chain.Chains
        The same tokens as sequences, with the layout of the weights.
    threads : int

    Attributes
    ----------
    n_nodes : int
        Numbers in front of the scores that belong to tokens; the weights of the transitions follow.
    """

    def __init__(self, X, chains: chain.Chains, threads: int = 1):
        super().__init__(X, 0.0, threads)
        self.chains, self.dim = chains, chains.dim
        self.n_nodes = chains.n_tokens * chains.node_size

    def scores(self, w):
        """(n_nodes + transitions,); O(nonzeros K)."""
        transitions = w[self.chains.emissions :]
        s = np.empty(self.n_nodes + len(transitions))
        chain.nodes(self.chains, w, s, self.threads)
        s[self.n_nodes :] = transitions
        return s

    def adjoint(self, coef):
        """(dim,); O(tokens K), and the nonzeros of tokens with a coefficient."""
        a = np.zeros(self.dim)
        chain.adjoint(self.chains, coef, a)
        a[self.chains.emissions :] = coef[self.n_nodes :]
        return a
