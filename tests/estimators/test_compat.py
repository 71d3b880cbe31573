# SPDX-License-Identifier: BSD-3-Clause
"""svmcut.compat beside scikit-learn: the same objective, predictions and attributes."""

import functools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm as theirs
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

import svmcut
from svmcut import compat
from svmcut.base.errors import UsageError

#: LIBSVM's solutions at this tolerance agree with ours to the digits compared.
FINE = {"tol": 1e-6}


@functools.cache
def data(name):
    if name == "blobs":
        X, y = datasets.make_blobs(120, 4, centers=4, cluster_std=4.0, random_state=3)
    elif name == "moons":
        X, y = datasets.make_moons(150, noise=0.3, random_state=1)
    elif name == "words":
        X, y = datasets.load_wine(return_X_y=True)
        X, y = StandardScaler().fit_transform(X), np.array(["red", "rosé", "white"])[y]
    elif name == "digits":
        X, y = datasets.load_digits(n_class=5, return_X_y=True)
        X, y = X[:250] / 16, y[:250]
    else:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        X = StandardScaler().fit_transform(X)
    return X.astype(np.float32).astype(float), y


@pytest.mark.parametrize("name", ["iris", "moons", "words", "digits", "blobs", "breast_cancer"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_svc_has_the_attributes_of_theirs(name, kernel):
    X, y = data(name)
    how = {"kernel": kernel, "C": 2.0, "class_weight": "balanced", "coef0": 0.5, **FINE}
    ours, other = compat.SVC(**how).fit(X, y), theirs.SVC(**how).fit(X, y)
    assert ours._gamma == pytest.approx(other._gamma, rel=1e-12)
    np.testing.assert_array_equal(ours.predict(X), other.predict(X))
    np.testing.assert_allclose(ours.class_weight_, other.class_weight_)
    for shape in ("ovo", "ovr"):
        scores = [m.set_params(decision_function_shape=shape) for m in (ours, other)]
        found, expected = (m.decision_function(X) for m in scores)
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4)
    np.testing.assert_allclose(ours.intercept_, other.intercept_, atol=2e-4)
    assert ours.n_iter_.shape == other.n_iter_.shape and ours.shape_fit_ == other.shape_fit_
    if kernel == "linear":
        np.testing.assert_allclose(ours.coef_, other.coef_, atol=2e-4)
    if list(ours.support_) == list(other.support_):  # which an ambiguous row need not be
        np.testing.assert_array_equal(ours.n_support_, other.n_support_)
        np.testing.assert_array_equal(ours.support_vectors_, other.support_vectors_)
    assert len(np.setxor1d(ours.support_, other.support_)) <= 0.05 * len(other.support_) + 1
    rows = {row: k for k, row in enumerate(ours.support_)}
    for k, row in enumerate(other.support_):
        mine = ours.dual_coef_[:, rows[row]] if row in rows else 0
        np.testing.assert_allclose(mine, other.dual_coef_[:, k], atol=5e-3)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_svr_has_the_attributes_of_theirs(kernel):
    X, y = data("diabetes")
    how = {"kernel": kernel, "C": 5.0, "epsilon": 5.0, **FINE}
    ours, other = compat.SVR(**how).fit(X, y), theirs.SVR(**how).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), other.predict(X), atol=2e-3)
    np.testing.assert_allclose(ours.intercept_, other.intercept_, atol=2e-3)
    assert ours.dual_coef_.sum() == pytest.approx(0, abs=1e-6)
    assert type(ours.n_iter_) is int and ours.n_support_.tolist() == [len(ours.support_)]
    assert len(np.setxor1d(ours.support_, other.support_)) <= 3
    assert hasattr(ours, "coef_") == (kernel == "linear")


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("name", ["moons", "words", "digits"])
def test_nu_svc_has_the_attributes_of_theirs(name, kernel):
    X, y = data(name)
    how = {"kernel": kernel, "nu": 0.5 if name == "moons" else 0.3, **FINE}
    ours, other = compat.NuSVC(**how).fit(X, y), theirs.NuSVC(**how).fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), other.predict(X))
    np.testing.assert_allclose(
        ours.decision_function(X), other.decision_function(X), rtol=5e-3, atol=5e-3
    )
    assert ours.dual_coef_.shape[0] == other.dual_coef_.shape[0]
    assert len(np.setxor1d(ours.support_, other.support_)) <= 0.1 * len(other.support_) + 1
    np.testing.assert_allclose(
        np.abs(ours.dual_coef_).sum(), np.abs(other.dual_coef_).sum(), rtol=5e-3
    )


