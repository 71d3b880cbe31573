# SPDX-License-Identifier: BSD-3-Clause
"""Slack rescaling, zero/one loss and squared slack of chains against enumeration."""

import numpy as np
import pytest
from reference import chain as truth
from reference.chain import dense_rows, random_sequences

from svmcut._native import chain
from svmcut.models import ChainShape
from svmcut.risks.chain import (
    ChainRisk,
    CountedRisk,
    SquaredSequences,
    slack_rescaled,
    square_slack,
    zero_one,
)
from svmcut.spaces.structures import ChainSpace
from svmcut.structured.chain import ChainSequences

ORDERS = [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)]
RISKS = {
    "margin": lambda chains: ChainRisk(chains),
    "slack": lambda chains: slack_rescaled(chains, 5),
    "zero-one": lambda chains: zero_one(chains),
    "margin, squared": lambda chains: square_slack(chains, 5, "margin"),
    "slack, squared": lambda chains: square_slack(chains, 5, "slack"),
    "zero-one, squared": lambda chains: SquaredSequences(zero_one(chains)),
}


def made(rng, K, lengths, t=1, e=0, threads=1):
    sequences = random_sequences(rng, K, lengths)
    shape = ChainShape(K, sequences.X.n_features, t, e)
    chains = ChainSequences(sequences, shape).chains
    return sequences, shape, chains, ChainSpace(sequences.X, chains, threads)


@pytest.mark.every(3)
@pytest.mark.parametrize("t, e", ORDERS)
@pytest.mark.parametrize("K", [1, 2, 3])
@pytest.mark.parametrize("rule", ["slack", "zero-one"])
def test_violations_equal_enumeration(rng, rule, K, t, e):
    sequences, shape, chains, space = made(rng, K, [1, 2, 3, 4, 5], t, e)
    risk = RISKS[rule](chains)
    for scale in (0.1, 1.0):
        w = scale * rng.normal(size=shape.dim)
        found = risk.violations(space.scores(w))
        for n in range(len(sequences)):
            rows = slice(sequences.indptr[n], sequences.indptr[n + 1])
            gold, x = sequences.tags[rows], dense_rows(sequences, n)
            value, best = truth.slack(x, w, shape, gold, rule)
            wrong = np.count_nonzero(found.labels[rows] != gold)
            assert found.slacks[n] == pytest.approx(value, abs=1e-9)
            assert found.labels[rows].tolist() in best.tolist()
            assert (
                found.offsets[n]
                == found.weights[n]
                == (wrong if rule == "slack" else min(wrong, 1))
            )


@pytest.mark.parametrize("t, e", [(0, 0), (1, 0), (1, 1), (2, 0)])
def test_ties_go_to_fewest_wrong_tags_and_then_to_the_lowest(rng, t, e):
    """Whole weights of features 0 and 1: many labellings are equally good, and to the last bit."""
    sequences, shape, chains, space = made(rng, 3, [1, 2, 3, 4, 4, 5], t, e)
    sequences.X.data[:] = np.sign(sequences.X.data)
    space, risk, several = ChainSpace(sequences.X, chains), slack_rescaled(chains, 5), 0
    for _ in range(4):
        w = rng.integers(-1, 2, shape.dim).astype(float)
        found = risk.violations(space.scores(w))
        for n in range(len(sequences)):
            rows = slice(sequences.indptr[n], sequences.indptr[n + 1])
            gold = sequences.tags[rows]
            value, best = truth.slack(dense_rows(sequences, n), w, shape, gold, "slack")
            assert found.slacks[n] == value
            first = min(best.tolist(), key=lambda y: (np.count_nonzero(y != gold), y[::-1]))
            assert found.labels[rows].tolist() == first
            several += len(best) > 1
    assert several > 3


def test_without_weights_all_labellings_with_a_wrong_tag_are_equal(rng):
    sequences, shape, chains, space = made(rng, 4, [6, 1])
    sequences.tags[:] = [0, 2, 0, 0, 3, 0, 1]
    s = space.scores(np.zeros(shape.dim))
    assert slack_rescaled(chains, 6).violations(s).labels.tolist() == [1, 0, 1, 1, 0, 1, 0]
    # the wrong tag as far ahead as can be, then the lowest
    assert zero_one(chains).violations(s).labels.tolist() == [1, 0, 0, 0, 0, 0, 0]
    assert ChainRisk(chains).linearize(s).value == slack_rescaled(chains, 6).linearize(s).value == 7
    assert zero_one(chains).linearize(s).value == 2


