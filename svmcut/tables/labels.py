# SPDX-License-Identifier: BSD-3-Clause
"""The columns beside the features: labels, sets of labels, queries and weights."""

from __future__ import annotations

import itertools
from decimal import Decimal, InvalidOperation

import numpy as np

from svmcut._native.words import CellFault, Words
from svmcut.base.errors import DataError
from svmcut.base.messages import Message
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.spec.entries import CLASSES
from svmcut.tables.cells import NO_UTF_8, Cells, Sets, Texts, as_texts, number_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Characters of a number that a float64 tells from any other of so many.
_EXACT = 15
SIGN = b"|"
"""Between the labels of a set in one cell."""
#: Names that are told apart beside those a model has.
MOST = 1 << 20


class Names:
    """A column of names, which are numbered from 0 as they come.

    Parameters
    ----------
    path, name : str
        Of the file and the column, for messages.
    known : tuple of str
        Names that a model has, whose numbers come first.
    """

    def __init__(self, path: str, name: str, known: tuple[str, ...] = ()):
        self.path, self.name = path, name
        self._words, self._known, self._rows = Words(), len(known), 0
        self._ids: list[NDArray] = []
        if known:
            listed = Texts.of([word.encode() for word in known])
            self._words.cells(listed.text, listed.offsets, None, True)

    def add(self, cells: Cells) -> None:
        """Takes in the next rows; a DataError where a cell is no UTF-8."""
        texts = as_texts(cells, self.name, self.path)
        grow = not self._known or len(self._words) < self._known + MOST
        try:
            ids = self._words.cells(texts.text, texts.offsets, texts.missing, grow)
        except CellFault as fault:
            what = Message(NO_UTF_8, texts.cell(fault.cell)[:40])
            raise self.refused(fault.cell, what) from None
        self._ids.append(ids)
        self._rows += len(cells)

    @property
    def nbytes(self) -> int:
        """Bytes of the rows so far."""
        return sum(ids.nbytes for ids in self._ids)

    def ids(self) -> NDArray[np.int32]:
        """(n,) of the rows so far, -1 where a cell is empty, -2 of names beyond `MOST`."""
        return np.concatenate([np.zeros(0, np.int32), *self._ids])

    def texts(self) -> list[bytes]:
        """The names by number."""
        return self._words.texts()

    def take(self) -> NDArray[np.int32]:
        """The rows since the last time."""
        ids, self._ids = self.ids(), []
        return ids

    def refused(self, row: int, what: Any) -> DataError:
        """The refusal of a row, counted from 0 behind those that are taken in."""
        place = self._rows + row + 1
        return DataError(self.path, Message("row {}, column '{}': {}", place, self.name, what))


def labels_of(names: Names, numeric: bool) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """(n,) labels, and what 1, 2, ... are called where not all of them are numbers.

    Parameters
    ----------
    numeric : bool
        Whether they are to be numbers.

    Raises
    ------
    DataError
        With the row, for a cell without a label, and one that is no number where it is to be.
    """
    ids, texts = names.ids(), names.texts()
    _check_given(names, ids, "has no label; leave the row out")
    values = [number_of(text) for text in texts]
    if all_numbers(texts, values, numeric):
        return np.array(values)[ids], ()
    if numeric:
        bad = next(k for k, value in enumerate(values) if value != value)
        shown = texts[bad].decode("utf-8", "backslashreplace")[:40]
        message = Message("'{}' is no number, and the task learns numbers", shown)
        raise _of_row(names, int(np.argmax(ids == bad)), message)
    places, words = by_code_point(texts)
    return places[ids].astype(np.float64), words


def all_numbers(texts: list[bytes], values: list[float], numeric: bool) -> bool:
    """Return whether labels are these numbers, and not names.

    Parameters
    ----------
    values : list of float
        What `number_of` says of each.
    numeric : bool
        Whether they may be rounded. Numbers of classes may not: two of them would be one.
    """
    return all(value == value for value in values) and (
        numeric or all(map(_reads_back, texts, values))
    )


def _reads_back(text: bytes, value: float) -> bool:
    """Return whether a number is exactly a float64, or a text of one, perhaps in other digits."""
    if len(text) <= _EXACT and b"e" not in text.lower():
        return True
    try:
        return Decimal(text.decode()) in (Decimal(value), Decimal(repr(value)))
    except InvalidOperation:  # an exponent of twenty digits
        return False