def test_nu_svr_and_one_class_have_the_attributes_of_theirs():
    X, y = data("diabetes")
    how = {"nu": 0.3, **FINE}
    ours, other = compat.NuSVR(C=5.0, **how).fit(X, y), theirs.NuSVR(C=5.0, **how).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), other.predict(X), atol=5e-3)
    assert type(ours.n_iter_) is int and abs(len(ours.support_) - len(other.support_)) <= 3
    ours, other = compat.OneClassSVM(**how).fit(X), theirs.OneClassSVM(**how).fit(X)
    np.testing.assert_allclose(ours.decision_function(X), other.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(ours.offset_, other.offset_, rtol=1e-5)
    assert np.abs(ours.score_samples(X) - other.score_samples(X)).max() < 1e-4
    assert np.mean(ours.predict(X) == other.predict(X)) > 0.99
    assert ours.dual_coef_.sum() == pytest.approx(other.dual_coef_.sum(), rel=1e-5)


def test_a_callable_takes_what_it_likes():
    words, y = ["a a", "a", "b", "b b", "a b"] * 4, [1, 1, 2, 2, 1] * 4

    def shared(one, other):
        count = [[text.count(letter) for letter in "ab"] for text in one]
        return np.array(count) @ np.array([[text.count(c) for text in other] for c in "ab"])

    machine = compat.SVC(kernel=shared).fit(words, y)
    assert machine.score(words, y) == 1 and machine.support_vectors_[0] in words
    X, y = data("moons")
    given = compat.SVC(kernel=lambda A, B: sp.csr_matrix(A @ B.T)).fit(X, y)
    plain = compat.SVC(kernel="linear").fit(X, y)
    np.testing.assert_allclose(given.decision_function(X), plain.decision_function(X), atol=0.01)
    with pytest.raises(ValueError, match="kernel: gave an array of shape"):
        compat.SVC(kernel=lambda A, B: np.ones((2, 2))).fit(X, y)


@pytest.mark.parametrize(
    ("how", "atol"),
    [
        ({}, 1e-3),
        ({"loss": "hinge", "max_iter": 100_000}, 5e-3),
        ({"dual": False}, 1e-3),
        ({"dual": True, "max_iter": 100_000}, 1e-3),
        ({"penalty": "l1", "dual": False, "C": 0.5, "max_iter": 100_000}, 2e-3),
        ({"fit_intercept": False}, 1e-3),
        ({"intercept_scaling": 10.0, "dual": False}, 1e-3),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["iris", "words", "moons"])
def test_linear_svc_is_theirs(name, how, atol):
    X, y = data(name)
    ours = compat.LinearSVC(random_state=0, tol=1e-7, **how).fit(X, y)
    other = theirs.LinearSVC(random_state=0, tol=1e-7, **how).fit(X, y)
    np.testing.assert_allclose(ours.coef_, other.coef_, atol=atol)
    np.testing.assert_allclose(ours.intercept_, other.intercept_, atol=atol)
    assert np.mean(ours.predict(X) == other.predict(X)) > 0.99
    assert (ours.solver_ == "newton") == (how.get("dual") is not True and "penalty" not in how)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_linear_svr_is_theirs(loss):
    X, y = data("diabetes")
    how = {"loss": loss, "epsilon": 1.0, "C": 0.1, "max_iter": 100_000, "random_state": 0}
    ours = compat.LinearSVR(tol=1e-6, **how).fit(X, y)
    other = theirs.LinearSVR(tol=1e-6, **how).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), other.predict(X), rtol=5e-3)


