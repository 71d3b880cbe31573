# SPDX-License-Identifier: BSD-3-Clause
"""Label sets: the relaxed argmax, decoding, the structured model, GDMM and its certificate."""

import numpy as np
import pytest
from drivers import driver
from reference import hinge as single
from reference import multilabel as truth

from svmcut._native import multilabel, sparse
from svmcut.base.errors import UsageError
from svmcut.data.examples import Csr, MultilabelExamples, Source
from svmcut.models import LabelDecoder, MultilabelModel
from svmcut.solvers.bcfw import SoftBcfw
from svmcut.solvers.gdmm import Gdmm
from svmcut.solvers.label_blocks import LabelBcfw, LabelSsg
from svmcut.solvers.protocol import StoppingRule
from svmcut.structured.multilabel import LabelSets
from svmcut.structured.protocol import StructuredProblem


def symmetric(rng, K, low=None):
    v = np.triu(rng.normal(size=(K, K)), 1)
    v = np.abs(v) if low == 0 else -np.abs(v) if low == "negative" else v
    return v + v.T


def label_sets(rng, n=25, d=6, K=5):
    """Rows whose labels depend on features and on each other."""
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    gold = X @ rng.normal(size=(d, K)) + 0.5 * rng.normal(size=(n, K)) > 0.4
    gold[:, 1] |= gold[:, 0] & (rng.random(n) < 0.8)
    gold[:, 2] &= ~gold[:, 0]
    indptr = np.concatenate([[0], np.cumsum(gold.sum(axis=1))]).astype(np.int64)
    labels = np.nonzero(gold)[1].astype(np.int32)
    return MultilabelExamples(Csr.from_dense(X), np.arange(K) * 2, indptr, labels, Source("m"))


def dense(examples, bias=1.0):
    return np.hstack([examples.X.to_dense().astype(np.float64), np.full((len(examples), 1), bias)])


def test_the_relaxed_hinge_is_that_of_the_linear_program(rng):
    for trial in range(40):
        K = int(rng.integers(1, 7))
        examples = label_sets(rng, n=4, K=max(K, 3))
        K = max(K, 3)
        W, v = (
            rng.normal(size=(7, K)),
            symmetric(rng, K, low=(0 if trial % 3 == 0 else None)) * rng.choice([0.3, 2]),
        )
        model = LabelSets(examples, 1.0, True, threads=2)
        doubled, hinges = model.relax(W, v)
        expected = [truth.hinge(x, g, W, v) for x, g in zip(dense(examples), examples.gold())]
        np.testing.assert_allclose(hinges, np.maximum(0, expected), atol=1e-8)
        assert set(np.unique(doubled)) <= {0, 1, 2}
        if trial % 3 == 0:
            assert not (doubled == 1).any()


@pytest.mark.parametrize("low", [None, 0, "negative"])
def test_decoding_finds_the_best_set_where_it_must_and_is_never_above_it(rng, low):
    for _ in range(30):
        K = int(rng.integers(1, 8))
        s, v = rng.normal(size=(1, K)), symmetric(rng, K, low)
        weights = multilabel.Weights(np.zeros((0, K)), v, 0.0)
        best, _ = truth.best_set(s[0], v)
        for method in ("lp", "icm", "greedy"):
            y, halves = multilabel.decode(s, weights, method, 1)
            value = truth.score(y[0].astype(float), s[0], v)
            assert value <= best + 1e-9
            if method == "lp" and halves[0] == 0:
                assert value == pytest.approx(best, abs=1e-9)
            if method != "greedy":
                for k in range(K):
                    flipped = y[0].astype(float)
                    flipped[k] = 1 - flipped[k]
                    assert truth.score(flipped, s[0], v) <= value + 1e-9
        if low == 0:
            assert halves[0] == 0


