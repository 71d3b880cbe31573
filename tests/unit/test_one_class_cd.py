# SPDX-License-Identifier: BSD-3-Clause
"""The one-class machine on features: its optimum beside scikit-learn's, its certificate, its
steps."""

import numpy as np
import pytest
from sklearn.svm import OneClassSVM

from svmcut._native import one_class, sparse
from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.solvers.compose import Watched
from svmcut.solvers.nu import NuProblem
from svmcut.solvers.one_class_cd import OneClassCd


def problem_of(A, nu, gap=1e-9):
    n = len(A)
    return NuProblem(
        Csr.from_dense(A.astype(np.float32)),
        np.zeros(n),
        np.ones(n),
        (nu * n, 0.0),
        Kernel(),
        gap=gap,
    )


def rows(n, d, shift, seed=3):
    rng = np.random.default_rng(seed)
    A = np.round(rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6) + shift, 3)
    return A.astype(np.float32).astype(np.float64)


@pytest.mark.parametrize(("n", "d", "shift"), [(60, 3, 1.0), (150, 8, 0.8), (40, 90, 0.2)])
@pytest.mark.parametrize("nu", [0.02, 0.31, 0.8])
def test_the_optimum_is_that_of_scikit_learn(n, d, shift, nu):
    A = rows(n, d, shift)
    watched = Watched(OneClassCd(), problem_of(A, nu))
    steps = list(watched)
    run, last = watched.run, steps[-1]
    assert last.gap <= 1e-9 * abs(last.primal) and not watched.idle
    alpha = run.expansion().beta
    assert ((alpha >= 0) & (alpha <= 1)).all() and alpha.sum() == pytest.approx(nu * n, rel=1e-9)
    np.testing.assert_allclose(run.w, A.T @ alpha, atol=1e-9)
    other = OneClassSVM(kernel="linear", nu=nu, tol=1e-9).fit(A)
    w = other.dual_coef_[0] @ other.support_vectors_
    for a, rho in ((run.w, run.levels()[0]), (w, float(-other.intercept_[0]))):
        f = A @ a
        value = a @ a / 2 - nu * n * rho + np.maximum(0, rho - f).sum()
        assert value == pytest.approx(last.primal, rel=1e-6)
    assert all(step.dual <= last.primal + 1e-9 * abs(last.primal) for step in steps)


def test_a_pass_keeps_the_sum_and_lowers_the_square():
    A = rows(50, 6, 0.3)
    X = Csr.from_dense(A.astype(np.float32))
    native, norms, top = sparse.Rows(X), (A * A).sum(axis=1), np.ones(50)
    alpha = np.where(np.arange(50) < 20, 1.0, 0.0)
    w, every = A.T @ alpha, np.arange(50, dtype=np.int32)
    for some in (every, every[10:30].copy(), every):
        before, others = w @ w, np.setdiff1d(every, some)
        kept = alpha[others].copy()
        assert one_class.pairs(native, norms, top, some, alpha, w) > 0
        assert w @ w < before and alpha.sum() == pytest.approx(20)
        assert (alpha[others] == kept).all() and alpha.min() >= 0 and alpha.max() <= 1
        np.testing.assert_allclose(w, A.T @ alpha, atol=1e-9)
    with pytest.raises(ValueError, match="a row that is none"):
        one_class.pairs(native, norms, top, np.array([50], np.int32), alpha, w)


def test_an_origin_among_the_rows_leaves_nothing():
    A = rows(80, 3, 0.0)
    watched = Watched(OneClassCd(), problem_of(np.vstack([A, -A]), 0.4, 1e-3))
    assert list(watched)[-1].dual > -1e-6 and not watched.idle
    assert abs(watched.run.levels()[0]) < 1e-4
