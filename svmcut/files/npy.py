# SPDX-License-Identifier: BSD-3-Clause
"""Kernel values in NumPy's .npy: a label and the values of a row in every row of a matrix.

Row k is point k, so that a training set is a matrix of n rows and n + 1 columns.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from svmcut.base.errors import DataError, NoExamples
from svmcut.base.typing import Any
from svmcut.data.examples import Csr, Examples, Source

ROWS = 1000  # at once


def is_npy(path: str) -> bool:
    """Return whether the name of a file is that of a .npy file."""
    return path.lower().endswith(".npy")


def read_npy(path: str) -> Examples:
    """All rows, with their serial numbers.

    Raises
    ------
    DataError
        For what is no matrix of finite numbers.
    """
    return _rows_of(path, _matrix(path), 0)


def stream_npy(path: str) -> Iterator[Examples]:
    """The rows in blocks; raises as `read_npy`."""
    matrix = _matrix(path)
    for start in range(0, len(matrix), ROWS):
        yield _rows_of(path, matrix[start : start + ROWS], start)


def _matrix(path: str) -> Any:
    try:
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise DataError(path, f"is no matrix of NumPy: {error}") from None
    shape: tuple[int, ...] = getattr(matrix, "shape", ())
    if len(shape) != 2 or shape[1] < 2 or matrix.dtype.kind not in "fiu":
        raise DataError(
            path, f"has shape {shape}; expected a matrix of a label and kernel values a row"
        )
    if not len(matrix):
        raise NoExamples(path)
    return matrix


def _rows_of(path: str, matrix: Any, start: int) -> Examples:
    y = np.ascontiguousarray(matrix[:, 0], np.float64)
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(matrix[:, 1:], np.float32)
    n, d = values.shape
    indices = np.tile(np.arange(d, dtype=np.int32), n)
    X = Csr(values.ravel(), indices, np.arange(0, n * d + 1, d, dtype=np.int64), d)
    serials = np.arange(start + 1.0, start + n + 1)
    return Examples(X, y, None, None, Source(path), serials=serials).validate()
