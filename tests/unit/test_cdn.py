# SPDX-License-Identifier: BSD-3-Clause
"""Coordinate descent Newton under l1 and elastic-net penalties: the optimum of the slow truth, an
honest certificate, safe screening, columns."""

import itertools

import numpy as np
import pytest
from reference import losses as truth
from reference import penalties

from svmcut._native import losses as numbers
from svmcut._native import penalty, sparse
from svmcut.base.errors import TrainingError
from svmcut.data.examples import Csr
from svmcut.risks.free_bias import FreeBias
from svmcut.risks.hinge import HingeRisk
from svmcut.risks.losses import LogisticRisk, SquaredEpsilonRisk, SquaredHingeRisk
from svmcut.solvers import cdn
from svmcut.solvers.cdn import Bound, Cdn
from svmcut.solvers.protocol import Problem, Start, StoppingRule
from svmcut.spaces.linear import LinearSpace
from svmcut.spec import entries

RISKS = {
    "squared-hinge": SquaredHingeRisk(),
    "logistic": LogisticRisk(),
    "squared-epsilon-insensitive": SquaredEpsilonRisk(truth.TUBE),
}
PENALTIES = {name: factors(0.6) for name, factors in entries.PENALTIES.items()}
every_loss = pytest.mark.parametrize("loss", RISKS)
every_penalty = pytest.mark.parametrize("name", PENALTIES)


def data(loss, seed=3, n=60, d=12, density=0.6):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < density, rng.normal(size=(n, d)), 0).astype(np.float32)
    s = X @ np.where(rng.random(d) < 0.4, 2 * rng.normal(size=d), 0) + 0.7 * rng.normal(size=n) - 1
    return X, s if loss in truth.OF_TARGETS else np.where(s > -1, 1.0, -1.0)


def problem(loss, X, y, C, penalties, gap=1e-9, bias=1.0, free=False, v=None):
    risk = RISKS[loss].bind(y, None, v)
    space = LinearSpace(Csr.from_dense(X), 0.0 if free else bias)
    l1, l2 = penalties
    return Problem(FreeBias(risk) if free else risk, space, C, StoppingRule(0.0, gap), None, l1, l2)


def full(X, value=1.0):
    return np.hstack([X.astype(float), np.full((len(X), 1), value)])


def weights(n):
    return np.random.default_rng(8).integers(0, 4, n).astype(float)


@pytest.mark.every(3)
@pytest.mark.parametrize(("free", "weighted"), [(False, False), (False, True), (True, False)])
@pytest.mark.parametrize("C", [0.01, 0.3, 10.0])
@every_penalty
@every_loss
def test_reaches_the_optimum_of_the_slow_truth(loss, name, C, free, weighted):
    X, y = data(loss)
    v, (l1, l2) = weights(len(y)) if weighted else None, PENALTIES[name]
    task = problem(loss, X, y, C, (l1, l2), free=free, v=v)
    history = list(Cdn().start(task))
    last, A = history[-1], full(X)
    known = penalties.minimiser(loss, A, y, C, l1, l2, v, free)
    best = penalties.primal(loss, A, y, known, C, l1, l2, v, free)
    assert last.primal == pytest.approx(best, rel=1e-7)
    assert last.gap <= 1e-9 * last.primal and last.dual <= best * (1 + 1e-9)
    w = last.solution()
    w = np.append(w, task.risk.bias(task.space.scores(w))) if free else w
    assert last.primal == pytest.approx(
        penalties.primal(loss, A, y, w, C, l1, l2, v, free), rel=1e-11
    )
    assert all(b.dual >= a.dual for a, b in itertools.pairwise(history))
    assert all(p.dual <= best * (1 + 1e-9) for p in history)
    if name != "l2":
        assert set(np.flatnonzero(w[:-1])) == set(np.flatnonzero(np.abs(known[:-1]) > 1e-7))


@every_loss
def test_a_bound_is_the_dual_of_a_point_that_is_feasible(loss):
    """v and h from the definition, at the theta that the solver chose."""
    X, y = data(loss)
    for name, C in itertools.product(PENALTIES, (0.02, 1.0)):
        l1, l2 = PENALTIES[name]
        task = problem(loss, X, y, C, (l1, l2))
        run = Cdn().start(task)
        for w in (np.zeros(13), 0.3 * np.random.default_rng(5).normal(size=13)):
            known = task.risk.linearize(full(X) @ w)
            v = -C * (X.astype(float).T @ known.coef)
            bound = run._bound(known, v, -C * float(known.coef.sum()))
            g = -bound.theta * known.coef
            assert bound.value == pytest.approx(
                penalties.dual(loss, full(X), y, g, C, l1, l2), rel=1e-8, abs=1e-9
            )


