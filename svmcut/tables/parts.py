# SPDX-License-Identifier: BSD-3-Clause
"""Parts of a table: files, or row groups of Parquet files, whose encoding is fitted to all of them.

first pass    a part says of each column its count, mean and sum of squared deviations, or its
              names, or its words and the rows they stand in; these are merged in the order of the
              parts, so the encoding hangs on the parts alone
second pass   a part encodes its rows
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from svmcut.base.errors import DataError, NoExamples, UsageError
from svmcut.base.messages import Message
from svmcut.base.records import record, replace
from svmcut.base.typing import Any, NamedTuple
from svmcut.data.examples import Examples, Source
from svmcut.spec.entries import CLASSES
from svmcut.tables import reading
from svmcut.tables.cells import number_of
from svmcut.tables.columns import Category, Counts, Number, Text, Unused, Values
from svmcut.tables.encoded import (
    DROPPED,
    EMPTY,
    GROUP,
    LABEL,
    WEIGHT,
    TestTable,
    check_label,
    join_examples,
    roles_of,
)
from svmcut.tables.encoding import Encoding
from svmcut.tables.gathering import (
    BOOLEANS,
    Column,
    Reread,
    Undecided,
    kind_of_texts,
    refusal_of,
)
from svmcut.tables.labels import Names, all_numbers, by_code_point, queries_of
from svmcut.tables.options import TableOptions

#: Bytes of row groups that are one part, and a share of all: so many parts a file has, where it has
#: so many groups.
MOST_BYTES, LEAST_PARTS = 16_000_000, 32


@record
class Piece:
    """A part of a table.

    Attributes
    ----------
    path, input : str
        As `svmcut.tables.reading.open_table` takes them.
    groups : (int, int) or None
        Of a Parquet file the first row group, and the one behind the last.
    weights : str or None
        The column of weights.
    encoding : Encoding or None
        Once it is fitted.
    kind : str
        What labels are.
    before : int
        Groups of rows in the parts before it.
    """

    path: str
    input: str
    groups: tuple[int, int] | None = None
    weights: str | None = None
    encoding: Encoding | None = None
    kind: str = CLASSES
    before: int = 0

    @property
    def name(self) -> str:
        """The name of the part in messages."""
        if self.groups is None:
            return self.path
        first, last = self.groups[0] + 1, self.groups[1]
        return f"{self.path}, row group{'s' * (last > first)} {first}" + (
            f" to {last}" if last > first else ""
        )

    def read(self) -> Examples:
        """The rows, encoded.

        Raises
        ------
        DataError
            With row and column, which are counted from the start of the part.
        """
        assert self.encoding is not None
        test, weights = TestTable(self.encoding, self.input), Names(self.name, self.weights or "")
        with reading.open_table(self.path, self.input, self.groups) as table:
            blocks = [*test.blocks(self.name, self._watched(table, weights), self.kind, False)]
        examples = replace(join_examples(blocks), source=Source(self.name))
        if examples.qid is not None:
            examples = replace(examples, qid=examples.qid + self.before)
        if self.weights is None:
            return examples
        values = np.array([*map(number_of, weights.texts()), math.nan])[weights.ids()]
        if (wrong := ~(values >= 0)).any():
            message = "row {}, column '{}': no weight; expected a number of at least 0"
            row = int(np.argmax(wrong)) + 1
            raise DataError(self.name, Message(message, row, self.weights))
        return replace(examples, weights=values)

    def _watched(self, table: reading.Table, weights: Names) -> reading.Table:
        """The table, of which the column of weights is seen on the way."""
        if self.weights is None:
            return table
        place = table.names.index(self.weights)

        def batches() -> Iterator[list[Any]]:
            for batch in table.batches:
                weights.add(reading.read_cells(self.name, str(self.weights), batch[place]))
                yield batch

        return reading.Table(table.names, batches())


class Told(NamedTuple):
    """Statistics of one column in a part.

    Attributes
    ----------
    known, mean, squares : float
        Of numbers that are there: how many, their mean, and their squared deviations from it.
    missing, boolean : bool
        Whether a cell is empty; whether all others are true or false.
    texts : tuple of bytes or None
        Names in order; None of numbers.
    """

    known: int = 0
    mean: float = 0.0
    squares: float = 0.0
    missing: bool = False
    boolean: bool = True
    texts: tuple[bytes, ...] | None = None

    def with_next(self, other: Told) -> Told:
        """Of both (Chan, Golub and LeVeque, 1979)."""
        n = self.known + other.known
        if self.texts is not None or other.texts is not None:
            texts = tuple(sorted({*(self.texts or ()), *(other.texts or ())}))
        else:
            texts = None
        missing, boolean = self.missing or other.missing, self.boolean and other.boolean
        if not self.known or not other.known:
            mean, squares = (self if self.known else other)[1:3]
            return Told(n, mean, squares, missing, boolean, texts)
        step = other.mean - self.mean
        mean = self.mean + step * (other.known / n)
        squares = self.squares + other.squares + step**2 * (self.known * other.known / n)
        return Told(n, mean, squares, missing, boolean, texts)


class Terms(NamedTuple):
    """Statistics of a column of texts in a part.

    Attributes
    ----------
    rows : int
    counts : mapping of bytes to int, or None
        Rows that each word stands in; None where words go by hashes.
    """

    rows: int
    counts: dict[bytes, int] | None

    def with_next(self, other: Terms) -> Terms:
        """Of both."""
        if self.counts is None or other.counts is None:
            return Terms(self.rows + other.rows, None)
        counts = dict(self.counts)
        for term, rows in other.counts.items():
            counts[term] = counts.get(term, 0) + rows
        return Terms(self.rows + other.rows, counts)


class Summary(NamedTuple):
    """Statistics of the table of a part: its columns and rows, the texts of its labels, and
    those of its groups as they come."""

    names: tuple[str, ...]
    rows: int
    columns: dict[str, Told | Terms]
    labels: tuple[bytes, ...]
    groups: tuple[bytes, ...] = ()


def pieces_in(path: str, input: str) -> list[Piece]:
    """The parts of a file: row groups of Parquet, neighbours together up to MOST_BYTES."""
    if input != "parquet":
        return [Piece(path, input)]
    sizes, ranges, held = reading.sizes_of_groups(path), list[tuple[int, int]](), 0
    most = min(MOST_BYTES, sum(sizes) / LEAST_PARTS)
    for k, size in enumerate(sizes):
        if not ranges or held + size > most:
            ranges.append((k, k + 1))
            held = size
        else:
            ranges[-1] = ranges[-1][0], k + 1
            held += size
    return [Piece(path, input, groups) for groups in ranges] or [Piece(path, input)]


def summarise(piece: Piece, options: TableOptions, named: frozenset[str]) -> Summary:
    """One pass over a part.

    Parameters
    ----------
    named : set of str
        Columns that hold names, as another part says.

    Raises
    ------
    UsageError, DataError
        As `svmcut.tables.encoded.read_encoded`.
    """
    forced = set(named)
    while True:
        try:
            return _summarised(piece, options, forced)
        except Reread as again:
            forced.add(again.name)
        except NoExamples:
            return Summary((), 0, {}, ())


def _summarised(piece: Piece, options: TableOptions, named: set[str]) -> Summary:
    with reading.open_table(piece.path, piece.input, piece.groups) as table:
        check_label(table.names, options, piece.path)
        roles = roles_of(table.names, options, piece.path)
        columns = {
            name: Column(piece.name, name, "names" if name in named else role, options)
            for name, role in roles.items()
            if role in ("names", "open", "text")
        }
        labels, rows = Names(piece.name, str(options.label)), 0
        groups = Names(piece.name, str(options.group))
        takers = {LABEL: labels, GROUP: groups}
        for batch in table.batches:
            for (name, role), cells in zip(roles.items(), batch, strict=True):
                taker: Any = takers.get(role, columns.get(name))
                if taker is not None:
                    taker.add(reading.read_cells(piece.name, name, cells))
            rows += len(batch[0])
    if (unlabelled := labels.ids() == -1).any():
        message = "row {}, column '{}': has no label; leave the row out"
        row = int(np.argmax(unlabelled)) + 1
        raise DataError(piece.name, Message(message, row, options.label))
    told_of = {name: _column(column.gathered()) for name, column in columns.items()}
    if options.group:
        queries_of(groups)
    told = tuple(labels.texts()), tuple(groups.texts())
    return Summary(tuple(table.names), rows, told_of, *told)


def _column(gathered: Any) -> Told | Terms:
    if isinstance(gathered, Counts):
        n, words = len(gathered.ends) - 1, gathered.texts
        if words is None:
            return Terms(n, None)
        df = np.bincount(gathered.ids, minlength=len(words)).tolist()
        return Terms(n, {word: rows for word, rows in zip(words, df, strict=True) if rows})
    if not isinstance(gathered, Values):
        used = np.unique(gathered.ids[gathered.ids >= 0])
        texts = tuple(sorted(gathered.texts[k] for k in used.tolist()))
        return Told(missing=bool((gathered.ids == -1).any()), boolean=False, texts=texts)
    values = gathered.values[~np.isnan(gathered.values)]
    missing = len(values) < len(gathered.values)
    if not len(values):
        return Told(missing=missing)
    mean = float(values.mean())
    squares = float(((values - mean) ** 2).sum())
    return Told(len(values), mean, squares, missing, gathered.boolean)


def check_options(input: str) -> None:
    """Refuses what does not spread over parts, as a UsageError."""
    if input == "text":
        raise UsageError("{input=text} does not spread over parts in this version")


def whole_groups(pieces: Sequence[Piece], summaries: Sequence[Summary]) -> list[Piece]:
    """The parts with what groups there are before each; row groups of a file that share a group of
    rows are one part, which is not yet summarised.

    Raises
    ------
    DataError
        For a group of rows in two files, or one that returns.
    """
    whole: list[Piece] = []
    before, last, seen = 0, b"", set[bytes]()
    for piece, one in zip(pieces, summaries, strict=True):
        if one.groups and one.groups[0] == last and whole:
            previous = whole[-1]
            if piece.groups is None or previous.groups is None or piece.path != previous.path:
                message = (
                    "begins with the group '{}', with which {} ends; a group stands in one file"
                )
                raise DataError(piece.name, Message(message, _shown(last), previous.name))
            whole[-1] = replace(previous, groups=(previous.groups[0], piece.groups[1]))
        else:
            whole.append(replace(piece, before=before))
        own = [text for text in one.groups if text != last]
        if again := seen.intersection(own):
            message = "the group '{}' returns; sort the tables by this column"
            raise DataError(piece.name, Message(message, _shown(min(again))))
        seen.update(own)
        before, last = before + len(own), one.groups[-1] if one.groups else last
    return whole


def _shown(text: bytes) -> str:
    return text.decode("utf-8", "backslashreplace")[:40]


def check_alike(pieces: Sequence[Piece], summaries: Sequence[Summary]) -> None:
    """Refuses parts with other columns than the first, as a DataError."""
    pairs = [pair for pair in zip(pieces, summaries, strict=True) if pair[1].names]
    for piece, one in pairs:
        first, known = pairs[0][0].name, {*pairs[0][1].names}
        lacking, more = sorted(known - {*one.names}), sorted({*one.names} - known)
        if lacking or more:
            message = "has {} column '{}', which {} has{}"
            words = ("no", lacking[0], first, "") if lacking else ("a", more[0], first, " not")
            raise DataError(piece.name, Message(message, *words))


def mixed(summaries: Sequence[Summary]) -> frozenset[str]:
    """Columns that hold numbers in one part and names in another: they are names in all."""
    columns = [
        {name: told for name, told in one.columns.items() if isinstance(told, Told)}
        for one in summaries
        if one.rows
    ]
    return frozenset(
        name
        for name in (columns[0] if columns else ())
        if any(one[name].texts is not None for one in columns)
        and any(one[name].texts is None and one[name].known for one in columns)
    )


def fit(
    path: str, summaries: Sequence[Summary], options: TableOptions, numeric: bool, format: str
) -> Encoding:
    """The encoding of all parts.

    Parameters
    ----------
    path : str
        What messages call all of them.
    numeric : bool
        Whether labels are to be numbers.

    Raises
    ------
    DataError
        For columns that are not to be learnt from.
    """
    full = [one for one in summaries if one.rows]
    if not full:
        raise NoExamples(path)
    n = sum(one.rows for one in full)
    columns: list[Any] = []
    unused: list[Unused] = []
    undecided: list[Undecided] = []
    for name, role in roles_of(list(full[0].names), options, path).items():
        if role in (LABEL, GROUP, WEIGHT, DROPPED):
            unused.append(Unused(name, role))
            continue
        merged: Any = full[0].columns[name]
        for one in full[1:]:
            merged = merged.with_next(one.columns[name])
        try:
            fitted = _fitted(path, name, role, merged, n, options)
        except Undecided as fault:
            undecided.append(fault)
            continue
        (unused if isinstance(fitted, Unused) else columns).append(fitted)
    if undecided:
        raise refusal_of(undecided)
    if not columns:
        raise DataError(path, "all columns are empty; there is nothing to learn from")
    return Encoding(tuple(columns), tuple(unused), _words(path, full, options, numeric), format)


def _text(name: str, told: Terms, options: TableOptions) -> Text:
    if told.counts is None:
        return Text.of(name, told.rows, None, np.zeros(0, np.int64), options)
    terms = sorted(term for term, rows in told.counts.items() if rows >= options.min_count)
    df = np.array([told.counts[term] for term in terms], np.int64)
    return Text.of(name, told.rows, terms, df, options)


def _fitted(
    path: str, name: str, role: str, told: Told | Terms, n: int, options: TableOptions
) -> Any:
    if isinstance(told, Terms):
        return _text(name, told, options)
    if told.texts is None:
        if not told.known:
            return Unused(name, EMPTY)
        if told.boolean:
            return Number(name, missing=told.missing, boolean=True)
        deviation = math.sqrt(told.squares / told.known)
        return Number.of(name, told.known, told.mean, deviation, told.missing, options)
    if not told.texts:
        return Unused(name, EMPTY)
    if role == "open" and kind_of_texts(path, name, n, list(told.texts)) == BOOLEANS:
        return Number(name, missing=told.missing, boolean=True)
    return Category(name, tuple(text.decode() for text in told.texts), told.missing)


def _words(
    path: str, full: Sequence[Summary], options: TableOptions, numeric: bool
) -> tuple[str, ...]:
    texts = sorted({text for one in full for text in one.labels})
    values = [number_of(text) for text in texts]
    if all_numbers(texts, values, numeric):
        return ()
    if numeric:
        other = next(text for text, value in zip(texts, values) if value != value)
        shown = other.decode("utf-8", "backslashreplace")[:40]
        message = "column '{}': '{}' is no number, and the task learns numbers"
        raise DataError(path, Message(message, options.label, shown))
    return by_code_point(texts)[1]
