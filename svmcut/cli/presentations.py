# SPDX-License-Identifier: BSD-3-Clause
"""What is printed of each task: the originals' lines where there is an original."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from svmcut.cli.training_report import final_lines, runtime_shares
from svmcut.data.labels import SIGNS, classes_of, label_text
from svmcut.messages import join_names
from svmcut.resources import running
from svmcut.scoring.measures import Measured, contingency_table
from svmcut.spec.catalog import FORMATS, TASKS, losses, measures
from svmcut.spec.records import replace

if TYPE_CHECKING:
    from svmcut.cli.options import LearnOptions


#: Of a table that is printed; lines of one by tag.
MOST_CLASSES, MOST_TAGS = 30, 100
#: What to do about a model of classes without probabilities.
NOT_CALIBRATED = "; train it with svmcut learn --probability, or with -l logistic"


def aligned(table: list[list[str]]) -> list[str]:
    """The lines of a table, whose first column stands left."""
    first, *others = (max(map(len, column)) for column in zip(*table, strict=True))
    return [
        name.ljust(first) + "".join(f"  {cell:>{k}}" for cell, k in zip(cells, others, strict=True))
        for name, *cells in table
    ]


class Presentation:
    """Lines of tasks on rows.

    Attributes
    ----------
    task : str
    note : str
        Stands before the measures.
    width : int
        Of a number behind its name.
    always : bool
        Whether the original speaks of the training set at -v 0 too.
    foreign : str
        What is wrong with such a model where the program of another task is to score with it.
    no_labels, no_missing, no_probability : str
        What is wrong with --labels, and with --unlabelled; what to do about a model without
        probabilities.
    has_plain : bool
        Whether there is a report in plain words.
    has_beam : bool
        Whether predictions are sought in a beam.
    of_light : bool
        Whether the original reads its files as svm_light does.
    """

    note = ""
    width = 6
    always = False
    no_labels = ""
    no_missing = ""
    has_plain = False
    has_beam = False
    of_light = False
    no_probability = "; --probability is for models of classes"
    foreign = "no model of sequences; expected one that starts with " + join_names(
        [repr(row.first.decode()) for row in FORMATS if row.models[0] in TASKS["sequence"].models],
        "or",
    )

    def __init__(self, task: str):
        self.task = task

    def quiet(self, data: Any) -> str:
        """What the original says of training data or a tally at -v 0 too, before anything else."""
        return ""

    def sizes(self, data: Any) -> str:
        """What ends the line of reading, for training data or a tally."""
        return "done"

    def properties(self, data: Any, driver: Any) -> list[str]:
        """The size of the training set."""
        sizes = (
            f"{data.X.n_features + (driver.settings.bias != 0)} features, "
            f"{self.objects(data, driver)}"
        )
        return [f"Training set properties: {sizes}"]

    def objects(self, data: Any, driver: Any) -> str:
        """What the training set has beside features."""
        raise NotImplementedError

    def final_lines(
        self, outcome: Any, options: LearnOptions, cpu_seconds: float, original: bool
    ) -> list[str]:
        """The summary of a model."""
        shares = ""
        if original and running:
            shares = runtime_shares(
                options.algorithm, options.verbosity, cpu_seconds, running[-1].seconds
            )
        return final_lines(
            outcome, options.algorithm, options.slack_norm, cpu_seconds, original, shares
        )

    def timing(self, outcome: Any) -> list[str]:
        """What the original alone says behind the summary."""
        return []

    def details(self, tally: Any, measured: Measured) -> str:
        """Lines of classify with -v 2."""
        return ""

    def losses(self, measured: Measured) -> str:
        """Average loss and zero/one-error over structures."""
        _, loss, correct, total = measured
        wrong = total - correct
        return (
            f"Average loss on test set: {loss:.4f}\nZero/one-error on test set: "
            f"{100.0 * wrong / total:.2f}% "
            f"({correct} correct, {wrong} incorrect, {total} total)\n"
        )

    def plain(self, tally: Any, measured: Measured, model: Any) -> str:
        """The report in plain words."""
        raise NotImplementedError

    def skill(self, values: dict[str, float]) -> str:
        """What probabilities are worth."""
        names = {"log_loss": "Log loss", "brier": "Brier score"}
        return "\n" + "".join(f"{names[name]:<18}{value:7.4f}\n" for name, value in values.items())

    def caution(self, model: Any) -> str:
        """What a user should know who takes scores above 0 for positive."""
        return ""

    def measures(self, measured: Measured) -> str:
        """The measures, one a line."""
        rows, values = measures(self.task).values(), measured.values
        return self.note + "".join(
            f"{row.line}: {self.number(values[row.name])}\n" for row in rows if row.line
        )

    def table(self, tally: Any) -> str:
        """What is said of every tag by name."""
        return ""

    def number(self, value: float) -> str:
        """A measure; -nan where it is undefined, as scripts know it."""
        if math.isnan(value):
            return " -nan"
        return f"{value:{self.width}d}" if isinstance(value, int) else f"{value:{self.width}.2f}"


class Classification(Presentation):
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
        positive, scores, unknown = tally.of_classes()
        names = [label_text(label) for label in tally.labels or SIGNS]
        lines = [f"Positive class: {names[1]}" + ("" if tally.labels else " (labels above 0)"), ""]
        for row in measures(self.task).values():
            value = measured.values[row.name]
            if row.plain:
                lines.append(
                    f"{row.plain:<18}" + (" undefined" if math.isnan(value) else f"{value:7.2f} %")
                )
        classes = {names[0]: ~positive & ~unknown, names[1]: positive} | (
            {"other": unknown} if unknown.any() else {}
        )
        table = [["true \\ predicted", *names]]
        for name, rows in classes.items():
            above = int((rows & (scores > 0)).sum())
            table.append([name, str(int(rows.sum()) - above), str(above)])
        told = self.caution(model)
        return "\n".join([*lines, "", *aligned(table), *(["", told] if told else []), ""])

    def caution(self, model: Any) -> str:
        loss = None if model.loss is None else losses(self.task)[model.loss]
        if loss is None or loss.table or loss.is_sum:
            return ""
        return (
            f"the model was trained for {model.loss}, which orders the examples: 0 is no threshold "
            "of its scores"
        )


class Multiclass(Presentation):
    """A report in plain words, with a table of the classes."""

    foreign = "a model of classes; score with svm_multiclass_classify or svmcut classify"
    has_plain, no_probability = True, NOT_CALIBRATED

    def objects(self, data: Any, driver: Any) -> str:
        return f"{len(data)} examples, {len(driver.counts['labels'])} classes"

    def final_lines(
        self, outcome: Any, options: LearnOptions, cpu_seconds: float, original: bool
    ) -> list[str]:
        return [
            f"Upper bound on duality gap: {max(0.0, outcome.gap):.5f}",
            f"Dual objective value: dval={outcome.dual:.5f}",
            f"Primal objective value: pval={outcome.primal:.5f}",
            f"Number of iterations: {outcome.progress.iteration}",
            f"Norm of weight vector: |w|={outcome.norm:.5f}",
            f"Runtime in cpu-seconds: {cpu_seconds:.2f}",
        ]

    def plain(self, tally: Any, measured: Measured, model: Any) -> str:
        """The measures, and a table of the examples by their class and the predicted one."""
        lines = [
            f"{row.plain:<18}{measured.values[row.name]:7.2f} %"
            for row in measures(self.task).values()
            if row.plain
        ]
        names = [*map(label_text, tally.names.tolist())]
        if len(names) > MOST_CLASSES:
            return "\n".join([*lines, ""])
        table = [["true \\ predicted", *names]]
        for name, row in zip(names, tally.table.tolist(), strict=True):
            table.append([name, *map(str, row)])
        if tally.others.any():
            table.append(["other", *map(str, tally.others.tolist())])
        return "\n".join([*lines, "", *aligned(table), ""])


class SvmMulticlass(Multiclass):
    """svm_multiclass's lines."""

    always = True

    def quiet(self, data: Any) -> str:
        return f" ({len(data)} examples) "

    def sizes(self, data: Any) -> str:
        return f"{self.quiet(data)}done"

    def objects(self, data: Any, driver: Any) -> str:
        return f"{len(driver.plan.names)} classes"

    def final_lines(
        self, outcome: Any, options: LearnOptions, cpu_seconds: float, original: bool
    ) -> list[str]:
        """In its units: its weights are as many times those of losses of height 1 as its margin is
        high."""
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


