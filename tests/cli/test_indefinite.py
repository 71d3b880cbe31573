# SPDX-License-Identifier: BSD-3-Clause
"""Kernels that need not be definite: nothing is claimed of them, wherever they are trained."""

import json
from pathlib import Path

import numpy as np
import pytest
from programs import call

import svmcut
from svmcut.base.errors import UsageError
from svmcut.formats import read_model

SIGMOID, POLYNOMIAL = ("-t", 3), ("-t", 1, "-r", -1)
CLASSES = ("--task", "multiclass", "--multiclass")
TOLD = ("--report", "r", "--format", "original")


@pytest.fixture
def rows(tmp_path, monkeypatch, rng):
    """Two classes in a circle, in the file train and as arrays."""
    monkeypatch.chdir(tmp_path)
    X = rng.normal(size=(60, 3)).astype(np.float32)
    y = np.where((X**2).sum(1) + 0.5 * rng.normal(size=60) > 2.5, 1.0, -1.0)
    lines = [
        f"{label:g} " + " ".join(f"{j + 1}:{x:.9g}" for j, x in enumerate(row))
        for label, row in zip(y, X)
    ]
    Path("train").write_text("\n".join(lines) + "\n")
    return X, y


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--solver", "smo"),
        ("--solver", "subspace"),
        ("--solver", "bsca"),
        ("-l", "f1", "-c", 1),
        ("--gap", 1e-3),
        ("--task", "regression"),
        ("--task", "regression", "--solver", "bsgd"),
        (*CLASSES, "one-vs-rest"),
        (*CLASSES, "one-vs-one", "--solver", "subspace"),
    ],
)
@pytest.mark.parametrize("kernel", [SIGMOID, POLYNOMIAL])
def test_a_stationary_point_is_no_certificate(rows, capsys, words, kernel):
    assert call("svmcut learn", *kernel, *words, *TOLD, "train", "m") == 0
    report, (output, told) = json.loads(Path("r").read_text()), capsys.readouterr()
    assert "; stationary, no certified gap" in output and "converged" not in output
    assert report["dual"] is report["gap"] is None
    assert (report["converged"], report["stopped_by"]) == (False, "stationary")
    assert "need not be positive definite" in told and any(
        "positive definite" in text for text in report["warnings"]
    )
    losses = {"-l": 100.0, "regression": 60 * 0.9}
    at_zero = next((value for word, value in losses.items() if word in words), 60.0)
    assert report["primal"] <= at_zero * (2 if "one-vs-rest" in words else 1) + 1e-9


def test_rankings_are_trained_in_a_subspace(rows):
    Path("train").write_text(
        "".join(f"{k % 3} qid:{1 + k // 9} 1:{k % 7} 2:{k % 5}\n" for k in range(36))
    )
    assert call("svmcut rank", "-c", 1, *SIGMOID, "-s", 0.01, "--report", "r", "train", "m") == 0
    report = json.loads(Path("r").read_text())
    assert (report["solver"], report["stopped_by"], report["dual"]) == (
        "subspace",
        "stationary",
        None,
    )


@pytest.mark.parametrize("solver", ["cutting-plane", "sampled-cuts", "constant-cuts", "sbp"])
def test_solvers_that_mean_nothing_then_are_refused(rows, capsys, solver):
    assert call("svmcut learn", *SIGMOID, "--solver", solver, "train", "m") == 2
    told = capsys.readouterr().err
    assert "need not be positive definite" in told and "use --solver smo, subspace" in told


@pytest.mark.parametrize(
    "words", [("-t", 2, "-g", -1), ("-t", 1, "-s", -1), ("-t", 2, "-g", "1,-0.5", "--cv", 3)]
)
def test_factors_below_0_are_refused(rows, capsys, words):
    assert call("svmcut learn", *words, "train", "m") == 2
    assert "is not a number of at least 0" in capsys.readouterr().err


def test_sequences_and_joint_machines_are_refused(rows, capsys):
    Path("train").write_text("1 qid:1 1:1\n2 qid:1 1:-1\n3 qid:2 1:2\n")
    for task in (("--task", "sequence"), (*CLASSES, "crammer-singer")):
        for words in (("-t", 2, "-g", -0.5), SIGMOID, POLYNOMIAL):
            assert call("svmcut learn", *task, *words, "train", "m") == 2
            assert "definite" in (told := capsys.readouterr().err) or "of at least 0" in told


def test_python_refuses_and_warns_alike(rows):
    X, y = rows
    for given in ({"kernel": "rbf", "gamma": -1.0}, {"kernel": "polynomial", "scale_kernel": -1.0}):
        with pytest.raises(UsageError, match="expected a number of at least 0"):
            svmcut.train((X, y), **given)
    outcome = svmcut.train((X, y), kernel="sigmoid")
    assert (outcome.converged, outcome.stopped_by, outcome.done) == (False, "stationary", True)
    assert np.isnan(outcome.dual) and any("positive definite" in text for text in outcome.warnings)


def test_the_originals_train_them_without_a_claim(rows, capsys):
    words = ("-t", 2, "-g", -0.01, "-c", 1, "--b", 0, "-v", 0, "train", "m")
    assert call("svm_perf_learn", *words) == 0
    assert read_model("m").kernel.gamma == -0.01 and len(read_model("m").alpha) > 0


def test_w_0_with_its_best_threshold_is_a_candidate(rows):
    X, y = rows
    outcome = svmcut.train((X, y), kernel="polynomial", coef0=-1.0, solver="smo")
    assert outcome.primal == 2 * min((y > 0).sum(), (y < 0).sum())
    assert abs(outcome.model.b) == 1 and not len(outcome.model.alpha)
    assert any("w = 0 has a lower primal" in text for text in outcome.warnings)


def test_w_0_with_its_best_tube_is_a_candidate():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    outcome = svmcut.train(
        (X, y), task="regression", kernel="sigmoid", scale_kernel=0.05, coef0=-0.1, nu=0.2, cost=2e4
    )
    assert not len(outcome.model.alpha) and outcome.details["tube"] > 1
    tubes = np.linspace(0, 3, 1501)
    levels = np.linspace(-1, 1, 201)[:, None, None]
    losses = np.maximum(0, np.abs(y - levels) - tubes[:, None]).sum(axis=2) + 0.2 * 40 * tubes
    assert outcome.primal == pytest.approx(2e4 * losses.min(), rel=1e-3)
    assert any("w = 0 has a lower primal" in text for text in outcome.warnings)


def test_the_primal_of_w_0_counts_the_digits_of_its_threshold(tmp_path, monkeypatch):
    """The best threshold of equal targets of nine digits has nine, that of the file eight."""
    monkeypatch.chdir(tmp_path)
    rows = (f"1.66023802 0:{i + 1} 1:{-1e-6 * (i == 0):g} 2:0" for i in range(2))
    Path("train").write_text("".join(f"{row}\n" for row in rows))
    words = ("-t", 4, "--task", "regression", "--nu", 0.2, "-c", 100, "-v", 0, *TOLD)
    call("svmcut", "learn", *words, "train", "m")
    report, model = json.loads(Path("r").read_text()), read_model("m")
    losses = 2 * abs(1.66023802 + model.b)
    assert not len(model.alpha) and losses > 1e-9
    assert report["primal_of_file"] == pytest.approx(100 * losses, rel=1e-3)
