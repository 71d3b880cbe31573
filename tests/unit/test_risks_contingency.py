# SPDX-License-Identifier: BSD-3-Clause
"""Contingency losses and average precision against all tables, and against closed forms at larger
sizes."""

import numpy as np
import pytest
from reference import risks as truth

from svmcut.base.errors import TrainingError
from svmcut.risks.classes import AveragePrecisionRisk
from svmcut.risks.contingency import ROWS, ContingencyRisk


def scores(rng, n):
    s = rng.normal(size=n) * rng.choice([1e-3, 0.3, 3.0, 100.0]) + rng.choice([0.0, -2.0, 2.0])
    return s if rng.random() < 0.5 else np.round(s, 1)


@pytest.mark.every(2)
@pytest.mark.parametrize("slack_norm", [1, 2])
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("loss", ROWS)
def test_all_tables(loss, rescaling, slack_norm, rng):
    for _ in range(12):
        n = int(rng.integers(10, 45))
        y = np.where(rng.random(n) < rng.uniform(0.1, 0.9), 1.0, -1.0)
        y[:2] = 1.0, -1.0
        s = scores(rng, n)
        p = {
            "prec-at-k": rng.choice([0.0, 0.1, 0.7, 1.0]),
            "rec-at-k": rng.choice([0.0, 1.0, 1.3, 9.0]),
        }.get(loss, 0)
        bound = ContingencyRisk(loss, p, rescaling, slack_norm).bind(y)
        cut = bound.linearize(s)
        positive = y > 0
        labellings = truth.table_labellings(s, positive)
        expected = truth.contingency(s, positive, loss, bound.k, rescaling, slack_norm, labellings)
        assert cut.value == pytest.approx(expected, rel=1e-12, abs=1e-13)


def full_table(s, y, delta, rescaling):
    """The maximum over the P x N table at once; delta (P + 1, N + 1), nan where not admissible."""
    positive, n = y > 0, len(y)
    U = np.concatenate([[0.0], np.cumsum(np.sort(s[positive]))])[::-1, None]
    V = np.concatenate([[0.0], np.cumsum(np.sort(-s[~positive]))])[None, :]
    cost = 100.0 / n * (U + V)
    value = delta * (1.0 - cost) if rescaling == "slack" else delta - cost
    return max(0.0, np.nanmax(np.where(delta > 0, value, np.nan)))


@pytest.mark.every(2)
@pytest.mark.parametrize("slack_norm", [1, 2])
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize(("n", "share"), [(2000, 0.03), (2000, 0.5), (2000, 0.9), (9000, 0.99)])
def test_full_tables(n, share, rescaling, slack_norm, rng):
    """At 9000 rows the scan has several pieces."""
    y = np.where(rng.random(n) < share, 1.0, -1.0)
    P, N = int((y > 0).sum()), int((y <= 0).sum())
    a, b = np.arange(P + 1.0)[:, None], np.arange(N + 1.0)[None, :]
    k_precision, k_recall = max(1, P // 2), 2 * P
    with np.errstate(invalid="ignore"):
        tables = {
            "f1": 100 * (1 - 2 * a / (P + a + b)),
            "error-rate": 100 * (P - a + b) / n,
            "prbep": np.where(a + b == P, 100 * (1 - a / P) + 0 * b, np.nan),
            "prec-at-k": np.where((a + b >= k_precision) & (b >= 1), 100 * b / (a + b), np.nan),
            "rec-at-k": np.where(a + b <= k_recall, 100 * (1 - a / P) + 0 * b, np.nan),
        }
    for scale in (0.01, 1.0, 30.0)[: 1 if n > 5000 else 3]:
        s = np.round(scale * (rng.normal(size=n) + 0.8 * y), 3)
        for loss, delta in tables.items():
            value = ContingencyRisk(loss, 0.0, rescaling, slack_norm).bind(y).linearize(s).value
            expected = full_table(s, y, np.sqrt(delta) if slack_norm == 2 else delta, rescaling)
            assert value == pytest.approx(expected, rel=1e-11, abs=1e-12), loss


def test_threads_of_the_scan(rng):
    n = 150_000
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    s = 0.7 * y + rng.normal(size=n)
    for loss in ("f1", "prbep", "prec-at-k", "rec-at-k"):
        one = ContingencyRisk(loss).bind(y, threads=1).linearize(s)
        two = ContingencyRisk(loss).bind(y, threads=2).linearize(s)
        assert one.coef.tobytes() == two.coef.tobytes()
        assert one.value == two.value
        assert one.offset + np.sum(one.coef * s) == pytest.approx(one.value, rel=1e-10)


def test_error_rate_with_margin_rescaling_is_the_hinge(rng):
    y = rng.choice([-1.0, 1.0], 1000)
    s = rng.normal(size=1000)
    cut = ContingencyRisk("error-rate").bind(y).linearize(s)
    assert cut.value == pytest.approx(0.1 * np.maximum(0, 1 - y * s).sum(), rel=1e-13)
    np.testing.assert_array_equal(cut.coef, np.where(y * s < 1, -0.1 * y, 0.0))


def test_ties_go_to_the_first_row():
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    cut = ContingencyRisk("zero-one").bind(y).linearize(y * 1e-3)
    np.testing.assert_allclose(cut.coef, [-100 / 6, 0, 0, 0, 0, 0])
    # margin -1 for all: precision at k flips one negative or more of equal scores, lowest rows
    # first
    cut = ContingencyRisk("prec-at-k", 1.0).bind(y).linearize(y * 0.9)
    flipped = np.flatnonzero(cut.coef[3:])
    np.testing.assert_array_equal(flipped, np.arange(len(flipped)))


def test_labellings_without_loss_are_left_out():
    """Precision at k of a labelling without false positives is perfect: never a violated
    labelling."""
    y = np.array([1.0, 1.0, 1.0, 1.0, -1.0])
    s = np.array([-50.0, -50.0, 50.0, 50.0, -50.0])
    bound = ContingencyRisk("prec-at-k", 0.5).bind(y)
    assert bound.k == 2
    cut = bound.linearize(s)
    expected = truth.contingency(s, y > 0, "prec-at-k", 2, "margin", 1, truth.all_labellings(5))
    assert cut.value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("loss", "p", "k"),
    [
        ("prec-at-k", 0, 5),
        ("prec-at-k", 0.05, 1),
        ("prec-at-k", 1, 10),
        ("rec-at-k", 0, 20),
        ("rec-at-k", 1.55, 15),
        ("rec-at-k", 1e300, 30),
    ],
)
def test_k(loss, p, k):
    assert ContingencyRisk(loss, p).bind(np.repeat([1.0, -1.0], [10, 20])).k == k


