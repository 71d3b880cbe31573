# SPDX-License-Identifier: BSD-3-Clause
"""Certificates of several classes, of label sets and of rankings: bounds hold the scores of the
optimum, as training to a gap of 1e-10 gives it, and nothing that is decided is another."""

import numpy as np
import pytest

import svmcut

CLASSES = {
    "at once": {"example_cost": 1.0},
    "svm_multiclass's unit": {"cost": 20.0},
    "slack": {"cost": 100.0, "rescaling": "slack"},
    "against the rest": {"example_cost": 1.0, "multiclass": "one-vs-rest"},
    "against the rest, its unit": {"cost": 100.0, "multiclass": "one-vs-rest"},
    "logistic": {"loss": "logistic", "multiclass": "one-vs-rest", "example_cost": 1.0},
}


def rows(seed=0, n=150, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    return X, np.digitize(X[:, 0] + 0.5 * rng.normal(size=n), [-0.5, 0.5]) + 1.0


def trained(gap, X, y, **how):
    return svmcut.train((X, y), task="multiclass", gap=gap, threads=1, **how)


@pytest.mark.parametrize("name", CLASSES)
def test_scores_of_classes_stay_in_their_bounds(name):
    X, y = rows()
    close, best = (trained(gap, X, y, **CLASSES[name]) for gap in (1e-5, 1e-8))
    scores = best.decision_function(X)
    slip = best.model.certificate[1] * np.linalg.norm(np.c_[X, np.ones(len(X))], axis=1)
    low, high = np.moveaxis(close.bounds(X), -1, 0)
    assert (low - slip[:, None] <= scores).all() and (scores <= high + slip[:, None]).all()
    sure = close.decided(X) & best.decided(X)
    assert (close.predict(X) == best.predict(X))[sure].all() and sure.mean() > 0.1


def test_the_ball_of_classes_trained_at_once_is_closer_than_that_of_the_gap():
    X, y = rows()
    for gap in (1e-2, 1e-4):
        kept, radius, _ = trained(gap, X, y, example_cost=1.0).model.certificate
        assert radius < 0.9 * np.sqrt(2 * kept)


def kernel(gap, X, y, multiclass):
    words = {"kernel": "rbf", "gamma": 0.5, "solver": "smo", "free_bias": False}
    return trained(gap, X, y, multiclass=multiclass, **words)


@pytest.mark.parametrize("multiclass", ["one-vs-one", "one-vs-rest"])
def test_machines_of_kernels_prove_classes_by_votes_and_by_scores(multiclass, tmp_path):
    X, y = rows()
    close, best = (kernel(gap, X, y, multiclass) for gap in (1e-4, 1e-9))
    assert len(close.model.certificate) == 6
    low, high = np.moveaxis(close.bounds(X), -1, 0)
    scores, slip = best.decision_function(X), best.model.certificate[1]
    slip = 0.0 if multiclass == "one-vs-one" else slip
    assert (low - slip <= scores).all() and (scores <= high + slip).all()
    sure = close.decided(X) & best.decided(X)
    assert (close.predict(X) == best.predict(X))[sure].all() and sure.mean() > 0.2
    close.save(tmp_path / "m")
    read = svmcut.load(tmp_path / "m")
    assert (read.decided(X) == close.decided(X)).all()
    low_read, _ = np.moveaxis(read.bounds(X), -1, 0)
    np.testing.assert_allclose(low_read, low, atol=1e-6)
    assert kernel(1e-3, X, y, multiclass).decided(X).mean() < close.decided(X).mean()


def test_own_gaps_of_machines_prove_more_than_that_of_all():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 6)).astype(np.float32)
    y = (X[:, :5] + 0.3 * rng.normal(size=(300, 5))).argmax(1) + 1.0
    close = trained(1e-5, X, y, multiclass="one-vs-rest", example_cost=0.1)
    certificate = close.model.certificate
    together = close.decided(X).mean()
    close.model = svmcut.api.replace(close.model, certificate=certificate[:3])
    assert len(certificate) == 8 and together > close.decided(X).mean()
    assert np.square(certificate[3:]).sum() <= 1.001 * certificate[1] ** 2


def test_sets_without_pairs_are_proven_label_by_label(tmp_path):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(120, 5)).astype(np.float32)
    Y = X[:, :3] + 0.5 * rng.normal(size=(120, 3)) > 0.4
    words = {"task": "multilabel", "pairs": "none", "threads": 1}
    close, best = (svmcut.train((X, Y), gap=gap, **words) for gap in (1e-4, 1e-9))
    low, high = np.moveaxis(close.bounds(X), -1, 0)
    slip = best.model.certificate[1] * np.linalg.norm(np.c_[X, np.ones(len(X))], axis=1)[:, None]
    scores = best.decision_function(X)
    assert (low - slip <= scores).all() and (scores <= high + slip).all()
    sure = close.decided(X) & best.decided(X)
    assert sure.shape == (120, 3) and 0.3 < sure.mean() < 1
    assert ((close.decision_function(X) > 0) == (scores > 0))[sure].all()
    close.save(tmp_path / "m")
    assert (svmcut.load(tmp_path / "m").decided(X) == close.decided(X)).all()
    with_pairs = svmcut.train((X, Y), task="multilabel", threads=1)
    assert with_pairs.model.certificate is None
    with pytest.raises(svmcut.base.errors.UsageError, match="no certificate"):
        with_pairs.bounds(X)


def naive_pairs(model, X, qid, scores, K):
    """Proven pairs and pairs, one by one."""
    found, count, radius = 0, 0, model.certificate[1]
    for i in range(len(X)):
        for j in range(i):
            if qid[i] == qid[j]:
                count += 1
                apart = np.sqrt(max(0.0, K[i, i] + K[j, j] - 2 * K[i, j]))
                found += abs(scores[i] - scores[j]) > radius * apart * (1 + 1e-9)
    return found, count


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_pairs_in_proven_order_are_those_of_the_optimum(kernel):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4)).astype(np.float32)
    qid = np.repeat(np.arange(6), 10)
    y = np.round(2 * (X[:, 0] + 0.3 * rng.normal(size=60)))
    words = {"task": "rank", "example_cost": 1.0, "threads": 1, "kernel": kernel}
    words |= {"gamma": 0.5} if kernel == "rbf" else {}
    close, best = (svmcut.train((X, y, qid), gap=gap, **words) for gap in (1e-4, 1e-8))
    pairs = close.decided_pairs(X, qid)
    K = X.astype(float) @ X.T.astype(float)
    if kernel == "rbf":
        own = np.diagonal(K)
        K = np.exp(-0.5 * (own[:, None] + own - 2 * K))
    scores = close.decision_function(X)
    expected = naive_pairs(close.model, X, qid, scores, K)
    assert tuple(pairs.sum(axis=0)) == expected and 0.2 < expected[0] / expected[1] < 1
    other = best.decision_function(X)
    for i in range(60):
        for j in range(i):
            apart = np.sqrt(max(0.0, K[i, i] + K[j, j] - 2 * K[i, j]))
            least = close.model.certificate[1] * apart
            if qid[i] == qid[j] and abs(scores[i] - scores[j]) > 1.001 * least:
                assert (scores[i] > scores[j]) == (other[i] > other[j])
