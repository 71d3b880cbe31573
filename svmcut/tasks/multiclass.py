# SPDX-License-Identifier: BSD-3-Clause
"""Classes with whole numbers as labels, each with its own weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError
from svmcut.base.messages import Message
from svmcut.base.records import replace
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.data.examples import Examples
from svmcut.data.labels import distinct, label_text, label_texts, named_labels
from svmcut.files.output import Output
from svmcut.files.predictions import write_classes, write_probabilities
from svmcut.models import JointKernelModel
from svmcut.scoring.measures import Measures, class_measures
from svmcut.spec.catalog import SQUARED_DIFFERENCE, measures
from svmcut.spec.entries import CLASSES
from svmcut.spec.parameters import Settings
from svmcut.tasks.presentation import NOT_CALIBRATED, Presentation, align_columns
from svmcut.tasks.protocol import BLOCK_NUMBERS
from svmcut.tasks.vectors import RowTask, known_features

if TYPE_CHECKING:
    from svmcut.models import ClassModel
    from svmcut.training.driver import Driver


class Confusion:
    """Rows by class and predicted class; rows with other labels by predicted class, and these
    labels. `squared` is the sum of (label - predicted class)^2, None for other losses."""

    queries = False

    def __init__(
        self, names: NDArray[np.float64], squared: bool = False, words: Sequence[str] = ()
    ):
        K, self.words = len(names), words
        self.squared = 0.0 if squared else None
        self.names = names
        self.table = np.zeros((K, K), np.int64)
        self.others = np.zeros(K, np.int64)
        self.unknown: set[float] = set()
        self.infinite = 0

    def add(self, part: Examples, predicted: NDArray[np.float64]) -> None:
        K, best, place = len(self.names), np.argmax(predicted, axis=1), _places(part.y, self.names)
        known = place >= 0
        self.table += np.bincount(place[known] * K + best[known], minlength=K * K).reshape(K, K)
        self.others += np.bincount(best[~known], minlength=K)
        self.unknown |= set(distinct(part.y[~known]).tolist())
        self.infinite += int((~np.isfinite(predicted)).any(axis=1).sum())
        if self.squared is not None:
            self.squared += float(((part.y - self.names[best]) ** 2).sum())

    def join(self, others: Confusion) -> None:
        """Adds rows that were counted elsewhere."""
        self.table, self.others = self.table + others.table, self.others + others.others
        self.unknown |= others.unknown
        self.infinite += others.infinite
        if self.squared is not None and others.squared is not None:
            self.squared += others.squared

    def __len__(self) -> int:
        return int(self.table.sum() + self.others.sum())

    def counts(self) -> dict[str, Any]:
        return {"examples": len(self)}


#: Classes up to which the confusion table is printed.
MAX_CLASSES = 30


class ClassLines(Presentation):
    """A report in plain words, with a table of the classes."""

    foreign = "a model of classes; score with svm_multiclass_classify or svmcut classify"
    has_plain, no_probability = True, NOT_CALIBRATED

    def size_summary(self, data: Any, driver: Any) -> str:
        return f"{len(data)} examples, {len(driver.counts['labels'])} classes"

    def final_lines(
        self, outcome: Any, options: Any, cpu_seconds: float, original: bool
    ) -> list[str]:
        return [
            f"Upper bound on duality gap: {max(0.0, outcome.gap):.5f}",
            f"Dual objective value: dval={outcome.dual:.5f}",
            f"Primal objective value: pval={outcome.primal:.5f}",
            f"Number of iterations: {outcome.progress.iteration}",
            f"Norm of weight vector: |w|={outcome.norm:.5f}",
            f"Runtime in cpu-seconds: {cpu_seconds:.2f}",
        ]

    def plain(self, tally: Any, measured: Measures, model: Any) -> str:
        """Measures and confusion table."""
        lines = [
            f"{row.plain:<18}{measured.values[row.name]:7.2f} %"
            for row in measures(self.task).values()
            if row.plain
        ]
        names = label_texts(tally.names.tolist(), tally.words)
        if len(names) > MAX_CLASSES:
            return "\n".join([*lines, ""])
        table = [["true \\ predicted", *names]]
        for name, row in zip(names, tally.table.tolist(), strict=True):
            table.append([name, *map(str, row)])
        if tally.others.any():
            table.append(["other", *map(str, tally.others.tolist())])
        return "\n".join([*lines, "", *align_columns(table), ""])


class SvmMulticlassLines(ClassLines):
    """svm_multiclass's lines."""

    always = True

    def quiet(self, data: Any) -> str:
        return f" ({len(data)} examples) "

    def sizes(self, data: Any) -> str:
        return f"{self.quiet(data)}done"

    def size_summary(self, data: Any, driver: Any) -> str:
        return f"{len(driver.plan.names)} classes"

    def final_lines(
        self, outcome: Any, options: Any, cpu_seconds: float, original: bool
    ) -> list[str]:
        """Summary in svm_multiclass's units: its weights are as many times those of losses of
        height 1 as its margin is high."""
        from svmcut.training.outcome import PERCENT

        objective, progress = outcome.objective, outcome.progress
        square = options.path[0].value / objective.c
        cut = outcome.longest_cut / (PERCENT if square != 1.0 else 1.0)
        scaled = replace(
            outcome,
            objective=replace(objective, c=square * objective.c),
            norm=math.sqrt(square) * outcome.norm,
            longest_cut=cut,
            progress=progress._replace(
                primal=square * progress.primal, dual=square * progress.dual
            ),
            certificate=outcome.certificate and (square * outcome.primal, square * outcome.dual),
        )
        return Presentation.final_lines(self, scaled, options, cpu_seconds, original)