@pytest.mark.parametrize("most", [1, 2, 3])
def test_counts_stay_at_the_most_that_is_counted(rng, most):
    sequences, shape, chains, space = made(rng, 3, [1, 2, 4, 5])
    losses, prices = (
        np.array([0, 1.0, 1.5, 1.7])[: most + 1],
        np.array([0, 1.0, 1.2, 0.3])[: most + 1],
    )
    risk = CountedRisk(chains, losses, prices)
    for _ in range(5):
        w = rng.normal(size=shape.dim)
        found = risk.violations(space.scores(w))
        for n in range(len(sequences)):
            rows = slice(sequences.indptr[n], sequences.indptr[n + 1])
            gold, x = sequences.tags[rows], dense_rows(sequences, n)
            tags, features = truth.labellings(x, shape)
            count = np.minimum(np.count_nonzero(tags != gold, axis=1), most)
            values = losses[count] + prices[count] * (
                (features - truth.joint_feature(x, gold, shape)) @ w
            )
            values[count == 0] = 0
            assert found.slacks[n] == pytest.approx(values.max(), abs=1e-9)
            same = int(np.flatnonzero((tags == found.labels[rows]).all(axis=1))[0])
            assert values[same] == pytest.approx(values.max(), abs=1e-9)


@pytest.mark.every(2)
@pytest.mark.parametrize("rule", RISKS)
@pytest.mark.parametrize("t, e", [(0, 0), (1, 0), (1, 1), (2, 0)])
def test_cuts_lie_below_the_risk_and_touch_it(rng, rule, t, e):
    sequences, shape, chains, space = made(rng, 3, [1, 2, 4, 5], t, e)
    risk = RISKS[rule](chains)

    def value(w):
        parts = []
        for n in range(len(sequences)):
            gold = sequences.tags[sequences.indptr[n] : sequences.indptr[n + 1]]
            parts.append(truth.slack(dense_rows(sequences, n), w, shape, gold, rule)[0])
        return sum(part**2 if rule.endswith("squared") else part for part in parts)

    points = rng.normal(size=(3, shape.dim)) * np.array([[0.1], [0.5], [1.0]])
    values = [value(w) for w in points]
    for w, here in zip(points, values, strict=True):
        cut = risk.linearize(space.scores(w))
        a = space.adjoint(cut.coef)
        assert cut.value == pytest.approx(here, rel=1e-9)
        assert cut.offset + a @ w == pytest.approx(here, rel=1e-9)
        for other, there in zip(points, values, strict=True):
            assert there >= cut.offset + a @ other - 1e-9


@pytest.mark.parametrize("rule", RISKS)
def test_values_and_slopes_along_a_line(rng, rule):
    _, shape, chains, space = made(rng, 3, [1, 2, 5, 5])
    risk = RISKS[rule](chains)
    w, d = rng.normal(size=(2, shape.dim))
    s, rates = space.scores(w), space.scores(d)
    for step in (0.0, 0.3, 2.0):
        here = risk.linearize(space.scores(w + step * d))
        value, slope, _ = risk.along(s, rates, risk.linearize(s)).at(step)
        assert value == pytest.approx(here.value)
        assert slope == pytest.approx(space.adjoint(here.coef) @ d)


@pytest.mark.parametrize("t, e", ORDERS)
@pytest.mark.parametrize("rule", ["slack", "zero-one"])
def test_threads_lead_to_the_same_bytes(rng, rule, t, e):
    lengths = rng.integers(1, 40, 60).tolist()
    _, shape, chains, space = made(rng, 3, lengths, t, e)
    s = space.scores(0.2 * rng.normal(size=shape.dim))
    make = (
        zero_one
        if rule == "zero-one"
        else lambda chains, threads: slack_rescaled(chains, max(lengths), threads)
    )
    first, second = (make(chains, threads).violations(s) for threads in (1, 2))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(first, second, strict=True))
    assert first.slacks.any()


@pytest.mark.parametrize("K", [5, 8, 17, 70])
def test_many_tags_and_long_sequences(rng, K):
    """The labelling found has the value told, and no other of a crowd of random ones has more."""
    sequences, shape, chains, space = made(rng, K, [30, 7])
    w = 0.1 * rng.normal(size=shape.dim)
    s = space.scores(w)
    for risk in (slack_rescaled(chains, 30), zero_one(chains)):
        found = risk.violations(s)
        np.testing.assert_allclose(
            found.slacks, found.offsets + found.weights * risk.rates(found.labels, s), rtol=1e-9
        )
        best = ChainRisk(chains).violations(s).labels
        for _ in range(200):
            flip = rng.random(37) < rng.random()
            y = np.where(
                flip, best, np.where(rng.random(37) < 0.5, sequences.tags, found.labels)
            ).astype(np.int32)
            wrong = np.add.reduceat(y != sequences.tags, sequences.indptr[:-1]).astype(int)
            loss = wrong if found.offsets.max() > 1 else np.minimum(wrong, 1)
            assert (loss * (1 + risk.rates(y, s)) <= found.slacks + 1e-9).all()


def test_a_set_flag_cancels(rng):
    _, shape, chains, space = made(rng, 3, [4, 5])
    room = np.empty(9, np.int32), np.empty(2), np.empty(2, np.int64)
    wrong, s = np.arange(6.0), space.scores(np.zeros(shape.dim))
    assert chain.counted(chains, s, wrong, wrong, *room, 1, np.zeros(1, np.int32))
    assert not chain.counted(chains, s, wrong, wrong, *room, 1, np.ones(1, np.int32))
    with pytest.raises(ValueError, match="wrong length"):
        chain.counted(chains, s, wrong[:1], wrong[:1], *room, 1)
