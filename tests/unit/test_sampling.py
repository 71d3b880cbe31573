# SPDX-License-Identifier: BSD-3-Clause
"""Sampled cuts of a risk: unbiased, at violated terms only, exact where everything is taken."""

import numpy as np
import pytest
from drivers import risk_of


def pairs_of(y, qid, s):
    """Violated pairs by a double loop: (i, j) with y_i > y_j in one query and s_j + 1 > s_i."""
    return [
        (i, j)
        for i in range(len(y))
        for j in range(len(y))
        if qid[i] == qid[j] and y[i] > y[j] and s[j] + 1 > s[i]
    ]


def dense(draw, n):
    coef = np.zeros(n)
    coef[draw.points] = draw.coef
    return coef


def problem(name, rng, n=24):
    y, qid, s = (
        rng.integers(0, 4, n).astype(float),
        np.sort(rng.integers(0, 3, n)),
        np.round(rng.normal(size=n), 1),
    )
    if name in ("error-rate", "roc-area"):
        y = np.where(y > 1, 1.0, -1.0)
        return risk_of(name).bind(y), y, np.zeros(n), s
    return risk_of(name).bind(y, qid), y, qid, s


NAMES = ("error-rate", "roc-area", "swapped-pairs", "swapped-fraction", "pairs")


@pytest.mark.parametrize("name", NAMES)
def test_everything_is_the_exact_cut(name, rng):
    risk, _, _, s = problem(name, rng)
    violated, exact = risk.sampler().violations(s), risk.linearize(s)
    draw = violated.everything()
    assert dense(draw, len(s)) == pytest.approx(exact.coef)
    assert (draw.offset, violated.value) == pytest.approx((exact.offset, exact.value))


@pytest.mark.parametrize("name", NAMES)
def test_samples_are_unbiased_and_their_value_is_the_cut_at_the_scores(name, rng):
    risk, _, _, s = problem(name, rng)
    violated, exact = risk.sampler().violations(s), risk.linearize(s)
    mean, value = np.zeros(len(s)), 0.0
    for _ in range(400):
        draw = violated.sample(rng, 50)
        coef = dense(draw, len(s))
        assert draw.value == pytest.approx(draw.offset + coef @ s)
        assert draw.offset == pytest.approx(exact.offset)
        assert np.all(np.diff(draw.points) > 0)
        mean, value = mean + coef / 400, value + draw.value / 400
    scale = np.abs(exact.coef).max()
    assert mean == pytest.approx(exact.coef, abs=0.06 * scale * np.sqrt(len(s) / 10))
    assert value == pytest.approx(exact.value, rel=0.05)


@pytest.mark.every(2)
@pytest.mark.parametrize("name", NAMES[1:])
def test_every_violated_pair_is_drawn_and_no_other(name, rng):
    risk, y, qid, s = problem(name, rng)
    violated = risk.sampler().violations(s)
    expected = set(pairs_of(y, qid, s))
    assert violated.size == len(expected)
    seen = set()
    for _ in range(30 * len(expected)):
        draw = violated.sample(rng, 1)
        i, j = draw.points[draw.coef < 0][0], draw.points[draw.coef > 0][0]
        seen.add((int(i), int(j)))
    assert seen == expected


def test_a_bootstrap_sample_estimates_the_risk_of_all_rows(rng):
    risk, y, _, s = problem("error-rate", rng)
    drawn = rng.integers(len(y), size=100_000)
    draw, exact = risk.sampler().bootstrap(s[drawn], drawn), risk.linearize(s)
    assert draw.value == pytest.approx(exact.value, rel=0.03)
    assert draw.offset == pytest.approx(exact.offset, rel=0.03)
    assert draw.value == pytest.approx(draw.offset + dense(draw, len(y)) @ s)


def test_too_many_grades_are_refused(rng):
    risk = risk_of("pairs").bind(np.arange(200.0))
    with pytest.raises(ValueError, match="200 grades"):
        risk.sampler()
