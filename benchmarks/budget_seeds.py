# SPDX-License-Identifier: BSD-3-Clause
"""What does a budget cost and save on all rows, over several seeds, beside smo? Errors, and CPU
seconds of one thread.

    python benchmarks/budget_seeds.py record CSV NAME=TRAIN,TEST:COST:GAMMA ... [-B 50 200 500]
    [--seeds 3] python benchmarks/budget_seeds.py draw docs/plots/budget-seeds.svg CSV

"record" writes the test error after every epoch of bsca and bsgd, that of the whole training with
its polish, and smo's, which has no bias either. "draw" prints a table and draws medians over the
seeds with their ranges: errors over CPU seconds at the budget in the middle, and over the budget.
Figures 5 and 6 of Qaadan, Schueler and Glasmachers, Dual SVM training on a budget, 2018. COST is
the weight of one example.
"""

from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from arguments import make_recorder, read_record
from budget import Case, curve, polished

from svmcut.spec.parameters import Settings
from svmcut.training.driver import make_driver

SOLVERS = ("bsca", "bsgd")


class Model(NamedTuple):
    """A state after an epoch with the seconds of its steps; epoch 0: the whole training, polish
    included."""

    set: str
    solver: str
    budget: int
    seed: int
    epoch: float
    seconds: float
    error: float


def record(given) -> None:
    """All runs, a line as soon as a model is known."""
    with given.target.open("w", newline="", encoding="ascii") as stream:
        out = csv.writer(stream, lineterminator="\n")
        out.writerow(Model._fields)

        def put(*values) -> None:
            out.writerow(
                [f"{value:.5g}" if isinstance(value, float) else value for value in values]
            )
            stream.flush()

        for text in given.sets:
            case = Case(text, None, 1)
            own = {
                "kernel": "rbf",
                "gamma": case.kernel.gamma,
                "solver": "smo",
                "free_bias": False,
                "threads": 1,
            }
            began = time.process_time()
            exact = (
                make_driver(Settings(example_cost=case.C, **own), case.train)
                .fit(None, case.C)
                .model
            )
            put(
                case.name, "smo", 0, 0, 0.0, time.process_time() - began, 100 - case.accuracy(exact)
            )
            for seed in range(given.seeds):
                for budget in given.budgets:
                    for solver in SOLVERS:
                        for row in curve(case, solver, budget, given.epochs, seed, whole=False):
                            put(
                                case.name,
                                solver,
                                budget,
                                seed,
                                row["epoch"],
                                row["seconds"],
                                100 - row["accuracy"],
                            )
                        cpu, _, accuracy, *_ = polished(case, solver, budget, given.epochs, seed)
                        put(case.name, solver, budget, seed, 0.0, cpu, 100 - accuracy)


def read(path: Path) -> list[Model]:
    """The rows that `record` wrote."""
    lines = read_record(path, Model._fields, "budget_seeds.py")
    return [
        Model(line[0], line[1], int(line[2]), int(line[3]), *map(float, line[4:])) for line in lines
    ]


def spread(values) -> str:
    """Least, median and most."""
    return " | ".join(f"{how(values):.2f}" for how in (np.min, np.median, np.max))


def band(axis, x, values, style: dict) -> None:
    """Medians as a line, ranges as a shade."""
    axis.plot(x, [np.median(value) for value in values], **style)
    axis.fill_between(
        x, *zip(*((min(v), max(v)) for v in values)), color=style["color"], alpha=0.2, linewidth=0
    )


def draw(given) -> None:
    """Prints the table and draws the figure."""
    from style import BLACK, legend, look, panels, save

    rows = read(given.file)
    sets = list(dict.fromkeys(row.set for row in rows))
    figure, axes = panels(len(sets), 2)
    print(
        "| set | trainer | B | steps, CPU s | last state: least | median | most | in all, CPU s "
        "| to smo | polished: "
        "least | median | most |\n|---|---|" + "---:|" * 10
    )
    for (times, sizes), name in zip(axes, sets, strict=True):
        own = [row for row in rows if row.set == name]
        exact, *_ = (row for row in own if row.solver == "smo")
        known = sorted({row.budget for row in own} - {0})
        middle = known[len(known) // 2]
        print(f"| {name} | smo | | | | | | {exact.seconds:.2f} | 1 | | {exact.error:.2f} | |")
        for solver in SOLVERS:
            runs = {
                budget: [row for row in own if (row.solver, row.budget) == (solver, budget)]
                for budget in known
            }
            last = max(row.epoch for row in own)
            states = [[row.error for row in run if row.epoch == last] for run in runs.values()]
            final = [[row.error for row in run if row.epoch == 0] for run in runs.values()]
            for budget, state, error in zip(known, states, final):
                steps, whole = (
                    np.median([row.seconds for row in runs[budget] if row.epoch == at])
                    for at in (last, 0)
                )
                print(
                    f"| {name} | {solver} | {budget} | {steps:.2f} | {spread(state)} | "
                    f"{whole:.2f} | "
                    f"{whole / exact.seconds:.2f} | {spread(error)} |"
                )
            epochs = sorted({row.epoch for row in runs[middle]} - {0})
            at = [[row for row in runs[middle] if row.epoch == epoch] for epoch in epochs]
            unpolished = look(f"{solver}, states", marker="", linestyle="--")
            polish = look(f"{solver}, polished")
            band(
                times,
                [np.median([r.seconds for r in run]) for run in at],
                [[row.error for row in run] for run in at],
                unpolished,
            )
            whole = [row.seconds for row in runs[middle] if row.epoch == 0]
            times.plot(
                np.median(whole),
                np.median(final[known.index(middle)]),
                **polish | {"linestyle": "none"},
            )
            band(sizes, known, states, unpolished)
            band(sizes, known, final, polish)
        times.plot(exact.seconds, exact.error, **look("smo", linestyle="none"))
        sizes.axhline(exact.error, color=BLACK, linewidth=0.8)
        axes_of = {"ylabel": "test error, %", "xscale": "log", "yscale": "log"}
        times.set(title=f"{name}, B = {middle}", xlabel="CPU seconds", **axes_of)
        sizes.set(title=name, xlabel="budget", **axes_of)
    legend(figure)
    save(figure, given.target)


def main() -> None:
    """Records or draws."""
    parser, command = make_recorder(__doc__)
    command.add_argument("sets", nargs="+", metavar="NAME=TRAIN,TEST:COST:GAMMA")
    command.add_argument("-B", "--budgets", type=int, nargs="+", default=[50, 200, 500])
    command.add_argument("--epochs", type=int, default=10)
    command.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    {"record": record, "draw": draw}[given.what](given)


if __name__ == "__main__":
    main()
