# SPDX-License-Identifier: BSD-3-Clause
r"""The encoding of a table as lines of a model file, which stand behind all others.

    #@ label N NAME                                      what the label N is called
    #@ column NAME number MEAN SCALE FILL [missing]
    #@ column NAME boolean [missing]
    #@ column NAME category VALUE VALUE ... [missing]    in the order of their features
    #@ column NAME text unicode=V ngrams=1,1 tf=count idf=smooth norm=l2 rows=N [hash=2^B]
    #@ term TERM DF                                      one a feature, behind its column
    #@ column NAME label|group|weight|dropped|empty      no features
    #@ table LINES INPUT                                 how many of these there are before; of
                                                         labels alone INPUT is svm

A name has \s, \t, \n, \r and \\ for blanks, tabs, ends of lines and backslashes, and \e for
nothing. Missing is \m among values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np

from svmcut.base.errors import ModelError
from svmcut.base.messages import Message
from svmcut.base.records import replace
from svmcut.base.typing import Any
from svmcut.spec.catalog import INPUTS
from svmcut.tables.encoding import Category, Encoding, Fitted, Number, Text, Unused
from svmcut.tables.options import MAX_HASH_BITS, MAX_NGRAM

_ESCAPES = {"\\": "\\\\", " ": "\\s", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_TABLE = str.maketrans(_ESCAPES)
_BACK = {escape[1]: sign for sign, escape in _ESCAPES.items()} | {"e": ""}
_ESCAPED = re.compile(r"\\(.)")
_MISSING = "\\m"
_ROLES = ("label", "group", "weight", "dropped", "empty")
START, END = b"#@ ", b"#@ table "
_MAX_LAST_LINE = 48


def format_lines(encoding: Encoding) -> bytes:
    """Return the lines of an encoding; none if it is empty."""
    lines = [f"label {k} {_escape(word)}" for k, word in enumerate(encoding.words, 1)]
    lines += [f"column {_escape(unused.name)} {unused.role}" for unused in encoding.unused]
    for column in encoding.columns:
        lines += _format_column(column)
    if not lines:
        return b""
    text = "".join(f"#@ {line}\n" for line in [*lines, f"table {len(lines)} {encoding.format}"])
    return text.encode("utf-8", "surrogateescape")


def count_lines_at_end(tail: bytes) -> int:
    """Return the number of lines of an encoding at the end of a file, with the last one; 0 for
    none."""
    last = tail[-_MAX_LAST_LINE:].removesuffix(b"\n").rpartition(b"\n")[2]
    number, _, input = last.removeprefix(END).partition(b" ")
    whole = last.startswith(END) and number.isdigit() and tail[-1:] == b"\n"
    return int(number) + 1 if whole and input.decode("ascii", "replace") in INPUTS else 0


def parse_lines(path: str, text: bytes, line: int) -> Encoding:
    """Return the encoding of lines that start at `line` of a file; raise ModelError with the
    invalid line."""
    reader = _Reader()
    *rows, last, _ = text.split(b"\n")
    for number, row in enumerate(rows, line):
        try:
            reader.add(row.decode().split(" "))
        except (ValueError, KeyError, TypeError):
            shown = row.decode("utf-8", "backslashreplace")[:60]
            message = "line '{}' is refused; expected a column, a term or a label of a table"
            raise ModelError(path, Message(message, shown), number, 1) from None
    return replace(reader.encoding(), format=last.decode().split(" ")[-1])


def _format_column(column: Fitted) -> Iterator[str]:
    head = f"column {_escape(column.name)}"
    missing = [_MISSING] if getattr(column, "missing", False) else []
    if isinstance(column, Number):
        numbers = [f"{value:.17g}" for value in (column.mean, column.scale, column.fill)]
        kind = ["boolean"] if column.boolean else ["number", *numbers]
        yield " ".join([head, *kind, *missing])
    elif isinstance(column, Category):
        yield " ".join([head, "category", *map(_escape, column.values), *missing])
    else:
        low, high = column.ngrams
        yield (
            f"{head} text unicode={column.unicode} ngrams={low},{high} "
            f"tf={'log' if column.log else 'count'} idf={column.idf} "
            f"norm={'l2' if column.normed else 'none'} rows={column.rows}"
            + (f" hash=2^{column.hash_bits}" if column.hash_bits is not None else "")
        )
        for term, df in zip(column.terms, column.df.tolist(), strict=True):
            yield f"term {_escape(term)} {df}"


def _escape(name: str) -> str:
    return name.translate(_TABLE) or "\\e"


def _unescape(word: str) -> str:
    if not word:
        raise ValueError
    return _ESCAPED.sub(lambda match: _BACK[match[1]], word) if "\\" in word else word


class _Reader:
    """The state while lines are parsed; an invalid one raises ValueError, KeyError or TypeError."""

    def __init__(self) -> None:
        self._words: dict[str, None] = {}
        self._names: dict[str, None] = {}
        self._unused: list[Unused] = []
        self._columns: list[Fitted] = []
        self._terms: dict[str, int] = {}
        self._text: Any = None

    def add(self, words: list[str]) -> None:
        start, kind, name, *rest = words
        if start != "#@":
            raise ValueError
        if kind == "term" and self._text is not None and self._text.hash_bits is None:
            (df,) = rest
            _add_new(self._terms, _unescape(name), _parse_count(df, 1, self._text.rows))
            return
        self._close()
        if kind == "label":
            (word,) = rest
            _parse_count(name, len(self._words) + 1, len(self._words) + 1)
            _add_new(self._words, _unescape(word))
        elif kind == "column":
            _add_new(self._names, _unescape(name))
            self._column(_unescape(name), *rest)
        else:
            raise ValueError

    def encoding(self) -> Encoding:
        self._close()
        return Encoding(tuple(self._columns), tuple(self._unused), tuple(self._words))

    def _column(self, name: str, kind: str, *rest: str) -> None:
        missing = rest[-1:] == (_MISSING,)
        values = rest[:-1] if missing else rest
        if kind in _ROLES and not rest:
            self._unused.append(Unused(name, kind))
        elif kind == "number":
            mean, scale, fill = map(_parse_finite, values)
            self._columns.append(Number(name, mean, scale, fill, missing))
        elif kind == "boolean" and not values:
            self._columns.append(Number(name, missing=missing, boolean=True))
        elif kind == "category":
            names = dict.fromkeys(map(_unescape, values))
            if len(names) < len(values):
                raise ValueError
            self._columns.append(Category(name, tuple(names), missing))
        elif kind == "text":
            self._text = _parse_text_column(name, dict(word.split("=", 1) for word in rest))
        else:
            raise ValueError

    def _close(self) -> None:
        """End the terms of a column."""
        if self._text is not None:
            df = np.array([*self._terms.values()], np.int64)
            self._columns.append(replace(self._text, terms=tuple(self._terms), df=df))
        self._text, self._terms = None, {}


def _parse_text_column(name: str, words: dict[str, str]) -> Text:
    low, high = (_parse_count(word, 1, MAX_NGRAM) for word in words["ngrams"].split(","))
    bits = (
        _parse_count(words["hash"].removeprefix("2^"), 1, MAX_HASH_BITS)
        if "hash" in words
        else None
    )
    log = {"log": True, "count": False}[words["tf"]]
    normed = {"l2": True, "none": False}[words["norm"]]
    if words["idf"] not in ("smooth", "plain", "none") or low > high:
        raise ValueError
    how = (low, high), log, words["idf"], normed, _parse_count(words["rows"], 0, 2**53)
    return Text(name, *how, (), np.zeros(0, np.int64), bits, words["unicode"])


def _add_new(known: dict[str, Any], name: str, value: Any = None) -> None:
    """Add a name; raise ValueError if it is known."""
    if name in known:
        raise ValueError
    known[name] = value


def _parse_count(word: str, least: int, most: int) -> int:
    """Parse a whole number from least to most."""
    value = int(word) if word.isascii() and word.isdigit() and len(word) <= 20 else -1
    if not least <= value <= most:
        raise ValueError
    return value


def _parse_finite(word: str) -> float:
    value = float(word)
    if not math.isfinite(value):
        raise ValueError
    return value
