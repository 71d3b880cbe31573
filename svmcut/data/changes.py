# SPDX-License-Identifier: BSD-3-Clause
"""Rows added to and removed from examples, and keys that identify equal rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError
from svmcut.base.records import replace
from svmcut.base.typing import NamedTuple
from svmcut.data.examples import Csr, Examples, stack_rows


def row_keys(X: Csr, y: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return a 64-bit key of every row with its label, (n,): equal rows have equal keys, different
    rows almost never.

    Zeros and the order of features do not count; O(nnz).
    """
    values = X.data[X.stored] + np.float32(0)
    places = X.indices[X.stored].astype(np.uint64) << np.uint64(32)
    mixed = _mix(places ^ values.view(np.uint32).astype(np.uint64))
    mixed[values == 0] = 0
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    bounds = X.indptr - X.indptr[0]
    labels = np.ascontiguousarray(y, np.float64) + 0.0
    rows = sums[bounds[1:]] - sums[bounds[:-1]]
    return _mix(rows ^ _mix(labels.view(np.uint64) + np.uint64(1))).view(np.int64)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Apply the finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def find_rows(examples: Examples, rows: Examples) -> NDArray[np.int64]:
    """Return the places of rows among the examples; equal rows get different places, in order.

    Raises DataError with the line of a row that is missing, or given too often.
    """
    keys, wanted = row_keys(examples.X, examples.y), row_keys(rows.X, rows.y)
    free: dict[int, list[int]] = {}
    for place in np.flatnonzero(np.isin(keys, wanted))[::-1].tolist():
        free.setdefault(int(keys[place]), []).append(place)
    places = []
    for row, key in enumerate(wanted.tolist()):
        if not free.get(key):
            often = " so often" if key in free else ""
            raise DataError(
                rows.source.path,
                f"this row, with its label, is not{often} among those of {examples.source.path}; "
                "give rows that the model was trained on",
                rows.source.line_of(row),
            )
        places.append(free[key].pop())
    return np.array(places, np.int64)


class Change(NamedTuple):
    """Examples with the rows to add and to remove."""

    before: Examples
    #: Rows to append.
    added: Examples | None
    #: (k,) places of the rows to remove.
    removed: NDArray[np.int64]

    def examples(self) -> Examples:
        """Return the changed examples; raise DataError if none is left."""
        kept, added = self.before, self.added
        if len(self.removed):
            keep = np.ones(len(kept), bool)
            keep[self.removed] = False
            kept = kept.take(keep)
        if added is not None and len(added):
            weights = None
            if kept.weights is not None or added.weights is not None:
                weights = np.concatenate([_weights(kept), _weights(added)])
            X = stack_rows([kept.X, added.X])
            kept = Examples(X, np.concatenate([kept.y, added.y]), None, weights, kept.source)
        if not len(kept):
            path = self.before.source.path
            raise DataError(path, "all rows are removed; leave some to learn from")
        return replace(kept, table=self.before.table)

    def fresh(self, now: Examples) -> NDArray[np.bool_]:
        """Return which rows were not there before, as (n,) booleans."""
        if self.added is None:
            return np.zeros(len(now), bool)
        keys = row_keys(self.before.X, self.before.y)
        return ~np.isin(row_keys(now.X, now.y), keys)


def _weights(examples: Examples) -> NDArray[np.float64]:
    return np.ones(len(examples)) if examples.weights is None else examples.weights
