# SPDX-License-Identifier: BSD-3-Clause
"""--free-bias on features: against scikit-learn's SVC, LogisticRegression and SVR, classes against
the rest, files and refusals."""

from pathlib import Path

import numpy as np
import pytest
from penalised import data, learnt, write
from programs import forked
from reference import penalties

from svmcut import LinearSVM, LinearSVMRegressor
from svmcut.formats import read_model

LOSSES = (
    "error-rate",
    "squared-hinge",
    "logistic",
    "epsilon-insensitive",
    "squared-epsilon-insensitive",
)
TIGHT = {"tol": 1e-10, "free_intercept": True}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write(tmp_path)


def primal_of(model, loss, C):
    """1/2 |w|^2 + C sum of the losses at the bias of the file."""
    X, s, _ = data()
    y = s.round(3) if loss.endswith("insensitive") else np.where(s > 0, 1.0, -1.0)
    f, w = X.astype(float) @ model.w - model.b, model.w
    m, beyond = y * f, np.maximum(0, np.abs(y - f) - 0.1)
    losses = {
        "error-rate": lambda: np.maximum(0, 1 - m),
        "squared-hinge": lambda: np.maximum(0, 1 - m) ** 2,
        "logistic": lambda: np.logaddexp(0, -m),
        "epsilon-insensitive": lambda: beyond,
        "squared-epsilon-insensitive": lambda: beyond**2,
    }
    return 0.5 * w @ w + C * losses[loss]().sum()


@pytest.mark.every(3)
@pytest.mark.parametrize("solver", ["auto", "newton", "cutting-plane"])
@pytest.mark.parametrize(
    "loss",
    LOSSES,
)
def test_a_model_and_its_bias_have_the_primal_that_is_reported(folder, loss, solver):
    task = ("--task", "regression") if loss.endswith("insensitive") else ()
    name = "numbers" if task else "two"
    words = ("-l", loss, "--free-bias", "--solver", solver, "--gap", 1e-6)
    for C in (0.01, 1.0):
        report, _ = learnt(*task, *words, "--example-cost", C, name, "model")
        assert report["converged"] and report["gap"] <= 1e-6 * report["primal"]
        model = read_model("model")
        assert primal_of(model, loss, C) == pytest.approx(report["primal"], rel=1e-5)
        for step in (-1e-3, 1e-3):  # b is the best there is
            moved = model.__class__(model.w, model.b + step)
            assert primal_of(moved, loss, C) >= primal_of(model, loss, C) * (1 - 1e-7)


def test_sklearn_finds_the_same_machines():
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import SVC, SVR

    X, s, _ = data()
    y = np.where(s > 0, 1, -1)
    hinge = SVC(C=0.5, kernel="linear", tol=1e-8).fit(X, y)
    logistic = LogisticRegression(C=0.5, tol=1e-10, max_iter=10**4).fit(X, y)
    tube = SVR(C=0.5, kernel="linear", epsilon=0.2, tol=1e-8).fit(X, s)
    for known, found, target in (
        (hinge, LinearSVM(0.5, **TIGHT), y),
        (logistic, LinearSVM(0.5, loss="logistic", **TIGHT), y),
        (tube, LinearSVMRegressor(0.5, tube=0.2, **TIGHT), s),
    ):
        found.fit(X, target)
        assert found.coef_.ravel() == pytest.approx(known.coef_.ravel(), abs=2e-4)
        assert found.intercept_ == pytest.approx(known.intercept_, abs=2e-4)
    with pytest.raises(ValueError, match="fit_intercept=False"):
        LinearSVM(fit_intercept=False, free_intercept=True).fit(X, y)


