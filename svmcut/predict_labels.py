# SPDX-License-Identifier: BSD-3-Clause
"""From a model of label sets and an example file to predictions, in blocks of rows and constant memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from svmcut.files.multilabel import stream_multilabel
from svmcut.files.output import write_atomically
from svmcut.files.predictions import write_label_sets
from svmcut.measures import LabelTally
from svmcut.models import LabelDecoder

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
    halves : int
        Labels of all rows that the relaxation left at one half.
    seconds : dict of str to float
        Wall time of ``read``, ``classify`` and ``write``.
    cpu_seconds : float
        CPU time of decoding alone.
    """

    tally: LabelTally
    halves: int
    seconds: dict[str, float]
    cpu_seconds: float


class _Labelling:
    """What is counted of blocks that one model predicts.

    Attributes
    ----------
    tally : LabelTally
    halves : int
    """

    def __init__(self, model: MultilabelModel, threads: int):
        self._names, self._decoder, self._threads = model.names, LabelDecoder(model), threads
        self.tally, self.halves = LabelTally(model.names), 0
        self._step = max(1, BLOCK_NUMBERS // max(1, len(model.names)))

    def predict(self, examples: MultilabelExamples) -> Iterator[NDArray[np.bool_]]:
        """Decodes and counts all rows; yields (rows, K) predicted sets, some rows at a time."""
        place = np.searchsorted(self._names, examples.names)
        known = place < len(self._names)
        known[known] = self._names[place[known]] == examples.names[known]
        v = self._decoder.pairs
        for start in range(0, len(examples), self._step):
            stop = min(len(examples), start + self._step)
            predicted, scores, halves = self._decoder.decode(examples.X.rows(start, stop), self._threads)
            self.halves += int(halves.sum())
            row, label = examples.entries(start, stop)
            has = known[label]
            gold = np.zeros_like(predicted)
            gold[row[has], place[label[has]]] = True
            # what a label adds to the others that are predicted: the order for precision at k
            ranked = scores if v is None else scores + predicted @ v
            self.tally.add(gold, predicted, ranked, examples.names[label[~has]], row[~has])
            yield predicted


def tally(model: MultilabelModel, examples: MultilabelExamples, *, threads: int = 1) -> LabelTally:
    """Decodes and counts every row."""
    labelling = _Labelling(model, threads)
    for _ in labelling.predict(examples):
        pass
    return labelling.tally


def predict_labels(model: MultilabelModel, examples: str, predictions: str, *, threads: int = 1) -> LabelPredictions:
    """Decode every row of a file and write its labels, comma-separated, one line a row; constant memory.

    Parameters
    ----------
    model : MultilabelModel
    examples : str
        Multilabel example file, ``-`` for standard input.
    predictions : str
        Written as a whole or not at all.
    threads : int

    Raises
    ------
    DataError, MemoryLimitError, OutputError
    """
    seconds, cpu_seconds = dict.fromkeys(("read", "classify", "write"), 0.0), 0.0
    labelling = _Labelling(model, threads)
    with write_atomically(predictions) as output:
        blocks = stream_multilabel(examples, threads=threads)
        while True:
            began = time.perf_counter()
            block = next(blocks, None)
            read, cpu = time.perf_counter(), time.process_time()
            seconds["read"] += read - began
            if block is None:
                break
            for sets in labelling.predict(block):
                cpu_seconds += time.process_time() - cpu
                decoded = time.perf_counter()
                seconds["classify"] += decoded - read
                write_label_sets(output, sets, model.names)
                read, cpu = time.perf_counter(), time.process_time()
                seconds["write"] += read - decoded
    return LabelPredictions(labelling.tally, labelling.halves, seconds, cpu_seconds)