def test_separation_and_joint_features_agree_with_the_hinge(rng):
    examples = label_sets(rng, n=12, K=6)
    model = LabelSets(examples, 0.5, True)
    w = rng.normal(size=model.dim)
    found = model.separate(w)
    each = np.array([1.0 if i == 3 else 0.0 for i in range(12)])
    assert found.slacks.sum() == pytest.approx(found.losses.sum() - w @ model.joint(found.labels))
    assert found.slacks[3] == pytest.approx(found.losses[3] - w @ model.joint(found.labels, each))
    W, v = model.split(w)
    np.testing.assert_array_equal(model.join(W, v), w)
    right, other = (
        truth.joint_feature(dense(examples, 0.5)[3], y[18:24]) for y in (model.gold, found.labels)
    )
    joint = model.join(*(a - b for a, b in zip(right, other, strict=True)))
    np.testing.assert_allclose(joint, model.joint(found.labels, each), atol=1e-12)
    assert found.slacks[3] == pytest.approx(
        truth.hinge(dense(examples, 0.5)[3], examples.gold()[3], W, v)
    )
    on = np.where(found.labels[18:24] & 1, 1, found.labels[18:24])
    assert found.losses[3] == 0.5 * np.abs(on - model.gold[18:24]).sum()


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_the_bound_holds_and_meets_the_primal(rng, C):
    examples = label_sets(rng)
    model = LabelSets(examples, 1.0, True)
    lowest = np.inf
    for progress in Gdmm(seed=3).start(StructuredProblem(model, C, StoppingRule(0.0, 1e-3))):
        assert progress.dual <= progress.primal + 1e-9
        lowest = min(lowest, progress.primal)
    assert progress.gap <= 1e-3 * progress.primal
    W, v = model.split(progress.solution())
    assert truth.primal(dense(examples), examples.gold(), W, v, C) == pytest.approx(
        progress.primal, rel=1e-9
    )
    other = None
    for other in Gdmm(seed=4, rho=0.9).start(StructuredProblem(model, C, StoppingRule(0.0, 1e-3))):
        assert other.dual <= progress.primal * (1 + 1e-9)
    assert other.primal == pytest.approx(progress.primal, rel=2e-3)


def test_every_iterate_repairs_below_the_optimum(rng):
    examples = label_sets(rng, n=30)
    model = LabelSets(examples, 1.0, True)
    *_, last = Gdmm().start(StructuredProblem(model, 1.0, StoppingRule(0.0, 1e-4)))
    for rho in (0.02, 5.0):
        W, v = np.zeros((model.n_rows, 5)), np.zeros((5, 5))
        descent = multilabel.Gdmm(model.rows, model.sets, W, v, 1.0, 1.0, rho, 0)
        for _ in range(25):
            descent.run(True)
            v2, linear, _, _ = descent.repair()
            lower = linear - 0.5 * np.sum(W**2) - 0.25 * np.sum(v2**2)
            assert lower <= last.primal * (1 + 1e-12)


def test_without_pairs_every_label_is_a_support_vector_machine_of_its_own(rng):
    examples = label_sets(rng)
    X, gold, total = examples.X.to_dense().astype(np.float64), examples.gold(), 0.0
    for k in range(5):
        total += single.optimum(X, np.where(gold[:, k], 1.0, -1.0), 0.7, 1.0)[1]
    model = LabelSets(examples, 1.0, pairs=False)
    *_, last = Gdmm().start(StructuredProblem(model, 0.7, StoppingRule(0.0, 1e-5)))
    assert last.dual <= total * (1 + 1e-7)
    assert last.primal == pytest.approx(total, rel=2e-5)


def test_a_part_of_the_labels_at_a_visit_reaches_the_same_optimum(rng):
    examples = label_sets(rng)
    model = LabelSets(examples, 1.0, True)
    *_, last = Gdmm().start(StructuredProblem(model, 0.5, StoppingRule(0.0, 1e-4)))
    W, v = np.zeros((model.n_rows, 5)), np.zeros((5, 5))
    descent = multilabel.Gdmm(model.rows, model.sets, W, v, 1.0, 0.5, 0.5, 0)
    for _ in range(1500):
        descent.run(True, 2, 3)
    assert model.primal(W, v, 0.5) == pytest.approx(last.primal, rel=1e-3)


def test_soft_agreement_nears_the_optimum_as_rho_grows(rng):
    problem = StructuredProblem(LabelSets(label_sets(rng)), 0.5, StoppingRule(0.0, 1e-4))
    *_, best = Gdmm().start(problem)
    primals = []
    for rho in (0.02, 20.0):
        for progress in SoftBcfw(rho=rho).start(problem):
            assert progress.dual <= best.primal * (1 + 1e-9)
            if progress.iteration > 5000:
                break
        primals.append(progress.primal)
    assert best.dual <= primals[1] <= 1.03 * best.primal
    assert primals[1] < primals[0]


@pytest.mark.parametrize("pairs", [True, False])
def test_all_trainers_reach_one_certified_optimum(rng, pairs):
    examples, C, found = label_sets(rng, n=40), 0.3, {}
    for solver in ("gdmm", "cutting-plane", "bcfw", "ssg"):
        gap = 2e-2 if solver == "ssg" else 1e-3
        known = {"solver": solver, "gap": gap, "pairs": "all" if pairs else "none"}
        outcome = driver(examples, task="multilabel", **known).fit(None, C)
        assert outcome.converged, solver
        found[solver] = outcome.progress
    assert max(p.dual for p in found.values()) <= min(p.primal for p in found.values()) * (1 + 1e-9)


