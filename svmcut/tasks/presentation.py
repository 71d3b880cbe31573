# SPDX-License-Identifier: BSD-3-Clause
"""The printed lines of training and predictions, and those of rows with one label each: of two
classes, of rankings and of numbers. The files of other tasks have their own.
"""

from __future__ import annotations

import math

from svmcut.base.messages import Message, escape, join_names
from svmcut.base.resources import ARGMAX, INIT, KERNEL, PSI, QP, active_stopwatches
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.data.labels import SIGNS, classes_of, label_texts
from svmcut.scoring.measures import Measures, MeasureTargets, contingency_table
from svmcut.spec.catalog import FORMATS, LOGISTIC, OF_TAGS, TASKS, losses, measures
from svmcut.spec.entries import RANGE, TWO_CLASSES, Measure

if TYPE_CHECKING:
    from svmcut.spec.entries import Measure

#: What to do about a model of classes without probabilities.
NOT_CALIBRATED = Message("train it with svmcut learn {probability}, or with {loss=}", LOGISTIC)


def align_columns(table: list[list[str]]) -> list[str]:
    """Lines of a table whose first column is aligned left; control characters are escaped."""
    table = [[*map(escape, cells)] for cells in table]
    first, *others = (max(map(len, column)) for column in zip(*table, strict=True))
    return [
        name.ljust(first) + "".join(f"  {cell:>{k}}" for cell, k in zip(cells, others, strict=True))
        for name, *cells in table
    ]


def plain_line(row: Measure, value: float, name: str = "") -> str:
    """Line of a measure in plain words, under its own name or this one."""
    number = f"{value:7.2f} %" if row.digits == 2 else f" {value:.{row.digits}f}"
    return f"{name or row.plain:<18}" + (" undefined" if math.isnan(value) else number)


class Presentation:
    """The printed lines of a task: the originals' if there is an original."""

    #: Text before the measures.
    note = ""
    #: Width of a number after its name.
    width = 6
    #: True if the original prints facts about the training set at -v 0 too.
    always = False
    #: Reason why --labels is refused.
    no_labels = ""
    #: Reason why --unlabelled is refused.
    no_missing = ""
    #: True if there is a report in plain words.
    has_plain = False
    #: True if predictions are searched with a beam.
    has_beam = False
    #: True if the original reads its files as svm_light does.
    of_light = False
    #: Remedy for a model without probabilities.
    no_probability = Message("{probability} is for models of classes")
    #: Reason why the program of another task refuses such a model.
    foreign = "no model of sequences; expected one that starts with " + join_names(
        [repr(row.first.decode()) for row in FORMATS if row.models[0] in TASKS[OF_TAGS].models],
        "or",
    )

    def __init__(self, task: str):
        self.task = task

    def quiet(self, data: Any) -> str:
        """Text that the original prints about training data or a tally at -v 0 too, before anything
        else."""
        return ""

    def sizes(self, data: Any) -> str:
        """End of the line of reading, for training data or a tally."""
        return "done"

    def properties(self, data: Any, driver: Any) -> list[str]:
        """Lines on the size of the training set."""
        sizes = (
            f"{data.X.n_features + (driver.settings.bias != 0)} features, "
            f"{self.size_summary(data, driver)}"
        )
        return [f"Training set properties: {sizes}"]

    def size_summary(self, data: Any, driver: Any) -> str:
        """Sizes of the training set other than features."""
        return f"{len(data)} examples"

    def final_lines(
        self, outcome: Any, options: Any, cpu_seconds: float, original: bool
    ) -> list[str]:
        """Summary of a model."""
        shares = ""
        if original and active_stopwatches:
            shares = runtime_shares(
                options.algorithm, options.verbosity, cpu_seconds, active_stopwatches[-1].seconds
            )
        return closing_lines(
            outcome, options.algorithm, options.slack_norm, cpu_seconds, original, shares
        )

    def timing(self, outcome: Any) -> list[str]:
        """Lines that only the original prints after the summary."""
        return []

    def details(self, tally: Any, measured: Measures) -> str:
        """Lines of classify with -v 2."""
        return ""

    def losses(self, measured: Measures) -> str:
        """Average loss and zero/one-error over structures."""
        _, loss, correct, total = measured
        wrong = total - correct
        return (
            f"Average loss on test set: {loss:.4f}\nZero/one-error on test set: "
            f"{100.0 * wrong / total:.2f}% "
            f"({correct} correct, {wrong} incorrect, {total} total)\n"
        )

    def plain(self, tally: Any, measured: Measures, model: Any) -> str:
        """Report in plain words."""
        rows = [row for row in measures(self.task).values() if row.plain]
        values = measured.values
        lines = [plain_line(row, values[row.name]) for row in rows if row.name in values]
        return "\n".join([self.count_line(tally, measured), "", *lines, ""])

    def count_line(self, tally: Any, measured: Measures) -> str:
        """Number of measured examples, above the report in plain words."""
        return f"{tally.counts()['examples']:,} examples"

    def summary(self, data: Any, driver: Any) -> str:
        """Size of the training set for the summary."""
        return f"{self.size_summary(data, driver)}, {data.X.n_features} features"

    def skill(self, values: dict[str, float]) -> str:
        """Lines on the quality of probabilities."""
        names = {"log_loss": "Log loss", "brier": "Brier score"}
        return "\n" + "".join(f"{names[name]:<18}{value:7.4f}\n" for name, value in values.items())

    def noise(self, model: Any) -> str:
        """Line on the noise around predictions."""
        return ""

    def caution(self, model: Any) -> str:
        """Warning for users who take scores above 0 for positive."""
        return ""

    def measures(self, measured: Measures) -> str:
        """The measures, one per line."""
        values = measured.values
        rows = [row for row in measures(self.task).values() if row.name in values]
        return self.note + "".join(
            f"{row.line}: {self.number(values[row.name])}\n" for row in rows if row.line
        )

    def table(self, tally: Any) -> str:
        """Table of measures by tag."""
        return ""

    def number(self, value: float) -> str:
        """Text of a measure; -nan if it is undefined, as scripts expect it."""
        if math.isnan(value):
            return " -nan"
        return f"{value:{self.width}d}" if isinstance(value, int) else f"{value:{self.width}.2f}"


