# SPDX-License-Identifier: BSD-3-Clause
"""A tree of clusters of labels with similar rows, built by repeated halving.

    a label     the unit vector along the sum of its rows, of which the largest values are kept
    a halving   balanced 2-means: the labels in the order of their products with the difference of
                both means, the first half of them here, the others there, until the sum of the
                cosines with the means rises no more

Prabhu, Kag, Harsola, Agrawal and Varma, WWW 2018 (Parabel), section 4; there a node has two
children. Here one node replaces six levels of halvings, so that it has 64.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from svmcut._native import label_index, sparse
from svmcut.base.typing import NamedTuple
from svmcut.data.examples import Csr

#: Largest number of children of a node, and the halvings that make so many.
MAX_CHILDREN, HALVINGS = 64, 6
#: Largest number of values kept per label.
MAX_VALUES = 512
#: Largest number of rounds of a halving, and the relative rise of the sum of cosines for another.
MAX_ROUNDS, MIN_RISE = 20, 1e-4


class LabelTree(NamedTuple):
    """The nodes of a tree, level by level, and their children."""

    #: (J + 1,) bounds: node j has the children first[j] to first[j + 1].
    first: NDArray[np.int64]
    #: (M,) the node of each child; ~k for the label at place k.
    leads: NDArray[np.int64]

    def parents(self) -> NDArray[np.int64]:
        """Return the child that each node is (J,); -1 for the root."""
        above = np.full(len(self.first) - 1, -1, np.int64)
        inner = np.flatnonzero(self.leads >= 0)
        above[self.leads[inner]] = inner
        return above


def use_columns(X: Csr) -> tuple[Csr, NDArray[np.int32]]:
    """Return the rows on the columns that occur, and those columns; O(nonzeros + features), without
    sorting if rows are many."""
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
    """Return unit vectors (K, d) along the sums of the rows of labels: label k is on at
    rows[bounds[k] : bounds[k + 1]]."""
    columns, values, sizes = label_index.sums(sparse.Rows(X), bounds, rows, MAX_VALUES, threads)
    used = np.arange(columns.shape[1]) < sizes[:, None]
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Csr(values[used], columns[used], indptr, X.n_features, True)


def halve(V: Csr, seed: list[int]) -> NDArray[np.bool_]:
    """Return which labels are in the first half (K,), the larger one if their number is odd."""
    V, _ = use_columns(V)
    rows, K = sparse.Rows(V), V.n_rows
    pair = np.random.default_rng(seed).choice(K, 2, replace=False)
    side = np.zeros(K)
    side[pair] = 1.0, -1.0
    first, reached = np.zeros(K, bool), -1.0
    sums, scores = np.zeros((2, V.n_features)), np.zeros(K)
    difference = np.zeros(V.n_features)
    sparse.adjoint(rows, side, difference)
    for _ in range(MAX_ROUNDS):
        sparse.scores(rows, difference, 0.0, scores, 1)
        here = np.zeros(K, bool)
        here[np.argsort(-scores, kind="stable")[: (K + 1) // 2]] = True
        sums[:] = 0
        for total, half in zip(sums, (here, ~here), strict=True):
            sparse.adjoint(rows, half.astype(np.float64), total)
        norms = np.sqrt((sums**2).sum(axis=1))
        if norms.sum() <= reached * (1 + MIN_RISE):
            break
        first, reached = here, float(norms.sum())
        difference = sums[0] / max(norms[0], 1e-300) - sums[1] / max(norms[1], 1e-300)
    return first


def split_clusters(V: Csr, halvings: int, seed: int) -> list[NDArray[np.int64]]:
    """Return the 2^halvings clusters of the rows of V."""
    parts = [np.arange(V.n_rows)]
    for level in range(halvings):
        halves = []
        for number, labels in enumerate(parts):
            first = halve(V.take(labels), [seed, level, number])
            halves += [labels[first], labels[~first]]
        parts = halves
    return parts


def build_label_tree(
    X: Csr,
    bounds: NDArray[np.int64],
    rows: NDArray[np.int32],
    seed: int = 0,
    threads: int = 1,
    widest: int = MAX_CHILDREN,
) -> LabelTree:
    """Return a tree whose lowest nodes have at most `widest` labels each, and whose other nodes 64
    nodes."""
    K = len(bounds) - 1
    halvings = max(0, math.ceil(math.log2(max(1, K) / widest)))
    parts = [np.arange(K)]
    if halvings:
        parts = split_clusters(mean_rows(X, bounds, rows, threads), halvings, seed)
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
