# SPDX-License-Identifier: BSD-3-Clause
"""What crosses: the features of a run, a row each, and the cells of the table that they span.

A cell is a value of every feature: a task, how its examples are given, a machine, ... A new value
is a row here; tasks, inputs and formats are those of the catalog, and one without a row fails. What
the catalog refuses of a cell is asked before anything runs; all others have to run.
"""

import functools
import importlib.util
import itertools
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from svmcut.base.errors import UsageError
from svmcut.cli import commands, option_checks
from svmcut.cli.option_texts import options as options_of_task
from svmcut.spec.catalog import (
    COLUMNS,
    INPUTS,
    MODEL_FORMATS,
    NAMED,
    TABLES,
    TASKS,
    losses,
    task_inputs,
)
from svmcut.spec.entries import (
    CLASSES,
    GRADES,
    NUMBERS,
    ONE_CLASS,
    SETS,
    TAGS,
    TWO_CLASSES,
)

N, LENGTH = 20, 4
WORDS = ("free", "money", "offer", "hello", "ten", "café")
TRAIN, DEV, TEST = range(3)


# The rows: columns of a table, and labels as names and as numbers


def _names(*names):
    return lambda score, rng: np.array(names)[np.digitize(score, [-0.4, 0.4][: len(names) - 1])]


def _sets(score, rng):
    hits = score[:, None] + rng.normal(size=(N, 3)) > [0.5, 0.0, -0.5]
    return [[name for name, hit in zip(("red", "green", "blue"), row) if hit] for row in hits]


#: Labels of N rows by what a task's labels are.
LABELS: dict[str, Callable] = {
    TWO_CLASSES: lambda score, rng: np.where(score > 0, "yes", "no"),
    CLASSES: _names("low", "mid", "top"),
    NUMBERS: lambda score, rng: np.round(np.abs(score) + 0.1, 2) * rng.choice([-1, 1, 1], N),
    GRADES: lambda score, rng: np.digitize(score, [-0.4, 0.4]),
    TAGS: _names("B-P", "I-P", "O"),
    SETS: _sets,
    ONE_CLASS: lambda score, rng: np.ones(N, int),
}
NUMBERS_OF = {"no": -1, "low": 1, "mid": 2, "top": 3, "B-P": 1, "I-P": 2, "O": 3}
NUMBERS_OF |= {"yes": 1, "red": 0, "green": 1, "blue": 2}


