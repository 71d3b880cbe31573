# SPDX-License-Identifier: BSD-3-Clause
"""Tasks on rows with one label and one score each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError
from svmcut.base.records import replace
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.data.examples import Examples
from svmcut.data.labels import Labels, classes_of
from svmcut.files.examples import read_examples, stream_examples
from svmcut.files.names import is_pattern, list_files
from svmcut.files.output import Output
from svmcut.files.predictions import write_labels, write_probabilities, write_scores
from svmcut.files.remote import is_file
from svmcut.models.base import drop_columns
from svmcut.spec.entries import NUMBERS
from svmcut.tasks.protocol import Task

if TYPE_CHECKING:
    from svmcut.models import ScoringModel


class Scores:
    """Labels as in the file, scores and queries of predicted rows, 0 for a row without query; with
    the labels, words, loss and its parameter of the model."""

    def __init__(
        self,
        labels: Labels | None = None,
        words: Sequence[str] = (),
        loss: str | None = None,
        parameter: tuple[float, ...] | None = None,
    ) -> None:
        self.queries, self.labels, self.words = False, labels, words
        self.loss, self.parameter = loss, parameter
        self._y: list[NDArray] = []
        self._scores: list[NDArray] = []
        self._qid: list[NDArray] = []

    def add(self, part: Examples, predicted: NDArray[np.float64]) -> None:
        self.queries |= part.qid is not None
        self._y.append(part.y)
        self._scores.append(predicted)
        self._qid.append(np.broadcast_to(np.int64(0), len(part)) if part.qid is None else part.qid)

    def join(self, others: Scores) -> None:
        """Adds rows that were counted elsewhere."""
        self.queries |= others.queries
        for own, more in (
            (self._y, others._y),
            (self._scores, others._scores),
            (self._qid, others._qid),
        ):
            own.extend(more)

    def take(self, other: Scores, threshold: float) -> None:
        """Adds the rows of another, whose scores had no threshold."""
        self.join(other)
        self._scores = [scores - threshold for scores in self._scores]

    @property
    def y(self) -> NDArray[np.float64]:
        return _join(self._y)

    @property
    def scores(self) -> NDArray[np.float64]:
        return _join(self._scores)

    @property
    def qid(self) -> NDArray[np.int64]:
        return _join(self._qid)

    def of_classes(self) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.bool_]]:
        """Masks of positive rows, their scores, and masks of labels that the model does not
        know."""
        positive, unknown = classes_of(self.y, self.labels)
        return positive, self.scores, unknown

    def groups(self, names: Sequence[str]) -> dict[str, NDArray[np.bool_]]:
        """Rows by the class of their label, under the names of the negative and the positive one;
        "other" has the rows of other labels."""
        positive, _, unknown = self.of_classes()
        classes = {names[0]: ~positive & ~unknown, names[1]: positive}
        return classes | ({"other": unknown} if unknown.any() else {})

    def confusion(self) -> list[list[int]]:
        """Rows of every group that are predicted negative and positive."""
        above = self.scores > 0
        counts = [
            (int(rows.sum()), int((rows & above).sum())) for rows in self.groups("-+").values()
        ]
        return [[n - positive, positive] for n, positive in counts]

    def counts(self) -> dict[str, int]:
        return {"examples": len(self.y)}


def _join(parts: list[NDArray]) -> NDArray:
    """Concatenates the parts, and keeps the result in their place."""
    if len(parts) > 1:
        parts[:] = [np.concatenate(parts)]
    return parts[0]


class RowTask(Task):
    """Reading for tasks on rows with one label each."""

    #: Kind of a table's labels.
    label_kind = NUMBERS

    def read(
        self,
        path: str,
        *,
        test: bool = False,
        costs: bool = False,
        cache: str | None = None,
        table: Any = None,
        words: Any = None,
        **how: Any,
    ) -> Examples:
        """Reads a file, all files of a pattern, or a table by `table`. cache as of
        `svmcut.files.cache.read_files`, words as of `read_labelled`; given: the number of kernel
        values that a row needs, for a file of these."""
        if table is not None:
            return table.read(path, self.label_kind, how["max_memory"])
        if (needed := how.pop("given", None)) is not None:
            return _values(path, words, how, costs, needed)
        if cache is None and not is_pattern(path):
            examples = read_labelled(path, words, **how)
        else:
            from svmcut.files.cache import read_files

            examples = read_files(*list_files(path), cache=cache, **how)
        return examples if costs else replace(examples, weights=None)

    def from_arrays(self, X: Any, y: Any, qid: Any = None) -> Examples:
        from svmcut.data.arrays import vector_examples

        return vector_examples(X, y, qid)

    def predictor(
        self, model: Any, threads: int = 1, beam: int = 0
    ) -> Callable[[Examples], NDArray]:
        return lambda part: model.scores(part.X, threads)

    def stream(self, path: str, **how: Any) -> Iterator[Examples]:
        """Streams a file, or a table by `how["table"]`, with the label words `how["words"]`."""
        if (table := how.pop("table", None)) is not None:
            return table.stream(path, self.label_kind, how.get("unlabelled", False))
        if (words := how.pop("words", None)) and not how.get("unlabelled"):
            from svmcut.tables.labels import LabelWords

            how["numbered"] = LabelWords(path, words).number_text
        if (needed := how.pop("given", None)) is not None:
            return _stream_values(path, how, needed)
        return stream_examples(path, **how)


def _stream_values(path: str, how: dict[str, Any], needed: int) -> Iterator[Examples]:
    from svmcut.data.precomputed import check_values, split_serials
    from svmcut.files.examples import is_npy, stream_npy

    if is_npy(path):
        parts = stream_npy(path)
    else:
        parts = map(split_serials, stream_examples(path, **how | {"zero_based": True}))
    return (check_values(part, needed) for part in parts)


def _values(path: str, words: Any, how: dict[str, Any], costs: bool, needed: int) -> Examples:
    """Rows of kernel values, with their serial numbers."""
    from svmcut.data.precomputed import check_values, split_serials
    from svmcut.files.examples import is_npy, read_npy

    if is_npy(path):
        return check_values(read_npy(path), needed)
    examples = split_serials(read_labelled(path, words, **how | {"zero_based": True}))
    return check_values(examples if costs else replace(examples, weights=None), needed)


def read_labelled(path: str, words: Any, **how: Any) -> Examples:
    """Reads examples as read_examples; words: None for numbers as labels, () for numbers or words,
    or all known words."""
    if words is None:
        return read_examples(path, **how)
    if not words and is_file(path):
        try:
            return read_examples(path, **how)
        except DataError as error:  # what words need is imported for them alone
            from svmcut.tables.labels import read_again

            return read_again(path, error, **how)
    from svmcut.tables.labels import read_words

    return read_words(path, words, **how)


def known_features(part: Examples, model: Any) -> Examples:
    """Rows without features beyond those of a kernel model, as some originals score."""
    highest = getattr(model, "highest_index", None)
    if highest is None or not hasattr(model, "support"):
        return part
    X = drop_columns(part.X, highest)
    return part if X is part.X else replace(part, X=X)


class VectorTask(RowTask):
    """Task on rows with one label and one score each; its measures are missing."""

    def write(
        self,
        output: Output,
        predicted: NDArray[np.float64],
        model: ScoringModel,
        labels: bool = False,
    ) -> None:
        if labels:
            write_labels(output, self.class_signs(predicted), tuple(model.label_texts()))
        else:
            write_scores(output, predicted)

    def class_signs(self, predicted: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,) above 0 for predictions of the second label."""
        return predicted

    def write_probabilities(
        self,
        output: Output,
        predicted: NDArray[np.float64],
        probabilities: NDArray[np.float64],
        model: ScoringModel,
        labels: bool = False,
    ) -> None:
        names = model.label_texts() if labels else None
        write_probabilities(output, probabilities, names, (predicted > 0).astype(np.int8))

    def places(self, part: Examples, model: ScoringModel) -> NDArray[np.int64]:
        positive, unknown = classes_of(part.y, model.labels)
        return np.where(unknown, -1, positive)

    def tally(self, model: ScoringModel) -> Scores:
        return Scores(model.labels, model.words, model.loss, model.parameter)

    def warnings(self, tally: Scores, path: str) -> list[str]:
        return self.score_warnings(tally)

    def score_warnings(self, tally: Scores) -> list[str]:
        bad = int((~np.isfinite(tally.scores)).sum())
        return (
            [f"{bad} scores are not finite: the kernel overflows on these examples"] if bad else []
        )
