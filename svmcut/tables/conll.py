# SPDX-License-Identifier: BSD-3-Clause
"""Files of sequences in columns, as for CRF++, Wapiti and the tasks of CoNLL: one token per line,
its columns separated by blanks or tabs, the last one the tag, and an empty line after every
sequence. A template makes features of the columns."""

from __future__ import annotations

import re
import reprlib
from array import array
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError
from svmcut.base.messages import Message
from svmcut.base.typing import Any, NamedTuple
from svmcut.data.arrays import gather_rows
from svmcut.data.examples import Csr, Names, Sequences, Source
from svmcut.files.text import check_limit, explain_memory_errors, line_blocks, open_text
from svmcut.tables.templates import (
    Column,
    Template,
    default_lines,
    hash_features,
    learn_features,
    make_hash,
    number_features,
)

_SVM = re.compile(rb"\s*\S+\s+([qs]id:\d+\s+)?(\d+:[-+.\d]\S*\s+)*\d+:[-+.\d]\S*\s*(#|$)")
_BLOCK_BYTES = 1 << 20
#: Marks a tag to predict, in files whose other tags are given.
UNKNOWN_TAG = "?"


def read_template(path: str) -> Template:
    """Return the template of a file; raise DataError, also if no line gives tokens a feature."""
    with open_text(path) as text:
        lines = [line for block in line_blocks(text, _BLOCK_BYTES) for line in block]
    texts = [line.removesuffix(b"\r").decode("utf-8", "surrogateescape") for line in lines]
    if texts:
        texts[0] = texts[0].removeprefix("\ufeff")
    template = Template(texts, path)
    if not any(line.one or line.markers for line in template.lines):
        raise DataError(path, "no line begins with U; a template needs features of one tag")
    return template


def read_conll(
    path: str,
    *,
    template: Template | None = None,
    least: int = 1,
    hash_bits: int = 0,
    names: Names | None = None,
    max_memory: float | None = None,
) -> Sequences:
    """Return all sequences of a file, with the names of their tags and features.

    Without a `template`, that of `default_lines` is used. A feature needs `least` tokens; with
    `hash_bits`, features are hashes below 2^hash_bits instead of names. With the `names` and
    template of another file, other features are left out, and other tags are below 0. `max_memory`
    is that of `read_examples`.

    Raises DataError with the line, if its number of columns differs; for fewer than two columns,
    and for a template that needs more; and MemoryLimitError.
    """
    lines = _Lines(path)
    with open_text(path) as text, explain_memory_errors(lines, _BLOCK_BYTES):
        for block in line_blocks(text, _BLOCK_BYTES):
            lines.add(block)
            check_limit(lines, text.position, text.bytes_left(), max_memory)
        lines.end()
        taken = lines.take()
        if names is not None:
            return TestColumns(names).rows_of(taken)
        return _learn(taken, template, least, hash_bits)


def _learn(taken: _Taken, template: Template | None, least: int, hash_bits: int) -> Sequences:
    path, columns = taken.path, len(taken.columns)
    if columns < 2:
        message = "the lines have one column; expected a word and, last, its tag"
        raise DataError(path, message, taken.source.line_of(0))
    if template is None:
        template = Template(default_lines(columns - 1), path)
    template.check(columns - 1)
    known: dict[str, int] = {}
    tokens = taken.columns[:-1], taken.bounds
    if hash_bits:
        features, d = hash_features(template, *tokens, hash_bits, least), 1 << hash_bits
    else:
        features, d = learn_features(template, *tokens, known, least), len(known)
    tags = taken.columns[-1]
    order = sorted(tags.texts)
    places = {tag: k for k, tag in enumerate(order)}
    numbers = np.array([places[tag] for tag in tags.texts], np.int32)[tags.ids]
    names = Names(tuple(order), tuple(known), template.texts, columns, hash_bits)
    X = _rows(features, d, path)
    return Sequences(X, taken.bounds, numbers, taken.source, names=names)


