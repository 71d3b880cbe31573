# SPDX-License-Identifier: BSD-3-Clause
"""MAP and NDCG at sizes brute force cannot reach: the most violated ranking, the bound of the
measure, the optimum."""

import numpy as np
import pytest
from reference import risks as truth

import svmcut
from svmcut.base.errors import TrainingError
from svmcut.risks.rankings import RankingRisk
from svmcut.scoring.measures import ranking_measures


def sample(rng, n, grades):
    y = rng.integers(0, grades, n).astype(float)
    y[rng.permutation(n)[:grades]] = np.arange(grades)
    s = (rng.normal(size=n) + rng.uniform(-0.5, 1) * y) * rng.choice([0.02, 0.2, 1.0, 5.0])
    return y, np.round(s, int(rng.integers(0, 3))) if rng.random() < 0.5 else s


def test_the_prefixes_of_the_reference_are_all_rankings(rng):
    """And so is its search for average precision."""
    for _ in range(10):
        y, s = sample(rng, 6, int(rng.integers(2, 6)))
        at = int(rng.integers(1, 8))
        every = truth.ranking_measure(s, y, None, "ndcg", at)
        assert truth.ndcg_by_prefixes(s, y, at) == pytest.approx(every, abs=1e-12)
        positive = y >= 1
        found = truth.average_precision_quadratic(
            s, positive, 1.0, 2 / (positive.sum() * (~positive).sum())
        )
        assert found == pytest.approx(truth.ranking_measure(s, y, None, "map"), abs=1e-12)


