# SPDX-License-Identifier: BSD-3-Clause
"""The printed lines of rows with one label each: of two classes, of rankings and of numbers."""

from __future__ import annotations

import math

from svmcut.base.messages import Message, escape
from svmcut.base.typing import Any
from svmcut.data.labels import SIGNS, classes_of, label_texts
from svmcut.scoring.measures import Measures, MeasureTargets, contingency_table
from svmcut.spec.catalog import TASKS, losses, measures
from svmcut.spec.entries import RANGE, TWO_CLASSES, Measure
from svmcut.tasks.presentation import NOT_CALIBRATED, Presentation, align_columns, plain_line

#: The task of two classes.
TASK = next(name for name, row in TASKS.items() if row.labels == TWO_CLASSES)


class ClassificationLines(Presentation):
    """svm_perf's lines, and a report that names the classes."""

    width, has_plain, no_probability, of_light = 5, True, NOT_CALIBRATED, True
    note = """\
NOTE: The loss reported above is the percentage of errors. The zero/one-error
      is the multivariate zero/one-error regarding the whole prediction vector!
"""

    def size_summary(self, data: Any, driver: Any) -> str:
        n, counts = len(data), driver.counts.get("class_counts")
        positive = int(classes_of(data.y, None)[0].sum()) if counts is None else counts[1]
        return f"{n} examples ({positive} pos / {n - positive} neg)"

    def details(self, tally: Any, measured: Measures) -> str:
        """Distance of error rate, accuracy, precision, recall and F1 to their best values, and the
        table."""
        table, rows = contingency_table(*tally.of_classes()), list(measures(self.task).values())[:5]
        lacking = (abs(100.0 * row.rises - measured.values[row.name]) for row in rows)
        return "".join(f"    loss={loss:f}; contingency_table={table}\n" for loss in lacking)

    def plain(self, tally: Any, measured: Measures, model: Any) -> str:
        """Measures and confusion table."""
        names = label_texts(tally.labels or SIGNS, tally.words)
        lines = [
            f"Positive class: {escape(names[1])}" + ("" if tally.labels else " (labels above 0)"),
            "",
        ]
        aim = None if tally.loss is None else measure_of(tally.loss)
        parameter = ",".join(f"{number:g}" for number in tally.parameter or ())
        for row in measures(self.task).values():
            name = row.aimed.format(parameter) if row is aim and row.aimed else row.plain
            if name:
                lines.append(plain_line(row, measured.values[row.name], name))
        table = [["true \\ predicted", *names]]
        for name, counts in zip(tally.groups(names), tally.confusion(), strict=True):
            table.append([name, *map(str, counts)])
        warning = self.caution(model)
        return "\n".join(
            [*lines, "", *align_columns(table), *(["", warning] if warning else []), ""]
        )

    def caution(self, model: Any) -> str:
        loss = None if model.loss is None else losses(self.task)[model.loss]
        if loss is None or loss.table or loss.is_sum or model.threshold is not None:
            return ""
        return (
            f"the model was trained for {model.loss}, which orders the examples: 0 is no threshold "
            "of its scores"
        )


class RankingLines(Presentation):
    """svm_rank's lines."""

    always = of_light = has_plain = True
    note = """\
NOTE: The loss reported above is the fraction of swapped pairs averaged over
      all rankings. The zero/one-error is fraction of perfectly correct
      rankings!
"""

    def size_summary(self, data: Any, driver: Any) -> str:
        return f"{driver.plan.units.structures} rankings, {len(data)} examples"

    def count_line(self, tally: Any, measured: Measures) -> str:
        queries = f"{measured.total:,} quer{'y' if measured.total == 1 else 'ies'}"
        rows, right = tally.counts()["examples"], f"{measured.correct:,}"
        return f"{queries} with {rows:,} examples, {right} in the right order throughout"

    def summary(self, data: Any, driver: Any) -> str:
        text = super().summary(data, driver)
        return text.replace("rankings", "ranking") if driver.plan.units.structures == 1 else text

    def properties(self, data: Any, driver: Any) -> list[str]:
        """Lines on the size of the training set, and epsilon if its unit differs."""
        lines = super().properties(data, driver)
        if losses(self.task)[driver.settings.loss].in_pairs:
            epsilon = driver.plan.units.epsilon
            lines.append(
                f"NOTE: Adjusted stopping criterion relative to maximum loss: eps={epsilon:.6f}"
            )
        return [*lines, *(f"NOTE: {note}" for note in driver.notes)]


class NumberLines(Presentation):
    """Lines of numbers, which have no original."""

    foreign = "a model of numbers; score with svmcut classify"
    no_probability = Message("numbers have none; classify says the noise that learn fitted")
    no_labels = "has no meaning for numbers; what is predicted is no class"

    def size_summary(self, data: Any, driver: Any) -> str:
        return f"{len(data)} examples, targets from {data.y.min():g} to {data.y.max():g}"

    def losses(self, measured: Measures) -> str:
        return ""

    def noise(self, model: Any) -> str:
        """Line on the noise."""
        if model.sigma is None:
            return ""
        within = math.log(20) * model.sigma
        return (
            f"Noise              : Laplace, sigma {model.sigma:.6g}; 95 % within {within:.6g} of "
            "the prediction\n"
        )

    def number(self, value: float) -> str:
        return "undefined" if math.isnan(value) else f"{value:.6g}"


def measure_of(loss: str) -> Measure | None:
    """The measure that a loss is trained for; None if there is none."""
    row = losses(TASK).get(loss)
    return None if row is None else measures(TASK).get(row.measure or loss.replace("-", "_"))


def aims_of(loss: str | None, parameter: tuple[float, ...] | None) -> MeasureTargets:
    """Points at which the measures of a model are taken, by the loss it was trained for and its
    parameter."""
    row = losses(TASK)[loss] if loss is not None and loss in losses(TASK) else None
    if row is None or parameter is None or "at" not in row.takes:
        beta = parameter[0] if row is not None and parameter is not None else None
        return MeasureTargets() if beta is None else MeasureTargets(f=beta, q=beta)
    if row.place == RANGE:
        return MeasureTargets(rates=(parameter[0], parameter[-1]))
    return MeasureTargets(precision=parameter[0], recall=parameter[0])
