# SPDX-License-Identifier: BSD-3-Clause
"""Trees of labels: every child is the machine of its node's rows, its certificate holds, a search
finds what enumeration finds, and models survive their files."""

import tracemalloc

import numpy as np
import pytest
from reference import multilabel as slow

import svmcut
from svmcut.base.errors import ModelError
from svmcut.base.records import replace
from svmcut.data import label_clusters
from svmcut.data.arrays import as_rows
from svmcut.formats import read_model, write_model
from svmcut.models import LabelTreeModel
from svmcut.tasks.protocol import make_task
from svmcut.training.label_sets import squared_length

C = 0.5


def data(seed=0, n=90, d=12, labels=20, groups=4):
    """Labels of a group have centres side by side."""
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=(groups, d))[np.arange(labels) % groups]
    centre = centre + 0.5 * rng.normal(size=(labels, d))
    Y = np.zeros((n, labels), bool)
    Y[np.arange(n), np.arange(n) % labels] = True
    Y |= rng.random((n, labels)) < 0.05
    X = (Y @ centre + 0.3 * rng.normal(size=(n, d))) * (rng.random((n, d)) < 0.7)
    return X.astype(np.float32), Y


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Leaves of four labels, and nodes of two nodes."""
    monkeypatch.setattr(label_clusters, "HALVINGS", 1)
    tree = label_clusters.build_label_tree
    monkeypatch.setattr(
        "svmcut.training.label_sets.build_label_tree", lambda *given: tree(*given, widest=4)
    )


def train(X, Y, **given):
    known = {"task": "multilabel", "pairs": "none", "example_cost": C, "gap": 1e-3, "tree": True}
    return svmcut.train((X, Y), **known | given)


def below(model, Y):
    """(n, M) whether a row has a label below each child, and (n, M) whether it is of its node."""
    M = len(model.leads)
    has, inside = np.zeros((len(Y), M), bool), np.ones((len(Y), M), bool)
    for child in reversed(range(M)):
        lead = model.leads[child]
        if lead < 0:
            has[:, child] = Y[:, model.names[~lead]]
            continue
        own = slice(model.first[lead], model.first[lead + 1])
        has[:, child] = has[:, own].any(axis=1)
        inside[:, own] = has[:, [child]]
    return has, inside


def dense(model):
    """(M, d) weights of the children."""
    W = np.zeros((len(model.leads), model.n_features))
    for child in range(len(W)):
        features, values = model.weights_of(child)
        W[child, features] = values
    return W


def paths(model, X):
    """(n, K) scores of all labels by enumeration."""
    f = X.astype(float) @ dense(model).T + model.constant
    return slow.tree_scores(f, model.first, model.leads, len(model.names))


@pytest.mark.parametrize("given", [{}, {"prune": 0.05}, {"weights": np.linspace(0, 2, 90)}])
def test_the_sums_over_all_machines_are_certified(given):
    X, Y = data()
    outcome = train(X, Y, **given)
    model, v = outcome.model, given.get("weights", np.ones(len(X)))
    assert isinstance(model, LabelTreeModel)
    assert outcome.details["tree"] == {"nodes": 15, "machines": 34}
    has, inside = below(model, Y)
    W = dense(model)
    margins = np.where(has, 1, -1) * (X @ W.T + model.constant)
    losses = (v[:, None] * inside * np.maximum(0, 1 - margins)).sum(axis=0)
    primal = 0.5 * ((W**2).sum(axis=1) + model.constant**2) + C * losses
    assert outcome.primal == pytest.approx(primal.sum(), rel=1e-9)
    assert outcome.converged == ("prune" not in given)
    assert outcome.gap <= 1e-3 * outcome.primal or given
    if given:
        return
    for child in range(0, len(W), 5):  # on the rows of its node it is a machine of two classes
        rows, y = inside[:, child], np.where(has[:, child], 1.0, -1.0)
        if (y[rows] > 0).all():
            continue
        known = {"example_cost": C, "gap": 1e-3, "bias": 1.0, "solver": "newton"}
        alone = svmcut.train((X[rows], y[rows]), **known)
        assert alone.dual <= primal[child] <= alone.primal * (1 + 3e-3)


def test_clusters_are_balanced_and_hold_labels_of_like_rows():
    X, Y = data(1, n=400, labels=16)
    label, row = np.nonzero(Y.T)
    bounds = np.searchsorted(label, np.arange(17)).astype(np.int64)
    rows = as_rows(X)
    tree = label_clusters.build_label_tree(rows, bounds, row.astype(np.int32), 0, 1, 4)
    leaves = [
        sorted(~tree.leads[first:last])
        for first, last in zip(tree.first, tree.first[1:])
        if tree.leads[first] < 0
    ]
    assert leaves and all(len(leaf) == 4 for leaf in leaves)
    assert sum(len({k % 4 for k in leaf}) == 1 for leaf in leaves) >= 3
    V = label_clusters.mean_rows(rows, bounds, row.astype(np.int32)).to_dense()
    sums = Y.T @ X.astype(float)
    np.testing.assert_allclose(V, sums / np.linalg.norm(sums, axis=1)[:, None], atol=1e-6)


def test_of_a_long_sum_the_largest_values_are_kept(monkeypatch):
    monkeypatch.setattr(label_clusters, "MAX_VALUES", 3)
    X, Y = data(2)
    label, row = np.nonzero(Y.T)
    bounds = np.searchsorted(label, np.arange(21)).astype(np.int64)
    V = label_clusters.mean_rows(as_rows(X), bounds, row.astype(np.int32), 2).to_dense()
    sums = Y.T @ X.astype(float)
    sums[np.abs(sums) < np.sort(np.abs(sums), axis=1)[:, [-3]]] = 0
    np.testing.assert_allclose(V, sums / np.linalg.norm(sums, axis=1)[:, None], atol=1e-6)


@pytest.mark.parametrize("beam", [1, 2, 100])
def test_a_search_is_that_of_all_labels_as_far_as_it_says(beam):
    X, Y = data(3)
    model = train(X, Y).model
    whole = paths(model, X)
    ranked, left = model.search(as_rows(X), beam, 2)
    scores = ranked.dense()
    reached = scores > -np.inf
    assert np.allclose(scores[reached], whole[reached], rtol=1e-9, atol=1e-9)
    assert np.array_equal(scores > np.log(0.5), whole > np.log(0.5)) and (whole > -0.6).any()
    assert (np.where(reached, -np.inf, whole) <= left[:, None] + 1e-9).all()
    assert reached.all() and (left == -np.inf).all() if beam == 100 else not reached.all()


@pytest.mark.every(2)
@pytest.mark.parametrize("at_once", [1, 1 << 20])
@pytest.mark.parametrize(("beam", "k"), [(1, 3), (3, 1), (3, 7), (100, 4)])
def test_of_a_search_for_the_best_worse_labels_are_left_out(monkeypatch, beam, k, at_once):
    monkeypatch.setattr("svmcut.models.label_trees.MAX_SCORES_AT_ONCE", at_once)
    X, Y = data(3)
    model, rows = train(X, Y).model, as_rows(X)
    ranked, left = model.search(rows, beam, 1)
    few, same = model.search(rows, beam, 2, k)
    assert np.array_equal(left, same) and (np.diff(few.row) >= 0).all()
    scores = ranked.dense()
    least = -np.sort(-scores, axis=1)[:, k - 1]
    kept = (scores > -np.inf) & ((scores >= least[:, None]) | (scores > np.log(0.5)))
    assert np.array_equal(few.dense(), np.where(kept, scores, -np.inf))


def test_the_report_counts_the_rows_whose_best_are_those_of_the_tree():
    X, Y = data(3)
    model, task = train(X, Y).model, make_task("multilabel")
    part, k = task.from_arrays(X, Y), 5
    whole = paths(model, X)
    for beam in (1, 100):
        tally = task.tally(model)
        predicted = task.predictor(model, 1, beam)(part)
        tally.add(part, predicted)
        counts = tally.counts()
        proven, ranks = predicted.halves >= 0, predicted.ranked.dense()
        assert counts["best_of_tree"] == proven.sum() and (beam == 1 or proven.all())
        for i in np.flatnonzero(proven):
            assert np.sort(ranks[i])[-k:] == pytest.approx(np.sort(whole[i])[-k:])


def test_blocks_and_threads_change_no_byte(tmp_path):
    X, Y = data(4)
    written = set()
    for given in ({}, {"label_block": 128}, {"threads": 3}):
        write_model(str(tmp_path / "a"), train(X, Y, model_format="binary", **given).model)
        written.add((tmp_path / "a").read_bytes())
    assert len(written) == 1


def test_models_survive_their_files(tmp_path):
    X, Y = data(5)
    model, rows = train(X, Y, prune=0.05).model, as_rows(X)
    for name, binary in (("text", False), ("binary", True)):
        path = str(tmp_path / name)
        write_model(path, replace(model, binary=binary))
        found = read_model(path)
        assert np.array_equal(found.leads, model.leads) and found.n_rows == 90
        assert np.allclose(found.scores(rows), model.scores(rows), rtol=1e-12, atol=1e-12)
    text = (tmp_path / "text").read_text()
    damaged, leads = tmp_path / "damaged", text.splitlines()[8]
    for old, new, what in (
        ("15 # number of nodes", "16 # number of nodes", "16 whole numbers"),
        ("90 # number of training", "-1 # number of training", "training examples"),
        (leads, leads.replace("1 2 3", "1 2 2", 1), "leads"),
        ("svmcut label tree 1", "svmcut label tree 2", "not supported"),
    ):
        assert old in text
        damaged.write_text(text.replace(old, new, 1))
        with pytest.raises(ModelError, match=what):
            read_model(str(damaged))


def test_few_labels_are_one_node():
    X, Y = data(6, labels=4, groups=2)
    outcome = train(X, Y)
    flat = svmcut.train((X, Y), task="multilabel", pairs="none", example_cost=C, gap=1e-3)
    assert outcome.details["tree"] == {"nodes": 1, "machines": 4}
    assert outcome.dual <= flat.primal and flat.dual <= outcome.primal


def test_a_search_of_no_rows_finds_nothing():
    X, Y = data(6)
    model = train(X, Y).model
    ranked, left = model.search(as_rows(X[:0]), k=3)
    assert ranked.dense().shape == (0, 20) and left.shape == (0,)
    assert model.predict(as_rows(X[:0])).shape == (0, 20)


def test_the_features_of_a_node_are_sought_once(monkeypatch):
    sought = []
    monkeypatch.setattr(
        "svmcut.solvers.label_tree.use_columns",
        lambda X: sought.append(X) or label_clusters.use_columns(X),
    )
    X, Y = data(6)
    nodes = train(X, Y).details["tree"]["nodes"]
    assert len(sought) == nodes - 1  # the root has all


def test_the_length_of_weights_is_summed_without_a_copy():
    values = np.linspace(-1, 1, 1 << 18, dtype=np.float32)
    tracemalloc.start()
    found = squared_length(values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == pytest.approx(np.sum(values.astype(float) ** 2), rel=1e-12)
    assert peak < values.nbytes / 2
