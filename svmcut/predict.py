# SPDX-License-Identifier: BSD-3-Clause
"""From a model and an example file to predictions, in blocks of rows and constant memory.

Of every row only label, query and score are kept, for the measures.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from svmcut.errors import DataError
from svmcut.files.examples import stream_examples
from svmcut.files.output import write_atomically
from svmcut.files.predictions import write_labels, write_scores, write_tags
from svmcut.files.sequences import stream_sequences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.data import Source
    from svmcut.models import ChainModel, KernelChainModel, ScoringModel


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """What the measures need of n predicted rows.

    Attributes
    ----------
    y : (n,) float64
        Labels as in the file.
    scores : (n,) float64
    qid : (n,) int64 or None
        Queries, 0 where a line has none; None when no line has one.
    seconds : dict of str to float
        Wall time of ``read``, ``classify`` and ``write``.
    cpu_seconds : float
        CPU time of scoring alone.
    """

    y: NDArray[np.float64]
    scores: NDArray[np.float64]
    qid: NDArray[np.int64] | None
    seconds: dict[str, float]
    cpu_seconds: float


def predict(
    model: ScoringModel,
    examples: str,
    predictions: str,
    *,
    threads: int = 1,
    labels: bool = False,
    grouped: bool = True,
) -> Predictions:
    """Score every row of a file and write one line for each.

    Parameters
    ----------
    model : LinearModel or KernelModel
    examples : str
        Example file, ``-`` for standard input.
    predictions : str
        Written as a whole or not at all.
    threads : int
    labels : bool
        Write the predicted label instead of the score.
    grouped : bool
        Whether queries matter: their ids must then not decrease along the file.

    Raises
    ------
    DataError
        When the examples are refused, when there are none, when query ids decrease or are negative and ``grouped``.
    OutputError
        When the predictions cannot be written.
    """
    write = write_labels if labels else write_scores
    seconds = dict.fromkeys(("read", "classify", "write"), 0.0)
    cpu_seconds, last_query = 0.0, 0
    y, scores, queries = [], [], []
    with write_atomically(predictions) as output:
        blocks = stream_examples(examples, threads=threads)
        while True:
            began = time.perf_counter()
            block = next(blocks, None)
            read = time.perf_counter()
            seconds["read"] += read - began
            if block is None:
                break
            if grouped and block.qid is not None:
                last_query = _check_queries(block.qid, last_query, block.source)
            cpu = time.process_time()
            y.append(block.y)
            queries.append(block.qid)
            scores.append(model.scores(block.X, threads))
            cpu_seconds += time.process_time() - cpu
            scored = time.perf_counter()
            write(output, scores[-1])
            seconds["classify"] += scored - read
            seconds["write"] += time.perf_counter() - scored
    qid = None
    if any(part is not None for part in queries):
        qid = np.concatenate([np.zeros(len(s), np.int64) if q is None else q for q, s in zip(queries, scores)])
    return Predictions(np.concatenate(y), np.concatenate(scores), qid, seconds, cpu_seconds)


@dataclass(frozen=True, slots=True, eq=False)
class TagPredictions:
    """What the measures need of n predicted sequences.

    Attributes
    ----------
    wrong, lengths : (n,) int64
        Wrong tags and tokens of each sequence.
    features, tags : int
        The largest feature and the largest tag of the file.
    seconds, cpu_seconds
        As in Predictions.
    """

    wrong: NDArray[np.int64]
    lengths: NDArray[np.int64]
    features: int
    tags: int
    seconds: dict[str, float]
    cpu_seconds: float


def predict_tags(
    model: ChainModel | KernelChainModel, examples: str, predictions: str, *, threads: int = 1, beam: int = 0
) -> TagPredictions:
    """Decode every sequence of a file and write one tag a token.

    Parameters
    ----------
    model : ChainModel or KernelChainModel
    examples, predictions, threads
        As in `predict`.
    beam : int
        States kept a token, 0 for all.

    Raises
    ------
    DataError, OutputError
        As in `predict`, and for tags that are no integers of at least 0.
    """
    seconds = dict.fromkeys(("read", "classify", "write"), 0.0)
    cpu_seconds, features, largest = 0.0, 0, 0
    wrong, lengths = [], []
    with write_atomically(predictions) as output:
        blocks = stream_sequences(examples, threads=threads)
        while True:
            began = time.perf_counter()
            block = next(blocks, None)
            read = time.perf_counter()
            seconds["read"] += read - began
            if block is None:
                break
            cpu = time.process_time()
            tags = model.tags(block.X, block.indptr, threads, beam)
            cpu_seconds += time.process_time() - cpu
            wrong.append(np.add.reduceat(tags != block.tags, block.indptr[:-1], dtype=np.int64))
            lengths.append(np.diff(block.indptr))
            features = max(features, block.X.n_features)
            largest = max(largest, int(block.tags.max()) + 1)
            decoded = time.perf_counter()
            write_tags(output, tags)
            seconds["classify"] += decoded - read
            seconds["write"] += time.perf_counter() - decoded
    return TagPredictions(np.concatenate(wrong), np.concatenate(lengths), features, largest, seconds, cpu_seconds)


def _check_queries(qid: NDArray[np.int64], last: int, source: Source) -> int:
    previous = np.concatenate([[last], qid[:-1]])
    wrong = np.flatnonzero(qid < previous)
    if len(wrong):
        row = int(wrong[0])
        message = f"qid {qid[row]} follows {previous[row]}; query ids start at 0 and must not decrease"
        raise DataError(source.path, message, source.line_of(row))
    return int(qid[-1])