class Multiclass(RowTask):
    """Examples of several classes, and the scores of each."""

    #: Format of a score.
    number = "%.8f"
    presentation: type[Presentation] = ClassLines
    label_kind = CLASSES

    def plan(self, data: Examples, settings: Settings, time_limit: float | None = None) -> Driver:
        """Plans as Task.plan; raises DataError for labels that are not whole."""
        y = data.validate().y
        fraction = np.flatnonzero(y != np.round(y))
        if len(fraction):
            row = int(fraction[0])
            message = (
                f"label {label_text(y[row])} is not whole; expected whole numbers as names of "
                "classes"
            )
            raise DataError(data.source.path, message, data.source.line_of(row))
        driver = super().plan(data, settings, time_limit)
        names, places = np.unique(y, return_inverse=True)
        counts = np.bincount(places, minlength=len(names))
        driver.counts = {"labels": names.tolist(), "class_counts": counts.tolist()}
        return driver

    def as_original(self) -> Multiclass:
        return SvmMulticlass()

    def parts(self, block: Examples, model: ClassModel) -> Iterator[Examples]:
        step = max(1, BLOCK_NUMBERS // len(model.names))
        for start in range(0, len(block), step):
            yield block.part(start, min(len(block), start + step))

    def write(
        self,
        output: Output,
        predicted: NDArray[np.float64],
        model: ClassModel,
        labels: bool = False,
    ) -> None:
        write_classes(output, predicted, model.label_texts(), labels, self.number)

    def probabilities(
        self, part: Examples, predicted: NDArray[np.float64], model: Any, threads: int = 1
    ) -> NDArray[np.float64]:
        if getattr(model, "paired", False):  # what is predicted are votes
            predicted = model.decisions(part.X, threads)
        return model.probabilities(predicted)

    def write_probabilities(
        self,
        output: Output,
        predicted: NDArray[np.float64],
        probabilities: NDArray[np.float64],
        model: ClassModel,
        labels: bool = False,
    ) -> None:
        names = model.label_texts() if labels else None
        write_probabilities(output, probabilities, names, np.argmax(predicted, axis=1))

    def places(self, part: Examples, model: ClassModel) -> NDArray[np.int64]:
        return _places(part.y, model.names)

    def tally(self, model: ClassModel) -> Confusion:
        return Confusion(model.names, model.loss == SQUARED_DIFFERENCE, model.words)

    def measure(self, tally: Confusion) -> Measures:
        measured = class_measures(tally.table, tally.others, len(tally.unknown))
        return (
            measured
            if tally.squared is None
            else measured._replace(loss=tally.squared / max(1, len(tally)))
        )

    def counts_of(self, tally: Confusion) -> dict[str, Any]:
        """Counts and confusion table, true classes in the order of the labels."""
        return tally.counts() | {
            "labels": named_labels(tally.names.tolist(), tally.words),
            "confusion": tally.table.tolist(),
        }

    def label_warnings(self, data: Examples, driver: Driver) -> list[str]:
        return _unknown(int((~np.isin(data.y, driver.counts["labels"])).sum()), data.source.path)

    def warnings(self, tally: Confusion, path: str) -> list[str]:
        return _unknown(int(tally.others.sum()), path) + self.score_warnings(tally)

    def score_warnings(self, tally: Confusion) -> list[str]:
        bad = tally.infinite
        return [f"scores of {bad} examples are not finite"] if bad else []


class SvmMulticlass(Multiclass):
    """Labels from 1 on, cut to whole numbers, and svm_multiclass's text of predictions. Kernel
    values ignore features beyond those of the model."""

    presentation = SvmMulticlassLines
    number = "%f"

    def read(self, path: str, **how: Any) -> Examples:
        return _truncate_labels(super().read(path, **how))

    def stream(self, path: str, **how: Any) -> Iterator[Examples]:
        yield from map(_truncate_labels, super().stream(path, **how))

    def predictor(
        self, model: ClassModel, threads: int = 1, beam: int = 0
    ) -> Callable[[Examples], NDArray]:
        score = super().predictor(model, threads, beam)
        if isinstance(model, JointKernelModel):
            return lambda part: model.scores_in_float32(known_features(part, model).X, threads)
        return lambda part: score(known_features(part, model))


def _truncate_labels(data: Examples) -> Examples:
    """Examples with labels cut to whole numbers; raises DataError for a label below 1."""
    below = np.flatnonzero(~(data.y >= 1))
    if len(below):
        message = (
            f"label {label_text(data.y[below[0]])} is no class; expected a number of at least 1"
        )
        raise DataError(data.source.path, message, data.source.line_of(int(below[0])))
    return replace(data, y=np.trunc(data.y))


def _places(y: NDArray, names: NDArray[np.float64]) -> NDArray[np.int64]:
    """(n,) places of labels among the classes, -1 for other labels."""
    order = np.argsort(names)
    place = order[np.minimum(np.searchsorted(names[order], y), len(names) - 1)]
    return np.where(names[place] == y, place, -1)


def _unknown(count: int, path: str) -> list[str]:
    """Warning of labels that the model does not know."""
    text = "{} labels of {} are of no class the model knows, and count as errors"
    return [Message(text, count, path)] if count else []