def closing_lines(
    outcome,
    algorithm: int | None,
    slack_norm: int,
    cpu_seconds: float,
    original: bool = False,
    shares: str = "",
) -> list[str]:
    """The originals' summary, in their units; |w| includes the weight of the constant feature. The
    numbers are those of the certificate; under an original's name with a basis, those of the
    problem in its span, which the original prints. `shares` ends the line of CPU seconds."""
    progress, objective = outcome.progress, outcome.objective
    n_slack = algorithm in (0, 1)
    joint = algorithm in (2, 3, 4) or (algorithm == 9 and not outcome.model.kernel.is_linear)
    certified = progress if original and "basis" in outcome.details else outcome
    primal, dual = certified.primal, certified.dual
    slack, risk = progress.slack * objective.unit, progress.risk * objective.unit
    norm, norm_text, bounded = outcome.norm, "Norm of weight vector", ""
    if slack_norm == 2:
        slack, risk = math.sqrt(slack), math.sqrt(risk)
        norm = math.sqrt(norm**2 + 2 * objective.c * risk**2)
        norm_text = "Norm of weight vector (including L2-loss)"
        bounded = "(including 0 at upper bound)"
    slack_text = "Norm. sum of slack variables (on working set): sum(xi_i)/n"
    if not n_slack:
        slack_text = "Value of slack variable (on working set): xi"
    structures = objective.structures
    gap = 0.0 if certified.gap < 0 else certified.gap  # nan where a solver has no bound
    lines = [
        f"Final epsilon on KKT-Conditions: {gap / objective.c:.5f}",
        f"Upper bound on duality gap: {gap:.5f}",
        f"Dual objective value: dval={dual:.5f}",
        None if n_slack else f"Primal objective value: pval={primal:.5f}",
        f"Total number of constraints in final working set: {progress.cuts} (of "
        f"{progress.iteration - 1})",
        f"Number of iterations: {progress.iteration}",
        f"Number of calls to 'find_most_violated_constraint': {progress.iteration * structures}",
        f"Number of SV: {progress.support} {bounded}",
        f"Number of non-zero slack variables: {structures if risk > 0 else 0} (out of {structures})"
        if n_slack
        else None,
        f"{norm_text}: |w|={norm:.5f}",
        f"{slack_text}={slack:.5f}",
        f"Value of slack variable (global): xi={risk:.5f}" if joint else None,
        "Norm of longest difference vector: "
        f"||Psi(x,y)-Psi(x,ybar)||={outcome.longest_cut * objective.unit:.5f}",
        f"Runtime in cpu-seconds: {cpu_seconds:.2f}{shares}",
    ]
    return [line for line in lines if line is not None]


def runtime_shares(
    algorithm: int | None, verbosity: int, cpu_seconds: float, spent: dict[str, float]
) -> str:
    """Shares of the CPU seconds that svm_struct's programs print, from their verbosity on. No
    constraints are cached here, so the cache takes no time."""
    if algorithm is None or verbosity < (1 if algorithm in (0, 1) else 2):
        return ""
    percent = {
        name: f"{100 * seconds / max(cpu_seconds, seconds, 1e-9):.2f}%"
        for name, seconds in spent.items()
    }
    names = [QP, *([] if algorithm in (0, 1) else [KERNEL]), ARGMAX, PSI, INIT]
    texts = [f"{percent[name]} for {name}" for name in names]
    if algorithm in (2, 3, 4):
        texts += [
            "0.00% for cache update",
            "0.00% for cache const",
            "0.00% for cache add (incl. 0.00% for sum)",
        ]
    return f" ({', '.join(texts)})"


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
