# SPDX-License-Identifier: BSD-3-Clause
"""Advice is given where the fact is, names the remedy, and stands in the report; executables give
none."""

import json

import numpy as np
from programs import forked


def _warnings(done):
    return [line for line in done.stderr.splitlines() if "warning: " in line]


def _file(path, rows):
    path.write_text("".join(rows))
    return path


def _rows(n, positives, seed=1, d=6):
    rng = np.random.default_rng(seed)
    for i in range(n):
        values = " ".join(f"{j}:{value:.4f}" for j, value in enumerate(rng.normal(size=d), 1))
        yield f"{1 if i < positives else -1} {values}\n"


def test_a_model_without_a_recognised_positive_names_class_weights(tmp_path):
    train = _file(tmp_path / "t", _rows(300, 6))
    done = forked("svmcut learn", "--report", tmp_path / "r", train, tmp_path / "m")
    told = "no positive training example is recognised (recall 0); try --class-weight balanced"
    assert told in done.stderr
    assert any(told in text for text in json.loads((tmp_path / "r").read_text())["warnings"])
    weighed = forked("svmcut learn", "--class-weight", "balanced", train, tmp_path / "m")
    assert "recall 0" not in weighed.stderr
    silent = forked("svm_perf_learn", "-c", "1", train, tmp_path / "m")
    assert silent.stderr == ""


def test_a_kernel_with_all_rows_as_support_vectors_names_gamma(tmp_path):
    train = _file(tmp_path / "t", _rows(120, 60))
    done = forked("svmcut learn", "-t", "rbf", "-g", "1000", train, tmp_path / "m")
    assert "120 of 120 rows are support vectors" in done.stderr and "try -g scale" in done.stderr
    few = forked("svmcut learn", "-t", "rbf", "-g", "0.01", "-c", "0.01", train, tmp_path / "m")
    assert "support vectors" not in few.stderr  # of a small C
    rows = (f"{y} 1:{y * (1 + i / 50)}\n" for i in range(60) for y in (1, -1))
    smooth = forked(
        "svmcut learn", "-t", "rbf", "-g", "1", _file(tmp_path / "s", rows), tmp_path / "m"
    )
    assert "support vectors" not in smooth.stderr


def test_a_best_cell_at_the_end_of_the_grid_is_said(tmp_path):
    rng = np.random.default_rng(0)
    rows = (
        f"{1 if x[0] > 0.8 else -1} 1:{x[0]:.4f} 2:{x[1]:.4f}\n" for x in rng.normal(size=(120, 2))
    )
    train = _file(tmp_path / "t", rows)

    def told(costs):
        done = forked("svmcut learn", "--cv", "3", "--example-cost", costs, train, tmp_path / "m")
        return [line for line in done.stderr.splitlines() if "the best" in line]

    assert (
        "the best C of the grid is its largest, 1; try larger values too" in told("0.01,0.1,1")[0]
    )
    assert "the best C of the grid is its smallest, 1; try smaller values" in told("1,10,100")[0]
    assert told("0.1,1,10") == []
    assert told("0.0001,0.001") == []  # as good as each other


def test_a_grid_that_never_beats_the_largest_class_is_said(tmp_path):
    train = _file(tmp_path / "t", _rows(200, 30))
    done = forked(
        "svmcut learn", "--cv", "3", "--example-cost", "0.001,0.01", train, tmp_path / "m"
    )
    assert "always answering the most frequent label (85.00 %)" in done.stderr


def test_rows_of_validate_that_are_training_rows_are_counted(tmp_path):
    train = _file(tmp_path / "t", _rows(60, 30))
    held = _file(tmp_path / "v", [*_rows(10, 5, seed=2), *list(_rows(60, 30))[:4]])
    done = forked("svmcut learn", "--validate", held, train, tmp_path / "m")
    assert f"4 of the 14 rows of {held} are training rows too" in done.stderr
    apart = _file(tmp_path / "v", _rows(10, 5, seed=2))
    assert (
        "training rows too"
        not in forked("svmcut learn", "--validate", apart, train, tmp_path / "m").stderr
    )


def test_classify_says_that_rows_have_no_feature_of_the_model(tmp_path):
    train = _file(tmp_path / "t", _rows(60, 30))
    forked("svmcut learn", train, tmp_path / "m")
    other = _file(tmp_path / "o", (f"1 {100 + i}:1\n" for i in range(12)))
    done = forked("svmcut classify", other, tmp_path / "m", tmp_path / "p")
    assert f"12 of the 12 rows of {other} have no feature that weighs in the model" in done.stderr
    assert (
        "no feature" not in forked("svmcut classify", train, tmp_path / "m", tmp_path / "p").stderr
    )
    assert forked("svm_perf_classify", other, tmp_path / "m", tmp_path / "p").stderr == ""


def test_a_saved_run_that_is_replaced_is_said(tmp_path):
    train, state = _file(tmp_path / "t", _rows(60, 30)), tmp_path / "state"
    options = ("--checkpoint", state, "--max-iterations", "1", "--gap", "1e-9", "-c", "100")
    first = forked("svmcut learn", *options, train, tmp_path / "m")
    assert state.exists() and "replaces" not in first.stderr
    again = forked("svmcut learn", *options, train, tmp_path / "m")
    assert f"{state} holds an unfinished run, which this one replaces; add --resume" in again.stderr
    assert (
        "replaces" not in forked("svmcut learn", *options, "--resume", train, tmp_path / "m").stderr
    )


def test_a_label_that_is_no_number_among_numbers_is_said(tmp_path):
    train = _file(tmp_path / "t", [*_rows(40, 20), "1o 1:1\n", "1o 1:2\n"])
    done = forked("svmcut learn", train, tmp_path / "m")
    assert "the label '1o' is no number, so all labels are words, '-1' too" in done.stderr
    assert done.returncode == 0 and "3 classes: multiclass" in done.stdout
