# SPDX-License-Identifier: BSD-3-Clause
"""Losses of a sample from counts and sums of bins: cuts are cuts of the risk, and no table is above
the bound."""

import numpy as np
import pytest
from drivers import risk_of
from reference import risks as truth
from reference import tables

from svmcut.distributed.histograms import edges_of, places_of
from svmcut.risks import binned
from svmcut.risks.binned import Bins, Costs
from svmcut.risks.binned_tables import binned_losses, make_binned
from svmcut.risks.contingency import NUMBERS
from svmcut.spec.catalog import losses

TABLES = [
    (name, rescaling, norm)
    for name in ("zero-one", "f1", "error-rate", "prbep", "prec-at-k", "rec-at-k")
    for rescaling in ("margin", "slack")
    for norm in (1, 2)
    if (name, rescaling, norm) != ("error-rate", "margin", 1)
]
CASES = [*TABLES, ("roc-area", "margin", 1)]
OWN = [
    (name, parameters)
    for name in NUMBERS
    for parameters in {
        "at": ({"at": 0.9}, {"at": 0.5}, {"at": 1.0}),
        "beta": ({}, {"beta": 2.5}, {"beta": 0.1}),
        None: ({},),
    }[next(iter(losses("classification")[name].takes), None)]
]


def made(name, rescaling, norm, P, N, p=0.0):
    """The risk in bins."""
    return make_binned(risk_of(name, p=p, rescaling=rescaling, slack_norm=norm), P, N)


def bins_of(risk, s, positive, rng, n_bins):
    """Bins of scores between random edges, and the bin of every row."""
    sides = np.where(positive, 0, 1)
    keys = np.take(risk.signs, sides) * s + np.take(risk.shifts, sides)
    low, high = keys.min() - rng.random(), keys.max() + rng.random()
    edges = np.concatenate([[low], np.sort(rng.uniform(low, high, n_bins - 1)), [high]])
    at = sides * n_bins + np.clip(np.searchsorted(edges, keys, "right") - 1, 0, n_bins - 1)
    counts, sums = np.bincount(at, minlength=2 * n_bins), np.bincount(at, keys, 2 * n_bins)
    return Bins(edges, counts.reshape(2, -1).astype(float), sums.reshape(2, -1)), at


@pytest.mark.parametrize(("name", "rescaling", "norm"), CASES)
def test_cuts_of_bins_against_all_labellings(rng, name, rescaling, norm):
    def exact(s):
        if name == "roc-area":
            return truth.roc_area(s, positive)
        return truth.contingency(s, positive, name, risk._k, rescaling, norm, labellings) ** norm

    hidden = 0.0
    for trial in range(30 if name == "roc-area" else 6):
        n = int(rng.integers(2, 7))
        labellings, positive = truth.all_labellings(n), rng.random(n) < 0.5
        positive[:2] = True, False
        s = rng.normal(size=n) * rng.choice([0.1, 1.0, 5.0, 40.0])
        s = np.round(s) if trial % 3 == 0 else s
        p = {"prec-at-k": 0.4, "rec-at-k": 1.6}.get(name, 0.0) * (trial % 2)
        risk = made(name, rescaling, norm, int(positive.sum()), int((~positive).sum()), p)
        bins, at = bins_of(risk, s, positive, rng, int(rng.integers(1, 6)))
        cut, most, value = risk.linearize(bins), risk.upper_bound(bins), exact(s)
        coef = cut.coef.ravel()[at]
        slip = 1e-9 * (1 + abs(value) + abs(cut.offset) + np.abs(coef) @ np.abs(s))
        assert cut.value == pytest.approx(cut.offset + coef @ s, abs=slip)
        assert cut.value <= value + slip and value <= most + slip
        hidden = max(hidden, value - cut.value)
        for other in (s * rng.normal(), rng.normal(size=n) * rng.choice([0.1, 1.0, 10.0])):
            slip = 1e-9 * (1 + np.abs(coef) @ np.abs(other) + abs(cut.offset))
            assert cut.offset + coef @ other <= exact(other) + slip
        if norm == 1 and rescaling == "margin" and name != "roc-area":
            largest = (
                bins.counts.sum(axis=0).max()
                if name == "zero-one"
                else bins.counts.max(axis=1).sum()
            )
            assert most - cut.value <= 100 / n * np.diff(bins.edges).max() * largest / 4 + 1e-9 * (
                1 + value
            )
    assert hidden > 0  # the bins did hide something


