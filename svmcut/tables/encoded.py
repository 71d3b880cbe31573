# SPDX-License-Identifier: BSD-3-Clause
"""Examples of tables: training sets, to which an encoding is fitted, and test sets of a model that
has one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError, MemoryLimitError, NoExamples, UsageError
from svmcut.base.messages import Message, Parameter, join_names
from svmcut.base.typing import Any, NamedTuple
from svmcut.data.examples import Examples, MultilabelExamples, Source, stack_rows
from svmcut.files.names import input_by_ending
from svmcut.files.remote import is_file
from svmcut.files.text import MEGABYTE
from svmcut.spec.entries import CLASSES, NUMBERS, SETS
from svmcut.spec.spellings import nearest
from svmcut.tables import reading
from svmcut.tables.cells import Column, Reread, Undecided, undecided_error
from svmcut.tables.encoding import (
    Category,
    Encoding,
    Number,
    PlacedColumn,
    Rows,
    Text,
    Unused,
    encode,
)
from svmcut.tables.labels import (
    LabelSets,
    Names,
    check_weights,
    number_known_labels,
    number_labels,
    number_queries,
    number_set_names,
)
from svmcut.tables.options import TableOptions

#: Most bytes of blocks being read, and bytes of a row, without features, in training.
_MAX_BLOCK_BYTES, _ROW_BYTES = 128_000_000, 120
#: Roles of columns without features.
LABEL, GROUP, WEIGHT, DROPPED, EMPTY = "label", "group", "weight", "dropped", "empty"
#: Roles of columns by the option that names them.
_ROLES = {
    "label": LABEL,
    "group": GROUP,
    "weight_column": WEIGHT,
    "text": "text",
    "categories": "names",
    "drop": DROPPED,
    "columns": "open",
}
_LIKELY_LABELS = (
    *("label", "class", "target", "y", "category", "species", "outcome", "sentiment", "survived"),
    *("churn", "spam", "default", "diagnosis", "quality", "result"),
)


def read_encoded(
    path: str,
    input: str,
    options: TableOptions,
    kind: str = CLASSES,
    max_memory: float | None = None,
) -> Any:
    """Return the examples of a table, with features fitted to all rows; their `table` is the Rows
    they were made of.

    `kind` is CLASSES, NUMBERS or SETS, the kind of labels; `max_memory` limits the gathered cells
    and the rows, in MB (10^6 bytes). Raises UsageError if options name no label, or columns that do
    not exist; DataError with row and column for invalid content.
    """
    names: set[str] = set()
    while True:
        try:
            with reading.open_table(path, input) as table:
                text = _with_text_roles(options, input)
                return _Training(path, table, text, kind, names, input).read(max_memory)
        except Reread as again:
            if again.name in names or not is_file(path):
                message = "row {}, column '{}': '{}' is no number, and the rows before have numbers"
                told = Message(message, again.row, again.name, again.cell)
                raise DataError(path, told) from None
            names.add(again.name)


def encode_frame(frame: Any, options: TableOptions, kind: str = CLASSES) -> Any:
    """Return the examples of a DataFrame, as `read_encoded`."""
    return _Training(
        "the table", reading.open_frame(frame), options, kind, frozenset(), "arrow"
    ).read()


def _with_text_roles(options: TableOptions, input: str) -> TableOptions:
    if input != "text":
        return options
    from svmcut.base.records import replace

    return replace(options, label=reading.LABEL, text=(reading.TEXT,))


def assign_roles(names: list[str], options: TableOptions, path: str) -> dict[str, str]:
    """Return the role of every column: one without features, "text", "names", or "open".

    Raises UsageError for columns that do not exist, and for those that two options name.
    """
    roles: dict[str, str] = {}
    for option, role in _ROLES.items():
        named = getattr(options, option) or ()
        for column in (named,) if isinstance(named, str) else named:
            if column not in names:
                raise UsageError(
                    "{} names '{}', which is no column of {}; {}",
                    Parameter(option),
                    column,
                    path,
                    _suggest_column(column, names),
                )
            if column in roles and option != "columns":
                raise UsageError("'{}' has two uses; leave it out of {}", column, Parameter(option))
            roles.setdefault(column, role)
    rest = DROPPED if options.columns else "open"
    return {name: roles.get(name, rest) for name in names}


def check_label(names: list[str], options: TableOptions, path: str) -> None:
    """Raise UsageError with the likely label for a table without a named one."""
    if options.label is not None:
        return
    likely = next((name for name in names if name.lower() in _LIKELY_LABELS), names[-1])
    raise UsageError(
        "{} has the columns {}; name the label as in {label=}", path, _list_some(names), likely
    )


def _suggest_column(column: str, names: list[str]) -> str:
    folded = {name.strip().lower(): name for name in names}
    if near := folded.get(column.strip().lower()) or nearest(column, names, 0.75):
        return f"did you mean '{near}'?"
    return f"expected one of {_list_some(names)}"


def _list_some(names: list[str], most: int = 20) -> str:
    return join_names([*names[:most], f"{len(names) - most} more"] if len(names) > most else names)


class TrainingTable(NamedTuple):
    """A reader of training tables with these options."""

    options: TableOptions
    input: str

    def read(self, path: str, kind: str, max_memory: float | None = None) -> Any:
        return read_encoded(path, self.input, self.options, kind, max_memory)


class _Training:
    """One pass over a training table."""

    def __init__(
        self, path: str, table: Any, options: TableOptions, kind: str, names: Any, format: str
    ):
        self._path, self._table, self._options, self._kind = path, table, options, kind
        self._format = format
        check_label(table.names, options, path)
        roles = assign_roles(table.names, options, path)
        self._roles = {name: "names" if name in names else role for name, role in roles.items()}
        self._columns = {
            name: Column(path, name, role, options)
            for name, role in self._roles.items()
            if role in ("text", "names", "open")
        }
        if not self._columns:
            raise UsageError("{} has no column to learn from", path)
        label = str(options.label)
        self._labels: Any = LabelSets(path, label) if kind == SETS else Names(path, label)
        self._groups = Names(path, str(options.group))
        self._weights = Column(path, str(options.weight_column), "open", options)

    def read(self, max_memory: float | None = None) -> Any:
        takers = {LABEL: self._labels, GROUP: self._groups, WEIGHT: self._weights}
        rows = 0
        for batch in self._table.batches:
            for (name, role), cells in zip(self._roles.items(), batch, strict=True):
                if role != DROPPED:
                    taker = takers.get(role) or self._columns[name]
                    taker.add(reading.read_cells(self._path, name, cells))
            rows += len(batch[0])
            self._check(rows, max_memory)
        if not rows:
            raise NoExamples(self._path)
        return self._examples(rows)

    def _check(self, rows: int, max_memory: float | None) -> None:
        """Raise MemoryLimitError if more memory is about to be needed: for gathered cells, twice
        while they are joined, blocks being read, examples, and training."""
        if max_memory is None:
            return
        columns = self._columns.values()
        gathered = sum(column.nbytes for column in columns) + self._weights.nbytes
        gathered += self._labels.nbytes + self._groups.nbytes
        entries = sum(column.entries for column in columns)
        need = 2 * gathered + min(gathered, _MAX_BLOCK_BYTES) + 16 * entries + _ROW_BYTES * rows
        if need > max_memory * MEGABYTE:
            raise MemoryLimitError(
                "{}: the rows take more than {:g} MB, the limit; raise {max_memory}, or leave rows "
                "or columns out",
                self._path,
                max_memory,
            )

    def _examples(self, n: int) -> Any:
        gathered: dict[str, Any] = {}
        undecided = []
        for name, column in self._columns.items():
            try:
                gathered[name] = column.take()
            except Undecided as fault:
                undecided.append(fault)
        if undecided:
            raise undecided_error(undecided)
        empty = [name for name, cells in gathered.items() if _is_empty(cells)]
        for name in empty:
            if self._roles[name] == "text":
                message = "column '{}' has no words; expected texts"
                raise DataError(self._path, Message(message, name))
            del gathered[name]
        if not gathered:
            raise DataError(self._path, "all columns are empty; there is nothing to learn from")
        unused = tuple(
            Unused(name, EMPTY if name in empty else role)
            for name, role in self._roles.items()
            if name in empty or role in (LABEL, GROUP, WEIGHT, DROPPED)
        )
        labels, words = self._take_labels()
        frame = Encoding((), unused, words, self._format)
        own = list(gathered), list(gathered.values()), self._options, frame
        table = Rows(self._path, *own)
        X, source = table.features(), Source(self._path)
        weights = self._take_weights() if self._options.weight_column else None
        if self._kind == SETS:
            names, indptr, places = labels
            return MultilabelExamples(X, names, indptr, places, source, weights, table)
        qid = number_queries(self._groups) if self._options.group else None
        return Examples(X, labels, qid, weights, source, table)

    def _take_labels(self) -> tuple[Any, tuple[str, ...]]:
        if self._kind != SETS:
            return number_labels(self._labels, self._kind == NUMBERS)
        indptr, ids, texts = self._labels.take()
        numbers, words = number_set_names(texts)
        return _normalise_sets(indptr, numbers[ids]), words

    def _take_weights(self) -> NDArray[np.float64]:
        name = str(self._options.weight_column)
        cells = self._weights.take()
        values = getattr(cells, "values", np.full(1, np.nan))
        check_weights(self._path, name, values)
        return values


def _is_empty(cells: Any) -> bool:
    if hasattr(cells, "counts"):
        return not len(cells.ids)
    return bool((cells.ids == -1).all()) if hasattr(cells, "ids") else np.isnan(cells.values).all()


def _normalise_sets(indptr: NDArray, numbers: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Return sorted labels, and the places of every row's labels, increasing and without
    duplicates."""
    names, places = np.unique(numbers, return_inverse=True)
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    pairs = np.unique(np.column_stack([rows, places.ravel()]), axis=0)
    bounds = np.zeros(len(indptr), np.int64)
    np.cumsum(np.bincount(pairs[:, 0], minlength=len(indptr) - 1), out=bounds[1:])
    return names.astype(np.int64), bounds, np.ascontiguousarray(pairs[:, 1], np.int32)


