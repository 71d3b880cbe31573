# SPDX-License-Identifier: BSD-3-Clause
"""predict_proba: what is fitted, when it is there, and what the command line makes of a saved
estimator."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from programs import call
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import minmax_scale

import svmcut
from svmcut import KernelSVM, LinearSVM, PerfClassifier
from svmcut.data.folds import deal
from svmcut.loading import Model
from svmcut.models import MulticlassModel
from svmcut.scoring.probabilities import fit_temperature


def data(name):
    X, y = (load_breast_cancer if name == "pair" else load_wine)(return_X_y=True)
    return minmax_scale(X).astype(np.float32), y


MACHINES = {
    "linear": LinearSVM(probability=True, random_state=0),
    "kernel": KernelSVM(probability=True, random_state=0),
    "at once": LinearSVM(probability=True, random_state=0, multi_class="crammer_singer"),
    "logistic": LinearSVM(loss="logistic", probability=True, random_state=0),
}


@pytest.mark.parametrize("kind", MACHINES)
@pytest.mark.parametrize("name", ["pair", "several"])
def test_probabilities_are_worth_something_on_other_rows(kind, name):
    X, y = data(name)
    machine = MACHINES[kind].fit(X[::2], y[::2])
    p, K = machine.predict_proba(X[1::2]), len(machine.classes_)
    assert p.shape == (len(X[1::2]), K)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(machine.predict_log_proba(X[1::2]), np.log(p))
    assert -np.log(p[np.arange(len(p)), y[1::2]]).mean() < 0.35 * np.log(K)
    again = pickle.loads(pickle.dumps(machine))
    assert np.array_equal(again.predict_proba(X), machine.predict_proba(X))


def test_two_classes_have_the_sigmoid_of_the_command_line_and_names_change_nothing():
    X, y = data("pair")
    machine = LinearSVM(probability=True, random_state=3).fit(X, y)
    seed = int(np.random.RandomState(3).randint(2**31 - 1))
    outcome = svmcut.train(
        (X, np.where(y, 1.0, -1.0)), gap=1e-3, seed=seed, probability=True, threads=1
    )
    np.testing.assert_array_equal(
        machine.predict_proba(X)[:, 1],
        outcome.model.probabilities(machine.decision_function(X))[:, 1],
    )
    named = LinearSVM(probability=True, random_state=3).fit(X, np.array(["no", "yes"])[y])
    np.testing.assert_array_equal(named.predict_proba(X), machine.predict_proba(X))


def test_one_against_the_rest_has_one_temperature_of_scores_of_folds():
    X, y = data("several")
    machine, held = LinearSVM(probability=True, random_state=0).fit(X, y), []
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    for k in range(3):
        signs, scores = np.where(y == k, 1.0, -1.0), np.empty(len(y))
        places = deal(signs, 5, seed)
        for fold in range(5):
            own = places == fold
            part = svmcut.train((X[~own], signs[~own]), gap=1e-3, seed=seed, threads=1)
            scores[own] = Model(part.model).decision_function(X[own])
        held.append(scores)
    t = fit_temperature(np.column_stack(held), y)
    scores = t * machine.decision_function(X)
    expected = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(
        machine.predict_proba(X), expected / expected.sum(axis=1, keepdims=True), rtol=1e-9
    )


@pytest.mark.parametrize("kind", ["linear", "at once", "logistic"])
@pytest.mark.parametrize("name", ["pair", "several"])
def test_a_saved_estimator_keeps_them(tmp_path, monkeypatch, kind, name):
    monkeypatch.chdir(tmp_path)
    X, y = data(name)
    machine = MACHINES[kind].fit(X, y)
    machine.save("model")
    pairs = (" ".join(f"{j + 1}:{value:.9g}" for j, value in enumerate(row)) for row in X)
    Path("rows").write_text(
        "".join(f"{label} {row}\n" for label, row in zip(y, pairs, strict=True))
    )
    assert call("svmcut", "classify", "-v", 0, "--probability", "rows", "model", "out") == 0
    np.testing.assert_allclose(np.loadtxt("out"), machine.predict_proba(X), atol=2e-6)
    assert isinstance(svmcut.load("model").model, MulticlassModel) == (name == "several")


def test_without_there_are_none_and_scores_are_the_same():
    X, y = data("pair")
    for make in (LinearSVM, KernelSVM):
        plain, fitted = (
            make(random_state=0).fit(X, y),
            make(random_state=0, probability=True).fit(X, y),
        )
        assert not hasattr(plain, "predict_proba") and not hasattr(plain, "predict_log_proba")
        assert hasattr(fitted, "predict_proba")
        beyond = 0.1 if make is LinearSVM else 0.0  # the gap's; another solver trains the plain one
        scores = plain.decision_function(X)
        np.testing.assert_allclose(scores, fitted.decision_function(X), atol=beyond)
    assert not hasattr(PerfClassifier(), "predict_proba")
    with pytest.raises(
        ValueError, match="there is one row of a class; probabilities need two rows of every class"
    ):
        LinearSVM(probability=True).fit(X[:9], [0] * 8 + [1])
