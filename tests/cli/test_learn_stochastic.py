# SPDX-License-Identifier: BSD-3-Clause
"""svmcut learn --solver sbp, pegasos, sdca and perceptron, from file to scores."""

import json
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from reference.kernel import matrix, maximum, primal

from svmcut.cli import start
from svmcut.cli.main import svmcut
from svmcut.formats import read_model
from svmcut.models.kernels import Kernel
from svmcut.originals.perf import svm_perf_classify

SOLVERS = ("sbp", "pegasos", "sdca", "perceptron")
KERNEL = Kernel("rbf", gamma=0.5)


@pytest.fixture
def folder(tmp_path, rng, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = rng.normal(size=(150, 3)).astype(np.float32)
    y = np.where((X**2).sum(1) + 0.5 * rng.normal(size=150) > 2.5, 1, -1)
    lines = [
        f"{y[i]} " + " ".join(f"{j + 1}:{x:.9g}" for j, x in enumerate(row))
        for i, row in enumerate(X)
    ]
    (tmp_path / "train").write_text("\n".join(lines) + "\n")
    return tmp_path, X, y.astype(float)


def call(*words):
    words = [str(word) for word in ("learn", "-t", 2, "-g", 0.5, "--report", "report", *words)]
    result = CliRunner().invoke(svmcut, words, standalone_mode=False, catch_exceptions=False)
    with open("report", encoding="utf-8") as file:
        return result.return_value or 0, json.load(file), result.output


def coefficients(model, X):
    beta = np.zeros(len(X))
    for z, alpha in zip(model.support.to_dense(), model.alpha):
        beta[np.abs(X - z).sum(1).argmin()] += alpha
    return beta


@pytest.mark.parametrize("solver", SOLVERS)
def test_model_report_and_scores_belong_together(folder, solver):
    _, X, y = folder
    status, report, output = call("--example-cost", 2, "--solver", solver, "train", "model")
    model, K = read_model("model"), matrix(KERNEL, X, X)
    beta = coefficients(model, X)
    assert (status, report["solver"], report["converged"], report["stopped_by"]) == (
        0,
        solver,
        False,
        "epochs",
    )
    assert "epochs done" in output
    assert primal(K, y, beta, -model.b, 2.0) == pytest.approx(report["primal"], rel=1e-5)
    best, _ = maximum(K, y, 2.0, solver == "sbp", 1e-6)
    assert report["dual"] <= best * (1 + 1e-5) <= report["primal"] * (1 + 2e-5)
    assert report["dual"] >= 0.3 * best
    assert report["stochastic"]["epochs"] == (3 if solver == "sbp" else 10)
    assert report["kernel_evaluations"] >= report["stochastic"]["kernel_evaluations"] > 0
    assert svm_perf_classify(["-v", "0", "train", "model", "scores"]) == 0
    assert np.loadtxt("scores") == pytest.approx(K @ beta - model.b, abs=1e-5)


def test_epochs_nu_average_sampling_and_seed_have_an_effect(folder):
    texts = {}
    for words in (
        (),
        ("--epochs", 5),
        ("--nu", 0.1),
        ("--average", "full"),
        ("--seed", 3),
        ("--no-free-bias",),
    ):
        _, report, _ = call("--example-cost", 1, "--solver", "sbp", *words, "train", "model")
        texts[words] = (folder[0] / "model").read_bytes()
        if words == ("--nu", 0.1):
            assert report["stochastic"]["nu"] == pytest.approx(0.1)
    for sampling in ("shuffled", "independent"):
        call(
            *("--example-cost", 1, "--solver", "sdca", "--epochs", 1, "--sampling", sampling),
            *("train", "model"),
        )
        texts[sampling] = (folder[0] / "model").read_bytes()
    assert len(set(texts.values())) == len(texts)


def test_threads_leave_the_model(folder):
    models = set()
    for threads in (1, 2):
        call("--example-cost", 1, "--solver", "sbp", "--threads", threads, "train", "model")
        models.add((folder[0] / "model").read_bytes())
    assert len(models) == 1


def test_hold_out_polish_limits_and_paths(folder):
    _, report, _ = call(
        "--example-cost", 1, "--solver", "sbp", "--epochs", 50, "--hold-out", 0.2, "train", "model"
    )
    assert report["stochastic"]["held_out"] == 30
    assert 0 <= report["stochastic"]["held_out_error"] <= 50
    _, report, _ = call(
        "--example-cost", 1, "--solver", "pegasos", "--epochs", 1, "--polish", "train", "model"
    )
    assert report["basis"]["gap"] >= 0
    assert (
        report["primal"]
        < 1.2 * maximum(matrix(KERNEL, *folder[1:2] * 2), folder[2], 1.0, False, 1e-6)[0]
    )
    status, report, output = call(
        "--example-cost", 1, "--solver", "sbp", "--max-iterations", 40, "train", "model"
    )
    assert (status, report["iterations"], report["stopped_by"]) == (3, 40, "limit")
    assert "stopped by a limit" in output
    status, report, _ = call("--example-cost", "0.1,1", "--solver", "sdca", "train", "model")
    assert (status, len(report["path"])) == (0, 2)
    status, report, _ = call(
        "--example-cost", 1, "--solver", "sdca", "--gap", 0.01, "--epochs", 500, "train", "model"
    )
    assert 0 <= report["relative_gap"] <= 0.011


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--solver", "pegasos", "--nu", "0.1"), "--solver smo or sbp"),
        (("--nu", "0.1"), "--nu stands in the place of C; leave out -c"),
        (("--solver", "pegasos", "--free-bias"), "--solver smo or sbp"),
        (("--solver", "sbp", "-e", "0.1"), "--epochs"),
        (("--solver", "perceptron", "--gap", "0.1"), "--epochs"),
        (("--solver", "sbp", "--polish"), "--no-free-bias"),
        (("--solver", "sbp", "-l", "f1"), "error-rate"),
        (("--hold-out", "0.2"), "--solver"),
        (("--solver", "sdca", "--hold-out", "0.001"), "one part empty"),
        (("--solver", "sbp", "--epochs", "0"), "above 0"),
    ],
)
def test_refusals_name_the_remedy(folder, words, says, capsys):
    assert start.main(["learn", "-t", "2", "-c", "1", *words, "train", "model"]) == 2
    assert says in capsys.readouterr().err
    assert not (folder[0] / "model").exists()


def test_one_class_needs_no_free_bias(folder):
    text = (folder[0] / "train").read_text()
    (folder[0] / "one").write_text(
        "".join(line for line in text.splitlines(True) if line.startswith("1"))
    )
    run = subprocess.run(
        [
            sys.executable,
            *("-m", "svmcut.cli.start", "learn", "-t", "2", "-c", "1", "--solver", "sbp", "one"),
            "model",
        ],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1
    assert "--no-free-bias" in run.stderr
    assert call("-c", 1, "--solver", "sbp", "--no-free-bias", "one", "model")[0] == 0
