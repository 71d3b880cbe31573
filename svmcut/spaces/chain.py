# SPDX-License-Identifier: BSD-3-Clause
"""The space of chains: weights on one side, scores of tokens and of transitions on the other.

    scores(w) = (W[k].x_t for every token t and tag k, V)

Viterbi's recursion needs only these, so a chain machine is a convex risk of scores like any other.
Coefficients of scores, nearly all 0, are given as the labels they come from; see
svmcut.data.labellings.Labelling.
"""

from __future__ import annotations

import numpy as np

from svmcut._native import chain
from svmcut.data.labellings import Labelling
from svmcut.spaces.linear import LinearSpace
from svmcut.spec import schemas


class ChainSpace(LinearSpace):
    """Scores of the tokens of sequences; X (tokens, D) has the rows of `chains`, which also holds
    the layout of the weights."""

    def __init__(self, X, chains: chain.Chains, threads: int = 1):
        super().__init__(X, 0.0, threads)
        self.chains, self.dim = chains, chains.dim
        #: Scores that belong to tokens; the weights of the transitions follow them.
        self.n_nodes = chains.n_tokens * chains.node_size

    def kinds(self) -> schemas.Kinds:
        """See LinearSpace.kinds; coefficients are labellings."""
        chains, w = self.chains, schemas.weights(self.dim)
        scores = schemas.reals(self.n_nodes + chains.dim - chains.emissions)
        coef = Labelling.kind(chains.n_tokens, chains.n_tags, chains.n_sequences)
        return schemas.Kinds(w, self._normals(w), scores, coef)

    def scores(self, w):
        """(n_nodes + transitions,) scores; O(nonzeros K)."""
        transitions = w[self.chains.emissions :]
        s = np.empty(self.n_nodes + len(transitions))
        chain.nodes(self.chains, w, s, self.threads)
        s[self.n_nodes :] = transitions
        return s

    def adjoint(self, coef):
        """(dim,) sum_n weights[n] (Psi(labels_n) - Psi(right)) of a Labelling; reads only tokens
        with a wrong tag."""
        a = np.zeros(self.dim)
        chain.joint(self.chains, coef.labels, -coef.weights, a)
        return a

    should_keep_coefficients = False

    def keep(self, a, coef, scores=None):
        """The normal itself: a bundle cannot compute with labels."""
        return self.without_zeros(a)
