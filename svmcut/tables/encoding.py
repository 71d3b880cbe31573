# SPDX-License-Identifier: BSD-3-Clause
"""The encoding of a table, which a model keeps, and the rows it was fitted to."""

from __future__ import annotations

import numpy as np

from svmcut._native import words as native
from svmcut.base.errors import DataError
from svmcut.base.messages import Message, escape
from svmcut.base.records import record, replace
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.data.examples import Csr, stack_rows
from svmcut.tables.columns import FITS, Fitted, Gathered, PlacedColumn, Text, Unused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from svmcut.tables.options import TableOptions

#: Values of dense columns that are encoded at once; they fit in the cache.
_BLOCK = 1 << 18
_MAX_FEATURES = 2**31 - 2


@record(eq=False)
class Encoding:
    """The part of a training table that a model keeps."""

    #: Fitted columns in the order of their features.
    columns: tuple[Fitted, ...] = ()
    #: Columns of the training table without features.
    unused: tuple[Unused, ...] = ()
    #: Names of the labels 1, 2, ...; none if labels are numbers.
    words: tuple[str, ...] = ()
    #: Input format of the training table, one of svmcut.spec.catalog.TABLES.
    format: str = "csv"

    @property
    def n_features(self) -> int:
        return sum(column.width for column in self.columns)

    def role(self, role: str) -> str | None:
        """Return the name of the column with this role; None without one."""
        return next((column.name for column in self.unused if column.role == role), None)

    def features(self) -> list[str]:
        """Return the name of every feature; words of an only column are their own names."""
        if len(self.columns) == 1 and isinstance(self.columns[0], Text):
            column = self.columns[0]
            return column.features() if column.hash_bits is not None else [*column.terms]
        return [name for column in self.columns for name in column.features()]

    def document(self) -> list[dict[str, Any]]:
        """Return the name, the description and the number of features of every column."""
        return [
            {"name": column.name, "became": column.describe(), "features": column.width}
            for column in self.columns
        ] + [{"name": one.name, "became": one.role, "features": 0} for one in self.unused]

    def describe(self) -> str:
        """Return one line about all columns, with the first names of each kind."""
        by_kind: dict[str, list[str]] = {}
        for column in self.columns:
            by_kind.setdefault(column.describe(), []).append(column.name)
        return "; ".join(f"{escape(_list_some(names))}: {what}" for what, names in by_kind.items())


def _list_some(names: list[str], most: int = 4) -> str:
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} others"


class Rows:
    """Gathered columns of rows, which can be fitted to any of the rows.

    `gathered` has the cells of each name; `encoding` has the columns without features and the words
    of labels; `path` is for messages.
    """

    def __init__(
        self,
        path: str,
        names: list[str],
        gathered: list[Gathered],
        options: TableOptions,
        encoding: Encoding,
    ):
        self.path, self._names, self._gathered = path, names, gathered
        self._options, self._frame = options, encoding
        self._fitted: list[PlacedColumn] | None = None

    def take(self, rows: NDArray[np.int64]) -> Rows:
        """Return some of the rows, fitted to themselves."""
        taken = [gathered.take(rows) for gathered in self._gathered]
        return Rows(self.path, self._names, taken, self._options, self._frame)

    def contents(self) -> Iterator[Any]:
        """Yield the names of columns and labels, and the cells."""
        unused = [(column.name, column.role) for column in self._frame.unused]
        yield (self._names, unused, self._frame.words)
        for gathered in self._gathered:
            yield from gathered

    def split(self, train: NDArray[np.int64], held: NDArray[np.int64]) -> tuple[Rows, Csr, Csr]:
        """Return some of the rows, their features, and the features of others as fitted to the
        first."""
        own = self.take(train)
        other = self.take(held)
        return own, own.features(), other.features(own)

    @property
    def encoding(self) -> Encoding:
        """The encoding fitted to these rows."""
        columns = tuple(placed.column for placed in self._fit_columns())
        return replace(self._frame, columns=columns)

    def features(self, fitted: Rows | None = None) -> Csr:
        """Return the features of the rows as fitted to others or to themselves; raise as
        `encode`."""
        columns = (fitted or self)._fit_columns()
        return encode(self.path, columns, self._gathered)

    def _fit_columns(self) -> list[PlacedColumn]:
        if self._fitted is None:
            pairs = zip(self._names, self._gathered, strict=True)
            self._fitted = [FITS[type(cells)](name, cells, self._options) for name, cells in pairs]
        return self._fitted


def encode(path: str, columns: list[PlacedColumn], gathered: list[Gathered]) -> Csr:
    """Return gathered columns as features of fitted columns.

    Raises DataError for too many features and for values beyond float32.
    """
    first, told = 0, []
    for (column, places), cells in zip(columns, gathered, strict=True):
        told.append(column.encoder(cells, first, places))
        first += column.width
    if first > _MAX_FEATURES:
        message = "{:,} features; expected at most {:,}"
        raise DataError(path, Message(message, first, _MAX_FEATURES))
    n = _count_rows(gathered[0]) if gathered else 0
    step, parts = max(64, _BLOCK // max(1, len(told))), []
    for start in range(0, max(n, 1), step):
        indptr, indices, data = native.rows(told, start, min(n, start + step))
        parts.append(Csr(data, indices, indptr, first, True))
    X = stack_rows(parts)
    wrong = ~np.isfinite(X.data)
    if wrong.any():
        at = int(np.argmax(wrong))
        row, feature = int(np.searchsorted(X.indptr, at, side="right")), int(X.indices[at])
        name = next(c["first"] for c in reversed(told) if c["first"] <= feature)
        column = next(p.column for p, c in zip(columns, told) if c["first"] == name)
        message = "row {}, column '{}': the number does not fit a float; scale the column"
        raise DataError(path, Message(message, row, column.name))
    return X


def _count_rows(gathered: Any) -> int:
    return len(gathered.ends) - 1 if hasattr(gathered, "ends") else len(gathered[0])
