# SPDX-License-Identifier: BSD-3-Clause
"""Weights of queries, sequences and label sets in risks and compiled loops: k is k of them, 1
changes no bit."""

import numpy as np
import pytest
from drivers import risk_of
from reference.chain import noisy_chains

from svmcut._native import chain_bcfw, chain_ssg, gdmm_chain, multilabel
from svmcut.base.errors import TrainingError
from svmcut.data.examples import Csr, MultilabelExamples, Sequences, Source
from svmcut.data.labellings import Labellings
from svmcut.models import ChainShape
from svmcut.risks.chain import ChainRisk, slack_rescaled, square_slack, zero_one
from svmcut.risks.multilabel import LabelRisk
from svmcut.risks.sampling import ChainSampler
from svmcut.spaces.structures import ChainSpace
from svmcut.structured.chain import ChainSequences
from svmcut.structured.multilabel import LabelSets

RISKS = {
    "margin": lambda chains, v=None: ChainRisk(chains, weights=v),
    "slack": lambda chains, v=None: slack_rescaled(chains, 6, weights=v),
    "zero-one": lambda chains, v=None: zero_one(chains, weights=v),
    "squared": lambda chains, v=None: square_slack(chains, 6, "margin", weights=v),
}


def weights_of(rng, n):
    v = rng.integers(0, 4, n).astype(float)
    v[:2] = 0, 3
    return v, np.repeat(np.arange(n), v.astype(int))


def chains_of(rng, n=10, K=3, D=5):
    """Sequences, weights, and the sequences repeated; both as models of transition order 1."""
    sequences = noisy_chains(rng, K, rng.integers(1, 7, n), D)
    v, which = weights_of(rng, n)
    tokens = [np.arange(sequences.indptr[k], sequences.indptr[k + 1]) for k in which]
    rows = np.concatenate(tokens)
    indptr = np.concatenate([[0], np.cumsum([len(part) for part in tokens])]).astype(np.int64)
    repeated = Sequences(sequences.X.take(rows), indptr, sequences.tags[rows])
    shape = ChainShape(K, sequences.X.n_features)
    return ChainSequences(sequences, shape), v, ChainSequences(repeated, shape)


@pytest.mark.parametrize("rule", RISKS)
def test_a_cut_of_weighted_sequences_is_that_of_sequences_repeated(rng, rule):
    model, v, repeated = chains_of(rng)
    spaces = [ChainSpace(m.sequences.X, m.chains) for m in (model, repeated)]
    risks = [RISKS[rule](model.chains, v), RISKS[rule](repeated.chains)]
    w, d = rng.normal(size=(2, model.dim))
    cuts = [risk.linearize(space.scores(w)) for risk, space in zip(risks, spaces, strict=True)]
    assert cuts[0].value == pytest.approx(cuts[1].value, rel=1e-9)
    assert cuts[0].offset == pytest.approx(cuts[1].offset, rel=1e-9)
    slopes = [space.adjoint(cut.coef) for space, cut in zip(spaces, cuts, strict=True)]
    np.testing.assert_allclose(*slopes, rtol=1e-9, atol=1e-9)
    lines = [
        risk.along(space.scores(w), space.scores(d), cut)
        for risk, space, cut in zip(risks, spaces, cuts, strict=True)
    ]
    for t in (0.0, 0.7, 0.2, 1.5):
        (value, slope, cut), (expected, expected_slope, _) = (line.at(t) for line in lines)
        assert (value, slope) == pytest.approx((expected, expected_slope), rel=1e-9)
        assert cut.value == value
    ones, plain = (
        RISKS[rule](model.chains, one).linearize(spaces[0].scores(w))
        for one in (np.ones(len(v)), None)
    )
    assert (ones.value, ones.offset, ones.coef.weights.tobytes()) == (
        plain.value,
        plain.offset,
        plain.coef.weights.tobytes(),
    )


