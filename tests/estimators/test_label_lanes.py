# SPDX-License-Identifier: BSD-3-Clause
"""MultilabelSVM on labels in lanes: sparse labels and weights, and the best labels of a row."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from svmcut import MultilabelSVM
from svmcut.base.errors import UsageError


def data(seed=0, n=60, d=12, K=10):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    Y = (X @ rng.normal(size=(d, K)) > 1.5).astype(int)
    Y[:, 3] = 0  # a label that no row has
    return X, Y


def test_pruned_labels_predict_as_their_weights_do():
    X, Y = data()
    with pytest.warns(UserWarning, match="prune='auto'"):
        machine = MultilabelSVM(pairs="none", prune=0.05, tol=1e-3).fit(X, csr_matrix(Y))
    coef = machine.coef_.toarray()
    assert coef.shape == (10, 12) and not coef[3].any() and machine.pair_coef_ is None
    assert np.abs(coef[coef != 0]).min() >= np.float32(0.05)
    scores = machine.decision_function(X)
    assert np.allclose(scores, X.astype(np.float32) @ coef.T + machine.intercept_)
    assert np.array_equal(machine.predict(X), scores > 0)
    assert 0.5 < machine.score(X, csr_matrix(Y)) <= 1


@pytest.mark.parametrize("given", [{}, {"pairs": "none"}, {"pairs": "none", "prune": "auto"}])
def test_the_best_labels_are_those_with_the_highest_scores(monkeypatch, given):
    monkeypatch.setattr("svmcut.estimators.structured.BLOCK_NUMBERS", 70)
    X, Y = data(1)
    machine = MultilabelSVM(tol=1e-2, **given).fit(X, Y)
    labels, values = machine.predict_top_k(X, 4)
    scores = machine.decision_function(X)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :4]
    assert np.array_equal(labels, order)
    assert np.array_equal(values, np.take_along_axis(scores, order, axis=1))
    assert machine.predict_top_k(X, 99)[0].shape == (60, 10)
    for wrong in (0, 1.5):
        with pytest.raises(ValueError, match="k is"):
            machine.predict_top_k(X, wrong)


def test_pruning_needs_labels_of_their_own():
    with pytest.raises(UsageError, match="prune"):
        MultilabelSVM(prune=0.1).fit(*data())


def test_a_tree_predicts_sets_and_the_best_labels(tmp_path):
    X, Y = data(2)
    machine = MultilabelSVM(pairs="none", tree=True, tol=1e-2).fit(X, Y)
    scores = machine.decision_function(X)
    assert np.array_equal(machine.predict(X), scores > np.log(0.5))
    labels, values = machine.predict_top_k(X, 3)
    assert np.array_equal(values, -np.sort(-scores, axis=1)[:, :3])
    assert np.array_equal(np.take_along_axis(scores, labels, 1), values)
    assert not hasattr(machine, "coef_") and machine.pair_coef_ is None
    machine.save(tmp_path / "model")
    assert (tmp_path / "model").read_bytes().startswith(b"svmcut label tree 1\n")
