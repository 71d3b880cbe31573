# SPDX-License-Identifier: BSD-3-Clause
"""Columns without features: labels, sets of labels, queries and weights; and words as labels in
LIBSVM's text, ``spam 1:1 2:0.5``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

import numpy as np
from numpy.typing import NDArray

from svmcut._native.words import CellFault, Words
from svmcut.base.errors import DataError
from svmcut.base.messages import Message
from svmcut.base.records import replace
from svmcut.base.typing import Any
from svmcut.data.examples import Examples
from svmcut.data.labels import is_number
from svmcut.files.examples import read_examples
from svmcut.files.text import ByteSource, ChangedText
from svmcut.spec.entries import CLASSES
from svmcut.tables.cells import NO_UTF_8, Cells, Sets, Texts, parse_number, show_text, to_texts
from svmcut.tables.encoding import Encoding, Rows
from svmcut.tables.options import TableOptions

#: Characters of numbers that all differ as float64.
_MAX_EXACT_DIGITS = 15
#: Separates the labels of a set in one cell.
SEPARATOR = b"|"
#: Different names that are numbered in addition to a model's.
MAX_UNKNOWN_NAMES = 1 << 20


class Names:
    """A column of names, numbered from 0 as they come; `known` names of a model come first."""

    def __init__(self, path: str, name: str, known: tuple[str, ...] = ()):
        self.path, self.name = path, name
        self._words, self._known, self._rows = Words(), len(known), 0
        self._ids: list[NDArray] = []
        if known:
            listed = Texts.from_list([word.encode() for word in known])
            self._words.cells(listed.text, listed.offsets, None, True)

    def add(self, cells: Cells) -> None:
        """Add the next rows; raise DataError if a cell is no UTF-8."""
        texts = to_texts(cells, self.name, self.path)
        grow = not self._known or len(self._words) < self._known + MAX_UNKNOWN_NAMES
        try:
            ids = self._words.cells(texts.text, texts.offsets, texts.missing, grow)
        except CellFault as fault:
            what = Message(NO_UTF_8, texts.cell(fault.cell)[:40])
            raise self.row_error(self._rows + fault.cell, what) from None
        self._ids.append(ids)
        self._rows += len(cells)

    @property
    def nbytes(self) -> int:
        return sum(ids.nbytes for ids in self._ids)

    def ids(self) -> NDArray[np.int32]:
        """Return (n,) numbers of the rows so far, -1 for empty cells, -2 for names beyond
        MAX_UNKNOWN_NAMES."""
        return np.concatenate([np.zeros(0, np.int32), *self._ids])

    def texts(self) -> list[bytes]:
        return self._words.texts()

    def take(self) -> NDArray[np.int32]:
        """Return the numbers of the rows since the last call."""
        ids, self._ids = self.ids(), []
        return ids

    def row_error(self, row: int, what: Any) -> DataError:
        """Return the refusal of a row, counted from 0."""
        return DataError(self.path, Message("row {}, column '{}': {}", row + 1, self.name, what))


def number_labels(names: Names, numeric: bool) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return (n,) labels, and the names of 1, 2, ... unless all labels are numbers.

    Raises DataError with the row, for a cell without a label, and with `numeric` for one that is no
    number.
    """
    ids, texts = names.ids(), names.texts()
    check_given(names, ids, "has no label; leave the row out")
    values = [parse_number(text) for text in texts]
    if are_all_numbers(texts, values, numeric):
        return np.array(values)[ids], ()
    if numeric:
        bad = next(k for k, value in enumerate(values) if value != value)
        shown = show_text(texts[bad])
        message = Message("'{}' is no number, and the task learns numbers", shown)
        raise names.row_error(int(np.argmax(ids == bad)), message)
    places, words = sort_names(texts)
    return places[ids].astype(np.float64), words


def are_all_numbers(texts: list[bytes], values: list[float], numeric: bool) -> bool:
    """Return whether labels are these numbers, and not names.

    `values` are the results of `parse_number`. With `numeric` they may be rounded; numbers of
    classes may not, as two could become one.
    """
    return all(value == value for value in values) and (
        numeric or all(map(_is_exact, texts, values))
    )


def _is_exact(text: bytes, value: float) -> bool:
    """Return whether a number is exactly a float64, or a text of one, perhaps with other digits."""
    if len(text) <= _MAX_EXACT_DIGITS and b"e" not in text.lower():
        return True
    try:
        return Decimal(text.decode()) in (Decimal(value), Decimal(repr(value)))
    except InvalidOperation:  # an exponent of twenty digits
        return False


