# SPDX-License-Identifier: BSD-3-Clause
"""Machines of pairs against all pairs written out."""

import numpy as np
import pytest

from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.originals.svm_light.pairs import GradedRows, alphas, blocks, train
from svmcut.risks.ordinal import query_starts

KERNELS = (Kernel(), Kernel("rbf", gamma=0.3), Kernel("polynomial", degree=2))


@pytest.fixture
def ranked(rng):
    X = rng.normal(size=(30, 4)).astype(np.float32)
    y = np.round(X[:, 0] + 0.5 * rng.normal(size=30))
    return Csr.from_dense(X), y, np.repeat([1, 2, 5], [12, 1, 17]).astype(np.int64)


def gram(kernel, X):
    Z = Csr.from_dense(np.vstack([X.to_dense(), np.zeros((1, X.n_features))]))
    return np.array([kernel.expansion(Z, Z.rows(i, i + 1), np.ones(1)) for i in range(Z.n_rows)])


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_pairs_and_their_lengths(ranked, kernel):
    X, y, qid = ranked
    pairs = [
        (i, j) for i in range(30) for j in range(i + 1, 30) if qid[i] == qid[j] and y[i] != y[j]
    ]
    found = list(blocks(X, y, query_starts(qid, 30), kernel))
    assert pairs == [
        pair for block in found for pair in zip(block.i.tolist(), block.j.tolist(), strict=True)
    ]
    K = gram(kernel, X)
    i, j = np.array(pairs).T
    lengths = K[i, i] + K[j, j] - 2 * K[i, j]
    np.testing.assert_allclose(
        np.concatenate([block.lengths for block in found]), lengths, rtol=1e-5, atol=1e-6
    )
    distances = lengths - 2 * (K[i, 30] - K[j, 30]) + K[30, 30]
    np.testing.assert_allclose(
        np.concatenate([block.distances for block in found]), distances, rtol=1e-5, atol=1e-6
    )
    assert (np.concatenate([block.sign for block in found]) == np.sign(y[i] - y[j])).all()


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_the_machine_is_certified_and_made_of_its_pairs(ranked, kernel, C):
    X, y, qid = ranked
    start = query_starts(qid, len(y))
    machine = train(GradedRows(X, y, start, kernel, C, 1e-3, 1), lambda step: None)
    K = gram(kernel, X)[:30, :30]
    np.testing.assert_allclose(K @ machine.alpha, machine.scores, rtol=1e-4, atol=1e-5)
    blocks_ = list(blocks(X, y, query_starts(qid, 30), kernel))
    i, j, sign = (
        np.concatenate([getattr(block, name) for block in blocks_]) for name in ("i", "j", "sign")
    )
    alpha = np.concatenate([alphas(machine, block) for block in blocks_])
    assert (alpha >= 0).all() and (alpha <= C * (1 + 1e-9)).all()
    loss = np.maximum(0, 1 - sign * (machine.scores[i] - machine.scores[j])).sum()
    assert machine.loss == pytest.approx(loss, rel=1e-6)
    net = np.zeros(30)
    np.add.at(net, i, sign * alpha)
    np.add.at(net, j, -sign * alpha)
    dual, primal = alpha.sum() - net @ K @ net / 2, machine.squared / 2 + C * loss
    assert machine.squared == pytest.approx(machine.alpha @ K @ machine.alpha, rel=1e-4)
    assert -1e-6 * primal <= primal - dual <= 2e-3 * primal
    assert machine.gap + 1e-9 >= 0 and machine.gap <= 2e-3 * primal