class TestColumns:
    """A reader of files for a model that was trained on columns.

    With `unlabelled` tags are ignored; with `partial` they are given, except where UNKNOWN_TAG
    stands, and nothing is measured.
    """

    __test__ = False  # for pytest

    def __init__(self, names: Names, unlabelled: bool = False, partial: bool = False):
        #: True if the file that was read last has tags.
        self._names, self.labelled, bits = names, not unlabelled, names.hash_bits
        self._partial = partial
        self._template = Template(names.template)
        known = {name: k for k, name in enumerate(names.attributes)}
        self._number = make_hash(bits) if bits else lambda name: known.get(name, -1)
        self._width = 1 << bits if bits else len(known)
        self._tags = {tag: k for k, tag in enumerate(names.tags)}
        self._unlabelled = unlabelled
        self.warnings: list[str] = []

    def stream(self, path: str) -> Iterator[Sequences]:
        """Yield the sequences of a file in blocks of whole ones, at least one each; raise as
        `read_conll`.

        Tags that the model does not know are below -1; all are -1 if the file has none.
        """
        lines = _Lines(path)
        with open_text(path) as text, explain_memory_errors(lines, _BLOCK_BYTES):
            for block in line_blocks(text, _BLOCK_BYTES):
                lines.add(block)
                if lines.bounds:
                    yield self.rows_of(lines.take())
            lines.end()
            if lines.bounds or not lines.begun:
                yield self.rows_of(lines.take())

    def rows_of(self, taken: _Taken) -> Sequences:
        columns, expected = len(taken.columns), self._names.columns
        if columns not in (expected, expected - 1):
            message = Message(
                "{} columns; the model was trained on {}, the last of them the tag, which may be "
                "missing here",
                columns,
                expected,
            )
            raise DataError(taken.path, message, taken.source.line_of(0))
        labelled = columns == expected and not self._unlabelled
        self.labelled = labelled and not self._partial
        features = number_features(
            self._template, taken.columns[: expected - 1], taken.bounds, self._number
        )
        tags, others = np.full(len(features), -1, np.int32), {}
        if labelled:
            last = taken.columns[-1]
            if not self._partial:
                strange = [tag for tag in last.texts if tag not in self._tags]
                others = {tag: -2 - k for k, tag in enumerate(strange)}
            known = others | self._tags
            own = np.array([known.get(tag, -1) for tag in last.texts], np.int32)
            tags = own[last.ids]
            if self._partial:
                self._check_given(last, tags, taken.source)
        X = _rows(features, self._width, taken.path)
        return Sequences(X, taken.bounds, tags, taken.source, others=tuple(others))

    def rows_in_memory(self, sequences: Sequence[Sequence[Any]]) -> Csr:
        """Return tokens, tuples of the texts of their columns with or without the tag, as rows;
        raise DataError for a token with another number of texts."""
        expected = self._names.columns
        tokens = [token for sequence in sequences for token in sequence]
        for token in tokens:
            fits = isinstance(token, tuple | list) and all(isinstance(one, str) for one in token)
            if not fits or len(token) not in (expected, expected - 1):
                message = Message(
                    "{} is no token; expected a tuple of {} texts, as the model was trained on "
                    "columns",
                    reprlib.repr(token),
                    expected - 1,
                )
                raise DataError("X", message)
        columns = []
        for k in range(expected - 1):
            texts: dict[str, int] = {}
            ids = [texts.setdefault(token[k], len(texts)) for token in tokens]
            columns.append(Column(np.array(ids, np.int32), list(texts)))
        bounds = np.cumsum([0, *(len(sequence) for sequence in sequences if len(sequence))])
        features = number_features(self._template, columns, bounds.astype(np.int64), self._number)
        return _rows(features, self._width, "X")

    def _check_given(self, last: Column, tags: NDArray[np.int32], source: Source) -> None:
        asked = np.array([text == UNKNOWN_TAG for text in last.texts])[last.ids]
        bad = np.flatnonzero((tags < 0) & ~asked)
        if len(bad):
            shown = last.texts[last.ids[bad[0]]]
            message = Message(
                "the model does not know the tag '{}'; expected one of its own, or {} for one to "
                "be found",
                shown,
                UNKNOWN_TAG,
            )
            raise DataError(source.path, message, source.line_of(int(bad[0])))


def _rows(features: NDArray[np.int32], d: int, path: str) -> Csr:
    """Return rows with features of value 1; repeated features count twice."""
    there = features >= 0
    columns = features[there]
    return gather_rows(there.sum(axis=1), columns, np.ones(len(columns), np.float32), d, path)


