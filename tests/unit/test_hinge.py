# SPDX-License-Identifier: BSD-3-Clause
"""The hinge risk, its exact line search, and the line search for any risk."""

import numpy as np
import pytest
from reference import hinge

from svmcut.cutting.oracle import Products, ScoreLine, line_minimum
from svmcut.risks.hinge import HingeRisk


def line(rng, n, ties):
    y = rng.choice([-1.0, 1.0], n)
    s, e = rng.normal(size=n) * 2, rng.normal(size=n)
    if ties:
        s, e = np.round(s), np.round(e)
    d2, wd = float(rng.uniform(0.01, 4)), float(rng.normal())
    return y, s, e, wd, d2


@pytest.mark.parametrize("n", [1, 5, 100, 200_000])
def test_linearize_is_the_definition(rng, n):
    y, s = rng.choice([-1.0, 1.0], n), np.round(rng.normal(size=n) * 2, 1)
    value, coef, offset = HingeRisk().bind(y).linearize(s)
    if n <= 100:
        slow = hinge.linearize(y, s)
        assert value == pytest.approx(slow[0], rel=1e-12)
        assert np.array_equal(coef, slow[1])
        assert offset == slow[2]
    assert value == pytest.approx(offset + coef @ s, rel=1e-10)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("trial", range(40))
def test_both_line_searches_find_the_minimum(trial, ties):
    rng = np.random.default_rng(trial)
    n = int(rng.integers(1, 60))
    y, s, e, wd, dd = line(rng, n, ties)
    C = 10.0 ** rng.integers(-2, 3)
    risk = HingeRisk().bind(y)

    def phi(t):
        return 0.5 * (2 * t * wd + t * t * dd) + C * np.maximum(0, 1 - y * (s + t * e)).sum()

    with np.errstate(divide="ignore", invalid="ignore"):
        kinks = (1 - y * s) / (y * e)
    kinks = np.sort(np.append(kinks[np.isfinite(kinks) & (kinks > 0)], 0.0))
    candidates = list(kinks)
    for t in np.append(
        (kinks[1:] + kinks[:-1]) / 2, kinks[-1] + 1
    ):  # each smooth piece has its own parabola
        active = y * (s + t * e) < 1
        candidates.append(-(wd - C * (y * e)[active].sum()) / dd)
    best = min(phi(t) for t in candidates if t >= 0)
    assert phi(risk.line_minimum(s, e, wd, dd, C)) == pytest.approx(best, rel=1e-9, abs=1e-9)
    tol = 1e-10 * (1 + abs(best))
    point = line_minimum(ScoreLine(risk, s, e), Products(0.0, wd, dd), C, tol, max_evaluations=200)
    assert point.value == pytest.approx(best, rel=1e-8, abs=1e-8)
    assert point.lower <= best + 1e-9 * (1 + abs(best))
    other = line_minimum(
        ScoreLine(risk, s, e, risk.linearize(s)), Products(0.0, wd, dd), C, tol, 200
    )
    assert (other.t, other.value, other.evaluations) == (point.t, point.value, point.evaluations)
    scores, cut = other.known
    np.testing.assert_array_equal(scores, s + other.t * e)
    assert cut.value == risk.linearize(scores).value


def test_many_examples_give_the_same_for_any_number_of_threads(rng):
    y, s, e, wd, dd = line(rng, 300_000, False)
    steps = {
        HingeRisk().bind(y, threads=t).line_minimum(s, e, wd, dd * 1e5, 1.0) for t in (1, 2, 3, 8)
    }
    assert len(steps) == 1
    cuts = [HingeRisk().bind(y, threads=t).linearize(s) for t in (1, 2, 3, 8)]
    assert len({(cut.value, cut.coef.tobytes(), cut.offset) for cut in cuts}) == 1


def test_labels_above_zero_are_positive():
    assert list(HingeRisk().bind(np.array([2.5, 0.0, -3.0, 7.0])).signs) == [1, -1, -1, 1]