@pytest.mark.parametrize(
    ("n", "grades", "at"),
    [(30, 2, 10), (30, 2, 30), (40, 3, 5), (25, 5, 4), (14, 14, 3), (60, 3, 1), (12, 4, 100)],
)
def test_ndcg_of_one_query_against_all_prefixes(n, grades, at, rng):
    for _ in range(4):
        y, s = sample(rng, n, grades)
        cut = RankingRisk("ndcg", at).bind(y).linearize(s)
        assert cut.value == pytest.approx(truth.ndcg_by_prefixes(s, y, at), rel=1e-12, abs=1e-12)
        assert cut.offset + cut.coef @ s == pytest.approx(cut.value, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(("n", "share"), [(60, 0.5), (200, 0.1), (150, 0.95)])
def test_map_of_one_query_against_every_place_of_every_negative(n, share, rng):
    for _ in range(5):
        y = (rng.random(n) < share) * rng.integers(1, 4, n) + 0.5 * (rng.random(n) < 0.3)
        _, s = sample(rng, n, 2)
        relevant = y >= 1
        m = 2 / (relevant.sum() * (~relevant).sum())
        cut = RankingRisk("map").bind(y).linearize(s)
        assert cut.value == pytest.approx(
            truth.average_precision_quadratic(s, relevant, 1.0, m), rel=1e-11
        )


def test_the_risk_bounds_the_loss_that_classify_measures(rng):
    """With equality for no query that has no pair; such a query, whose loss is fixed, is left out
    of both."""
    for _ in range(40):
        sizes = rng.integers(1, 30, 8)
        qid = np.repeat(np.arange(8), sizes)
        y = rng.choice([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0], len(qid))
        s = np.round(rng.normal(size=len(qid)) + y * rng.choice([0, 1, 9]), 1)
        for loss, name, at in (("map", "map", 1), ("ndcg", "ndcg@5", 5)):
            grade = truth.graded(y, loss)
            mixed = [np.ptp(grade[qid == q]) > 0 for q in range(8)]
            rows = np.isin(qid, np.flatnonzero(mixed))
            if not rows.any():
                continue
            cut = RankingRisk(loss, at).bind(y, qid).linearize(s)
            measured = ranking_measures(y[rows], s[rows], qid[rows]).values[name]
            assert cut.value * 8 / sum(mixed) >= 1 - measured - 1e-12
            assert not cut.coef[~rows].any()


@pytest.mark.parametrize("loss", ["map", "ndcg"])
def test_a_shift_of_the_scores_changes_nothing_and_ties_of_huge_scores_stay(loss, rng):
    y, s = rng.integers(0, 3, 300).astype(float), np.round(rng.normal(size=300) * 1024) / 1024
    qid = np.arange(300) // 30
    risk = RankingRisk(loss, 10).bind(y, qid)
    near, far = risk.linearize(s), risk.linearize(s + 2.0**40)
    assert (near.value, near.offset, near.coef.tobytes()) == (
        far.value,
        far.offset,
        far.coef.tobytes(),
    )
    equal, zero = risk.linearize(np.full(300, 1e15 / 3)), risk.linearize(np.zeros(300))
    assert (equal.value, equal.coef.tobytes()) == (zero.value, zero.coef.tobytes())
    assert 0 < zero.value <= 1


@pytest.mark.parametrize("loss", ["map", "ndcg"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_no_numbers_end_well(loss, bad, rng):
    y, s = rng.integers(0, 3, 60).astype(float), rng.normal(size=60)
    s[rng.integers(0, 60, 9)] = bad
    with np.errstate(invalid="ignore"):
        assert not RankingRisk(loss, 7).bind(y, np.arange(60) // 20).linearize(s).value < 0


def test_grades_that_gain_alike_are_one_grade():
    y = np.array([-3.0, 0.0, -1.0, 0.0, -7.0])
    assert RankingRisk("ndcg").bind(y).n_pairs == RankingRisk("map").bind(y + 0.5).n_pairs == 0
    assert RankingRisk("ndcg").bind(y + 1).n_pairs == 6
    assert RankingRisk("ndcg").bind(np.array([2000.0, 1999.0, 1998.0])).n_pairs == 3
    assert RankingRisk("map").bind(np.array([5.0, 1.0, 0.99, 0.0])).n_pairs == 4
    empty = RankingRisk("ndcg").bind(np.zeros(0))
    assert (empty.linearize(np.zeros(0)).value, empty.n_queries) == (0.0, 0)


def test_too_many_grades_are_refused_with_the_query():
    y, qid = np.concatenate([np.zeros(7), np.arange(60.0)]), np.repeat([1, 2], [7, 60])
    with pytest.raises(
        TrainingError, match=r"the query of rows 8 to 67 has 60 grades, .* lower parameter 'at'"
    ):
        RankingRisk("ndcg", 10).bind(y, qid)
    assert RankingRisk("ndcg", 2).bind(y, qid).linearize(np.zeros(67)).value > 0
    assert RankingRisk("map").bind(y, qid).linearize(np.zeros(67)).value > 0
    assert RankingRisk("ndcg", 10**30).bind(y[:12]).linearize(np.zeros(12)).value > 0
    many = np.zeros(100_000)
    assert RankingRisk("ndcg", 100_000).bind(many).linearize(many).value == 0


@pytest.mark.every(2)
@pytest.mark.parametrize("loss", ["map", "ndcg"])
@pytest.mark.parametrize("weights", [None, (2.0, 0.0, 0.5, 1.0)])
def test_the_optimum_is_that_of_the_definition(loss, weights, rng):
    """Over two features, by a search that knows nothing of cuts."""
    from scipy.optimize import minimize

    from svmcut.data.examples import Csr
    from svmcut.solvers.cutting_plane import CuttingPlane
    from svmcut.solvers.protocol import Problem, StoppingRule
    from svmcut.spaces.linear import LinearSpace

    X, qid = rng.normal(size=(20, 2)).astype(np.float32), np.arange(20) // 5
    y, C = np.round(X[:, 0] + rng.normal(size=20) + 1), 3.0
    v = np.ones(4) if weights is None else np.array(weights)
    cost = None if weights is None else v[qid]

    def primal(w):
        s = X.astype(float) @ w
        parts = [of_query(s[qid == q], y[qid == q]) for q in range(4)]
        return 0.5 * w @ w + C * float(v @ parts) / v.sum()

    def of_query(s, y):
        if loss == "ndcg":
            return truth.ndcg_by_prefixes(s, y, 3)
        pairs = (y >= 1).sum() * (y < 1).sum()
        return truth.average_precision_quadratic(s, y >= 1, 1.0, 2 / pairs) if pairs else 0.0

    problem = Problem(
        RankingRisk(loss, 3).bind(y, qid, cost),
        LinearSpace(Csr.from_dense(X), 0.0, 1),
        C,
        StoppingRule(0.0, 1e-7),
    )
    last = list(CuttingPlane().start(problem))[-1]
    options = {"xatol": 1e-7, "fatol": 1e-10, "maxiter": 300}
    best = minimize(primal, np.ones(2), method="Nelder-Mead", options=options)
    assert last.dual <= best.fun * (1 + 1e-9)
    assert best.fun <= last.primal * (1 + 1e-4)
    assert last.primal == pytest.approx(primal(last.solution()), rel=1e-9)
    assert last.primal - last.dual <= 1e-7 * last.primal


@pytest.mark.parametrize("loss", ["map", "ndcg"])
@pytest.mark.parametrize(
    "more", [{}, {"kernel": "rbf"}, {"kernel": "rbf", "solver": "subspace", "basis": 8}]
)
def test_training_for_a_measure_is_certified_in_either_unit_of_c(loss, more, rng):
    X, qid = rng.normal(size=(80, 3)).astype(np.float32), np.arange(80) // 8
    y = np.clip(np.round(X[:, 0] + 0.7 * rng.normal(size=80)), 0, 3)
    settings = {"task": "rank", "loss": loss, "gap": 1e-4, "threads": 1, **more}
    one = svmcut.train((X, y, qid), cost=20.0, **settings)
    same = svmcut.train((X, y, qid), example_cost=2.0, **settings)
    assert (one.primal, one.dual) == (same.primal, same.dual)
    assert 0 < one.dual <= one.primal < 20.0  # that of w = 0 is at most c times a loss of 1
    assert one.converged or more.get("solver") == "subspace"
    swapped = svmcut.train((X, y, qid), cost=20.0, **settings | {"loss": "swapped-pairs"})
    assert swapped.primal != one.primal


def test_at_is_read_and_refused_where_it_has_no_effect(rng):
    X, qid = rng.normal(size=(60, 3)).astype(np.float32), np.arange(60) // 12
    y = np.clip(np.round(X[:, 0] + rng.normal(size=60)), 0, 2)
    known = {"task": "rank", "loss": "ndcg", "cost": 5.0, "gap": 1e-6}
    default, first, ten = (
        svmcut.train((X, y, qid), **known, **at).primal for at in ({}, {"at": 1}, {"at": 10})
    )
    assert default == ten != pytest.approx(first, rel=1e-3)
    for loss in ("map", "swapped-pairs"):
        with pytest.raises(
            ValueError, match=f"parameter 'at' is for loss='ndcg'; leave it out with loss '{loss}'"
        ):
            svmcut.train((X, y, qid), task="rank", loss=loss, cost=5.0, at=3)
    with pytest.raises(ValueError, match="parameter 'at' is for loss='recall-at-precision'"):
        svmcut.train((X, np.sign(X[:, 0])), cost=5.0, at=3)
