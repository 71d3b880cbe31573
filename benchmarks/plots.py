# SPDX-License-Identifier: BSD-3-Clause
"""The curves of docs/benchmarks.md: time to a gap beside LIBLINEAR, and growth of training with n,
C and epsilon.

    python benchmarks/plots.py gap gap.csv -C 1 FILE ...
    python benchmarks/plots.py growth growth.csv FILE ...
    python benchmarks/plots.py draw docs/plots/gap.svg gap.csv

"gap" runs whole processes, from file to model: svmcut stops at the relative gaps 1e-2, 1e-3 and
1e-4, LIBLINEAR at its
-e 1 to 0.001; every point shows CPU seconds and how far the objective of the model is from the best
of the set.

"growth" trains in this process and shows what Figures 1, 5 and 8 of Joachims, Training linear SVMs
in linear time (KDD 2006), show: CPU seconds and iterations over the number of rows, iterations over
C and over epsilon, each with the exponent fitted to it. C and epsilon are the paper's: its loss is
a fraction where svm_perf counts percent.

"draw" makes a figure of such a file, prints its numbers as a table and runs nothing. matplotlib is
needed for it (extra `plot`), and liblinear-train for its curve.
"""

from __future__ import annotations

import csv
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from arguments import make_parser

from svmcut.data.examples import Examples
from svmcut.files.examples import read_examples
from svmcut.spec.parameters import Settings
from svmcut.training.driver import make_driver

GAPS = ("1e-2", "1e-3", "1e-4")
LIBLINEAR_EPSILONS = ("1", "0.1", "0.01", "0.001")
COST, EPSILON = 20_000.0, 0.001  # of the paper, where they are not varied
COSTS = tuple(10.0**k for k in np.arange(2, 6.1, 0.5))
EPSILONS = tuple(10.0**k for k in np.arange(-4, -0.9, 0.5))
PERCENT = 100.0


def train(examples: Examples, cost: float, epsilon: float, solver: str) -> tuple[float, int]:
    """CPU seconds and iterations at the paper's C and epsilon."""
    began = time.process_time()
    settings = Settings(cost=cost / PERCENT, epsilon=epsilon * PERCENT, solver=solver, threads=1)
    outcome = make_driver(settings, examples).fit(settings.cost, None)
    return time.process_time() - began, outcome.progress.iteration


