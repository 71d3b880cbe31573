# SPDX-License-Identifier: BSD-3-Clause
"""What README says of a stalled optimiser beside a certified one is what they do."""

import csv
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8").split("## Why a certificate\n")[1]
spec = importlib.util.spec_from_file_location("stalled", ROOT / "benchmarks" / "issue_22283.py")
stalled = importlib.util.module_from_spec(spec)
spec.loader.exec_module(stalled)


def told(row):
    """The number in the second column of a row of README's table."""
    return float(re.search(rf"^\| {re.escape(row)} \| ([\d.]+)", README, re.MULTILINE)[1])


def test_linear_svc_stops_above_a_bound_that_svmcut_meets():
    X, y = stalled.problem()
    objective, bound = stalled.certified(X, y, 1e-8)
    assert objective == pytest.approx(told("svmcut, `tol=1e-8`"), abs=5e-7)
    assert 0 <= objective - bound <= 2.5e-8
    low = told("LinearSVC, `tol=1e-12`, 1,000 iterations, ten seeds")
    assert stalled.linear_svc(X, y, 1e-12, 1000, 3) == pytest.approx(low, abs=1e-4)
    assert low > 1.0005 * bound


@pytest.mark.slow
def test_more_iterations_do_not_help_linear_svc():
    X, y = stalled.problem()
    short, long = (stalled.linear_svc(X, y, 1e-12, n, 0) for n in (1000, 100_000))
    assert long == pytest.approx(short, abs=1e-6)
    row = "the same, 100,000 iterations, first seed"
    assert long == pytest.approx(told(row), abs=1e-4)


def test_the_table_is_that_of_the_recorded_runs():
    with stalled.TARGET.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    seeds = [
        float(row["objective"])
        for row in rows
        if row["trainer"] == "LinearSVC"
        and row["tolerance"] == "1e-12"
        and row["iterations"] == "1000"
    ]
    low, high = re.search(r"([\d.]+) to ([\d.]+) \| [\d.]+ to [\d.]+ %", README).groups()
    assert (f"{min(seeds):.4f}", f"{max(seeds):.4f}", len(seeds)) == (low, high, 10)
    assert float(rows[0]["objective"]) - float(rows[0]["bound"]) <= 2.1e-8
