# SPDX-License-Identifier: BSD-3-Clause
"""Example files in double precision, with the faults that LIBSVM and LIBLINEAR find in them.

Rows as solvers take them, classes in the order of LIBSVM and LIBLINEAR, and parts of rows for
cross validation.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut._native.strict import strict_rows
from svmcut.base.records import record
from svmcut.data.examples import Csr
from svmcut.originals.libs.words import Refused

#: What a label is cut to where a 32-bit integer does not hold it.
LEAST_LABEL = -(2**31)


@record(eq=False)
class Rows:
    """Sparse rows in double precision."""

    #: (n,).
    labels: NDArray[np.float64]
    #: (n + 1,).
    indptr: NDArray[np.int64]
    #: (nnz,) as in the file, ascending within a row.
    indices: NDArray[np.int32]
    #: (nnz,).
    values: NDArray[np.float64]
    #: The line, from 1, that is no row, where reading ended; 0 for none.
    fault: int = 0
    #: The row of the file, from 0, that stands first.
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
    """The error for a line that is no row, in the words of the programs."""
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


#: Of the orders of rows that folds are cut of.
SEED = 1


def csr_of(path: str, rows: Rows, first: int, features: int) -> Csr:
    """Rows in single precision, on columns from 0; first: the index of the file that is column
    0."""
    with np.errstate(over="ignore"):
        values = rows.values.astype(np.float32)
    if not np.isfinite(values).all():
        entry = int(np.argmin(np.isfinite(values)))
        line = int(np.searchsorted(rows.indptr, entry, side="right"))
        raise Refused(
            f"{path}:{line}: the value of feature {rows.indices[entry]} is beyond single precision;"
            " scale the features"
        )
    indices = rows.indices - np.int32(first) if first else rows.indices
    return Csr(values, indices, rows.indptr, features, True)


def classes_of(labels: NDArray[np.int64]) -> tuple[list[int], NDArray[np.intp]]:
    """The classes, and the place of every row's: in the order of the rows, but -1 and 1 of just
    these two the other way round."""
    names, firsts, places = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(firsts, kind="stable")
    classes = names[order].tolist()
    if classes == [-1, 1]:
        order, classes = order[::-1], [1, -1]
    rank = np.empty(len(order), np.intp)
    rank[order] = np.arange(len(order))
    return classes, rank[places]


def class_factors(
    names: list[int], given: dict[int, float], label: str = "class label"
) -> NDArray[np.float64]:
    """(K,) what C of each class is multiplied by; warns of labels that no row has."""
    for value in given:
        if value not in names:
            print(f"WARNING: {label} {value} specified in weight is not found", file=sys.stderr)
    return np.array([given.get(name, 1.0) for name in names])


def check_weights(given: dict[int, float], rows: Rows) -> None:
    """Refuses a weight of a class of the rows that is not above 0."""
    for label, weight in given.items():
        if not weight > 0 and (rows.classes() == label).any():
            raise Refused(f"ERROR: the weight of class {label} is {weight:g}; expected more than 0")


def folds(n: int, count: int, classes: NDArray[np.intp] | None = None) -> Iterator[NDArray]:
    """Yields for each of so many folds (n,) whether it holds a row, in an order that does not
    change; with classes every fold has as many rows of each class as the others, but for one."""
    order = np.random.default_rng(SEED).permutation(n)
    part = np.empty(n, np.int64)
    if classes is None:
        part[order] = np.arange(n) * count // n
    else:
        turn = 0
        for k in range(int(classes.max(initial=-1)) + 1):
            own = order[classes[order] == k]
            part[own] = (turn + np.arange(len(own))) % count
            turn += len(own)
    for k in range(count):
        yield part == k


def fold_count(n: int, wanted: int) -> int:
    """The number of folds: as many as asked for, or as there are rows, which is printed."""
    if wanted <= n:
        return wanted
    print(
        "WARNING: # folds > # data. Will use # folds = # data instead "
        "(i.e., leave-one-out cross validation)",
        file=sys.stderr,
    )
    return n


def take_rows(rows: Rows, places: NDArray) -> Rows:
    """These rows, in their order."""
    places = np.flatnonzero(places) if places.dtype == bool else places
    lengths = np.diff(rows.indptr)[places]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    entries = np.repeat(rows.indptr[places] - indptr[:-1], lengths) + np.arange(indptr[-1])
    return Rows(rows.labels[places], indptr, rows.indices[entries], rows.values[entries])
