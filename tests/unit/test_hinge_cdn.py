# SPDX-License-Identifier: BSD-3-Clause
"""The hinge under an elastic net: the optimum of the slow truth, an honest certificate, both ways
of training, any cost and scale."""

import itertools

import numpy as np
import pytest
from reference import penalties

from svmcut.base.errors import TrainingError
from svmcut.data.examples import Csr
from svmcut.risks.free_bias import FreeBias
from svmcut.risks.hinge import HingeRisk
from svmcut.risks.losses import SquaredHingeRisk
from svmcut.solvers import cdn
from svmcut.solvers.cdn import HingeCdn
from svmcut.solvers.protocol import Problem, StoppingRule
from svmcut.spaces.linear import LinearSpace


def data(n=60, d=12, seed=3):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 0.6, rng.normal(size=(n, d)), 0).astype(np.float32)
    s = X @ np.where(rng.random(d) < 0.4, 2 * rng.normal(size=d), 0) + 0.7 * rng.normal(size=n) - 1
    return X, np.where(s > -1, 1.0, -1.0)


def problem(X, y, C, l1, l2, gap=1e-8, free=False, v=None):
    risk = HingeRisk().bind(y, None, v)
    space = LinearSpace(Csr.from_dense(X), 0.0 if free else 1.0)
    return Problem(FreeBias(risk) if free else risk, space, C, StoppingRule(0.0, gap), None, l1, l2)


def full(X):
    return np.hstack([X.astype(float), np.ones((len(X), 1))])


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("C", "ratio", "free", "weighted"),
    [
        *itertools.product((0.01, 0.3, 10.0), (0.05, 0.6, 0.99), (False,), (False, True)),
        *[(0.02, 0.05, True, False), (0.3, 0.6, True, False), (10.0, 0.9, True, False)],
    ],
)
def test_reaches_the_optimum_of_the_slow_truth(C, ratio, free, weighted):
    X, y = data()
    v = np.random.default_rng(8).integers(0, 4, len(y)).astype(float) if weighted else None
    task = problem(X, y, C, ratio, 1 - ratio, free=free, v=v)
    history = list(HingeCdn().start(task))
    best, last = penalties.hinge_minimum(full(X), y, C, ratio, 1 - ratio, v, free), history[-1]
    assert last.primal == pytest.approx(best, rel=1e-6)
    assert last.gap <= 1e-8 * last.primal
    assert all(p.dual <= best * (1 + 1e-7) <= p.primal * (1 + 1e-6) for p in history)
    assert all(b.dual >= a.dual and b.primal <= a.primal for a, b in itertools.pairwise(history))
    w = last.solution()
    own, constant = (w, task.risk.bias(task.space.scores(w))) if free else (w[:-1], w[-1])
    z = np.maximum(0, 1 - y * (X.astype(float) @ own + constant))
    value = ratio * np.abs(w).sum() + (1 - ratio) / 2 * w @ w
    assert last.primal == pytest.approx(value + C * (z.sum() if v is None else v @ z), rel=1e-11)


def test_the_dual_of_columns_far_from_0_is_not_above_the_optimum():
    far = 757186  # a free bias takes it back: the optimum is that of the rows less this
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = (far + rng.normal(size=(20, 3))).astype(np.float32)
        y = np.where(X.sum(1) - 3 * far + rng.normal(size=20) > 0, 1.0, -1.0)
        near, away = (
            [*itertools.islice(HingeCdn().start(problem(Z, y, 1.6, 0.95, 0.05, free=True)), 80)]
            for Z in (X - np.float32(far), X)
        )
        assert max(p.dual for p in away) <= min(p.primal for p in near) * (1 + 1e-9)
        assert max(p.dual for p in away) > 0.99 * max(p.dual for p in near)


def test_both_ways_end_at_the_same_value(monkeypatch):
    X, y = data(100, 30)
    primals = []
    for many in (1e9, 0.0):
        monkeypatch.setattr(cdn, "MAX_EPOCHS", many)
        run = HingeCdn().start(problem(X, y, 1.0, 0.5, 0.5, 1e-9))
        primals.append(list(run)[-1].primal)
        assert run._descends == bool(many)
    assert primals[0] == pytest.approx(primals[1], rel=1e-8)


@pytest.mark.every(4)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("C", [1e6, 1e-4, 1.0, 1e3])
@pytest.mark.parametrize("free", [False, True])
def test_ends_with_a_gap_at_any_cost_and_scale(C, scale, free):
    X, y = data(120, 20, 11)
    X = (X * np.geomspace(1 / 30, 30, 20) * scale).astype(np.float32)
    for ratio in (0.01, 0.5, 0.99):
        last = list(HingeCdn().start(problem(X, y, C, ratio, 1 - ratio, 1e-5, free)))[-1]
        assert last.gap <= 1e-5 * last.primal


def test_what_it_does_not_train_is_refused():
    X, y = data()
    with pytest.raises(TrainingError, match="a square in the penalty"):
        HingeCdn().start(problem(X, y, 1.0, 1.0, 0.0))
    squared = SquaredHingeRisk().bind(y)
    other = Problem(squared, LinearSpace(Csr.from_dense(X), 1.0), 1.0, StoppingRule(0.0, 1e-3))
    with pytest.raises(TrainingError, match="the hinge loss"):
        HingeCdn().start(other)
