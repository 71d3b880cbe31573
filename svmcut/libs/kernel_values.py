# SPDX-License-Identifier: BSD-3-Clause
"""Kernel values and sums of them in double precision, rows of a file against support vectors."""

from __future__ import annotations

import numpy as np

from svmcut.data.given import last_columns
from svmcut.files.models.library_text import (
    LINEAR,
    POLYNOMIAL,
    PRECOMPUTED,
    RBF,
    KernelText,
)
from svmcut.libs.words import Refused
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
        """(n, k) sums of coefs (m, k) times the kernel values of rows and vectors."""
        out = np.empty((len(rows), coefs.shape[1]))
        for start, K in self.values(rows):
            out[start : start + len(K)] = K @ coefs
        return out

    def values(self, rows: Rows) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """The first row of each block, and its (block, m) kernel values."""
        width = max(1, self._count if self._model.kernel == PRECOMPUTED else len(self._columns))
        step = max(1, _BLOCK // max(width, self._count, 1))
        for start in range(0, len(rows), step):
            yield start, self._block(rows.part(start, min(start + step, len(rows))))

    @np.errstate(all="ignore")
    def _block(self, rows: Rows) -> NDArray[np.float64]:
        model = self._model
        if model.kernel == PRECOMPUTED:
            return self._given(rows)
        of = rows.row_of_entries()
        places = np.searchsorted(self._columns, rows.indices)
        known = places < len(self._columns)
        known[known] = self._columns[places[known]] == rows.indices[known]
        if self._sparse:
            from scipy.sparse import csr_matrix

            shape = len(rows), len(self._columns)
            X = csr_matrix((rows.values[known], (of[known], places[known])), shape)
            dot = (X @ self._vectors.T).toarray()
        else:
            dense = np.zeros((len(rows), len(self._columns)))
            dense[of[known], places[known]] = rows.values[known]
            dot = dense @ self._vectors.T
        if model.kernel == LINEAR:
            return dot
        if model.kernel == RBF:
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