def test_sampled_cuts_of_weighted_sequences_are_unbiased(rng):
    model, v, _ = chains_of(rng, 20)
    labellings = Labellings(model.sequences, 3, model.shape.stride, 1)
    s = 0.5 * rng.normal(size=labellings.dim)
    violated = ChainSampler(labellings, weights=v).violations(s)
    exact = ChainRisk(labellings.chains, weights=v).linearize(s)
    everything = violated.everything()
    assert (everything.value, everything.offset) == pytest.approx((exact.value, exact.offset))
    assert violated.value == pytest.approx(exact.value)
    assert v[violated.sequences].min() > 0
    mean = np.zeros(labellings.dim)
    for _ in range(400):
        draw = violated.sample(rng, 20)
        assert draw.value == pytest.approx(draw.offset + draw.coef @ s[draw.points])
        mean[draw.points] += draw.coef / 400
    expected = np.zeros(labellings.dim)
    expected[everything.points] = everything.coef
    assert mean == pytest.approx(expected, abs=0.1 * np.abs(expected).max())


def chain_dual(model, C, weights=None):
    run = chain_bcfw.Blocks(model.chains, C, 0, weights)
    w = np.empty(model.dim)
    for _ in range(60):
        run.visit(len(model.sequences))
    run.weights(True, w)
    return run, w, run.loss - 0.5 * w @ w


def primal(model, w, C, v=1.0):
    return 0.5 * w @ w + C * float((v * model.separate(w).slacks).sum())


def test_bcfw_of_weighted_sequences_finds_the_optimum_of_sequences_repeated(rng):
    model, v, repeated = chains_of(rng)
    run, w, dual = chain_dual(model, 0.3, v)
    _, _, best = chain_dual(repeated, 0.3)
    assert dual == pytest.approx(best, rel=2e-3)
    assert primal(model, w, 0.3, v) == pytest.approx(best, rel=1e-2)
    assert primal(model, w, 0.3, v) - dual <= 1.1 * run.gap + 1e-6 * best
    again, found = chain_bcfw.Blocks(model.chains, 0.3, 5, v), np.empty(model.dim)
    again.restore(run.state())
    for one in (run, again):
        one.visit(25)
    assert again.loss == run.loss
    run.weights(False, w)
    again.weights(False, found)
    assert found.tobytes() == w.tobytes()


def test_ssg_of_weighted_sequences_adds_weighted_steps_and_nears_the_optimum(rng):
    model, v, repeated = chains_of(rng)
    n, first = len(model.sequences), np.array([1], np.int32)
    sums = np.zeros((4, model.dim))
    _, loss, _ = chain_ssg.visit(model.chains, 0.3, first, 0, sums[0], sums[1])
    _, own, _ = chain_ssg.visit(model.chains, 0.3, first, 0, sums[2], sums[3], weights=v)
    assert own == 3 * loss > 0
    assert np.array_equal(sums[2], 3 * sums[0])
    z, weighted, visits, loss = np.zeros(model.dim), np.zeros(model.dim), 0, 0.0
    for _ in range(600):
        order = rng.permutation(n).astype(np.int32)
        visits, more, _ = chain_ssg.visit(model.chains, 0.3, order, visits, z, weighted, weights=v)
        loss += more
    mean = 2 * 0.3 * n * (visits * z - weighted) / (visits * (visits + 1))
    best = chain_dual(repeated, 0.3)[2]
    assert primal(model, mean, 0.3, v) == pytest.approx(best, rel=2e-2)
    w = 0.3 * n * z / visits
    assert 0.98 * best <= 0.3 * n * loss / visits - 0.5 * w @ w <= best * (1 + 1e-6)


@pytest.mark.parametrize("soft", [False, True])
def test_factors_of_weighted_sequences_near_the_optimum_of_sequences_repeated(rng, soft):
    model, v, repeated = chains_of(rng)

    def factors(m, weights, passes=400):
        w = np.zeros(m.dim)
        run = gdmm_chain.Gdmm(m.chains, w, 0.3, 1.0, 1, True, 0, soft, weights)
        for _ in range(passes):
            run.run()
        transitions, linear, _, _ = run.repair()
        whole = np.concatenate([w[: m.dim - len(transitions)], transitions])
        return run, w, linear - 0.5 * whole @ whole

    run, w, dual = factors(model, v)
    best, other = chain_dual(repeated, 0.3)[2], factors(repeated, None)[2]
    assert dual <= best * (1 + 1e-6)
    assert dual == pytest.approx(other, rel=2e-2)
    if not soft:
        assert primal(model, w, 0.3, v) == pytest.approx(best, rel=1e-2)
    found = w.copy()
    again = gdmm_chain.Gdmm(model.chains, found, 0.3, 1.0, 1, True, 7, soft, v)
    again.restore(run.state())
    run.run()
    again.run()
    assert found.tobytes() == w.tobytes()
    plain = [factors(model, one, 5)[1].tobytes() for one in (None, np.ones(len(v)))]
    assert plain[0] == plain[1]


