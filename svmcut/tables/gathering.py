# SPDX-License-Identifier: BSD-3-Clause
"""Columns of a table, gathered batch after batch before they are fitted, or as a model knows
them."""

from __future__ import annotations

import re
from functools import cached_property

import numpy as np

from svmcut._native.words import CellFault, Words, numbers
from svmcut.base.errors import DataError
from svmcut.base.messages import Message, NameGroup
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.tables.cells import (
    NO_UTF_8,
    Cells,
    Dates,
    Numbers,
    Sets,
    Texts,
    dates_message,
    parse_number,
    to_texts,
)
from svmcut.tables.columns import Category, Codes, Counts, Fitted, Gathered, Number, Text, Values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from svmcut.tables.options import TableOptions

#: Most names of a column that becomes categories unasked: the first if there are two rows per
#: name, the last if there are five.
MAX_FEW_CATEGORIES, ROWS_PER_CATEGORY, MAX_CATEGORIES = 20, 5, 1000
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ]\d{1,2}:\d{2}.*)?")
_COMMA = re.compile(rb"[-+]?\d[\d.]*(,\d+)?")
_TRUE = {b"true": 1.0, b"false": 0.0}
#: Texts of a column that are examined, and columns that a message lists.
_MAX_EXAMINED, _MAX_SHOWN = 1000, 6


#: Kinds of a column of texts that no option names.
BOOLEANS, NAMES = "booleans", "names"


