# SPDX-License-Identifier: BSD-3-Clause
"""svmcut learn --task regression and the losses squared-hinge and logistic, from files to
reports."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest
from programs import forked, uncertified
from reference import losses as truth
from reference.kernel import matrix, tube_maximum

from svmcut.formats import read_model
from svmcut.models.kernels import Kernel


@functools.cache
def data():
    rng = np.random.default_rng(4)
    X = np.round(rng.normal(size=(80, 4)), 3).astype(np.float32)
    return X, np.round(X.astype(float) @ [1.0, -2.0, 0.5, 0.0] + 3 + 0.4 * rng.normal(size=80), 3)


@functools.cache
def optimum():
    X, y = data()
    return truth.optimum(
        "epsilon-insensitive", np.hstack([X.astype(float), np.ones((80, 1))]), y, 0.5
    )


@functools.cache
def kernel_truth(weighted, free_bias):
    """Weights, the kernel matrix of the examples that have one above 0, and the maximum."""
    X, y = data()
    v = np.arange(80) % 3 if weighted else np.ones(80)
    used = v > 0
    K = matrix(Kernel("rbf", gamma=0.1), X[used], X[used])
    return v, K, tube_maximum(K, y[used], 2.0 * v[used], truth.TUBE, free_bias, 1e-6)[0]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = data()
    signs = np.where(y > 3, 1.0, -1.0)
    for name, labels in (("train", y), ("signs", signs)):
        lines = (
            f"{label:g} " + " ".join(f"{j + 1}:{x:g}" for j, x in enumerate(row) if x) + "\n"
            for label, row in zip(labels, X, strict=True)
        )
        (tmp_path / name).write_text("".join(lines))
    (tmp_path / "equal").write_text("2 1:1\n2 1:2\n")
    return np.hstack([X.astype(float), np.ones((80, 1))]), y, signs


def learnt(*words):
    done = forked("svmcut", "learn", *words, "--report", "r.json", "-v", 0)
    assert done.returncode == 0, done.stderr
    return json.loads(Path("r.json").read_text())


@pytest.mark.every(2)
@pytest.mark.parametrize("solver", ["auto", "dual-cd", "newton", "cutting-plane"])
def test_regression_reaches_the_optimum_and_its_model_predicts(folder, solver):
    _, y, _ = folder
    report = learnt(
        *("--task", "regression", "-c", 0.5, "--tube", truth.TUBE, "--solver", solver, "train"),
        "model",
    )
    minimum = optimum()
    assert report["converged"] and report["relative_gap"] <= 1e-3
    assert report["dual"] <= minimum * (1 + 1e-9) and minimum * (1 - 1e-9) <= report["primal"]
    done = forked("svmcut", "classify", "train", "model", "numbers", "--report", "c.json")
    assert done.returncode == 0, done.stderr
    found, numbers = json.loads(Path("c.json").read_text()), np.loadtxt("numbers")
    assert found["mse"] == pytest.approx(np.mean((y - numbers) ** 2), rel=1e-6)
    assert found["mae"] == pytest.approx(np.mean(np.abs(y - numbers)), rel=1e-6)
    assert found["r2"] == pytest.approx(
        1 - np.sum((y - numbers) ** 2) / np.sum((y - y.mean()) ** 2), rel=1e-6
    )
    assert found["r2"] > 0.9 and f"Mean squared error : {found['mse']:.6g}\n" in done.stdout


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--no-free-bias",),
        ("--solver", "cutting-plane"),
        ("--solver", "subspace", "--basis", 60),
        ("--solver", "bsca", "--budget", 60),
    ],
    ids=str,
)
def test_regression_with_a_kernel_reaches_the_optimum_and_its_model_predicts(folder, words):
    _, y, _ = folder
    np.savetxt("weights", np.arange(80) % 3)
    for given in ((), ("--weights", "weights")):
        v, K_v, best = kernel_truth(bool(given), not words)
        used = v > 0
        y_v = y[used]
        report = learnt(
            *("--task", "regression", "-c", 2, "-t", 2, "-g", 0.1, "--tube", truth.TUBE, *words),
            *(*given, "train", "model"),
        )
        assert report["converged"] and report["relative_gap"] <= 1e-3
        assert report["dual"] <= best * (1 + 1e-6) and best * (1 - 1e-6) <= report["primal"]
        done = forked("svmcut", "classify", "train", "model", "numbers", "--report", "c.json")
        assert done.returncode == 0, done.stderr
        found, numbers = json.loads(Path("c.json").read_text()), np.loadtxt("numbers")
        f = (numbers + read_model("model").b)[used]
        value = 0.5 * f @ np.linalg.lstsq(K_v, f, rcond=None)[0]
        value += 2.0 * v[used] @ np.maximum(0, np.abs(y_v - numbers[used]) - truth.TUBE)
        assert report["primal"] == pytest.approx(value, rel=1e-4)
        assert (
            found["mse"] == pytest.approx(np.mean((y - numbers) ** 2), rel=1e-6)
            and found["r2"] > 0.8
        )
    assert uncertified("model").endswith(b"#@ loss epsilon-insensitive\n")


def test_regression_with_a_kernel_goes_on_along_c_and_ends_at_equal_targets(folder):
    kernel = ("--task", "regression", "-t", 2, "-g", 0.1)
    path = learnt(*kernel, "-c", "0.1,1", "--gap", 1e-6, "train", "path")["path"]
    alone = [learnt(*kernel, "-c", C, "--gap", 1e-6, "train", "alone")["primal"] for C in (0.1, 1)]
    assert [run["primal"] for run in path] == pytest.approx(alone, rel=1e-6)
    report = learnt(*kernel, "-c", 1, "equal", "model")
    assert (report["converged"], report["primal"], report["gap"]) == (True, 0.0, 0.0)
    done = forked("svmcut", "classify", "equal", "model", "numbers", "--report", "c.json")
    assert done.returncode == 0 and json.loads(Path("c.json").read_text())["r2"] is None
    assert np.loadtxt("numbers").tolist() == [2.0, 2.0]


def test_c_is_the_weight_of_one_example_and_epsilon_takes_the_place_of_the_gap(folder):
    by_c = learnt("--task", "regression", "-c", 0.5, "train", "a")
    assert (
        by_c["primal"]
        == learnt("--task", "regression", "--example-cost", 0.5, "train", "b")["primal"]
    )
    assert Path("a").read_text() == Path("b").read_text()
    loose = learnt("--task", "regression", "-c", 0.5, "-e", 10, "train", "c")
    assert loose["converged"] and loose["gap"] <= 5 and loose["relative_gap"] > 1e-3


def test_what_has_no_meaning_is_refused_and_r2_of_equal_numbers_is_undefined(folder):
    learnt("--task", "regression", "-c", 1, "train", "model")
    done = forked("svmcut", "classify", "train", "model", "numbers", "--labels")
    assert done.returncode == 2 and "--labels has no meaning for numbers" in done.stderr
    assert forked("svm_perf_classify", "train", "model", "numbers").returncode == 1
    done = forked("svmcut", "classify", "equal", "model", "numbers", "--report", "c.json")
    assert (
        "R2                 : undefined" in done.stdout
        and json.loads(Path("c.json").read_text())["r2"] is None
    )
    for words in (
        ("-c", 1, "--tube", 0.1),
        ("-c", 1, "--task", "regression", "--tube", -1),
        ("-c", 1, "--task", "regression", "-l", "logistic"),
        ("-c", 1, "-l", "epsilon-insensitive"),
        ("-c", 1, "-l", "logistic", "-p", 2),
        ("-c", 1, "-l", "squared-hinge", "-o", "slack"),
    ):
        assert forked("svmcut", "learn", *words, "signs", "model").returncode == 2, words
    done = forked("svm_perf_learn", "-c", 1, "-l", "logistic", "signs", "model")
    assert done.returncode == 1 and "'logistic' is unknown" in done.stderr


def test_the_square_of_the_loss_reaches_its_optimum_and_is_kept_by_name(folder):
    X, y, _ = folder
    words = ("--task", "regression", "-l", "squared-epsilon-insensitive", "--tube", truth.TUBE)
    for C, v in ((0.7, None), (100.0, np.arange(80) % 3.0)):
        np.savetxt("weights", np.ones(80) if v is None else v)
        report = learnt(*words, "-c", C, "--weights", "weights", "--gap", 1e-8, "train", "model")
        best = truth.optimum("squared-epsilon-insensitive", X, y, C, v)
        assert report["primal"] == pytest.approx(best, rel=1e-6) and report["converged"]
    model = read_model("model")
    assert model.loss == "squared-epsilon-insensitive"
    report = learnt(*words, "-c", 1, "-t", 2, "-g", 0.1, "--gap", 1e-6, "train", "model")
    assert report["converged"] and report["solver"] == "cutting-plane"
    done = forked("svmcut", "learn", *words, "-t", 2, "--solver", "smo", "train", "model")
    assert done.returncode == 2 and "--solver cutting-plane or subspace" in done.stderr


def test_sklearn_finds_the_same_weights_with_the_square(folder):
    from sklearn.svm import LinearSVR

    from svmcut import LinearSVMRegressor

    X, y, _ = folder
    known = LinearSVR(
        C=0.7, epsilon=0.2, loss="squared_epsilon_insensitive", dual=True, tol=1e-10, max_iter=10**6
    ).fit(X[:, :-1], y)
    found = LinearSVMRegressor(0.7, tube=0.2, loss="squared-epsilon-insensitive", tol=1e-12)
    found.fit(X[:, :-1], y).save("model")
    assert np.append(found.coef_, found.intercept_) == pytest.approx(
        np.append(known.coef_, known.intercept_), abs=1e-6
    )
    assert read_model("model").loss == found.loss
    with pytest.raises(ValueError, match="expected one of epsilon-insensitive, squared-epsilon"):
        LinearSVMRegressor(loss="hinge").fit(X, y)


@pytest.mark.parametrize("loss", ["squared-hinge", "logistic"])
def test_losses_of_classes_reach_their_optimum_with_weights_too(folder, loss):
    X, _, signs = folder
    np.savetxt("weights", np.arange(80) % 3)
    words = ("--loss", loss, "--example-cost", 0.7, "--gap", 1e-6)
    for given, v in (((), None), (("--weights", "weights"), np.arange(80) % 3.0)):
        report = learnt(*words, *given, "signs", "model")
        assert report["primal"] == pytest.approx(truth.optimum(loss, X, signs, 0.7, v), rel=1.1e-6)
        assert report["loss"] == loss and report["gap"] <= 1e-6 * report["primal"]
    assert uncertified("model").endswith(f"#@ loss {loss}\n".encode())
    done = forked("svmcut", "classify", "signs", "model", "scores")
    assert done.returncode == 0 and "threshold" not in done.stdout
    assert np.mean((np.loadtxt("scores") > 0) == (signs > 0)) > 0.9