def test_weights_of_one_change_no_bit_of_steps_on_sequences(rng):
    model, v, _ = chains_of(rng)
    ones, order = np.ones(len(v)), rng.permutation(len(v)).astype(np.int32)
    one, two = (chain_dual(model, 0.3, weights)[:2] for weights in (None, ones))
    assert one[1].tobytes() == two[1].tobytes()
    assert one[0].loss == two[0].loss
    sums = np.zeros((2, 2, model.dim))
    for k, weights in enumerate((None, ones)):
        chain_ssg.visit(model.chains, 0.3, order, 0, *sums[k], weights=weights)
    assert sums[0].tobytes() == sums[1].tobytes()
    with pytest.raises(ValueError, match="wrong length"):
        chain_bcfw.Blocks(model.chains, 0.3, 0, ones[1:])


def label_sets(rng, n=16, d=5, K=4):
    """Label sets, weights, and the sets repeated."""
    X = rng.normal(size=(n, d)).astype(np.float32)
    gold = X @ rng.normal(size=(d, K)) + 0.5 * rng.normal(size=(n, K)) > 0.4
    gold[:, 1] |= gold[:, 0]
    v, rows = weights_of(rng, n)

    def examples(which):
        indptr = np.concatenate([[0], np.cumsum(gold[which].sum(axis=1))]).astype(np.int64)
        labels = np.nonzero(gold[which])[1].astype(np.int32)
        return LabelSets(
            MultilabelExamples(Csr.from_dense(X[which]), np.arange(K), indptr, labels, Source("m")),
            1.0,
            True,
            1,
        )

    return examples(np.arange(n)), v, examples(rows), rows


@pytest.mark.parametrize("pairs", [False, True])
def test_a_cut_of_weighted_label_sets_is_that_of_sets_repeated(rng, pairs):
    sets, v, repeated, rows = label_sets(rng)
    gold, K = sets.examples.gold(), 4
    s, p = rng.normal(size=(len(v), K)), rng.normal(size=6) * pairs
    tail = p if pairs else p[:0]
    risk, other = LabelRisk(gold, pairs, 1, v), LabelRisk(repeated.examples.gold(), pairs)
    cut, expected = (
        r.linearize(np.concatenate([x.ravel(), tail])) for r, x in ((risk, s), (other, s[rows]))
    )
    assert (cut.value, cut.offset) == pytest.approx((expected.value, expected.offset), rel=1e-9)
    own, theirs = cut.coef[: s.size].reshape(-1, K), expected.coef[: len(rows) * K].reshape(-1, K)
    for k in range(K):
        np.testing.assert_allclose(own[:, k], np.bincount(rows, theirs[:, k], len(v)), atol=1e-12)
    np.testing.assert_allclose(cut.coef[s.size :], expected.coef[len(rows) * K :], atol=1e-9)
    at = np.concatenate([s.ravel(), tail])
    ones, plain = (LabelRisk(gold, pairs, 1, one).linearize(at) for one in (np.ones(len(v)), None))
    assert (ones.value, ones.offset, ones.coef.tobytes()) == (
        plain.value,
        plain.offset,
        plain.coef.tobytes(),
    )


def blocks_dual(sets, C, weights=None, passes=600):
    W, v = np.zeros((sets.n_rows, 4)), np.zeros((4, 4))
    run = multilabel.Blocks(sets.rows, sets.sets, 4, 1.0, True, C, 0, weights)
    for _ in range(passes):
        loss = run.bcfw(W, v)
    return run, W, v, loss - 0.5 * np.vdot(W, W) - 0.25 * np.vdot(v, v)


