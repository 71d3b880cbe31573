# SPDX-License-Identifier: BSD-3-Clause
"""Benchmarks run and print their tables, and the evaluator of linear.py agrees with what svmcut
reports."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from programs import BENCHMARKS, benchmark, script

ROOT = Path(__file__).resolve().parents[2]


def test_evaluator_agrees_with_the_report(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from objective import Evaluator, read_liblinear, read_svm_light

    from svmcut.cli.start import main

    train, model, report = ROOT / "data" / "wine.train", tmp_path / "model", tmp_path / "report"
    assert (
        main(
            [
                "learn",
                *("--example-cost", "2", "-v", "0", "--report", str(report), str(train)),
                str(model),
            ]
        )
        == 0
    )
    weights, bias = read_svm_light(model)
    evaluate = Evaluator(train)
    primal = json.loads(report.read_text())["primal"]
    assert evaluate(weights, bias, 2.0) == pytest.approx(primal, rel=1e-6)
    values = "".join(f"{-value:.17g} \n" for value in [*weights, bias])
    model.write_text(
        "solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 2\nlabel -1 1\nnr_feature 13\nbias "
        f"1\nw\n{values}"
    )
    assert evaluate(*read_liblinear(model), 2.0) == pytest.approx(primal, rel=1e-6)


def test_linear_benchmark_prints_a_table(tmp_path):
    options = ["--rounds", "1", "--solver", "auto", "--gap", "0.001", "--no-sklearn", "--markdown"]
    head, rule, first, *_ = benchmark(tmp_path, "linear.py", ROOT / "data" / "wine.train", *options)
    assert head.startswith("| set | C | program |")
    assert head.count("|") == rule.count("|") == first.count("|")
    assert first.startswith("| wine.train | 1 | svmcut auto --gap 0.001 | 1 |")


@pytest.mark.slow
def test_labels_benchmark_finds_equal_models_and_the_measures_of_scikit_learn(tmp_path):
    lines = benchmark(tmp_path, "labels.py")
    head, rule, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert len(head) == len(rule) == 10 and [row[0] for row in rows] == [
        "1/2",
        "0/1",
        "-1/+1",
        "+3/+7",
    ]
    assert all(row[7:] == ["yes", "yes", "same"] and row[1:7] == rows[0][1:7] for row in rows)


def test_ranking_measures_benchmark_prints_a_table(tmp_path):
    files = ",".join(str(ROOT / "data" / f"ranking.{part}") for part in ("train", "test"))
    lines = benchmark(tmp_path, "ranking_measures.py", "--grid", "30", "--gap", "0.01", files)
    rows = [line.split(" | ") for line in lines if line.startswith("| ")]
    assert [row[0] for row in rows[1:5]] == [
        "| swapped-pairs",
        "| swapped-fraction",
        "| map",
        "| ndcg",
    ]
    for row in rows[1:5]:
        assert all(0.9 < float(cell.split()[0]) < 1 for cell in row[1:3])  # at random some 0.6
        assert float(row[4].rstrip(" |")) <= 0.01


def test_budget_benchmark_prints_curves_rates_and_seeds_on_generated_rows(tmp_path):
    for name in ("cod_rna", "susy"):
        for seed in ("1", "2"):
            benchmark(
                tmp_path, f"make_{name}_like.py", "--rows", "300", "--seed", seed, name + seed
            )
    sets = [f"{name}={tmp_path / name}1,{tmp_path / name}2:4:0.1" for name in ("cod_rna", "susy")]
    for extra, lines, words in (
        (("--epochs", "2", "--curves", "states.csv"), 18, "| bsca, polished | 20 | 2 |"),
        (("--epochs", "2", "--seeds", "2"), 10, "| bsgd | 20 |"),
        (("--rates", "10"), 4, "bsgd: Lemma 2"),
    ):
        printed = benchmark(tmp_path, "budget.py", *sets, "-B", "20", *extra)
        assert len(printed) == lines and words in "\n".join(printed)
    head, *states = (tmp_path / "states.csv").read_text().splitlines()
    assert (
        head == "panel,curve,budget,epoch,primal,dual,accuracy,merging" and len(states) == 2 * 2 * 2
    )
    assert states[1].startswith("cod_rna,bsca,20,2,") and states[2].startswith("cod_rna,bsgd,20,1,")


LABELS, TAGS = (
    [str(ROOT / "data" / f"{name}.{part}") for part in ("train", "test")]
    for name in ("labels", "tags")
)
TABLES = {
    "sets of labels": (
        "multilabel.py",
        [*LABELS, "--example-cost", "0.1", "--gap", "0.05"],
        (
            "| gdmm | no |",
            "| gdmm | yes |",
            "| bcfw | yes |",
            "| cutting-plane | yes |",
            "| ssg | yes |",
        ),
    ),
    "sequences": (
        "sequences.py",
        [*TAGS, "--example-cost", "0.1", "--no-peers", "--quick"],
        ("| svmcut bcfw C=0.1 solver=bcfw epsilon=0.1 |", "| svmcut ssg C=0.1 quick=True seed=4 |"),
    ),
    "gaps of sequences": (
        "sequences.py",
        [*TAGS, "--objective", "--example-cost", "0.05"],
        ("| bcfw |", "| cutting-plane |", "| ssg |"),
    ),
    "svm_hmm's own job": (
        "sequences.py",
        [TAGS[0], "--own-job", "-e", "0.5", "--rounds", "1"],
        ("| svm_hmm_learn -c 150 -e 0.5 |",),
    ),
    "passes": (
        "many_tags.py",
        ["--tags", "5,70", "--sequences", "20", "--passes", "2"],
        ("| 5 |", "| 70 |"),
    ),
    "errors": (
        "many_tags.py",
        ["--tags", "5", "--sequences", "20", "--passes", "4", "--errors"],
        ("| gdmm | 4 |", "| bcfw | 2 |"),
    ),
    "tagging": (
        "tagging.py",
        ["--sizes", "40", "20", "--no-peers"],
        ("| sentences | svmcut --gap 0.05 C=0.1 |", "| sentences | svmcut --quick C=0.3 |"),
    ),
    "gaps": (
        "many_tags.py",
        ["--tags", "5", "--sequences", "20", "--limit", "0.5", "--gaps"],
        ("| 5 | gdmm |", "| 5 | bcfw |"),
    ),
}


@pytest.mark.every(4)
@pytest.mark.parametrize("name", TABLES)
def test_tables_of_structured_trainers(tmp_path, name):
    program, arguments, rows = TABLES[name]
    table = [line for line in benchmark(tmp_path, program, *arguments) if line.startswith("|")]
    assert all(any(line.startswith(row) for line in table) for row in rows), table
    assert len({line.count("|") for line in table}) == 1


def test_small_jobs_prints_a_row_for_every_job_beside_other_programs(tmp_path):
    other = tmp_path / "svm_perf_learn"
    other.write_text("#!/bin/sh\necho not today\nexit 4\n")
    other.chmod(0o755)
    done = script(
        BENCHMARKS / "small_jobs.py", "--rounds", 1, "--only", "-c 10$", "--beside", tmp_path
    )
    assert done.returncode == 0
    assert done.stderr == f"beside: {other} ended with status 4: not today\n"
    head, _, row = done.stdout.splitlines()
    assert head == "| job | CPU s | beside | ratio |"
    assert row.startswith("| 300 rows x 62,061, -c 10 | ") and row.endswith(" |  |  |")


@pytest.mark.slow
def test_starts_beside_the_interpreter(tmp_path):
    head, _, bare, *rows = benchmark(tmp_path, "small_jobs.py", "--starts", "--rounds", "1")
    assert head == "| start | CPU s | ratio |" and bare.endswith("| 1.00 |")
    assert [row.split(" | ")[0] for row in rows] == [
        "| svmcut learn",
        "| svm_perf_learn",
        "| svmcut classify",
        "| svm_perf_classify",
    ]


@pytest.mark.slow
def test_weights_beside_rows_repeated(tmp_path):
    lines = benchmark(
        tmp_path, "weights.py", "--least", "1", "--only", "classification linear (dual-cd|newton)"
    )
    head, _, *rows = [line.split(" | ") for line in lines]
    assert [row[2] for row in rows] == ["dual-cd", "newton"]
    assert all(
        len(row) == len(head) and float(row[5]) <= float(row[6]) and row[7] == "yes |"
        for row in rows
    )


def test_estimators_beside_scikit_learn():
    lines = benchmark(ROOT, "estimators.py", "--only", "digits, odd", "--repeats", "1")
    rows = [line.strip("| ").split(" | ") for line in lines]
    name, who, *numbers = rows[2]
    assert name == "digits, odd" and who.startswith("KernelSVM") and "SVC" in who
    ours, theirs = map(float, numbers[3:])
    assert 0 < ours <= theirs and {"text.train", "wine.train"} < {row[0] for row in rows}


@pytest.mark.slow
def test_probabilities_are_worth_what_those_of_scikit_learn_are(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import probability

    files = [str(ROOT / "data" / f"wine.{part}") for part in ("train", "test")]
    words = [
        *("--sets", "breast_cancer", "wine", "--repeats", "1", "--adult", *files),
        *("--figure", f"{tmp_path}/a.svg"),
    ]
    monkeypatch.setattr("sys.argv", ["probability.py", *words])
    probability.main()
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows[2:5]] == ["breast_cancer", "wine", "adult"]
    assert all(0 < float(row[3]) <= 1.02 and 0 < float(row[4]) < 0.2 for row in rows[2:5])
    assert (tmp_path / "a.svg").read_text().count("log loss") == 3


@pytest.mark.slow
def test_cross_validation_benchmark_chooses_as_scikit_learn(tmp_path):
    train = ROOT / "data" / "breast_cancer.train"
    options = (
        *("-C", 0.1, 1, "--gamma", 0.01, 0.1, "--folds", 3, "--rounds", 1, "--threads", 1, train),
    )
    lines = benchmark(tmp_path, "cross_validation.py", *options)
    assert lines[0].startswith("| program | CPU s |") and lines[2].startswith("| GridSearchCV |")
    assert lines[3].split("|")[-2] == lines[2].split("|")[-2]
    assert lines[-1] == "The same cell: yes; means differ by at most 0.00 points of accuracy."


@pytest.mark.slow
def test_originals_prints_a_row_for_every_job(tmp_path):
    rows = tmp_path / "digits"
    parts = [
        (ROOT / "data" / f"digits.{part}").read_text().splitlines() for part in ("train", "test")
    ]
    lines = (line.partition(" ") for part in parts for line in part)
    rows.write_text(
        "".join(f"{(int(label) + 3) // 2} {features}\n" for label, _, features in lines)
    )
    words = ("--rounds", "1", "--rows", "300", "--classes", rows, "--only", "classes|unit")
    head, _, *table = benchmark(tmp_path, "originals.py", *words)
    assert head == "| set | job | CPU s | gap / primal | test error % |"
    starts = [
        "| digits | `-c 0.1 -e 1` |",
        "| digits | `-c 1 -e 0.1` |",
        "| unit texts | `-c 100` |",
    ]
    assert [line.startswith(start) for line, start in zip(table, starts)] == [True] * 3 and len(
        table
    ) == 4
    assert all(float(line.split("|")[4]) < 0.1 for line in table)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("svm-train") is None, reason="no svm-train")
def test_svm_learn_beside_svm_train(tmp_path):
    rng = np.random.default_rng(0)
    X = 3 * rng.normal(size=(60, 2))
    rows = [f"{1 if x + 0.1 * z > 0 else -1} 1:{x:.3f} 2:{z:.3f}\n" for x, z in X]
    (tmp_path / "classes").write_text("".join(rows))
    sizes = "--rounds", "1", "--few", "40", "--numbers", "50", "--rankings", "120"
    lines = benchmark(tmp_path, "svm_light.py", "classes", *sizes)
    assert [line.split(" | ")[0] for line in lines[2:]] == [
        "| linear",
        "| rbf",
        "| regression",
        "| leave-one-out",
        "| pairs",
    ]
    assert "runs: " in lines[5] and all(float(line.split(" | ")[1]) > 0 for line in lines[2:])


def test_figures_of_budgets_know_the_drift(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import figures_2018

    text = f"wine={ROOT / 'data' / 'wine.train'},{ROOT / 'data' / 'wine.test'}:8:0.5"
    monkeypatch.setattr(
        sys, "argv", ["", "record", str(tmp_path / "csv"), text, "-B", "5", "--epochs", "3"]
    )
    figures_2018.main()
    rows = figures_2018.read(tmp_path / "csv")
    assert len(rows) == 2 * 2 * 3 * figures_2018.STATES
    for row in rows:
        assert row.shifted <= row.error
        if row.solver == "bsca" and not row.budget:
            assert (
                row.dual <= row.primal
                and row.drift < 1e-3
                and row.true_dual == pytest.approx(row.dual, rel=1e-3)
            )
        assert row.budget == 0 or row.support <= 100 * row.budget / 119 + 1e-3
    assert max(row.drift for row in rows if row.budget and row.solver == "bsca") > 0.01


def test_seeds_of_budgets_stand_beside_smo(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import budget_seeds

    text = f"wine={ROOT / 'data' / 'wine.train'},{ROOT / 'data' / 'wine.test'}:8:0.5"
    words = ["", "record", str(tmp_path / "csv"), text, "-B", "5", "--epochs", "2", "--seeds", "2"]
    monkeypatch.setattr(sys, "argv", words)
    budget_seeds.main()
    exact, *rows = budget_seeds.read(tmp_path / "csv")
    assert exact.solver == "smo" and exact.error < 5 and len(rows) == 2 * 2 * 3
    polished = [row for row in rows if row.epoch == 0]
    assert len(polished) == 4 and all(row.error < 12 for row in polished)
    for whole in polished:
        steps = [row.seconds for row in rows if row[1:4] == whole[1:4] and row.epoch]
        assert steps == sorted(steps) and steps[-1] < whole.seconds


def test_time_over_labels_is_of_certified_looks(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import label_growth

    sizes = (
        *("--labels", "9", "--examples", "80", "--features", "300", "--example-cost", "0.3"),
        *("--gap", "0.05"),
    )
    words = ["", "record", str(tmp_path / "csv"), *sizes, "--trainers", "gdmm", "gdmm:2", "bcfw"]
    monkeypatch.setattr(sys, "argv", words)
    label_growth.main()
    runs = label_growth.read(tmp_path / "csv")
    assert list(runs) == [(9, "gdmm"), (9, "gdmm:2"), (9, "bcfw")]
    ends = [run[-1] for run in runs.values()]
    assert all(end.primal - end.dual <= 0.05 * end.primal for end in ends)
    assert max(end.dual for end in ends) <= min(end.primal for end in ends) * (1 + 1e-6)
    seconds = label_growth.first(
        runs[9, "bcfw"], lambda at: at.primal - at.dual <= 0.05 * at.primal
    )
    assert seconds == runs[9, "bcfw"][-1].seconds > runs[9, "bcfw"][0].seconds
