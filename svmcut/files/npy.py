# SPDX-License-Identifier: BSD-3-Clause
"""Kernel values in NumPy's .npy: every row of the matrix is a label and the kernel values of a row.

Row k is point k, so that a training set is a matrix of n rows and n + 1 columns.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from svmcut.base.errors import DataError, NoExamples
from svmcut.base.typing import Any
from svmcut.data.examples import Csr, Examples, Source

BLOCK_ROWS = 1000  # at once


def is_npy(path: str) -> bool:
    """Return whether the name of a file ends in .npy."""
    return path.lower().endswith(".npy")


def read_npy(path: str) -> Examples:
    """Return all rows with their serial numbers; raise DataError if the file is no matrix of finite
    numbers."""
    return _make_examples(path, _matrix(path), 0)


def stream_npy(path: str) -> Iterator[Examples]:
    """Yield the rows in blocks; raise as `read_npy`."""
    matrix = _matrix(path)
    for start in range(0, len(matrix), BLOCK_ROWS):
        yield _make_examples(path, matrix[start : start + BLOCK_ROWS], start)


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


def _make_examples(path: str, matrix: Any, start: int) -> Examples:
    y = np.ascontiguousarray(matrix[:, 0], np.float64)
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(matrix[:, 1:], np.float32)
    n, d = values.shape
    indices = np.tile(np.arange(d, dtype=np.int32), n)
    X = Csr(values.ravel(), indices, np.arange(0, n * d + 1, d, dtype=np.int64), d)
    serials = np.arange(start + 1.0, start + n + 1)
    return Examples(X, y, None, None, Source(path), serials=serials).validate()
