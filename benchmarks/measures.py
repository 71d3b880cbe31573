# SPDX-License-Identifier: BSD-3-Clause
"""Does training for a measure pay? Every loss against every measure on unbalanced sets, and what it
costs.

    python benchmarks/measures.py TRAIN TEST [TRAIN TEST ...]
    python benchmarks/measures.py --time TRAIN

For each loss a fifth of the training rows chooses C from a grid by the loss's own measure; the
final model is trained on all rows with that C and measured on TEST. With --time, each loss is
trained with cutting planes at one C, in alternating rounds in one process, and the table gives
seconds, iterations and the ratio to the error rate.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
from arguments import make_parser

from svmcut.data.examples import Examples
from svmcut.files.examples import read_examples
from svmcut.scoring.measures import classification_measures
from svmcut.spec.parameters import Settings
from svmcut.training.driver import Driver, make_driver

# loss, its own measure, options, grid of C (percent losses: svm_perf's unit; average precision has
# no 1/(P N))
LOSSES = {
    "error-rate": ("accuracy", {}, np.geomspace(1, 1000, 7)),
    "f1": ("f1", {}, np.geomspace(1, 1000, 7)),
    "prbep": ("prbep", {}, np.geomspace(1, 1000, 7)),
    "prec-at-k": ("precision", {}, np.geomspace(1, 1000, 7)),
    "rec-at-k": ("recall", {}, np.geomspace(1, 1000, 7)),
    "roc-area": ("roc_area", {}, np.geomspace(1, 1000, 7)),
    "average-precision": ("average_precision", {}, np.geomspace(1e-7, 1e-2, 6)),
}
COLUMNS = ("accuracy", "precision", "recall", "f1", "prbep", "roc_area", "average_precision")


def subset(examples: Examples, rows) -> Examples:
    return Examples(examples.X.take(rows), examples.y[rows], None, None, examples.source)


def driver(examples: Examples, **parameters) -> Driver:
    """On one thread; C comes with every fit."""
    return make_driver(Settings(cost=1.0, threads=1, **parameters), examples)


def choose_c(loss: str, examples: Examples, measure: str, options: dict, grid) -> float:
    """The C whose model is best on every fifth row, trained on the others."""
    held_out = np.arange(len(examples)) % 5 == 4
    trainer = driver(subset(examples, np.flatnonzero(~held_out)), loss=loss, **options)
    rest = subset(examples, np.flatnonzero(held_out))
    values = []
    for c in grid:
        model = trainer.fit(float(c), None).model
        values.append(classification_measures(rest.y, model.scores(rest.X)).values[measure])
    return float(grid[int(np.nanargmax(values))])


def quality(train: Examples, test: Examples) -> list[list[str]]:
    """A row a loss: C, iterations, and every measure on the test rows."""
    rows = []
    for loss, (measure, options, grid) in LOSSES.items():
        c = choose_c(loss, train, measure, options, grid)
        outcome = driver(train, loss=loss, **options).fit(c, None)
        measured = classification_measures(test.y, outcome.model.scores(test.X)).values
        cells = [
            f"**{measured[key]:.2f}**" if key == measure else f"{measured[key]:.2f}"
            for key in COLUMNS
        ]
        rows.append([loss, f"{c:.3g}", str(outcome.progress.iteration), *cells])
    return rows


def cost(train: Examples, c: float, rounds: int) -> list[list[str]]:
    """A row a loss: median seconds of training with cutting planes, iterations, ratio to the error
    rate."""
    seconds = {loss: [] for loss in LOSSES}
    iterations = {}
    for _ in range(rounds):
        for loss in LOSSES:
            scale = 1e-4 if loss == "average-precision" else 1.0
            trainer = driver(train, loss=loss, solver="cutting-plane")
            began = time.perf_counter()
            outcome = trainer.fit(c * scale, None)
            seconds[loss].append(time.perf_counter() - began)
            iterations[loss] = outcome.progress.iteration
    base = statistics.median(seconds["error-rate"])
    medians = {loss: statistics.median(times) for loss, times in seconds.items()}
    return [
        [loss, f"{medians[loss]:.2f}", str(iterations[loss]), f"{medians[loss] / base:.2f}"]
        for loss in LOSSES
    ]


def show(head: list[str], rows: list[list[str]]) -> None:
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("files", nargs="*", help="training and test files in turn")
    parser.add_argument("--time", metavar="TRAIN", help="time each loss on this file")
    parser.add_argument("-c", type=float, default=1000.0, help="C of --time in svm_perf's unit")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for train, test in zip(options.files[::2], options.files[1::2], strict=True):
        a, b = read_examples(train, threads=2), read_examples(test, threads=2)
        print(
            f"{train}: {len(a)} rows, {100 * np.mean(a.y > 0):.1f} % positive; tested on {len(b)} "
            "rows\n"
        )
        show(["trained for", "C", "iterations", *COLUMNS], quality(a, b))
    if options.time:
        examples = read_examples(options.time, threads=2)
        print(
            f"{options.time}: {len(examples)} rows, -c {options.c:g}, epsilon 0.1, cutting "
            "planes, one thread\n"
        )
        show(
            ["loss", "seconds", "iterations", "ratio to error-rate"],
            cost(examples, options.c, options.rounds),
        )


if __name__ == "__main__":
    main()
