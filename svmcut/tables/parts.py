# SPDX-License-Identifier: BSD-3-Clause
"""Parts of a table: files, or row groups of Parquet files, with one encoding fitted to all of them.

In the first pass a part returns statistics of each column: count, mean and sum of squared
deviations, or names, or words and the number of rows with them. They are merged in the order of the
parts, so the encoding depends on the parts alone. In the second pass a part encodes its rows.
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
from svmcut.tables.cells import (
    BOOLEANS,
    Column,
    Reread,
    Undecided,
    classify_texts,
    parse_number,
    show_text,
    undecided_error,
)
from svmcut.tables.encoded import (
    DROPPED,
    EMPTY,
    GROUP,
    LABEL,
    WEIGHT,
    TestTable,
    assign_roles,
    check_label,
    join_examples,
)
from svmcut.tables.encoding import Category, Counts, Encoding, Number, Text, Unused, Values
from svmcut.tables.labels import (
    Names,
    are_all_numbers,
    check_given,
    check_weights,
    number_queries,
    sort_names,
)
from svmcut.tables.options import TableOptions

#: Bytes of a part that is made of neighbours, and parts there are if there are enough pieces.
MAX_PIECE_BYTES, MIN_PIECES = 16_000_000, 32


@record
class Piece:
    """A part of a table; path, input and groups are those of `svmcut.tables.reading.open_table`."""

    path: str
    input: str
    groups: tuple[int, int] | None = None
    #: Column of the weights.
    weights: str | None = None
    #: None until it is fitted.
    encoding: Encoding | None = None
    #: Kind of labels.
    kind: str = CLASSES
    #: Number of groups of rows in the parts before this one.
    before: int = 0

    @property
    def name(self) -> str:
        if self.groups is None:
            return self.path
        first, last = self.groups[0] + 1, self.groups[1]
        return f"{self.path}, row group{'s' * (last > first)} {first}" + (
            f" to {last}" if last > first else ""
        )

    def read(self) -> Examples:
        """Return the encoded rows; raise DataError with row, counted in this part, and column."""
        assert self.encoding is not None
        test, weights = TestTable(self.encoding, self.input), Names(self.name, self.weights or "")
        with reading.open_table(self.path, self.input, self.groups) as table:
            blocks = [
                *test.blocks(self.name, self._watch_weights(table, weights), self.kind, False)
            ]
        examples = replace(join_examples(blocks), source=Source(self.name))
        if examples.qid is not None:
            examples = replace(examples, qid=examples.qid + self.before)
        if self.weights is None:
            return examples
        values = np.array([*map(parse_number, weights.texts()), math.nan])[weights.ids()]
        check_weights(self.name, self.weights, values)
        return replace(examples, weights=values)

    def _watch_weights(self, table: reading.Table, weights: Names) -> reading.Table:
        """Return the table; its column of weights is recorded while it is read."""
        if self.weights is None:
            return table
        place = table.names.index(self.weights)

        def batches() -> Iterator[list[Any]]:
            for batch in table.batches:
                weights.add(reading.read_cells(self.name, str(self.weights), batch[place]))
                yield batch

        return reading.Table(table.names, batches())


class ColumnStatistics(NamedTuple):
    """Statistics of one column in a part."""

    #: Count, mean and squared deviations of the numbers that are not missing.
    known: int = 0
    mean: float = 0.0
    squares: float = 0.0
    #: True if a cell is empty.
    missing: bool = False
    #: True if all other cells are true or false.
    boolean: bool = True
    #: Sorted names; None for numbers.
    texts: tuple[bytes, ...] | None = None

    def merge(self, other: ColumnStatistics) -> ColumnStatistics:
        """Merge with the next part's (Chan, Golub and LeVeque, 1979)."""
        n = self.known + other.known
        if self.texts is not None or other.texts is not None:
            texts = tuple(sorted({*(self.texts or ()), *(other.texts or ())}))
        else:
            texts = None
        missing, boolean = self.missing or other.missing, self.boolean and other.boolean
        if not self.known or not other.known:
            mean, squares = (self if self.known else other)[1:3]
            return ColumnStatistics(n, mean, squares, missing, boolean, texts)
        step = other.mean - self.mean
        mean = self.mean + step * (other.known / n)
        squares = self.squares + other.squares + step**2 * (self.known * other.known / n)
        return ColumnStatistics(n, mean, squares, missing, boolean, texts)


