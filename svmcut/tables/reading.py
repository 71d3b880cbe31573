# SPDX-License-Identifier: BSD-3-Clause
"""Readers of tables, batch after batch: CSV, TSV, JSON lines, Parquet and Arrow files, plain or
compressed, and lines of a label and a text."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError, NoExamples
from svmcut.base.messages import Message, join_names
from svmcut.base.typing import Any, NamedTuple
from svmcut.files.remote import is_url, local_path
from svmcut.files.text import PACKINGS, Text, open_text
from svmcut.tables.cells import (
    Cells,
    Texts,
    check_names,
    import_pyarrow,
    parse_number,
    to_cells,
    validate_column,
)

#: Bytes of a block of text, and rows of a batch.
_BLOCK = 1 << 24
#: Bytes of a first row in which a quote may hold newlines.
_MAX_HEADER = 1 << 16
_ROWS = 1 << 16
_WIDE = (b"\xff\xfe", b"\xfe\xff")
_DELIMITERS, _QUOTED_CELL = b",;\t|", re.compile(rb'"[^"]*"')
LABEL, TEXT = "label", "text"
#: Names in messages.
FRAME = "the table"
PARQUET, ARROW = "Parquet file", "Arrow file"


class Table(NamedTuple):
    """Names of columns, and batches with one Arrow array or Texts per column."""

    names: list[str]
    batches: Iterator[list[Any]]


@contextmanager
def open_table(path: str, input: str, groups: tuple[int, int] | None = None) -> Iterator[Table]:
    """Yield the table of a file.

    `input` is csv, tsv, jsonl, parquet, arrow or text; ``-`` is standard input. `groups` selects
    row groups of a Parquet file, from the first up to, not including, the second. Raises UsageError
    without pyarrow; DataError if the file is not in this format, is empty, has two columns of one
    name, or, with its row, a line with other columns than the first.
    """
    if input != "text":
        import_pyarrow()
    with open_text(path) as source:
        table = (
            _READERS[input](path, source) if groups is None else _open_parquet(path, source, groups)
        )
        if len({*table.names}) < len(table.names):
            name = next(name for name in table.names if table.names.count(name) > 1)
            places = [str(k) for k, other in enumerate(table.names, 1) if other == name]
            message = "the columns {} are all named '{}'; rename all but one"
            raise DataError(path, Message(message, join_names(places), name))
        yield table


def open_frame(frame: Any) -> Table:
    """Return the table of a DataFrame, or of another object that Arrow takes as a table."""
    pa = import_pyarrow()
    with _as_data_error(FRAME, "table for Arrow"):
        if hasattr(frame, "__arrow_c_stream__") or isinstance(frame, pa.Table):
            table = pa.table(frame)
        elif hasattr(frame, "to_arrow"):
            table = frame.to_arrow()
        else:
            table = pa.Table.from_pandas(frame, preserve_index=False)
        batches = iter(table.combine_chunks().to_batches(_ROWS))
    return _validate_batches(FRAME, "table for Arrow", table.schema, batches)


def read_cells(path: str, name: str, column: Any) -> Cells:
    """Return the cells of a column of a batch; raise as `svmcut.tables.cells.to_cells`."""
    return column if isinstance(column, Texts) else to_cells(column, name, path)


class _File(io.RawIOBase):
    """The text of a file as a stream for Arrow."""

    def __init__(self, text: Text, head: bytes):
        super().__init__()
        self._text, self._head, self.quotes = text, head, 0

    def readable(self) -> bool:
        return True

    def readinto(self, view: Any) -> int:
        view = memoryview(view)
        if self._head:
            count = min(len(view), len(self._head))
            view[:count], self._head = self._head[:count], self._head[count:]
        else:
            count = self._text.readinto(view)
        self.quotes += bytes(view[:count]).count(b'"')
        return count


def _parse_header(path: str, line: bytes, sign: str) -> list[str]:
    if b"\r" in _QUOTED_CELL.sub(b"", line):
        message = "lines end in carriage returns alone; expected newlines, as tr '\\r' '\\n' makes"
        raise DataError(path, message, 1, line.index(b"\r") + 1)
    try:
        return next(csv.reader([line.decode("utf-8", "backslashreplace")], delimiter=sign))
    except csv.Error as error:
        raise DataError(path, Message("no header: {}", str(error)), 1, 1) from None


def _read_start(path: str, text: Text) -> bytes:
    """Return at least the first row, if there is one, without a byte order mark."""
    head, view = bytearray(), memoryview(bytearray(1 << 16))
    while (_end_of_row(head) < 0 or len(head) < len(BOM_UTF8)) and (count := text.readinto(view)):
        head += view[:count]
    start = bytes(head)
    if start.startswith(_WIDE):
        message = "is UTF-16; save the file as UTF-8, or convert it with iconv"
        raise DataError(path, message)
    return start.removeprefix(BOM_UTF8)


def _end_of_row(head: bytes | bytearray) -> int:
    """Return the place of the first newline outside quotes; of the first at all where a quote
    stands open for longer than a header is, and -1 if there is none yet."""
    first = end = head.find(b"\n")
    while 0 <= end < _MAX_HEADER:
        if head.count(b'"', 0, end) % 2 == 0:
            return end
        end = head.find(b"\n", end + 1)
    return -1 if end < 0 else first


def _open_delimited(path: str, text: Text, delimiter: bytes | None = None) -> Table:
    from pyarrow import csv as reader

    text.check_kind()
    pa, head = import_pyarrow(), _read_start(path, text)
    if not head.strip():
        raise NoExamples(path)
    if any(head.startswith(magic) for magic in PACKINGS):
        raise DataError(path, "is packed twice; unpack it once")
    head = head.lstrip(b"\r\n")
    end = _end_of_row(head)
    if end < 0:  # a quote stands open up to the end, or there is one line alone
        end = (head + b"\n").index(b"\n")
    line = head[:end].rstrip(b"\r")
    sign = chr(delimiter[0] if delimiter else _guess_delimiter(line))
    first = _parse_header(path, line, sign)
    headed = all(math.isnan(parse_number(cell.encode("utf-8", "replace"))) for cell in first)
    names = [cell.strip() or str(k) for k, cell in enumerate(first, 1)]
    if not headed:
        names = [str(k) for k in range(1, len(first) + 1)]

    how = {
        "read_options": reader.ReadOptions(column_names=names, block_size=_BLOCK),
        "parse_options": reader.ParseOptions(delimiter=sign, newlines_in_values=True),
        "convert_options": reader.ConvertOptions(
            column_types=dict.fromkeys(names, pa.binary()), check_utf8=False, null_values=[]
        ),
    }

    def batches() -> Iterator[list[Any]]:
        start = end + 1 if headed else 0
        file, rows, last = _File(text, head[start:]), 0, []
        file.quotes = head.count(b'"', 0, start)
        try:
            with reader.open_csv(pa.PythonFile(file, mode="r"), **how) as reading:
                for batch in reading:
                    rows, last = rows + batch.num_rows, batch.columns
                    last = [validate_column(column, batch.num_rows) for column in last]
                    yield last
            if file.quotes % 2 and any(
                len(column) and b"\n" in column[-1].as_py() for column in last
            ):
                raise DataError(path, f"row {rows}: a quote stands open up to the end of the file")
        except pa.ArrowException as error:
            if not (headed and "Empty CSV" in str(error)):  # a header without rows is a table
                raise DataError(path, _arrow_message(str(error), headed, len(names))) from None

    return Table(names, batches())


_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")


def _arrow_message(text: str, headed: bool, columns: int) -> Message | str:
    """Return Arrow's error about a file in svmcut's words."""
    if match := _RAGGED.search(text):
        row, expected, actual = map(int, match.groups())
        return _ragged_message(row, actual, expected, headed)
    if "straddl" in text:
        return f"a row is longer than {_BLOCK:,} bytes; does a quote stand open?"
    if "Empty CSV" in text:
        return "no examples"
    return Message("{}", text.splitlines()[0])


def _ragged_message(number: int | None, actual: int, expected: int, headed: bool) -> Message:
    where = "a row" if number is None else f"row {number}"
    like = "the header" if headed else "row 1"
    return Message("{} has {} columns; expected {}, as in {}", where, actual, expected, like)


def _guess_delimiter(line: bytes) -> int:
    """Return the delimiter that occurs most often outside quotes in the first line; a comma if none
    does."""
    bare = _QUOTED_CELL.sub(b"", line)
    return max(_DELIMITERS, key=lambda sign: bare.count(sign))


def _validate_batches(path: str, what: str, schema: Any, batches: Iterator[Any]) -> Table:
    """Return a table of Arrow's batches, whose buffers are validated before anything reads them."""
    check_names(path, schema)

    def checked() -> Iterator[list[Any]]:
        with _as_data_error(path, what):
            for batch in batches:
                columns = []
                for name, column in zip(schema.names, batch.columns, strict=True):
                    with _as_data_error(path, f"{what}: column '{name}'"):
                        columns.append(validate_column(column, batch.num_rows))
                yield columns

    return Table(schema.names, checked())


