# SPDX-License-Identifier: BSD-3-Clause
"""Nu machines against scikit-learn's and an independent QP, with the certificates of sheet C3."""

import functools

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import SVC, NuSVC, NuSVR, OneClassSVM

import svmcut
from svmcut.base.errors import TrainingError, UsageError
from svmcut.formats import read_model, write_model
from svmcut.loading import Model

KERNELS = {
    "linear": {},
    "rbf": {"gamma": 0.3},
    "polynomial": {"degree": 2, "scale_kernel": 0.5, "coef0": 1.0},
}


@functools.cache
def rows(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32) + np.float32(1.5)
    y = np.where(X[:, 0] + 0.2 * X[:, 1] ** 2 + 0.5 * rng.normal(size=n) > 2, 1.0, -1.0)
    return X, y, 2 * X[:, 0] + rng.normal(size=n)


def gram(X, Z, kernel, gamma=1.0, degree=3, scale_kernel=1.0, coef0=1.0):
    X, Z = X.astype(np.float64), Z.astype(np.float64)
    if kernel == "rbf":
        return np.exp(-gamma * ((X[:, None] - Z) ** 2).sum(axis=2))
    return X @ Z.T if kernel == "linear" else (scale_kernel * X @ Z.T + coef0) ** degree


def theirs(machine, K, y, **how):
    return machine(kernel="precomputed", tol=1e-10, **how).fit(K, y)


def trained(data, **how):
    return svmcut.train(data, gap=2e-7, threads=1, **how)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("nu", [0.4, 0.69])
def test_nu_svc_is_the_machine_of_one_over_rho(kernel, nu):
    X, y, _ = rows()
    known = KERNELS[kernel]
    ours, K = trained((X, y), nu=nu, kernel=kernel, **known), gram(X, X, kernel, **known)
    assert ours.converged and ours.solver == "smo" and ours.primal < 0
    assert ours.dual == pytest.approx(ours.primal, rel=2e-7)
    rho, oracle = ours.details["rho"], theirs(NuSVC, K, y, nu=nu)
    assert rho == pytest.approx(nu * len(y) / np.abs(oracle.dual_coef_).sum(), rel=1e-5)
    beta = np.zeros(len(y))
    beta[oracle.support_] = nu * len(y) * oracle.dual_coef_[0] / np.abs(oracle.dual_coef_).sum()
    assert ours.primal == pytest.approx(-0.5 * beta @ K @ beta, rel=1e-6)
    machine = theirs(SVC, K, y, C=1 / rho)
    for other in (oracle, machine):
        np.testing.assert_allclose(
            Model(ours.model).decision_function(X), other.decision_function(K), atol=3e-3
        )


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_class_is_that_of_libsvm(kernel, tmp_path):
    X, _, _ = rows()
    known = KERNELS[kernel]
    ours = trained((X, np.ones(len(X))), task="one-class", nu=0.2, kernel=kernel, **known)
    K = gram(X, X, kernel, **known)
    oracle, beta = theirs(OneClassSVM, K, None, nu=0.2), np.zeros(len(X))
    beta[oracle.support_] = oracle.dual_coef_[0]
    assert ours.converged and ours.primal == pytest.approx(-0.5 * beta @ K @ beta, rel=1e-6)
    assert ours.details["rho"] == pytest.approx(-oracle.intercept_[0], rel=1e-5)
    write_model(str(tmp_path / "model"), ours.model)
    again = svmcut.load(tmp_path / "model")
    scores = again.decision_function(X)
    np.testing.assert_allclose(scores, oracle.decision_function(K), rtol=1e-4, atol=3e-3)
    assert set(again.predict(X).tolist()) == {-1.0, 1.0}
    assert ((scores >= 0) == (again.predict(X) > 0)).all()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("C", [0.5, 20.0])
def test_nu_svr_is_that_of_libsvm(kernel, C):
    X, _, y = rows()
    known = KERNELS[kernel]
    data = {"task": "regression", "nu": 0.4, "kernel": kernel, "example_cost": C, **known}
    ours, K = trained((X, y), **data), gram(X, X, kernel, **known)
    oracle, beta = theirs(NuSVR, K, y, nu=0.4, C=C), np.zeros(len(X))
    beta[oracle.support_] = oracle.dual_coef_[0]
    assert ours.converged and ours.primal == pytest.approx(
        beta @ y - 0.5 * beta @ K @ beta, rel=1e-6
    )
    np.testing.assert_allclose(Model(ours.model).decision_function(X), oracle.predict(K), atol=2e-3)
    e = np.abs(y - Model(ours.model).decision_function(X))
    losses = np.maximum(0, e - ours.details["tube"]).sum()
    P = ours.norm**2 / 2 + C * (0.4 * len(y) * ours.details["tube"] + losses)
    assert ours.primal == pytest.approx(P, rel=1e-6)