class WordStatistics(NamedTuple):
    """Statistics of a column of texts in a part."""

    rows: int
    #: Number of rows with each word; None if words are hashed.
    counts: dict[bytes, int] | None

    def merge(self, other: WordStatistics) -> WordStatistics:
        if self.counts is None or other.counts is None:
            return WordStatistics(self.rows + other.rows, None)
        counts = dict(self.counts)
        for term, rows in other.counts.items():
            counts[term] = counts.get(term, 0) + rows
        return WordStatistics(self.rows + other.rows, counts)


class Summary(NamedTuple):
    """Statistics of a part: columns, rows, the texts of labels, and those of groups in their
    order."""

    names: tuple[str, ...]
    rows: int
    columns: dict[str, ColumnStatistics | WordStatistics]
    labels: tuple[bytes, ...]
    groups: tuple[bytes, ...] = ()


def list_pieces(path: str, input: str) -> list[Piece]:
    """Return the parts of a file: row groups of Parquet, joined up to MAX_PIECE_BYTES."""
    if input != "parquet":
        return [Piece(path, input)]
    ranges = join_neighbours(reading.row_group_sizes(path))
    return [Piece(path, input, groups) for groups in ranges] or [Piece(path, input)]


def join_neighbours(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Return ranges of neighbours whose sizes, in bytes, add up to at most MAX_PIECE_BYTES."""
    ranges, held = list[tuple[int, int]](), 0
    most = min(MAX_PIECE_BYTES, sum(sizes) / MIN_PIECES)
    for k, size in enumerate(sizes):
        if not ranges or held + size > most:
            ranges.append((k, k + 1))
            held = size
        else:
            ranges[-1] = ranges[-1][0], k + 1
            held += size
    return ranges


def summarise(piece: Piece, options: TableOptions, named: frozenset[str]) -> Summary:
    """Return the statistics of a part; `named` columns hold names in another part.

    Raises UsageError and DataError as `svmcut.tables.encoded.read_encoded`.
    """
    forced = set(named)
    while True:
        try:
            return _summarise_once(piece, options, forced)
        except Reread as again:
            forced.add(again.name)
        except NoExamples:
            return Summary((), 0, {}, ())


def _summarise_once(piece: Piece, options: TableOptions, named: set[str]) -> Summary:
    with reading.open_table(piece.path, piece.input, piece.groups) as table:
        check_label(table.names, options, piece.path)
        roles = assign_roles(table.names, options, piece.path)
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
    check_given(labels, labels.ids(), "has no label; leave the row out")
    statistics = {name: _describe_column(column.join_cells()) for name, column in columns.items()}
    if options.group:
        number_queries(groups)
    told = tuple(labels.texts()), tuple(groups.texts())
    return Summary(tuple(table.names), rows, statistics, *told)


def _describe_column(gathered: Any) -> ColumnStatistics | WordStatistics:
    if isinstance(gathered, Counts):
        n, words = len(gathered.ends) - 1, gathered.texts
        if words is None:
            return WordStatistics(n, None)
        df = np.bincount(gathered.ids, minlength=len(words)).tolist()
        return WordStatistics(n, {word: rows for word, rows in zip(words, df, strict=True) if rows})
    if not isinstance(gathered, Values):
        used = np.unique(gathered.ids[gathered.ids >= 0])
        texts = tuple(sorted(gathered.texts[k] for k in used.tolist()))
        return ColumnStatistics(
            missing=bool((gathered.ids == -1).any()), boolean=False, texts=texts
        )
    values = gathered.values[~np.isnan(gathered.values)]
    missing = len(values) < len(gathered.values)
    if not len(values):
        return ColumnStatistics(missing=missing)
    mean = float(values.mean())
    squares = float(((values - mean) ** 2).sum())
    return ColumnStatistics(len(values), mean, squares, missing, gathered.boolean)


def check_options(input: str) -> None:
    """Raise UsageError for input that cannot be read in parts."""
    if input == "text":
        raise UsageError("{input=text} does not spread over parts in this version")


def join_groups(pieces: Sequence[Piece], summaries: Sequence[Summary]) -> list[Piece]:
    """Return the parts, with the number of groups before each; row groups of a file that share a
    group of rows become one part, which has no summary yet.

    Raises DataError for a group of rows in two files, or one that returns.
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
                raise DataError(piece.name, Message(message, show_text(last), previous.name))
            whole[-1] = replace(previous, groups=(previous.groups[0], piece.groups[1]))
        else:
            whole.append(replace(piece, before=before))
        own = [text for text in one.groups if text != last]
        if again := seen.intersection(own):
            message = "the group '{}' returns; sort the tables by this column"
            raise DataError(piece.name, Message(message, show_text(min(again))))
        seen.update(own)
        before, last = before + len(own), one.groups[-1] if one.groups else last
    return whole


def check_same_columns(pieces: Sequence[Piece], summaries: Sequence[Summary]) -> None:
    """Raise DataError for parts with other columns than the first."""
    pairs = [pair for pair in zip(pieces, summaries, strict=True) if pair[1].names]
    for piece, one in pairs:
        first, known = pairs[0][0].name, {*pairs[0][1].names}
        lacking, more = sorted(known - {*one.names}), sorted({*one.names} - known)
        if lacking or more:
            message = "has {} column '{}', which {} has{}"
            words = ("no", lacking[0], first, "") if lacking else ("a", more[0], first, " not")
            raise DataError(piece.name, Message(message, *words))


def find_mixed_columns(summaries: Sequence[Summary]) -> frozenset[str]:
    """Return columns with numbers in one part and names in another; they are names in all."""
    columns = [
        {name: told for name, told in one.columns.items() if isinstance(told, ColumnStatistics)}
        for one in summaries
        if one.rows
    ]
    return frozenset(
        name
        for name in (columns[0] if columns else ())
        if any(one[name].texts is not None for one in columns)
        and any(one[name].texts is None and one[name].known for one in columns)
    )


def fit_encoding(
    path: str, summaries: Sequence[Summary], options: TableOptions, numeric: bool, format: str
) -> Encoding:
    """Return the encoding fitted to all parts; `path` names them in messages.

    Raises DataError for columns that cannot be learned from, and with `numeric` for labels that are
    no numbers.
    """
    full = [one for one in summaries if one.rows]
    if not full:
        raise NoExamples(path)
    n = sum(one.rows for one in full)
    columns: list[Any] = []
    unused: list[Unused] = []
    undecided: list[Undecided] = []
    for name, role in assign_roles(list(full[0].names), options, path).items():
        if role in (LABEL, GROUP, WEIGHT, DROPPED):
            unused.append(Unused(name, role))
            continue
        merged: Any = full[0].columns[name]
        for one in full[1:]:
            merged = merged.merge(one.columns[name])
        try:
            fitted = _fit_column(path, name, role, merged, n, options)
        except Undecided as fault:
            undecided.append(fault)
            continue
        (unused if isinstance(fitted, Unused) else columns).append(fitted)
    if undecided:
        raise undecided_error(undecided)
    if not columns:
        raise DataError(path, "all columns are empty; there is nothing to learn from")
    return Encoding(tuple(columns), tuple(unused), _words(path, full, options, numeric), format)


def _text(name: str, told: WordStatistics, options: TableOptions) -> Text:
    if told.counts is None:
        return Text.from_counts(name, told.rows, None, np.zeros(0, np.int64), options)
    terms = sorted(term for term, rows in told.counts.items() if rows >= options.min_count)
    df = np.array([told.counts[term] for term in terms], np.int64)
    return Text.from_counts(name, told.rows, terms, df, options)


def _fit_column(
    path: str,
    name: str,
    role: str,
    told: ColumnStatistics | WordStatistics,
    n: int,
    options: TableOptions,
) -> Any:
    if isinstance(told, WordStatistics):
        return _text(name, told, options)
    if told.texts is None:
        if not told.known:
            return Unused(name, EMPTY)
        if told.boolean:
            return Number(name, missing=told.missing, boolean=True)
        deviation = math.sqrt(told.squares / told.known)
        return Number.from_statistics(name, told.known, told.mean, deviation, told.missing, options)
    if not told.texts:
        return Unused(name, EMPTY)
    if role == "open" and classify_texts(path, name, n, list(told.texts)) == BOOLEANS:
        return Number(name, missing=told.missing, boolean=True)
    return Category(name, tuple(text.decode() for text in told.texts), told.missing)


def _words(
    path: str, full: Sequence[Summary], options: TableOptions, numeric: bool
) -> tuple[str, ...]:
    texts = sorted({text for one in full for text in one.labels})
    values = [parse_number(text) for text in texts]
    if are_all_numbers(texts, values, numeric):
        return ()
    if numeric:
        other = next(text for text, value in zip(texts, values) if value != value)
        shown = show_text(other)
        message = "column '{}': '{}' is no number, and the task learns numbers"
        raise DataError(path, Message(message, options.label, shown))
    return sort_names(texts)[1]
