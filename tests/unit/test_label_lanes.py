# SPDX-License-Identifier: BSD-3-Clause
"""Labels by the thousand: certificates hold at the weights that are kept, whatever the blocks, the
threads and the kills; models survive their files."""

import numpy as np
import pytest
from reference import multilabel as slow

import svmcut
from svmcut.base.errors import ModelError, UsageError
from svmcut.base.records import replace
from svmcut.data.arrays import as_rows
from svmcut.formats import read_model, write_model
from svmcut.models import SparseLabelModel
from svmcut.scoring.tops import CUTOFFS, Propensity, TopTally, rank_best, select_top_scores

N, D, K = 60, 20, 70


def data(seed=0, n=N, d=D, labels=K):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32) * (rng.random((n, d)) < 0.5)
    W = rng.normal(size=(d, labels))
    F = X @ W
    Y = [np.quantile(F[:, k], q) for k, q in enumerate(rng.uniform(0.8, 0.98, labels))] < F
    Y[0] = True  # every label is met
    return X, Y


def train(X, Y, **given):
    known = {"task": "multilabel", "pairs": "none", "example_cost": 0.5, "gap": 1e-3}
    return svmcut.train((X, Y), **known | {"label_block": 64} | given)


def dense(model):
    """(K, d) weights of a model."""
    W = np.zeros((len(model.names), model.n_features))
    features = np.repeat(np.arange(model.n_features), np.diff(model.indptr))
    W[model.places, features] = model.values
    return W


def machines(model, X, Y, C):
    """(K,) objectives of the machines that a model has, bias 1, from the definition."""
    W, b = dense(model), model.constant
    margins = np.where(Y[:, model.names], 1, -1) * (X @ W.T + b)
    return 0.5 * ((W**2).sum(axis=1) + b**2) + C * np.maximum(0, 1 - margins).sum(axis=0)


def test_the_certificate_is_that_of_the_weights_and_brackets_the_optimum():
    X, Y = data()
    outcome = train(X, Y)
    assert outcome.converged and isinstance(outcome.model, SparseLabelModel)
    primal = machines(outcome.model, X, Y, 0.5).sum()
    assert outcome.primal == pytest.approx(primal, rel=1e-9)
    assert 0 <= outcome.gap <= 1e-3 * outcome.primal
    exact = svmcut.train(
        (X, Y), task="multilabel", pairs="none", example_cost=0.5, gap=1e-4, solver="newton"
    )
    assert outcome.dual <= exact.primal and exact.dual <= outcome.primal


def test_weights_of_examples_count():
    X, Y = data(1)
    v = np.random.default_rng(2).uniform(0, 2, N)
    v[5] = 0
    known = {"pairs": "none", "example_cost": 0.5, "gap": 1e-4, "weights": v}
    lanes = svmcut.train((X, Y), task="multilabel", label_block=64, **known)
    alone = svmcut.train((X, Y), task="multilabel", solver="newton", **known)
    assert lanes.dual <= alone.primal and alone.dual <= lanes.primal
    assert lanes.primal == pytest.approx(alone.primal, rel=2e-4)


def test_blocks_threads_and_memory_change_no_byte(tmp_path):
    X, Y = data(3)
    first = None
    for given in ({}, {"label_block": 128}, {"threads": 3}, {"label_block": None}):
        write_model(str(tmp_path / "a"), train(X, Y, model_format="binary", **given).model)
        written = (tmp_path / "a").read_bytes()
        first = first or written
        assert written == first


def test_pruning_says_what_it_costs_and_auto_stays_within_the_gap():
    X, Y = data(4)
    whole, cut = train(X, Y), train(X, Y, prune=0.1)
    weights = dense(cut.model)
    assert np.abs(weights[weights != 0]).min() >= np.float32(0.1)
    assert cut.details["weights_kept"] == np.count_nonzero(weights)
    assert cut.details["weights_kept"] < whole.details["weights_kept"]
    assert cut.primal == pytest.approx(machines(cut.model, X, Y, 0.5).sum(), rel=1e-9)
    found = cut.details["pruning"]
    assert found["primal_before"] == pytest.approx(whole.primal, rel=1e-12)
    assert found["rise"] == pytest.approx(cut.primal - whole.primal, rel=1e-9)
    assert cut.dual == whole.dual and not cut.converged and cut.stopped_by == "pruned" and cut.done
    auto = train(X, Y, prune="auto", gap=0.05)
    assert auto.converged and auto.gap <= 0.05 * auto.primal
    assert auto.details["weights_kept"] < train(X, Y, gap=0.05).details["weights_kept"]
    assert auto.primal == pytest.approx(machines(auto.model, X, Y, 0.5).sum(), rel=1e-9)


