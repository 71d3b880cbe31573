# SPDX-License-Identifier: BSD-3-Clause
"""Kernel values in place of features: column k of a row is its value with point k + 1, and the
serial number of a row says which point it is.

LIBSVM's text: ``LABEL 0:SERIAL 1:K1 2:K2 ..``, serials from 1.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError
from svmcut.base.records import replace
from svmcut.data.examples import Csr, Examples

BLOCK = 1 << 22  # values in work at once
TILE = 256  # rows of a square of values that fits a cache


def split_serials(examples: Examples) -> Examples:
    """Separate the serial numbers, the first column, from the examples; 0 for a row without one."""
    X = examples.X
    stored, bounds = X.stored, X.indptr - X.indptr[0]
    columns, values = X.indices[stored], X.data[stored]
    serials, filled = np.zeros(X.n_rows), np.flatnonzero(np.diff(bounds))
    firsts = bounds[filled]
    having = columns[firsts] == 0
    serials[filled[having]] = values[firsts[having]]
    keep = np.ones(len(columns), bool)
    keep[firsts[having]] = False
    lengths = np.diff(bounds)
    lengths[filled[having]] -= 1
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    rows = Csr(values[keep], columns[keep] - np.int32(1), indptr, max(X.n_features - 1, 0), True)
    return replace(examples, X=rows, serials=serials)


def last_columns(indptr: NDArray, indices: NDArray) -> NDArray[np.int64]:
    """Return the last column of every row (n,), whose columns rise; -1 for a row without
    entries."""
    ends, last = indptr[1:], np.full(len(indptr) - 1, -1, np.int64)
    there = ends > indptr[:-1]
    last[there] = indices[ends[there] - 1]
    return last


def check_values(examples: Examples, needed: int) -> Examples:
    """Return the examples if all rows have kernel values with `needed` points.

    Raises DataError with the line of a row whose values end earlier: missing ones would be 0.
    """
    last = last_columns(examples.X.indptr, examples.X.indices) + 1
    short = np.flatnonzero(last < needed)
    if len(short):
        row = int(short[0])
        raise DataError(
            examples.source.path,
            f"kernel values end at {last[row]}, but the model needs those up to {needed}; write "
            "zeros too",
            examples.source.line_of(row),
        )
    return examples


def number_rows(examples: Examples) -> Examples:
    """Number the rows of a square matrix in memory: row k is point k + 1. Raises DataError for a
    matrix that is not square."""
    n, d = examples.X.n_rows, examples.X.n_features
    if n != d:
        raise DataError(
            examples.source.path,
            f"has {n} rows and {d} columns of kernel values; expected a square matrix, of every "
            "row with every row",
        )
    return replace(examples, serials=np.arange(1.0, n + 1))


def serial_columns(examples: Examples) -> NDArray[np.int64]:
    """Return the columns of the rows themselves (n,).

    Raises DataError with the line of a row without serial number, or whose number is no column.
    """
    serials, most = examples.serials, examples.X.n_features
    path, line_of = examples.source.path, examples.source.line_of
    if serials is None:
        raise DataError(path, "has no serial numbers; expected 0:SERIAL 1:K1 2:K2 .. in every line")
    bad = np.flatnonzero(~((serials >= 1) & (serials <= most) & (serials == np.floor(serials))))
    if len(bad):
        row = int(bad[0])
        fault = f"serial number 0:{serials[row]:g} is none of the {most} columns"
        if not serials[row]:
            fault = "there is no serial number"
        raise DataError(
            path,
            f"{fault}; expected 0:SERIAL from 1 to {most} before the kernel values",
            line_of(row),
        )
    return serials.astype(np.int64) - 1


def dense_columns(X: Csr, columns: NDArray[np.int64], dtype: type = np.float32) -> NDArray:
    """Return the values of some columns, (n, m)."""
    n, d = X.n_rows, X.n_features
    out: NDArray = np.empty((n, len(columns)), dtype)
    every = len(columns) == d and np.array_equal(columns, np.arange(d))
    step = max(1, BLOCK // max(d, 1))
    for start in range(0, n, step):
        rows = X.rows(start, min(start + step, n))
        if rows.nnz == rows.n_rows * d:
            block = rows.data[rows.stored].reshape(rows.n_rows, d)
        else:
            block = np.zeros((rows.n_rows, d), np.float32)
            of = np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr))
            block[of, rows.indices[rows.stored]] = rows.data[rows.stored]
        out[start : start + rows.n_rows] = block if every else block[:, columns]
    return out


def point_rows(columns: NDArray[np.int64], d: int) -> Csr:
    """Return rows (m, d) with a 1 in the column of their point: x times such a row is the value of
    x with it."""
    m = len(columns)
    return Csr(
        np.ones(m, np.float32), columns.astype(np.int32), np.arange(m + 1, dtype=np.int64), d, True
    )


def is_symmetric(K: NDArray) -> bool:
    """Test that all values (n, n) equal their mirror images."""
    tiles = [slice(start, start + TILE) for start in range(0, len(K), TILE)]
    pairs = itertools.combinations_with_replacement(tiles, 2)
    return all(bool((K[a, b] == K[b, a].T).all()) for a, b in pairs)


def make_symmetric(K: NDArray, step: int) -> None:
    """Replace values (n, n) and their mirror images by their means, `step` rows at a time."""
    for start in range(0, len(K), step):
        rows = slice(start, start + step)
        K[rows, start:] = 0.5 * (K[rows, start:] + K[start:, rows].T)
        K[start:, rows] = K[rows, start:].T