def test_no_examples():
    for risk in (ContingencyRisk("error-rate"), AveragePrecisionRisk()):
        with pytest.raises(TrainingError, match="none"):
            risk.bind(np.zeros(0))


def test_all_rankings_agree_with_the_interleavings(rng):
    for _ in range(5):
        y = np.array([True, False, True, False, False, True])[rng.permutation(6)]
        s = np.round(rng.normal(size=6), 1)
        assert truth.average_precision_all_permutations(s, y) == pytest.approx(
            truth.average_precision(s, y)
        )


@pytest.mark.every(2)
@pytest.mark.parametrize(("n", "share"), [(40, 0.5), (700, 0.05), (700, 0.95), (4000, 0.5)])
def test_average_precision_against_the_full_search(n, share, rng):
    for scale in (1e-9, 1e-4, 1e-2, 1.0, 50.0):
        positive = rng.random(n) < share
        positive[:2] = True, False
        s = scale * (rng.normal(size=n) + positive)
        s = np.round(s, 2) if scale == 1.0 else s
        cut = AveragePrecisionRisk().bind(positive * 2.0 - 1.0).linearize(s)
        assert cut.value == pytest.approx(truth.average_precision_quadratic(s, positive), rel=1e-11)
        assert cut.coef.sum() == 0.0
        assert 0.0 <= cut.offset < 100.0


def test_average_precision_of_several_pieces(rng):
    n = 90_000
    y = np.where(rng.random(n) < 0.001, 1.0, -1.0)
    s = 1e-6 * rng.normal(size=n)
    one = AveragePrecisionRisk().bind(y, threads=1).linearize(s)
    two = AveragePrecisionRisk().bind(y, threads=2).linearize(s)
    assert one.coef.tobytes() == two.coef.tobytes()
    assert one.value == pytest.approx(truth.average_precision_quadratic(s, y > 0), rel=1e-11)


def test_average_precision_is_never_negative(rng):
    """Near the scores where the maximum is 0, rounding alone gave it a sign, and a huge C made much
    of it."""
    bound = AveragePrecisionRisk().bind(np.array([1.0, 1.0, -1.0]))
    for _ in range(500):
        s = np.append(rng.uniform(8, 30, 2), 0.0) + rng.normal()
        low, high = 0.0, 10.0
        for _ in range(60):
            middle = (low + high) / 2
            value = bound.linearize(s * middle).value
            assert value >= 0
            low, high = (middle, high) if value > 0 else (low, middle)
    assert np.isnan(bound.linearize(np.full(3, np.nan)).value)
