# SPDX-License-Identifier: BSD-3-Clause
"""benchmarks/linear.py runs, and its evaluator agrees with what svmcut reports."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_evaluator_agrees_with_the_report(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from objective import Evaluator, read_liblinear, read_svm_light

    from svmcut.cli.main import main

    train, model, report = ROOT / "data" / "wine.train", tmp_path / "model", tmp_path / "report"
    assert main(["learn", "--example-cost", "2", "-v", "0", "--report", str(report), str(train), str(model)]) == 0
    weights, bias = read_svm_light(model)
    evaluate = Evaluator(train)
    primal = json.loads(report.read_text())["primal"]
    assert evaluate(weights, bias, 2.0) == pytest.approx(primal, rel=1e-6)
    values = "".join(f"{-value:.17g} \n" for value in [*weights, bias])
    model.write_text(f"solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 2\nlabel -1 1\nnr_feature 13\nbias 1\nw\n{values}")
    assert evaluate(*read_liblinear(model), 2.0) == pytest.approx(primal, rel=1e-6)


def test_linear_benchmark_prints_a_table(tmp_path):
    program = [sys.executable, str(ROOT / "benchmarks" / "linear.py"), str(ROOT / "data" / "wine.train")]
    options = ["--rounds", "1", "--solver", "auto", "--gap", "0.001", "--no-sklearn", "--markdown"]
    done = subprocess.run([*program, *options], capture_output=True, text=True, cwd=tmp_path, timeout=100)
    assert done.returncode == 0, done.stderr
    head, rule, first, *_ = done.stdout.splitlines()
    assert head.startswith("| set | C | program |")
    assert head.count("|") == rule.count("|") == first.count("|")
    assert first.startswith("| wine.train | 1 | svmcut auto --gap 0.001 | 1 |")


def test_budget_benchmark_prints_curves_rates_and_seeds_on_generated_rows(tmp_path):
    for name in ("cod_rna", "susy"):
        program = [sys.executable, str(ROOT / "benchmarks" / f"make_{name}_like.py")]
        for seed in ("1", "2"):
            done = subprocess.run([*program, "--rows", "300", "--seed", seed, str(tmp_path / (name + seed))])
            assert done.returncode == 0
    sets = [f"{name}={tmp_path / name}1,{tmp_path / name}2:4:0.1" for name in ("cod_rna", "susy")]
    program = [sys.executable, str(ROOT / "benchmarks" / "budget.py"), *sets, "-B", "20"]
    for extra, lines, words in (
        (("--epochs", "2"), 18, "| bsca, polished | 20 | 2 |"),
        (("--epochs", "2", "--seeds", "2"), 10, "| bsgd | 20 |"),
        (("--rates", "10"), 4, "bsgd: Lemma 2"),
    ):
        done = subprocess.run([*program, *extra], capture_output=True, text=True, cwd=tmp_path, timeout=100)
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) == lines and words in done.stdout
