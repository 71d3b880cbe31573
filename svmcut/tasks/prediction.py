# SPDX-License-Identifier: BSD-3-Clause
"""From a model and examples to predictions and measures, whatever the task.

A file is read and predicted in blocks of rows and constant memory; of every row only what the
measures need is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType

from svmcut.base.typing import TYPE_CHECKING, Any, NamedTuple
from svmcut.files.output import write_atomically
from svmcut.scoring.probabilities import Reliability, Skill
from svmcut.spec.parameters import DEFAULTS
from svmcut.tasks.protocol import Tally, Task

if TYPE_CHECKING:
    from collections.abc import Iterable


class Predictions(NamedTuple):
    """The Tally of a file, wall time of ``read``, ``classify`` and ``write``, CPU time of
    predicting alone, where probabilities were asked for what they are worth, and what a user should
    know; who certified it, if anybody did."""

    tally: Tally
    seconds: dict[str, float]
    cpu_seconds: float
    skill: Skill | None
    warnings: tuple[str, ...] = ()
    certifier: Any = None


class PredictionOptions(NamedTuple):
    """How examples are read and predicted.

    Attributes
    ----------
    threads, beam, labels
        As in Task.predictor and Task.write.
    probability : bool
        Whether probabilities are written, of a model that has them.
    reading : mapping
        What Task.stream takes beside.
    watch : callable
        Is told of every part and what is predicted of it.
    """

    threads: int = 1
    beam: int = 0
    labels: bool = False
    probability: bool = DEFAULTS["probability"]
    reading: Mapping[str, Any] = MappingProxyType({})
    watch: Callable[[Any, Any], None] = lambda part, predicted: None


USUAL = PredictionOptions()


def predict(
    task: Task,
    model: Any,
    examples: str,
    predictions: str,
    options: PredictionOptions = USUAL,
) -> Predictions:
    """Predicts every example of a file and writes the predictions.

    Parameters
    ----------
    task : Task
        One of `tasks_of` the model.
    examples : str
        Example file, ``-`` for standard input.
    predictions : str
        Written as a whole or not at all.
    options : PredictionOptions

    Raises
    ------
    DataError, MemoryLimitError
        When the examples are refused or there are none; from ranking, when queries decrease or are
        negative.
    OutputError
        When the predictions cannot be written.
    """
    threads, labels = options.threads, options.labels
    predictor, tally = task.predictor(model, threads, options.beam), task.tally(model)
    skill = Skill() if options.probability else None
    seconds, cpu_seconds = dict.fromkeys(("read", "classify", "write"), 0.0), 0.0
    with write_atomically(predictions) as output:
        blocks = task.stream(examples, threads=threads, **options.reading)
        while True:
            began = time.perf_counter()
            block = next(blocks, None)
            seconds["read"] += time.perf_counter() - began
            if block is None:
                return Predictions(tally, seconds, cpu_seconds, skill)
            for part in task.parts(block, model):
                began, cpu = time.perf_counter(), time.process_time()
                predicted = predictor(part)
                cpu_seconds += time.process_time() - cpu
                tally.add(part, predicted)
                if skill is not None:
                    probabilities = task.probabilities(part, predicted, model, threads)
                    skill.add(probabilities, task.places(part, model))
                counted = time.perf_counter()
                if skill is None:
                    task.write(output, predicted, model, labels)
                else:
                    task.write_probabilities(output, predicted, probabilities, model, labels)
                options.watch(part, predicted)
                seconds["classify"] += counted - began
                seconds["write"] += time.perf_counter() - counted


def tallied(
    task: Task,
    model: Any,
    blocks: Iterable[Any],
    threads: int = 1,
    beam: int = 0,
    judges: Iterable[Skill | Reliability] = (),
) -> Tally:
    """What is counted of the predictions of all blocks; judges take in the probabilities of a model
    that has them."""
    predictor, tally = task.predictor(model, threads, beam), task.tally(model)
    for block in blocks:
        for part in task.parts(block, model):
            predicted = predictor(part)
            tally.add(part, predicted)
            for judge in judges:
                judge.add(
                    task.probabilities(part, predicted, model, threads), task.places(part, model)
                )
    return tally


def measure(
    task: Task, model: Any, data: Any, *, threads: int = 1, beam: int = 0
) -> dict[str, float]:
    """Every measure of a model on data in memory, by name."""
    return task.measured(tallied(task, model, [data], threads, beam)).values