class TestTable:
    """A reader of tables that a model with an encoding predicts."""

    __test__ = False

    def __init__(self, encoding: Encoding, input: str | None = None):
        self._encoding, self._input = encoding, input
        #: True if the table that was opened last has a column of labels.
        self.labelled = True
        self.warnings: list[str] = []

    def read(self, path: str, kind: str, max_memory: float | None = None) -> Any:
        return join_examples([*self.stream(path, kind)])

    def stream(self, path: Any, kind: str, unlabelled: bool = False) -> Iterator[Any]:
        """Yield the examples of a file, or of a DataFrame, in blocks.

        Raises DataError if a column of the model is missing, and as `read_encoded`.
        """
        if not isinstance(path, str):
            yield from self.blocks("the table", reading.open_frame(path), kind, unlabelled)
            return
        input = self._input or input_by_ending(path) or self._encoding.format
        with reading.open_table(path, input) as table:
            yield from self.blocks(path, table, kind, unlabelled)

    def blocks(self, path: str, table: Any, kind: str, unlabelled: bool) -> Iterator[Any]:
        """Yield the examples of an open table, as `stream`."""
        places = {name: k for k, name in enumerate(table.names)}
        wanted = [column.name for column in self._encoding.columns]
        if missing := [name for name in wanted if name not in places]:
            message = "no column '{}', which the model was trained on; the table has {}"
            raise DataError(path, Message(message, missing[0], _list_some(table.names)))
        known = {*wanted, *(unused.name for unused in self._encoding.unused)}
        if extra := [name for name in table.names if name not in known]:
            message = "{}: the model does not know the columns {}, which are left out"
            self.warnings.append(Message(message, path, _list_some(extra)))
        reader = _Blocks(path, self._encoding, places, kind)
        self.labelled = reader.labelled
        reader.labelled &= not unlabelled
        rows = 0
        for batch in table.batches:
            if len(batch[0]):
                yield reader.block(batch, rows)
                rows += len(batch[0])
        if not rows:
            raise NoExamples(path)


