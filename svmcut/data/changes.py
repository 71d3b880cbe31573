# SPDX-License-Identifier: BSD-3-Clause
"""Rows that are added to examples and taken out of them, and the keys by which rows are known
again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError
from svmcut.base.records import replace
from svmcut.base.typing import NamedTuple
from svmcut.data.examples import Csr, Examples, stack_rows


def row_keys(X: Csr, y: NDArray[np.float64]) -> NDArray[np.int64]:
    """(n,) a number of 64 bits of every row and its label: equal rows have equal ones, and others
    next to never. Zeros do not count, nor does the order of features; O(nnz)."""
    values = X.data[X.stored] + np.float32(0)
    places = X.indices[X.stored].astype(np.uint64) << np.uint64(32)
    mixed = _mixed(places ^ values.view(np.uint32).astype(np.uint64))
    mixed[values == 0] = 0
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    bounds = X.indptr - X.indptr[0]
    labels = np.ascontiguousarray(y, np.float64) + 0.0
    rows = sums[bounds[1:]] - sums[bounds[:-1]]
    return _mixed(rows ^ _mixed(labels.view(np.uint64) + np.uint64(1))).view(np.int64)


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def places_of(examples: Examples, rows: Examples) -> NDArray[np.int64]:
    """Where the rows stand among the examples: of equal ones each its own place, in their order.

    Raises
    ------
    DataError
        With the line of a row that is not there, or not so often.
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
    """Examples that change.

    Attributes
    ----------
    before : Examples
    added : Examples or None
        Which come behind them.
    removed : (k,) int64
        The places of those that go.
    """

    before: Examples
    added: Examples | None
    removed: NDArray[np.int64]

    def examples(self) -> Examples:
        """What they become.

        Raises
        ------
        DataError
            Where none is left.
        """
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
        """(n,) which rows there are now were not there before."""
        if self.added is None:
            return np.zeros(len(now), bool)
        keys = row_keys(self.before.X, self.before.y)
        return ~np.isin(row_keys(now.X, now.y), keys)


def _weights(examples: Examples) -> NDArray[np.float64]:
    return np.ones(len(examples)) if examples.weights is None else examples.weights
