# SPDX-License-Identifier: BSD-3-Clause
"""Benchmarks of kernel trainers run on small sets, and their numbers agree."""

import gzip
import importlib.util
import shutil
from pathlib import Path

import numpy as np
import pytest
from programs import benchmark

from svmcut.files.examples import read_examples

ROOT = Path(__file__).resolve().parents[2]
WINE = [ROOT / "data" / f"wine.{part}" for part in ("train", "test")]


def cells(line):
    """Of a Markdown table."""
    return [cell.strip() for cell in line.strip("| ").split("|")]


@pytest.fixture
def folder(tmp_path):
    """A folder as perceptron.py wants it, with a small set in the place of adult."""
    (tmp_path / "adult").mkdir()
    for name, path in zip(("a9a.gz", "a9a.t.gz"), WINE):
        (tmp_path / "adult" / name).write_bytes(gzip.compress(path.read_bytes()))
    return tmp_path


def test_a_board_has_the_colours_of_its_squares_and_flips(tmp_path):
    for name, flip in (("clean", 0), ("again", 0), ("flipped", 0.25)):
        benchmark(tmp_path, "make_checkers.py", name, "--rows", 2000, "--side", 4, "--flip", flip)
    assert (tmp_path / "clean").read_bytes() == (tmp_path / "again").read_bytes()
    clean, flipped = (read_examples(str(tmp_path / name)) for name in ("clean", "flipped"))
    X = clean.X.to_dense()
    assert X.min() >= -2 and X.max() < 2
    # the read value is float32, a hair below an edge now and then
    squares = np.floor(X.astype(np.float64) + 2 + 1e-6).astype(int)
    assert np.array_equal(clean.y, np.where(squares.sum(axis=1) % 2 == 0, 1, -1))
    assert np.array_equal(X, flipped.X.to_dense())
    assert np.mean(clean.y != flipped.y) == pytest.approx(0.25, abs=0.04)
    benchmark(tmp_path, "make_checkers.py", "noisy", "--rows", 2000, "--flip", 0, "--sigma", 0.1)
    noisy = read_examples(str(tmp_path / "noisy"))
    assert np.array_equal(clean.y, noisy.y)
    assert np.std(noisy.X.to_dense() - X) == pytest.approx(0.1, rel=0.05)


@pytest.mark.slow
def test_tables_of_sampled_cuts_over_seeds(tmp_path):
    """Mean and spread of three small boards, of two bases, and of two measures."""
    lines = benchmark(tmp_path, "kdd2008.py", "band", "-n", 400, "--seeds", 2, "--gamma", 8)
    found = {row[1]: row for row in map(cells, lines[2:])}
    assert list(found) == [
        "smo",
        "subspace, 500 points",
        "sampled-cuts, r = 400",
        "constant-cuts, r = 1000",
    ]
    assert all("±" in row[-1] and float(row[-1].split()[0]) < 40 for row in found.values())
    lines = benchmark(
        tmp_path, "kdd2008.py", "basis", "-n", 400, "--seeds", 1, "--gamma", 8, "--bases", 5, 100
    )
    errors = [float(cells(line)[-1].split()[0]) for line in lines[2:]]
    assert len(errors) == 3 and errors[1] < errors[0]
    lines = benchmark(tmp_path, "kdd2008.py", "measures", "-n", 300, "--seeds", 1, "--gamma", 8)
    values = {tuple(row[:2]): float(row[-1].split()[0]) for row in map(cells, lines[2:])}
    assert len(values) == 4
    assert values["ROC area", "sampled-cuts"] == pytest.approx(
        values["ROC area", "cutting-plane"], abs=5
    )


@pytest.mark.slow
def test_table_of_sampled_cuts(tmp_path):
    files = ("--train", WINE[0], "--test", WINE[1])
    lines = benchmark(
        tmp_path, "sampled_cuts.py", *files, "-g", 0.1, "-r", 20, "--solvers", "sampled-cuts"
    )
    found = {row[1]: row for row in map(cells, lines[2:])}
    assert list(found) == [
        "auto",
        "smo",
        "cutting-plane",
        "subspace k=500",
        "sampled-cuts r=20",
        "sampled-cuts r=20, polished",
    ]
    least = float(found["smo"][3])
    assert all(float(row[3]) >= 0.999 * least and float(row[-1]) < 10 for row in found.values())
    assert float(found["cutting-plane"][3]) == pytest.approx(least, rel=0.01)


