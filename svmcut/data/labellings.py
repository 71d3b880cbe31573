# SPDX-License-Identifier: BSD-3-Clause
"""Labellings of chains as coefficients of scores.

Scores of a chain are one row of `stride` numbers per token, one number per tag, followed by the
transitions:

    score(y) = sum_t s[t, y_t] + sum_{j=1..order} V_j[y_(t-j), ..., y_t]

They are linear in s, so that the difference of two labellings is a sparse vector of coefficients.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native import chain, sparse
from svmcut.base.typing import NamedTuple
from svmcut.data.examples import Csr, Sequences
from svmcut.spec import schemas


class Labelling(NamedTuple):
    """Tags and a weight of every sequence: a compact form of coefficients of scores, almost all of
    which are 0."""

    #: (tokens,) tags.
    labels: NDArray[np.int32]
    #: (n,) sequence n stands for weights[n] (score of its labels - score of its right tags).
    weights: NDArray[np.float64]

    @staticmethod
    def kind(tokens: int, n_tags: int, sequences: int) -> schemas.Check:
        """Return the check of a labelling in a state."""
        labels = schemas.array(np.int32, tokens, low=0, high=n_tags - 1)
        return schemas.instance(Labelling, labels=labels, weights=schemas.reals(sequences))


def featureless_chains(
    sequences: NDArray[np.int64],
    tags: NDArray[np.int32],
    n_tags: int,
    stride: int,
    transition_order: int,
) -> chain.Chains:
    """Return sequences of tokens without features with their right tags: the weights are the
    transitions."""
    n = len(tags)
    tokens = Csr(np.zeros(0, np.float32), np.zeros(0, np.int32), np.zeros(n + 1, np.int64), 0, True)
    return chain.Chains(
        sparse.Rows(tokens), sequences, tags, 0, n_tags, stride, transition_order, 0
    )


class Labellings:
    """Labellings of given sequences in contrast to the right ones, at emission order 0.

    The features of the sequences are not read; `stride` is the row length of scores, see
    models.ChainShape.
    """

    def __init__(self, sequences: Sequences, n_tags: int, stride: int, transition_order: int):
        #: Chains without features, see `featureless_chains`.
        self.chains = featureless_chains(
            sequences.indptr, sequences.tags, n_tags, stride, transition_order
        )
        self.gold, self.stride = sequences.tags, stride
        self.lengths = np.diff(sequences.indptr)
        #: Number of scores of tokens.
        self.n_nodes = len(sequences.tags) * stride
        #: Number of scores of tokens and transitions.
        self.dim = self.n_nodes + self.chains.dim

    def coefficients(self, labelling: Labelling) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the places of scores (m,), increasing, and the coefficients (m,) of sum_n
        weights[n] (score(labels_n) - score(right_n)).

        There are two per wrong token whose sequence has a weight, and the transitions whose counts
        differ.
        """
        labels, weights = labelling
        weight = np.repeat(weights, self.lengths)
        tokens = np.flatnonzero((labels != self.gold) & (weight != 0))
        other, right = labels[tokens], self.gold[tokens]
        pair = np.column_stack([np.minimum(other, right), np.maximum(other, right)])
        sign = np.where(other < right, 1.0, -1.0) * weight[tokens]
        transitions = np.zeros(self.chains.dim)
        chain.joint(self.chains, labels, -weights, transitions)
        behind = np.flatnonzero(transitions)
        places = np.concatenate(
            [(tokens[:, None] * self.stride + pair).ravel(), self.n_nodes + behind]
        )
        return places, np.concatenate([np.column_stack([sign, -sign]).ravel(), transitions[behind]])