class Ranking(Presentation):
    """svm_rank's lines."""

    always = of_light = True
    note = """\
NOTE: The loss reported above is the fraction of swapped pairs averaged over
      all rankings. The zero/one-error is fraction of perfectly correct
      rankings!
"""

    def objects(self, data: Any, driver: Any) -> str:
        return f"{driver.objective(1.0, None).structures} rankings, {len(data)} examples"

    def properties(self, data: Any, driver: Any) -> list[str]:
        """The size of the training set, and epsilon where it is in another unit."""
        lines = super().properties(data, driver)
        if losses(self.task)[driver.settings.loss].in_pairs:
            epsilon = driver.objective(1.0, None).epsilon
            lines.append(
                f"NOTE: Adjusted stopping criterion relative to maximum loss: eps={epsilon:.6f}"
            )
        return [*lines, *(f"NOTE: {note}" for note in driver.notes)]


class Regression(Presentation):
    """Lines of numbers, which have no original."""

    foreign = "a model of numbers; score with svmcut classify"
    no_labels = "--labels has no meaning for numbers; what is predicted is no class"

    def objects(self, data: Any, driver: Any) -> str:
        return f"{len(data)} examples, targets from {data.y.min():g} to {data.y.max():g}"

    def losses(self, measured: Measured) -> str:
        return ""

    def number(self, value: float) -> str:
        return "undefined" if math.isnan(value) else f"{value:.6g}"


