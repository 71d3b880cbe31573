# SPDX-License-Identifier: BSD-3-Clause
r"""Files of sequences in CRFsuite's format: one token per line, ``TAG<tab>ATTRIBUTE<tab>ATTRIBUTE
...``, and an empty line after every sequence.

An attribute is ``NAME``, with value 1, or ``NAME:VALUE``; within a name ``\:`` is a colon and
``\\`` a backslash. Values of a repeated name are added. Attributes are numbered as they come, tags
in sorted order.
"""

from __future__ import annotations

import re
from array import array
from codecs import BOM_UTF8
from collections.abc import Iterator

import numpy as np

from svmcut.base.errors import DataError
from svmcut.base.messages import Message
from svmcut.data.arrays import gather_rows
from svmcut.data.examples import Names, Sequences, Source
from svmcut.files.text import check_limit, explain_memory_errors, line_blocks, open_text

_BLOCK_BYTES = 1 << 20
_ESCAPED = re.compile(rb"\\(.)")
_FIELD = re.compile(rb"((?:[^:\\]|\\[:\\])*)(:?)(.*)", re.DOTALL)
_TAG = re.compile(rb"(?:[^\\]|\\[:\\])*", re.DOTALL)
_NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_SVM = re.compile(rb"\S+(?: +[qs]id:\d+)?(?: +\d+:\S+)+ *(?:#|$)|\S+ +[qs]id:\d+ ")
_LARGEST = float(np.finfo(np.float32).max)
#: Different tags unknown to a model that get numbers of their own.
_MAX_UNKNOWN_TAGS = 1 << 16


def read_crfsuite(
    path: str, *, names: Names | None = None, max_memory: float | None = None
) -> Sequences:
    """Return all sequences of a file, with the names of their tags and attributes.

    With the `names` of another file, other attributes are left out, and other tags are below -1.
    `max_memory` is that of `read_examples`. Raises DataError if lines have several words and no
    tab, or there are no tokens, and with line and column for a value that is no finite float, an
    invalid backslash, and a line without a tag; MemoryLimitError.
    """
    lines = _Lines(path, names)
    with open_text(path) as text, explain_memory_errors(lines, _BLOCK_BYTES):
        for block in line_blocks(text, _BLOCK_BYTES):
            lines.add(block)
            check_limit(lines, text.position, text.bytes_left(), max_memory)
        lines.end()
        lines.check_text()
        return lines.take(named=True)


def stream_crfsuite(path: str, names: Names, *, unlabelled: bool = False) -> Iterator[Sequences]:
    """Yield the sequences of a test file in blocks of whole ones, at least one each; see
    `read_crfsuite`.

    With `unlabelled`, any text, or none, may stand in place of a tag, which is -1 then.
    """
    lines, begun = _Lines(path, names, unlabelled), False
    with open_text(path) as text, explain_memory_errors(lines, _BLOCK_BYTES):
        for block in line_blocks(text, _BLOCK_BYTES):
            lines.add(block)
            if lines.bounds:
                begun = True
                yield lines.take()
        lines.end()
        lines.check_text()
        if lines.bounds or not begun:
            yield lines.take()


