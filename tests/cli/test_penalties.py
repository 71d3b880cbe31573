# SPDX-License-Identifier: BSD-3-Clause
"""--penalty l1 and elastic-net from files to reports, against scikit-learn and the slow truth."""

from pathlib import Path

import numpy as np
import pytest
from penalised import data, learnt, write
from programs import forked
from reference import penalties

from svmcut import LinearSVM, LinearSVMRegressor
from svmcut.formats import read_model


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write(tmp_path)


@pytest.mark.parametrize("loss", ["squared-hinge", "logistic"])
@pytest.mark.parametrize(("name", "ratio"), [("l1", 1.0), ("elastic-net", 0.9)])
def test_a_path_reaches_its_optima_in_sparse_models_that_count_their_features(
    folder, loss, name, ratio
):
    A, y = folder
    more = ("--l1-ratio", ratio) if name == "elastic-net" else ()
    words = ("--penalty", name, *more, "-l", loss, "--gap", 1e-8)
    report, said = learnt(*words, "--example-cost", "0.05,0.5", "two", "model")
    assert [entry["solver"] for entry in report["path"]] == ["cdn", "cdn"]
    for entry in report["path"]:
        C = entry["C"]
        w = penalties.minimiser(loss, A, y, C, ratio, 1 - ratio)
        best = penalties.primal(loss, A, y, w, C, ratio, 1 - ratio)
        assert entry["primal"] == pytest.approx(best, rel=1e-6) and entry["converged"]
        model = read_model(entry["model"])
        assert np.flatnonzero(model.w).tolist() == np.flatnonzero(abs(w[:-1]) > 1e-6).tolist()
        assert entry["features_used"] == np.count_nonzero(model.w)
    assert report["path"][0]["features_used"] < report["path"][1]["features_used"] <= 25
    assert "Features used" in said


@pytest.mark.every(2)
@pytest.mark.parametrize("bias", ["--free-bias", "--no-free-bias"])
def test_the_hinge_has_an_elastic_net(folder, bias):
    A, y = folder
    words = ("--penalty", "elastic-net", "--l1-ratio", 0.8, bias, "--example-cost", 0.1)
    report, _ = learnt(*words, "--gap", 1e-8, "two", "model")
    best = penalties.hinge_minimum(A, y, 0.1, 0.8, 1 - 0.8, None, bias == "--free-bias")
    assert report["solver"] == "cdn" and report["converged"]
    assert report["primal"] == pytest.approx(best, rel=1e-6)
    assert report["features_used"] == np.count_nonzero(read_model("model").w) < 25
    if bias == "--free-bias":
        return
    classes = ("--task", "multiclass", "--multiclass", "one-vs-rest")
    report, _ = learnt(*classes, *words, "--gap", 1e-6, "three", "model")
    each = [np.where(data()[2] == k, 1.0, -1.0) for k in range(3)]
    best = sum(penalties.hinge_minimum(A, side, 0.1, 0.8, 1 - 0.8) for side in each)
    assert report["primal"] == pytest.approx(best, rel=2e-6) and report["converged"]


@pytest.mark.parametrize("loss", ["squared-hinge", "logistic"])
def test_classes_against_the_rest_weigh_and_stop_like_two(folder, loss):
    A, _ = folder
    words = ("--task", "multiclass", "--multiclass", "one-vs-rest", "--penalty", "l1", "-l", loss)
    report, _ = learnt(*words, "--example-cost", 0.1, "--gap", 1e-7, "three", "model")
    best = 0.0
    for k in range(3):
        y = np.where(data()[2] == k, 1.0, -1.0)
        w = penalties.minimiser(loss, A, y, 0.1, 1.0, 0.0)
        best += penalties.primal(loss, A, y, w, 0.1, 1.0, 0.0)
    assert report["primal"] == pytest.approx(best, rel=1e-6) and report["converged"]
    assert report["features_used"] == np.count_nonzero(read_model("model").W.any(axis=1)) < 25
    assert forked("svmcut", "classify", "three", "model", "labels").returncode == 0


