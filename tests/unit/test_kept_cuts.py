# SPDX-License-Identifier: BSD-3-Clause
"""Cuts of very many features are kept as coefficients of the rows, or without zeros: the same
answers, less memory."""

import numpy as np
import pytest
from drivers import driver
from reference import hinge

from svmcut._native import sparse
from svmcut.cutting.bundle import Cut, CutBundle
from svmcut.data.examples import Csr, Sequences
from svmcut.files.checkpoints import read_checkpoint, write_checkpoint
from svmcut.qp.simplex import CheckedSimplexQp
from svmcut.risks.hinge import HingeRisk
from svmcut.risks.losses import SquaredHingeRisk
from svmcut.solvers.cutting_plane import CuttingPlane
from svmcut.solvers.dual_cd import DualCd, LossCd
from svmcut.solvers.newton import Newton
from svmcut.solvers.protocol import Problem, StoppingRule
from svmcut.spaces import linear
from svmcut.spaces.linear import LinearSpace, RowNormal
from svmcut.spec.schemas import StateError, state_classes


def wide(rng, n=40, d=300):
    X = np.where(rng.random((n, d)) < 0.2, rng.normal(size=(n, d)), 0).astype(np.float32)
    return X, np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("solver", [CuttingPlane, DualCd, Newton])
def test_the_same_optimum(rng, monkeypatch, solver, bias):
    X, y = wide(rng)
    _, minimum = hinge.optimum(X, y, 1.0, bias)
    monkeypatch.setattr(linear, "LARGE_DIM", 1)
    problem = Problem(
        HingeRisk().bind(y), LinearSpace(Csr.from_dense(X), bias), 1.0, StoppingRule(0, 1e-6)
    )
    run = solver().start(problem)
    last = list(run)[-1]
    assert all(isinstance(element, RowNormal) for element in run.bundle._elements[1:])
    assert last.gap <= 1e-6 * last.primal
    assert last.dual <= minimum * (1 + 1e-9)
    assert minimum * (1 - 1e-9) <= last.primal <= minimum * (1 + 1.1e-6)
    assert last.primal == pytest.approx(hinge.primal(X, y, last.solution(), 1.0, bias), rel=1e-12)


@pytest.mark.parametrize("solver", [DualCd(), LossCd(stays=True)])
def test_a_look_at_many_features_passes_over_them_twice(rng, monkeypatch, solver):
    """For w and its scores; products with cuts and the bound read rows' numbers alone."""
    X, y = wide(rng, 300, 2000)
    monkeypatch.setattr(linear, "LARGE_DIM", 1)
    space, passes = LinearSpace(Csr.from_dense(X), 1.0), []
    for name in ("scores", "adjoint"):
        pass_over = getattr(space, name)
        monkeypatch.setattr(space, name, lambda a, f=pass_over, n=name: passes.append(n) or f(a))
    risk = (HingeRisk if isinstance(solver, DualCd) else SquaredHingeRisk)().bind(y)
    run = solver.start(Problem(risk, space, 1.0, StoppingRule(0, 1e-8)))
    looks = len(list(run))
    assert looks > 3 and len(passes) <= 2 * looks + 3


@pytest.mark.parametrize("bias", [0.0, -2.0])
def test_products_and_combinations_of_both_kinds(rng, bias):
    X, _ = wide(rng)
    space = LinearSpace(Csr.from_dense(X), bias)
    coefs = [rng.normal(size=len(X)) for _ in range(4)]
    normals = [space.adjoint(coef) for coef in coefs]
    mixed = [normals[0], RowNormal(coefs[1]), normals[2], RowNormal(coefs[3])]
    w, weights = rng.normal(size=space.dim), rng.normal(size=4)
    np.testing.assert_allclose(space.dots(mixed, w), space.dots(normals, w), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        space.combine(weights, mixed), space.combine(weights, normals), atol=1e-12
    )