@contextmanager
def _as_data_error(path: str, what: str) -> Iterator[None]:
    """Turn failures of Arrow into a DataError that names the expected format."""
    pa = import_pyarrow()
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError) as error:
        message = [*str(error).splitlines(), "damaged"][0]
        raise DataError(path, Message("no {}: {}", what, message)) from None


def _open_json_lines(path: str, text: Text) -> Table:

    table = read_lines(path, text)
    batches = iter(table.combine_chunks().to_batches(_ROWS))
    return _validate_batches(path, "JSON", table.schema, batches)


def _open_parquet(path: str, text: Text, groups: tuple[int, int] | None = None) -> Table:
    with _as_data_error(path, PARQUET):
        file = _parquet_file(path, text)
        some = None if groups is None else list(range(*groups))
        batches = file.iter_batches(_ROWS, row_groups=some)
        return _validate_batches(path, PARQUET, file.schema_arrow, batches)


def _parquet_file(path: str, text: Text) -> Any:
    from pyarrow import parquet

    with _as_data_error(path, PARQUET):
        return parquet.ParquetFile(_as_seekable(text, import_pyarrow()))


def row_group_sizes(path: str) -> list[int]:
    """Return the unpacked bytes of every row group of a Parquet file; raise as `open_table`."""
    with open_text(path) as text:
        about = _parquet_file(path, text).metadata
        return [about.row_group(k).total_byte_size for k in range(about.num_row_groups)]


