# SPDX-License-Identifier: BSD-3-Clause
"""Spaces of structures on features: chains of tags and sets of labels."""

from __future__ import annotations

import numpy as np

from svmcut._native import chain, multilabel
from svmcut.data.labellings import Labelling
from svmcut.spaces.linear import LinearSpace
from svmcut.spec import schemas


class ChainSpace(LinearSpace):
    """The space of chains: weights on one side, scores of tokens and of transitions on the other.

        scores(w) = (W[k].x_t for every token t and tag k, V)

    Viterbi's recursion needs only these, so a chain machine is a convex risk of scores like any
    other. Coefficients of scores, nearly all 0, are given as the labels they come from; see
    svmcut.data.labellings.Labelling.

    Scores of the tokens of sequences; X (tokens, D) has the rows of `chains`, which also holds
    the layout of the weights.
    """

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


class LabelSpace(LinearSpace):
    """The space of label sets: weights on one side, scores of labels and weights of pairs on the
    other.

        scores(w) = (W[k].(x_n, bias) for every row n and label k, v)        adjoint its transpose

    The relaxed argmax needs only these, so a machine of label sets is a convex risk of scores like
    any other.

    Scores of the K labels of rows X (n, d), then `n_pairs` weights of pairs.
    """

    def __init__(self, X, n_labels: int, n_pairs: int, bias: float = 0.0, threads: int = 1):
        super().__init__(X, bias, threads)
        self._shape = (self.dim, n_labels)
        self._n_weights = self.dim * n_labels
        self.dim = self._n_weights + n_pairs

    def kinds(self) -> schemas.Kinds:
        w = schemas.weights(self.dim)
        s = schemas.reals(self.X.n_rows * self._shape[1] + self.dim - self._n_weights)
        return schemas.Kinds(w, self._normals(w), s, s)

    def scores(self, w, out=None):
        """(n K + pairs,) scores, in `out` if given, which takes no pairs; O(nonzeros K)."""
        W = np.ascontiguousarray(w[: self._n_weights]).reshape(self._shape)
        weights = multilabel.Weights(W, None, self.bias)
        if out is not None:
            out = out.reshape(self.X.n_rows, self._shape[1])
        nodes = multilabel.scores(self.rows, weights, self.threads, out)
        pairs = w[self._n_weights :]
        return np.concatenate([nodes.ravel(), pairs]) if len(pairs) else nodes.ravel()

    def scores_of(self, W):
        """(n, k) scores of the weights (dim, k) of some labels."""
        weights = multilabel.Weights(np.ascontiguousarray(W), None, self.bias)
        return multilabel.scores(self.rows, weights, self.threads)

    def adjoint(self, coef, out=None):
        """(dim,) weights, in `out` if given, which takes no pairs; O(n K), and K times the nonzeros
        of rows with a coefficient."""
        n = self.X.n_rows
        nodes = np.ascontiguousarray(coef[: n * self._shape[1]]).reshape(n, self._shape[1])
        used = np.flatnonzero(nodes.any(axis=1))
        if out is None:
            W = np.zeros(self._shape)
        else:
            out[:] = 0.0
            W = out.reshape(self._shape)
        own = nodes if len(used) == n else nodes[used]
        multilabel.adjoint(self.rows, used, own, self.bias, W, self.threads)
        pairs = coef[nodes.size :]
        return np.concatenate([W.ravel(), pairs]) if len(pairs) else W.ravel()

    should_keep_coefficients = False

    def keep(self, a, coef, scores=None):
        """The normal itself: LinearSpace keeps one coefficient a row, not one a label."""
        return self.without_zeros(a)
