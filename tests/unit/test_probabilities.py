# SPDX-License-Identifier: BSD-3-Clause
"""Fits of probabilities against general minimisers of their definitions, and what probabilities are
worth."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logsumexp

from svmcut.scoring.probabilities import (
    LOG_ODDS,
    ProbabilityLosses,
    couple_pairs,
    fit_sigmoid,
    fit_temperature,
    multiclass_probabilities,
    sigmoid,
    two_class_probabilities,
)


def scores_of_two(n, seed=0):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.3
    return (
        np.where(positive, 0.7, -0.7) + rng.normal(size=n),
        positive,
        rng.integers(1, 4, n).astype(float),
    )


def scores_of_several(n, K, seed=0):
    rng = np.random.default_rng(seed)
    places = rng.integers(0, K, n)
    return (
        rng.normal(size=(n, K)) + 1.5 * np.eye(K)[places],
        places,
        rng.integers(1, 4, n).astype(float),
    )


@pytest.mark.parametrize("n", [4, 30, 3000])
@pytest.mark.parametrize("weighed", [False, True])
def test_the_sigmoid_is_the_least_of_platts_loss(n, weighed):
    f, positive, v = scores_of_two(n)
    positive[:2] = True, False
    v = v if weighed else np.ones(n)
    ups, downs = v[positive].sum(), v[~positive].sum()
    target = np.where(positive, (ups + 1) / (ups + 2), 1 / (downs + 2))

    def loss(x):
        z = x[0] * f + x[1]
        return v @ (target * np.logaddexp(0, z) + (1 - target) * np.logaddexp(0, -z))

    fitted, best = (
        fit_sigmoid(f, positive, v if weighed else None),
        minimize(loss, [-1.0, 0.0], tol=1e-12).fun,
    )
    assert loss(fitted) <= best * (1 + 1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_sigmoid_scales_with_the_scores_and_weight_two_is_a_row_twice(scale):
    f, positive, v = scores_of_two(200)
    A, B = fit_sigmoid(f, positive)
    np.testing.assert_allclose(fit_sigmoid(scale * f, positive), (A / scale, B), rtol=1e-7)
    twice = np.repeat(np.arange(200), v.astype(int))
    np.testing.assert_allclose(
        fit_sigmoid(f, positive, v), fit_sigmoid(f[twice], positive[twice]), rtol=1e-7
    )


@pytest.mark.parametrize(
    "f", [[3.0, 4, -2, -1], [1.0, 1, 1, 1], [0.0, 0, 0, 0], [-1e300, -2, 3, 1e300]]
)
def test_scores_that_part_the_classes_or_say_nothing_have_a_finite_sigmoid(f):
    fitted = fit_sigmoid(np.array(f), np.array([True, True, False, False]))
    p = two_class_probabilities(np.array(f), fitted)
    assert np.isfinite(fitted).all() and np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)


@pytest.mark.parametrize(("n", "K"), [(12, 3), (2000, 5), (40, 2)])
@pytest.mark.parametrize("weighed", [False, True])
def test_the_temperature_is_the_least_of_the_loss_at_platts_targets(n, K, weighed):
    f, places, v = scores_of_several(n, K)
    v = v if weighed else np.ones(n)
    counts = np.bincount(places, v, K)
    right = ((counts + 1) / (counts + 2))[places][:, None]
    targets = np.where(np.eye(K, dtype=bool)[places], right, (1 - right) / (K - 1))

    def loss(t):
        return v @ (logsumexp(t * f, axis=1) - (targets * t * f).sum(axis=1))

    fitted = fit_temperature(f, places, v if weighed else None)
    best = minimize_scalar(loss, bounds=(0, 20), options={"xatol": 1e-10}, method="bounded").fun
    assert loss(fitted) <= best * (1 + 1e-12)
    np.testing.assert_allclose(
        fit_temperature(1e5 * f, places, v) * 1e5, fit_temperature(f, places, v), rtol=1e-7
    )


def test_two_classes_by_temperature_are_those_of_a_sigmoid_without_offset():
    f, places, _ = scores_of_several(500, 2)
    t = fit_temperature(f, places)
    np.testing.assert_allclose(
        multiclass_probabilities(f, t)[:, 1], sigmoid(f[:, 1] - f[:, 0], (-t, 0.0)), rtol=1e-12
    )


def test_scores_that_say_the_contrary_or_all_have_a_temperature():
    f, places, _ = scores_of_several(300, 4)
    assert fit_temperature(-f, places) == 0
    assert 0 < fit_temperature(np.eye(4)[places], places) < 20
    np.testing.assert_allclose(multiclass_probabilities(f, 0.0), 0.25)


def test_probabilities_far_out_have_all_their_digits():
    p = two_class_probabilities(np.array([-1000.0, -40, 40, 1000]), LOG_ODDS)
    np.testing.assert_allclose(p[:, 1], [0, np.exp(-40), 1, 1], rtol=1e-12)
    np.testing.assert_allclose(p[:, 0], [1, 1, np.exp(-40), 0], rtol=1e-12)
    own = multiclass_probabilities(np.array([[2.0, -1, 0.5]]), None)
    odds = 1 / (1 + np.exp(-np.array([2.0, -1, 0.5])))
    np.testing.assert_allclose(own[0], odds / odds.sum())


@pytest.mark.parametrize("K", [2, 3, 6])
def test_coupled_probabilities_are_the_least_of_their_definition(K):
    rng = np.random.default_rng(K)
    first, second = np.triu_indices(K, 1)
    f, fitted = (
        2 * rng.normal(size=(5, len(first))),
        [(-1.0 - k / 10, 0.1) for k in range(len(first))],
    )
    found = couple_pairs(f, fitted, K)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    for row, p in zip(f, found, strict=True):
        r = np.array([sigmoid(s, each) for s, each in zip(row, fitted, strict=True)])

        def loss(q, r=r):
            return (((1 - r) * q[first] - r * q[second]) ** 2).sum()

        sums = {"type": "eq", "fun": lambda q: q.sum() - 1}
        best = minimize(loss, np.full(K, 1 / K), constraints=sums, tol=1e-14)
        assert loss(p) <= best.fun + 1e-12 and p.min() >= 0


def test_coupling_survives_pairs_that_are_sure_and_pairs_that_contradict_each_other():
    sure = couple_pairs(np.array([[900.0, 900, 0], [900, -900, 900]]), [LOG_ODDS] * 3, 3)
    np.testing.assert_allclose(sure[0], [1, 0, 0], atol=1e-5)
    np.testing.assert_allclose(sure[1], np.full(3, 1 / 3), atol=1e-5)  # each beats the next


def test_log_loss_and_brier_score_are_those_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    f, places, v = scores_of_several(300, 4)
    p = multiclass_probabilities(f, 0.7)
    found = (
        ProbabilityLosses()
        .add(p[:100], places[:100], v[:100])
        .add(p[100:], places[100:], v[100:])
        .values()
    )
    assert found["log_loss"] == pytest.approx(
        metrics.log_loss(places, p, sample_weight=v), rel=1e-12
    )
    squares = ((p - np.eye(4)[places]) ** 2).sum(axis=1)
    assert found["brier"] == pytest.approx(np.average(squares, weights=v), rel=1e-12)
    f, positive, v = scores_of_two(300)
    two = two_class_probabilities(f, LOG_ODDS)
    found = ProbabilityLosses().add(two, positive.astype(int), v).values()
    assert found["log_loss"] == pytest.approx(
        metrics.log_loss(positive, two[:, 1], sample_weight=v), rel=1e-12
    )
    assert found["brier"] == pytest.approx(
        metrics.brier_score_loss(positive, two[:, 1], sample_weight=v), rel=1e-12
    )


def test_a_class_without_a_column_had_no_chance():
    found = ProbabilityLosses().add(np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([-1, 0])).values()
    assert found["log_loss"] == pytest.approx(-np.log(np.finfo(float).eps))
    assert found["brier"] == pytest.approx((0.75 + 1) / 2)
    assert all(map(np.isnan, ProbabilityLosses().values().values()))
