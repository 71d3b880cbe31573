# SPDX-License-Identifier: BSD-3-Clause
"""Labellings of chains as coefficients of scores.

Scores of a chain are one row of `stride` numbers a token, one number a tag, and the transitions
behind them:

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
    """Tags of all sequences and a weight for each: in place of coefficients of scores, all but a
    few of which are 0.

    Attributes
    ----------
    labels : (tokens,) int32
    weights : (n,) float64
        Sequence n stands for weights[n] (score of its labels - score of its right tags).
    """

    labels: NDArray[np.int32]
    weights: NDArray[np.float64]

    @staticmethod
    def kind(tokens: int, n_tags: int, sequences: int) -> schemas.Check:
        """What a state may hold as one."""
        labels = schemas.array(np.int32, tokens, low=0, high=n_tags - 1)
        return schemas.instance(Labelling, labels=labels, weights=schemas.reals(sequences))


def featureless_chains(
    sequences: NDArray[np.int64],
    tags: NDArray[np.int32],
    n_tags: int,
    stride: int,
    transition_order: int,
) -> chain.Chains:
    """Sequences as tokens without features, their tags the right ones: the weights are the
    transitions."""
    n = len(tags)
    tokens = Csr(np.zeros(0, np.float32), np.zeros(0, np.int32), np.zeros(n + 1, np.int64), 0, True)
    return chain.Chains(
        sparse.Rows(tokens), sequences, tags, 0, n_tags, stride, transition_order, 0
    )


class Labellings:
    """Labellings of given sequences beside the right ones, at emission order 0.

    Parameters
    ----------
    sequences : Sequences
        Of whose tokens no feature is read.
    n_tags : int
    stride : int
        Numbers in a row of scores; see models.ChainShape.
    transition_order : int

    Attributes
    ----------
    chains : chain.Chains
        Of `featureless_chains`.
    n_nodes, dim : int
        Scores of tokens, and of tokens and transitions.
    """

    def __init__(self, sequences: Sequences, n_tags: int, stride: int, transition_order: int):
        self.chains = featureless_chains(
            sequences.indptr, sequences.tags, n_tags, stride, transition_order
        )
        self.gold, self.stride = sequences.tags, stride
        self.lengths = np.diff(sequences.indptr)
        self.n_nodes = len(sequences.tags) * stride
        self.dim = self.n_nodes + self.chains.dim

    def coefficients(self, labelling: Labelling) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Places of scores, increasing, and the coefficients of sum_n weights[n] (score(labels_n) -
        score(right_n)).

        Returns
        -------
        (m,) int64, (m,) float64
            Two a wrong token whose sequence weighs something, and the transitions whose counts
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
