# SPDX-License-Identifier: BSD-3-Clause
"""Cuts of very many features are kept as coefficients of the rows: the same answers in a fraction of the memory."""

import numpy as np
import pytest
from reference import hinge

from svmcut.cutting.bundle import Cut, CutBundle
from svmcut.data import Csr
from svmcut.qp.checked import CheckedSimplexQp
from svmcut.risks.hinge import HingeRisk
from svmcut.solvers.cutting_plane import CuttingPlane
from svmcut.solvers.dual_cd import DualCd
from svmcut.solvers.newton import Newton
from svmcut.solvers.protocol import Problem, StoppingRule
from svmcut.spaces import linear
from svmcut.spaces.linear import LinearSpace, RowNormal


def wide(rng, n=40, d=300):
    X = np.where(rng.random((n, d)) < 0.2, rng.normal(size=(n, d)), 0).astype(np.float32)
    return X, np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("solver", [CuttingPlane, DualCd, Newton])
def test_the_same_optimum(rng, monkeypatch, solver, bias):
    X, y = wide(rng)
    _, minimum = hinge.optimum(X, y, 1.0, bias)
    monkeypatch.setattr(linear, "LARGE_DIM", 1)
    problem = Problem(HingeRisk().bind(y), LinearSpace(Csr.from_dense(X), bias), 1.0, StoppingRule(0, 1e-6))
    trainer = solver()
    last = list(trainer.steps(problem))[-1]
    assert all(isinstance(element, RowNormal) for element in trainer.bundle._elements[1:])
    assert last.gap <= 1e-6 * last.primal
    assert last.dual <= minimum * (1 + 1e-9)
    assert minimum * (1 - 1e-9) <= last.primal <= minimum * (1 + 1.1e-6)
    assert last.primal == pytest.approx(hinge.primal(X, y, last.solution(), 1.0, bias), rel=1e-12)


@pytest.mark.parametrize("bias", [0.0, -2.0])
def test_products_and_combinations_of_both_kinds(rng, bias):
    X, _ = wide(rng)
    space = LinearSpace(Csr.from_dense(X), bias)
    coefs = [rng.normal(size=len(X)) for _ in range(4)]
    normals = [space.adjoint(coef) for coef in coefs]
    mixed = [normals[0], RowNormal(coefs[1]), normals[2], RowNormal(coefs[3])]
    w, weights = rng.normal(size=space.dim), rng.normal(size=4)
    np.testing.assert_allclose(space.dots(mixed, w), space.dots(normals, w), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(space.combine(weights, mixed), space.combine(weights, normals), atol=1e-12)


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
    many = LinearSpace(Csr(X.data, X.indices, np.concatenate([indptr, np.full(d, len(keys))]), d), 1.0)
    assert isinstance(many.keep(np.zeros(many.dim), np.zeros(n + d)), np.ndarray)  # rows are no shorter: the normal