def known_labels(names: Names, words: tuple[str, ...], kind: str) -> NDArray[np.float64]:
    """(n,) labels of a test set: numbers, or places from 1 among a model's words and, behind
    these, others; 0 where there is none.

    Parameters
    ----------
    kind : str
        What labels are: CLASSES or NUMBERS.

    Raises
    ------
    DataError
        For a word where the model has numbers, and for a class that is one of them only when it is
        rounded.
    """
    ids = names.take()
    if words:
        return np.maximum(ids, -1) + 1.0
    texts = names.texts()
    values = [number_of(text) for text in texts]
    if not all_numbers(texts, values, kind != CLASSES):
        known = [
            value == value and (kind != CLASSES or _reads_back(text, value))
            for text, value in zip(texts, values)
        ]
        wrong = ~np.array([*known, True])[ids]
        if wrong.any():
            row = int(np.argmax(wrong))
            text, value = texts[ids[row]], values[ids[row]]
            what = "no number" if value != value else "a number of more digits than a label has"
            shown = text.decode("utf-8", "backslashreplace")[:40]
            message = Message("'{}' is {}, and the model's labels are numbers", shown, what)
            raise _of_row(names, row, message)
    return np.array([*values, 0.0])[ids]


def queries_of(names: Names) -> NDArray[np.int64]:
    """(n,) the query of each row, from 1 as they come.

    Raises
    ------
    DataError
        With the row, where a query returns after another, or there is none.
    """
    ids = names.ids()
    _check_given(names, ids, "has no group; leave the row out")
    starts = np.flatnonzero(np.diff(ids, prepend=-2) != 0)
    _, first = np.unique(ids[starts], return_index=True)
    back = np.ones(len(starts), bool)
    back[first] = False
    if back.any():
        row = int(starts[np.argmax(back)])
        shown = names.texts()[ids[row]].decode("utf-8", "backslashreplace")[:40]
        message = Message("the group '{}' returns; sort the table by this column", shown)
        raise _of_row(names, row, message)
    return ids.astype(np.int64) + 1


class LabelSets:
    """A column of sets of labels: lists, or texts with | in between."""

    def __init__(self, path: str, name: str, known: tuple[str, ...] = ()):
        self._names = Names(path, name, known)
        self._lengths: list[NDArray] = []

    def add(self, cells: Cells) -> None:
        """Takes in the next rows."""
        if isinstance(cells, Sets):
            self._names.add(cells.names)
            self._lengths.append(np.diff(cells.bounds))
            return
        texts = as_texts(cells, self._names.name, self._names.path)
        text, bounds = bytes(texts.text), texts.offsets.tolist()
        rows = [
            [part for part in text[start:stop].split(SIGN) if part.strip()]
            for start, stop in itertools.pairwise(bounds)
        ]
        self._names.add(Texts.of([part for row in rows for part in row]))
        self._lengths.append(np.array([*map(len, rows)], np.int64))

    @property
    def nbytes(self) -> int:
        """Bytes of the rows so far."""
        return self._names.nbytes + sum(lengths.nbytes for lengths in self._lengths)

    def take(self) -> tuple[NDArray[np.int64], NDArray[np.int32], list[bytes]]:
        """(n + 1,) bounds of the rows since the last time, their labels by number, and names."""
        lengths = np.concatenate([np.zeros(1, np.int64), *self._lengths])
        self._lengths = []
        return np.cumsum(lengths), self._names.take(), self._names.texts()


def set_names(texts: list[bytes]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """(K,) the number of each name, and what 1, 2, ... are called where not all are whole
    numbers from 0."""
    values = [number_of(text) for text in texts]
    whole = all(0 <= value < 2**31 and value == round(value) for value in values)
    if whole and all_numbers(texts, values, False):
        return np.array(values, np.int64), ()
    return by_code_point(texts)


def by_code_point(texts: list[bytes]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """(K,) the places of names, from 1, in the order of their code points, and them in it."""
    order = sorted(range(len(texts)), key=texts.__getitem__)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(1, len(order) + 1)
    return places, tuple(texts[k].decode() for k in order)


def _check_given(names: Names, ids: NDArray, what: str) -> None:
    missing = ids == -1
    if missing.any():
        raise _of_row(names, int(np.argmax(missing)), what)


def _of_row(names: Names, row: int, what: Any) -> DataError:
    return DataError(names.path, Message("row {}, column '{}': {}", row + 1, names.name, what))