@pytest.mark.every(3)
@every_loss
@pytest.mark.parametrize("name", ["l1", "elastic-net"])
@pytest.mark.parametrize("free", [False, True])
def test_columns_that_are_screened_have_no_weight_at_the_optimum(loss, name, free):
    X, y = data(loss, 7, 80, 150)
    for C in (0.02, 0.2):
        task = problem(loss, X, y, C, PENALTIES[name], 1e-12, free=free)
        used = np.flatnonzero(list(Cdn().start(task))[-1].solution()[:150])
        run = Cdn().start(task)
        for _ in run:
            assert np.isin(used, run._alive).all()
        assert len(run._alive) < 150


def test_a_weight_of_a_column_that_is_screened_goes():
    X, y = data("logistic")
    run = Cdn().start(problem("logistic", X, y, 1.0, (1.0, 0.0)))
    run._w[:] = np.arange(1.0, 14.0)
    v = np.zeros(12)
    v[[2, 5]] = 1.0
    assert run._screen(v, Bound(run._primal, 1.0)).tolist() == [1.0, 1.0]
    assert run._alive.tolist() == [2, 5] and run._w.nonzero()[0].tolist() == [2, 5, 12]
    assert run._w[[2, 5, 12]].tolist() == [3.0, 6.0, 13.0]
    assert run._s == pytest.approx(full(X) @ run._w)


@every_loss
def test_a_path_ends_where_single_runs_do_and_begins_at_no_weights(loss):
    X, y = data(loss, 5, 200, 300, 0.1)
    zero = problem(loss, X, y, 1e-6, (1.0, 0.0))
    (first,) = Cdn().start(zero)
    assert not first.solution().any() and first.gap <= 1e-9 * first.primal
    start, used = None, []
    for C in (0.02, 0.1, 0.5):
        task = problem(loss, X, y, C, (1.0, 0.0), 1e-6)
        run = Cdn().start(task, start)
        warm, cold = list(run)[-1], list(Cdn().start(task))[-1]
        assert warm.primal == pytest.approx(cold.primal, rel=1e-6)
        start = Start(run.bundle, (warm.solution(),), run.fractions)
        used.append(warm.support)
    assert used == sorted(used) and used[0] < used[-1]


@pytest.mark.every(3)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("name", ["l1", "elastic-net"])
@every_loss
def test_ends_with_a_gap_at_any_cost_and_scale(loss, name, C, scale):
    X, y = data(loss, 11, 120, 20)
    X = (X * np.geomspace(1 / 30, 30, 20) * scale).astype(np.float32)
    last = list(Cdn().start(problem(loss, X, y, C, PENALTIES[name], 1e-4)))[-1]
    assert 0 <= last.gap + 1e-12 * last.primal <= 1e-4 * last.primal + 1e-12 * last.primal


def test_few_columns_in_use_make_a_small_working_set():
    """A thousand columns at least would read 2.3 passes."""
    X, y = data("logistic", 5, 300, 3000, 0.03)
    last = list(Cdn().start(problem("logistic", X, y, 0.2, (1.0, 0.0), 1e-3)))[-1]
    assert last.passes < 2


def test_columns_are_those_of_the_matrix(rng):
    X = np.where(rng.random((50, 700)) < 0.2, rng.normal(size=(50, 700)), 0).astype(np.float32)
    csr = Csr.from_dense(X)
    columns, A = penalty.Columns(sparse.Rows(csr)), X.astype(float)
    chosen = np.flatnonzero(rng.random(700) < 0.5).astype(np.int32)
    u, c, w = rng.normal(size=50), rng.random(50), np.zeros(701)
    w[chosen] = rng.normal(size=len(chosen))
    for threads in (1, 3):
        slopes = LinearSpace(csr, threads=threads).adjoint(u)  # as runs take them
        assert slopes[chosen] == pytest.approx((A.T @ u)[chosen], rel=1e-12)
        assert columns.squares(c) == pytest.approx(c @ A**2, rel=1e-12)
        centred = A - c @ A / c.sum()
        assert columns.squares(c, True) == pytest.approx(c @ centred**2, rel=1e-9)
    assert columns.scores(chosen, w, 0.5) == pytest.approx(A @ w[:-1] + 0.5, rel=1e-9)


