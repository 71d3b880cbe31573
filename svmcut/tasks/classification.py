# SPDX-License-Identifier: BSD-3-Clause
"""Two classes of any labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import TrainingError, UsageError
from svmcut.base.messages import Message
from svmcut.base.records import replace
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.data.examples import Examples
from svmcut.data.labels import (
    SIGNS,
    Labels,
    classes_of,
    distinct,
    label_text,
    label_texts,
    labels_of,
    named_labels,
)
from svmcut.scoring.measures import Measures, classification_measures, contingency_table
from svmcut.spec.entries import CLASSES
from svmcut.spec.parameters import Settings
from svmcut.spec.places import loss_marks
from svmcut.tasks.presentation import ClassificationLines, aims_of
from svmcut.tasks.protocol import words_of
from svmcut.tasks.vectors import Scores, VectorTask

if TYPE_CHECKING:
    from svmcut.training.driver import Driver


class Classification(VectorTask):
    """Examples of two classes, and their scores. Trainers see the labels -1 and 1, models keep the
    user's."""

    presentation = ClassificationLines
    label_kind = CLASSES

    def plan(self, data: Examples, settings: Settings, time_limit: float | None = None) -> Driver:
        """Plans as Task.plan. Raises DataError or UsageError as svmcut.data.labels.labels_of, and
        TrainingError if there is one class and the loss is no sum over examples."""
        if settings.original:
            return super().plan(data, settings, time_limit)
        path, n = data.source.path, len(data)
        labels = labels_of(data.validate().y, settings.positive, path)
        positive, _ = classes_of(data.y, labels)
        counts = [n - int(positive.sum()), int(positive.sum())]
        alone = ""
        if not all(counts):
            sign = (
                f"{'positive' if counts[1] else 'negative'}, a label being positive where it is "
                "above 0"
            )
            alone = (
                label_texts([labels[1]], words_of(data))[0]
                if labels
                else sign
                if settings.positive
                else label_texts([float(data.y[0])], words_of(data))[0]
            )
        if alone and not settings.is_sum:
            message = f"loss '{settings.loss}' needs two classes, but all {n} labels are {alone}"
            raise TrainingError("{}: {}", path, message)
        signed = data if labels is None else replace(data, y=np.where(positive, *reversed(SIGNS)))
        driver = super().plan(signed, settings, time_limit)
        if alone:
            nothing = Message(
                "all {} labels of {} are {}; there is no other class to learn", n, path, alone
            )
            driver.warnings.insert(0, nothing)
        initial = getattr(driver.plan, "initial", None)
        if initial is not None and (initial.labels or SIGNS) != (labels or SIGNS):
            theirs, ours = (
                " and ".join(map(label_text, each or SIGNS)) for each in (initial.labels, labels)
            )
            raise UsageError(
                "{initial} names {}, a model of the classes {}, but those of {} are {}; leave it "
                "out or name a model "
                "of these",
                settings.initial,
                theirs,
                path,
                ours,
            )
        driver.task_fields = {"labels": labels, **loss_marks(driver.settings)}
        driver.counts = {"labels": list(labels or SIGNS), "class_counts": counts}
        return driver

    def measure(self, tally: Scores) -> Measures:
        positive, scores, unknown = tally.of_classes()
        aims = aims_of(tally.loss, tally.parameter)
        labels = len(distinct(tally.y[unknown])) if unknown.any() else 0
        return classification_measures(positive, scores, unknown, aims, labels)

    def counts_of(self, tally: Scores) -> dict[str, Any]:
        """Counts and confusion table."""
        positive, scores, unknown = tally.of_classes()
        table = contingency_table(positive, scores, unknown)
        counts = [int((~positive & ~unknown).sum()), int(positive.sum())]
        labels = named_labels(tally.labels or SIGNS, tally.words)
        own = {"labels": labels, "class_counts": counts}
        return tally.counts() | own | dict(zip(("tp", "fp", "fn", "tn"), table, strict=True))

    def label_warnings(self, data: Examples, driver: Driver) -> list[str]:
        labels = driver.task_fields.get("labels")
        return _unknown(classes_of(data.y, labels)[1], labels, data.source.path)

    def warnings(self, tally: Scores, path: str) -> list[str]:
        n, (positive, _, unknown) = len(tally.y), tally.of_classes()
        warnings = _unknown(unknown, tally.labels, path, tally.words)
        if positive.all() or not (positive | unknown).any():
            what = f"all {n} examples are {'positive' if positive.all() else 'negative'}"
            named = label_texts(tally.labels or SIGNS, tally.words)[1]
            rule = Message("the model has {} for its positive class", named)
            signs = Message("a label is positive where it is above 0")
            warnings.append(Message("{}: {}", what, rule if tally.labels else signs))
        return warnings + super().warnings(tally, path)


def _unknown(
    unknown: NDArray[np.bool_], labels: Labels | None, path: str, words: Sequence[str] = ()
) -> list[str]:
    """Warning of labels that the model does not know."""
    if not unknown.any():
        return []
    known = " nor ".join(label_texts(labels or SIGNS, words))
    which = f"{int(unknown.sum())} of the {len(unknown)} labels of {path} are neither {known}"
    return [Message("{}, which the model knows, and count as errors", which)]
