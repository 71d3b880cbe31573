# SPDX-License-Identifier: BSD-3-Clause
"""The protocol of a task: all that the command line and svmcut.train know of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import ModelError
from svmcut.base.messages import Message
from svmcut.base.typing import TYPE_CHECKING, Any, Protocol
from svmcut.files.names import input_by_ending
from svmcut.files.output import Output
from svmcut.scoring.measures import Measures
from svmcut.spec.catalog import COLUMNS, INPUTS, NAMED, OF_TAGS, TABLES, TASKS, load, losses
from svmcut.spec.entries import CLASSES
from svmcut.spec.parameters import Settings
from svmcut.tasks.presentation import Presentation

if TYPE_CHECKING:
    from svmcut.training.driver import Driver

#: Tasks whose labels may be words in LIBSVM's text.
OF_CLASSES = frozenset(name for name, row in TASKS.items() if row.has_classes)
#: Scores of labels or tags in memory at a time.
BLOCK_NUMBERS = 1 << 22


class Tally(Protocol):
    """Counts of predictions, part after part; `queries` is True if a row had one."""

    queries: bool

    def add(self, part: Any, predicted: Any) -> None:
        """Adds a part and its predictions."""

    def counts(self) -> dict[str, int]:
        """Entries of the report of classify: ``examples``, and what else the task counts."""


class Task(Protocol):
    """One task, without a state.

    Data are examples as the task reads them. A block, some rows of a file, is data too; a part is
    as much of it as is predicted at once. Methods that take a path or arrays raise DataError and
    MemoryLimitError.
    """

    #: The printed lines of the task.
    presentation: type[Presentation] = Presentation

    #: Kind of a table's labels: CLASSES, NUMBERS or SETS.
    label_kind: str = CLASSES

    def as_original(self) -> Task:
        """The task with the original's rules for labels and its text of predictions."""
        return self

    def read(self, path: str, *, test: bool = False, costs: bool = False, **how: Any) -> Any:
        """Reads all data of a file, to train on or with `test` to measure models on; with `costs`,
        weighted by ``cost:``. how: threads, max_memory, zero_based of
        `svmcut.files.examples.read_examples`."""

    def from_arrays(self, X: Any, y: Any, qid: Any = None) -> Any:
        """Makes validated data of arrays; see svmcut.data.arrays."""

    def bounds(self, data: Any) -> NDArray[np.int64]:
        """(n + 1,) first rows of what has one weight, an example or all rows of a structure, and
        the number of rows."""
        return np.arange(data.X.n_rows + 1)

    def plan(self, data: Any, settings: Settings, time_limit: float | None = None) -> Driver:
        """Makes the driver of checked settings on data; a `time_limit` replaces that of the
        settings. Raises UsageError, DataError, TrainingError or MemoryLimitError."""
        from svmcut.training.driver import make_driver

        driver = make_driver(settings, data, time_limit)
        if TASKS[settings.task].marked:
            driver.task_fields = {"loss": driver.settings.loss}
        if settings.probability:
            calibrated = self.calibrating_driver(driver, data)
            calibrated.task_fields = driver.task_fields
            return calibrated
        return driver

    def calibrating_driver(self, driver: Driver, data: Any) -> Driver:
        """The driver that fits probabilities too."""
        from svmcut.training.calibration import CalibratedDriver

        return CalibratedDriver(driver.plan, data)

    def counts(self, data: Any) -> dict[str, int]:
        """Entries of the report of learn: ``examples``, and what else the task counts."""
        return {"examples": len(data)}

    def label_warnings(self, data: Any, driver: Driver) -> list[str]:
        """Warnings about the labels of data that models of the driver are measured on."""
        return []

    def stream(self, path: str, **how: Any) -> Iterator[Any]:
        """Streams a test file in blocks; how: threads, unlabelled, zero_based of
        `stream_examples`."""

    def parts(self, block: Any, model: Any) -> Iterator[Any]:
        """Splits a block into parts, if predictions take more memory than the block."""
        yield block

    def predictor(self, model: Any, threads: int = 1, beam: int = 0) -> Callable[[Any], Any]:
        """Function that predicts a part; `beam` as in Settings."""

    def write(self, output: Output, predicted: Any, model: Any, labels: bool = False) -> None:
        """Writes lines of a prediction file; with `labels`, the label instead of the score."""

    def write_probabilities(
        self,
        output: Output,
        predicted: Any,
        probabilities: NDArray[np.float64],
        model: Any,
        labels: bool = False,
    ) -> None:
        """Writes the probabilities of the classes; with `labels`, after the predicted one."""

    def probabilities(
        self, part: Any, predicted: Any, model: Any, threads: int = 1
    ) -> NDArray[np.float64]:
        """(n, K) probabilities of the classes, for a predicted part and a model that has them."""
        return model.probabilities(predicted)

    def places(self, part: Any, model: Any) -> NDArray[np.int64]:
        """(n,) place of each row's label among those of a model with probabilities, -1 if it is not
        there."""
        raise NotImplementedError

    def tally(self, model: Any) -> Tally:
        """An empty Tally."""

    def measure(self, tally: Any) -> Measures:
        """The measures of a tally."""

    def counts_of(self, tally: Any) -> dict[str, Any]:
        """Entries of the report of classify other than measures."""
        return tally.counts()

    def check_measure(self, name: str, data: Any) -> None:
        """Raises UsageError for a measure that models of such data do not have."""
        return None

    def warnings(self, tally: Any, path: str) -> list[str]:
        """Warnings about the predictions for this file."""
        return []

    def score_warnings(self, tally: Any) -> list[str]:
        """Warnings that need no labels."""
        return []


