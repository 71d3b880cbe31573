#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A stalled optimiser beside a certified one: LinearSVC's hinge loss on rows made after issue 22283 of scikit-learn.

1,000 rows of 500 normal features, labels by a linear rule, C = 0.1, no bias. Prints the objective of LinearSVC by
tolerance, iterations and seed beside svmcut's objective and bound; --write puts them into docs/plots/curves.
"""  # noqa: E501

from __future__ import annotations

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.svm import LinearSVC

import svmcut

COST = 0.1
TARGET = Path(__file__).resolve().parent.parent / "docs" / "plots" / "curves" / "issue-22283.csv"
FIELDS = ("trainer", "tolerance", "iterations", "seed", "objective", "bound", "seconds")


def problem() -> tuple[np.ndarray, np.ndarray]:
    """X, (1000, 500) of numbers that float32 holds, as svmcut does, and y, -1 and 1."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 500)).astype(np.float32).astype(np.float64)
    return X, np.sign(X @ rng.standard_normal(500))


def objective(X: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    return float(w @ w / 2 + COST * np.maximum(0, 1 - y * (X @ w)).sum())


def linear_svc(X, y, tolerance: float, iterations: int, seed: int) -> float:
    """The objective LinearSVC ends at; it warns, and is not heeded here."""
    machine = LinearSVC(
        C=COST, loss="hinge", fit_intercept=False, tol=tolerance, max_iter=iterations,
        random_state=seed,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return objective(X, y, machine.fit(X, y).coef_.ravel())


def certified(X, y, tolerance: float) -> tuple[float, float]:
    """svmcut's objective, evaluated as LinearSVC's is, and its lower bound of every objective."""
    machine = svmcut.LinearSVM(C=COST, fit_intercept=False, tol=tolerance, random_state=0).fit(X, y)
    return objective(X, y, machine.coef_.ravel()), float(machine.dual_[0])


def runs(long: bool):
    """Rows of the table."""
    X, y = problem()
    began = time.process_time()
    yield "svmcut", 1e-8, "", 0, *certified(X, y, 1e-8), time.process_time() - began
    jobs = [(1e-12, 1000, seed) for seed in range(10)] + [(1e-4, 1000, 0)]
    jobs += [(1e-12, 100_000, seed) for seed in range(2)] if long else []
    for tolerance, iterations, seed in jobs:
        began = time.process_time()
        value = linear_svc(X, y, tolerance, iterations, seed)
        seconds = time.process_time() - began
        yield "LinearSVC", tolerance, iterations, seed, value, "", seconds


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"into {TARGET.name}")
    parser.add_argument("--short", action="store_true", help="without 100,000 iterations")
    arguments = parser.parse_args()
    table = [FIELDS, *runs(not arguments.short)]
    for row in table:
        print(*row, sep="\t")
    if arguments.write:
        with TARGET.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(table)
