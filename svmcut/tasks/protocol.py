# SPDX-License-Identifier: BSD-3-Clause
"""What a task is asked: all that the command line and svmcut.train know of what is learnt."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from svmcut.base.errors import ModelError
from svmcut.base.messages import Message
from svmcut.base.typing import TYPE_CHECKING, Any, Protocol
from svmcut.files.names import input_of
from svmcut.spec.catalog import COLUMNS, INPUTS, NAMED, OF_TAGS, TABLES, TASKS, load, losses
from svmcut.spec.entries import CLASSES
from svmcut.tasks.presentation import Presentation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.files.output import Output
    from svmcut.scoring.measures import Measured
    from svmcut.spec.parameters import Settings
    from svmcut.training.driver import Driver

#: Tasks whose labels may be words in LIBSVM's text.
OF_CLASSES = frozenset(name for name, row in TASKS.items() if row.has_classes)
#: Scores of labels or tags in memory at a time.
BLOCK_NUMBERS = 1 << 22


class Tally(Protocol):
    """What is counted of predictions, part after part; `queries` says whether a row had one."""

    queries: bool

    def add(self, part: Any, predicted: Any) -> None:
        """Takes in a part and what was predicted of it."""

    def counts(self) -> dict[str, int]:
        """Keys of the report of classify: ``examples``, and what else the task counts."""


class Task(Protocol):
    """One task, without a state.

    Data are examples as the task reads them. A block, some rows of a file, is data too; a part is
    as much of it as is predicted at once. Whatever takes a path or arrays raises DataError, and
    MemoryLimitError.

    Attributes
    ----------
    presentation : type of Presentation
        What is printed of it.
    """

    presentation: type[Presentation] = Presentation

    #: What the labels of a table are: CLASSES, NUMBERS or SETS.
    label_kind: str = CLASSES

    def as_original(self) -> Task:
        """The task by the original's rules for labels and its text of predictions."""
        return self

    def read(self, path: str, *, test: bool = False, costs: bool = False, **how: Any) -> Any:
        """All data of a file: to train on, or with test to measure models on; costs: weighed by
        ``cost:``.

        how: threads, max_memory, zero_based of `svmcut.files.examples.read_examples`.
        """

    def from_arrays(self, X: Any, y: Any, qid: Any = None) -> Any:
        """Data in memory, validated; see svmcut.data.arrays."""

    def bounds(self, data: Any) -> NDArray[np.int64]:
        """(n + 1,) first rows of what has a weight, an example or all rows of a structure, and the
        number of rows."""
        return np.arange(data.X.n_rows + 1)

    def plan(self, data: Any, settings: Settings, time_limit: float | None = None) -> Driver:
        """The driver of checked settings on data.

        Parameters
        ----------
        time_limit : float or None
            In place of the settings', where it is given.

        Raises
        ------
        UsageError, DataError, TrainingError, MemoryLimitError
        """
        from svmcut.training.driver import make_driver

        driver = make_driver(settings, data, time_limit)
        if TASKS[settings.task].marked:
            driver.marks = {"loss": driver.settings.loss}
        if settings.probability:
            calibrated = self.calibrated(driver, data)
            calibrated.marks = driver.marks
            return calibrated
        return driver

    def calibrated(self, driver: Driver, data: Any) -> Driver:
        """The driver that fits probabilities too."""
        from svmcut.training.calibration import CalibratedDriver

        return CalibratedDriver(driver.plan, data)

    def counts(self, data: Any) -> dict[str, int]:
        """Keys of the report of learn: ``examples``, and what else the task counts."""
        return {"examples": len(data)}

    def label_warnings(self, data: Any, driver: Driver) -> list[str]:
        """What a user should know of the labels of data that models of the driver are measured
        on."""
        return []

    def stream(self, path: str, **how: Any) -> Iterator[Any]:
        """The data of a test file, block after block; how: threads, unlabelled, zero_based of
        `stream_examples`."""

    def parts(self, block: Any, model: Any) -> Iterator[Any]:
        """The block in parts: all of it, where predictions take no more memory than the block."""
        yield block

    def predictor(self, model: Any, threads: int = 1, beam: int = 0) -> Callable[[Any], Any]:
        """A function that gives the prediction of a part; beam as in Settings."""

    def write(self, output: Output, predicted: Any, model: Any, labels: bool = False) -> None:
        """Lines of a prediction file; with labels the label a score stands for."""

    def write_probabilities(
        self,
        output: Output,
        predicted: Any,
        probabilities: NDArray[np.float64],
        model: Any,
        labels: bool = False,
    ) -> None:
        """Lines of the probabilities of the classes, with labels behind the one that is
        predicted."""

    def probabilities(
        self, part: Any, predicted: Any, model: Any, threads: int = 1
    ) -> NDArray[np.float64]:
        """(n, K) of the classes, of a part that is predicted and a model that has them."""
        return model.probabilities(predicted)

    def places(self, part: Any, model: Any) -> NDArray[np.int64]:
        """Of every row the place of its label among those of a model with probabilities; -1 where
        it is not there."""
        raise NotImplementedError

    def tally(self, model: Any) -> Tally:
        """A Tally without predictions yet."""

    def measured(self, tally: Any) -> Measured:
        """The measures of what was counted."""

    def counts_of(self, tally: Any) -> dict[str, Any]:
        """Keys of the report of classify that are no measures."""
        return tally.counts()

    def check_measure(self, name: str, data: Any) -> None:
        """Refuses a measure that models of such data do not have; raises UsageError."""
        return None

    def warnings(self, tally: Any, path: str) -> list[str]:
        """What a user should know of the predictions for this file."""
        return []

    def score_warnings(self, tally: Any) -> list[str]:
        """Those that need no labels."""
        return []


