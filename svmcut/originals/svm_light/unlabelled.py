# SPDX-License-Identifier: BSD-3-Clause
"""svm_learn with labels of 0: transduction.

Transduction: labels of rows that have none, by a local search over machines of all rows
(Joachims, ICML 1999).

    start    the machine of the labelled rows; of the u unlabelled rows the u p with the highest
             scores become positive
    weights  C_i of an unlabelled row is X C, of a positive one times (1 - p) / p, so that both
             classes weigh as much
    search   train; while a positive and a negative unlabelled row have losses above 0 whose sum is
             above 2, switch their labels and train; then X rises, from 1e-5 by factors of 1.5 to 1

A switch lowers the objective, so the search ends; where it does not, as rounding and kernels that
are not definite allow, X rises. Every machine meets the KKT conditions of its problem; nothing is
said of other labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import TrainingError
from svmcut.base.records import replace
from svmcut.base.typing import Any, NamedTuple
from svmcut.cli.training_report import step
from svmcut.files.output import write_atomically
from svmcut.files.predictions import write_short_scores
from svmcut.originals.svm_light import estimates
from svmcut.originals.svm_light.classes import Classes
from svmcut.originals.svm_light.machines import Machine, MachineProblem

FIRST, FACTOR = 1e-5, 1.5


class Level(NamedTuple):
    """A trained machine of the search, of the labels and weights of its problem."""

    problem: MachineProblem
    machine: Machine
    #: Whether labels are switched next.
    switched: bool
    #: The X that is next.
    following: float | None


def share(positive: int, negative: int) -> float:
    """p where none is given: the part of the labelled rows that is positive; nan without labelled
    rows."""
    return positive / (positive + negative) if positive + negative else np.nan


def positives(unlabelled: int, fraction: float) -> int:
    """u p, rounded as svm_light does."""
    return int(unlabelled * fraction + 0.5)


def search(
    problem: MachineProblem,
    known: NDArray[np.bool_],
    scores: NDArray[np.float64],
    fraction: float,
    observe: Callable[[Any], None] | None = None,
) -> Iterator[Level]:
    """Yields the levels of the search; the last one is the answer.

    problem: of all rows; y of those that are not known is not read. known: (n,) whether a row has a
    label. scores: (n,) of the machine of the labelled rows. fraction: p, in [0, 1].
    """
    open_rows = np.flatnonzero(~known)
    count = positives(len(open_rows), fraction)
    y = np.array(problem.y)
    y[open_rows] = -1.0
    y[open_rows[np.argsort(-scores[open_rows], kind="stable")[:count]]] = 1.0
    own = np.ones(len(y)) if problem.weights is None else problem.weights
    ratio = (1.0 - fraction) / fraction if count else 1.0
    influence, machine, least = FIRST, None, np.inf
    while True:
        weights = np.where(known, own, influence * own * np.where(y > 0, ratio, 1.0))
        now = replace(problem, y=y.copy(), weights=weights)
        machine = now.train(
            observe, None if machine is None or now.on_features else now.feasible(machine.beta)
        )
        losses = machine.losses(y)
        value = 0.5 * now.squared_norm(machine) + float(now.boxes @ losses)
        pair = _pair(y, losses, open_rows) if value < least else None
        following = None if pair is not None or influence == 1.0 else min(1.0, FACTOR * influence)
        yield Level(now, machine, pair is not None, following)
        if pair is not None:
            y[list(pair)], least = -y[list(pair)], value
        elif following is None:
            return
        else:
            influence, least = following, np.inf


def _pair(y: NDArray, losses: NDArray, rows: NDArray[np.int64]) -> tuple[int, int] | None:
    """The positive and the negative unlabelled row with the largest losses, where a switch lowers
    the objective."""
    pair = []
    for sign in (1.0, -1.0):
        there = rows[y[rows] == sign]
        if not len(there):
            return None
        pair.append(int(there[np.argmax(losses[there])]))
    first, second = losses[pair[0]], losses[pair[1]]
    return (pair[0], pair[1]) if first > 0 and second > 0 and first + second > 2.0 + 1e-9 else None


def certainties(level: Level, rows: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The numbers that svm_light writes for these rows: f of one without a multiplier, else its
    label times less than 1.

    That is 0.999 less half of the multiplier's share of the largest one of these rows.
    """
    machine = level.machine
    alpha, y = np.abs(machine.beta[rows]), level.problem.y[rows]
    return np.where(
        alpha > 0,
        y * (0.999 - alpha / (2 * max(alpha.max(initial=0.0), 1e-300))),
        machine.scores[rows],
    )


_DEACTIVATED = """
Deactivating Shrinking due to an incompatibility with the transductive\x20
learner in the current version.
"""


class Transduction(Classes):
    """Training on labels of two signs and on rows that have none."""

    def run(self, model_file: str) -> None:
        """Trains, reports and writes; raises TrainingError where no row has a label and no -p says
        how many are positive."""
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
        self.print_training(last.problem, machine)
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
