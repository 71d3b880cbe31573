# SPDX-License-Identifier: BSD-3-Clause
"""Objective and predictions of LinearSVC and SVC on fifteen sets, beside scikit-learn's."""

import numpy as np
import pytest
import sklearn.svm as theirs
from sklearn import datasets as sets
from sklearn.preprocessing import StandardScaler

from svmcut import compat

MADE = {
    "iris": lambda: sets.load_iris(return_X_y=True),
    "wine": lambda: sets.load_wine(return_X_y=True),
    "cancer": lambda: sets.load_breast_cancer(return_X_y=True),
    "digits": lambda: tuple(part[:600] for part in sets.load_digits(return_X_y=True)),
    "odd digits": lambda: (sets.load_digits().data[:400], sets.load_digits().target[:400] % 2),
    "moons": lambda: sets.make_moons(200, noise=0.3, random_state=0),
    "circles": lambda: sets.make_circles(200, noise=0.2, factor=0.5, random_state=0),
    "blobs": lambda: sets.make_blobs(200, 3, centers=5, cluster_std=3.0, random_state=0),
    "quantiles": lambda: sets.make_gaussian_quantiles(n_samples=200, random_state=0),
    "hastie": lambda: sets.make_hastie_10_2(300, random_state=0),
    "wide": lambda: sets.make_classification(80, 300, n_informative=20, random_state=0),
    "flipped": lambda: sets.make_classification(300, 20, flip_y=0.2, random_state=0),
    "unbalanced": lambda: sets.make_classification(300, 10, weights=[0.9], random_state=0),
    "classes": lambda: sets.make_classification(
        300, 12, n_informative=8, n_classes=4, random_state=0
    ),
    "redundant": lambda: sets.make_classification(250, 30, n_redundant=20, random_state=0),
}


def linear_objective(machine, X, y, C):
    """The sum over machines of 1/2 (|w|^2 + b^2) + C sum max(0, 1 - y f)^2."""
    scores = machine.decision_function(X).reshape(len(y), -1)
    K = scores.shape[1]
    signs = np.where(y[:, None] == machine.classes_[-K:], 1.0, -1.0)
    losses = np.square(np.maximum(0, 1 - signs * scores)).sum()
    return 0.5 * (np.sum(machine.coef_**2) + np.sum(machine.intercept_**2)) + C * losses


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MADE)
def test_objective_and_predictions(name):
    X, y = MADE[name]()
    X = StandardScaler().fit_transform(X)
    ours = compat.LinearSVC(C=0.5, random_state=0).fit(X, y)
    other = theirs.LinearSVC(C=0.5, random_state=0, max_iter=20_000).fit(X, y)
    mine, known = (linear_objective(machine, X, y, 0.5) for machine in (ours, other))
    assert mine <= known * (1 + 2e-5) and mine == pytest.approx(ours.primal_.sum(), rel=1e-5)
    assert np.mean(ours.predict(X) == other.predict(X)) >= 0.99
    ours, other = (kind(C=2.0, tol=1e-4).fit(X, y) for kind in (compat.SVC, theirs.SVC))
    assert np.mean(ours.predict(X) == other.predict(X)) >= 0.995
    assert np.abs(ours.decision_function(X) - other.decision_function(X)).max() < 5e-3
    two = len(ours.classes_) == 2
    dual = np.abs(other.dual_coef_).sum() - 0.5 * (
        other.dual_coef_ @ (other.decision_function(X)[other.support_] - other.intercept_)
        if two
        else 0
    )
    if two:  # LIBSVM's value of the dual, which no primal value is below
        assert ours.dual_[0] == pytest.approx(dual[0], rel=1e-3)
        assert ours.primal_[0] >= dual[0] * (1 - 1e-6)
