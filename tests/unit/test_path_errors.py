# SPDX-License-Identifier: BSD-3-Clause
"""Rows that are certainly wrong between two C: intervals, their unions and the least weight."""

import numpy as np
import pytest

from svmcut.scoring.path_errors import (
    Anchor,
    find_lowest,
    unite,
    wrong_spans,
)


def made(seed, n=40, d=6, T=0.02):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    v = w + 0.2 * rng.normal(size=d)
    y = np.sign(X @ w + 1.5 * rng.normal(size=n))
    length = np.sqrt((X * X).sum(1))
    return Anchor(2.0, y * (X @ w), y * (X @ v), length, w @ w, w @ v, v @ v, T)


def is_wrong(anchor, C):
    q = C / anchor.C
    squared = q * anchor.T + (anchor.ww - 2 * q * anchor.wv + q * q * anchor.vv) / 4
    return (anchor.s + q * anchor.u) / 2 < -anchor.length * np.sqrt(max(squared, 0.0))


@pytest.mark.parametrize("seed", range(5))
def test_an_interval_is_where_the_ball_says_wrong(seed):
    anchor = made(seed)
    low, high = wrong_spans(anchor)
    assert np.isfinite(low).any() and not np.isfinite(low).all()
    for C in np.geomspace(0.02, 200, 301):
        assert ((low < C) & (high > C) == is_wrong(anchor, C)).all()


def test_unions_and_the_least_weight_are_those_of_every_place():
    rng = np.random.default_rng(1)
    intervals = []
    for _ in range(5):
        low = rng.integers(0, 20, size=30) / 2.0
        high = low + rng.integers(1, 8, size=30) / 2.0
        gone = rng.random(30) < 0.4
        intervals.append(np.where(gone, np.inf, np.stack([low, high])))
    starts, ends, rows = unite(intervals)
    assert (starts < ends).all()
    weights = rng.random(30)
    places = np.arange(0, 20, 0.25)

    def weight(C):
        return sum(
            weights[row]
            for row in range(30)
            if any(low[row] < C < high[row] for low, high in intervals)
        )

    values = [weight(C) for C in places]
    for C, value in zip(places, values, strict=True):
        inside = (starts < C) & (ends > C)
        assert weights[rows[inside]].sum() == pytest.approx(value)
    for low, high in ((0.0, 19.75), (3.0, 7.5), (4.25, 4.25), (5.0, 5.5), (30.0, 40.0)):
        found = find_lowest(starts, ends, weights[rows], low, high)
        among = [value for C, value in zip(places, values, strict=True) if low <= C <= high]
        assert found.weight == pytest.approx(min(among, default=0.0))
        assert low <= found.C <= high and found.weight == pytest.approx(weight(found.C))


def test_a_row_without_features_and_a_dual_vector_of_zero_are_never_wrong_by_chance():
    anchor = made(0)._replace(length=np.zeros(40), s=np.zeros(40), u=np.zeros(40))
    assert np.isinf(wrong_spans(anchor)).all()
    anchor = made(0)._replace(u=np.zeros(40), vv=0.0, wv=0.0, T=0.0)
    low, high = wrong_spans(anchor)
    for C in (0.5, 2.0, 9.0):
        assert ((low < C) & (high > C) <= is_wrong(anchor, C)).all()