def test_steps_on_weighted_label_sets_near_the_optimum_of_sets_repeated(rng):
    sets, v, repeated, _ = label_sets(rng)
    best = blocks_dual(repeated, 0.3)[3]
    run, W, pairs, dual = blocks_dual(sets, 0.3, v)
    assert dual == pytest.approx(best, rel=5e-3)
    again, kept, n = (
        multilabel.Blocks(sets.rows, sets.sets, 4, 1.0, True, 0.3, 5, v),
        (W.copy(), pairs.copy()),
        len(v),
    )
    again.restore(run.state())
    assert run.bcfw(W, pairs) == again.bcfw(*kept)
    assert W.tobytes() == kept[0].tobytes()
    z, zv, mean, mean_v = (np.zeros_like(x) for x in (W, pairs, W, pairs))
    steps, passes, loss = (
        multilabel.Blocks(sets.rows, sets.sets, 4, 1.0, True, 0.3, 0, v),
        1500,
        0.0,
    )
    for _ in range(passes):
        loss += steps.ssg(z, zv, mean, mean_v)
    scale = 0.3 / passes
    squared = np.vdot(z, z) + 0.5 * np.vdot(zv, zv)
    assert 0.97 * best <= scale * loss - 0.5 * scale**2 * squared <= best * (1 + 1e-3)
    ends = [blocks_dual(sets, 0.3, one, 4) for one in (None, np.ones(n))]
    assert ends[0][1].tobytes() == ends[1][1].tobytes()
    assert ends[0][3] == ends[1][3]


@pytest.mark.parametrize("soft", [False, True])
def test_factors_of_weighted_label_sets_near_the_optimum_of_sets_repeated(rng, soft):
    sets, v, repeated, _ = label_sets(rng)

    def factors(m, weights, passes=400):
        W, pairs = np.zeros((m.n_rows, 4)), np.zeros((4, 4))
        run = multilabel.Gdmm(m.rows, m.sets, W, pairs, 1.0, 0.3, 0.5, 0, soft, weights)
        for _ in range(passes):
            run.run(True)
        v2, linear, _, _ = run.repair()
        return run, W, pairs, linear - 0.5 * np.vdot(W, W) - 0.25 * np.vdot(v2, v2)

    run, W, pairs, dual = factors(sets, v)
    best = blocks_dual(repeated, 0.3)[3]
    assert dual <= best * (1 + 5e-3)
    assert dual == pytest.approx(factors(repeated, None)[3], rel=2e-2)
    kept = W.copy(), pairs.copy()
    again = multilabel.Gdmm(sets.rows, sets.sets, *kept, 1.0, 0.3, 0.5, 7, soft, v)
    again.restore(run.state())
    run.run(True)
    again.run(True)
    assert kept[0].tobytes() == W.tobytes()
    ends = [factors(sets, one, 5)[1].tobytes() for one in (None, np.ones(len(v)))]
    assert ends[0] == ends[1]


@pytest.mark.parametrize(
    ("name", "norm"),
    [
        ("swapped-pairs", 1),
        ("swapped-fraction", 1),
        ("pairs", 1),
        ("swapped-pairs", 2),
        ("swapped-fraction", 2),
        ("map", 1),
        ("ndcg", 1),
    ],
)
def test_a_cut_of_weighted_queries_is_that_of_queries_repeated(rng, name, norm):
    sizes = rng.integers(1, 8, 9)
    qid, y = np.repeat(np.arange(9), sizes), rng.integers(0, 3, sizes.sum()).astype(float)
    s, (v, which) = np.round(rng.normal(size=len(y)), 1), weights_of(rng, 9)
    rows = np.concatenate([np.flatnonzero(qid == k) for k in which])
    again = np.repeat(np.arange(len(which)), sizes[which])
    risk = risk_of(name, slack_norm=norm)
    bound = risk.bind(y, qid, v[qid])
    cut, expected = bound.linearize(s), risk.bind(y[rows], again).linearize(s[rows])
    assert (cut.value, cut.offset) == pytest.approx((expected.value, expected.offset), rel=1e-9)
    np.testing.assert_allclose(cut.coef, np.bincount(rows, expected.coef, len(y)), atol=1e-12)
    assert np.array_equal(bound.weights, v)
    if hasattr(bound, "sampler"):
        sampled = bound.sampler().violations(s).everything()
        assert (sampled.value, sampled.offset) == pytest.approx((cut.value, cut.offset))
    ones, plain = (risk.bind(y, qid, one).linearize(s) for one in (np.ones(len(y)), None))
    assert (ones.value, ones.offset, ones.coef.tobytes()) == (
        plain.value,
        plain.offset,
        plain.coef.tobytes(),
    )
    last = v[qid].copy()
    last[-1] += 1
    if sizes[-1] > 1:
        with pytest.raises(
            TrainingError, match=f"rows {len(y) - sizes[-1] + 1} and {len(y)} are of one query"
        ):
            risk.bind(y, qid, last)
