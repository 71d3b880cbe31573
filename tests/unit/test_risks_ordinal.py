# SPDX-License-Identifier: BSD-3-Clause
"""Ordinal risk and ROC area at sizes brute force cannot reach, and where rounding bites."""

from itertools import pairwise

import numpy as np
import pytest
from reference import risks as truth

from svmcut.base.errors import TrainingError
from svmcut.risks.classes import RocAreaRisk
from svmcut.risks.ordinal import OrdinalRisk, query_starts


def scores(rng, n, kind):
    s = rng.normal(size=n)
    return {
        "continuous": s,
        "quantised": np.round(s, 1),
        "equal": np.full(n, 3.25),
        "close": 1.0 + s * 1e-12,
        "close beside an outlier": np.where(np.arange(n) == n // 2, -1e9, 1.0 + s * 1e-12),
        "wide": s * 10.0 ** rng.integers(-300, 12, n),
        "signed zeros": np.where(s > 0, 0.0, -0.0),
        "one side": np.abs(s),
        "huge": 1e12 * s,
    }[kind]


KINDS = [
    "continuous",
    "quantised",
    "equal",
    "close",
    "wide",
    "huge",
    "close beside an outlier",
    "signed zeros",
    "one side",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("n", "grades"), [(150, 2), (700, 20), (3000, 3), (3000, 300), (20_000, 5)]
)
def test_one_query_against_pairs_of_grades(kind, n, grades, rng):
    y = rng.integers(0, grades, n) / 4.0
    s = scores(rng, n, kind)
    bound = OrdinalRisk("pairs").bind(y)
    cut = bound.linearize(s)
    coef, in_cut, pairs = truth.ordinal_by_grades(s, y)
    assert bound.n_pairs == pairs
    assert cut.offset == pytest.approx(in_cut / pairs, rel=1e-15)
    np.testing.assert_allclose(cut.coef * pairs, coef, rtol=1e-14)


@pytest.mark.parametrize("n", [4097, 70_001])
def test_every_label_its_own_grade(n, rng):
    """As many grades as rows: c+ and c- of a sorted list of labels are inversions, counted here by
    merging."""
    y = rng.permutation(n).astype(float)
    s = rng.permutation(n) * 0.5
    for threads in (1, 2):
        cut = OrdinalRisk("swapped-pairs").bind(y, threads=threads).linearize(s)
        order = np.argsort(s)
        rows = rng.choice(n, 50, replace=False)
        for row in rows:
            c_plus = np.sum((y < y[row]) & (s + 1.0 > s[row]))
            c_minus = np.sum((y > y[row]) & (s < s[row] + 1.0))
            assert cut.coef[row] == c_minus - c_plus
        assert cut.coef.sum() == 0.0
        assert cut.value == pytest.approx(
            cut.offset + np.sum(cut.coef[order] * s[order]), rel=1e-12
        )


def test_rounding_cannot_split_a_pair():
    """fl(s + 1) ties with other scores, and s_j < fl(s_i + 1), s_i > fl(s_j - 1) disagree: the
    counts still agree."""
    rng = np.random.default_rng(3)
    base = rng.normal(size=400) * 10.0 ** rng.integers(-3, 16, 400)
    s = np.concatenate(
        [base, base + 1.0, np.nextafter(base + 1.0, np.inf), np.nextafter(base + 1.0, -np.inf)]
    )
    y = rng.integers(0, 6, len(s)).astype(float)
    down, up = s[:, None] < s[None, :] + 1.0, s[None, :] > s[:, None] - 1.0
    assert (down != up).any()  # the trap is in the data
    cut = OrdinalRisk("swapped-pairs").bind(y).linearize(s)
    pairs = (y[:, None] > y[None, :]) & (s[None, :] + 1.0 > s[:, None])
    assert cut.offset == pairs.sum()
    np.testing.assert_array_equal(cut.coef, pairs.sum(axis=0) - pairs.sum(axis=1))


def test_value_keeps_its_digits_far_from_zero(rng):
    y = rng.integers(0, 5, 2000).astype(float)
    s = np.round(rng.normal(size=2000), 3) * 4.0
    near = OrdinalRisk("pairs").bind(y).linearize(np.round(s * 1024) / 1024)
    far = OrdinalRisk("pairs").bind(y).linearize(np.round(s * 1024) / 1024 + 2.0**40)
    assert far.value == near.value
    assert far.coef.tobytes() == near.coef.tobytes()


def test_many_queries(rng):
    sizes = np.concatenate([rng.integers(1, 30, 300), [2500], rng.integers(1, 4, 50)])
    qid = np.repeat(np.cumsum(rng.integers(1, 5, len(sizes))) + 72048431380967004, sizes)
    n = len(qid)
    y = rng.integers(0, 3, n).astype(float)
    s = np.round(rng.normal(size=n), 2)
    start = query_starts(qid, n)
    parts = [truth.ordinal_by_grades(s[a:b], y[a:b]) for a, b in pairwise(start)]
    pairs = np.array([part[2] for part in parts])
    for name in ("swapped-pairs", "swapped-fraction", "pairs"):
        bound = OrdinalRisk(name).bind(y, qid)
        weight = {
            "swapped-pairs": np.full(len(sizes), 1 / len(sizes)),
            "swapped-fraction": 1 / (len(sizes) * np.maximum(pairs, 1)),
            "pairs": np.full(len(sizes), 1 / pairs.sum()),
        }[name]
        value = truth.ordinal(s, y, qid, name)
        for threads in (1, 3):
            cut = OrdinalRisk(name).bind(y, qid, threads=threads).linearize(s)
            expected = np.concatenate([w * part[0] for w, part in zip(weight, parts)])
            np.testing.assert_allclose(cut.coef, expected, rtol=1e-13, atol=1e-18)
            assert cut.offset == pytest.approx(
                sum(w * part[1] for w, part in zip(weight, parts)), rel=1e-13
            )
            assert cut.value == pytest.approx(value, rel=1e-12)
        assert bound.n_queries == len(sizes)
        np.testing.assert_array_equal(bound.pairs_per_query, pairs)


def test_pairs_beyond_32_bits():
    n = 200_000
    y = np.repeat([0.0, 1.0], n // 2)
    cut = (bound := OrdinalRisk("swapped-pairs").bind(y)).linearize(np.zeros(n))
    assert bound.n_pairs == 10**10
    assert cut.value == cut.offset == 1e10
    assert cut.coef[0] == 1e5
    assert cut.coef[-1] == -1e5


@pytest.mark.parametrize("name", ["swapped-pairs", "swapped-fraction", "pairs"])
def test_rows_without_a_partner(name):
    bound = OrdinalRisk(name).bind(np.array([1.0, 2.0, 2.0, 5.0]), np.array([1, 2, 2, 9]))
    cut = bound.linearize(np.array([0.0, 1.0, 2.0, 3.0]))
    assert (cut.value, cut.offset, bound.n_pairs, bound.n_queries) == (0.0, 0.0, 0, 3)
    assert not cut.coef.any()
    empty = OrdinalRisk(name).bind(np.zeros(0))
    assert empty.linearize(np.zeros(0)).value == 0.0


def test_queries_without_pairs_count():
    y, s = np.array([1.0, 0.0, 3.0]), np.zeros(3)
    assert OrdinalRisk("swapped-pairs").bind(y, np.array([0, 0, 4])).linearize(s).value == 0.5
    assert OrdinalRisk("swapped-fraction").bind(y, np.array([0, 0, 4])).linearize(s).value == 0.5
    assert OrdinalRisk("pairs").bind(y, np.array([0, 0, 4])).linearize(s).value == 1.0


@pytest.mark.parametrize(("qid", "row"), [([1, 1, 0], 3), ([1, 2, 1], 3), ([5, 4, 5], 2)])
def test_queries_must_not_return(qid, row):
    with pytest.raises(TrainingError, match=f"^row {row}: qid "):
        OrdinalRisk().bind(np.arange(3.0), np.array(qid))


def test_roc_area_is_the_ordinal_risk_of_two_grades(rng):
    y = rng.choice([-1.0, 0.0, 2.5], 5000)
    s = np.round(rng.normal(size=5000), 2)
    cut = RocAreaRisk().bind(y).linearize(s)
    pairs = OrdinalRisk("pairs").bind(np.where(y > 0, 1.0, 0.0)).linearize(s)
    assert cut.value == pytest.approx(100 * pairs.value)
    assert cut.offset == pytest.approx(100 * pairs.offset)
    np.testing.assert_allclose(cut.coef, 100 * pairs.coef)


def test_wrong_shapes_are_refused(rng):
    bound = OrdinalRisk().bind(np.arange(4.0))
    with pytest.raises(ValueError, match="do not match"):
        bound.linearize(np.zeros(5))