def test_error_over_kernel_values(folder):
    words = ("--data", folder, "evaluations", "adult", "--epochs", 2, "--seeds", 1)
    lines = benchmark(folder, "perceptron.py", *words)
    found = {row[0]: row[1:] for row in map(cells, lines[5:])}
    assert list(found) == ["sbp", "pegasos", "sdca", "sdca iid", "perceptron", "smo"]
    # smo ends within some hundred steps on so few rows, and does not go on
    assert 1 <= sum(error != "-" for error in found["smo"]) <= 4
    assert float(found["sbp"][-1]) < 10 < float(found["sbp"][0])


def test_error_over_products_of_rows_of_three_bases(folder):
    lines = benchmark(
        folder, "perceptron.py", "--data", folder, "bases", "adult", "--most", 16, "--seeds", 1
    )
    found = {row[0]: list(map(float, row[1:])) for row in map(cells, lines[5:])}
    assert list(found) == ["fourier", "pivoted", "even", "sbp"] and all(
        len(row) == 5 for row in found.values()
    )
    assert found["pivoted"][-1] < 10 and found["even"][-1] < 15


@pytest.mark.slow
def test_rankings_with_a_kernel_beside_linear_ones(tmp_path):
    lines = benchmark(tmp_path, "ranking_kernel.py", "--generated", 2000, "--basis", 50)
    found = {
        row[0]: float(row[1])
        for row in map(cells, lines)
        if row[0] in ("linear", "rbf, 50 basis vectors")
    }
    assert found["rbf, 50 basis vectors"] > found["linear"] + 0.02


def test_a_mark_has_the_error_of_what_was_known_by_then(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from perceptron import at_marks

    looks = [(2, (20,)), (4, (10,)), (9, (5,))]
    found = at_marks(looks, float, [1, 2, 3, 4, 8, 16, 32])
    assert np.array_equal(found, [np.nan, 20, 20, 10, 10, 5, np.nan], equal_nan=True)
    assert at_marks(looks, float, [2, 3]) == [20, 20]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("svm-train") is None, reason="no svm-train")
def test_whole_processes_of_sbp_beside_libsvm(folder):
    lines = benchmark(folder, "perceptron.py", "--data", folder, "libsvm", "adult", "--passes", 5)
    libsvm, sbp = (cells(line) for line in lines[2:])
    assert (libsvm[1], sbp[1]) == ("svm-train", "sbp, 5 epochs")
    assert float(libsvm[-1]) < 10 and float(sbp[-1]) < 10


@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which("svm-train") and shutil.which("liblinear-train")), reason="no rivals"
)
def test_regression_reaches_the_objectives_of_libsvm_and_liblinear(tmp_path):
    rows = [
        cells(line)
        for line in benchmark(tmp_path, "regression.py", "--rows", 300, "-C", 1, "--rounds", 1)[2:]
    ]
    assert [row[1] for row in rows] == ["svm-train", "liblinear-train"]
    assert all(
        0 <= float(row[6]) <= 0.01 and float(row[7]) <= max(float(row[4]), 1e-4) for row in rows
    )


@pytest.mark.slow
def test_with_all_points_a_subspace_has_the_exact_objective(tmp_path):
    lines = benchmark(
        tmp_path,
        "kernel.py",
        f"wine={WINE[0]},{WINE[1]}:2:0.1",
        *("--rank", 119, "--repeats", 1, "--cpu"),
    )
    objectives = {}
    for line in lines[1:]:
        if "ratio" not in line and "CPU s of" not in line:
            *words, objective, error, points, _ = line.split()
            objectives[" ".join(words[1:-1])] = float(objective)
            assert float(error) < 10 and 0 < int(points) <= 119
    exact = objectives["smo, no bias"]
    assert objectives["subspace"] == pytest.approx(exact, rel=0.02)
    assert ("Nystroem" in objectives) == (importlib.util.find_spec("sklearn") is not None)
    if "Nystroem" in objectives:
        assert objectives["Nystroem"] == pytest.approx(exact, rel=0.02)
        assert any("LinearSVC converged" in line for line in lines)


@pytest.mark.slow
def test_kernel_machines_are_timed_beside_others(tmp_path):
    head, _, line = benchmark(tmp_path, "kernel_beside.py", "--rounds", 1, "--only", "500 x 10")
    names, values = ([cell.strip() for cell in text.split("|")[1:-1]] for text in (head, line))
    row = dict(zip(names, values, strict=True))
    assert float(row["svmcut"]) > 0 and float(row["scikit-learn"]) > 0
    ratio = float(row["svmcut"]) / float(row["scikit-learn"])
    assert float(row["of scikit-learn"]) == pytest.approx(ratio, rel=0.02)
    assert not row["before"] and not row["svm-train"]