@pytest.mark.every(3)
@pytest.mark.parametrize("loss", ["error-rate", "squared-hinge", "logistic"])
def test_classes_against_the_rest_have_a_bias_each(folder, loss):
    words = ("--task", "multiclass", "--multiclass", "one-vs-rest", "--free-bias", "-l", loss)
    report, _ = learnt(*words, "--example-cost", 0.2, "--gap", 1e-6, "three", "model")
    model, classes = read_model("model"), data()[2]
    assert report["converged"] and len(model.constant) == 3
    total = 0.0
    for k in range(3):
        y = np.where(classes == k, "1", "-1")
        lines = Path("three").read_text().splitlines()
        alone = [f"{y[i]} {line.split(' ', 1)[1]}\n" for i, line in enumerate(lines)]
        Path("alone").write_text("".join(alone))
        one = ("--free-bias", "-l", loss, "--example-cost", 0.2, "--gap", 1e-7)
        total += learnt(*one, "alone", "one")[0]["primal"]
        known = read_model("one")
        assert model.bias * model.constant[k] == pytest.approx(-known.b, abs=5e-3)
    assert report["primal"] == pytest.approx(total, rel=2e-6)


def test_l1_leaves_a_free_bias_alone(folder):
    A, y = folder
    words = ("--penalty", "l1", "-l", "logistic", "--free-bias", "--gap", 1e-8)
    report, _ = learnt(*words, "--example-cost", 0.05, "two", "model")
    w = penalties.minimiser("logistic", A, y, 0.05, 1.0, 0.0, None, True)
    best = penalties.primal("logistic", A, y, w, 0.05, 1.0, 0.0, None, True)
    assert report["primal"] == pytest.approx(best, rel=1e-6)
    assert read_model("model").b == pytest.approx(-w[-1], abs=1e-4)


def test_a_path_folds_and_labels_of_one_sign(folder):
    report, _ = learnt("--free-bias", "--example-cost", "0.1,1", "--cv", 3, "two", "model")
    assert len(report["cv"]) == 2
    report, _ = learnt("--free-bias", "--example-cost", "0.1,1", "two", "model")
    assert all(entry["converged"] for entry in report["path"])
    Path("one").write_text("1 1:2\n1 1:3\n")
    report, _ = learnt("--free-bias", "one", "model")
    assert report["primal"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-l", "f1", "-c", 1), "leave it out with loss 'f1'"),
        (("-l", "roc-area", "-c", 1), "leave it out with loss 'roc-area'"),
        (("--b", 1), "--free-bias takes the place of the constant feature of --b 1"),
        (("--solver", "dual-cd"), "use --solver cutting-plane, newton or cdn"),
        (("--task", "multiclass"), "give --multiclass one-vs-rest"),
        (("--task", "sequence"), "--free-bias is unknown"),
        (("--scheduler", "local:1"), "--free-bias does not spread over parts"),
    ],
)
def test_where_a_bias_changes_nothing_or_none_trains_it_it_is_refused(folder, words, said):
    done = forked("svmcut", "learn", "--free-bias", *words, "two", "model")
    assert done.returncode == 2 and said in done.stderr, done.stderr


@pytest.mark.parametrize("solver", ["cdn", "cutting-plane", "newton"])
def test_a_primal_of_rounding_is_no_mistake_of_the_bound(tmp_path, monkeypatch, solver):
    """Two rows of large targets, which a weight fits to the last digit."""
    monkeypatch.chdir(tmp_path)
    Path("far").write_text("47.6035 1:34959.6\n47.6038 1:34959.8\n47.604 1:34960\n")
    words = ("--task", "regression", "-l", "squared-epsilon-insensitive", "--free-bias")
    more = ("--penalty", "elastic-net", "--l1-ratio", 0.1) if solver == "cdn" else ()
    done = forked("svmcut", "learn", *words, *more, "--solver", solver, "-c", 3, "far", "model")
    assert done.returncode in (0, 3) and "an error of svmcut" not in done.stderr


def test_a_line_without_curvature_is_searched_by_halves():
    from svmcut.risks.smoothed import line_step

    step = line_step(lambda t: (-1.0 if t < 3 else t - 2.5, 0.0), 1.0)
    assert 2.5 < step <= 3.5
