# SPDX-License-Identifier: BSD-3-Clause
"""nu, one class and kernel values of estimators: scikit-learn's machines, with a certificate."""

import pickle

import numpy as np
import pytest
from sklearn import svm
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score

import svmcut
from svmcut import KernelSVM, KernelSVMRegressor, OneClassSVM


@pytest.fixture
def rows():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(90, 3)).astype(np.float32).astype(float)
    return X, X[:, 0] + 0.5 * rng.normal(size=90) > 0, X[:, 0] + rng.normal(size=90)


def test_nu_in_the_place_of_C_and_of_the_tube(rows):
    X, y, z = rows
    ours = KernelSVM(nu=0.41, gamma=0.5, tol=1e-7).fit(X, y)
    theirs = svm.NuSVC(nu=0.41, gamma=0.5, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
    assert ours.converged_ and ours.solver_ == "smo" and ours.primal_[0] < 0
    ours = KernelSVMRegressor(nu=0.41, C=2.0, gamma=0.5, tol=1e-7).fit(X, z)
    theirs = svm.NuSVR(nu=0.41, C=2.0, gamma=0.5, tol=1e-9).fit(X, z)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=2e-3)
    with pytest.raises(ValueError, match="nu=2"):
        KernelSVM(nu=2.0).fit(X, y)


def test_one_class_is_that_of_scikit_learn(rows, tmp_path):
    X, *_ = rows
    ours = OneClassSVM(nu=0.21, gamma=0.5, tol=1e-7).fit(X)
    theirs = svm.OneClassSVM(nu=0.21, gamma=0.5, tol=1e-9).fit(X)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
    assert ours.score_samples(X) == pytest.approx(theirs.score_samples(X), abs=1e-3)
    assert set(ours.fit_predict(X)) == {-1, 1} and ours.converged_
    ours.save(tmp_path / "model")
    assert (svmcut.load(tmp_path / "model").predict(X) == ours.predict(X)).mean() > 0.8
    again = pickle.loads(pickle.dumps(ours))
    assert (again.decision_function(X) == ours.decision_function(X)).all()


def test_kernel_values_and_callables_train_what_rows_do(rows):
    X, y, z = rows
    K = rbf_kernel(X, gamma=0.5)
    by_rows = KernelSVM(gamma=0.5, tol=1e-7).fit(X, y).decision_function(X[:20])
    given = KernelSVM(kernel="precomputed", tol=1e-6).fit(K, y)
    np.testing.assert_allclose(given.decision_function(K[:20]), by_rows, atol=2e-3)
    called = KernelSVM(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.5), tol=1e-6).fit(X, y)
    np.testing.assert_allclose(called.decision_function(X[:20]), by_rows, atol=2e-3)
    assert called.dual_coef_.shape[1] == called.support_vectors_.shape[0]
    assert given.__sklearn_tags__().input_tags.pairwise
    assert not called.__sklearn_tags__().input_tags.pairwise
    scores = cross_val_score(KernelSVM(kernel="precomputed"), K, y, cv=3)
    assert scores.min() > 0.5
    search = GridSearchCV(KernelSVM(kernel="precomputed"), {"C": [0.1, 1.0]}, cv=3).fit(K, y)
    assert search.best_score_ > 0.5
    three = np.digitize(z, [-0.5, 0.5])
    for way in ("ovr", "ovo"):
        of_pairs = KernelSVM(kernel="precomputed", multi_class=way).fit(K, three)
        assert of_pairs.predict(K).shape == (90,)
    regression = KernelSVMRegressor(kernel="precomputed", tol=1e-6).fit(K, z).predict(K[:9])
    np.testing.assert_allclose(
        regression, KernelSVMRegressor(gamma=0.5, tol=1e-7).fit(X, z).predict(X[:9]), atol=2e-3
    )
    assert OneClassSVM(kernel="precomputed").fit(K).predict(K).shape == (90,)
    for kernel, values, told in (
        ("precomputed", K[:, :40], "square"),
        (lambda A, B: np.ones(3), X, "gave an array of shape"),
        ("cosine", X, "or a callable"),
    ):
        with pytest.raises(ValueError, match=told):
            KernelSVM(kernel=kernel).fit(values, y)
