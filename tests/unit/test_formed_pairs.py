# SPDX-License-Identifier: BSD-3-Clause
"""Machines of formed pairs against their KKT conditions, and against cutting planes."""

import numpy as np
import pytest

from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.originals.svm_light import pairs
from svmcut.risks.ordinal import query_starts

KERNELS = (
    Kernel(),
    Kernel("rbf", gamma=0.3),
    Kernel("polynomial", degree=2),
    Kernel("sigmoid", scale=0.5),
)


@pytest.fixture
def ranked(rng):
    X = rng.normal(size=(30, 4)).astype(np.float32)
    y = np.round(X[:, 0] + 0.5 * rng.normal(size=30))
    return Csr.from_dense(X), y, np.repeat([1, 2, 5], [12, 1, 17]).astype(np.int64)


def formed(ranked, kernel, C):
    X, y, qid = ranked
    start, steps = query_starts(qid, len(y)), []
    machine = pairs.train_formed(pairs.GradedRows(X, y, start, kernel, C, 1e-3, 1), steps.append)
    found = list(pairs.blocks(X, y, start, kernel))
    i, j, sign = (
        np.concatenate([getattr(block, name) for block in found]) for name in ("i", "j", "sign")
    )
    assert steps[-1].violation <= 1e-6 and steps[-1].support == (machine.pairs > 0).sum()
    return machine, np.where(sign > 0, i, j), np.where(sign > 0, j, i)


@pytest.mark.parametrize("C", [0.01, 1.0, 300.0])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_every_pair_meets_its_condition(ranked, kernel, C):
    machine, high, low = formed(ranked, kernel, C)
    X, y, qid = ranked
    K = np.array([kernel.expansion(X, X.rows(i, i + 1), np.ones(1)) for i in range(30)])
    alpha, net = machine.pairs, np.zeros(30)
    np.add.at(net, high, alpha)
    np.add.at(net, low, -alpha)
    np.testing.assert_allclose(machine.alpha, net, atol=1e-9 * C)
    np.testing.assert_allclose(machine.scores, K @ net, rtol=1e-5, atol=1e-6 * C)
    margins = machine.scores[high] - machine.scores[low]
    assert (margins[alpha == 0] >= 1 - 1e-5).all() and (margins[alpha == C] <= 1 + 1e-5).all()
    np.testing.assert_allclose(margins[(alpha > 0) & (alpha < C)], 1, atol=1e-5)
    assert (alpha >= 0).all() and (alpha <= C).all() and machine.violation <= 1e-5
    np.testing.assert_allclose(
        np.diag(machine.gram), K[high, high] + K[low, low] - 2 * K[high, low], atol=1e-5
    )
    if kernel.is_definite:
        start = query_starts(qid, len(y))
        graded = pairs.GradedRows(X, y, start, kernel, C, 1e-3, 1)
        other = pairs.train(graded, lambda step: None)
        primal = machine.squared / 2 + C * machine.loss
        assert abs(machine.gap) <= 1e-3 * primal and primal <= (
            other.squared / 2 + C * other.loss
        ) * (1 + 1e-4)


def test_what_is_almost_no_weight_is_none(rng):
    """One pair holds the margin of all pairs of a separable line, whatever C."""
    X = Csr.from_dense(np.arange(1.0, 8.0, dtype=np.float32)[:, None])
    for C in (1e2, 1e4):
        machine, high, low = formed((X, np.arange(7.0), np.zeros(7, np.int64)), Kernel(), C)
        assert (
            machine.alpha @ np.arange(1.0, 8.0) == pytest.approx(1)
            and (machine.pairs > 0).sum() < 7
        )
        assert ((high - low)[machine.pairs > 0] == 1).all() and machine.loss <= 1e-6


def test_more_pairs_than_float64_products(rng, monkeypatch):
    monkeypatch.setattr(pairs, "_HELD", 1000)
    X, y = Csr.from_dense(rng.normal(size=(70, 3)).astype(np.float32)), np.arange(70.0) % 7
    machine, high, _ = formed((X, y, np.zeros(70, np.int64)), Kernel("sigmoid", scale=0.1), 0.1)
    assert len(high) > 2000 and machine.gram.dtype == np.float32 and machine.violation <= 1e-4
