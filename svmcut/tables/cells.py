# SPDX-License-Identifier: BSD-3-Clause
"""Cells of a column: texts, numbers or lists of names."""

from __future__ import annotations

import numpy as np

from svmcut._native.words import CellFault, numbers
from svmcut.base.errors import DataError, UsageError
from svmcut.base.messages import Message
from svmcut.base.typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Texts(NamedTuple):
    """Texts one behind the other: cell i is the UTF-8 text[offsets[i] : offsets[i + 1]].

    Attributes
    ----------
    text : (bytes,) uint8
    offsets : (n + 1,) int64
    missing : (n,) uint8 or None
        Whether there is no cell.
    """

    text: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    missing: NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def cell(self, row: int) -> str:
        """A cell as a message shows it."""
        start, stop = self.offsets[row : row + 2].tolist()
        return bytes(self.text[start:stop]).decode("utf-8", "backslashreplace")

    @classmethod
    def of(cls, cells: list[bytes]) -> Texts:
        """Of a list of texts."""
        offsets = np.zeros(len(cells) + 1, np.int64)
        np.cumsum([len(cell) for cell in cells], out=offsets[1:])
        return cls(np.frombuffer(b"".join(cells), np.uint8), offsets)


class Numbers(NamedTuple):
    """Numbers of a column.

    Attributes
    ----------
    values : (n,) float64
        nan where one is missing.
    boolean : bool
        Whether they are True and False.
    exact : Arrow array or None
        Integers and decimals, of which two may be one float64.
    """

    values: NDArray[np.float64]
    boolean: bool = False
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


def pyarrow() -> Any:
    """The library that reads tables.

    Raises
    ------
    UsageError
        Where it is not installed, or cannot be imported.
    """
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
    """Refuses, as a DataError, a table without columns, or with names that are no UTF-8."""
    try:
        names = schema.names
    except UnicodeDecodeError:
        raise DataError(path, "a name of a column is no UTF-8") from None
    if not names:
        raise DataError(path, "has no columns")


def validated(column: Any, n: int) -> Any:
    """An Arrow array of n cells whose offsets, lengths and indices lie within its buffers; texts
    are bytes, which need not be UTF-8.

    Raises
    ------
    pyarrow.ArrowInvalid
        Where they do not: Arrow believes files, and reads beside the buffers then.
    """
    pa = pyarrow()
    if len(column) != n:
        raise pa.ArrowInvalid(f"{len(column)} cells in {n} rows")
    if pa.types.is_string(column.type):
        column = column.view(pa.binary())
    elif pa.types.is_large_string(column.type):
        column = column.view(pa.large_binary())
    column.validate(full=True)
    return column


def cells_of(column: Any, name: str, path: str) -> Cells:
    """The cells of an Arrow array, which is `validated`.

    Raises
    ------
    DataError
        For what is neither text, number, date nor list of names.
    """
    pa = pyarrow()
    try:
        return _cells(pa, column, name, path)
    except pa.ArrowException:
        message = "column '{}' holds values of the type {}; expected texts or numbers, or {drop=}"
        kind = _shortened(str(column.type))
        raise DataError(path, Message(message, name, kind, name)) from None


def _cells(pa: Any, column: Any, name: str, path: str) -> Cells:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _cells(pa, column.cast(kind.value_type), name, path)
    if pa.types.is_temporal(kind):
        return Dates(_moments(pa, column))
    if pa.types.is_boolean(kind):
        return Numbers(_floats(column.cast(pa.int8()).cast(pa.float64())), True)
    if pa.types.is_decimal(kind):
        return Numbers(_rounded(pa, column), exact=column)
    if pa.types.is_integer(kind):
        return Numbers(_floats(column.cast(pa.float64(), safe=False)), exact=column)
    if pa.types.is_floating(kind):
        return Numbers(_floats(column.cast(pa.float64())))
    if pa.types.is_null(kind):
        return Numbers(np.full(len(column), np.nan))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        if pa.types.is_nested(kind.value_type):
            raise DataError(path, _lists(name))
        names = as_texts(_cells(pa, column.flatten(), name, path), name, path)
        lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        return Sets(names, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))
    return _texts(column.cast(pa.large_binary()))


def as_texts(cells: Cells, name: str, path: str) -> Texts:
    """Cells as texts: numbers as they are written shortest, integers and decimals with all their
    digits.

    Raises
    ------
    DataError
        For lists.
    """
    if isinstance(cells, Texts):
        return cells
    if isinstance(cells, Dates):
        return cells.texts
    if isinstance(cells, Sets):
        raise DataError(path, _lists(name))
    values = cells.values
    if cells.exact is not None:
        return _digits(pyarrow(), cells.exact)
    if cells.boolean:
        words = [b"" if value != value else b"true" if value else b"false" for value in values]
    else:
        words = [b"" if value != value else _short(value) for value in values.tolist()]
    return Texts.of(words)


#: The refusal of a cell.
NO_UTF_8 = "'{}' is no UTF-8; save the file as UTF-8, or convert it with iconv"


def number_of(text: bytes) -> float:
    """The number in a cell; nan where there is none, or none that is finite."""
    try:
        return float(numbers(*Texts.of([text])[:2])[0])
    except CellFault:
        return float("nan")


def dates(name: str) -> Message:
    """The refusal of dates."""
    return Message(
        "column '{}' holds dates; make numbers of them, take them as names by {categories=}, or "
        "leave them out by {drop=}",
        name,
        name,
        name,
    )


def _lists(name: str) -> Message:
    return Message("column '{}' holds lists; leave it out by {drop=}", name, name)


def _shortened(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[:most]}.."


def _moments(pa: Any, column: Any) -> Texts:
    """Dates and times as they are written shortest: without fractions of 0, and a day without its
    first moment."""
    from pyarrow import compute

    if pa.types.is_duration(column.type):
        column = column.cast(pa.int64())
    texts = column.cast(pa.string())
    for pattern in (r"\.0+$", r" 00:00:00$"):
        texts = compute.replace_substring_regex(texts, pattern, "")
    return _texts(texts.cast(pa.large_binary()))


def _short(value: float) -> bytes:
    return repr(value).removesuffix(".0").encode()


def _digits(pa: Any, column: Any) -> Texts:
    """Integers and decimals as texts, without zeros at their ends."""
    if pa.types.is_integer(column.type):
        return _texts(column.cast(pa.large_string()))
    texts = (None if value is None else f"{value:f}" for value in column.to_pylist())
    short = [text.rstrip("0").rstrip(".") if text and "." in text else text or "" for text in texts]
    return Texts.of([text.encode() for text in short])


def _rounded(pa: Any, column: Any) -> NDArray[np.float64]:
    """Decimals as the nearest float64, which Arrow's own are not always."""
    try:
        return numbers(*_texts(column.cast(pa.large_string())))
    except CellFault:
        return _floats(column.cast(pa.float64()))


def _floats(column: Any) -> NDArray[np.float64]:
    return np.ascontiguousarray(column.to_numpy(zero_copy_only=False), np.float64)


def _texts(column: Any) -> Texts:
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
