# SPDX-License-Identifier: BSD-3-Clause
"""Rows added and removed: the bound holds the scores of an optimum that L-BFGS-B finds, training
goes on from there, and what is no update is refused."""

import numpy as np
import pytest
from reference.optima import gram, optimum

import svmcut
from svmcut.base.errors import DataError, UsageError
from svmcut.data.changes import find_rows, row_keys
from svmcut.data.examples import Csr
from svmcut.tasks.protocol import make_task

MACHINES = {
    "hinge": {},
    "squared hinge": {"loss": "squared-hinge"},
    "logistic": {"loss": "logistic"},
    "rbf": {"kernel": "rbf", "gamma": 0.3},
    "polynomial": {"kernel": "polynomial", "degree": 2, "scale_kernel": 0.5, "coef0": 1.0},
}


def rows(seed=0, n=90, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.6 * rng.normal(size=n) > 0.3, 1.0, -1.0)
    return X, y


def first(name, X, y, **more):
    words = {"gap": 1e-4, "example_cost": 0.3, "keep_multipliers": True, "threads": 1}
    return svmcut.train((X, y), **words | MACHINES[name] | more)


def exact(name, X, y, C, Z):
    """Scores of the optimum at rows Z, and an error of each."""
    machine = MACHINES[name]
    kernel, loss = machine.get("kernel", "linear"), machine.get("loss", "error-rate")
    bias = 1.0 if kernel == "linear" else 0.0
    wide, Z = X.astype(float), Z.astype(float)
    beta, own = optimum(loss, gram(kernel, wide, wide, bias), y, C)
    length = np.sqrt(np.diagonal(gram(kernel, Z, Z, bias)))
    return gram(kernel, Z, wide, bias) @ beta, own * length * (1 + 1e-9) + 1e-9


def check(name, seed):
    rng = np.random.default_rng(seed)
    X, y = rows(seed)
    C, k = 10.0 ** rng.uniform(-3, 1), int(rng.integers(1, 6))
    out, more = rng.choice(80, k, False), (X[80 : 80 + k], y[80 : 80 + k])
    old = (X[:80], y[:80])
    model = first(name, *old, example_cost=C)
    keep = np.ones(80, bool)
    keep[out] = False
    grown = np.vstack([X[:80], more[0]]), np.append(y[:80], more[1])
    shares = []
    for found, now in (
        (svmcut.forget(model, old, out, threads=1), (X[:80][keep], y[:80][keep])),
        (svmcut.fit_more(model, old, more, threads=1), grown),
    ):
        best, error = exact(name, *now, C, X)
        low, high = found.bounds(X).T
        assert (low <= best + error).all() and (best - error <= high).all(), (name, seed)
        sure = found.decided(X) & (np.abs(best) > error)
        assert ((found.decision_function(X) > 0) == (best > 0))[sure].all(), (name, seed)
        assert found.progress.iteration == 0 and found.dual <= found.primal * (1 + 1e-12)
        shares.append(sure.mean())
    return shares


@pytest.mark.parametrize("name", MACHINES)
def test_the_bound_holds_the_optimum_of_the_new_rows(name):
    shares = [check(name, seed) for seed in range(4)]
    assert np.mean(shares) > (0.3 if "kernel" not in MACHINES[name] else 0.05)


@pytest.mark.slow
def test_bounds_of_five_hundred_updates_hold_their_optima():
    for name in MACHINES:
        for seed in range(100):
            check(name, seed)


@pytest.mark.parametrize("name", MACHINES)
def test_training_goes_on_to_the_optimum_of_the_new_rows(name):
    X, y = rows()
    model = first(name, X, y)
    less = svmcut.forget(model, (X, y), [3, 5, 8], gap=1e-8, keep_multipliers=True, threads=1)
    best, error = exact(name, np.delete(X, [3, 5, 8], 0), np.delete(y, [3, 5, 8]), 0.3, X)
    low, high = less.bounds(X).T
    assert less.converged and less.progress.iteration > 0
    assert (low <= best + error).all() and (best - error <= high).all()
    # and back, from its own multipliers
    kept = np.delete(X, [3, 5, 8], 0), np.delete(y, [3, 5, 8])
    again = svmcut.fit_more(less, kept, (X[[3, 5, 8]], y[[3, 5, 8]]), gap=1e-8, threads=1)
    cold = first(name, X, y, gap=1e-8)
    np.testing.assert_allclose(again.primal, cold.primal, rtol=1e-7)


def test_a_row_without_multiplier_changes_nothing():
    X, y = rows()
    model = first("hinge", X, y, gap=1e-9)
    idle = np.flatnonzero(~np.isin(row_keys(Csr.from_dense(X), y), model.model.multipliers[1]))
    assert len(idle) > 5
    less = svmcut.forget(model, (X, y), idle[:5], until_decided=X, threads=1)
    assert less.details["decided_rounds"] == 0 and less.details["unchanged"] == len(X)
    assert less.details["rows_removed"] == 5 and less.converged


