# SPDX-License-Identifier: BSD-3-Clause
"""What users of LinearSVC and SVC write, and the attributes they read, one by one."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm as theirs

import svmcut
from svmcut import compat

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
TWO = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
THREE = np.digitize(X[:, 0], [-0.5, 0.5])
KINDS = {  # of attributes of SVC: the type of their values and their shape for dense rows
    "support_": ("i", 1),
    "support_vectors_": ("f", 2),
    "n_support_": ("i", 1),
    "dual_coef_": ("f", 2),
    "intercept_": ("f", 1),
    "probA_": ("f", 1),
    "probB_": ("f", 1),
    "n_iter_": ("i", 1),
    "class_weight_": ("f", 1),
}


@pytest.mark.parametrize(
    "machine",
    [
        svmcut.LinearSVM(loss="squared_hinge"),
        svmcut.LinearSVM(loss="log_loss"),
        svmcut.LinearSVM(max_iter=-1),
        svmcut.KernelSVM(kernel="poly", degree=3),
        svmcut.KernelSVM(max_iter=-1),
        compat.SVC(C=np.inf),
        compat.SVC(max_iter=-1, kernel="poly"),
        compat.SVC(break_ties=True),
        compat.LinearSVC(dual=True),
        compat.LinearSVC(dual=False),
        compat.LinearSVC(dual="auto", penalty="l2"),
        compat.LinearSVC(dual=False, penalty="l1"),
        compat.SVC(class_weight={0: 1, 1: 2, 7: 3}),
        svmcut.LinearSVM(class_weight={0: 1, 1: 2, 7: 3}),
    ],
    ids=repr,
)
def test_spellings_train(machine):
    assert machine.fit(X, TWO).score(X, TWO) > 0.7


@pytest.mark.parametrize("shape, columns", [("ovr", 4), ("ovo", 6)])
def test_shapes_of_decisions(shape, columns):
    four = np.digitize(X[:, 0], [-0.7, 0, 0.7])
    values = [
        kind(kernel="linear", decision_function_shape=shape, tol=1e-7)
        .fit(X, four)
        .decision_function(X)
        for kind in (compat.SVC, theirs.SVC)
    ]
    assert values[0].shape == (60, columns)
    np.testing.assert_allclose(values[0], values[1], atol=1e-4)  # confidences as SVC's


@pytest.mark.filterwarnings("ignore:.*probability:FutureWarning")
@pytest.mark.parametrize("rows", [X, sp.csr_matrix(X)], ids=["dense", "sparse"])
def test_attributes_are_those_of_svc(rows):
    ours, other = (
        kind(probability=True, class_weight="balanced", random_state=0).fit(rows, THREE)
        for kind in (compat.SVC, theirs.SVC)
    )
    for name, (kind, ndim) in KINDS.items():
        value, known = getattr(ours, name), getattr(other, name)
        assert sp.issparse(value) == sp.issparse(known), name
        assert value.dtype.kind == kind and value.ndim == known.ndim == ndim, name
        assert value.shape == known.shape or name in ("probA_", "probB_"), name
    assert ours.shape_fit_ == other.shape_fit_ and ours.fit_status_ == other.fit_status_ == 0
    linear = [kind(kernel="linear").fit(rows, THREE).coef_ for kind in (compat.SVC, theirs.SVC)]
    assert sp.issparse(linear[0]) == sp.issparse(linear[1]) and linear[0].shape == linear[1].shape
    assert not hasattr(ours, "coef_")


def test_what_cannot_be_is_refused_with_its_reason():
    with pytest.raises(ValueError, match="C=inf asks for no error at all"):
        svmcut.LinearSVM(C=np.inf).fit(X, TWO)
    few = np.r_[1, np.zeros(59, int)]
    with pytest.raises(ValueError, match="there is one row of a class; probabilities need two"):
        compat.SVC(probability=True).fit(X, few)


@pytest.mark.parametrize(
    "machine", [compat.SVC(probability=True), svmcut.LinearSVM(probability=True)], ids=repr
)
def test_two_rows_of_a_class_are_enough_for_probabilities(machine):
    few = np.r_[1, 1, np.zeros(58, int)]
    P = machine.fit(X, few).predict_proba(X)
    assert P.shape == (60, 2) and np.allclose(P.sum(axis=1), 1) and 0 < P[:, 1].mean() < 0.5
