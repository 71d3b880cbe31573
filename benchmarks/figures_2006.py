#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Figures and Table 1 of KDD 2006 ("Training Linear SVMs in Linear Time"): as printed beside the
line search.

    python benchmarks/figures_2006.py record sweeps.csv adult=a9a.gz,a9a.t.gz ...     Figures 1 to 9
    python benchmarks/figures_2006.py draw C docs/plots/kdd2006-cost.svg sweeps.csv python
    benchmarks/figures_2006.py draw epsilon docs/plots/kdd2006-epsilon.svg sweeps.csv python
    benchmarks/figures_2006.py draw n docs/plots/kdd2006-rows.svg sweeps.csv python
    benchmarks/figures_2006.py times adult=a9a.gz:20000 ... --rows 10000       Table 1 python
    benchmarks/figures_2006.py ordinal --rows 10000                            hinge and pairs of
    two grades

C and epsilon are the paper's: C weighs the mean loss, which is a fraction (svm_perf's -c is a
hundredth of C, its -e a hundred times epsilon). "record" counts CPU seconds of training, rows in
memory, one thread, and compares with the optimum to a relative gap of 1e-5; runs that reach
--seconds by the clock are left out. "times" takes whole processes and ends them at --seconds of CPU
time.
"""

from __future__ import annotations

import csv
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from arguments import make_parser
from kernel import plain
from plots import PERCENT, exponent, part, sizes, write
from timing import time_process

from svmcut.data.examples import Csr, Examples, Source
from svmcut.files.examples import read_examples
from svmcut.spec.parameters import Settings
from svmcut.training.driver import make_driver

WAYS = {"as printed": False, "line search": True}
COSTS = (100.0, 300.0, 1000.0, 3000.0, 10_000.0, 30_000.0, 100_000.0)
EPSILONS = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)
COST, EPSILON = 10_000.0, 0.001  # where they are not varied
#: Quantities of a figure, from above.
SHOWN = {
    "cuts": "cuts",
    "seconds": "CPU seconds",
    "below": "below the optimum, part",
    "accuracy": "accuracy, points off",
}


class Sweep(NamedTuple):
    """A training while C, epsilon or n varies.

    below is how far the objective over the working set, a lower bound, stays under the optimum, as
    a part of it; accuracy of the test rows less that of the optimum (C varies) or of the same
    trainer at epsilon 0.001, in points. Both are nan where n varies.
    """

    set: str
    way: str
    varied: str
    x: float
    cuts: float
    seconds: float
    below: float
    accuracy: float


def fitted(data: Examples, **options):
    """(outcome, CPU seconds) of a training."""
    settings = Settings(threads=1, **options)
    driver = make_driver(settings, data)
    began = time.process_time()
    return driver.fit(settings.cost, settings.example_cost), time.process_time() - began


def accuracy(outcome, test: Examples) -> float:
    """Percent of the test rows on their side."""
    return PERCENT * float(np.mean((outcome.model.scores(test.X) > 0) == (test.y > 0)))


def sweeps(name: str, train: Examples, test: Examples, seconds: float) -> Iterator[Sweep]:
    """Every point of a set, in both ways."""

    def run(way, C, epsilon, data=train):
        return fitted(
            data,
            cost=C / PERCENT,
            epsilon=PERCENT * epsilon,
            solver="cutting-plane",
            line_search=WAYS[way],
            time_limit=seconds,
        )

    best = {
        C: fitted(train, cost=C / PERCENT, gap=1e-5, time_limit=seconds)[0] for C in {*COSTS, COST}
    }
    for way in WAYS:
        usual = accuracy(run(way, COST, EPSILON)[0], test)
        for varied, values in (("C", COSTS), ("epsilon", EPSILONS)):
            for x in values:
                C, epsilon = (x, EPSILON) if varied == "C" else (COST, x)
                outcome, spent = run(way, C, epsilon)
                optimum, bound = best[C].primal, outcome.primal - outcome.gap
                reference = accuracy(best[C], test) if varied == "C" else usual
                if outcome.converged:
                    yield Sweep(
                        name,
                        way,
                        varied,
                        x,
                        outcome.progress.iteration,
                        spent,
                        max(optimum - bound, 0.0) / optimum,
                        accuracy(outcome, test) - reference,
                    )
        for n in sizes(len(train)):
            outcome, spent = run(way, COST, EPSILON, part(train, n))
            if outcome.converged:
                yield Sweep(name, way, "n", n, outcome.progress.iteration, spent, np.nan, np.nan)


def read(path: Path) -> list[Sweep]:
    """The rows of a file that "record" wrote."""
    with path.open(newline="", encoding="utf-8") as stream:
        return [Sweep(*line[:3], *map(float, line[3:])) for line in list(csv.reader(stream))[1:]]


def draw(varied: str, target: Path, path: Path) -> None:
    """A column a way, quantities below each other; prints the numbers."""
    from style import look, panels, save

    rows = [row for row in read(path) if row.varied == varied]
    sets = list(dict.fromkeys(row.set for row in rows))
    shown = list(SHOWN)[: 2 if varied == "n" else None]
    figure, axes = panels(len(shown), len(WAYS), sharex="col", sharey="row")
    print(
        f"| set | algorithm | {varied} | {' | '.join(SHOWN)} "
        f"|\n|---|---|---:|{'---:|' * len(SHOWN)}"
    )
    for column, way in zip(axes.T, WAYS, strict=True):
        for name in sets:
            line = [row for row in rows if (row.set, row.way) == (name, way)]
            x = [row.x for row in line]
            for row in line:
                print(
                    f"| {name} | {way} | {row.x:g} | {row.cuts:.0f} | {row.seconds:.2f} | "
                    f"{row.below:.1e} | "
                    f"{row.accuracy:+.2f} |"
                )
            for axis, field in zip(column, shown, strict=True):
                values = [getattr(row, field) for row in line]
                if field == "accuracy":
                    axis.semilogx(x, values, **look(name))
                    continue
                sign = f"{name}: {varied}^{exponent(x, values):.2f}"
                axis.loglog(x, values, **look(name, label=sign if field != "below" else name))
        column[0].set_title("Algorithm 1 " + way if way == "as printed" else "with the " + way)
        for axis in column:
            axis.margins(y=0.25)
        for axis in column[:2]:
            axis.legend(fontsize=7, handlelength=1.2)
        column[-1].set_xlabel(
            "n, training rows" if varied == "n" else f"{varied}, of the mean loss"
        )
    for axis, field in zip(axes[:, 0], shown, strict=True):
        axis.set_ylabel(SHOWN[field])
    save(figure, target)


def cut(path: Path, rows: int, target: Path) -> Path:
    """rows of a file, drawn by seed 0, in their order; the file itself where it has no more."""
    lines = path.read_text().splitlines(keepends=True)
    if len(lines) <= rows:
        return path
    keep = np.sort(np.random.default_rng(0).permutation(len(lines))[:rows])
    target.write_text("".join(lines[k] for k in keep))
    return target


def times(texts: list[str], rows: int, seconds: float) -> None:
    """Table 1: CPU seconds of whole processes on all rows, and on some of them beside svm-train's
    decomposition."""
    print(
        "| set | n | N | s, % | C | svm_perf_learn | as printed | ordinal | auto | n | "
        "svm_perf_learn | svm-train |"
    )
    print(f"|---|{'---:|' * 11}")
    programs = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)

        def spent(*words) -> str:
            limited = ["prlimit", f"--cpu={seconds:.0f}", *map(str, words)]
            cpu = time_process(limited, statuses=(0, -signal.SIGXCPU, -signal.SIGKILL)).cpu
            return f"{cpu:.2f}" if cpu < seconds - 1 else f"above {seconds:g}"

        for text in texts:
            name, _, rest = text.partition("=")
            source, _, C = rest.rpartition(":")
            file = Path(plain(source, folder))
            examples, model, c = read_examples(str(file)), folder / "model", float(C) / PERCENT
            n, some = len(examples), cut(file, rows, folder / "some")
            few = min(n, rows)
            perf, svmcut = (
                (programs / "svm_perf_learn", "-c", c, "-e", 0.1),
                (programs / "svmcut", "learn", "-v", 0),
            )
            cells = [
                spent(*perf, file, model),
                spent(
                    *(*svmcut, "--solver", "cutting-plane", "--no-line-search", "-c", c, "-e", 0.1),
                    *(file, model),
                ),
                spent(*perf, "-l", 10, "-w", 3, file, model),
                spent(*svmcut, "-c", c, "-e", 0.1, file, model),
                f"{few:,}",
                spent(*perf, some, model),
                spent("svm-train", "-t", 0, "-c", float(C) / few, some, model),
            ]
            filled = PERCENT * examples.X.nnz / n / examples.X.n_features
            print(
                f"| {name} | {n:,} | {examples.X.n_features:,} | {filled:.2f} | {float(C):,.0f} | "
                f"{' | '.join(cells)} |",
                flush=True,
            )


def ordinal(n: int, seconds: float) -> None:
    """Two grades without queries: the pairs' loss and the hinge, as printed and with the line
    search."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 40)).astype(np.float32)
    y = np.where(X @ rng.normal(size=40) + 2 * rng.normal(size=n) > 0, 1.0, -1.0)
    data = Examples(Csr.from_dense(X), y, None, None, Source("generated"))
    print("| loss | algorithm | cuts | CPU s | CPU ms a cut |\n|---|---|---|---|---|")
    for task, options in (
        ("classification", {"example_cost": 1.0, "epsilon": 0.1}),
        ("rank", {"loss": "pairs", "cost": float(n), "epsilon": 0.001}),
    ):
        for way, line_search in WAYS.items():
            outcome, spent = fitted(
                data,
                task=task,
                solver="cutting-plane",
                line_search=line_search,
                time_limit=seconds,
                **options,
            )
            cuts, end = outcome.progress.iteration, "" if outcome.converged else " (time limit)"
            loss = options.get("loss", "error-rate")
            print(
                f"| {loss} | {way} | {cuts}{end} | {spent:.2f} | {1e3 * spent / cuts:.2f} |",
                flush=True,
            )


