# SPDX-License-Identifier: BSD-3-Clause
"""Slow truths of classes by machines of two on kernel values, from the definitions; y from 0."""

import numpy as np

from reference import kernel as two


def sides(y, K, paired):
    """(rows, signs) of every machine: class a above 0 and b below for a < b, or class k against the
    rest."""
    if not paired:
        return [(np.arange(len(y)), np.where(y == k, 1.0, -1.0)) for k in range(K)]
    found = []
    for a in range(K):
        for b in range(a + 1, K):
            rows = np.flatnonzero((y == a) | (y == b))
            found.append((rows, np.where(y[rows] == a, 1.0, -1.0)))
    return found


def optima(kernel, X, y, K, C, paired, free_bias, v=None):
    """The minimum of every machine."""
    G, v = two.matrix(kernel, X, X), np.ones(len(y)) if v is None else v
    return [
        two.maximum(G[np.ix_(rows, rows)], signs, C * v[rows], free_bias)[0]
        for rows, signs in sides(y, K, paired)
    ]


def decisions(model, X):
    """(n, M) sums of a model at dense rows."""
    values = two.matrix(model.kernel, X, model.support.to_dense())
    return np.column_stack(
        [
            values[:, model.places[a:b]] @ model.alpha[a:b] - threshold
            for a, b, threshold in zip(model.starts[:-1], model.starts[1:], model.b, strict=True)
        ]
    )


def votes(f, K):
    """(n, K): a decision above 0 is a vote for the first class of its pair, any other for the
    second."""
    found = np.zeros((len(f), K))
    for i, row in enumerate(f):
        pairs = ((a, b) for a in range(K) for b in range(a + 1, K))
        for value, (a, b) in zip(row, pairs, strict=True):
            found[i, a if value > 0 else b] += 1
    return found