def classify_texts(path: str, name: str, n: int, texts: list[bytes]) -> str:
    """Return BOOLEANS or NAMES for a column of n rows with these different texts; raise Undecided
    if they are too many."""
    K, first = len(texts), texts[0].decode("utf-8", "backslashreplace")[:40] if texts else ""
    if all(text.lower() in _TRUE for text in texts):
        return BOOLEANS
    if max(min(MAX_FEW_CATEGORIES, (n + 1) // 2), min(MAX_CATEGORIES, n // ROWS_PER_CATEGORY)) >= K:
        return NAMES
    if _DATE.fullmatch(first):
        raise Undecided(path, name, Message("dates, such as '{}'", first), dates_message(name))
    values = [parse_number(text) for text in texts[:_MAX_EXAMINED]]
    others = [text for text, value in zip(texts, values) if value != value]
    if others and 2 * len(others) <= len(values):
        other = others[0].decode("utf-8", "backslashreplace")[:40]
        message = (
            "column '{}' holds numbers and '{}'; correct that or leave the cell empty, or take all "
            "as {categories=}"
        )
        short = Message("numbers and '{}'", other)
        raise Undecided(path, name, short, Message(message, name, other, name))
    if all(_COMMA.fullmatch(text) for text in texts[:_MAX_EXAMINED]):
        message = "column '{}' holds numbers with a decimal comma, such as '{}'; write points"
        short = Message("decimal commas, such as '{}'", first)
        raise Undecided(path, name, short, Message(message, name, first))
    message = (
        "column '{}' holds {} different texts in {} rows, such as '{}'; take them as {text=} "
        "or as {categories=}, or leave them out by {drop=}"
    )
    short = Message("{} different texts, such as '{}'", K, first)
    told = Message(message, name, K, n, first, *[name] * 3)
    raise Undecided(path, name, short, told, " " in first)


class Undecided(DataError):
    """A column that cannot become features unless an option says how."""

    def __init__(self, path: str, name: str, short: Message, told: Message, worded: bool = False):
        super().__init__(path, told)
        #: True if its cells have several words.
        #: Description of its cells.
        self.name, self.short, self.worded, self._told = name, short, worded, told

    def __reduce__(self):
        return type(self), (self.path, self.name, self.short, self._told, self.worded)


def undecided_error(faults: Sequence[Undecided]) -> DataError:
    """Return one error for all such columns of a table, with options that take or drop them."""
    if len(faults) == 1:
        return faults[0]
    held = [Message("'{}' ({})", fault.name, fault.short) for fault in faults]
    texts = [fault.name for fault in faults if fault.worded]
    rest = [fault.name for fault in faults if not fault.worded]
    ways = [Message("{drop=}", NameGroup(rest))] if rest else []
    ways += [Message("{text=}", NameGroup(texts))] if texts else []
    message = "{} columns are neither numbers nor categories: {}{}; give {}{}"
    more = [Message(", {}", one) for one in held[1:_MAX_SHOWN]]
    more += [Message(" and {} more", len(held) - _MAX_SHOWN)] if len(held) > _MAX_SHOWN else []
    tail = Message("{}" * len(more), *more)
    last = Message(" {}", ways[1]) if len(ways) > 1 else ""
    return DataError(faults[0].path, Message(message, len(faults), held[0], tail, ways[0], last))


class Reread(Exception):
    """A column that began with numbers has texts too: the table is read again with it as names."""

    def __init__(self, name: str, row: int, cell: str):
        super().__init__(name)
        self.name, self.row, self.cell = name, row, cell


class Column:
    """A column while it is gathered.

    `role` is "text", "names", or "open" if the cells decide; `known` is the column of a model, None
    to learn it.
    """

    def __init__(
        self, path: str, name: str, role: str, options: TableOptions, known: Fitted | None = None
    ):
        self.path, self.name, self.role, self._known = path, name, role, known
        self._options, self._rows, self._boolean = options, 0, True
        self._ngrams = known.ngrams if isinstance(known, Text) else options.ngrams
        self._values: list[NDArray] = []
        self._ids: list[NDArray] = []
        self._counts: list[tuple[NDArray, NDArray, NDArray]] = []

    @cached_property
    def _words(self) -> Words:
        known, bits = self._known, self._options.hash_bits
        if isinstance(known, Text):
            bits, terms = known.hash_bits, known.terms
        else:
            terms = known.values if isinstance(known, Category) else ()
        words = Words(-1 if bits is None or self.role != "text" else bits)
        listed = Texts.from_list([term.encode() for term in terms])
        words.cells(listed.text, listed.offsets, None, True)
        return words

    @property
    def nbytes(self) -> int:
        """Bytes of the gathered cells, without the texts of different words."""
        parts = [*self._values, *self._ids, *(part for parts in self._counts for part in parts)]
        return sum(part.nbytes for part in parts)

    @property
    def entries(self) -> int:
        """Approximate number of entries in the rows."""
        if self.role == "text":
            return sum(len(ids) for _, ids, _ in self._counts)
        return sum(len(part) for part in (*self._values, *self._ids))

    def add(self, cells: Cells) -> None:
        """Add the next rows.

        Raises DataError with row and column for an invalid cell, and Reread if an open column has
        texts after rows of numbers.
        """
        try:
            if self.role == "text":
                self._add_text(to_texts(cells, self.name, self.path))
            elif self.role == "names":
                self._add_names(to_texts(cells, self.name, self.path))
            else:
                self._add_numbers(cells)
        except CellFault as fault:
            raise self._cell_error(fault, cells) from None
        self._rows += len(cells)

    def take(self) -> Gathered:
        """Return the cells gathered since the last call, or all of an open column; raise Undecided
        if no option names its texts."""
        cells = self.join_cells()
        return self._decide_kind(cells) if self.role == "open" and self._ids else cells

    def join_cells(self) -> Any:
        """Return the gathered cells; texts that no option names are names."""
        if self.role == "text":
            return self._join_counts()
        if self.role == "names" or self._ids:
            return Codes(_join(self._ids, np.int32), *self._dictionary())
        return Values(_join(self._values, np.float64), self._boolean and bool(self._values))

    def clear(self) -> None:
        """Forget the rows."""
        self._values, self._ids, self._counts = [], [], []

    def _add_text(self, cells: Texts) -> None:
        counts = self._words.count(cells.text, cells.offsets, *self._ngrams, self._known is None)
        self._counts.append(counts)

    def _add_names(self, cells: Texts) -> None:
        grow = self._known is None
        self._ids.append(self._words.cells(cells.text, cells.offsets, cells.missing, grow))

    def _add_numbers(self, cells: Cells) -> None:
        if isinstance(cells, Sets):
            to_texts(cells, self.name, self.path)
        elif isinstance(cells, Dates):
            first = to_texts(cells, self.name, self.path).cell(0)
            told = Message("dates, such as '{}'", first)
            raise Undecided(self.path, self.name, told, dates_message(self.name))
        elif self._ids:
            self._add_names(to_texts(cells, self.name, self.path))
        elif isinstance(cells, Numbers):
            self._boolean &= cells.boolean
            self._add_values(cells.values)
        else:
            try:
                self._add_values(numbers(*cells))
                self._boolean = False
            except CellFault as fault:
                if fault.kind != "text":
                    raise
                self._turn(cells, fault.cell)

    def _add_values(self, values: NDArray) -> None:
        wrong = np.isinf(values)
        if wrong.any():
            row = self._rows + int(np.argmax(wrong)) + 1
            message = "row {}, column '{}': {} is no finite number"
            raise DataError(self.path, Message(message, row, self.name, values[wrong][0]))
        self._values.append(values)

    def _turn(self, cells: Texts, cell: int) -> None:
        """Continue with names, if no number came before."""
        if isinstance(self._known, Number):
            values = _to_booleans(cells) if self._known.boolean else None
            if values is None:
                message = "row {}, column '{}': '{}' is no number, which the model expects there"
                row, shown = self._rows + cell + 1, cells.cell(cell)[:40]
                raise DataError(self.path, Message(message, row, self.name, shown))
            self._values.append(values)
            return
        if any((values == values).any() for values in self._values):
            raise Reread(self.name, self._rows + cell + 1, cells.cell(cell)[:40])
        self._values, before = [], self._rows
        self._ids.append(np.full(before, -1, np.int32))
        self._add_names(cells)

    def _decide_kind(self, codes: Codes) -> Gathered:
        """Return booleans, or categories if there are few."""
        if classify_texts(self.path, self.name, len(codes.ids), codes.texts) == NAMES:
            return codes
        table = np.array([_TRUE[text.lower()] for text in codes.texts] + [np.nan])
        return Values(table[codes.ids], True)

    def _dictionary(self) -> tuple[list[bytes], NDArray[np.int64]]:
        texts = self._words.texts()
        return texts, np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)

    def _join_counts(self) -> Counts:
        parts = self._counts
        starts = np.cumsum([0, *(len(ids) for _, ids, _ in parts)])
        ends = [ends + start for (ends, _, _), start in zip(parts, starts)]
        bounds = np.concatenate([np.zeros(1, np.int64), *ends])
        ids = _join([ids for _, ids, _ in parts], np.int32)
        counts = _join([counts for _, _, counts in parts], np.float32)
        if self._known is not None or self._options.hash_bits is not None:
            return Counts(bounds, ids, counts, None, None)
        return Counts(bounds, ids, counts, *self._dictionary())

    def _cell_error(self, fault: CellFault, cells: Any) -> DataError:
        place = self._rows + fault.cell + 1, self.name
        shown = to_texts(cells, self.name, self.path).cell(fault.cell)[:40]
        what = {
            "encoding": Message(NO_UTF_8, shown),
            "overflow": Message("'{}' is no finite number", shown),
            "full": Message("more different words than 2^31"),
        }[fault.kind]
        return DataError(self.path, Message("row {}, column '{}': {}", *place, what))


def _to_booleans(cells: Texts) -> NDArray[np.float64] | None:
    """Convert true and false to numbers; return None if a cell is neither."""
    words = Words()
    ids = words.cells(cells.text, cells.offsets, cells.missing, True)
    table = [_TRUE.get(text.lower()) for text in words.texts()]
    return None if None in table else np.array([*table, np.nan], np.float64)[ids]


def _join(parts: list[NDArray], dtype: Any) -> NDArray:
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, dtype), *parts])
