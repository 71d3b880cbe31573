# SPDX-License-Identifier: BSD-3-Clause
"""Survival: risks and Harrell's c against all pairs, training against an independent optimum."""

import numpy as np
import pytest
from reference import survival as truth
from scipy.optimize import minimize

import svmcut
from svmcut.base.errors import DataError
from svmcut.risks.survival import SurvivalRisk
from svmcut.scoring.survival import survival_measures

LOSSES = {"survival-hinge": 1, "survival-squared-hinge": 2}


def sample(rng, n):
    """Times with ties, and scores with ties half the time."""
    y = rng.integers(1, max(3, n // 3), n) * rng.choice([1.0, -1.0], n, p=[0.7, 0.3])
    y[:2] = 1.0, -2.0
    s = rng.normal(size=n) * rng.choice([0.1, 1.0, 10.0]) + rng.choice([0.0, 100.0])
    return y, s if rng.random() < 0.5 else np.round(s)


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_risk_is_that_of_all_pairs(loss, weighed, rng):
    for _ in range(60):
        y, s = sample(rng, int(rng.integers(2, 40)))
        weights = rng.integers(1, 4, len(y)).astype(float) if weighed else None
        bound = SurvivalRisk(loss).bind(y, cost=weights)
        value, coef = truth.risk(s, y, LOSSES[loss], weights)
        cut = bound.linearize(s)
        assert cut.value == pytest.approx(value, rel=1e-10, abs=1e-10)
        np.testing.assert_allclose(cut.coef, coef, rtol=1e-9, atol=1e-9 * np.abs(coef).max())
        assert cut.offset + cut.coef @ s == pytest.approx(value, rel=1e-8, abs=1e-7)
        for _ in range(4):
            other = sample(rng, len(y))[1]
            assert bound.linearize(other).value >= cut.offset + cut.coef @ other - 1e-7


@pytest.mark.every(2)
@pytest.mark.parametrize("loss", LOSSES)
def test_keys_of_several_ranges_have_all_pairs(loss, rng):
    """More keys than one tree holds; times by rising and by random scores."""
    n = 3000
    y = (1.0 + np.arange(n)) * rng.choice([1.0, -1.0], n)
    for s in (np.linspace(3, -3, n) + 0.3 * rng.normal(size=n), rng.normal(size=n)):
        cut = SurvivalRisk(loss).bind(y).linearize(s)
        value, coef = truth.risk(s, y, LOSSES[loss])
        assert cut.value == pytest.approx(value, rel=1e-11)
        np.testing.assert_allclose(cut.coef, coef, rtol=1e-8, atol=1e-8 * np.abs(coef).max())


def test_weights_are_repetitions(rng):
    y, s = sample(rng, 30)
    weights = rng.integers(1, 4, 30)
    for loss in LOSSES:
        one = SurvivalRisk(loss).bind(y, cost=weights.astype(float)).linearize(s)
        rows = np.repeat(np.arange(30), weights)
        many = SurvivalRisk(loss).bind(y[rows]).linearize(s[rows])
        assert one.value == pytest.approx(many.value)
        np.testing.assert_allclose(one.coef, np.bincount(rows, many.coef), atol=1e-10)


def test_concordance_is_that_of_all_pairs(rng):
    for _ in range(80):
        y, s = sample(rng, int(rng.integers(2, 40)))
        assert survival_measures(y, s).values["concordance"] == truth.concordance(s, y)
    assert np.isnan(survival_measures(np.array([-1.0, -2.0]), np.zeros(2)).values["concordance"])


def test_threads_leave_no_trace(rng):
    y, s = sample(rng, 70_000)
    for loss in LOSSES:
        one, two = (SurvivalRisk(loss).bind(y, threads=k).linearize(s) for k in (1, 3))
        assert one.value == two.value and one.coef.tobytes() == two.coef.tobytes()


@pytest.mark.parametrize("loss", LOSSES)
def test_training_reaches_the_optimum(loss, rng):
    X = rng.normal(size=(60, 3)).astype(np.float32).astype(float)
    y = np.round(np.exp(-X[:, 0] + 0.5 * rng.normal(size=60)), 1) + 0.1
    y *= rng.choice([1.0, -1.0], 60, p=[0.7, 0.3])
    C, gap = 0.3, 1e-6
    outcome = svmcut.train((X, y), task="survival", loss=loss, example_cost=C, gap=gap)

    def objective(w):
        value, coef = truth.risk(X @ w, y, LOSSES[loss])
        return 0.5 * w @ w + C * value, w + C * (X.T @ coef)

    assert outcome.converged
    assert outcome.primal == pytest.approx(objective(outcome.model.w)[0], rel=1e-6)
    if LOSSES[loss] == 2:
        best = minimize(objective, np.zeros(3), jac=True, method="BFGS", tol=1e-10).fun
        assert best * (1 - 1e-7) <= outcome.primal <= best * (1 + 2 * gap)
        assert outcome.dual <= best * (1 + 1e-9)


def test_spellings_and_refusals():
    X, y = np.arange(4.0)[:, None], np.array([4.0, -3.0, 2.0, 1.0])
    told = {loss: svmcut.train((X, y), task="survival", loss=loss) for loss in ("hinge", None)}
    assert told["hinge"].model.loss == "survival-hinge"
    assert told[None].model.loss == "survival-squared-hinge"
    with pytest.raises(DataError, match="example 2 is 0"):
        svmcut.train((X, [1.0, 0.0, 2.0, 3.0]), task="survival")
    with pytest.raises(DataError, match="no two times can be compared"):
        svmcut.train((X, [-1.0, -2.0, -5.0, 6.0]), task="survival")