@pytest.mark.parametrize("pairs", [True, False])
def test_parts_of_the_labels_lead_to_the_same_optimum_with_a_certificate_of_all(rng, pairs):
    model, found = LabelSets(label_sets(rng, n=40), 1.0, pairs), {}
    for parts in (None, 1, 3, 5):
        *_, last = Gdmm(parts=parts).start(StructuredProblem(model, 0.3, StoppingRule(0.0, 1e-4)))
        assert last.gap <= 1e-4 * last.primal
        found[parts] = last
    assert max(p.dual for p in found.values()) <= min(p.primal for p in found.values()) * (1 + 1e-9)
    ends = [last.solution().tobytes() for last in found.values()]
    assert ends[0] == ends[1] and len(set(ends)) == 3


def test_a_visit_moves_the_labels_of_one_part_and_those_in_use():
    X, gold = (
        Csr.from_dense(np.ones((1, 1))),
        multilabel.Sets(np.array([0, 1]), np.array([2], np.int32)),
    )
    seen = set()
    for seed in range(40):
        W, v = np.zeros((2, 6)), np.zeros((6, 6))
        descent = multilabel.Gdmm(sparse.Rows(X), gold, W, v, 1.0, 1.0, 0.5, seed)
        descent.run(False, parts=3)
        moved = W[0] != 0
        assert moved[2] and tuple(np.flatnonzero(moved)) in {(0, 1, 2), (2, 3), (2, 4, 5)}
        seen.add(tuple(np.flatnonzero(moved)))
        descent.run(False, parts=3)
        assert not np.any(moved & (W[0] == 0))
    assert len(seen) == 3


def test_parts_name_gdmm_and_are_no_more_than_the_labels(rng):
    examples = label_sets(rng)
    assert driver(examples, task="multilabel", parts=5, gap=0.1).fit(None, 0.3).solver == "gdmm"
    with pytest.raises(UsageError, match=r"^m: parts=6 is more than its 5 labels; lower it$"):
        driver(examples, task="multilabel", parts=6)


def test_the_seed_decides_the_bytes_and_the_threads_do_not(rng):
    examples = label_sets(rng, n=60)
    found = []
    for threads in (1, 3):
        model = LabelSets(examples, 1.0, True, threads)
        *_, last = Gdmm(seed=5).start(StructuredProblem(model, 1.0, StoppingRule(0.0, 1e-2)))
        found.append(last.solution().tobytes())
    assert found[0] == found[1]


def test_a_model_ignores_features_it_does_not_know(rng):
    model = MultilabelModel(
        rng.normal(size=(2, 3)),
        np.zeros(3),
        np.array([0], np.int32),
        np.array([2], np.int32),
        np.array([0.5]),
        np.array([1, 4, 9]),
        np.array([0, 5], np.int32),
    )
    X = Csr.from_dense([[1, 7, 0, 0, 0, 2, 9]])
    np.testing.assert_allclose(LabelDecoder(model).label_scores(X), [model.W[0] + 2 * model.W[1]])
    pairs = model.pair_weights()
    assert pairs[0, 2] == pairs[2, 0] == 0.5


def test_empty_sets_and_rows_are_no_trouble():
    X = Csr.from_dense(np.array([[1.0, 0], [0, 0], [0, 2.0]]))
    examples = MultilabelExamples(
        X, np.array([7]), np.array([0, 1, 1, 1]), np.array([0], np.int32), Source("m")
    )
    *_, last = Gdmm().start(StructuredProblem(LabelSets(examples), 10.0, StoppingRule(0.0, 1e-4)))
    assert last.gap <= 1e-4 * last.primal
    for solver in (LabelBcfw(), LabelSsg()):
        *_, last = solver.start(
            StructuredProblem(LabelSets(examples), 10.0, StoppingRule(0.0, 0.1))
        )
        assert last.gap <= 0.1 * last.primal
    none = MultilabelExamples(
        X, np.zeros(0, np.int64), np.zeros(4, np.int64), np.zeros(0, np.int32), Source("m")
    )
    for solver in (Gdmm(), LabelBcfw(), LabelSsg()):
        *_, last = solver.start(StructuredProblem(LabelSets(none), 10.0, StoppingRule(0.0, 1e-4)))
        assert last.primal == 0
    assert multilabel.scores(
        sparse.Rows(X), multilabel.Weights(np.zeros((2, 0)), None, 0.0), 1
    ).shape == (3, 0)


def test_weights_of_the_constant_feature_may_lie_elsewhere(rng):
    X = Csr.from_dense(rng.normal(size=(9, 4)).astype(np.float32))
    W, own = rng.normal(size=(5, 3)), sparse.Rows(X)
    apart = multilabel.Weights(W[:4], None, 2.0, W[4].copy())
    assert np.array_equal(
        multilabel.scores(own, apart, 1),
        multilabel.scores(own, multilabel.Weights(W, None, 2.0), 1),
    )
    with pytest.raises(ValueError, match="constant"):
        multilabel.Weights(W, None, 2.0, W[0, :2].copy())
