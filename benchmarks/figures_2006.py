#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Figures of KDD 2006 ("Training Linear SVMs in Linear Time"): Algorithm 1 as printed beside the line search.

    python benchmarks/figures_2006.py iterations a9a.gz                  Figure 4: cuts over C, with the exponents
    python benchmarks/figures_2006.py examples a9a.gz rcv1.gz            Figures 3 and 9: seconds and cuts over n
    python benchmarks/figures_2006.py tolerance a9a.gz                   Figure 6, 7: seconds, cuts and gap over epsilon
    python benchmarks/figures_2006.py ordinal --rows 10000               hinge and pairs of two grades as printed

C weighs one example (svm_perf's is n C / 100, kept where n varies), epsilon is in percent points, 0.1 where not varied.
CPU seconds of training, rows in memory, one thread; `--csv FILE` writes the points for a plot.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time

import numpy as np

from svmcut.data import Csr, Examples, Source
from svmcut.files.examples import read_examples
from svmcut.parameters import Settings
from svmcut.training.driver import make_driver

WAYS = {"as printed": False, "line search": True}
HEAD = ("set", "n", "C", "epsilon", "algorithm", "cuts", "CPU s", "relative gap")


def train(data: Examples, line_search: bool, seconds: float, **options):
    """(cuts, CPU seconds, relative gap, whether the target was met) of cutting planes."""
    settings = Settings(
        solver="cutting-plane", threads=1, line_search=line_search, time_limit=seconds, bias=0.0, **options
    )
    driver = make_driver(settings, data)
    began = time.process_time()
    outcome = driver.fit(settings.cost, settings.example_cost)
    spent = time.process_time() - began
    return outcome.progress.iteration, spent, outcome.gap / outcome.primal, outcome.converged


def sample(data: Examples, n: int) -> Examples:
    """n rows of the data, drawn by seed 0."""
    keep = np.zeros(len(data), bool)
    keep[np.random.default_rng(0).permutation(len(data))[:n]] = True
    return data.take(keep)


def exponent(x, y) -> float:
    """b of y = a x^b, by least squares of the logarithms."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0]) if len(x) > 1 else float("nan")


class Table:
    """Rows as they come, kept for the exponents and the file."""

    def __init__(self, path: str | None):
        self.rows: list[tuple] = []
        self._path = path
        print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}", flush=True)

    def run(self, name: str, data: Examples, C: float, epsilon: float, seconds: float, ways=WAYS) -> None:
        for way in ways:
            cuts, spent, gap, met = train(data, WAYS[way], seconds, example_cost=C, epsilon=epsilon)
            self.rows.append((name, len(data), C, epsilon, way, cuts, spent, gap))
            end = "" if met else " (time limit)"
            print(f"| {name} | {len(data):,} | {C:g} | {epsilon:g} | {way} | {cuts}{end} | {spent:.2f} | {gap:.1e} |",
                  flush=True)  # fmt: skip

    def close(self, column: int) -> None:
        """Prints exponents of cuts and seconds over a column, and writes the file."""
        for name in dict.fromkeys(row[0] for row in self.rows):
            for way in WAYS:
                own = [row for row in self.rows if (row[0], row[4]) == (name, way)]
                x = [row[column] for row in own]
                cuts, spent = (exponent(x, [row[k] for row in own]) for k in (5, 6))
                over = HEAD[column]
                print(f"{name}, {way}: cuts grow as {over}^{cuts:.2f}, CPU seconds as {over}^{spent:.2f}")
        if self._path:
            with open(self._path, "w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows([HEAD, *self.rows])


def ordinal(n: int, seconds: float) -> None:
    """Two grades without queries: the pairs' loss and the hinge, as printed and with the line search."""
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
            cuts, spent, _, met = train(data, line_search, seconds, task=task, **options)
            loss, end = options.get("loss", "error-rate"), "" if met else " (time limit)"
            print(f"| {loss} | {way} | {cuts}{end} | {spent:.2f} | {1e3 * spent / cuts:.2f} |", flush=True)


def main() -> None:
    """Reads the command line and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", choices=("iterations", "examples", "tolerance", "ordinal"))
    parser.add_argument("files", nargs="*")
    parser.add_argument("--example-cost", type=float, default=0.1)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of a run")
    parser.add_argument("--csv")
    options = parser.parse_args()
    if options.figure == "ordinal":
        ordinal(options.rows, options.seconds)
        return
    if not options.files:
        sys.exit("figures_2006.py: FILE is missing")
    table = Table(options.csv)
    for path in options.files:
        data, name = read_examples(path), path.rpartition("/")[2].partition(".")[0]
        if options.figure == "iterations":
            for C in (0.001, 0.003, 0.01, 0.03, 0.1, 0.3):
                table.run(name, data, C, 0.1, options.seconds)
        elif options.figure == "examples":
            for part in (32, 16, 8, 4, 2, 1):
                table.run(name, sample(data, len(data) // part), options.example_cost * part, 0.1, options.seconds)
        else:
            for epsilon in (10.0, 3.0, 1.0, 0.3, 0.1, 0.03):
                table.run(name, data, options.example_cost, epsilon, options.seconds)
    table.close({"iterations": 2, "examples": 1, "tolerance": 3}[options.figure])


if __name__ == "__main__":
    main()
