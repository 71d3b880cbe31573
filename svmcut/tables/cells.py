# SPDX-License-Identifier: BSD-3-Clause
"""Cells of a column: texts, numbers, dates or lists of names."""

from __future__ import annotations

import numpy as np

from svmcut._native.words import CellFault, numbers
from svmcut.base.errors import DataError, UsageError
from svmcut.base.messages import Message
from svmcut.base.typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
        """Build from a list of texts."""
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
        words = [b"" if value != value else _format_shortest(value) for value in values.tolist()]
    return Texts.from_list(words)


#: Message for a cell.
NO_UTF_8 = "'{}' is no UTF-8; save the file as UTF-8, or convert it with iconv"


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


def _format_shortest(value: float) -> bytes:
    return repr(value).removesuffix(".0").encode()


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
