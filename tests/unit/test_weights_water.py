# SPDX-License-Identifier: BSD-3-Clause
"""Water levels of weighted responses, and the stochastic batch perceptron of weighted points."""

import numpy as np
import pytest
from reference.kernel import matrix
from reference.stochastic import level_program
from svmcut._native.expansion import Expansion, NoLevel, Sbp, water_level

from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel

RBF = Kernel("rbf", gamma=0.5)


def weighted(rng, n, positives, ties):
    """Responses, weights with a 0 where both classes keep one, and the row of each of the rows
    repeated."""
    c, v = rng.normal(size=n), rng.integers(0, 4, n).astype(float)
    v[[0, positives]] = 2
    return np.round(c, 1) * 2 if ties else c, v, np.repeat(np.arange(n), v.astype(int))


@pytest.mark.every(2)
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("free_bias", [False, True])
def test_the_level_of_weighted_responses_is_that_of_the_linear_program_of_responses_repeated(
    rng, free_bias, ties
):
    for _ in range(25):
        n = int(rng.integers(2, 10))
        positives = int(rng.integers(1, n))
        c, v, rows = weighted(rng, n, positives, ties)
        y = np.where(np.arange(n) < positives, 1.0, -1.0)
        for volume in (0.0, 1e-9, float(rng.choice([0.1, 1.0, 7.0])), 100.0):
            level, bias, mass = water_level(c, positives, volume, free_bias, v)
            assert level == pytest.approx(
                level_program(c[rows], y[rows], volume, free_bias), abs=1e-8
            )
            assert v @ np.maximum(0.0, level - (c + y * bias)) == pytest.approx(volume, abs=1e-9)
            part, _, less = water_level(c, positives, 0.3 * volume, free_bias, 0.3 * v)
            assert part == pytest.approx(level, abs=1e-9)
            assert 0 < less <= 0.3 * v.sum() * (1 + 1e-12)
            assert 0 < mass <= v.sum()


@pytest.mark.parametrize("free_bias", [False, True])
def test_volume_and_marginal_hold_for_many_weighted_responses(rng, free_bias):
    n, positives = 20_000, 5_000
    c, v, rows = weighted(rng, n, positives, False)
    y = np.where(np.arange(n) < positives, 1.0, -1.0)
    up = int(np.count_nonzero(rows < positives))
    for volume in (1e-6, 5.0, 200.0, 1e4, 6e4):
        level, bias, mass = water_level(c, positives, volume, free_bias, v)
        assert v @ np.maximum(0.0, level - (c + y * bias)) == pytest.approx(
            volume, rel=1e-9, abs=1e-9
        )
        expected, _, covered = water_level(c[rows], up, volume, free_bias)
        assert level == pytest.approx(expected, abs=1e-9)
        assert mass == pytest.approx(covered, abs=3)
        raised = water_level(c, positives, volume * (1 + 1e-7) + 1e-9, free_bias, v)[0]
        assert (raised - level) * mass * (2 if free_bias else 1) == pytest.approx(
            volume * 1e-7 + 1e-9, rel=1e-2
        )


def test_a_class_without_weight_has_no_level_with_a_free_bias():
    c, v = np.array([0.5, 1.0, 2.0]), np.array([1.0, 2.0, 0.0])
    assert water_level(c, 2, 0.0, False, v)[0] == 0.5
    with pytest.raises(NoLevel):
        water_level(c, 2, 0.5, True, v)
    with pytest.raises(NoLevel):
        water_level(np.array([np.nan, 1.0, 2.0]), 2, 0.5, False, v)
    with pytest.raises(ValueError, match="wrong length"):
        water_level(c, 2, 0.5, True, v[1:])


def perceptron(X, positives, free_bias, weights, seed=3, nu=0.1):
    rows = Expansion(Csr.from_dense(X), positives, len(X), np.empty(0, np.int8), RBF)
    run = Sbp(rows, free_bias, 1.0, seed, True, weights)
    run.volume = nu * (len(X) if weights is None else weights.sum())
    return run


def points(rng, n=120):
    X = rng.normal(size=(n, 3)).astype(np.float32)
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    order, positives = np.argsort(-y, kind="stable"), int(np.count_nonzero(y > 0))
    v = rng.integers(0, 4, n).astype(float)
    v[[0, positives]] = 2
    return X[order], y[order], v, positives


@pytest.mark.parametrize("free_bias", [False, True])
def test_steps_of_the_batch_perceptron_draw_what_is_under_water_by_weight(rng, free_bias):
    X, y, v, positives = points(rng)
    run = perceptron(X, positives, free_bias, v)
    for _ in range(400):
        c, a, scale = run.arrays["c"].copy(), run.arrays["a"].copy(), run.scale
        run.run(1)
        level, bias, _ = water_level(scale * c, positives, run.volume, free_bias, v)
        assert (run.level, run.bias) == pytest.approx((level, bias), abs=1e-9)
        j = int(np.argmax(run.arrays["a"] - a))
        assert v[j] > 0
        assert scale * c[j] + y[j] * bias <= level + 1e-9
    mass = run.arrays["mass"]
    assert mass.sum() > 0 and not mass[v == 0].any()
    parts = [mass[:positives], mass[positives:]] if free_bias else [mass]
    p = np.concatenate([part / part.sum() for part in parts]) / len(parts)
    Q = matrix(RBF, X, X) * np.outer(y, y)
    bound = np.sqrt(p @ Q @ p) + run.volume * (p[v > 0] / v[v > 0]).max()
    assert run.level <= bound <= 2 * run.level


@pytest.mark.parametrize("free_bias", [False, True])
def test_the_batch_perceptron_of_weighted_points_nears_that_of_points_repeated(rng, free_bias):
    X, _, v, positives = points(rng)
    rows = np.repeat(np.arange(120), v.astype(int))
    levels = []
    for run in (
        perceptron(X, positives, free_bias, v),
        perceptron(X[rows], int(np.count_nonzero(rows < positives)), free_bias, None),
    ):
        run.run(4000)
        run.restart()
        run.run(8000)
        run.flush()
        c = run.arrays["response_sum"] / run.averaged
        up, weights = (
            (positives, v) if len(c) == 120 else (int(np.count_nonzero(rows < positives)), None)
        )
        levels.append(water_level(c, up, run.volume, free_bias, weights)[0])
    assert levels[0] == pytest.approx(levels[1], rel=2e-2)


@pytest.mark.parametrize("free_bias", [False, True])
def test_a_run_of_weighted_points_goes_on_to_the_same_bytes_and_weights_of_one_change_none(
    rng, free_bias
):
    X, _, v, positives = points(rng)
    one, two = (perceptron(X, positives, free_bias, v) for _ in range(2))
    one.run(150)
    two.restore(one.state())
    for run in (one, two):
        run.run(90)
    assert one.arrays["a"].tobytes() == two.arrays["a"].tobytes()
    ends = []
    for weights in (None, np.ones(120)):
        run = perceptron(X, positives, free_bias, weights)
        run.run(200)
        ends.append([np.asarray(value).tobytes() for value in run.state().values()])
    assert ends[0] == ends[1]
    with pytest.raises(ValueError, match="all weights are 0"):
        perceptron(X, positives, free_bias, np.zeros(120))