def test_bytes_of_sixty_cuts_of_two_million_features(rng):
    """A tenth of 20 million features in a tenth of 8 GB, and far below."""
    n, d = 500, 2_000_000
    keys = np.unique(rng.integers(0, n * d, size=20_000))
    indptr = np.searchsorted(keys // d, np.arange(n + 1))
    X = Csr(np.ones(len(keys), np.float32), (keys % d).astype(np.int32), indptr.astype(np.int64), d)
    space = LinearSpace(X, 1.0)
    bundle = CutBundle(space, CheckedSimplexQp())
    for _ in range(60):
        coef = rng.choice([-1.0, 0.0], n)
        bundle.add(Cut(space.adjoint(coef), -coef.sum(), 1.0, coef))
    assert len(bundle) == 60
    assert bundle.nbytes < 1_000_000
    many = LinearSpace(
        Csr(X.data, X.indices, np.concatenate([indptr, np.full(d, len(keys))]), d), 1.0
    )
    assert not isinstance(
        many.keep(np.zeros(many.dim), np.zeros(n + d)), RowNormal
    )  # rows are no shorter


@pytest.mark.parametrize("size", [1, 7, 8, 1000, 16_384, 16_389, 40_003, 300_000])
@pytest.mark.parametrize("density", [0.0, 0.02, 0.2, 1.0])
def test_a_normal_without_its_zeros_gives_the_bits_of_the_whole(rng, size, density):
    vectors = [np.where(rng.random(size) < density, rng.normal(size=size), 0.0) for _ in range(4)]
    short = [sparse.nonzeros(vector, size) for vector in vectors]
    assert all(kept.nbytes == 12 * np.count_nonzero(vector) for kept, vector in zip(short, vectors))
    a, weights = rng.normal(size=size), np.array([0.3, -2.0, 0.0, 1e3])
    for mixed in (short, [vectors[0], short[1], short[2], vectors[3]]):
        for threads in (1, 3):
            dots, same = np.empty(4), np.empty(4)
            sparse.dots(mixed, a, dots, threads)
            sparse.dots(vectors, a, same, threads)
            assert dots.tobytes() == same.tobytes()
            sum_, whole = np.empty(size), np.empty(size)
            sparse.combine(weights, mixed, sum_, threads)
            sparse.combine(weights, vectors, whole, threads)
            assert sum_.tobytes() == whole.tobytes()
            assert sparse.combined_square(weights, mixed, size, threads) == sparse.dot(
                whole, whole, threads
            )


def test_nonzeros_are_checked():
    values = np.ones(2)
    for indices, size in (([1, 1], 5), ([3, 2], 5), ([-1, 2], 5), ([1, 5], 5), ([0], 5)):
        with pytest.raises(ValueError, match="indices"):
            sparse.Nonzeros(values, np.array(indices, np.int32), size)
    kept = sparse.Nonzeros(values, np.array([0, 4], np.int32), 5)
    for call in (sparse.dots, lambda vectors, a, out: sparse.combine(a[:1], vectors, out)):
        with pytest.raises(ValueError, match="vectors differ in length"):
            call([kept], np.zeros(6), np.zeros(1))
    assert sparse.nonzeros(np.array([0.0, 1.0, -2.0, 0.0]), 1) is None


def test_cuts_of_chains_are_kept_without_their_zeros(rng, tmp_path, monkeypatch):
    """Few tokens of many features: the cuts take a fraction of the memory, and not one bit is
    another."""
    n, d, K = 60, 400, 5
    X = np.where(rng.random((n, d)) < 0.02, 1.0, 0.0)
    rows, ends = Csr.from_dense(X), np.arange(0, n + 1, 6)
    data = Sequences(rows, ends, rng.integers(0, K, n).astype(np.int32))
    known = {
        "task": "sequence",
        "solver": "cutting-plane",
        "max_iterations": 12,
        "transitions": 1,
        "emissions": 1,
    }
    saved = []

    def trained(state=None):
        trainer = driver(data, **known)
        outcome = trainer.fit(3.0, None, lambda *_: saved.append(trainer.state()), state)
        return outcome, trainer.warm[1].bundle

    outcome, bundle = trained()
    assert len(bundle) == 11
    assert all(isinstance(element, sparse.Nonzeros) for element in bundle.elements())
    write_checkpoint(str(tmp_path / "ck"), {}, saved[6], state_classes())
    resumed, _ = trained(read_checkpoint(str(tmp_path / "ck"), state_classes())[1])
    element = saved[6]["solver"]["bundle"]["elements"][2]
    saved[6]["solver"]["bundle"]["elements"][2] = sparse.Nonzeros(
        element.values, element.indices, element.size + 1
    )
    with pytest.raises(StateError, match="elements"):
        trained(saved[6])
    monkeypatch.setattr(linear, "SPARSE_DIM", 10**9)
    again, whole = trained()
    for other in (resumed, again):
        assert other.model.w.tobytes() == outcome.model.w.tobytes()
        assert (other.primal, other.dual) == (outcome.primal, outcome.dual)
    assert 3 * bundle.nbytes < whole.nbytes


def test_sums_of_float32_vectors_are_those_of_numpy_for_any_number_of_threads(rng):
    for n, count in ((0, 2), (1, 1), (9000, 3), (70_000, 20)):
        vectors, weights = (
            [rng.normal(size=n).astype(np.float32) for _ in range(count)],
            rng.normal(size=count),
        )
        expected = np.zeros(n)
        for weight, vector in zip(weights, vectors, strict=True):
            expected += weight * vector.astype(np.float64)
        for threads in (1, 2, 3):
            out = np.full(n, np.nan)
            sparse.combine_floats(weights, vectors, out, threads)
            assert out.tobytes() == expected.tobytes()
    with pytest.raises(ValueError, match="differ in length"):
        sparse.combine_floats(np.ones(1), [np.ones(3, np.float32)], np.empty(4))
    with pytest.raises(ValueError, match="one weight"):
        sparse.combine_floats(np.ones(2), [np.ones(3, np.float32)], np.empty(3))