def test_columns_are_copied_when_they_are_asked_for(rng):
    """And a run of more working sets than parts that are copied is the one on all columns."""
    X = np.where(rng.random((40, 300)) < 0.2, rng.normal(size=(40, 300)), 0).astype(np.float32)
    rows, w = sparse.Rows(Csr.from_dense(X)), rng.normal(size=301)
    columns, places = penalty.Columns(rows), rng.permutation(300).astype(np.int32)
    parts = [np.sort(part) for part in (places[:30], places[:0], places[20:60], places[200:240])]
    assert not columns.has(parts[0]) and columns.has(parts[1])
    for k, part in enumerate(parts):
        only = np.zeros(301)
        only[part] = w[part]
        scores = columns.scores(part, only)
        assert scores == pytest.approx(X.astype(float) @ only[:-1], rel=1e-9, abs=1e-12)
        assert columns.has(part) and columns.has(places) == (k == 3)


def test_runs_are_the_same_whatever_is_copied(rng, monkeypatch):
    X = np.where(rng.random((60, 4000)) < 0.05, rng.normal(size=(60, 4000)), 0).astype(np.float32)
    y, found = np.where(X[:, :40].sum(axis=1) > 0, 1.0, -1.0), []
    monkeypatch.setattr(cdn, "MIN_SET", 20)
    for likely in (1, 4, 1000):
        monkeypatch.setattr(cdn, "LIKELY", likely)
        run = Cdn().start(problem("logistic", X, y, 10.0, (1.0, 0.0), 1e-6))
        found.append([(step.primal, step.dual) for step in run])
    assert len(found[0]) > 3 and found[0] == found[1] == found[2]


def test_what_does_not_belong_together_is_refused(rng):
    X = rng.normal(size=(5, 2)).astype(np.float32)
    columns, ones, both = penalty.Columns(sparse.Rows(Csr.from_dense(X))), np.ones(5), np.arange(2)
    both = both.astype(np.int32)

    def newton(loss=numbers.LOGISTIC, w=2, chosen=both, s=5, l1=1.0, **more):
        args = np.zeros(w), np.zeros(s), 0.0, 0.5, 10
        return penalty.newton(columns, loss, ones, ones, chosen, *args, l1=l1, l2=0.0, **more)

    assert newton()[1] == 0
    for bad, message in (
        ({"loss": numbers.TUBE}, "no loss without corners"),
        ({"w": 3}, "w has the wrong length"),
        ({"free": True}, "w has the wrong length"),
        ({"w": 3, "free": True, "bias": 1.0}, "two constants"),
        ({"s": 4}, "differ in length"),
        ({"l1": 0.0}, "above 0"),
        ({"chosen": both + 1}, "out of range"),
    ):
        with pytest.raises(ValueError, match=message):
            newton(**bad)
    with pytest.raises(ValueError, match="out of range"):
        columns.keep(both - 1)
    task = problem("logistic", X, ones, 1.0, (1.0, 0.0))
    hinge = Problem(HingeRisk().bind(ones), task.space, 1.0, StoppingRule(0.1), None, 1.0, 0.0)
    with pytest.raises(TrainingError, match="a loss without corners"):
        Cdn().start(hinge)


@pytest.mark.parametrize("name", ["l1", "elastic-net"])
@every_loss
def test_columns_far_from_0_take_newton_steps_over_the_weights_alone(loss, name):
    X, y = data(loss, 2, n=90, d=40, density=1.0)
    rng = np.random.default_rng(2)
    X *= 10.0 ** rng.uniform(-3, 6, 40)
    X += 10.0 ** rng.uniform(0, 7, 40) * (rng.random(40) < 0.5)
    for last in Cdn().start(problem(loss, X, y, 0.1, PENALTIES[name], gap=1e-3)):
        assert last.passes < 60_000  # by coordinates alone a million
    assert 0 <= last.primal - last.dual <= 1e-3 * last.primal