def make_task(name: str, original: bool = False, input: str = INPUTS[0]) -> Task:
    """Makes the task of a row of svmcut.spec.catalog.TASKS, as its original knows it or for files
    of a format."""
    if input == NAMED:
        return load("svmcut.tasks.named_sequences:NamedTagging")()
    if input == COLUMNS:
        return load("svmcut.tasks.named_sequences:ColumnTagging")()
    task = load(TASKS[name].where)()
    return task.as_original() if original else task


def presentation(name: str, original: bool = False) -> Presentation:
    """Printed lines of a task, or of its original."""
    return make_task(name, original).presentation(name)


def input_for(model: Any, path: str, given: str | None) -> str:
    """Format of a file of examples for a model: as given, else by its ending, else that of the
    training examples."""
    if given is not None:
        return given
    if (input := input_by_ending(path)) is not None:
        return input
    if _is_of_columns(model):
        return COLUMNS
    columns = model.table is not None and bool(model.table.columns)
    return model.table.format if columns else INPUTS[0]


def _is_of_columns(model: Any) -> bool:
    """True if a model was trained on tokens in columns."""
    names = getattr(model, "names", None)
    return OF_TAGS in tasks_of(model) and names is not None and bool(names.columns)


def names_for(
    model: Any, path: str, input: str, unlabelled: bool = False, partial: bool = False
) -> dict[str, Any]:
    """Keywords that Task.stream needs of the model; raises ModelError if the model has no names for
    such a file."""
    if input == COLUMNS:
        if not _is_of_columns(model):
            message = Message("no template; expected a model trained with {input=conll}")
            raise ModelError(path, message)
        return {
            "table": load("svmcut.tasks.named_sequences:test_columns")(
                model.names, unlabelled, partial
            )
        }
    if input != NAMED:
        kernel = getattr(model, "kernel", None)
        given = {"given": _points(model)} if kernel is not None and kernel.is_given else {}
        return _table_for(model, path, input) | given
    if OF_TAGS not in tasks_of(model) or model.names is None:
        raise ModelError(
            path,
            Message(
                "no names of tags and attributes; expected a model trained with {input=crfsuite}"
            ),
        )
    return {"names": model.names}


def names_for_second_file(examples: Any, task: str, input: str, path: str) -> dict[str, Any]:
    """Keywords for reading another file for the model of these examples; `input` is the format of
    their file, which may differ from that of another table."""
    if input in TABLES:
        from svmcut.tables.encoded import TestTable

        return {"table": TestTable(examples.table.encoding, input_by_ending(path) or input)}
    if task in OF_CLASSES:
        return {"words": words_of(examples) or None}
    return {"names": examples.names} if input != INPUTS[0] else {}


def words_of(examples: Any) -> tuple[str, ...]:
    """Words that stand for the labels 1, 2, ..."""
    table = getattr(examples, "table", None)
    return () if table is None else table.encoding.words


def _points(model: Any) -> int:
    """Largest number of a point whose kernel value a model needs; 0 for none."""
    support = model.support
    columns = support.indices[support.stored]
    if not len(columns):
        return 0
    columns = columns if model.columns is None else model.columns[columns]
    return int(columns.max()) + 1


def _table_for(model: Any, path: str, input: str) -> dict[str, Any]:
    columns = model.table is not None and bool(model.table.columns)
    if columns and input != INPUTS[0]:
        from svmcut.tables.encoded import TestTable

        return {"table": TestTable(model.table, input)}
    if columns:
        raise ModelError(path, "is trained on a table; examples in LIBSVM's text have no columns")
    if input in TABLES:
        raise ModelError(path, "is not trained on a table; it reads lines with INDEX:VALUE")
    return (
        {"words": model.words} if model.words and OF_CLASSES.intersection(tasks_of(model)) else {}
    )


def tasks_of(model: Any) -> list[str]:
    """Names of the tasks that train such a model; if there are two, the last is that of examples
    with queries."""
    kinds = {kind.__name__ for kind in type(model).__mro__}
    rows = [row for row in TASKS.values() if not kinds.isdisjoint(row.models)]
    marked = [row.name for row in rows if row.marked and model.loss in losses(row.name)]
    return marked or [row.name for row in rows if not row.marked]
