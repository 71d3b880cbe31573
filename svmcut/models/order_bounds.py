# SPDX-License-Identifier: BSD-3-Clause
"""Pairs of rows and tags of sequences that are proven to be those of the exact optimum; see
svmcut.training.certificate.

For rows, the optimum's score of x_i less that of x_j differs from w.(x_i - x_j) by at most r |x_i -
x_j|, in the kernel's space if there is one. The constant feature is the same in both rows.

For tags, with y the best labelling by w and y' another one, the optimum w* scores

    w*.Psi(y') - w*.Psi(y)  <=  w.Psi(y') - w.Psi(y) + r |Psi(y') - Psi(y)|

and |Psi(y') - Psi(y)| is at most sqrt(2) times the sum of the lengths of what differs: |x_t| for
every token t with another tag, 1 for every transition with another tag, and |x_t| for every pair of
features and two tags. Each is charged to its tokens: an upper bound. So the tag of token t is that
of the optimum if no labelling with another one at t, its other tags charged, reaches the score of
y.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from svmcut._native import sparse
from svmcut.base.errors import UsageError
from svmcut.base.typing import Any
from svmcut.data.examples import Csr
from svmcut.models.bounds import ROUNDING
from svmcut.models.chain import ChainModel
from svmcut.models.decoding import Lattice
from svmcut.models.kernels import Kernel

#: Rows of a query whose pairs are compared, and rows compared at once.
MAX_ROWS, BLOCK_ROWS = 20_000, 512


def proven_pairs(
    model: Any, X: Csr, scores: NDArray[np.float64], threads: int = 1
) -> tuple[int, int]:
    """Number of pairs of a query's rows that are proven to be in the order of their scores, and
    number of all pairs; O(n^2). The model has a certificate, `scores` (n,) are its own. Raises
    UsageError for more than MAX_ROWS rows."""
    from svmcut._native.kernels import KernelRows

    n, radius = X.n_rows, model.certificate[1]
    if n > MAX_ROWS:
        raise UsageError(
            "{certify} compares all pairs of a query, and one has {:,} rows; leave it out of more "
            "than {:,}",
            n,
            MAX_ROWS,
        )
    kernel = getattr(model, "kernel", Kernel())
    rows = KernelRows(X, kernel if hasattr(model, "support") else Kernel(), threads)
    own, proven = rows.diagonal, 0
    for start in range(0, n, BLOCK_ROWS):
        some = np.arange(start, min(start + BLOCK_ROWS, n))
        sizes = own[some][:, None] + own
        squared = np.maximum(sizes - 2 * rows.block_double(some), 0.0) + 8 * ROUNDING * sizes
        apart = np.abs(scores[some][:, None] - scores)
        sure = apart > radius * np.sqrt(squared) + ROUNDING * np.abs(scores).max(initial=0.0)
        proven += int(np.count_nonzero(sure & (np.arange(n) > some[:, None])))
    return proven, n * (n - 1) // 2


def proven_tags(
    model: ChainModel, X: Csr, sequences: NDArray[np.int64], threads: int = 1
) -> NDArray[np.bool_]:
    """(tokens,) True if the best tag is proven, by a model with a certificate; `sequences` as of
    Lattice. Features that the model lacks count too."""
    assert model.certificate is not None
    if model.shape.n_tags < 2:
        return np.ones(X.n_rows, bool)
    lattice = Lattice(model, X, sequences, threads=threads)
    tags, values = lattice.tags()
    K, rows = model.shape.n_tags, np.arange(X.n_rows)
    price = model.certificate[1] * math.sqrt(2.0) * _lengths(model, X, sequences)
    kept = lattice.nodes[rows, tags]
    lattice.nodes[:, :K] += price[:, None]
    lattice.nodes[rows, tags] = kept
    highest = lattice.highest()
    highest[rows, tags] = -np.inf
    scores = np.repeat(values, np.diff(sequences))
    rounding = ROUNDING * (np.abs(scores) + np.abs(highest.max(axis=1)) + price)
    return highest.max(axis=1) + rounding < scores


def _lengths(model: ChainModel, X: Csr, sequences: NDArray[np.int64]) -> NDArray[np.float64]:
    """(tokens,) lengths of all parts that depend on a token's tag."""
    shape = model.shape
    squared = np.empty(X.n_rows)
    sparse.row_norms(sparse.Rows(X), squared)
    own = np.sqrt(squared) * (1 + ROUNDING)
    counts = np.diff(sequences)
    before = np.arange(X.n_rows) - np.repeat(sequences[:-1], counts)
    behind = np.repeat(sequences[1:], counts) - np.arange(X.n_rows) - 1
    lengths = own.copy()
    for order in range(1, shape.transition_order + 1):
        # transitions of this order that end at this token or at one of the next, as far as there is
        # one, and have their first token in the sequence
        last, first = np.minimum(order, behind), np.maximum(0, order - before)
        lengths += np.maximum(0, last - first + 1)
    if shape.emission_order:
        following = np.append(own[1:], 0.0)
        lengths += own * (before > 0) + following * (behind > 0)
    return lengths
