# SPDX-License-Identifier: BSD-3-Clause
"""Water levels against a linear program, with ties, empty basins, no water and much, and while
responses change."""

import numpy as np
import pytest
from reference.stochastic import level_program, level_sorted
from svmcut._native.expansion import Expansion, NoLevel, Sbp, water_level

from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel


def responses(rng, n, ties):
    c = rng.normal(size=n)
    return np.round(c, 1) * 2 if ties else c


def volume_of(c, y, level, bias):
    return np.maximum(0.0, level - (c + y * bias)).sum()


@pytest.mark.every(2)
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("free_bias", [False, True])
def test_level_is_that_of_the_linear_program(rng, free_bias, ties):
    for _ in range(50):
        n = int(rng.integers(2, 13))
        positives = int(rng.integers(1, n))
        c, y = responses(rng, n, ties), np.where(np.arange(n) < positives, 1.0, -1.0)
        for volume in (0.0, 1e-9, float(rng.choice([0.1, 1.0, 7.0])), 100.0):
            level, bias, covered = water_level(c, positives, volume, free_bias)
            assert level == pytest.approx(level_program(c, y, volume, free_bias), abs=1e-8)
            assert volume_of(c, y, level, bias) == pytest.approx(volume, abs=1e-9)
            assert 1 <= covered <= (min(positives, n - positives) if free_bias else n)


@pytest.mark.parametrize("free_bias", [False, True])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_volume_holds_for_many_responses(rng, free_bias, scale):
    n, positives = 20_000, 5_000
    c, y = scale * rng.normal(size=n), np.where(np.arange(20_000) < 5_000, 1.0, -1.0)
    for nu in (6.42e-11, 5.79e-4, 0.011, 0.5, 3.0):
        level, bias, _ = water_level(c, positives, n * nu * scale, free_bias)
        assert volume_of(c, y, level, bias) == pytest.approx(
            n * nu * scale, rel=1e-9, abs=1e-9 * scale
        )


@pytest.mark.parametrize("free_bias", [False, True])
def test_a_constant_lifts_the_level_and_a_shift_of_one_class_the_bias_alone(rng, free_bias):
    c = rng.normal(size=500)
    level, bias, covered = water_level(c, 200, 5.0, free_bias)
    lifted = water_level(c + 3.25, 200, 5.0, free_bias)
    assert lifted == pytest.approx((level + 3.25, bias, covered), abs=1e-12)
    if free_bias:
        shifted = water_level(c + np.where(np.arange(500) < 200, 0.5, -0.5), 200, 5.0, True)
        assert shifted == pytest.approx((level, bias - 0.5, covered), abs=1e-12)


def test_one_class_is_refused_with_a_free_bias_only():
    c = np.array([0.5, 1.0, 2.0])
    for positives in (0, 3):
        assert water_level(c, positives, 0.5, False)[0] == 1.0
        with pytest.raises(NoLevel):
            water_level(c, positives, 0.5, True)
    for free_bias in (False, True):
        with pytest.raises(NoLevel):
            water_level(np.array([np.nan, np.nan, 1.0]), 2, 0.5, free_bias)


@pytest.mark.parametrize("nu", [0.0, 1e-3, 0.05])
@pytest.mark.parametrize("free_bias", [False, True])
def test_levels_that_follow_changing_responses_are_those_found_afresh(rng, free_bias, nu):
    n, positives = 3000, 900
    X = rng.normal(size=(n, 3)).astype(np.float32)
    X[::7] = X[0]  # ties
    run = Sbp(
        Expansion(Csr.from_dense(X), positives, n, np.zeros(0, np.int8), Kernel("rbf", gamma=0.3)),
        free_bias,
        1.0,
        5,
        False,
    )
    run.volume = n * nu
    for _ in range(300):
        c = run.arrays["c"] * run.scale
        run.run(1)
        level, bias, covered = water_level(c, positives, n * nu, free_bias)
        assert run.level == pytest.approx(level, abs=1e-11)
        assert run.covered == covered
        assert run.bias == pytest.approx(bias, abs=1e-11)


def test_one_basin_is_the_sorted_truth(rng):
    for volume in (0.01, 1.0, 300.0):
        c = rng.normal(size=997)
        assert water_level(c, 300, volume, False)[::2] == pytest.approx(level_sorted(c, volume))