@pytest.mark.every(2)
@pytest.mark.parametrize(("name", "parameters"), OWN)
def test_cuts_of_tables_in_bins_against_all_labellings(rng, name, parameters):
    def exact(s):
        return tables.value(s, positive, name, labellings, **parameters)

    for trial in range(6):
        n = int(rng.integers(4, 8))
        labellings, positive = truth.all_labellings(n), rng.random(n) < 0.5
        positive[:2] = True, False
        s = rng.normal(size=n) * rng.choice([0.1, 0.5, 2.0])
        s = np.round(s) if trial % 3 == 0 else s
        P = int(positive.sum())
        risk = make_binned(risk_of(name, **parameters), P, n - P)
        bins, at = bins_of(risk, s, positive, rng, int(rng.integers(1, 6)))
        cut, most, value = risk.linearize(bins), risk.upper_bound(bins), exact(s)
        coef = cut.coef.ravel()[at]
        slip = 1e-9 * (1 + abs(value) + abs(cut.offset) + np.abs(coef) @ np.abs(s))
        assert cut.value == pytest.approx(cut.offset + coef @ s, abs=slip)
        assert cut.value <= value + slip and value <= most * (1 + 2e-7) + slip
        for other in (s * rng.normal(), rng.normal(size=n) * rng.choice([0.1, 1.0, 10.0])):
            slip = 1e-9 * (1 + np.abs(coef) @ np.abs(other) + abs(cut.offset))
            assert cut.offset + coef @ other <= exact(other) + slip


@pytest.mark.every(3)
@pytest.mark.parametrize(("name", "parameters"), OWN)
@pytest.mark.parametrize("n_bins", [4, 40])
def test_the_best_own_table_is_found(name, parameters, n_bins):
    rng = np.random.default_rng(n_bins)
    positive = rng.random(120) < 0.2
    s = (rng.normal(size=120) + positive) * rng.choice([0.03, 0.3, 1.0, 3.0])
    P, N = int(positive.sum()), int((~positive).sum())
    risk = make_binned(risk_of(name, **parameters), P, N)
    bins, _ = bins_of(risk, s, positive, rng, n_bins)
    m, b = np.meshgrid(np.arange(P + 1.0), np.arange(N + 1.0), indexing="ij")
    loss = np.array(
        [[tables.loss_of(name, P, N, i, j, **parameters) for j in b[0]] for i in m[:, 0]]
    )
    assert risk._loss(m, b) == pytest.approx(loss, rel=1e-12, abs=1e-12)
    for costs in (
        [Costs.chords(*of) for of in zip(bins.counts, bins.sums, strict=True)],
        [Costs.lower_bound(bins.edges, *of) for of in zip(bins.counts, bins.sums, strict=True)],
    ):
        values = np.where(loss > 0, loss - 100 / 120 * (costs[0](m) + costs[1](b)), 0)
        value, flips, most = risk._best_value(costs)
        best = max(0.0, values.max())
        assert best * (1 - 2e-7) - 1e-9 <= value <= best * (1 + 1e-12)
        assert best <= most * (1 + 1e-9) + 1e-12 and most <= best * (1 + 1e-6) + 1e-9
        assert value == pytest.approx(max(0.0, values[int(flips[0]), int(flips[1])]))


def test_every_contingency_loss_has_a_risk_in_bins():
    rows = losses("classification").items()
    assert binned_losses() == [name for name, row in rows if row.table or name == "roc-area"]