def test_sparse_rows_have_sparse_attributes():
    X, y = data("iris")
    for kernel in ("linear", "rbf"):
        dense = compat.SVC(kernel=kernel).fit(X, y)
        sparse = compat.SVC(kernel=kernel).fit(sp.csr_matrix(X), y)
        names = ["support_vectors_", "dual_coef_", *["coef_"] * (kernel == "linear")]
        for name in names:
            assert sp.issparse(getattr(sparse, name))
            np.testing.assert_allclose(getattr(sparse, name).toarray(), getattr(dense, name))
        np.testing.assert_array_equal(sparse.predict(X), dense.predict(sp.csr_matrix(X)))
    machine = compat.LinearSVC().fit(X, y)
    scores = machine.decision_function(X)
    assert sp.issparse(machine.sparsify().coef_)
    np.testing.assert_array_equal(machine.decision_function(X), scores)
    assert not sp.issparse(machine.densify().coef_)


def test_rows_that_weigh_nothing_are_no_support_vectors():
    X, y = data("iris")
    weights = np.where(np.arange(len(y)) % 3 == 1, 0.0, 1.0)
    weights[:5] = -1.0
    part = weights > 0
    ours = compat.SVC(**FINE).fit(X, y, weights)
    alone = compat.SVC(gamma=ours._gamma, **FINE).fit(X[part], y[part])
    np.testing.assert_array_equal(ours.support_, np.flatnonzero(part)[alone.support_])
    np.testing.assert_array_equal(ours.dual_coef_, alone.dual_coef_)
    weights = np.where(y == 2, 0.0, 1.0)
    weights[0] = -1.0
    two = compat.SVC(class_weight={2: 5.0, 1: 2.0}).fit(X, y, weights)
    assert two.classes_.tolist() == [0, 1] and two.class_weight_.tolist() == [1.0, 2.0]
    assert 0 not in two.support_


@pytest.mark.parametrize("name", ["moons", "words"])
def test_probabilities_are_those_of_pairs(name):
    X, y = data(name)
    machine = compat.SVC(probability=True, random_state=0).fit(X, y)
    K = len(machine.classes_)
    P = machine.predict_proba(X)
    assert P.shape == (len(y), K) and machine.probA_.shape == machine.probB_.shape
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_allclose(np.log(P), machine.predict_log_proba(X))
    assert len(machine.probA_) == K * (K - 1) // 2
    assert np.mean(machine.classes_[P.argmax(axis=1)] == machine.predict(X)) > 0.95
    native = svmcut.KernelSVM(probability=True, multi_class="ovo", random_state=0).fit(X, y)
    assert np.abs(native.predict_proba(X) - P).max() < 0.1
    plain = compat.SVC().fit(X, y)
    assert plain.probA_.shape == (0,) and not hasattr(plain, "predict_proba")


@pytest.mark.filterwarnings("ignore")  # the attributes leave scikit-learn
def test_sigmoids_of_two_classes_are_those_of_the_first_as_in_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=150) > 0.8).astype(int)  # B is far from 0
    for kind, error in ((compat.SVC, 1e-12), (theirs.SVC, 0.01)):  # theirs are coupled to 0.0025
        machine = kind(probability=True, random_state=0).fit(X, y)
        A, B = machine.probA_[0], machine.probB_[0]
        first = 1 / (1 + np.exp(-A * machine.decision_function(X) + B))
        np.testing.assert_allclose(machine.predict_proba(X)[:, 0], first, atol=error)