class _Blocks:
    """A converter of the batches of a test table into examples."""

    def __init__(self, path: str, encoding: Encoding, places: dict[str, int], kind: str):
        self._path, self._encoding, self._places, self._kind = path, encoding, places, kind
        label, group = encoding.role(LABEL), encoding.role(GROUP)
        self.labelled = label in places
        words = encoding.words
        self._labels: Any = (
            LabelSets(path, str(label), words) if kind == SETS else Names(path, str(label), words)
        )
        self._groups = Names(path, str(group)) if group in places else None
        self._columns = [_make_column(path, column) for column in encoding.columns]
        self._placed = [PlacedColumn(column) for column in encoding.columns]

    def block(self, batch: list[Any], before: int) -> Any:
        """Return the rows of a batch that comes after `before` others."""
        n = len(batch[0])
        gathered = []
        for column in self._columns:
            column.add(self._cells(batch, column.name))
            gathered.append(column.take())
            column.clear()
        X = encode(self._path, self._placed, gathered)
        source = Source(self._path)
        if self.labelled:
            self._labels.add(self._cells(batch, str(self._encoding.role(LABEL))))
        if self._kind == SETS:
            return MultilabelExamples(X, *self._read_label_sets(n), source)
        y = self._read_labels(n)
        qid = None
        if self._groups is not None:
            self._groups.add(self._cells(batch, self._groups.name))
            qid = number_queries(self._groups)[before:]
        return Examples(X, y, qid, None, source)

    def _cells(self, batch: list[Any], name: str) -> Any:
        return reading.read_cells(self._path, name, batch[self._places[name]])

    def _read_labels(self, n: int) -> NDArray[np.float64]:
        if not self.labelled:
            return np.zeros(n)
        return number_known_labels(self._labels, self._encoding.words, self._kind)

    def _read_label_sets(self, n: int) -> tuple[NDArray, NDArray, NDArray]:
        if not self.labelled:
            return np.zeros(0, np.int64), np.zeros(n + 1, np.int64), np.zeros(0, np.int32)
        indptr, ids, texts = self._labels.take()
        if self._encoding.words:
            return _normalise_sets(indptr, np.maximum(ids, -1).astype(np.int64) + 1)
        numbers, words = number_set_names(texts)
        if words:
            message = "column '{}' holds names of labels, the model knows numbers"
            raise DataError(self._path, Message(message, self._encoding.role(LABEL)))
        return _normalise_sets(indptr, numbers[ids])


def _make_column(path: str, column: Any) -> Column:
    role = {Text: "text", Category: "names", Number: "open"}[type(column)]
    return Column(path, column.name, role, TableOptions(), column)


def join_examples(blocks: list[Any]) -> Any:
    """Concatenate blocks of one table."""
    first = blocks[0]
    if len(blocks) == 1:
        return first
    X = stack_rows([block.X for block in blocks])
    if isinstance(first, MultilabelExamples):
        lengths = np.concatenate([np.diff(block.indptr) for block in blocks])
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        labels = np.concatenate([block.names[block.labels] for block in blocks])
        return MultilabelExamples(X, *_normalise_sets(indptr, labels), first.source)
    y = np.concatenate([block.y for block in blocks])
    qid = None if first.qid is None else np.concatenate([block.qid for block in blocks])
    return Examples(X, y, qid, None, first.source)