@functools.cache
def rows_of(task, part):
    """Columns of the rows of a part, by name."""
    rng = np.random.default_rng([part, [*TASKS].index(task)])
    size, age = np.round(rng.normal(size=N), 3), rng.integers(20, 60, N)
    score = size + (age - 40) / 20 + 0.5 * rng.normal(size=N)
    words = [rng.choice(WORDS[k:] if s > 0 else WORDS[:-k], 3) for s, k in zip(score, [1, 2] * N)]
    return {
        "label": LABELS[TASKS[task].labels](score, rng),
        "size": [None if k == 3 else float(value) for k, value in enumerate(size)],
        "age": age,
        "who": rng.choice(["eve", "bob", "zoe"], N),
        "note": [" ".join(text) for text in words],
        "query": np.repeat(np.arange(1, N // LENGTH + 1), LENGTH),
    }


def number(label):
    """What a label is among numbers."""
    return NUMBERS_OF.get(label, label)


def matrix(task, part):
    """(N, 4) features of the rows."""
    rows = rows_of(task, part)
    size = [0.0 if value is None else value for value in rows["size"]]
    notes = [text.count("free") + text.count("ten") for text in rows["note"]]
    return np.column_stack([size, (rows["age"] - 40) / 20, rows["who"] == "eve", notes])


def arrow(task, part):
    """The rows as an Arrow table."""
    rows = dict(rows_of(task, part))
    return pa.table({name: [*values] for name, values in rows.items()})


# How rows are given


def _svm(task, part):
    rows, lines = rows_of(task, part), []
    grouped = TASKS[task].labels in (GRADES, TAGS)
    for label, query, row in zip(rows["label"], rows["query"], matrix(task, part)):
        sets = TASKS[task].labels == SETS
        head = ",".join(str(number(name)) for name in label) if sets else f"{number(label)}"
        head += f" qid:{query}" if grouped else ""
        lines.append(f"{head} " + " ".join(f"{j}:{x:.9g}" for j, x in enumerate(row, 1) if x))
    return "\n".join(lines) + "\n"


def _separated(sign):
    def text(task, part):
        rows = rows_of(task, part)
        cells = zip(*rows.values())
        lines = [sign.join(rows), *(sign.join(map(_cell, row)) for row in cells)]
        return "\n".join(lines) + "\n"

    return text


def _cell(value):
    return "" if value is None else "|".join(value) if isinstance(value, list) else str(value)


def _jsonl(task, part):
    return "".join(json.dumps(row) + "\n" for row in arrow(task, part).to_pylist())


def _lines(task, part):
    rows = rows_of(task, part)
    marked = TASKS[task].labels == SETS
    heads = [
        " ".join(f"__label__{name}" for name in label or ["none"]) + " " if marked else f"{label}\t"
        for label in rows["label"]
    ]
    return "".join(f"{head}{note}\n" for head, note in zip(heads, rows["note"]))


def _tokens(join):
    def text(task, part):
        rows = rows_of(task, part)
        lines = map(join, rows["label"], rows["note"], rows["who"])
        ends = ["\n\n" if k % LENGTH == LENGTH - 1 else "\n" for k in range(N)]
        return "".join(itertools.chain(*zip(lines, ends)))

    return text


def _parquet(path, table):
    parquet.write_table(table, path, row_group_size=8)


def _ipc(path, table):
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table, max_chunksize=8)


class Input(NamedTuple):
    """One way to give examples.

    Attributes
    ----------
    family : str
        Inputs of a family hold the same rows: their models predict the same.
    text : callable or None
        The file's text, of a task and a part.
    write : callable or None
        Of a path and an Arrow table, where that makes the file.
    memory : callable or None
        What `svmcut.train` takes in place of a file, of a task and a part.
    needs : str
        The module without which it is left out.
    """

    family: str
    text: Callable | None = None
    write: Callable | None = None
    memory: Callable | None = None
    needs: str = "svmcut"

    @property
    def kind(self):
        """The first input of its family."""
        return next(name for name, row in GIVEN.items() if row.family == self.family)


def _arrays(task, part):
    X, rows = matrix(task, part), rows_of(task, part)
    if TASKS[task].labels == SETS:
        members = [[number(name) for name in label] for label in rows["label"]]
        return X, np.array([[k in label for k in range(3)] for label in members])
    y = np.array([number(label) for label in rows["label"]])
    return (X, y, rows["query"]) if TASKS[task].labels in (GRADES, TAGS) else (X, y)


SVM = INPUTS[0]
GIVEN = {
    SVM: Input("rows", _svm),
    "csv": Input("table", _separated(",")),
    "tsv": Input("table", _separated("\t")),
    "jsonl": Input("table", _jsonl),
    "parquet": Input("table", write=_parquet),
    "arrow": Input("table", write=_ipc),
    "text": Input("texts", _lines),
    NAMED: Input(
        "attributes", _tokens(lambda tag, note, who: "\t".join([tag, who, *note.split()]))
    ),
    COLUMNS: Input(
        "columns", _tokens(lambda tag, note, who: f"{note.replace(' ', '-')} {who} {tag}")
    ),
    "arrays": Input("rows", memory=_arrays),
    "arrow frame": Input("table", memory=arrow),
    "pandas": Input(
        "table", memory=lambda task, part: arrow(task, part).to_pandas(), needs="pandas"
    ),
    "polars": Input(
        "table",
        memory=lambda task, part: importlib.import_module("polars").from_arrow(arrow(task, part)),
        needs="polars",
    ),
}


@functools.cache
def inputs_of(task):
    """The ways to give examples of a task, that of files first."""
    files = task_inputs(task)
    memory = [name for name, row in GIVEN.items() if row.memory and name not in INPUTS]
    memory = [name for name in memory if GIVEN[name].family == "rows" or "csv" in files]
    return [*files, *(name for name in memory if importlib.util.find_spec(GIVEN[name].needs))]


def file_input(name):
    """The input of the files beside rows that are given so."""
    row = GIVEN[name]
    return name if row.memory is None else row.kind


# Features of a run; a value is the parameters that it stands for, a callable makes them of a task


class Value(NamedTuple):
    """One value of a feature.

    Attributes
    ----------
    parameters : mapping or callable
        Fields of LearnOptions; of (task, DEV) where it is a callable.
    like : str or None
        The value whose models predict the same, where that is another.
    files : bool
        Whether command lines alone have it.
    limits : mapping or None
        What ends the first of two runs.
    may_stop : bool
        Whether so few rows may not allow what it aims at.
    by_time : bool
        Whether models that iterations end are as good to go on from as any: time alone is to.
    """

    parameters: Any
    like: str | None = None
    files: bool = False
    limits: Any = None
    may_stop: bool = False
    by_time: bool = False


def _costs(task, costs):
    return {"example_cost": costs} if TASKS[task].has_cost else {}


def _squared(task):
    """The loss of squares that a penalty of |w|_1 asks for, else the task's own."""
    names = (name for name in losses(task) if "squared" in name and not losses(task)[name].joint)
    return next(names, TASKS[task].loss)


OFF = "off"
MACHINES = {
    "linear": Value({}),
    "rbf": Value({"kernel": "rbf", "gamma": 0.5}),
    "fourier": Value(
        {"kernel": "rbf", "gamma": 0.5, "solver": "subspace", "basis_kind": "fourier"}
    ),
    "l1": Value(lambda task, dev: {"penalty": "l1", "loss": _squared(task)}),
    "free bias": Value({"free_bias": True}),
    "quick": Value({"quick": True}),
    "no pairs": Value({"pairs": "none"}),
    "tree": Value({"pairs": "none", "tree": True}),
    "one against the rest": Value({"multiclass": "one-vs-rest", "loss": "logistic"}),
    "joint kernel": Value({"multiclass": "crammer-singer", "kernel": "rbf", "gamma": 0.5}),
    "certified": Value({"certify": True}),
    "multipliers": Value({"keep_multipliers": True}),
}
CHOICES = {
    OFF: Value({}),
    "cv": Value(lambda task, dev: {"cv": 2} | _costs(task, (0.1, 1.0))),
    "validate": Value(lambda task, dev: {"validate": dev}, like=OFF, files=True),
    "select": Value(
        lambda task, dev: (
            {"validate": dev, "select": TASKS[task].measure.replace("_", "-")}
            | _costs(task, (0.1, 1.0))
        ),
        files=True,
    ),
    "certify choice": Value(
        lambda task, dev: {"cv": 2, "certify_choice": 0.5, "example_cost": "0.1:1"}, by_time=True
    ),
    "threshold": Value(
        lambda task, dev: {"validate": dev, "at_least": "recall=0.2", "confidence": 0.6}, files=True
    ),
    "until decided": Value(
        lambda task, dev: {"until_decided": dev, "fraction": 0.1}, files=True, may_stop=True
    ),
}
CHECKPOINTS = {
    OFF: Value({}),
    "iterations": Value({"checkpoint": "state"}, OFF, True, {"max_iterations": 1}),
    "time": Value({"checkpoint": "state"}, OFF, True, {"time_limit": 1e-9}),
}
FEATURES: dict[str, dict[str, Value]] = {
    "machine": MACHINES,
    "choice": CHOICES,
    "checkpoint": CHECKPOINTS,
    "probability": {OFF: Value({}), "on": Value({"probability": True}, like=OFF)},
    "format": {name: Value({"model_format": name}) for name in MODEL_FORMATS}
    | {MODEL_FORMATS[0]: Value({})},
    "weights": {
        OFF: Value({}),
        "file": Value({"weights": "weights"}),
        "balanced": Value({"class_weight": "balanced"}),
    },
}


class Cell(NamedTuple):
    """A value of every feature."""

    task: str
    input: str
    machine: str = "linear"
    choice: str = OFF
    checkpoint: str = OFF
    probability: str = OFF
    format: str = MODEL_FORMATS[0]
    weights: str = OFF

    @property
    def values(self):
        """Of its features beside the task and the input."""
        return [FEATURES[name][getattr(self, name)] for name in FEATURES]

    @property
    def in_memory(self):
        """Whether Python trains it."""
        return GIVEN[self.input].memory is not None

    @property
    def exists(self):
        """Whether the input is one of the task, and Python has every feature where it trains."""
        if self.input == "text" and TASKS[self.task].labels == GRADES and "cv" in self.parameters():
            return False  # texts are one query
        known = self.input in inputs_of(self.task)
        return known and not (self.in_memory and any(value.files for value in self.values))

    @property
    def limits(self):
        """What ends the first of two runs; None where there is one."""
        by_time = any(value.by_time for value in self.values) and self.checkpoint != OFF
        return CHECKPOINTS["time" if by_time else self.checkpoint].limits

    @property
    def may_stop(self):
        """Whether training may end before what was asked for."""
        return any(value.may_stop for value in self.values)

    @property
    def reading(self):
        """What says how its files are written, where their names and the model do not."""
        return ["--input", self.input] if self.input == NAMED else []

    @property
    def has_options(self):
        """Whether the task has an option for all that is asked for."""
        return {*self.parameters()} <= {*flags_of(self.task), "task"}

    @property
    def like(self):
        """The plain cell whose model predicts the same."""
        values = {name: FEATURES[name][getattr(self, name)].like for name in FEATURES}
        same = {name: value for name, value in values.items() if value is not None}
        return self._replace(input=GIVEN[self.input].kind, **same)

    def parameters(self, dev="dev"):
        """All that is asked for, by field."""
        asked = {} if self.task == "rank" else {"task": self.task}
        for value in self.values:
            given = value.parameters
            asked |= given(self.task, dev) if callable(given) else given
        return asked | self.table()

    def table(self):
        """What is asked of a table."""
        input = file_input(self.input)
        if input in TABLES and input != "text":
            columns = {"label": "label", "text": "note"}
            return columns | ({"group": "query"} if TASKS[self.task].labels == GRADES else {})
        return {}

    def words(self, folder="", **more):
        """The command line."""
        flags = flags_of(self.task)
        files = {"checkpoint", "weights", "model", "trace", "report"}
        given = self.parameters(f"{folder}{name_of(self, DEV)}") | more
        if (input := file_input(self.input)) in ("text", NAMED, COLUMNS):
            given["input"] = input
        words = [TASKS[self.task].command, f"{folder}{name_of(self, TRAIN)}", f"{folder}model"]
        for name, value in given.items():
            text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
            text = f"{folder}{text}" if name in files else text
            words.append(flags.get(name, "--" + name.replace("_", "-")))
            words += [] if value is True else [text]
        return words


def name_of(cell, part):
    """The file of a part."""
    return f"{cell.task}.{part}.{file_input(cell.input)}"


@functools.cache
def flags_of(task):
    """The flags of a task's options, by field."""
    return {row.field: row.full for row in options_of_task(task)}


@functools.cache
def _is_refused(cell):
    if not cell.has_options:
        return True
    run: Any = commands.plain_run(cell.words())
    if run is None:
        return True
    try:
        option_checks.check(run.args[0])
    except UsageError:
        return True
    return False


def is_refused(cell):
    """Whether the catalog refuses a cell: no option says it, or a refusal that needs no data."""
    return _is_refused(cell._replace(input=GIVEN[cell.input].kind))


# The cells that cover every few features together


def cells(strength=2):
    """Cells that run, in which every `strength` values that may stand together do, and cells that
    are refused, one for every such values that may not."""
    names, run, refused = Cell._fields, [], []
    values = [[*TASKS], [*GIVEN], *map(list, FEATURES.values())]
    met: set[Any] = set()

    def tuples(cell):
        return itertools.combinations(enumerate(cell), strength)

    for places in itertools.combinations(range(len(names)), strength):
        for chosen in itertools.product(*(values[place] for place in places)):
            if tuple(zip(places, chosen)) in met:
                continue
            first = None
            for cell in completions(dict(zip((names[place] for place in places), chosen))):
                first = first or cell
                if not is_refused(cell):
                    break
            else:
                if first is not None:
                    refused.append(first)
                continue
            fixed = {*places}
            for place in range(2, len(names)):
                if place not in fixed:
                    cell = widened(cell, names[place], values[place], met, tuples)
            run.append(cell)
            met.update(tuples(cell))
    return run, [*dict.fromkeys(refused)]


def completions(chosen):
    """The cells of some values with the plainest others, of every task and input there is."""
    tasks = [chosen["task"]] if "task" in chosen else [*TASKS]
    for task in tasks:
        for input in [chosen["input"]] if "input" in chosen else inputs_of(task):
            cell = Cell(**{"task": task, "input": input} | chosen)
            if cell.exists:
                yield cell


def widened(cell, name, values, met, tuples):
    """The cell with the value of a feature that covers the most which was not met, and runs."""
    others = [cell._replace(**{name: value}) for value in values]
    gains = [sum(one not in met for one in tuples(other)) for other in others]
    for k in sorted(range(len(others)), key=lambda k: -gains[k]):
        if others[k] == cell or (others[k].exists and not is_refused(others[k])):
            return others[k]
    return cell


def write_part(cell, part, folder):
    """Writes the file of a part, where it is not there."""
    path, row = folder / name_of(cell, part), GIVEN[file_input(cell.input)]
    if path.exists():
        return
    if row.write:
        row.write(path, arrow(cell.task, part))
    else:
        path.write_text(row.text(cell.task, part), encoding="utf-8")


def weights_of(cell):
    """One weight of every example, query or sequence; texts are one query."""
    count = N // LENGTH if TASKS[cell.task].labels in (GRADES, TAGS) else N
    texts = TASKS[cell.task].labels == GRADES and cell.input == "text"
    return np.resize([1.0, 2.0], 1 if texts else count)