def test_weights_are_those_of_an_independent_qp():
    X, y, _ = rows(24, 3)
    v = np.random.default_rng(2).uniform(0.3, 2.0, len(y))
    K, nu = gram(X, X, "rbf", 0.3), 0.4
    mass, sums = nu * v.sum() / 2, [(y > 0).astype(float), (y < 0).astype(float)]
    ours = trained((X, y), nu=nu, kernel="rbf", gamma=0.3, weights=v)
    Q = K * np.outer(y, y)
    found = minimize(
        lambda a: (0.5 * a @ Q @ a, Q @ a),
        np.full(len(y), mass / 20),
        jac=True,
        method="SLSQP",
        bounds=[(0, most) for most in v],
        constraints=[
            {"type": "eq", "fun": lambda a, u=u: u @ a - mass, "jac": lambda a, u=u: u}
            for u in sums
        ],
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert ours.primal == pytest.approx(-found.fun, rel=1e-6)


@pytest.mark.parametrize("task", ["classification", "one-class", "regression"])
def test_float32_rows_keep_the_certificate(task):
    X, y, z = rows(2300, 1)
    data = {"kernel": "rbf", "gamma": 0.3, "nu": 0.3}
    ours = trained((X, z if task == "regression" else y), task=task, **data)
    assert ours.converged and 0 <= ours.gap <= 2e-7 * abs(ours.primal)


def test_pairs_of_classes_are_trained_each():
    X, y, z = rows()
    y = np.digitize(z, [2.0, 4.0])
    ours = trained((X, y), task="multiclass", nu=0.2, kernel="rbf", gamma=1.0)
    oracle = NuSVC(nu=0.2, gamma=1.0, tol=1e-10).fit(X.astype(np.float64), y)
    assert ours.converged and len(ours.details["machines"]) == 3
    assert (Model(ours.model).predict(X) == oracle.predict(X.astype(np.float64))).all()


def test_what_is_not_feasible_is_refused():
    X, y, _ = rows()
    y = np.where(np.arange(len(y)) < 12, 1.0, -1.0)
    with pytest.raises(
        TrainingError,
        match=r"nu.*not feasible.*positive class weighs 12 and the negative one 108.*at most 0.2;",
    ):
        trained((X, y), nu=0.3, kernel="rbf")
    with pytest.raises(TrainingError, match=r"leaves no margin.*rho is 0"):
        trained((np.repeat(X[:20], 2, axis=0), np.tile([1.0, -1.0], 20)), nu=0.5)
    with pytest.raises(TrainingError, match=r"the origin is inside.*rho is 0"):
        svmcut.train((np.vstack([X, -X]), np.ones(2 * len(X))), task="one-class", nu=0.9)
    with pytest.raises(TrainingError, match="needs rows of two classes"):
        trained((X, np.ones(len(X))), nu=0.3)
    for parameters, told in (
        ({"nu": 1.5}, "nu"),
        ({"nu": 0.0}, "nu"),
        ({"nu": 0.2, "cost": 1.0}, "'cost'"),
        ({"task": "one-class", "example_cost": 1.0}, "'example_cost'"),
        ({"nu": 0.2, "free_bias": False}, "unregularised"),
        ({"task": "regression", "nu": 0.2, "tube": 0.1}, "tube"),
        ({"nu": 0.2, "loss": "f1", "cost": 1.0}, "error-rate only"),
        ({"nu": 0.2, "solver": "dual-cd"}, "'smo' or 'sbp'|smo"),
    ):
        with pytest.raises(UsageError, match=told):
            svmcut.train((X, y), **parameters)


def test_a_limit_leaves_a_model_that_is_certified(tmp_path):
    X, y, _ = rows(400, 5)
    ours = svmcut.train((X, y), nu=0.3, kernel="rbf", gamma=1.0, max_iterations=20, threads=1)
    assert ours.stopped_by == "limit" and ours.dual <= ours.primal
    whole = trained((X, y), nu=0.3, kernel="rbf", gamma=1.0)
    assert ours.dual <= whole.primal + 1e-9 and whole.dual <= ours.primal + 1e-9
    write_model(str(tmp_path / "model"), ours.model)
    assert read_model(str(tmp_path / "model")).support.n_rows == ours.model.support.n_rows


def test_a_large_constant_in_a_kernel_costs_no_steps(rng):
    X, y = rng.normal(size=(20, 5)), rng.normal(size=20)
    words = {"degree": 2, "scale_kernel": 0.014, "coef0": 1234567.9}
    found = svmcut.train(
        (X, y), task="regression", nu=0.6, example_cost=0.3, kernel="polynomial", gap=1e-4, **words
    )
    assert found.progress.iteration < 3_000_000 and found.gap <= 0.005 * found.primal
