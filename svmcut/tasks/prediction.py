# SPDX-License-Identifier: BSD-3-Clause
"""Predictions and measures of a model on examples, whatever the task. A file is read in
blocks, in constant memory but for what the measures need of every row.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from svmcut.base.typing import Any, NamedTuple
from svmcut.files.output import write_atomically
from svmcut.scoring.probabilities import ProbabilityLosses, Reliability
from svmcut.spec.parameters import DEFAULTS
from svmcut.tasks.protocol import Tally, Task


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
    #: Counts of rows in their interval or set, if the model promises a coverage.
    covered: Any = None


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