@pytest.mark.parametrize("prune", [0.3, "auto"])
def test_constants_are_fitted_to_the_weights_that_pruning_leaves(prune):
    X, Y = data(5)
    v = np.random.default_rng(1).uniform(0.2, 2, N)
    outcome = train(X, Y, prune=prune, gap=0.02, weights=v)
    model = outcome.model
    signs = np.where(Y[:, model.names], 1, -1)
    s = X.astype(float) @ dense(model).T

    def objectives(b):
        losses = v @ np.maximum(0, 1 - signs * (s + b))
        return 0.5 * ((dense(model) ** 2).sum(axis=1) + b**2) + 0.5 * losses

    own = objectives(model.constant)
    assert outcome.primal == pytest.approx(own.sum(), rel=1e-9)
    for step in (1e-4, 1e-2, 0.3):
        for near in (model.constant + step, model.constant - step):
            assert (own <= objectives(near) * (1 + 1e-7)).all()


def test_models_survive_their_files(tmp_path):
    X, Y = data(6)
    model = train(X, Y, prune=0.02).model
    rows = as_rows(X)
    for name, binary in (("text", False), ("binary", True)):
        path = str(tmp_path / name)
        write_model(path, replace(model, binary=binary))
        found = read_model(path)
        assert np.allclose(found.scores(rows), model.scores(rows), rtol=1e-12, atol=1e-12)
        assert np.array_equal(found.predict(rows), model.predict(rows))
    assert np.allclose(model.scores(rows), X @ dense(model).T + model.constant)


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (lambda text: text[:-70], "cut short"),
        (lambda text: text[:-70] + b"\\1" + text[-69:], "checksum"),
        (lambda text: text[:40], "damaged"),
        (lambda text: text.replace(b'"places": ', b'"places": 9', 1), "damaged"),
        (lambda text: text.replace(b"binary 1", b"binary 2", 1), "not supported"),
    ],
)
def test_a_damaged_file_is_refused_in_a_line(tmp_path, damage, what):
    path = tmp_path / "model"
    write_model(str(path), train(*data(6), model_format="binary").model)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ModelError, match=what):
        read_model(str(path))


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"prune": 0.1, "pairs": "all"}, "parameter 'prune' is for labels without"),
        ({"model_format": "binary", "solver": "newton"}, "parameter 'model_format' is for"),
        ({"prune": -1}, "prune"),
        ({"prune": "some"}, "prune"),
    ],
)
def test_refusals(given, what):
    with pytest.raises(UsageError, match=what):
        train(*data(), **{"label_block": None} | given)


def test_the_best_labels_are_those_of_a_whole_sort():
    rng = np.random.default_rng(7)
    scores = rng.integers(0, 6, (40, 9)).astype(float)
    ranked = select_top_scores(scores, 4)
    assert (scores[ranked.row, ranked.place] == ranked.score).all() and len(ranked.row) < 360
    at, rank = rank_best(ranked, 4)
    row, place = ranked.row[at], ranked.place[at]
    order = np.lexsort((np.broadcast_to(np.arange(9), scores.shape), -scores), axis=1)[:, :4]
    assert np.array_equal(place.reshape(40, 4), order)
    assert np.array_equal(row.reshape(40, 4), np.repeat(np.arange(40), 4).reshape(40, 4))
    assert np.array_equal(rank.reshape(40, 4), np.tile(np.arange(4), (40, 1)))


def test_measures_of_the_top_are_the_definitions():
    rng = np.random.default_rng(8)
    n, labels = 50, 12
    scores, gold = rng.integers(0, 30, (n, labels)) * 1.0, rng.random((n, labels)) < 0.2
    beyond, counts = rng.integers(0, 3, n), rng.integers(0, 20, labels)
    propensity = Propensity(0.5, 0.4)
    inverse = propensity.inverse(counts, 100)
    unknown = float(propensity.inverse(np.zeros(1), 100)[0])
    tally = TopTally(labels, inverse, unknown)
    for part in (slice(0, 20), slice(20, n)):
        tally.add(
            select_top_scores(scores[part], max(CUTOFFS)), np.flatnonzero(gold[part]), beyond[part]
        )
    assert tally.values() == pytest.approx(
        slow.top_measures(scores, gold, beyond, inverse, unknown, CUTOFFS), rel=1e-12
    )
