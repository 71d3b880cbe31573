# SPDX-License-Identifier: BSD-3-Clause
"""classify --certify and --bounds: which labels, tags and scores are proven to be those of the
exact optimum."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator

import numpy as np

from svmcut.data.examples import stack_rows
from svmcut.errors import ModelError, UsageError
from svmcut.files.output import write_atomically
from svmcut.messages import Message
from svmcut.models.bounds import certain, intervals
from svmcut.models.order_bounds import proven_pairs
from svmcut.models.tag_bounds import proven_tags
from svmcut.typing import Any


class Certifier:
    """Counts the rows whose label is proven, and writes the bounds of scores.

    Attributes
    ----------
    rows, proven : int
        So far.
    has_labels : bool
        Whether the model predicts labels, or orders, and not numbers.
    """

    def __init__(self, model: Any, output: Any = None, threads: int = 1):
        self._model, self._output, self._threads = model, output, threads
        self.rows, self.proven, self.has_labels = 0, 0, True
        self._query: list[tuple[Any, Any]] = []  # rows and scores of one that may go on
        self._last: int | None = None

    def take(self, part: Any, predicted: Any) -> None:
        """Takes in rows and their scores: where they have queries, their pairs."""
        scores = predicted.scores if self._model.of_sets else predicted
        if getattr(part, "qid", None) is not None and scores.ndim == 1:
            self._write(part, scores)
            self._take_queries(part, scores)
            return
        sure = certain(self._model, part.X, scores, self._threads)
        self.rows += len(scores) if sure is None else sure.size
        self.has_labels = sure is not None
        self.proven += 0 if sure is None else int(sure.sum())
        self._write(part, scores)

    def _write(self, part: Any, scores: np.ndarray) -> None:
        if self._output is not None:
            ends = intervals(self._model, part.X, scores, self._threads).reshape(len(scores), -1)
            lines = (" ".join(f"{value:.17g}" for value in row) for row in ends.tolist())
            self._output.write("".join(f"{line}\n" for line in lines).encode())

    def _take_queries(self, part: Any, scores: np.ndarray) -> None:
        starts = np.flatnonzero(np.diff(part.qid, prepend=part.qid[0] - 1)).tolist()
        for start, stop in itertools.pairwise([*starts, len(scores)]):
            if self._last is not None and part.qid[start] != self._last:
                self._finish_query()
            self._last = int(part.qid[start])
            self._query.append((part.X.rows(start, stop), scores[start:stop]))

    def _finish_query(self) -> None:
        if not self._query:
            return
        X, scores = stack_rows([X for X, _ in self._query]), [s for _, s in self._query]
        proven, pairs = proven_pairs(self._model, X, np.concatenate(scores), self._threads)
        self._query, self._what = [], "orders of pairs"
        self.proven, self.rows = self.proven + proven, self.rows + pairs

    _what = "labels"

    def line(self) -> str:
        """What is printed; nothing of a model of numbers."""
        self._finish_query()
        if not self.has_labels:
            return ""
        share = 100 * self.proven / max(1, self.rows)
        return (
            f"Certified: {self.proven:,} of {self.rows:,} {self._what} ({share:.2f} %) are those "
            "of the exact optimum\n"
        )

    def report(self) -> dict[str, Any]:
        """Keys of the report."""
        self._finish_query()
        if not self.has_labels:
            return {}
        return {"decided": self.proven, "decided_fraction": self.proven / max(1, self.rows)}


class TagCertifier(Certifier):
    """Counts the tokens whose tag is proven."""

    _what = "tags"

    def take(self, part: Any, predicted: Any) -> None:
        """Takes in sequences."""
        sure = proven_tags(self._model, part.X, part.indptr, self._threads)
        self.rows += len(sure)
        self.proven += int(sure.sum())


@contextlib.contextmanager
def certifying(
    model: Any, path: str, wanted: bool, target: str | None, threads: int = 1
) -> Iterator[Any]:
    """Gives a Certifier of a model, or None where nothing is wanted of it.

    Parameters
    ----------
    path : str
        The model's, for messages.
    target : str or None
        Where the bounds go.

    Raises
    ------
    ModelError
        When the model has no certificate.
    """
    if not wanted and target is None:
        yield None
        return
    if getattr(model, "certificate", None) is None and model.of_sequences:
        message = (
            "the model has no certificate: svmcut learn --certify writes one of chains on features"
        )
        raise ModelError(path, Message(message))
    if getattr(model, "certificate", None) is None:
        message = (
            "the model has no certificate: svmcut learn writes one of linear machines, of label "
            "sets without pairs, and of kernels with {free_bias=False}, as long as nothing but w "
            "is regularised"
        )
        raise ModelError(path, Message(message))
    if model.of_sequences and target is not None:
        raise UsageError("--bounds is of scores of rows, and tags have none; leave it out")
    if model.of_sequences:
        yield TagCertifier(model, None, threads)
        return
    if target is None:
        yield Certifier(model, None, threads)
        return
    with write_atomically(target) as output:
        yield Certifier(model, output, threads)


def both(first: Callable[[Any, Any], None], certifier: Certifier | None) -> Callable:
    """What is told of every part: one thing, or two."""
    if certifier is None:
        return first

    def told(part: Any, predicted: Any) -> None:
        first(part, predicted)
        certifier.take(part, predicted)

    return told
