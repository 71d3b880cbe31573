# SPDX-License-Identifier: BSD-3-Clause
"""Labels of like rows side by side: a tree of clusters, halved again and again.

    a label     the unit vector along the sum of its rows, of which the largest values are kept
    a halving   balanced 2-means: the labels in the order of their products with the difference of
                both means, the first half of them here, the others there, until the sum of the
                cosines with the means rises no more

Prabhu, Kag, Harsola, Agrawal and Varma, WWW 2018 (Parabel), section 4; there a node has two
children. Here as many halvings as 64 children take are one node.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from svmcut._native import label_index, sparse
from svmcut.base.typing import NamedTuple
from svmcut.data.examples import Csr

#: Children of a node at most; halvings that take so many.
WIDEST, HALVINGS = 64, 6
#: Values that are kept of a label.
KEPT = 512
#: Rounds of a halving, and the rise of the sum of cosines, part of it, that is worth another.
ROUNDS, WORTH = 20, 1e-4


class LabelTree(NamedTuple):
    """Nodes, level after level, and what their children are.

    Attributes
    ----------
    first : (J + 1,) int64
        Node j has the children first[j] to first[j + 1].
    leads : (M,) int64
        The node that a child is; of a label at place k, ~k.
    """

    first: NDArray[np.int64]
    leads: NDArray[np.int64]

    def parents(self) -> NDArray[np.int64]:
        """(J,) the child that is each node; -1 of the root."""
        above = np.full(len(self.first) - 1, -1, np.int64)
        inner = np.flatnonzero(self.leads >= 0)
        above[self.leads[inner]] = inner
        return above


def in_use(X: Csr) -> tuple[Csr, NDArray[np.int32]]:
    """Rows on the columns that they have, and those columns; O(nonzeros + features), without
    sorting where rows are many."""
    if X.n_features > 16 * X.nnz:
        Z, columns = X.compact(always=True)
        assert columns is not None
        return Z, columns.astype(np.int32)
    there = np.zeros(X.n_features, bool)
    there[X.indices] = True
    columns = np.flatnonzero(there).astype(np.int32)
    places = np.cumsum(there, dtype=np.int32) - 1
    return Csr(X.data, places[X.indices], X.indptr, len(columns), X.proven), columns


def mean_rows(X: Csr, bounds: NDArray[np.int64], rows: NDArray[np.int32], threads: int = 1) -> Csr:
    """(K, d) unit vectors along the sums of the rows of labels, which are on at rows[bounds[k] :
    bounds[k + 1]]."""
    columns, values, sizes = label_index.sums(sparse.Rows(X), bounds, rows, KEPT, threads)
    used = np.arange(columns.shape[1]) < sizes[:, None]
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Csr(values[used], columns[used], indptr, X.n_features, True)


def halved(V: Csr, seed: list[int]) -> NDArray[np.bool_]:
    """(K,) which of the labels are in the first half, of one more where they are odd."""
    V, _ = in_use(V)
    rows, K = sparse.Rows(V), V.n_rows
    pair = np.random.default_rng(seed).choice(K, 2, replace=False)
    side = np.zeros(K)
    side[pair] = 1.0, -1.0
    first, reached = np.zeros(K, bool), -1.0
    sums, scores = np.zeros((2, V.n_features)), np.zeros(K)
    difference = np.zeros(V.n_features)
    sparse.adjoint(rows, side, difference)
    for _ in range(ROUNDS):
        sparse.scores(rows, difference, 0.0, scores, 1)
        here = np.zeros(K, bool)
        here[np.argsort(-scores, kind="stable")[: (K + 1) // 2]] = True
        sums[:] = 0
        for total, half in zip(sums, (here, ~here), strict=True):
            sparse.adjoint(rows, half.astype(np.float64), total)
        norms = np.sqrt((sums**2).sum(axis=1))
        if norms.sum() <= reached * (1 + WORTH):
            break
        first, reached = here, float(norms.sum())
        difference = sums[0] / max(norms[0], 1e-300) - sums[1] / max(norms[1], 1e-300)
    return first


def clusters(V: Csr, halvings: int, seed: int) -> list[NDArray[np.int64]]:
    """The 2^halvings clusters of the rows of V."""
    parts = [np.arange(V.n_rows)]
    for level in range(halvings):
        halves = []
        for number, labels in enumerate(parts):
            first = halved(V.take(labels), [seed, level, number])
            halves += [labels[first], labels[~first]]
        parts = halves
    return parts


def label_tree(
    X: Csr,
    bounds: NDArray[np.int64],
    rows: NDArray[np.int32],
    seed: int = 0,
    threads: int = 1,
    widest: int = WIDEST,
) -> LabelTree:
    """A tree whose leaves hold at most `widest` labels each, and whose other nodes 64 nodes."""
    K = len(bounds) - 1
    halvings = max(0, math.ceil(math.log2(max(1, K) / widest)))
    parts = [np.arange(K)]
    if halvings:
        parts = clusters(mean_rows(X, bounds, rows, threads), halvings, seed)
    # labels of like frequency, which need like numbers of epochs, are neighbours
    parts = [part[np.argsort(-np.diff(bounds)[part], kind="stable")] for part in parts]
    levels = math.ceil(halvings / HALVINGS)
    bits = [len(part) for part in np.array_split(np.arange(halvings), levels)] if levels else []
    widths, leads, known = [], [], 1
    for level, bit in enumerate(bits):
        nodes = 1 << sum(bits[:level])
        widths += [1 << bit] * nodes
        leads.append(np.arange(known, known + (nodes << bit)))
        known += nodes << bit
    widths += map(len, parts)
    leads += [~part for part in parts]
    first = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    return LabelTree(first, np.concatenate(leads).astype(np.int64))
