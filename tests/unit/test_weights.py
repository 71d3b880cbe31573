# SPDX-License-Identifier: BSD-3-Clause
"""Weights of examples in the risks of sums: weight k is k rows, weight 0 no row, weights of 1
change no bit."""

import numpy as np
import pytest

from svmcut.base.errors import TrainingError
from svmcut.risks.hinge import BoundHinge, HingeRisk


def weighted(rng, n, most=3):
    """Labels, weights 0 to most, scores, and the row of each of the rows repeated."""
    y = rng.choice([-1.0, 1.0], n)
    v = rng.integers(0, most + 1, n).astype(float)
    v[0] = most
    return y, v, np.round(2 * rng.normal(size=n), 1), np.repeat(np.arange(n), v.astype(int))


@pytest.mark.parametrize("n", [1, 40, 40_000])
def test_a_cut_of_weighted_rows_is_that_of_rows_repeated(rng, n):
    y, v, s, rows = weighted(rng, n)
    cut, repeated = (
        HingeRisk().bind(y, cost=v).linearize(s),
        HingeRisk().bind(y[rows]).linearize(s[rows]),
    )
    assert cut.value == pytest.approx(repeated.value, rel=1e-12)
    assert cut.offset == repeated.offset
    assert np.array_equal(cut.coef, np.bincount(rows, repeated.coef, n))
    part = HingeRisk().bind(y, cost=0.3 * v, threads=2).linearize(s)
    assert part.offset == pytest.approx(0.3 * cut.offset, rel=1e-12)
    assert part.offset + part.coef @ s == pytest.approx(part.value, rel=1e-9)


@pytest.mark.parametrize("trial", range(20))
def test_the_line_search_of_weighted_rows_is_that_of_rows_repeated(trial):
    rng = np.random.default_rng(trial)
    y, v, s, rows = weighted(rng, int(rng.integers(1, 60)))
    e, wd, dd = rng.normal(size=len(y)), float(rng.normal()), float(rng.uniform(0.01, 4))
    C = 10.0 ** rng.integers(-2, 2)
    step = HingeRisk().bind(y, cost=v).line_minimum(s, e, wd, dd, C)
    assert step == pytest.approx(
        HingeRisk().bind(y[rows]).line_minimum(s[rows], e[rows], wd, dd, C), rel=1e-9
    )


def test_weights_of_one_change_no_bit_of_a_hinge(rng):
    y, _, s, _ = weighted(rng, 300_000)
    e, ones = rng.normal(size=len(y)), np.ones(len(y))
    for threads in (1, 2, 5):
        plain, same = BoundHinge(y, threads), BoundHinge(y, threads, ones)
        cut, other = plain.linearize(s), same.linearize(s)
        assert (cut.value, cut.offset, cut.coef.tobytes()) == (
            other.value,
            other.offset,
            other.coef.tobytes(),
        )
        assert plain.line_minimum(s, e, 0.1, 1e5, 1.0) == same.line_minimum(s, e, 0.1, 1e5, 1.0)
    assert HingeRisk().bind(y, cost=ones).weights is None


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_weights_that_are_none_are_refused(bad):
    with pytest.raises(TrainingError, match=r"weight .* of example 2 is none"):
        HingeRisk().bind(np.ones(3), cost=np.array([1.0, bad, 1.0]))
    with pytest.raises(TrainingError, match="all weights are 0"):
        HingeRisk().bind(np.ones(3), cost=np.zeros(3))
    with pytest.raises(ValueError, match="2,"):
        HingeRisk().bind(np.ones(3), cost=np.ones(2))
    with pytest.raises(ValueError, match="wrong length"):
        BoundHinge(np.ones(3), weights=np.ones(2)).linearize(np.zeros(3))


def dense(draw, n):
    return np.bincount(draw.points, draw.coef, n)


def test_sampled_cuts_of_weighted_rows_are_unbiased_and_draw_no_row_of_weight_0(rng):
    y, v, s, _ = weighted(rng, 24)
    v = v * rng.uniform(0.1, 1.0, len(v))
    risk = HingeRisk().bind(y, cost=v)
    violated, exact, sampler = risk.sampler().violations(s), risk.linearize(s), risk.sampler()
    everything = violated.everything()
    assert dense(everything, 24) == pytest.approx(exact.coef)
    assert (everything.offset, violated.value) == pytest.approx((exact.offset, exact.value))
    mean, boot = np.zeros(24), np.zeros(24)
    for _ in range(400):
        draw = violated.sample(rng, 50)
        assert draw.offset == pytest.approx(exact.offset)
        assert draw.value == pytest.approx(draw.offset + dense(draw, 24) @ s)
        mean += dense(draw, 24) / 400
        points = sampler.points(rng, 50)
        assert v[points].min() > 0
        boot += dense(sampler.bootstrap(s[points], points), 24) / 400
        rows, weights = sampler.merge_draws(points)
        draw = sampler.bootstrap(s[points], points)
        cut = BoundHinge(sampler.signs[rows], weights=weights).linearize(s[rows])
        assert (cut.value, cut.offset) == pytest.approx((draw.value, draw.offset))
        assert rows[cut.coef != 0] == pytest.approx(draw.points)
    scale = 0.06 * np.abs(exact.coef).max()
    assert mean == pytest.approx(exact.coef, abs=scale)
    assert boot == pytest.approx(exact.coef, abs=2 * scale)
    assert not mean[v == 0].any()