def sizes(n: int) -> list[int]:
    """Up to six sizes, each a third of the next, from 100 on."""
    return [n // 3**k for k in range(5, 0, -1) if n // 3**k >= 100] + [n]


def part(examples: Examples, n: int) -> Examples:
    """n rows drawn at random, the same for every solver."""
    rows = np.sort(np.random.default_rng(0).permutation(len(examples))[:n])
    return Examples(examples.X.take(rows), examples.y[rows], None, None, examples.source)


def exponent(x, y) -> float:
    """Slope of the least-squares line in the logarithms; nan for one point."""
    if len(x) < 2:
        return float("nan")
    return float(np.polyfit(np.log(x), np.log(np.maximum(y, 1e-9)), 1)[0])


class Point(NamedTuple):
    """A point of a curve of growth: quantity over what was varied."""

    quantity: str
    varied: str
    set: str
    x: float
    y: float


class Run(NamedTuple):
    """A whole process: how far its objective is from the best of the set, and its own relative gap
    or nan."""

    set: str
    program: str
    seconds: float
    off_best: float
    gap: float


def growth(files: list[Path], solver: str) -> Iterator[Point]:
    """Every point of every curve."""
    for path in files:
        examples = read_examples(str(path))
        name = path.name.split(".")[0]
        for n in sizes(len(examples)):
            seconds, iterations = train(part(examples, n), COST, EPSILON, solver)
            yield Point("CPU s", "n", name, n, seconds)
            yield Point("iterations", "n", name, n, iterations)
        for cost in COSTS:
            yield Point("iterations", "C", name, cost, train(examples, cost, EPSILON, solver)[1])
        for epsilon in EPSILONS:
            yield Point(
                "iterations", "epsilon", name, epsilon, train(examples, COST, epsilon, solver)[1]
            )


def draw_growth(points: list[Point]):
    """One panel a quantity, one line a set; prints the exponents."""
    from style import look, two_wide

    titles = {
        "n": "n, training rows",
        "C": "C, of the mean loss",
        "epsilon": "epsilon, of the mean loss",
    }
    names = list(dict.fromkeys((point.quantity, point.varied) for point in points))
    figure, axes = two_wide(len(names))
    print("| curve | set | x | y | exponent |\n|---|---|---|---|---:|")
    for axis, (quantity, varied) in zip(axes, names, strict=True):
        for name in dict.fromkeys(point.set for point in points):
            line = [
                point
                for point in points
                if (point.quantity, point.varied, point.set) == (quantity, varied, name)
            ]
            x, y = [point.x for point in line], [point.y for point in line]
            slope = exponent(x, y)
            axis.loglog(x, y, **look(name, label=f"{name}: {varied}^{slope:.2f}"))
            print(f"| {quantity} of {varied} | {name} | {_cells(x)} | {_cells(y)} | {slope:.2f} |")
        axis.set(xlabel=titles[varied], ylabel={"CPU s": "CPU seconds"}.get(quantity, quantity))
        axis.margins(y=0.3)
        axis.legend(fontsize=7, handlelength=1.2)
    return figure


def _cells(values) -> str:
    return ", ".join(f"{value:.3g}" for value in values)


def gaps(files: list[Path], C: str, rounds: int) -> Iterator[Run]:
    """Every program and setting on every set."""
    from linear import contenders, measure, plain

    arguments = Namespace(
        solver=["auto", "cutting-plane"],
        gap=list(GAPS),
        threads=[1],
        liblinear_epsilon=list(LIBLINEAR_EPSILONS),
        no_sklearn=True,
        rounds=rounds,
        timeout=600,
    )
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            train_file = plain(path, Path(folder))
            for row in measure(
                path.name, train_file, C, list(contenders(arguments)), arguments, Path(folder)
            ):
                gap = float("nan") if row.gap is None else row.gap
                yield Run(path.name.split(".")[0], row.program, row.cpu, row.off_best, gap)


def draw_gaps(runs: list[Run]):
    """One panel a set: relative distance to the best objective over CPU seconds; prints the
    table."""
    from style import legend, look, two_wide

    names = list(dict.fromkeys(run.set for run in runs))
    figure, axes = two_wide(len(names))
    print("| set | program | CPU s | off best | gap |\n|---|---|---:|---:|---:|")
    for axis, name in zip(axes, names, strict=True):
        lines: dict[str, list[tuple[float, float]]] = {}
        for run in (run for run in runs if run.set == name):
            gap = "" if run.gap != run.gap else f"{run.gap:.1e}"
            print(f"| {name} | {run.program} | {run.seconds:.3f} | {run.off_best:.1e} | {gap} |")
            label = (
                "LIBLINEAR"
                if run.program.startswith("LIBLINEAR")
                else " ".join(run.program.split()[:2])
            )
            lines.setdefault(label, []).append((run.seconds, max(run.off_best, 1e-7)))
        for label, points in lines.items():
            axis.loglog(*zip(*points), **look(label))
        axis.set(title=name, xlabel="CPU seconds, file to model", ylabel="(P - best) / best")
    legend(figure)
    return figure


def write(path: Path, rows: Iterator[NamedTuple]) -> None:
    """A file of rows, each as soon as it is known."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        for number, row in enumerate(rows):
            if not number:
                writer.writerow(row._fields)
            writer.writerow(f"{value:.6g}" if isinstance(value, float) else value for value in row)
            stream.flush()


def draw(target: Path, path: Path) -> None:
    """The figure of a file, by what its rows are; its numbers go to standard output."""
    from style import save

    with path.open(newline="", encoding="utf-8") as stream:
        head, *lines = csv.reader(stream)
    if head == list(Point._fields):
        save(draw_growth([Point(*line[:3], *map(float, line[3:])) for line in lines]), target)
    else:
        save(draw_gaps([Run(*line[:2], *map(float, line[2:])) for line in lines]), target)


def main() -> None:
    parser = make_parser(__doc__)
    commands = parser.add_subparsers(dest="what", required=True)
    for name in ("gap", "growth"):
        command = commands.add_parser(name)
        command.add_argument("target", type=Path, metavar="CSV")
        command.add_argument("files", nargs="+", type=Path, metavar="FILE")
    commands.choices["gap"].add_argument("-C", default="1", help="weight of one example")
    commands.choices["gap"].add_argument(
        "--rounds", type=int, default=1, help="besides the warm-up"
    )
    commands.choices["growth"].add_argument("--solver", default="cutting-plane", help="which one")
    command = commands.add_parser("draw")
    command.add_argument("target", type=Path, metavar="FIGURE", help="an .svg file")
    command.add_argument("files", nargs=1, type=Path, metavar="CSV")
    options = parser.parse_args()
    if options.what == "draw":
        draw(options.target, options.files[0])
    elif options.what == "gap":
        write(options.target, gaps(options.files, options.C, options.rounds))
    else:
        write(options.target, growth(options.files, options.solver))


if __name__ == "__main__":
    main()
