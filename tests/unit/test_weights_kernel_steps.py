# SPDX-License-Identifier: BSD-3-Clause
"""A weight of each point in the compiled loops that visit points one by one, on a budget or not."""

import numpy as np
import pytest
from reference.budget import SlowBudget
from reference.budget import visits as budget_visits
from reference.kernel import matrix, maximum
from reference.stochastic import visits
from svmcut._native.budget import Budget
from svmcut._native.expansion import Expansion, Visits

from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel

RBF = Kernel("rbf", gamma=0.5)


def weighted(rng, n=60, d=3):
    """Rows, positives first, labels, weights 0 to 3 times a fraction, and the number of
    positives."""
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = np.where(X[:, 0] * X[:, 1] + 0.4 * rng.normal(size=n) > 0, 1.0, -1.0)
    order = np.argsort(-y, kind="stable")
    return X[order], y[order], rng.integers(0, 4, n) * 0.7, int(np.count_nonzero(y > 0))


def run(X, positives, rule, C, seed, shuffled, weights):
    rows = Expansion(Csr.from_dense(X), positives, len(X), np.empty(0, np.int8), RBF)
    return Visits(rows, rule, C, seed, shuffled, weights)


@pytest.mark.parametrize("shuffled", [True, False])
@pytest.mark.parametrize("rule", ["pegasos", "sdca", "perceptron"])
def test_visits_of_weighted_points_are_those_of_the_slow_truth(rng, rule, shuffled):
    X, y, v, positives = weighted(rng)
    native = run(X, positives, rule, 0.5, 11, shuffled, v)
    native.run(100)
    state = native.state()
    native.run(200)
    truth = visits(rule, matrix(RBF, X, X), y, 0.5, 300, 11, shuffled, v)
    assert native.a == pytest.approx(truth, abs=2e-5)
    assert not native.a[v == 0].any()
    again = run(X, positives, rule, 0.5, 3, shuffled, v)
    again.restore(state)
    again.run(200)
    assert again.a.tobytes() == native.a.tobytes()


@pytest.mark.parametrize("rule", ["pegasos", "sdca"])
def test_visits_of_weighted_points_near_the_optimum_of_points_repeated(rng, rule):
    X, y, _, positives = weighted(rng, 40)
    v = rng.integers(0, 4, 40).astype(float)
    rows, C = np.repeat(np.arange(40), v.astype(int)), 0.3
    best, _ = maximum(matrix(RBF, X[rows], X[rows]), y[rows], C, False, 1e-6)
    native = run(X, positives, rule, C, 1, True, v)
    native.run(40 * 2000)
    if rule == "sdca":
        assert native.a.sum() - 0.5 * native.a @ native.c == pytest.approx(best, rel=1e-6)
        assert np.all(native.a <= C * v)
    else:
        beta = native.a * y * v.sum() * C / native.visits
        f = matrix(RBF, X, X) @ beta
        assert 0.5 * beta @ f + C * v @ np.maximum(0, 1 - y * f) == pytest.approx(best, rel=5e-3)


@pytest.mark.parametrize("shuffled", [True, False])
@pytest.mark.parametrize("rule", ["pegasos", "sdca", "perceptron"])
def test_weights_of_one_change_no_bit_of_visits(rng, rule, shuffled):
    X, _, _, positives = weighted(rng)
    ends = []
    for v in (None, np.ones(60)):
        native = run(X, positives, rule, 0.5, 11, shuffled, v)
        native.run(200)
        ends.append([np.asarray(value).tobytes() for value in native.state().values()])
    assert ends[0] == ends[1]
    with pytest.raises(ValueError, match="wrong length"):
        run(X, positives, rule, 0.5, 11, shuffled, np.ones(59))
    if rule != "sdca":
        with pytest.raises(ValueError, match="all weights are 0"):
            run(X, positives, rule, 0.5, 11, shuffled, np.zeros(60))


@pytest.mark.every(2)
@pytest.mark.parametrize("sampling", ["shuffled", "independent"])
@pytest.mark.parametrize("dual", [True, False])
def test_budgeted_steps_of_weighted_points_are_those_of_the_slow_truth(rng, dual, sampling):
    X, y, v, _ = weighted(rng)
    slow = SlowBudget(X, y, RBF, 2.0, 14, dual, "merge", v)
    native = Budget(Csr.from_dense(X), y, RBF, 2.0, 14, dual, "merge", sampling, 5, weights=v)
    for i in budget_visits(60, 110, sampling, 5, None if dual else v):
        slow.step(i)
        assert native.run(1) == 1
        assert dual or v[i] > 0
    Z, beta = native.expansion()
    np.testing.assert_allclose(Z, np.array(slow.Z), atol=2e-4)
    np.testing.assert_allclose(
        beta, slow.scale * np.array(slow.beta), rtol=2e-3, atol=2e-4 * np.abs(slow.beta).max()
    )
    if dual:
        assert np.all(native.state()["alpha"] <= 2.0 * v)


@pytest.mark.parametrize("sampling", ["shuffled", "adaptive"])
def test_budgeted_ascent_of_weighted_points_finds_the_optimum_of_points_repeated(rng, sampling):
    X, y, _, _ = weighted(rng, 40)
    v = rng.integers(0, 4, 40).astype(float)
    rows = np.repeat(np.arange(40), v.astype(int))
    best, _ = maximum(matrix(RBF, X[rows], X[rows]), y[rows], 0.3, False, 1e-6)
    native = Budget(Csr.from_dense(X), y, RBF, 0.3, 100, True, "merge", sampling, weights=v)
    native.run(40 * 500)
    assert native.counts()["sum_alpha"] - 0.5 * native.squared_norm() == pytest.approx(
        best, rel=1e-5
    )


@pytest.mark.parametrize("sampling", ["shuffled", "independent"])
def test_budgeted_gradient_steps_of_weighted_points_near_the_optimum_of_points_repeated(
    rng, sampling
):
    X, y, _, _ = weighted(rng, 40)
    v = rng.integers(0, 4, 40).astype(float)
    rows = np.repeat(np.arange(40), v.astype(int))
    best, _ = maximum(matrix(RBF, X[rows], X[rows]), y[rows], 0.3, False, 1e-6)
    native = Budget(Csr.from_dense(X), y, RBF, 0.3, 100, False, "merge", sampling, weights=v)
    native.run(40 * 3000)
    losses = np.maximum(0, 1 - y * native.scores(Csr.from_dense(X)))
    assert 0.5 * native.squared_norm() + 0.3 * v @ losses == pytest.approx(best, rel=2e-2)


@pytest.mark.parametrize(
    ("dual", "sampling"), [(True, "shuffled"), (True, "adaptive"), (False, "independent")]
)
def test_weights_of_one_change_no_bit_of_budgeted_steps(rng, dual, sampling):
    X, y, v, _ = weighted(rng)
    ends = []
    for weights in (None, np.ones(60)):
        native = Budget(
            Csr.from_dense(X), y, RBF, 2.0, 14, dual, "merge", sampling, 5, weights=weights
        )
        native.run(200)
        ends.append([np.asarray(value).tobytes() for value in native.state().values()])
    assert ends[0] == ends[1]
    one, two = (
        Budget(Csr.from_dense(X), y, RBF, 2.0, 14, dual, "merge", sampling, 5, weights=v)
        for _ in range(2)
    )
    one.run(130)
    two.restore(one.state())
    for native in (one, two):
        native.run(70)
    assert [x.tobytes() for x in one.expansion()] == [x.tobytes() for x in two.expansion()]
