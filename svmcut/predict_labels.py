# SPDX-License-Identifier: BSD-3-Clause
"""From a model of label sets and an example file to predictions."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from svmcut.files.multilabel import read_multilabel
from svmcut.files.output import write_atomically
from svmcut.files.predictions import write_label_sets
from svmcut.measures import LabelTally

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.data import MultilabelExamples
    from svmcut.models import MultilabelModel

BLOCK_NUMBERS = 1 << 22
"""Scores in memory at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelPredictions:
    """What is reported of n predicted rows.

    Attributes
    ----------
    tally : LabelTally
    unknown : int
        Different labels of the file that the model has not.
    halves : int
        Labels of all rows that the relaxation left at one half.
    seconds : dict of str to float
        Wall time of ``read``, ``classify`` and ``write``.
    cpu_seconds : float
        CPU time of decoding alone.
    """

    tally: LabelTally
    unknown: int
    halves: int
    seconds: dict[str, float]
    cpu_seconds: float


def tally(
    model: MultilabelModel,
    examples: MultilabelExamples,
    *,
    threads: int = 1,
    each: Callable[[NDArray], None] | None = None,
) -> tuple[LabelTally, int]:
    """Decodes every row, in blocks; the counts, and the labels left at one half.

    Parameters
    ----------
    each : callable
        Called with the predicted sets of each block, (rows, K) bool in the order of model.names.
    """
    joined = examples.named(model.names)
    place, v = np.searchsorted(joined.names, model.names), model.pair_weights()
    counts, halves = LabelTally(len(joined.names)), 0
    step = max(1, BLOCK_NUMBERS // max(1, len(joined.names)))
    for start in range(0, len(joined), step):
        stop = min(len(joined), start + step)
        predicted, scores, open_labels = model.decode(examples.X.rows(start, stop), threads=threads)
        halves += int(open_labels.sum())
        if each is not None:
            each(predicted)
        # what a label adds to the others that are predicted: the order for precision at k
        ranked = scores if v is None else scores + predicted @ v
        gold = joined.gold(start, stop)
        every = np.zeros_like(gold)
        every[:, place] = predicted
        all_scores = np.full(gold.shape, -np.inf)
        all_scores[:, place] = ranked
        counts.add(gold, every, all_scores)
    return counts, halves


def predict_labels(model: MultilabelModel, examples: str, predictions: str, *, threads: int = 1) -> LabelPredictions:
    """Decode every row of a file and write its labels, comma-separated, one line a row.

    Parameters
    ----------
    model : MultilabelModel
    examples : str
        Multilabel example file, ``-`` for standard input; read as a whole.
    predictions : str
        Written as a whole or not at all.
    threads : int

    Raises
    ------
    DataError, OutputError
    """
    began = time.perf_counter()
    rows = read_multilabel(examples, threads=threads)
    read, cpu = time.perf_counter(), time.process_time()
    with write_atomically(predictions) as output:
        counts, halves = tally(
            model, rows, threads=threads, each=lambda sets: write_label_sets(output, sets, model.names)
        )
    seconds = {"read": read - began, "classify": time.perf_counter() - read, "write": 0.0}
    unknown = len(np.setdiff1d(rows.names, model.names))
    return LabelPredictions(counts, unknown, halves, seconds, time.process_time() - cpu)
