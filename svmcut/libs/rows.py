# SPDX-License-Identifier: BSD-3-Clause
"""Example files in double precision, with the faults that LIBSVM and LIBLINEAR find in them."""

from __future__ import annotations

import numpy as np

from svmcut._native.strict import strict_rows
from svmcut.libs.words import Refused
from svmcut.spec.records import record
from svmcut.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: What a label is cut to where a 32-bit integer does not hold it.
LEAST_LABEL = -(2**31)


@record(eq=False)
class Rows:
    """Sparse rows.

    Attributes
    ----------
    labels : (n,) float64
    indptr : (n + 1,) int64
    indices : (nnz,) int32
        As in the file, ascending within a row.
    values : (nnz,) float64
    fault : int
        The line, from 1, that is no row, where reading ended; 0 for none.
    start : int
        The row of the file, from 0, that stands first.
    """

    labels: NDArray[np.float64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    fault: int = 0
    start: int = 0

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def highest(self) -> int:
        """The highest index, 0 without any."""
        return int(self.indices.max(initial=0))

    def part(self, start: int, stop: int) -> Rows:
        """Rows start to stop."""
        entries = slice(self.indptr[start], self.indptr[stop])
        return Rows(
            self.labels[start:stop],
            self.indptr[start : stop + 1] - self.indptr[start],
            self.indices[entries],
            self.values[entries],
            start=self.start + start,
        )

    def row_of_entries(self) -> NDArray[np.int64]:
        """(nnz,) the row of every entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    def classes(self) -> NDArray[np.int64]:
        """(n,) labels cut to 32-bit integers."""
        return whole_labels(self.labels)


def whole_labels(labels: NDArray[np.float64]) -> NDArray[np.int64]:
    """Labels without what stands behind their point; LEAST_LABEL where 32 bits do not hold one."""
    fits = np.abs(labels) < 2.0**31
    return np.where(fits, np.trunc(np.where(fits, labels, 0.0)), LEAST_LABEL).astype(np.int64)


def read_text(path: str) -> bytes:
    """A whole example file, "-" among the names of files."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError):
        raise Refused(f"can't open input file {path}") from None


def read_rows(path: str, first: int) -> Rows:
    """The rows of a file, up to its first fault; indices are from `first`."""
    return Rows(*strict_rows(read_text(path), first))


def bad_line(line: int) -> Refused:
    """What the programs say of a line that is no row."""
    return Refused(f"Wrong input format at line {line}")


def training_rows(path: str, first: int) -> Rows:
    """The rows to train on, all of them, with finite numbers."""
    rows = read_rows(path, first)
    if rows.fault:
        raise bad_line(rows.fault)
    if not len(rows):
        raise Refused(f"{path}: the file has no rows; expected LABEL INDEX:VALUE ... lines")
    wrong = ~np.isfinite(rows.values)
    if wrong.any():
        entry = int(np.argmax(wrong))
        line = int(np.searchsorted(rows.indptr, entry, side="right"))
        raise Refused(
            f"{path}:{line}: the value of feature {rows.indices[entry]} is {rows.values[entry]:g};"
            " expected a finite number"
        )
    return rows