def test_a_machine_is_kept_and_saved(tmp_path):
    X, y = data("iris")
    for machine in (compat.SVC(probability=True), compat.SVC(kernel="linear"), compat.LinearSVC()):
        machine.fit(X, y)
        again = pickle.loads(pickle.dumps(machine))
        np.testing.assert_array_equal(again.predict(X), machine.predict(X))
        machine.save(tmp_path / "model")
        assert np.mean(svmcut.load(tmp_path / "model").predict(X) == machine.predict(X)) > 0.99
        assert not any(name.startswith("_given") for name in vars(machine))


def test_other_spellings():
    X, y = data("moons")
    for one, other in (
        (svmcut.LinearSVM(loss="squared_hinge"), svmcut.LinearSVM(loss="squared-hinge")),
        (svmcut.LinearSVM(loss="log_loss"), svmcut.LinearSVM(loss="logistic")),
        (svmcut.KernelSVM(max_iter=-1), svmcut.KernelSVM()),
        (svmcut.LinearSVM(max_iter=-1), svmcut.LinearSVM()),
    ):
        scores = [m.set_params(random_state=0).fit(X, y).decision_function(X) for m in (one, other)]
        np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        (svmcut.LinearSVM(C=np.inf), "C=inf asks for no error at all.*up to 1e.12"),
        (svmcut.KernelSVM(C=np.inf), "C=inf asks for no error at all"),
        (compat.LinearSVC(dual=True, penalty="l1"), "penalty='l1', loss='squared_hinge' and dual="),
        (compat.LinearSVC(dual=False, loss="hinge"), "loss='hinge' needs dual=True or 'auto'"),
        (compat.LinearSVC(dual="no"), "dual='no' is unknown; expected True, False or 'auto'"),
        (compat.LinearSVC(loss="hings"), "loss 'hings' is unknown"),
        (compat.SVC(decision_function_shape="all"), "decision_function_shape='all' is neither"),
        (compat.SVC(shrinking="no"), "shrinking='no' is not True or False"),
        (compat.SVC(kernel="rbff"), "kernel 'rbff' is unknown"),
        (compat.SVC(tol=-1.0), "parameter 'tol' is -1"),
        (compat.SVR(epsilon=-1.0), "epsilon=-1.0 is not a finite number of at least 0"),
    ],
    ids=repr,
)
def test_refusals(machine, message):
    with pytest.raises(UsageError, match=message):
        machine.fit(*data("moons"))


def test_what_has_no_effect_is_said():
    with pytest.warns(UserWarning, match="shrinking=False has no effect"):
        compat.SVC(shrinking=False).fit(*data("moons"))
    X, y = data("iris")
    machine = compat.SVC(break_ties=True).fit(X, y)
    np.testing.assert_array_equal(machine.predict(X), machine.decision_function(X).argmax(axis=1))
    with pytest.raises(UsageError, match="break_ties must be False with"):
        machine.set_params(decision_function_shape="ovo").predict(X)


def test_a_class_that_is_absent_may_be_weighed_where_all_others_are():
    X, y = data("iris")
    two = y < 2
    every = svmcut.LinearSVM(class_weight={0: 1, 1: 2, 2: 3}, random_state=0).fit(X[two], y[two])
    own = svmcut.LinearSVM(class_weight={0: 1, 1: 2}, random_state=0).fit(X[two], y[two])
    np.testing.assert_array_equal(every.coef_, own.coef_)
    with pytest.raises(ValueError, match="no row is of class 2; expected 0, 1"):
        svmcut.LinearSVM(class_weight={0: 1, 2: 3}).fit(X[two], y[two])


def test_infinity_is_a_large_c():
    X, y = data("iris")
    two = y < 2
    ours = compat.SVC(C=np.inf, kernel="linear").fit(X[two], y[two])
    other = theirs.SVC(C=np.inf, kernel="linear").fit(X[two], y[two])
    np.testing.assert_allclose(ours.coef_, other.coef_, atol=2e-3)
