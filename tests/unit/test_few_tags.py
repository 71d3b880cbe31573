# SPDX-License-Identifier: BSD-3-Clause
"""Decoding of many tags leaves previous tags out that cannot be the best: scores and labels are
those of all of them, also at ties, where nothing can be left out, and with scores of -infinity."""

import itertools

import numpy as np
import pytest

from svmcut._native import chain, sparse
from svmcut.data.examples import Csr
from svmcut.models import ChainShape


def decoded(nodes, V, lengths):
    """Labels and scores of svmcut_chain_argmax for (tokens, K) and (K, K)."""
    n, K = nodes.shape
    shape = ChainShape(K, 0)
    padded, W = np.zeros((n, shape.stride)), np.zeros((K, shape.stride))
    padded[:, :K], W[:, :K] = nodes, V
    rows = Csr(np.zeros(0, np.float32), np.zeros(0, np.int32), np.zeros(n + 1, np.int64), 0, True)
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    tags = np.zeros(n, np.int32)
    chains = chain.Chains(sparse.Rows(rows), bounds, tags, 0, K, shape.stride, 1, 0)
    labels, values = np.empty(n, np.int32), np.empty(len(lengths))
    how = chains, W.ravel(), padded.ravel(), chain.DECODE, 0
    chain.argmax(*how, labels, values, np.empty_like(values), 1)
    return labels, values


def slow(nodes, V):
    """Viterbi over all previous tags; the lowest of equal ones."""
    value, back = nodes[0], []
    for node in nodes[1:]:
        all_pairs = value[:, None] + V
        back.append(all_pairs.argmax(axis=0))
        value = all_pairs.max(axis=0) + node
    labels = [int(value.argmax())]
    for places in reversed(back):
        labels.append(int(places[labels[-1]]))
    return labels[::-1], value.max()


@pytest.mark.parametrize("K", [32, 45, 100])
@pytest.mark.parametrize("spread", [0.0, 0.3, 3.0, 30.0])
def test_the_labels_are_those_of_all_previous_tags(rng, K, spread):
    lengths = [1, 2, 9, 6]
    nodes, V = spread * rng.normal(size=(18, K)), np.where(rng.random((K, K)) < 0.1, 1.5, 0.0)
    V += 0.2 * rng.normal(size=(K, K)) * (rng.random() < 0.5)
    nodes[::3] = np.round(nodes[::3])
    nodes[4, 1:] = -np.inf
    V[5] = -np.inf
    labels, values = decoded(nodes, V, lengths)
    ends = np.cumsum([0, *lengths])
    for k, (a, b) in enumerate(itertools.pairwise(ends)):
        expected, value = slow(nodes[a:b], V)
        assert labels[a:b].tolist() == expected and values[k] == value


@pytest.mark.parametrize("K", [64, 130])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.12])
def test_transitions_of_which_few_weigh_anything_are_all_thought_of(rng, K, share):
    """Also where no tag without a weight is at hand, and at ties."""
    lengths = [6, 7, 30]
    nodes = np.round(2 * rng.normal(size=(43, K)))
    V = np.where(rng.random((K, K)) < share, np.round(3 * rng.normal(size=(K, K))), 0.0)
    V[:12, 3], V[9, 5:9], nodes[20, :12] = -1.0, -np.inf, 9.0
    labels, values = decoded(nodes, V, lengths)
    for k, (a, b) in enumerate(itertools.pairwise(np.cumsum([0, *lengths]))):
        expected, value = slow(nodes[a:b], V)
        assert labels[a:b].tolist() == expected and values[k] == value