def main() -> None:
    """Reads the command line and records, draws or prints."""
    parser = make_parser(__doc__)
    commands = parser.add_subparsers(dest="what", required=True)
    command = commands.add_parser("record")
    command.add_argument("target", type=Path, metavar="CSV")
    command.add_argument("sets", nargs="+", metavar="NAME=TRAIN,TEST")
    command = commands.add_parser("draw")
    command.add_argument("varied", choices=("C", "epsilon", "n"))
    command.add_argument("target", type=Path, metavar="FIGURE", help="an .svg file")
    command.add_argument("file", type=Path, metavar="CSV")
    command = commands.add_parser("times")
    command.add_argument("sets", nargs="+", metavar="NAME=FILE:C")
    command.add_argument("--rows", type=int, default=10_000, help="beside svm-train")
    command = commands.add_parser("ordinal")
    command.add_argument("--rows", type=int, default=10_000)
    for name in ("record", "times", "ordinal"):
        commands.choices[name].add_argument(
            "--seconds", type=float, default=300.0, help="limit of a run"
        )
    given = parser.parse_args()
    if given.what == "record":
        files = [
            (text.partition("=")[0], *text.partition("=")[2].split(",")) for text in given.sets
        ]
        sets = ((name, read_examples(train), read_examples(test)) for name, train, test in files)
        write(given.target, (row for each in sets for row in sweeps(*each, given.seconds)))
    elif given.what == "draw":
        draw(given.varied, given.target, given.file)
    elif given.what == "times":
        times(given.sets, given.rows, given.seconds)
    else:
        ordinal(given.rows, given.seconds)


if __name__ == "__main__":
    main()
