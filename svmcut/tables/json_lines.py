# SPDX-License-Identifier: BSD-3-Clause
"""JSON lines as an Arrow table: each row is an object whose keys are column names."""

from __future__ import annotations

import itertools
import json
import re

import numpy as np

from svmcut.base.errors import DataError, NoExamples
from svmcut.base.messages import Message
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.files.text import Text
from svmcut.tables.cells import check_names, import_pyarrow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_MARK = b"\xef\xbb\xbf"
#: Levels of nested lists and objects; Arrow takes any number, and crashes on tens of thousands.
MAX_LEVELS = 64
#: Bytes of a block, from which Arrow infers the types of columns.
_BLOCK, _MAX_BLOCK = 1 << 20, 2**31 - 1
#: Smallest integer that shares its float64 with another.
_MIN_INEXACT = 2.0**53
_PIECE = 1 << 20
_MORE, _ROW = re.compile(r"\S"), re.compile(r" in row (\d+)")
_STEPS = np.zeros(256, np.int8)
_STEPS[[*b"[{"]], _STEPS[[*b"]}"]] = 1, -1


def read_lines(path: str, text: Text) -> Any:
    """Return the table of a file.

    Raises DataError with the line, for text that is no JSON object or is nested too deep, and for a
    column of two kinds.
    """
    from pyarrow import json as reader

    pa, data = import_pyarrow(), text.rest().removeprefix(_MARK)
    if not data.strip():
        raise NoExamples(path)
    _check_levels(path, data)
    options = reader.ReadOptions(block_size=min(_MAX_BLOCK, max(_BLOCK, len(data) + 1)))
    try:
        table = reader.read_json(pa.BufferReader(data), read_options=options)
    except pa.ArrowException as error:
        raise DataError(path, *_find_fault(data, str(error))) from None
    check_names(path, table.schema)
    rounded = [name for name in table.column_names if _has_inexact(pa, table.column(name))]
    return _restore_digits(pa, path, table, data, rounded) if rounded else table


def _check_levels(path: str, data: bytes) -> None:
    """Raise DataError for data nested too deep."""
    steps = (_STEPS[piece] for piece in _split(data))
    if _find_deep(steps) < 0:
        return
    # brackets within texts are none
    plain = data.replace(b"\\\\", b"  ").replace(b'\\"', b"  ")
    at = _find_deep(_steps_outside_texts(plain))
    if at >= 0:
        message = Message("nested too deep; expected at most {} levels", MAX_LEVELS)
        raise DataError(path, message, 1 + data.count(b"\n", 0, at))


def _split(data: bytes) -> Iterator[NDArray[np.uint8]]:
    whole = np.frombuffer(data, np.uint8)
    for start in range(0, len(whole), _PIECE):
        yield whole[start : start + _PIECE]


def _steps_outside_texts(data: bytes) -> Iterator[NDArray[np.int8]]:
    """Yield the steps of brackets, 0 within texts."""
    inside = 0
    for piece in _split(data):
        quotes = np.bitwise_xor.accumulate(piece == ord('"')) ^ inside
        inside = bool(quotes[-1])
        yield np.where(quotes, 0, _STEPS[piece])


def _find_deep(pieces: Iterator[NDArray[np.int8]]) -> int:
    """Return the place where too many brackets are open, -1 if there is none; unmatched closing
    brackets are ignored."""
    start, level = 0, 0
    for steps in pieces:
        sums = np.cumsum(steps, dtype=np.int32)
        levels = sums - np.minimum(np.minimum.accumulate(sums), -level)
        if levels.max() > MAX_LEVELS:
            return start + int(np.argmax(levels > MAX_LEVELS))
        start, level = start + len(steps), int(levels[-1])
    return -1


def _has_inexact(pa: Any, column: Any) -> bool:
    """Return whether a column has numbers that stand for several integers."""
    if pa.types.is_list(column.type):
        column = column.combine_chunks().flatten()
    if not pa.types.is_floating(column.type):
        return False
    values = column.to_numpy()
    return bool((np.abs(values) >= _MIN_INEXACT).any())


def _restore_digits(pa: Any, path: str, table: Any, data: bytes, names: list[str]) -> Any:
    """Return the table with these columns as the texts of their numbers."""
    texts_of: dict[str, list[Any]] = {name: [] for name in names}
    for row in _parse_rows(data):
        for name, cells in texts_of.items():
            cells.append(row.get(name))
    for name, cells in texts_of.items():
        if len(cells) != table.num_rows:
            message = "column '{}' holds numbers beyond 2^53; write them as texts"
            raise DataError(path, Message(message, name))
        place = table.column_names.index(name)
        kind = _text_type(pa, table.column(place).type)
        table = table.set_column(place, name, [pa.array(cells, kind)])
    return table


def _text_type(pa: Any, kind: Any) -> Any:
    return pa.list_(_text_type(pa, kind.value_type)) if pa.types.is_list(kind) else pa.string()


def _parse_rows(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the rows with their numbers as texts."""
    decoder = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str, strict=False)
    text, at = data.decode("utf-8", "surrogateescape"), 0
    while (start := _MORE.search(text, at)) is not None:
        row, at = decoder.raw_decode(text, start.start())
        yield row


def _find_fault(text: bytes, told: str) -> tuple[Any, ...]:
    """Return the message and the line of the first fault."""
    kinds: dict[str, Any] = {}
    for number, line in enumerate(text.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            return Message("no JSON: {}", str(error)), number
        if not isinstance(row, dict):
            return 'no object of JSON; expected one a line, as in {"label": 1}', number
        for name, value in row.items():
            kind = "number" if isinstance(value, float) else type(value).__name__
            kind = {"int": "number", "str": "text", "bool": "truth value"}.get(kind, kind)
            if value is not None and kinds.setdefault(name, kind) != kind:
                message = "column '{}' holds a {} and before a {}; give it one kind"
                return Message(message, name, kind, kinds[name]), number
    what = Message("{}", told.splitlines()[0])
    if match := _ROW.search(told):
        lines = (k for k, line in enumerate(text.split(b"\n"), 1) if line.strip())
        return what, next(itertools.islice(lines, int(match[1]), None), None)
    return (what,)
