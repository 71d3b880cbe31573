# SPDX-License-Identifier: BSD-3-Clause
"""Kernel values and sums of them in double precision, rows of a file against support vectors."""

from __future__ import annotations

import numpy as np

from svmcut.data.given import last_columns
from svmcut.files.models.library_text import (
    C_SVC,
    LINEAR,
    NU_SVC,
    POLYNOMIAL,
    PRECOMPUTED,
    RBF,
    KernelText,
)
from svmcut.libs.words import Refused
from svmcut.models import pairs_of
from svmcut.models.linear_sums import column_sums
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from svmcut.libs.rows import Rows

#: Numbers of a block.
_BLOCK = 4_000_000
#: Numbers of the vectors as a dense array up to which they are one, whatever their zeros; beyond,
#: so many times their entries.
_DENSE, _FILL = 5_000_000, 8


class Expansion:
    """Sums over the support vectors of a model.

    Parameters
    ----------
    model : KernelText
    """

    def __init__(self, model: KernelText):
        self._model = model
        indptr, indices, values = model.rows
        self._count = len(indptr) - 1
        if model.kernel == PRECOMPUTED:
            firsts = indptr[:-1]
            serial = np.zeros(self._count, np.int64)
            there = indptr[1:] > firsts
            serial[there] = values[firsts[there]].astype(np.int64)
            self._serial = serial
            return
        self._columns, places = np.unique(indices, return_inverse=True)
        self._places = places
        self._squares = np.bincount(
            np.repeat(np.arange(self._count), np.diff(indptr)), values * values, self._count
        )
        size = self._count * len(self._columns)
        self._sparse = size > _DENSE and size > _FILL * len(values)
        if self._sparse:
            from scipy.sparse import csr_matrix

            shape = self._count, len(self._columns)
            self._vectors: Any = csr_matrix((values, places, indptr), shape)
        else:
            dense = np.zeros((self._count, len(self._columns)))
            dense[np.repeat(np.arange(self._count), np.diff(indptr)), places] = values
            self._vectors = dense

    @np.errstate(all="ignore")  # rows may have infinite values
    def sums(self, rows: Rows, coefs: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n, k) sums of coefs (m, k) times the kernel values of rows and vectors; of the linear
        kernel by their weights, as the coefficients of a large column may cancel."""
        out = np.empty((len(rows), coefs.shape[1]))
        if self._model.kernel == LINEAR:
            W = self._weights(coefs)
            for start, stop in self._blocks(rows):
                out[start:stop] = self._matrix(rows.part(start, stop)) @ W
            return out
        for start, K in self.values(rows):
            out[start : start + len(K)] = K @ coefs
        return out

    def _weights(self, coefs: NDArray[np.float64]) -> NDArray[np.float64]:
        """(columns, k) of the columns that vectors have."""
        indptr, _, values = self._model.rows
        factors = np.repeat(coefs, np.diff(indptr), axis=0)
        width = len(self._columns)
        W = np.empty((width, coefs.shape[1]))
        for k, own in enumerate(factors.T):
            W[:, k] = column_sums(self._places, own, values, width)
        return W

    def _blocks(self, rows: Rows) -> Iterator[tuple[int, int]]:
        """Where blocks of rows begin and end."""
        width = max(1, self._count if self._model.kernel == PRECOMPUTED else len(self._columns))
        step = max(1, _BLOCK // max(width, self._count, 1))
        for start in range(0, len(rows), step):
            yield start, min(start + step, len(rows))

    def values(self, rows: Rows) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """The first row of each block, and its (block, m) kernel values."""
        for start, stop in self._blocks(rows):
            yield start, self._block(rows.part(start, stop))

    @np.errstate(all="ignore")
    def _block(self, rows: Rows) -> NDArray[np.float64]:
        model = self._model
        if model.kernel == PRECOMPUTED:
            return self._given(rows)
        dot = self._matrix(rows) @ self._vectors.T
        dot = dot.toarray() if self._sparse else dot
        if model.kernel == LINEAR:
            return dot
        if model.kernel == RBF:
            of = rows.row_of_entries()
            own = np.bincount(of, rows.values * rows.values, len(rows))
            dot *= -2.0
            dot += own[:, None]
            dot += self._squares
            np.maximum(dot, 0.0, out=dot)
            dot *= -model.gamma
            return np.exp(dot, out=dot)
        dot *= model.gamma
        dot += model.coef0
        return dot**model.degree if model.kernel == POLYNOMIAL else np.tanh(dot, out=dot)

    def _matrix(self, rows: Rows) -> Any:
        """(n, columns) of the columns that vectors have, sparse where these are."""
        of = rows.row_of_entries()
        places = np.searchsorted(self._columns, rows.indices)
        known = places < len(self._columns)
        known[known] = self._columns[places[known]] == rows.indices[known]
        shape = len(rows), len(self._columns)
        if self._sparse:
            from scipy.sparse import csr_matrix

            return csr_matrix((rows.values[known], (of[known], places[known])), shape)
        dense = np.zeros(shape)
        dense[of[known], places[known]] = rows.values[known]
        return dense

    def _given(self, rows: Rows) -> NDArray[np.float64]:
        """Kernel values of the file: that with a vector stands at its serial number."""
        needed = int(self._serial.max(initial=0))
        last = np.maximum(0, last_columns(rows.indptr, rows.indices))
        if (last < needed).any():
            row = int(np.argmax(last < needed))
            raise Refused(
                f"line {rows.start + row + 1}: kernel values end at {last[row]}, but the model "
                f"needs those up to {needed}; write zeros too"
            )
        width = max(rows.highest, needed) + 1
        dense = np.zeros((len(rows), width))
        dense[rows.row_of_entries(), rows.indices] = rows.values
        return dense[:, self._serial]


def pair_coefficients(model: KernelText) -> NDArray[np.float64]:
    """(m, pairs) coefficients of all vectors in the machine of every pair."""
    if model.svm not in (C_SVC, NU_SVC):
        return model.coefs
    assert model.counts is not None
    K = len(model.counts)
    own = np.repeat(np.arange(K), model.counts)
    pairs = pairs_of(K)
    out = np.zeros((len(own), len(pairs)))
    for k, (i, j) in enumerate(pairs):
        out[own == i, k] = model.coefs[own == i, j - 1]
        out[own == j, k] = model.coefs[own == j, i]
    return out
