# SPDX-License-Identifier: BSD-3-Clause
"""Cells of a column: texts, numbers, dates or lists of names, gathered batch after batch before
they are fitted, or as a model knows them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from svmcut._native.words import CellFault, Words, numbers
from svmcut.base.errors import DataError, UsageError
from svmcut.base.messages import Message, NameGroup
from svmcut.base.typing import Any, NamedTuple, TypeAlias
from svmcut.tables.encoding import Category, Codes, Counts, Fitted, Gathered, Number, Text, Values
from svmcut.tables.options import TableOptions


class Texts(NamedTuple):
    """Concatenated texts: cell i is the UTF-8 text[offsets[i] : offsets[i + 1]]."""

    #: (bytes,) of all cells.
    text: NDArray[np.uint8]
    #: (n + 1,)
    offsets: NDArray[np.int64]
    #: (n,) 1 where there is no cell; None if all are there.
    missing: NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def cell(self, row: int) -> str:
        """Return a cell as messages show it."""
        start, stop = self.offsets[row : row + 2].tolist()
        return bytes(self.text[start:stop]).decode("utf-8", "backslashreplace")

    @classmethod
    def from_list(cls, cells: list[bytes]) -> Texts:
        offsets = np.zeros(len(cells) + 1, np.int64)
        np.cumsum([len(cell) for cell in cells], out=offsets[1:])
        return cls(np.frombuffer(b"".join(cells), np.uint8), offsets)


class Numbers(NamedTuple):
    """The numbers of a column."""

    #: (n,) nan if missing.
    values: NDArray[np.float64]
    #: True if the numbers are True and False.
    boolean: bool = False
    #: Arrow array of integers or decimals, of which two may be one float64.
    exact: Any = None

    def __len__(self) -> int:
        return len(self.values)


class Dates(NamedTuple):
    """Dates, times and durations as texts."""

    texts: Texts

    def __len__(self) -> int:
        return len(self.texts)


class Sets(NamedTuple):
    """Lists of names: those of row i are names.cell(k) for k from bounds[i] to bounds[i + 1]."""

    names: Texts
    bounds: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.bounds) - 1


Cells: TypeAlias = Texts | Numbers | Dates | Sets


def import_pyarrow() -> Any:
    """Return the library that reads tables; raise UsageError if it cannot be imported."""
    try:
        import pyarrow as library
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "pyarrow":
            raise UsageError(
                "tables are read by pyarrow, which is not installed; pip install pyarrow"
            ) from None
        raise UsageError(
            "tables are read by pyarrow, which cannot be imported: {}", " ".join(str(error).split())
        ) from None
    return library


def check_names(path: str, schema: Any) -> None:
    """Raise DataError for a table without columns, or with names that are no UTF-8."""
    try:
        names = schema.names
    except UnicodeDecodeError:
        raise DataError(path, "a name of a column is no UTF-8") from None
    if not names:
        raise DataError(path, "has no columns")


def validate_column(column: Any, n: int) -> Any:
    """Return an Arrow array of n cells whose offsets, lengths and indices lie within its buffers;
    texts become bytes, which need not be UTF-8.

    Raises pyarrow.ArrowInvalid otherwise: Arrow trusts files, and would read outside the buffers.
    """
    pa = import_pyarrow()
    if len(column) != n:
        raise pa.ArrowInvalid(f"{len(column)} cells in {n} rows")
    if pa.types.is_string(column.type):
        column = column.view(pa.binary())
    elif pa.types.is_large_string(column.type):
        column = column.view(pa.large_binary())
    column.validate(full=True)
    return column


def to_cells(column: Any, name: str, path: str) -> Cells:
    """Convert an Arrow array that `validate_column` returned; raise DataError for other types of
    cells."""
    pa = import_pyarrow()
    try:
        return _convert(pa, column, name, path)
    except pa.ArrowException:
        message = "column '{}' holds values of the type {}; expected texts or numbers, or {drop=}"
        kind = _shorten(str(column.type))
        raise DataError(path, Message(message, name, kind, name)) from None


def _convert(pa: Any, column: Any, name: str, path: str) -> Cells:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _convert(pa, column.cast(kind.value_type), name, path)
    if pa.types.is_temporal(kind):
        return Dates(_format_dates(pa, column))
    if pa.types.is_boolean(kind):
        return Numbers(_to_floats(column.cast(pa.int8()).cast(pa.float64())), True)
    if pa.types.is_decimal(kind):
        return Numbers(_decimals_to_floats(pa, column), exact=column)
    if pa.types.is_integer(kind):
        return Numbers(_to_floats(column.cast(pa.float64(), safe=False)), exact=column)
    if pa.types.is_floating(kind):
        return Numbers(_to_floats(column.cast(pa.float64())))
    if pa.types.is_null(kind):
        return Numbers(np.full(len(column), np.nan))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        if pa.types.is_nested(kind.value_type):
            raise DataError(path, _lists_message(name))
        names = to_texts(_convert(pa, column.flatten(), name, path), name, path)
        lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        return Sets(names, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))
    return _to_texts(column.cast(pa.large_binary()))


def to_texts(cells: Cells, name: str, path: str) -> Texts:
    """Convert cells to texts: floats in their shortest form, integers and decimals with all digits.

    Raises DataError for lists.
    """
    if isinstance(cells, Texts):
        return cells
    if isinstance(cells, Dates):
        return cells.texts
    if isinstance(cells, Sets):
        raise DataError(path, _lists_message(name))
    values = cells.values
    if cells.exact is not None:
        return _format_exactly(import_pyarrow(), cells.exact)
    if cells.boolean:
        words = [b"" if value != value else b"true" if value else b"false" for value in values]
    else:
        words = [
            b"" if value != value else repr(value).removesuffix(".0").encode()
            for value in values.tolist()
        ]
    return Texts.from_list(words)


#: Message for a cell.
NO_UTF_8 = "'{}' is no UTF-8; save the file as UTF-8, or convert it with iconv"


def show_text(text: bytes) -> str:
    """Return the start of a text as messages show it."""
    return text.decode("utf-8", "backslashreplace")[:40]


def parse_number(text: bytes) -> float:
    """Return the number in a cell; nan if it is none, or not finite."""
    try:
        return float(numbers(*Texts.from_list([text])[:2])[0])
    except CellFault:
        return float("nan")


def dates_message(name: str) -> Message:
    """Return the refusal of a column of dates."""
    return Message(
        "column '{}' holds dates; make numbers of them, take them as names by {categories=}, or "
        "leave them out by {drop=}",
        name,
        name,
        name,
    )


def _lists_message(name: str) -> Message:
    return Message("column '{}' holds lists; leave it out by {drop=}", name, name)


def _shorten(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[:most]}.."


def _format_dates(pa: Any, column: Any) -> Texts:
    """Format dates and times in their shortest form: without zero fractions, and a day without
    00:00:00."""
    from pyarrow import compute

    if pa.types.is_duration(column.type):
        column = column.cast(pa.int64())
    texts = column.cast(pa.string())
    for pattern in (r"\.0+$", r" 00:00:00$"):
        texts = compute.replace_substring_regex(texts, pattern, "")
    return _to_texts(texts.cast(pa.large_binary()))


def _format_exactly(pa: Any, column: Any) -> Texts:
    """Format integers and decimals without trailing zeros."""
    if pa.types.is_integer(column.type):
        return _to_texts(column.cast(pa.large_string()))
    texts = (None if value is None else f"{value:f}" for value in column.to_pylist())
    short = [text.rstrip("0").rstrip(".") if text and "." in text else text or "" for text in texts]
    return Texts.from_list([text.encode() for text in short])


def _decimals_to_floats(pa: Any, column: Any) -> NDArray[np.float64]:
    """Convert decimals to the nearest float64, which Arrow's conversion does not always give."""
    try:
        return numbers(*_to_texts(column.cast(pa.large_string())))
    except CellFault:
        return _to_floats(column.cast(pa.float64()))