class _Lines:
    """The tokens of lines, from which whole sequences are taken."""

    def __init__(self, path: str, names: Names | None, unlabelled: bool = False):
        self.path, self._learns, self._unlabelled = path, names is None, unlabelled
        tags, attributes = names[:2] if names else ((), ())
        self._tags = {name: k for k, name in enumerate(tags)}
        self._others: dict[str, int] = {}
        self._attributes = {name: k for k, name in enumerate(attributes)}
        self._tag_of: dict[bytes, int] = {}
        self._column_of: dict[bytes, int] = {}
        self._line, self._text = 0, b""
        self._first, self._tabs, self._several, self._single = b"", False, 0, 0
        #: Number of tokens up to the end of each whole sequence.
        self.bounds: list[int] = []
        self._places, self._columns, self._values = array("q"), array("i"), array("f")
        self._lengths, self._found = array("q"), array("i")

    @property
    def nbytes(self) -> int:
        return 8 * (len(self._columns) + len(self._places)) + 12 * len(self._found)

    def add(self, lines: list[bytes]) -> None:
        column_of = self._column_of
        tag_of = self._tag_of
        columns = self._columns
        values = self._values
        for line in lines:
            self._line += 1
            if not line.strip():
                self.end()
                continue
            if line.endswith(b"\r"):
                line = line[:-1]
            if self._line == 1:
                line = line.removeprefix(BOM_UTF8)
            self._text = line
            word, *fields = line.split(b"\t")
            if not self._tabs:
                self._tabs, self._first = bool(fields), self._first or line
                self._several += b" " in line
                self._single += b" " not in line
            tag, before = tag_of.get(word), len(columns)
            self._found.append(self._tag(word) if tag is None else tag)
            for field in fields:
                column, value = column_of.get(field), 1.0
                if column is None:
                    column, value = self._attribute(field)
                    if column < 0:
                        continue
                columns.append(column)
                values.append(value)
            self._lengths.append(len(columns) - before)
            self._places.append(self._line)

    def check_text(self) -> None:
        """Refuse text of several words per line and no tab, which is another format; name that if
        possible.

        Lines of only a tag are tokens without attributes.
        """
        if self._tabs or not self._first:
            return
        if _SVM.match(self._first):
            what = Message("it looks like svm text, LABEL INDEX:VALUE ...; leave out {input}")
        elif self._several > 1 and not self._single:
            what = Message(
                "it looks like columns between blanks, as of CoNLL's files; use {input=conll} for "
                "these"
            )
        else:
            return
        raise DataError(self.path, Message("no line has a tab; {}", what))

    def end(self) -> None:
        if len(self._found) > (self.bounds[-1] if self.bounds else 0):
            self.bounds.append(len(self._found))

    def take(self, named: bool = False) -> Sequences:
        if not self.bounds:
            raise DataError(self.path, "no examples")
        n, bounds = self.bounds[-1], np.array([0, *self.bounds])
        lengths = np.array(self._lengths[:n])
        last, d = int(lengths.sum()), len(self._attributes)
        parts = np.array(self._columns[:last], np.int32), np.array(self._values[:last], np.float32)
        X = gather_rows(lengths, *parts, d, self.path)
        tags, order = np.array(self._found[:n], np.int32), list(self._tags)
        if self._learns:
            order.sort()
            tags = np.array(
                [{name: k for k, name in enumerate(order)}[name] for name in self._tags], np.int32
            )[tags]
        source = Source.from_lines(self.path, np.array(self._places[:n]))
        for kept, used in (
            (self._lengths, n),
            (self._found, n),
            (self._places, n),
            (self._columns, last),
            (self._values, last),
        ):
            del kept[:used]
        self.bounds = []
        names = Names(tuple(order), tuple(self._attributes)) if named else None
        return Sequences(X, bounds, tags, source, names=names, others=tuple(self._others))

    def _tag(self, word: bytes) -> int:
        """Return the number of a tag seen for the first time."""
        if self._unlabelled:
            return -1
        if not word.strip():
            raise self._refusal(
                "the line has no tag; expected TAG, a tab, and attributes with tabs in between", b""
            )
        if not _TAG.fullmatch(word):
            raise self._bad_escape(word)
        text = _ESCAPED.sub(rb"\1", word).decode("utf-8", "surrogateescape")
        tags = self._tags
        number = tags.setdefault(text, len(tags)) if self._learns else tags.get(text, -1)
        if number < 0 and (text in self._others or len(self._others) < _MAX_UNKNOWN_TAGS):
            number = self._others.setdefault(text, -2 - len(self._others))
        if number != -1:
            self._tag_of[word] = number
        return number

    def _attribute(self, field: bytes) -> tuple[int, float]:
        """Return the column, -1 for none, and the value of an attribute that is new or has a
        value."""
        if not field:
            return -1, 0.0
        name, colon, text = field.partition(b":")
        if b"\\" in field:
            name, colon, text = _FIELD.fullmatch(field).groups()  # type: ignore[union-attr]
            if text and not colon:
                raise self._bad_escape(field)
            name = _ESCAPED.sub(rb"\1", name)
        if not name:
            raise self._refusal("the attribute has no name; expected NAME or NAME:VALUE", field)
        value = 1.0
        if colon:
            value = float(text) if _NUMBER.fullmatch(text) else np.inf
            if not abs(value) <= _LARGEST:
                shown = text.decode("utf-8", "replace")[:40]
                what = (
                    f"'{shown}' is no number that a float of 32 bits holds; expected NAME or "
                    "NAME:VALUE"
                )
                raise self._refusal(f"{what}, with \\: for a colon within a name", field)
        key = name.decode("utf-8", "surrogateescape")
        columns = self._attributes
        column = columns.setdefault(key, len(columns)) if self._learns else columns.get(key, -1)
        if column >= 0 and not colon:
            self._column_of[field] = column
        return column, value

    def _bad_escape(self, field: bytes) -> DataError:
        return self._refusal(
            "a backslash stands before neither ':' nor '\\'; write \\\\ for a backslash", field
        )

    def _refusal(self, message: str, field: bytes) -> DataError:
        return DataError(
            self.path, message, self._line, max(0, (b"\t" + self._text).find(b"\t" + field)) + 1
        )
