# SPDX-License-Identifier: BSD-3-Clause
"""Kernel values that are given: the machines of scikit-learn, and no certificate without proof."""

from pathlib import Path

import numpy as np
import pytest
from programs import call
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

import svmcut
from svmcut.base.errors import DataError, UsageError
from svmcut.loading import Model
from svmcut.tasks.classification import Classification
from svmcut.training.given import definite_shift, smallest_ritz


def rows(n=90, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


def rbf(X, Z):
    return np.exp(-0.3 * ((X[:, None] - Z) ** 2).sum(axis=2)).astype(np.float32).astype(float)


def trained(data, **how):
    return svmcut.train(data, kernel="precomputed", gap=2e-7, threads=1, **how)


MACHINES = {
    "classes": (SVC(C=2.0, kernel="precomputed", tol=1e-9), {"example_cost": 2.0}),
    "nu": (NuSVC(nu=0.41, kernel="precomputed", tol=1e-9), {"nu": 0.41}),
    "one class": (
        OneClassSVM(nu=0.23, kernel="precomputed", tol=1e-9),
        {"task": "one-class", "nu": 0.23},
    ),
    "numbers": (
        SVR(C=2.0, epsilon=0.2, kernel="precomputed", tol=1e-9),
        {"task": "regression", "example_cost": 2.0, "tube": 0.2, "solver": "smo"},
    ),
}


@pytest.mark.parametrize("name", MACHINES)
def test_machines_are_those_of_scikit_learn(name):
    X, y = rows()
    K, test = rbf(X, X), rbf(rows(20, 4)[0], X)
    machine, how = MACHINES[name]
    y = X[:, 0] ** 2 if name == "numbers" else y
    machine.fit(K, y)
    ours = trained((K, y), **how)
    assert ours.converged and ours.solver == "smo"
    theirs = machine.predict(test) if name == "numbers" else machine.decision_function(test)
    np.testing.assert_allclose(Model(ours.model).decision_function(test), theirs, atol=2e-3)
    beta = np.zeros(len(y))
    beta[machine.support_] = machine.dual_coef_[0]
    if name == "classes":
        assert ours.primal == pytest.approx(np.abs(beta).sum() - 0.5 * beta @ K @ beta, rel=1e-6)


def test_classes_are_pairs_of_given_values():
    X, _ = rows()
    y, K = np.digitize(X[:, 0], [-0.5, 0.5]), rbf(X, X)
    ours = trained((K, y), task="multiclass", example_cost=2.0)
    theirs = SVC(C=2.0, kernel="precomputed", tol=1e-9).fit(K, y)
    assert ours.converged and (Model(ours.model).predict(K) == theirs.predict(K)).all()


def test_a_matrix_that_is_not_definite_never_converges():
    X, y = rows()
    below = np.tanh(X @ X.T - 1)  # on the diagonal
    within = np.where(np.eye(len(X)) > 0, 1.0, np.abs(np.tanh(X @ X.T)))  # Cauchy and Schwarz
    for K, how in (
        (below, {"example_cost": 2.0}),
        (within, {"example_cost": 2.0}),
        (within, {"task": "one-class", "nu": 0.5}),
        (within, {"task": "regression", "nu": 0.5}),
    ):
        assert np.linalg.eigvalsh(K)[0] < -0.01
        outcome = trained((K, y), **how)
        assert not outcome.converged and np.isnan(outcome.dual)
        assert any("not positive semidefinite" in text for text in outcome.warnings)


def test_what_rounding_does_to_a_gram_matrix_is_forgiven_and_counted():
    X, y = rows(300)
    K = (X @ X.T).astype(np.float32)
    assert np.linalg.eigvalsh(K.astype(float))[0] < 0
    shift, why = definite_shift(K)
    assert not why and 0 < shift <= 300 * 2.0**-24 * K.max()
    ours = svmcut.train((K, y), kernel="precomputed", example_cost=1.0, gap=1e-3)
    plain = svmcut.train((X, y), solver="smo", example_cost=1.0, gap=1e-6)
    assert ours.converged and ours.dual <= plain.primal and plain.dual <= ours.primal
    assert definite_shift(np.eye(5, dtype=np.float32)) == (0.0, "")
    assert smallest_ritz(np.diag([-1.0, 2.0, 3.0]).astype(np.float32)) == pytest.approx(-1)


def lines(K, y, serials):
    return "".join(
        f"{label:g} 0:{serial} " + " ".join(f"{j + 1}:{v:.9g}" for j, v in enumerate(row)) + "\n"
        for row, label, serial in zip(K, y, serials, strict=True)
    )


def test_files_of_both_forms_train_what_arrays_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = rows()
    K = rbf(X, X)
    Path("text").write_text(lines(K, y, range(1, len(y) + 1)))
    np.save("matrix.npy", np.column_stack([y, K]))
    found = [trained(data, example_cost=1.0) for data in ("text", "matrix.npy", (K, y))]
    assert len({outcome.primal for outcome in found}) == 1
    order = np.random.default_rng(1).permutation(len(y))[:50]  # some points, in any order
    Path("some").write_text(lines(K[order], y[order], order + 1))
    part = trained("some", example_cost=1.0)
    whole = trained((K[np.ix_(order, order)], y[order]), example_cost=1.0)
    assert part.primal == pytest.approx(whole.primal, rel=1e-9)
    np.testing.assert_allclose(
        Model(part.model).decision_function(K),
        Model(whole.model).decision_function(K[:, order]),
        atol=1e-6,
    )


@pytest.mark.parametrize(
    "serials, change, told",
    [
        ([1, 2, 9, 4], None, r"text:3: serial number 0:9 is none of the 4 columns; expected"),
        ([1, 2.5, 3, 4], None, r"text:2: serial number 0:2.5 is none of the 4 columns"),
        ([1, 2, 3, 4], (0, 2), r"text:1: the value of points 1 and 3 is 9, but .* symmetric"),
    ],
)
def test_bad_lines_are_named(tmp_path, monkeypatch, serials, change, told):
    monkeypatch.chdir(tmp_path)
    K, y = np.eye(4) + 0.5, [1, 1, -1, -1]
    if change:
        K[change] = 9
    Path("text").write_text(lines(K, y, serials))
    with pytest.raises(DataError, match=told):
        trained("text", example_cost=1.0)


def test_rows_that_lack_values_the_model_needs_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    K, y = np.eye(4) + 0.5, [1, 1, -1, -1]
    outcome = trained((K, y), example_cost=1.0)
    outcome.save("model")
    for name, text in (("short", "1 0:1 1:1 2:2 3:0 4:1\n-1 0:2 1:1 3:1\n"), ("none", "1\n")):
        Path(name).write_text(text)
        at, last = {"short": (2, 3), "none": (1, 0)}[name]
        told = f"{name}:{at}: kernel values end at {last}, but the model needs those up to 4"
        assert call("svmcut classify", "-v", "0", name, "model", "scores") == 1
        with pytest.raises(DataError, match=told):
            list(Classification().stream(name, given=4))
        with pytest.raises(DataError, match=told):
            Classification().read(name, given=4)
    assert not Path("scores").exists()
    Path("whole").write_text("1 0:1 1:1 4:1\n")
    assert call("svmcut classify", "-v", "0", "whole", "model", "scores") == 0
    np.save("narrow.npy", np.ones((1, 4)))
    assert call("svmcut classify", "-v", "0", "narrow.npy", "model", "scores") == 1


def test_what_is_no_matrix_of_rows_with_rows_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = rows()
    K = rbf(X, X)
    with pytest.raises(DataError, match=r"90 rows and 80 columns.*square"):
        trained((K[:, :80], y), example_cost=1.0)
    Path("text").write_text("1 1:1 2:0\n-1 0:2 1:0 2:1\n")
    with pytest.raises(DataError, match=r"text:1: there is no serial number; expected 0:SERIAL"):
        trained("text", example_cost=1.0)
    np.save("cube.npy", np.zeros((2, 2, 2)))
    with pytest.raises(DataError, match=r"cube.npy: has shape \(2, 2, 2\); expected a matrix"):
        trained("cube.npy", example_cost=1.0)
    Path("bad.npy").write_text("nothing")
    with pytest.raises(DataError, match=r"bad.npy: is no matrix of NumPy"):
        trained("bad.npy", example_cost=1.0)
    for how, told in (
        ({"solver": "bsca"}, "computes kernel values"),
        ({"loss": "f1", "cost": 1.0}, "f1"),
        ({"task": "rank", "cost": 1.0}, "not with the precomputed kernel"),
        ({"initial": "model"}, "names rows by their features"),
    ):
        with pytest.raises(UsageError, match=told):
            svmcut.train((K, y), kernel="precomputed", **how)
