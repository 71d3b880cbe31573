# SPDX-License-Identifier: BSD-3-Clause
"""Chains with kernel emissions by enumeration: coefficients of labellings, their products, and the
optimum."""

import itertools

import numpy as np
from scipy.optimize import minimize

from reference import chain
from svmcut.models import ChainShape


def coefficients(sequences, labels, shape):
    """(tokens stride + transitions,) of score(labels) - score(right): joint features where token t
    is feature t."""
    tokens = sequences.X.n_rows
    unit = ChainShape(shape.n_tags, tokens, shape.transition_order)
    total = np.zeros(unit.dim)
    for n in range(len(sequences)):
        part = slice(sequences.indptr[n], sequences.indptr[n + 1])
        x = np.eye(tokens)[part]
        total += chain.joint_feature(x, labels[part], unit)
        total -= chain.joint_feature(x, sequences.tags[part], unit)
    return total


def scores(K, coef, stride):
    """Scores at all places of the element with these coefficients; K: (tokens, tokens)."""
    n = len(K)
    out = coef.copy()
    out[: n * stride] = (K @ coef[: n * stride].reshape(n, stride)).ravel()
    return out


def minimum(K, sequences, shape, C):
    """min 1/2 |f|^2 + C sum_n H_n, by its dual over all labellings of every sequence."""
    rows, losses, groups = [], [], []
    for n in range(len(sequences)):
        first, last = sequences.indptr[n], sequences.indptr[n + 1]
        for y in itertools.product(range(shape.n_tags), repeat=int(last - first)):
            labels = sequences.tags.copy()
            labels[first:last] = y
            rows.append(coefficients(sequences, labels, shape))
            losses.append(np.count_nonzero(labels != sequences.tags))
            groups.append(n)
    A, b, groups = np.array(rows), np.array(losses, float), np.array(groups)
    H = C * A @ np.array([scores(K, a, shape.stride) for a in A]).T
    member = (groups[None, :] == np.arange(len(sequences))[:, None]).astype(float)
    found = minimize(
        lambda q: (0.5 * q @ H @ q - b @ q, H @ q - b),
        1 / member.sum(1)[groups],
        jac=True,
        bounds=[(0, None)] * len(b),
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 2000},
        constraints={"type": "eq", "fun": lambda q: member @ q - 1, "jac": lambda q: member},
    )
    return -C * found.fun
