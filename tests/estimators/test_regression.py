# SPDX-License-Identifier: BSD-3-Clause
"""Regressors: the objective they certify, scikit-learn's own machines, weights, units, files."""

import doctest
import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVR, LinearSVR

import svmcut
from svmcut import KernelSVMRegressor, LinearSVMRegressor
from svmcut.cli.start import main
from svmcut.estimators import kernel, regression


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(160, 3)).astype(np.float32)
    return X, 3 + np.sin(2 * X[:, 0].astype(float)) + X[:, 1] + 0.2 * rng.normal(size=160)


def losses(y, f, v=1.0, tube=0.1):
    return float(np.sum(v * np.maximum(0, np.abs(y - f) - tube)))


@pytest.mark.parametrize("module", [kernel, regression], ids=lambda module: module.__name__)
def test_examples_of_the_docstrings(module):
    found = doctest.testmod(module)
    assert found.attempted > 2 and not found.failed


def test_a_linear_regressor_certifies_its_objective_and_is_never_above_liblinear(numbers):
    X, y = numbers
    for v in (None, np.random.default_rng(1).choice([0.0, 0.5, 3.0], len(y))):
        machine = LinearSVMRegressor(C=2.0, random_state=0).fit(X, y, v)
        value = 0.5 * (np.square(machine.coef_).sum() + machine.intercept_[0] ** 2)
        value += 2.0 * losses(y, machine.predict(X), 1.0 if v is None else v)
        assert machine.primal_ == pytest.approx(value, rel=1e-6) and machine.converged_
        assert 0 <= machine.gap_ <= 1e-3 * machine.primal_ and machine.coef_.shape == (3,)
        theirs = LinearSVR(C=2.0, epsilon=0.1, tol=1e-8, max_iter=10**6, random_state=0).fit(
            X.astype(float), y, v
        )
        best = 0.5 * (np.square(theirs.coef_).sum() + theirs.intercept_[0] ** 2)
        best += 2.0 * losses(y, theirs.predict(X.astype(float)), 1.0 if v is None else v)
        assert machine.dual_ <= best <= machine.primal_ * (1 + 1e-6) <= best * 1.0011
    assert machine.score(X, y) > 0.6 and machine.score(X, y, v) != machine.score(X, y)


@pytest.mark.parametrize(
    "options", [{}, {"fit_intercept": False}, {"solver": "cutting-plane"}], ids=str
)
def test_a_regressor_with_a_kernel_certifies_its_objective(numbers, options):
    X, y = numbers
    K = rbf_kernel(X.astype(float), gamma=0.5)
    for v in (np.ones(len(y)), np.random.default_rng(2).choice([0.0, 0.5, 3.0], len(y))):
        machine = KernelSVMRegressor(C=2.0, gamma=0.5, **options).fit(X, y, v)
        f = machine.predict(X)
        free = f - machine.intercept_[0]
        beta, Z = machine.dual_coef_[0], machine.support_vectors_
        there = rbf_kernel(X.astype(float), Z.toarray().astype(float), gamma=0.5)
        np.testing.assert_allclose(free, there @ beta, atol=1e-6)
        value = 0.5 * free @ np.linalg.solve(K + 1e-10 * np.eye(len(K)), free) + 2.0 * losses(
            y, f, v
        )
        assert machine.primal_ == pytest.approx(value, rel=1e-5) and machine.converged_
        assert 0 <= machine.gap_ <= 1e-3 * machine.primal_ and bool(machine.intercept_.any()) == (
            not options
        )
        if not options:
            theirs = SVR(C=2.0, gamma=0.5, epsilon=0.1, tol=1e-7).fit(X, y, v)
            np.testing.assert_allclose(f, theirs.predict(X), atol=0.1)
            tight = KernelSVMRegressor(C=2.0, gamma=0.5, tol=1e-8).fit(X, y, v)
            np.testing.assert_allclose(tight.predict(X), theirs.predict(X), atol=1e-3)


