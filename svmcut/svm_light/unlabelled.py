# SPDX-License-Identifier: BSD-3-Clause
"""svm_learn with labels of 0: transduction."""

from __future__ import annotations

import numpy as np

from svmcut.cli.training_report import step
from svmcut.errors import TrainingError
from svmcut.files.output import write_atomically
from svmcut.files.predictions import write_short_scores
from svmcut.svm_light import estimates
from svmcut.svm_light.classes import Classes
from svmcut.svm_light.transduction import Level, certainties, positives, search, share

_DEACTIVATED = """
Deactivating Shrinking due to an incompatibility with the transductive\x20
learner in the current version.
"""


class Transduction(Classes):
    """Training on labels of two signs and on rows that have none."""

    def run(self, model_file: str) -> None:
        """Trains, reports and writes.

        Raises
        ------
        TrainingError
            Where no row has a label and no -p says how many are positive.
        """
        values, known = self.values, self.examples.y != 0
        y = np.where(self.examples.y > 0, 1.0, -1.0)
        unlabelled, positive = int((~known).sum()), int((y[known] > 0).sum())
        negative = len(y) - unlabelled - positive
        fraction = share(positive, negative) if values["fraction"] < 0 else values["fraction"]
        if np.isnan(fraction):
            path = self.examples.source.path
            raise TrainingError(
                "{}: every label is 0, so no example has a class; label some of them, or give -p",
                path,
            )
        self.report.more(
            f"{positive} positive, {negative} negative, and {unlabelled} unlabeled examples."
        )
        problem = self.problem(y)
        self.report.say(_DEACTIVATED)
        self.optimize()
        machine = problem.without(~known, self.report.observe)
        self.report.say("done")
        count = positives(unlabelled, fraction)
        self.report.say(f"Classifying unlabeled data as {count} POS / {unlabelled - count} NEG.")
        self.report.say("Retraining", end="")
        last: Level | None = None
        switches = 0
        for level in search(problem, known, machine.scores, fraction, self.report.observe):
            last, machine = level, level.machine.after(machine)
            self.report.say("done")
            if level.switched:
                switches += 1
                self.report.say("Switching labels of 1 POS / 1 NEG unlabeled examples")
            if level.following is not None:
                self.report.say(
                    f"Increasing influence of unlabeled examples to {100 * level.following:.6f}% "
                    "...done"
                )
            if level.switched or level.following is not None:
                self.report.say("Retraining", end="")
        assert last is not None
        with (
            step(self.report.say, "Writing prediction file"),
            write_atomically(values["labels"]) as output,
        ):
            write_short_scores(output, certainties(last, ~known), True)
        self.report.say(f"Number of switches: {switches}")
        self.told(last.problem, machine)
        for line in self.criteria(last, known):
            self.report.say(line)
        self.report.evaluations(machine.evaluations)
        self.write(model_file, machine.beta, machine.b, len(y), machine.beta, last.problem.y)

    def criteria(self, last: Level, known) -> list[str]:
        """svm_light's lines of alpha R^2 + xi: how many reach 1, and sums, in percent of the
        rows."""
        problem, machine, squared = last.problem, last.machine, float(self.distances.max())
        alpha = np.abs(machine.beta)
        losses = np.where(alpha > 0, machine.losses(problem.y), 0.0)
        values, positive = alpha * squared + losses, problem.y > 0
        large = values >= 1

        def part(which, rows) -> float:
            return float(estimates.percent(float(which[rows].sum()), int(rows.sum())))

        every = np.ones(len(large), bool)
        counts = {
            "labeledpos": part(large & positive, known),
            "labeledneg": part(large & ~positive, known),
            "default": part(positive, known),
            "unlabelpos": part(large & positive, ~known),
            "unlabelneg": part(large & ~positive, ~known),
        }
        told = [f"{name}={value:.5f}" for name, value in counts.items()]
        count, total = (
            " ".join(
                f"{name}={part(which, rows):.5f}"
                for name, rows in (("labeled", known), ("unlabled", ~known), ("all", every))
            )
            for which in (large, values)
        )
        return [
            f"xacrit>=1: {' '.join(told[:3])}",
            f"xacrit>=1: {' '.join(told[3:])}",
            f"xacrit>=1: {count}",
            f"xacritsum: {total}",
            f"r_delta_sq={squared:.5f} xisum={losses.sum():.5f} asum={alpha.sum():.5f}",
        ]