def _open_arrow(path: str, text: Text) -> Table:
    from pyarrow import ipc

    pa = import_pyarrow()
    with _as_data_error(path, ARROW):
        source = _as_seekable(text, pa)
        try:
            file = ipc.open_file(source)
        except pa.ArrowInvalid:
            source.seek(0)
            stream = ipc.open_stream(source)
            return _validate_batches(path, ARROW, stream.schema, stream)
        batches = (file.get_batch(k) for k in range(file.num_record_batches))
        return _validate_batches(path, ARROW, file.schema, batches)


def _as_seekable(text: Text, pa: Any) -> Any:
    """Return a file that Arrow can seek in: the file itself if it is plain, else its whole
    content."""
    if text.state is not None and text.path != "-" and text.size == text.state[0]:
        return pa.memory_map(local_path(text.path))
    if is_url(text.path) and text.size >= 0 and text.raw.seekable():
        text.raw.seek(0)
        return pa.PythonFile(io.BufferedReader(text.raw), mode="r")
    return pa.BufferReader(text.rest())


def _open_documents(path: str, text: Text) -> Table:
    """Return lines of a label and a text: LABEL<tab>TEXT, or fastText's __label__A __label__B
    TEXT."""
    return Table([LABEL, TEXT], _read_documents(path, text))


def _read_documents(path: str, text: Text) -> Iterator[list[Any]]:
    kept, number, view = b"", 0, memoryview(bytearray(_BLOCK))
    while True:
        count = text.readinto(view)
        block = kept + bytes(view[:count])
        end = block.rfind(b"\n") + 1 if count else len(block)
        kept, lines = block[end:], block[:end].split(b"\n")
        if lines and not lines[-1]:
            lines.pop()
        labels, texts = [], []
        for line in lines:
            number += 1
            line = line.removeprefix(BOM_UTF8) if number == 1 else line
            if not line.strip():
                continue
            label, body = _split_label(line)
            if label is None:
                message = "no tab behind a label; expected LABEL, a tab and the text, or __label__"
                raise DataError(path, message, number, 1)
            labels.append(label)
            texts.append(body)
        if labels:
            yield [Texts.from_list(labels), Texts.from_list(texts)]
        if not count:
            return


_MARKED = b"__label__"


def _split_label(line: bytes) -> tuple[bytes | None, bytes]:
    line = line.rstrip(b"\r")
    if not line.startswith(_MARKED):
        label, tab, body = line.partition(b"\t")
        return (label.strip() if tab else None), body
    names, rest = [], line
    while rest.startswith(_MARKED):
        word, _, rest = rest.partition(b" ")
        names.append(word.removeprefix(_MARKED).strip())
        rest = rest.lstrip()
    return b"|".join(names), rest


_READERS = {
    "csv": _open_delimited,
    "tsv": lambda path, text: _open_delimited(path, text, b"\t"),
    "jsonl": _open_json_lines,
    "parquet": _open_parquet,
    "arrow": _open_arrow,
    "text": _open_documents,
}


#: Levels of nested lists and objects; Arrow takes any number, and crashes on tens of thousands.
MAX_LEVELS = 64
#: Bytes of a block, from which Arrow infers the types of columns.
_MIN_BLOCK, _MAX_BLOCK = 1 << 20, 2**31 - 1
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

    pa, data = import_pyarrow(), text.rest().removeprefix(BOM_UTF8)
    if not data.strip():
        raise NoExamples(path)
    _check_levels(path, data)
    options = reader.ReadOptions(block_size=min(_MAX_BLOCK, max(_MIN_BLOCK, len(data) + 1)))
    try:
        table = reader.read_json(pa.BufferReader(data), read_options=options)
    except pa.ArrowException as error:
        raise DataError(path, *_find_fault(data, str(error))) from None
    check_names(path, table.schema)
    rounded = [name for name in table.column_names if _has_inexact(pa, table.column(name))]
    return _restore_digits(pa, path, table, data, rounded) if rounded else table


def _check_levels(path: str, data: bytes) -> None:
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