def test_labels_are_decided_by_training_where_the_bound_does_not(tmp_path):
    X, y = rows()
    first("hinge", X, y).save(tmp_path / "m")
    gone = (X[:20], y[:20])
    less = svmcut.forget(tmp_path / "m", (X, y), gone, until_decided=X, fraction=0.95, threads=1)
    details = less.details
    assert details["decided_rounds"] > 0 and details["decided_fraction"] >= 0.95
    assert details["unchanged"] <= details["decided"] == less.decided(X).sum()


def test_weights_of_rows_and_classes_count():
    X, y = rows()
    words = {"class_weight": {1.0: 3.0, -1.0: 0.5}, "threads": 1}
    model = first("hinge", X, y, **words)
    less = svmcut.forget(model, (X, y), [0, 1], **words)
    cold = first("hinge", X[2:], y[2:], gap=1e-10, class_weight=words["class_weight"])
    low, high = less.bounds(X).T
    scores = cold.decision_function(X)
    assert (low <= scores).all() and (scores <= high).all()
    assert cold.dual <= less.primal and less.dual <= cold.primal


def test_equal_rows_share_and_go_one_by_one():
    X, y = rows(n=40)
    X, y = np.vstack([X, X[:3], X[:3]]), np.concatenate([y, y[:3], y[:3]])
    examples = make_task("classification").from_arrays(X, y)
    own = examples.take(np.arange(len(y)) < 2)
    both = examples.take(np.isin(np.arange(len(y)), [0, 40]))
    assert find_rows(examples, own).tolist() == [0, 1]
    assert find_rows(examples, both).tolist() == [0, 40]
    less = svmcut.forget(first("hinge", X, y), (X, y), (X[:3], y[:3]), threads=1)
    assert less.details["rows_removed"] == 3
    back = svmcut.fit_more(first("hinge", X, y), (X, y), (X[:3], y[:3]), threads=1)
    assert back.details["rows_added"] == 3
    cold = first("hinge", X[3:], y[3:], gap=1e-10)
    low, high = less.bounds(X).T
    assert ((low <= cold.decision_function(X)) & (cold.decision_function(X) <= high)).all()
    many = examples.take(np.isin(np.arange(len(y)), [0, 40, 43]))
    with pytest.raises(DataError, match="not so often among those of"):
        find_rows(both, many)


def test_keys_know_a_row_whatever_the_order_and_the_zeros():
    dense = Csr.from_dense(np.array([[1, 0, 2], [0, 0, 0], [1, 0, 2], [2, 0, 1]], np.float32))
    zeros = Csr(
        np.array([1, 0, 2], np.float32),
        np.array([0, 1, 2], np.int32),
        np.array([0, 3], np.int64),
        3,
    )
    a = row_keys(dense, np.array([1.0, 1.0, -1.0, 1.0]))
    assert len(set(a.tolist())) == 4 and row_keys(zeros, np.array([1.0])) == a[0]
    assert row_keys(dense, np.array([-1.0, 0.0, -1.0, -0.0]))[0] == a[2]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"plain": True}, "keeps no multipliers of its rows; train it with parameter"),
        ({"data": slice(5, None)}, "that have a multiplier in this model are not in"),
        ({"removed": [90]}, "is no choice of the 90 rows; give their numbers from 0"),
        ({"removed": (np.ones((1, 4), np.float32), [1.0])}, "is not among those of"),
        ({"loss": "logistic"}, "was trained for loss 'error-rate'; give loss='error-rate'"),
        ({"kernel": "rbf", "bias": 0}, "was trained with another kernel"),
        ({"solver": "newton"}, "solver 'newton' keeps no multipliers of rows; give solver="),
        ({"initial": "m"}, "parameter 'initial' does not go with an update"),
        ({"free_bias": True, "bias": 0}, "no gap bounds a free bias"),
        ({"removed": np.ones(90, bool)}, "all rows are removed"),
    ],
)
def test_what_is_no_update_is_refused(how, said):
    X, y = rows()
    how = dict(how)
    model = first("hinge", X, y, keep_multipliers=not how.pop("plain", False))
    part, removed = how.pop("data", slice(None)), how.pop("removed", [6])
    with pytest.raises((UsageError, DataError), match=said.replace("(", r"\(")):
        svmcut.forget(model, (X[part], y[part]), removed, **how)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"task": "regression"}, "'keep_multipliers' is for task='classification'"),
        ({"loss": "f1", "cost": 1.0}, "is for two classes and loss="),
        ({"solver": "newton"}, "solver 'newton' keeps no multipliers"),
        ({"free_bias": True}, "needs free_bias=False"),
        ({"penalty": "l1", "loss": "squared-hinge"}, "needs penalty='l2'"),
        ({"kernel": "rbf", "solver": "smo"}, "needs free_bias=False"),
        ({"kernel": "sigmoid"}, "positive definite"),
    ],
)
def test_multipliers_that_cannot_be_kept_are_refused(how, said):
    X, y = rows()
    with pytest.raises(UsageError, match=said):
        svmcut.train((X, y), keep_multipliers=True, **how)