def test_validation_folds_and_checkpoints_take_the_penalty(folder):
    words = ("--penalty", "l1", "-l", "logistic", "--example-cost", "0.01,0.3")
    report, _ = learnt(*words, "--cv", 3, "two", "model")
    assert report["cv"][1]["selected"] and report["features_used"] > 0
    report, _ = learnt(*words, "--validate", "two", "--select", "accuracy", "two", "model")
    assert report["path"][1]["model"] == "model.0.3" and Path("model").exists()
    alone = ("--penalty", "l1", "-l", "logistic", "--gap", 1e-10)
    learnt(*alone, "two", "whole")
    done = forked(
        "svmcut", "learn", *alone, "--max-iterations", 2, "--checkpoint", "ck", "two", "m"
    )
    assert done.returncode == 3
    learnt(*alone, "--probability", "two", "m")
    assert read_model("m").sigmoid == (-1.0, 0.0)  # the loss has probabilities of its own


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--penalty", "l1"), "use -l squared-hinge or logistic, or --penalty elastic-net"),
        (("--penalty", "elastic-net", "--l1-ratio", 1), "--l1-ratio 1 leaves no 1/2 w'w"),
        (("--penalty", "l1", "-l", "f1", "-c", 1), "is not for loss 'f1'"),
        (("--penalty", "l1", "-l", "logistic", "-t", 2), "not for -t rbf"),
        (("--penalty", "l1", "-l", "logistic", "--solver", "newton"), "use --solver cdn"),
        (("--l1-ratio", 0.5, "-l", "logistic"), "--l1-ratio is for --penalty elastic-net"),
        (("--penalty", "elastic-net", "--l1-ratio", 2, "-l", "logistic"), "from 0 to 1"),
        (("--penalty", "l0", "-l", "logistic"), "expected one of l2, l1, elastic-net"),
        (("--penalty", "l1", "-l", "logistic", "--scheduler", "local:1"), "does not spread"),
        (("--solver", "cdn", "-l", "f1", "-c", 1), "trains for error-rate, squared-hinge and"),
    ],
)
def test_what_no_run_can_honour_is_refused_with_a_remedy(folder, words, said):
    done = forked("svmcut", "learn", *words, "two", "model")
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert not Path("model").exists()


def test_sklearn_finds_the_same_weights(folder):
    from sklearn.linear_model import ElasticNet, Lasso
    from sklearn.svm import LinearSVC

    _, y = folder
    X, s, _ = data()
    known = LinearSVC(penalty="l1", dual=False, C=0.3, tol=1e-10, max_iter=10**5).fit(X, y)
    found = LinearSVM(0.3, loss="squared-hinge", penalty="l1", tol=1e-10).fit(X, y)
    assert found.coef_ == pytest.approx(known.coef_, abs=1e-5)
    assert found.intercept_ == pytest.approx(known.intercept_, abs=1e-5)
    own = {"loss": "squared-epsilon-insensitive", "tube": 0.0, "tol": 1e-10, "fit_intercept": False}
    for ratio, known in ((1.0, Lasso(0.1)), (0.7, ElasticNet(0.1, l1_ratio=0.7))):
        known.set_params(fit_intercept=False, tol=1e-10, max_iter=10**5)
        known.fit(X.astype(float), s)
        # 1/(2 n) |r|^2 + 0.1 penalty
        penalty = {"penalty": "l1"} if ratio == 1 else {"penalty": "elastic-net", "l1_ratio": ratio}
        machine = LinearSVMRegressor(1 / (0.1 * 2 * len(s)), **own, **penalty).fit(X, s)
        assert machine.coef_ == pytest.approx(known.coef_, abs=1e-5)
    with pytest.raises(ValueError, match="penalty='l1' is not for loss 'error-rate'"):
        LinearSVM(penalty="l1").fit(X, y)


@pytest.mark.parametrize("loss", ["logistic", "squared-hinge"])
def test_labels_of_one_sign_have_no_loss_beside_a_free_bias(tmp_path, monkeypatch, loss):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one").write_text("1 1:1 2:2\n1 1:0.5 2:1\n1 2:3\n")
    report, _ = learnt("-l", loss, "--penalty", "l1", "--free-bias", "-c", 0.003, "one", "model")
    assert 0 <= report["dual"] <= report["primal"] < 1e-15
    assert report["converged"]