def number_known_labels(names: Names, words: tuple[str, ...], kind: str) -> NDArray[np.float64]:
    """Return (n,) labels of a test set: numbers, or places from 1 among a model's words, others
    behind them; 0 if missing.

    Raises DataError for a word if the model has numbers, and for a class that is one of them only
    after rounding.
    """
    ids = names.take()
    if words:
        return np.maximum(ids, -1) + 1.0
    texts = names.texts()
    values = [parse_number(text) for text in texts]
    if not are_all_numbers(texts, values, kind != CLASSES):
        known = [
            value == value and (kind != CLASSES or _is_exact(text, value))
            for text, value in zip(texts, values)
        ]
        wrong = ~np.array([*known, True])[ids]
        if wrong.any():
            row = int(np.argmax(wrong))
            text, value = texts[ids[row]], values[ids[row]]
            what = "no number" if value != value else "a number of more digits than a label has"
            shown = show_text(text)
            message = Message("'{}' is {}, and the model's labels are numbers", shown, what)
            raise names.row_error(row, message)
    return np.array([*values, 0.0])[ids]


def number_queries(names: Names) -> NDArray[np.int64]:
    """Return (n,) the query of each row, from 1 as they come.

    Raises DataError with the row, if a query returns after another or is missing.
    """
    ids = names.ids()
    check_given(names, ids, "has no group; leave the row out")
    starts = np.flatnonzero(np.diff(ids, prepend=-2) != 0)
    _, first = np.unique(ids[starts], return_index=True)
    back = np.ones(len(starts), bool)
    back[first] = False
    if back.any():
        row = int(starts[np.argmax(back)])
        shown = show_text(names.texts()[ids[row]])
        message = Message("the group '{}' returns; sort the table by this column", shown)
        raise names.row_error(row, message)
    return ids.astype(np.int64) + 1


class LabelSets:
    """A column of sets of labels: lists, or texts separated by |."""

    def __init__(self, path: str, name: str, known: tuple[str, ...] = ()):
        self._names = Names(path, name, known)
        self._lengths: list[NDArray] = []

    def add(self, cells: Cells) -> None:
        if isinstance(cells, Sets):
            self._names.add(cells.names)
            self._lengths.append(np.diff(cells.bounds))
            return
        texts = to_texts(cells, self._names.name, self._names.path)
        text, bounds = bytes(texts.text), texts.offsets.tolist()
        rows = [
            [part for part in text[start:stop].split(SEPARATOR) if part.strip()]
            for start, stop in itertools.pairwise(bounds)
        ]
        self._names.add(Texts.from_list([part for row in rows for part in row]))
        self._lengths.append(np.array([*map(len, rows)], np.int64))

    @property
    def nbytes(self) -> int:
        return self._names.nbytes + sum(lengths.nbytes for lengths in self._lengths)

    def take(self) -> tuple[NDArray[np.int64], NDArray[np.int32], list[bytes]]:
        """Return (n + 1,) bounds of the rows since the last call, the numbers of their labels, and
        all names."""
        lengths = np.concatenate([np.zeros(1, np.int64), *self._lengths])
        self._lengths = []
        return np.cumsum(lengths), self._names.take(), self._names.texts()


