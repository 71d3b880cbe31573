# SPDX-License-Identifier: BSD-3-Clause
"""Losses of tables against every table at sizes beyond all labellings, and at large sizes in
bounded time."""

import numpy as np
import pytest
from reference import tables as truth

from svmcut.risks.contingency import NUMBERS, TableRisk
from svmcut.spec.catalog import losses

ROWS = losses("classification")


def every_table(s, y, name, **parameters):
    """The best value over all tables."""
    P, N = int((y > 0).sum()), int((y <= 0).sum())
    U = np.append(0.0, np.cumsum(np.sort(s[y > 0])))
    V = np.append(0.0, np.cumsum(np.sort(-s[y <= 0])))
    best = 0.0
    for m in range(P + 1):
        for b in range(N + 1):
            delta = truth.loss_of(name, P, N, m, b, **parameters)
            if delta > 0:
                best = max(best, delta - 100 / (P + N) * (U[m] + V[b]))
    return best


def scores(rng, y):
    s = rng.choice([0.01, 0.3, 3.0]) * (rng.normal(size=len(y)) + rng.choice([0.0, 0.8]) * y)
    return s if rng.random() < 0.5 else np.round(s, 1)


@pytest.mark.parametrize("name", NUMBERS)
def test_every_table(name, rng):
    for trial in range(12):
        n = int(rng.integers(30, 90))
        y = np.where(rng.random(n) < rng.choice([0.05, 0.5, 0.9]), 1.0, -1.0)
        y[:2] = 1.0, -1.0
        own = {"at": (0.25, 0.6, 0.95)[trial % 3]} if "at" in ROWS[name].takes else {}
        own |= {"beta": (0.3, 1.0, 2.0)[trial % 3]} if "beta" in ROWS[name].takes else {}
        s = scores(rng, y)
        cut = TableRisk(name, **own).bind(y).linearize(s)
        assert cut.value == pytest.approx(every_table(s, y, name, **own), rel=1e-12, abs=1e-12)
        assert cut.value >= truth.of_predictions(name, y > 0, s, **own) - 1e-9


@pytest.mark.parametrize("name", NUMBERS)
def test_large_sets_are_answered_alike_on_any_number_of_threads(name, rng):
    n = 100_000
    y = np.where(rng.random(n) < 0.03, 1.0, -1.0)
    for scale in (0.01, 1.0):
        s = scale * (rng.normal(size=n) + 0.8 * y)
        one, two = (TableRisk(name).bind(y, threads=k).linearize(s) for k in (1, 2))
        assert one.value == two.value and one.coef.tobytes() == two.coef.tobytes()
        assert one.offset + np.sum(one.coef * s) == pytest.approx(one.value, rel=1e-9)


def test_a_floor_is_met_where_it_is_reached_to_rounding():
    """55 of 100 found is a recall of 0.55, whose product with 100 is above 55 in floating point."""
    assert 0.55 * 100 > 55
    y = np.repeat([1.0, -1.0], [100, 20])
    s = 1e3 * y
    s[:45], s[100] = -4.0, 0.0
    cut = TableRisk("precision-at-recall", at=0.55).bind(y).linearize(s)
    assert cut.offset == pytest.approx(100 / 56) and cut.value == pytest.approx(100 / 56 + 150)