class _Taken(NamedTuple):
    """Whole sequences of a file, column by column."""

    path: str
    columns: list[Column]
    bounds: NDArray[np.int64]
    source: Source


class _Lines:
    """The tokens of lines, from which whole sequences are taken."""

    def __init__(self, path: str):
        self.path, self.begun = path, False
        self.bounds: list[int] = []
        self._line, self._count, self._first, self._tabs = 0, 0, 0, False
        self._rows: list[list[bytes]] = []
        self._places = array("q")
        self._texts: list[defaultdict[bytes, int]] = []
        self._ids: list[array[int]] = []
        self._open = True

    @property
    def nbytes(self) -> int:
        return len(self._places) * (8 + 4 * len(self._ids))

    def add(self, lines: Sequence[bytes]) -> None:
        for line in lines:
            self._line += 1
            fields = line.split()
            if not fields:
                self.end()
                self._open = True
                continue
            if self._line == 1 and fields[0].startswith(BOM_UTF8):
                fields[0] = fields[0].removeprefix(BOM_UTF8)
            if len(fields) != self._count or self._open:
                if self._is_comment(line, fields):
                    continue
                if len(fields) != self._count:
                    self._widen(line, fields)
                self._open = False
            self._rows.append(fields)
            self._places.append(self._line)
        self._number()

    def _is_comment(self, line: bytes, fields: list[bytes]) -> bool:
        """Return whether a line before a sequence is a comment of CoNLL-U: it begins with # and is
        no token of this file."""
        if not self._open or not fields[0].startswith(b"#"):
            return False
        if not self._count:
            return fields[0] == b"#" and b"\t" not in line
        return len(fields) != self._count or (self._tabs and b"\t" not in line)

    def _widen(self, line: bytes, fields: list[bytes]) -> None:
        if self._count:
            message = Message(
                "{} columns, where line {} has {}; expected as many in every line, with blanks in "
                "between, and an empty line behind every sequence",
                len(fields),
                self._first,
                self._count,
            )
            raise DataError(self.path, message, self._line)
        if _SVM.match(line):
            what = "it looks like svm text, TAG qid:SEQUENCE INDEX:VALUE ...; leave out {input}"
            raise DataError(self.path, Message(what), self._line)
        self._count, self._first, self._tabs = len(fields), self._line, b"\t" in line
        for _ in fields:
            texts: defaultdict[bytes, int] = defaultdict()
            texts.default_factory = texts.__len__
            self._texts.append(texts)
            self._ids.append(array("i"))

    def _number(self) -> None:
        """Replace the texts of the rows by numbers."""
        for ids, texts, column in zip(self._ids, self._texts, zip(*self._rows)):
            ids.extend(map(texts.__getitem__, column))
        self._rows = []

    def end(self) -> None:
        """End the sequence, if it has tokens."""
        if len(self._places) > (self.bounds[-1] if self.bounds else 0):
            self.bounds.append(len(self._places))

    def take(self) -> _Taken:
        """Return the whole sequences and forget them."""
        if not self.bounds:
            raise DataError(self.path, "no examples")
        n, bounds = self.bounds[-1], np.array([0, *self.bounds], np.int64)
        columns = [
            Column(
                np.array(ids[:n], np.int32),
                [text.decode("utf-8", "surrogateescape") for text in texts],
            )
            for ids, texts in zip(self._ids, self._texts)
        ]
        source = Source.from_lines(self.path, np.array(self._places[:n]))
        taken = _Taken(self.path, columns, bounds, source)
        for kept in (self._places, *self._ids):
            del kept[:n]
        self._renumber()
        self.bounds, self.begun = [], True
        return taken

    def _renumber(self) -> None:
        """Forget the texts of sequences that were taken."""
        for k, (ids, texts) in enumerate(zip(self._ids, self._texts)):
            known = list(texts)
            fresh: defaultdict[bytes, int] = defaultdict()
            fresh.default_factory = fresh.__len__
            self._ids[k] = array("i", (fresh[known[number]] for number in ids))
            self._texts[k] = fresh


def how_of(table: Any) -> dict[str, Any]:
    """Return the arguments of `read_conll` from the options of a table."""
    template = None if table.template is None else read_template(table.template)
    return {"template": template, "least": table.min_count, "hash_bits": table.hash_bits or 0}
