# SPDX-License-Identifier: BSD-3-Clause
"""Support vectors of many machines on kernel values as those of one model: equal rows once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.base.records import replace
from svmcut.base.typing import Any
from svmcut.data.examples import Csr
from svmcut.models import KernelModel
from svmcut.training.certificate import is_close, sample_nonzeros
from svmcut.training.gate import Part


def part_of_machines(model: Any) -> Part:
    """The coefficients of some support vectors in all machines."""
    rows = sample_nonzeros(np.ones(model.support.n_rows))
    columns = (
        np.arange(model.support.n_features, dtype=np.int32)
        if model.columns is None
        else model.columns
    )
    known = np.isin(model.places, rows)
    machines = np.repeat(np.arange(len(model.b)), np.diff(model.starts))
    part = replace(
        model,
        support=model.support.take(rows),
        places=np.searchsorted(rows, model.places[known]).astype(np.int32),
        alpha=model.alpha[known],
        starts=np.searchsorted(machines[known], np.arange(len(model.b) + 1)).astype(np.int64),
    )

    def holds(read: Any) -> bool:
        own = read.support.indices if read.columns is None else read.columns[read.support.indices]
        exact = (
            (read.support.indptr, part.support.indptr),
            (own, columns[part.support.indices]),
            (read.support.data, part.support.data),
            (read.starts, part.starts),
            (read.alpha, part.alpha),
            (read.places, part.places),
            (read.names, part.names),
        )
        same = all(np.array_equal(*each) for each in exact)
        return same and read.kernel == part.kernel and is_close(read.b, part.b)

    return Part(part, holds)


def in_own_columns(model: KernelModel) -> Csr:
    """The support vectors in the columns of the rows the machine was trained on."""
    support = model.support
    return (
        support
        if model.columns is None
        else replace(support, indices=model.columns[support.indices])
    )


def _has_distinct_rows(rows: Csr) -> bool:
    """Decide by sums of the entries, each times a number of its column, that no two rows are equal:
    equal rows have equal sums."""
    if rows.indptr[0] != 0 or rows.indptr[-1] != len(rows.data):
        return False
    of_row = np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr))
    sums = np.bincount(of_row, rows.data * np.sqrt(rows.indices + 2.0), rows.n_rows)
    return len(np.unique(sums)) == rows.n_rows


def unite_rows(supports: list[Csr]) -> tuple[Csr, list[NDArray[np.int32]]]:
    """The rows of all, equal ones once, in the order in which they come; which of them each has."""
    if len(supports) == 1 and _has_distinct_rows(supports[0]):
        (alone,) = supports
        whole = Csr(alone.data, alone.indices, alone.indptr, 0, True)
        return whole, [np.arange(alone.n_rows, dtype=np.int32)]
    known: dict[tuple[bytes, bytes], int] = {}
    places_of: list[NDArray[np.int32]] = []
    columns: list[NDArray[np.int32]] = []
    values: list[NDArray[np.float32]] = []
    for support in supports:
        places, bounds = np.empty(support.n_rows, np.int32), support.indptr.tolist()
        for row in range(support.n_rows):
            entries = slice(bounds[row], bounds[row + 1])
            key = support.indices[entries].tobytes(), support.data[entries].tobytes()
            places[row] = at = known.setdefault(key, len(known))
            if at == len(columns):
                columns.append(support.indices[entries])
                values.append(support.data[entries])
        places_of.append(places)
    indptr = np.cumsum([0, *map(len, columns)], dtype=np.int64)
    rows = Csr(
        np.concatenate([np.zeros(0, np.float32), *values]),
        np.concatenate([np.zeros(0, np.int32), *columns]),
        indptr,
        0,
        True,
    )
    return rows, places_of