@pytest.mark.parametrize("Machine", [LinearSVMRegressor, partial(KernelSVMRegressor, gamma=0.5)])
def test_units_input_and_weights_change_nothing_else(numbers, Machine):
    X, y = numbers
    machine = Machine(random_state=0).fit(X, y)
    scaled = Machine(C=64.0, tube=6.4, random_state=0).fit(X, 64 * y)
    assert scaled.primal_ == pytest.approx(64**2 * machine.primal_, rel=1e-3)
    np.testing.assert_allclose(scaled.predict(X) / 64, machine.predict(X), atol=0.02)
    for rows in (X.astype(np.float64), csr_matrix(X)):
        again = Machine(random_state=0, n_jobs=2).fit(rows, y)
        assert again.predict(rows).tobytes() == machine.predict(X).tobytes()
    assert pickle.loads(pickle.dumps(machine)).predict(X).tobytes() == machine.predict(X).tobytes()
    twice, rows = 1 + np.arange(len(y)) % 2, np.repeat(np.arange(len(y)), 1 + np.arange(len(y)) % 2)
    weighed, repeated = (
        Machine(random_state=0).fit(X, y, twice),
        Machine(random_state=0).fit(X[rows], y[rows]),
    )
    assert abs(weighed.primal_ - repeated.primal_) <= weighed.gap_ + repeated.gap_


def test_targets_within_the_tube_are_met_without_loss(numbers):
    X, _ = numbers
    machine = KernelSVMRegressor().fit(X, np.full(len(X), 5.0))
    assert (
        machine.primal_ == machine.gap_ == 0
        and machine.converged_
        and len(machine.dual_coef_[0]) == 0
    )
    assert np.all(machine.predict(X) == 5.0)
    assert LinearSVMRegressor().fit(X, np.full(len(X), 0.05)).primal_ == 0


@pytest.mark.parametrize("machine", [LinearSVMRegressor(random_state=0), KernelSVMRegressor(C=3.0)])
def test_a_model_saved_predicts_from_the_shell(tmp_path, numbers, machine):
    X, y = numbers
    machine.fit(X, y).save(tmp_path / "model")
    dump_svmlight_file(X, y, str(tmp_path / "rows"), zero_based=False)
    assert main(["classify", *(str(tmp_path / name) for name in ("rows", "model", "out"))]) == 0
    np.testing.assert_allclose(
        machine.predict(X), np.loadtxt(tmp_path / "out"), rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(
        svmcut.load(tmp_path / "model").predict(X), machine.predict(X), rtol=1e-5, atol=1e-5
    )


def test_a_warm_start_goes_on_and_a_search_finds_c(numbers):
    X, y = numbers
    machine = LinearSVMRegressor(C=0.5, warm_start=True, tol=1e-6, random_state=0).fit(X, y)
    machine.set_params(C=0.6).fit(X, y)
    assert machine.primal_ == pytest.approx(
        LinearSVMRegressor(C=0.6, tol=1e-6).fit(X, y).primal_, rel=2e-6
    )
    search = GridSearchCV(KernelSVMRegressor(), {"C": [1e-3, 10.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"C": 10.0} and search.best_score_ > 0.7


def test_what_cannot_be_honoured_says_what_to_do(numbers):
    X, y = numbers
    for machine, words in (
        (LinearSVMRegressor(tube=-1), "parameter 'tube' is -1"),
        (KernelSVMRegressor(kernel="rbg"), "expected one of"),
        (LinearSVMRegressor(solver="smo"), "trains no weights of features"),
        (LinearSVMRegressor(C=0), "parameter 'C'"),
        (KernelSVMRegressor(solver="sbp"), "does not train targets"),
    ):
        with pytest.raises(ValueError, match=words):
            machine.fit(X, y)
    with pytest.raises(ValueError, match="sample_weight"):
        LinearSVMRegressor().fit(X, y, np.zeros(len(y)))
    with pytest.warns(ConvergenceWarning, match="above tol=1e-09"), warnings.catch_warnings():
        KernelSVMRegressor(tol=1e-9, max_iter=3).fit(X, y)
