# SPDX-License-Identifier: BSD-3-Clause
"""svmcut learn with kernels, from file to scores."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from programs import forked
from reference.kernel import matrix, maximum, primal

from svmcut.cli.main import svmcut
from svmcut.formats import read_model
from svmcut.models.kernels import Kernel
from svmcut.originals.perf import svm_perf_learn


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
    result = CliRunner().invoke(
        svmcut, [str(word) for word in words], standalone_mode=False, catch_exceptions=False
    )
    return result.return_value or 0, result.output


def refusal(*words):
    run = forked("svmcut learn", *words, "train", "model")
    assert "Traceback" not in run.stderr
    return run.returncode, run.stderr


@pytest.mark.parametrize(
    ("words", "free_bias"),
    [((), False), (("--solver", "smo"), True), (("--solver", "smo", "--no-free-bias"), False)],
)
@pytest.mark.parametrize(
    "kernel", [Kernel("rbf", gamma=0.5), Kernel("sigmoid", scale=0.01, offset=0.1)]
)
def test_model_report_and_scores_belong_together(folder, kernel, words, free_bias):
    path, X, y = folder
    options = (
        *("-t", kernel.number, "-g", kernel.gamma, "-d", kernel.degree, "-s", kernel.scale),
        *("-r", kernel.offset),
    )
    status, _ = call(
        "learn",
        *("--example-cost", 2, *options, *words, "-e", 1e-6, "--report", "report", "train"),
        "model",
    )
    report = json.loads((path / "report").read_text())
    K = matrix(kernel, X, X)
    best, _ = maximum(K, y, 2.0, free_bias, 1e-5)
    assert status == 0
    assert report["solver"] == "smo"
    assert report["stopped_by"] == (None if kernel.is_definite else "stationary")
    assert report["converged"] == kernel.is_definite
    assert report["dual"] == (pytest.approx(best, rel=1e-6) if kernel.is_definite else None)
    model = read_model("model")
    assert len(model.alpha) == report["support_vectors"]
    assert len(model.alpha) > 0 or not kernel.is_definite
    assert report["kernel_evaluations"] > 0
    call("classify", "-v", 0, "train", "model", "scores")
    scores = np.loadtxt("scores")
    beta = np.zeros(150)
    for z, alpha in zip(model.support.to_dense(), model.alpha):
        beta[np.flatnonzero((z == X).all(1))[0]] += alpha  # the file has every digit of a feature
    assert scores == pytest.approx(K @ beta - model.b, abs=1e-5)
    assert primal(K, y, beta, -model.b, 2.0) == pytest.approx(report["primal"], rel=1e-5)
    assert free_bias or model.b == 0


def test_both_units_of_c_and_paths(folder):
    call("learn", "-t", 2, "-c", 3, "train", "a")
    call("learn", "-t", 2, "--example-cost", 2, "train", "b")
    assert (folder[0] / "a").read_bytes() == (folder[0] / "b").read_bytes()
    status, _ = call(
        "learn", "-t", 2, "-c", "1,3", "-e", 1e-6, "--solver", "smo", "--report", "r", "train", "m"
    )
    call(
        "learn", "-t", 2, "-c", 3, "-e", 1e-6, "--solver", "smo", "--report", "alone", "train", "m"
    )
    rows = json.loads((folder[0] / "r").read_text())["path"]
    assert status == 0
    assert rows[1]["primal"] == pytest.approx(
        json.loads((folder[0] / "alone").read_text())["primal"], rel=1e-5
    )


def test_limits_write_a_model_and_exit_with_3(folder):
    status, output = call(
        "learn", "-t", 2, "-c", 100, "--max-iterations", 5, "--report", "r", "train", "m"
    )
    report = json.loads((folder[0] / "r").read_text())
    assert status == 3
    assert report["iterations"] == 5
    assert report["primal"] >= report["dual"]
    assert len(read_model("m").alpha) <= 10
    assert "stopped by a limit" in output


def test_original_needs_b_0_with_a_kernel(folder, capsys):
    assert svm_perf_learn(["-t", "2", "-c", "1", "-v", "0", "train", "m"]) == 1
    assert "--b 0" in capsys.readouterr().err
    assert svm_perf_learn(["-t", "2", "-c", "1", "--b", "0", "-v", "0", "train", "m"]) == 0
    call("learn", "-t", 2, "-c", 1, "-w", 9, "-v", 0, "train", "own")
    original, own = read_model("m"), read_model("own")
    assert original.alpha.tolist() == own.alpha.tolist()
    assert original.support.data.tolist() == [np.float32(f"{x:.8g}") for x in own.support.data]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("-t", "2", "--b", "1"), "give --b 0"),
        (("-t", "2", "-l", "f1", "--solver", "smo"), "error-rate"),
        (("-t", "2", "-p", "2", "--solver", "smo"), "--solver cutting-plane"),
        (("--free-bias", "--solver", "dual-cd"), "newton or cdn"),
    ],
)
def test_refusals_name_the_remedy(folder, words, says):
    status, error = refusal("-c", "1", *words)
    assert status == 2
    assert says in error
    assert not (folder[0] / "model").exists()


@pytest.mark.parametrize(
    "solver", ["smo", "cutting-plane", "subspace", "sampled-cuts", "bsca", "bsgd", "sbp", "sdca"]
)
def test_kernel_values_beyond_double_precision_are_no_matter_of_numpy(folder, solver):
    path, X, y = folder
    lines = [
        f"{y[i]:g} " + " ".join(f"{j + 1}:{1e5 * x:.9g}" for j, x in enumerate(row))
        for i, row in enumerate(X)
    ]
    (path / "train").write_text("\n".join(lines) + "\n")
    words = ("-t", "1", "-d", "40", "-c", "1", "--solver", solver, "--epochs", "2")
    words = words[: -2 if solver in ("smo", "cutting-plane", "subspace", "sampled-cuts") else None]
    status, text = refusal(*words)
    assert status in (0, 1, 3)
    assert "RuntimeWarning" not in text and ".py" not in text and "internal error" not in text