def named(name: str, original: bool = False, input: str = INPUTS[0]) -> Task:
    """The task of a row of svmcut.spec.catalog.TASKS, imported now; as its original knows it, or on
    files of such a text."""
    if input == NAMED:
        return load("svmcut.tasks.named_sequences:NamedTagging")()
    if input == COLUMNS:
        return load("svmcut.tasks.named_sequences:ColumnTagging")()
    task = load(TASKS[name].where)()
    return task.as_original() if original else task


def presentation(name: str, original: bool = False) -> Presentation:
    """What is printed of a task; as its original does."""
    return named(name, original).presentation(name)


def input_for(model: Any, path: str, given: str | None) -> str:
    """What a file of examples for a model holds: as given, else by its ending, else what the model
    was trained on."""
    if given is not None:
        return given
    if (input := input_of(path)) is not None:
        return input
    if _reads_columns(model):
        return COLUMNS
    columns = model.table is not None and bool(model.table.columns)
    return model.table.format if columns else INPUTS[0]


def _reads_columns(model: Any) -> bool:
    """Whether a model was trained on tokens in columns."""
    names = getattr(model, "names", None)
    return OF_TAGS in tasks_of(model) and names is not None and bool(names.columns)


def names_for(
    model: Any, path: str, input: str, unlabelled: bool = False, partial: bool = False
) -> dict[str, Any]:
    """What Task.stream needs to know of the model of a file, where examples are such a text.

    Raises
    ------
    ModelError
        When the model has no names.
    """
    if input == COLUMNS:
        if not _reads_columns(model):
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

        return {"table": TestTable(examples.table.encoding, input_of(path) or input)}
    if task in OF_CLASSES:
        return {"words": words_of(examples) or None}
    return {"names": examples.names} if input != INPUTS[0] else {}


def words_of(examples: Any) -> tuple[str, ...]:
    """What the labels 1, 2, ... are called."""
    table = getattr(examples, "table", None)
    return () if table is None else table.encoding.words


def _points(model: Any) -> int:
    """The largest number of a point whose kernel value a model needs; 0 for none."""
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
    """Names of the tasks that train such a model; where there are two, the last is that of examples
    with queries."""
    kinds = {kind.__name__ for kind in type(model).__mro__}
    rows = [row for row in TASKS.values() if not kinds.isdisjoint(row.models)]
    marked = [row.name for row in rows if row.marked and model.loss in losses(row.name)]
    return marked or [row.name for row in rows if not row.marked]