@pytest.mark.parametrize(
    ("name", "rescaling", "norm"), [case for case in TABLES if case[0] in ("f1", "prec-at-k")]
)
@pytest.mark.parametrize("seed", range(2))
def test_the_best_table_is_found(name, rescaling, norm, seed):
    rng = np.random.default_rng(seed)
    positive = rng.random(400) < 0.3
    s = (rng.normal(size=400) + positive) * rng.choice([0.3, 1.0, 3.0])
    P, N = int(positive.sum()), int((~positive).sum())
    risk = made(name, rescaling, norm, P, N, 0.7 if name == "prec-at-k" else 0.0)
    bins, _ = bins_of(risk, s, positive, rng, 20)
    m, b = np.meshgrid(np.arange(P + 1.0), np.arange(N + 1.0), indexing="ij")
    allowed = (m + b > 0) & ((name == "f1") | ((P - m + b >= risk._k) & (b > 0)))
    for costs in (
        [Costs.chords(*of) for of in zip(bins.counts, bins.sums, strict=True)],
        [Costs.lower_bound(bins.edges, *of) for of in zip(bins.counts, bins.sums, strict=True)],
    ):
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.where(allowed, risk._value(risk._loss(m, b), costs[0](m) + costs[1](b)), 0)
        value, _, most = risk._best_value(costs)
        best = max(0.0, values.max())
        assert best * (1 - 2e-7) - 1e-9 <= value <= best * (1 + 1e-12)
        assert best <= most * (1 + 1e-12) <= best * (1 + 1e-6) + 1e-9


def test_intervals_that_are_too_many_keep_their_bounds(rng, monkeypatch):
    positive = rng.random(1200) < 0.4
    s = rng.normal(size=1200) + positive
    risk = made("f1", "slack", 1, int(positive.sum()), int((~positive).sum()))
    bins, _ = bins_of(risk, s, positive, rng, 40)
    most = risk.upper_bound(bins)
    monkeypatch.setattr(binned, "MAX_INTERVALS", 1)
    assert most < risk.upper_bound(bins) < 1.1 * most


def test_least_costs_are_below_all_members_of_bins(rng):
    keys, edges = np.sort(rng.normal(size=60)), np.linspace(-4, 4, 9)
    at = np.searchsorted(edges, keys, "right") - 1
    counts, sums = np.bincount(at, minlength=8).astype(float), np.bincount(at, keys, 8)
    exact, m = np.append(0, np.cumsum(keys)), np.arange(61.0)
    chords, least = Costs.chords(counts, sums), Costs.lower_bound(edges, counts, sums)
    assert (least(m) <= exact + 1e-12).all() and (exact <= chords(m) + 1e-12).all()
    assert chords.minimiser == np.argmin(chords(m)) and least.minimiser == np.argmin(least(m))
    assert (np.diff(least(m), 2) >= -1e-12).all() and least(m) == pytest.approx(chords(m), abs=60)


@pytest.mark.parametrize("far, near", [(0.0, 0.0), (3.0, 16.0), (50.0, 2.0), (1e9, 1e-9)])
@pytest.mark.parametrize("shifts", [(0.0, 0.0), (0.0, 1.0)])
def test_every_key_lies_in_its_bin(rng, far, near, shifts):
    edges = edges_of(far, near, shifts, 12)
    assert len(edges) == 13 and (np.diff(edges) > 0).all()
    keys = np.concatenate([rng.uniform(-far, far, 200), [far, -far, 0.0], edges[1:-1]]) + shifts[
        1
    ] * rng.integers(0, 2)
    keys = np.clip(keys, min(shifts) - far, max(shifts) + far)
    at = places_of(keys, edges)
    slip = 1e-12 * (1 + np.abs(keys))
    assert (edges[at] <= keys + slip).all() and (keys <= edges[at + 1] + slip).all()