def _to_floats(column: Any) -> NDArray[np.float64]:
    return np.ascontiguousarray(column.to_numpy(zero_copy_only=False), np.float64)


def _to_texts(column: Any) -> Texts:
    _, offsets, text = column.buffers()
    n, bounds = len(column), np.zeros(1, np.int64)
    if n:
        bounds = np.frombuffer(offsets, np.int64, n + 1, 8 * column.offset)
    missing = None
    if column.null_count:
        flags = column.is_null().to_numpy(zero_copy_only=False)
        missing = np.ascontiguousarray(flags, np.uint8)
    data = np.zeros(0, np.uint8) if text is None else np.frombuffer(text, np.uint8)
    return Texts(data, np.require(bounds, requirements=["C", "A"]), missing)


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
    K, first = len(texts), show_text(texts[0]) if texts else ""
    if all(text.lower() in _TRUE for text in texts):
        return BOOLEANS
    if max(min(MAX_FEW_CATEGORIES, (n + 1) // 2), min(MAX_CATEGORIES, n // ROWS_PER_CATEGORY)) >= K:
        return NAMES
    if _DATE.fullmatch(first):
        raise Undecided(path, name, Message("dates, such as '{}'", first), dates_message(name))
    values = [parse_number(text) for text in texts[:_MAX_EXAMINED]]
    others = [text for text, value in zip(texts, values) if value != value]
    if others and 2 * len(others) <= len(values):
        other = show_text(others[0])
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
