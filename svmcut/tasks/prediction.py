# SPDX-License-Identifier: BSD-3-Clause
"""Predictions and measures of a model on examples, whatever the task. A file is read in
blocks, in constant memory but for what the measures need of every row. `choose` sets the threshold
of a model of two classes by such predictions, so that it keeps promises.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from numpy.typing import NDArray

from svmcut.base.errors import ModelError, TrainingError
from svmcut.base.records import replace
from svmcut.base.typing import Any, NamedTuple
from svmcut.files.output import write_atomically
from svmcut.scoring.probabilities import ProbabilityLosses, Reliability
from svmcut.scoring.thresholds import Promises, choose_threshold
from svmcut.spec.catalog import TASKS
from svmcut.spec.entries import TWO_CLASSES
from svmcut.spec.parameters import DEFAULTS
from svmcut.tasks.protocol import Tally, Task, tasks_of


class Predictions(NamedTuple):
    """Predictions of a file."""

    tally: Tally
    #: Wall time of ``read``, ``classify`` and ``write``.
    seconds: dict[str, float]
    #: CPU time of predicting alone.
    cpu_seconds: float
    #: Quality of the probabilities, if they were asked for.
    skill: ProbabilityLosses | None
    warnings: tuple[str, ...] = ()
    #: Counts of proven predictions, if they were asked for.
    certifier: Any = None


class PredictionOptions(NamedTuple):
    """Options of reading and predicting; threads, beam and labels as in Task.predictor and
    Task.write."""

    threads: int = 1
    beam: int = 0
    labels: bool = False
    #: True writes probabilities.
    probability: bool = DEFAULTS["probability"]
    #: Other keywords of Task.stream.
    reading: Mapping[str, Any] = MappingProxyType({})
    #: Gets every part with its predictions.
    watch: Callable[[Any, Any], None] = lambda part, predicted: None


USUAL = PredictionOptions()


def predict(
    task: Task,
    model: Any,
    examples: str,
    predictions: str,
    options: PredictionOptions = USUAL,
) -> Predictions:
    """Predicts every example of a file, ``-`` for standard input, and writes the predictions as a
    whole or not at all. The task is one of `tasks_of` the model.

    Raises DataError or MemoryLimitError if the examples are refused or there are none, for rankings
    also if queries decrease or are negative, and OutputError if the predictions cannot be written.
    """
    threads, labels = options.threads, options.labels
    predictor, tally = task.predictor(model, threads, options.beam), task.tally(model)
    skill = ProbabilityLosses() if options.probability else None
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


def tally_blocks(
    task: Task,
    model: Any,
    blocks: Iterable[Any],
    threads: int = 1,
    beam: int = 0,
    judges: Iterable[ProbabilityLosses | Reliability] = (),
) -> Tally:
    """Tally of the predictions of all blocks; `judges` get the probabilities of a model that has
    them."""
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
    return task.measure(tally_blocks(task, model, [data], threads, beam)).values


class ChosenThreshold(NamedTuple):
    """A model with its threshold, the number of rows it was chosen on, and their measures."""

    model: Any
    rows: int
    values: dict[str, float]

    def document(self, asked: Promises) -> dict[str, Any]:
        """Entries of a report."""
        return {
            "threshold": self.model.threshold,
            "at_least": dict(asked.floors),
            "maximise": asked.maximise,
            "confidence": asked.confidence,
            "chosen_on": self.rows,
        }


def check_two_classes(model: Any, path: str) -> None:
    """Raises ModelError for a model whose scores are not those of two classes."""
    if not any(TASKS[name].labels == TWO_CLASSES for name in tasks_of(model)):
        raise ModelError(path, "is no model of two classes, and has no threshold")


def choose(
    task: Task,
    model: Any,
    blocks: Iterable[Any],
    asked: Promises,
    threads: int = 1,
    training: Iterable[Any] | None = None,
) -> ChosenThreshold:
    """Chooses the threshold of a model on blocks of examples and replaces its own; `training` are
    the examples it was trained on, if at hand. Raises TrainingError if no threshold keeps the
    promises. See svmcut.scoring.thresholds."""
    bare: Any = replace(model, threshold=None)
    tally: Any = tally_blocks(task, bare, blocks, threads)
    positive, scores, _ = tally.of_classes()
    if not len(scores):
        raise TrainingError("there are no examples to choose a threshold on")
    before: NDArray | None = None
    if training is not None:
        seen: Any = tally_blocks(task, bare, training, threads)
        before = seen.scores
    chosen = replace(model, threshold=choose_threshold(positive, scores, asked, before))
    shifted: Any = task.tally(chosen)
    shifted.take(tally, chosen.threshold)
    return ChosenThreshold(chosen, len(scores), task.measure(shifted).values)
