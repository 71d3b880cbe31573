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
from svmcut.tables.columns import FITS, Fitted, Gathered, Placed, Text, Unused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from svmcut.tables.options import TableOptions

#: Values of dense columns of rows that are encoded at once, which stay in the cache.
_BLOCK = 1 << 18
_MOST_FEATURES = 2**31 - 2


@record(eq=False)
class Encoding:
    """The part of its training table that a model keeps.

    Attributes
    ----------
    columns : tuple of Number, Category or Text
        In the order of their features.
    unused : tuple of Unused
        Columns of the training table that give no features.
    words : tuple of str
        Names of the labels 1, 2, ...; none where labels are numbers.
    format : str
        What the training table was written as, one of svmcut.spec.catalog.TABLES.
    """

    columns: tuple[Fitted, ...] = ()
    unused: tuple[Unused, ...] = ()
    words: tuple[str, ...] = ()
    format: str = "csv"

    @property
    def n_features(self) -> int:
        return sum(column.width for column in self.columns)

    def role(self, role: str) -> str | None:
        """The column of this role among those without features."""
        return next((column.name for column in self.unused if column.role == role), None)

    def features(self) -> list[str]:
        """A name of every feature; words of the only column are their own names."""
        if len(self.columns) == 1 and isinstance(self.columns[0], Text):
            column = self.columns[0]
            return column.features() if column.hash_bits is not None else [*column.terms]
        return [name for column in self.columns for name in column.features()]

    def document(self) -> list[dict[str, Any]]:
        """One entry a column: its name, what it became, and how many features it has."""
        return [
            {"name": column.name, "became": column.told(), "features": column.width}
            for column in self.columns
        ] + [{"name": one.name, "became": one.role, "features": 0} for one in self.unused]

    def told(self) -> str:
        """In one line what the columns became, the first of each kind by name."""
        by_kind: dict[str, list[str]] = {}
        for column in self.columns:
            by_kind.setdefault(column.told(), []).append(column.name)
        return "; ".join(f"{escape(_several(names))}: {what}" for what, names in by_kind.items())


def _several(names: list[str], most: int = 4) -> str:
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} others"


class Rows:
    """Gathered columns of rows, which may be fitted to any of them.

    Parameters
    ----------
    path : str
        For messages.
    names : list of str
    gathered : list of Values, Codes or Counts
        One a name, of the same rows.
    options : TableOptions
    encoding : Encoding
        Of the columns without features, and the words of labels.
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
        self._fitted: list[Placed] | None = None

    def take(self, rows: NDArray[np.int64]) -> Rows:
        """Some of the rows, fitted to themselves."""
        taken = [gathered.take(rows) for gathered in self._gathered]
        return Rows(self.path, self._names, taken, self._options, self._frame)

    def contents(self) -> Iterator[Any]:
        """Return names of columns and labels, and the cells that any of the rows may be
        fitted to."""
        unused = [(column.name, column.role) for column in self._frame.unused]
        yield (self._names, unused, self._frame.words)
        for gathered in self._gathered:
            yield from gathered

    def split(self, train: NDArray[np.int64], held: NDArray[np.int64]) -> tuple[Rows, Csr, Csr]:
        """Some of the rows, their features, and those of others by what is fitted to the first."""
        own = self.take(train)
        other = self.take(held)
        return own, own.features(), other.features(own)

    @property
    def encoding(self) -> Encoding:
        """Fitted to these rows."""
        columns = tuple(placed.column for placed in self._placed())
        return replace(self._frame, columns=columns)

    def features(self, fitted: Rows | None = None) -> Csr:
        """The rows, by what is fitted to others or to themselves.

        Raises
        ------
        DataError
            For values beyond float32.
        """
        columns = (fitted or self)._placed()
        return encode(self.path, columns, self._gathered)

    def _placed(self) -> list[Placed]:
        if self._fitted is None:
            pairs = zip(self._names, self._gathered, strict=True)
            self._fitted = [FITS[type(cells)](name, cells, self._options) for name, cells in pairs]
        return self._fitted


def encode(path: str, columns: list[Placed], gathered: list[Gathered]) -> Csr:
    """Rows of gathered columns as features of fitted ones.

    Raises
    ------
    DataError
        For more features than there may be, and for values beyond float32.
    """
    first, told = 0, []
    for (column, places), cells in zip(columns, gathered, strict=True):
        told.append(column.encoder(cells, first, places))
        first += column.width
    if first > _MOST_FEATURES:
        message = "{:,} features; expected at most {:,}"
        raise DataError(path, Message(message, first, _MOST_FEATURES))
    n = _length(gathered[0]) if gathered else 0
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


def _length(gathered: Any) -> int:
    return len(gathered.ends) - 1 if hasattr(gathered, "ends") else len(gathered[0])
