# SPDX-License-Identifier: BSD-3-Clause
"""How do sampled cuts grow with n and r, and what do they buy beside exact trainers and a subspace?

    python benchmarks/sampled_cuts.py -n 5000 20000 -g 8 python benchmarks/sampled_cuts.py --train
    FILE --test FILE -g 0.0078125 --example-cost 1 -r 100 400 python benchmarks/sampled_cuts.py
    --growth -n 1000 10000 100000 -g 8 -c 100

The first form makes checkerboards (make_checkers.py; 5 % of the training labels are flipped, none
of the 20,000 of the test); the second takes files. All minimise 1/2 |f|^2 + C sum_i max(0, 1 - y_i
f(x_i)) without bias, with C per example or, by -c, 100 c / n; svm-train (LIBSVM, with its bias)
runs too where it is installed and --peers is given. Whole processes, CPU seconds of user and
system, one run each. The objective is the one svmcut reports; the error is on the test file. The
third form trains without polish and certificate on growing boards and fits the exponents.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import make_checkers
from arguments import SVMCUT, make_parser
from kernel import timed
from plots import exponent

HEAD = (
    "data",
    "trainer",
    "CPU s",
    "primal",
    "relative gap",
    "cuts",
    "points",
    "kernel values",
    "test error %",
)
TEST_ROWS = 20_000


class Run(NamedTuple):
    """One training and what its model is worth; None where a trainer does not say."""

    seconds: float
    primal: float | None
    gap: float | None
    cuts: int | None
    iterations: int | None
    points: int
    values: float | None
    error: float
    train_error: float

    def cells(self) -> tuple:
        """As HEAD has them, from the seconds on."""
        primal, gap, values = (
            "-" if value is None else format(value, form)
            for value, form in ((self.primal, ".6g"), (self.gap, ".1e"), (self.values, ".1e"))
        )
        return (
            f"{self.seconds:.1f}",
            primal,
            gap,
            self.cuts or "-",
            self.points,
            values,
            f"{self.error:.2f}",
        )


def run_svmcut(options, folder: Path, train: Path, test: Path, solver: str, *extra) -> Run:
    """One training by svmcut learn."""
    report, model = folder / "report.json", folder / "model"
    cost = (
        ("--example-cost", options.example_cost) if options.cost is None else ("-c", options.cost)
    )
    _, seconds, _ = timed(
        [
            *(SVMCUT, "learn", *cost, "-t", 2, "-g", options.gamma, "--solver", solver, "-v", 0),
            *("--seed", options.seed, "--threads", options.threads, "--report", report, *extra),
            *(train, model),
        ]
    )
    run = json.loads(report.read_text())
    errors = []
    for path in (test, train):
        timed([SVMCUT, "classify", "-v", 0, "--report", report, path, model, folder / "scores"])
        errors.append(json.loads(report.read_text())["error_rate"])
    cuts = run.get("sampled", run).get("cuts")
    return Run(
        seconds,
        run["primal"],
        run["relative_gap"],
        cuts,
        run["iterations"],
        run["support_vectors"],
        run["kernel_evaluations"],
        *errors,
    )


def run_libsvm(options, folder: Path, train: Path, test: Path, n: int) -> Run:
    """svm-train and svm-predict on the same files."""
    model, out = folder / "libsvm", folder / "out"
    cost = options.example_cost if options.cost is None else 100 * options.cost / n
    _, seconds, said = timed(["svm-train", "-c", cost, "-g", options.gamma, train, model])
    iterations = next(
        int(line.split("=")[1])
        for line in said.splitlines()
        if line.startswith("optimization finished")
    )
    errors = []
    for path in (test, train):
        said = timed(["svm-predict", path, model, out])[2]
        errors.append(100 - float(said.split()[2].rstrip("%")))
    points = next(
        line.split()[1] for line in model.read_text().splitlines() if line.startswith("total_sv")
    )
    return Run(seconds, None, None, None, iterations, int(points), None, *errors)


def trainers(options, n: int):
    """Name, solver and options of every row for n training rows."""
    yield "auto", "auto", ()
    if n <= options.exact:
        yield "smo", "smo", ("--no-free-bias",)
        yield "cutting-plane", "cutting-plane", ()
    yield f"subspace k={options.basis}", "subspace", ("--basis", options.basis)
    for r in options.r:
        for solver in options.solvers:
            yield f"{solver} r={r}", solver, ("--sample-size", r, "--no-polish")
            yield (
                f"{solver} r={r}, polished",
                solver,
                ("--sample-size", r, "--basis", options.basis),
            )


def data_sets(options, folder: Path):
    """(name, rows, train, test)"""
    if options.train:
        with open(options.train) as lines:
            yield (
                options.train.name,
                sum(1 for _ in lines),
                options.train,
                options.test or options.train,
            )
        return
    test = folder / "test"
    make_checkers.write(test, TEST_ROWS, 2, flip=0.0)
    for n in options.n:
        train = folder / f"train{n}"
        make_checkers.write(train, n, 1)
        yield f"checkers {n:,}", n, train, test


def growth(options, folder: Path) -> Iterator[tuple[str, int, Run]]:
    """(trainer, rows, run) of bare trainers, the exact ones up to --exact rows."""
    for _, n, train, test in data_sets(options, folder):
        for solver in options.solvers:
            extra = ("--no-certify",)
            if solver.endswith("cuts"):
                extra = ("--no-polish", "--no-certify", "--sample-size", options.r[0])
            if solver == "subspace":
                extra = ("--no-certify", "--basis", options.basis)
            if solver == "smo":
                extra = ("--no-free-bias",)
            if solver != "smo" or n <= options.exact:
                yield solver, n, run_svmcut(options, folder, train, test, solver, *extra)
        if options.peers and shutil.which("svm-train") and n <= options.exact:
            yield "svm-train", n, run_libsvm(options, folder, train, test, n)


def print_growth(options, folder: Path) -> None:
    """A line a trainer: its seconds on every board and their exponent."""
    found: dict[str, dict[int, Run]] = {}
    for trainer, n, run in growth(options, folder):
        found.setdefault(trainer, {})[n] = run
    print(
        "| trainer | "
        + " | ".join(f"{n:,}" for n in options.n)
        + " | exponent | iterations | test error % |"
    )
    print("|---|" + "---:|" * (len(options.n) + 1) + "---|---|")
    for trainer, runs in found.items():
        seconds = [f"{runs[n].seconds:.1f}" if n in runs else "-" for n in options.n]
        slope = exponent(list(runs), [run.seconds for run in runs.values()])
        iterations = ", ".join(str(run.iterations) for run in runs.values())
        errors = ", ".join(f"{run.error:.2f}" for run in runs.values())
        print(f"| {trainer} | {' | '.join(seconds)} | {slope:.2f} | {iterations} | {errors} |")


def arguments_of(parser: argparse.ArgumentParser) -> None:
    """The options that say what is trained, on which boards."""
    parser.add_argument("-n", type=int, nargs="+", default=[5000, 20_000])
    parser.add_argument("-r", type=int, nargs="+", default=[400])
    parser.add_argument("--solvers", nargs="+", default=["sampled-cuts", "constant-cuts"])
    parser.add_argument("--train", type=Path)
    parser.add_argument("--test", type=Path)
    cost = parser.add_mutually_exclusive_group()
    cost.add_argument("--example-cost", type=float, default=1.0)
    cost.add_argument(
        "-c", "--cost", type=float, help="of the mean loss in percent, as for svmcut learn"
    )
    parser.add_argument("-g", "--gamma", type=float, default=2.0)
    parser.add_argument("--basis", type=int, default=500)
    parser.add_argument(
        "--exact", type=int, default=20_000, help="rows up to which exact trainers run"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--peers", action="store_true", help="run svm-train where it is installed")


def main() -> None:
    parser = make_parser(__doc__)
    arguments_of(parser)
    parser.add_argument("--growth", action="store_true", help="the third form")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.growth:
            print_growth(options, folder)
            return
        print("| " + " | ".join(HEAD) + " |\n" + "|---" * len(HEAD) + "|")
        for data, n, train, test in data_sets(options, folder):
            for trainer, solver, extra in trainers(options, n):
                row = run_svmcut(options, folder, train, test, solver, *extra).cells()
                print("| " + " | ".join(map(str, (data, trainer, *row))) + " |", flush=True)
            if options.peers and shutil.which("svm-train") and n <= options.exact:
                row = run_libsvm(options, folder, train, test, n).cells()
                print("| " + " | ".join(map(str, (data, "svm-train", *row))) + " |", flush=True)


if __name__ == "__main__":
    main()