def number_set_names(texts: list[bytes]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return (K,) the label of each name, and the names of 1, 2, ... unless all are whole numbers
    from 0."""
    values = [parse_number(text) for text in texts]
    whole = all(0 <= value < 2**31 and value == round(value) for value in values)
    if whole and are_all_numbers(texts, values, False):
        return np.array(values, np.int64), ()
    return sort_names(texts)


def sort_names(texts: list[bytes]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return (K,) the places of names, from 1, in the order of their code points, and the sorted
    names."""
    order = sorted(range(len(texts)), key=texts.__getitem__)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(1, len(order) + 1)
    return places, tuple(texts[k].decode() for k in order)


def check_weights(path: str, name: str, values: NDArray) -> None:
    """Raise DataError with the row for a weight that is no number of at least 0."""
    wrong = ~(values >= 0)
    if wrong.any():
        message = "row {}, column '{}': no weight; expected a number of at least 0"
        raise DataError(path, Message(message, int(np.argmax(wrong)) + 1, name))


def check_given(names: Names, ids: NDArray, what: str) -> None:
    """Raise DataError with the row for an empty cell."""
    missing = ids == -1
    if missing.any():
        raise names.row_error(int(np.argmax(missing)), what)


#: The first word of a line that is no comment.
_FIRST = re.compile(rb"^([^\S\n]*)([^\s#]+)", re.MULTILINE)
#: Characters of a table, of a list of labels, and of a feature without a label.
_STRANGE = re.compile(rb'[:,;|"\0]')
#: The scanner's message for a label that may be a word.
_NO_NUMBER = re.compile(r": label .* is not a number$", re.DOTALL)
#: Most different words of a file that are taken as labels.
MAX_WORDS = 1 << 20
FORMAT = "svm"


class LabelWords:
    """The numbers of words, from 1 in the order of the file, or those of a model.

    The scanner reads numbers only: words are replaced by their numbers and blanks, so that columns
    in messages stay right. `known` are the words of a model, whose numbers come first; None for a
    training set. Unless `sure`, the first label decides whether labels are words.
    """

    def __init__(self, path: str, known: Sequence[str] | None = None, sure: bool = True):
        self._path, self._most = path, MAX_WORDS + len(known or ())
        self._trains = known is None
        #: True if labels are words, known after lines were read.
        self.used, self._open = sure, not sure
        words = [word.encode("utf-8", "surrogateescape") for word in known or ()]
        self._numbers = {word: k for k, word in enumerate(words, 1)}

    def number_text(self, text: ByteSource) -> ByteSource:
        """Return the text with words replaced by numbers."""
        return ChangedText(text, self._replace_words)

    def _replace_words(self, lines: bytes) -> bytes:
        if self._open and (first := _FIRST.search(lines)) is not None:
            self.used, self._open = not is_number(first[2]), False
        return _FIRST.sub(self._number, lines) if self.used else lines

    def _number(self, match: re.Match[bytes]) -> bytes:
        blanks, word = match.groups()
        number = self._numbers.get(word)
        if number is None:
            if _STRANGE.search(word):
                return match[0]  # the scanner refuses it
            number = self._new(word)
        return blanks + b"%d" % number + b" " * (len(word) - len(str(number)))

    def _new(self, word: bytes) -> int:
        """Return the number of a new word; 0 if it is one too many for a model."""
        full = len(self._numbers) == self._most
        if not self._trains:
            if not full:
                self._numbers[word] = len(self._numbers) + 1
            return self._numbers.get(word, 0)
        try:
            word.decode()
        except UnicodeDecodeError:
            shown = word[:40].decode("utf-8", "backslashreplace")
            message = Message("label '{}' is no UTF-8; convert the file to it", shown)
            raise DataError(self._path, message) from None
        if full:
            raise DataError(
                self._path, Message("more than {:,} labels; expected classes", MAX_WORDS)
            )
        self._numbers[word] = number = len(self._numbers) + 1
        return number

    def sort_labels(self, y: NDArray[np.float64]) -> tuple[NDArray[np.float64], Rows]:
        """Return (n,) labels as places from 1 among the sorted words, and the rows that a model
        keeps."""
        places, words = sort_names([*self._numbers])
        encoding = Encoding((), (), words, FORMAT)
        return places[y.astype(np.int64) - 1].astype(np.float64), Rows(
            self._path, [], [], TableOptions(), encoding
        )


def read_words(path: str, known: Sequence[str] = (), **how: Any) -> Examples:
    """Read examples whose labels are numbers or words, as the first one is.

    `known` are the words of a model; without them, y has places among the file's words, sorted by
    code point, and `table` has the words. Other arguments and failures are those of
    `svmcut.files.examples.read_examples`.
    """
    if known:
        return read_examples(path, numbered=LabelWords(path, known).number_text, **how)
    words = LabelWords(path, sure=False)
    return _apply_words(words, read_examples(path, numbered=words.number_text, **how))


def read_again(path: str, error: DataError, **how: Any) -> Examples:
    """Read examples with words as labels after `error` refused them as numbers; raise it again if
    it had another cause or there are no features."""
    if not _NO_NUMBER.search(str(error)):
        raise error
    words = LabelWords(path)
    examples = read_examples(path, numbered=words.number_text, **how)
    if not examples.X.nnz:
        raise error
    return _apply_words(words, examples)


def _apply_words(words: LabelWords, examples: Examples) -> Examples:
    if not words.used:
        return examples
    y, table = words.sort_labels(examples.y)
    return replace(examples, y=y, table=table)