class Tagging(Presentation):
    """svm_hmm's lines."""

    foreign = "a model of sequences; score with svm_hmm_classify or svmcut classify"
    no_labels = "--labels has no meaning for sequences; their predictions are tags already"
    has_beam = True

    def sizes(self, data: Any) -> str:
        examples, tokens, features, tags = data.sizes()
        return f" {examples} examples, {tokens} tokens, {features} features, {tags} classes... done"

    def properties(self, data: Any, driver: Any) -> list[str]:
        return []  # the line of reading has them

    def timing(self, outcome: Any) -> list[str]:
        # the original times two parts of its search; here they are one, and what is timed is
        # training
        return [f"Viterbi timing: CreateTransEmitMatrix={0:f} Viterbi={outcome.seconds:f}"]

    def table(self, tally: Any) -> str:
        if not hasattr(tally, "table"):
            return ""
        rows, known = tally.table(), measures(next(iter(TASKS)))
        table = [["tag", "tokens", *(str(known[name].plain) for name in [*rows[0]][2:])]]
        for tag, tokens, *shares in (row.values() for row in rows):
            if all(map(math.isnan, shares)):
                continue
            table.append(
                [
                    tag,
                    str(tokens),
                    *("-" if math.isnan(share) else f"{share:.2f} %" for share in shares),
                ]
            )
        return "\n".join(["", *aligned(table), ""]) if len(table) <= MOST_TAGS else ""

    def number(self, value: float) -> str:
        return f"{value / 100:.4f}"


class Labelling(Presentation):
    """Lines of label sets, which have no original."""

    foreign = "a model of label sets; score with svmcut classify"
    no_labels = "--labels has no meaning for label sets; their predictions are labels already"
    no_missing = (
        "--unlabelled has no meaning for label sets; a line that starts with a blank has no labels"
    )

    def objects(self, data: Any, driver: Any) -> str:
        return (
            f"{len(data)} examples, {len(data.names)} labels, {len(data.labels) / len(data):.2f} a "
            "row"
        )

    def final_lines(
        self, outcome: Any, options: LearnOptions, cpu_seconds: float, original: bool
    ) -> list[str]:
        v = outcome.model.v
        return [
            f"Upper bound on duality gap: {max(0.0, outcome.gap):.5f}",
            f"Dual objective value: dval={outcome.dual:.5f}",
            f"Primal objective value: pval={outcome.primal:.5f}",
            f"Number of iterations: {outcome.progress.iteration}",
            f"Number of pair weights: {len(v)}, {int((v > 0).sum())} of them positive",
            f"Norm of weight vector: |w|={outcome.norm:.5f}",
            f"Runtime in cpu-seconds: {cpu_seconds:.2f}",
        ]

    def losses(self, measured: Measured) -> str:
        return ""


PRESENTATIONS = {
    shown.task: shown
    for shown in (
        Classification("classification"),
        Ranking("rank"),
        Tagging("sequence"),
        Labelling("multilabel"),
        Regression("regression"),
        Multiclass("multiclass"),
    )
}
#: Where the original's lines are others than svmcut's.
ORIGINALS = {"multiclass": SvmMulticlass("multiclass")}


def presentation(task: str, original: bool) -> Presentation:
    """The lines of a task."""
    return (ORIGINALS if original and task in ORIGINALS else PRESENTATIONS)[task]
