# SPDX-License-Identifier: BSD-3-Clause
"""Two classes of any labels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from svmcut.data.labels import SIGNS, classes_of, label_text, label_texts, labels_of, named_labels
from svmcut.errors import TrainingError, UsageError
from svmcut.messages import Message
from svmcut.scoring.measures import (
    Aims,
    Measured,
    classification_measures,
    contingency_table,
)
from svmcut.spec.catalog import TASKS, losses, measures
from svmcut.spec.entries import CLASSES, RANGE, TWO_CLASSES, Measure
from svmcut.spec.places import loss_marks
from svmcut.spec.records import replace
from svmcut.tasks.presentation import NOT_CALIBRATED, Presentation, aligned
from svmcut.tasks.vectors import Scores, VectorTask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from svmcut.data.examples import Examples
    from svmcut.data.labels import Labels
    from svmcut.spec.parameters import Settings
    from svmcut.training.driver import Driver


#: The task of this file.
TASK = next(name for name, row in TASKS.items() if row.labels == TWO_CLASSES)


class ClassificationLines(Presentation):
    """svm_perf's lines, and a report that speaks of the classes by name."""

    width, has_plain, no_probability, of_light = 5, True, NOT_CALIBRATED, True
    note = """\
NOTE: The loss reported above is the percentage of errors. The zero/one-error
      is the multivariate zero/one-error regarding the whole prediction vector!
"""

    def objects(self, data: Any, driver: Any) -> str:
        n, counts = len(data), driver.counts.get("class_counts")
        positive = int(classes_of(data.y, None)[0].sum()) if counts is None else counts[1]
        return f"{n} examples ({positive} pos / {n - positive} neg)"

    def details(self, tally: Any, measured: Measured) -> str:
        """What error rate, accuracy, precision, recall and F1 lack to the best, and the table."""
        table, rows = contingency_table(*tally.of_classes()), list(measures(self.task).values())[:5]
        lacking = (abs(100.0 * row.rises - measured.values[row.name]) for row in rows)
        return "".join(f"    loss={loss:f}; contingency_table={table}\n" for loss in lacking)

    def plain(self, tally: Any, measured: Measured, model: Any) -> str:
        """The measures, and a table of the examples by their class and the predicted one."""
        names = label_texts(tally.labels or SIGNS, tally.words)
        lines = [f"Positive class: {names[1]}" + ("" if tally.labels else " (labels above 0)"), ""]
        aim = None if tally.loss is None else measure_of(tally.loss)
        parameter = ",".join(f"{number:g}" for number in tally.parameter or ())
        for row in measures(self.task).values():
            name = row.aimed.format(parameter) if row is aim and row.aimed else row.plain
            if name:
                value = measured.values[row.name]
                number = f"{value:7.2f} %" if row.digits == 2 else f" {value:.{row.digits}f}"
                lines.append(f"{name:<18}" + (" undefined" if math.isnan(value) else number))
        table = [["true \\ predicted", *names]]
        for name, counts in zip(tally.groups(names), tally.confusion(), strict=True):
            table.append([name, *map(str, counts)])
        told = self.caution(model)
        return "\n".join([*lines, "", *aligned(table), *(["", told] if told else []), ""])

    def caution(self, model: Any) -> str:
        loss = None if model.loss is None else losses(self.task)[model.loss]
        if loss is None or loss.table or loss.is_sum or model.threshold is not None:
            return ""
        return (
            f"the model was trained for {model.loss}, which orders the examples: 0 is no threshold "
            "of its scores"
        )


class Classification(VectorTask):
    """Examples of two classes, and their scores. Trainers see the labels -1 and 1, models keep the
    user's."""

    presentation = ClassificationLines
    label_kind = CLASSES

    def plan(self, data: Examples, settings: Settings, time_limit: float | None = None) -> Driver:
        """As Task.plan.

        Raises
        ------
        DataError, UsageError
            As svmcut.data.labels.labels_of.
        TrainingError
            Where a loss that is no sum over examples has one class alone.
        """
        if settings.original:
            return super().plan(data, settings, time_limit)
        path, n = data.source.path, len(data)
        labels = labels_of(data.checked().y, settings.positive, path)
        positive, _ = classes_of(data.y, labels)
        counts = [n - int(positive.sum()), int(positive.sum())]
        alone = ""
        if not all(counts):
            sign = (
                f"{'positive' if counts[1] else 'negative'}, a label being positive where it is "
                "above 0"
            )
            alone = (
                label_text(labels[1]) if labels else sign if settings.positive else f"{data.y[0]:g}"
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
        driver.marks = {"labels": labels, **loss_marks(driver.settings)}
        driver.counts = {"labels": list(labels or SIGNS), "class_counts": counts}
        return driver

    def measured(self, tally: Scores) -> Measured:
        return classification_measures(*tally.of_classes(), aims_of(tally.loss, tally.parameter))

    def counts_of(self, tally: Scores) -> dict[str, Any]:
        """As Task.counts_of: the confusion table too."""
        positive, scores, unknown = tally.of_classes()
        table = contingency_table(positive, scores, unknown)
        counts = [int((~positive & ~unknown).sum()), int(positive.sum())]
        labels = named_labels(tally.labels or SIGNS, tally.words)
        found = {"labels": labels, "class_counts": counts}
        return tally.counts() | found | dict(zip(("tp", "fp", "fn", "tn"), table, strict=True))

    def label_warnings(self, data: Examples, driver: Driver) -> list[str]:
        labels = driver.marks.get("labels")
        return _unknown(classes_of(data.y, labels)[1], labels, data.source.path)

    def warnings(self, tally: Scores, path: str) -> list[str]:
        n, (positive, _, unknown) = len(tally.y), tally.of_classes()
        found = _unknown(unknown, tally.labels, path, tally.words)
        if positive.all() or not (positive | unknown).any():
            what = f"all {n} examples are {'positive' if positive.all() else 'negative'}"
            named = label_texts(tally.labels or SIGNS, tally.words)[1]
            rule = f"the model has {named} for its positive class"
            found.append(
                f"{what}: {rule if tally.labels else 'a label is positive where it is above 0'}"
            )
        return found + super().warnings(tally, path)


def measure_of(loss: str) -> Measure | None:
    """The measure that says what a loss is worth; None where there is none."""
    row = losses(TASK).get(loss)
    return None if row is None else measures(TASK).get(row.measure or loss.replace("-", "_"))


def aims_of(loss: str | None, parameter: tuple[float, ...] | None) -> Aims:
    """What measures are taken at of a model that was trained for a loss with this parameter."""
    row = losses(TASK)[loss] if loss is not None and loss in losses(TASK) else None
    if row is None or parameter is None or "at" not in row.takes:
        beta = parameter[0] if row is not None and parameter is not None else None
        return Aims() if beta is None else Aims(f=beta, q=beta)
    if row.place == RANGE:
        return Aims(rates=(parameter[0], parameter[-1]))
    return Aims(precision=parameter[0], recall=parameter[0])


def _unknown(
    unknown: NDArray[np.bool_], labels: Labels | None, path: str, words: Sequence[str] = ()
) -> list[str]:
    """The warning of labels that the model does not know."""
    if not unknown.any():
        return []
    known = " nor ".join(label_texts(labels or SIGNS, words))
    which = f"{int(unknown.sum())} of the {len(unknown)} labels of {path} are neither {known}"
    return [Message("{}, which the model knows, and count as errors", which)]
