# SPDX-License-Identifier: BSD-3-Clause
"""Every solver of sums of losses: optimum of the reference, honest certificate, weights, the same
bytes."""

import functools
import itertools

import numpy as np
import pytest
from reference import losses as truth

from svmcut.base.errors import TrainingError
from svmcut.cutting.bundle import CutBundle
from svmcut.data.examples import Csr
from svmcut.qp.simplex import CheckedSimplexQp
from svmcut.risks.hinge import HingeRisk
from svmcut.risks.losses import (
    EpsilonInsensitiveRisk,
    LogisticRisk,
    SquaredEpsilonRisk,
    SquaredHingeRisk,
)
from svmcut.solvers.cutting_plane import CuttingPlane
from svmcut.solvers.dual_cd import LossCd
from svmcut.solvers.newton import Newton
from svmcut.solvers.protocol import Problem, Start, StoppingRule
from svmcut.spaces.linear import LinearSpace

RISKS = {
    "squared-hinge": SquaredHingeRisk(),
    "logistic": LogisticRisk(),
    "epsilon-insensitive": EpsilonInsensitiveRisk(truth.TUBE),
    "squared-epsilon-insensitive": SquaredEpsilonRisk(truth.TUBE),
}
SOLVERS = {
    "cutting-plane": CuttingPlane,
    "dual-cd": LossCd,
    "dual-cd, hurried": lambda: LossCd(max_epochs=0),
    "newton": Newton,
}
CASES = list(itertools.product(RISKS, SOLVERS))
every_case = pytest.mark.parametrize(("loss", "name"), CASES)
own = pytest.mark.parametrize(
    ("loss", "name"), [case for case in CASES if case[1] != "cutting-plane"]
)


def data(loss, seed=3, n=60, d=6, noise=0.8):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 0.6, rng.normal(size=(n, d)), 0).astype(np.float32)
    s = X @ rng.normal(size=d) + noise * rng.normal(size=n)
    return X, s if loss in truth.OF_TARGETS else np.where(s > 0, 1.0, -1.0)


def weights(n):
    return np.random.default_rng(8).integers(0, 4, n).astype(float)


def problem(loss, X, y, C, rule, bias=1.0, threads=1, v=None):
    return Problem(
        RISKS[loss].bind(y, None, v, threads),
        LinearSpace(Csr.from_dense(X), bias, threads),
        C,
        rule,
    )


def full(X, bias):
    return np.hstack([X.astype(float), np.full((len(X), 1), bias)]) if bias else X.astype(float)


@functools.cache
def optimum(loss, C, bias, weighted):
    X, y = data(loss)
    return truth.optimum(loss, full(X, bias), y, C, weights(len(y)) if weighted else None)


@pytest.mark.every(2)
@pytest.mark.parametrize(("bias", "weighted"), [(0.0, False), (1.0, True)])
@pytest.mark.parametrize("C", [1e-3, 3.0, 0.1])
@every_case
def test_reaches_the_reference_optimum_with_an_honest_certificate(loss, name, C, bias, weighted):
    X, y = data(loss)
    v, minimum = weights(len(y)) if weighted else None, optimum(loss, C, bias, weighted)
    history = list(SOLVERS[name]().start(problem(loss, X, y, C, StoppingRule(0, 1e-5), bias, 1, v)))
    last = history[-1]
    assert last.gap <= 1e-5 * last.primal
    assert last.dual <= minimum * (1 + 1e-9)
    assert minimum * (1 - 1e-9) <= last.primal <= minimum * (1 + 1.1e-5)
    assert last.primal == pytest.approx(
        truth.primal(loss, full(X, bias), y, last.solution(), C, v), rel=1e-11
    )
    # whoever goes on forms the scores afresh
    assert all(
        b.dual >= a.dual and b.primal <= a.primal * (1 + 1e-14)
        for a, b in itertools.pairwise(history)
    )
    assert all(p.gap >= -1e-9 * p.primal for p in history)


@pytest.mark.parametrize("noise", [0.0, 0.8])
@pytest.mark.parametrize("C", [1e-3, 1e1, 1e3, 1e6])
@own
def test_ends_with_a_stated_gap_at_any_cost(loss, name, C, noise):
    X, y = data(loss, 5, 300, 20, noise)
    rule = StoppingRule(C * len(y) / 100 * 0.1)
    last = list(SOLVERS[name]().start(problem(loss, X, y, C, rule)))[-1]
    assert rule.met(last.primal, last.dual)
    assert last.primal == pytest.approx(
        truth.primal(loss, full(X, 1.0), y, last.solution(), C), rel=1e-9
    )


@own
def test_same_bytes_for_any_number_of_threads_and_in_a_second_run(loss, name):
    X, y = data(loss, 6, 36_000, 12)
    found = {
        list(SOLVERS[name]().start(problem(loss, X, y, 0.1, StoppingRule(0, 1e-2), 1.0, threads)))[
            -1
        ]
        .solution()
        .tobytes()
        for threads in (1, 3, 1)
    }
    assert len(found) == 1


@own
def test_weights_of_one_change_no_bit_and_rows_of_weight_0_are_no_rows(loss, name):
    X, y = data(loss, 7, 200, 10)
    rule, v = StoppingRule(0, 1e-9), np.where(np.arange(200) % 3 > 0, 1.5, 0.0)

    def last(X, y, v):
        return list(SOLVERS[name]().start(problem(loss, X, y, 0.5, rule, 1.0, 1, v)))[-1]

    assert last(X, y, None).solution().tobytes() == last(X, y, np.ones(200)).solution().tobytes()
    whole, part = last(X, y, v), last(X[v > 0], y[v > 0], v[v > 0])
    assert whole.primal == pytest.approx(part.primal, rel=1e-8)


@own
def test_zeros_equal_rows_and_columns_of_very_different_scale_end(loss, name):
    zeros = np.zeros((20, 3), np.float32)
    last = list(
        SOLVERS[name]().start(problem(loss, zeros, np.ones(20), 1.0, StoppingRule(0, 1e-9), 0.0))
    )[-1]
    assert last.primal == pytest.approx(20 * truth.LOSSES[loss](1.0, 0.0)[0], rel=1e-9)
    mixed = np.where(np.arange(50) < 20, 1.0, -1.0)
    task = problem(loss, np.ones((50, 2), np.float32), mixed, 1e3, StoppingRule(0, 1e-6))
    last = list(SOLVERS[name]().start(task))[-1]
    assert last.gap <= 1e-6 * last.primal
    X, y = data(loss, 9, 100, 4)
    X *= np.array([1e10, 1e-10, 1.0, 1e5], np.float32)
    last = list(SOLVERS[name]().start(problem(loss, X, y, 1.0, StoppingRule(0.1))))[-1]
    assert np.all(np.isfinite(last.solution())) and np.isfinite(last.gap)


@own
def test_a_start_from_another_cost_saves_work(loss, name):
    X, y = data(loss, 4, 400, 20)
    first = SOLVERS[name]().start(problem(loss, X, y, 0.05, StoppingRule(0, 1e-4)))
    w = list(first)[-1].solution()
    task = problem(loss, X, y, 0.06, StoppingRule(0, 1e-4))
    warm = list(SOLVERS[name]().start(task, Start(first.bundle, (w,), first.fractions)))
    cold = list(SOLVERS[name]().start(task))
    assert warm[-1].gap <= 1e-4 * warm[-1].primal
    assert warm[0].gap < cold[0].gap
    assert warm[-1].primal == pytest.approx(cold[-1].primal, rel=2e-4)
    again = list(SOLVERS[name]().start(task, Start(CutBundle(task.space, CheckedSimplexQp()))))
    assert again[-1].gap <= 1e-4 * again[-1].primal


@pytest.mark.parametrize(("n", "d"), [(60, 1400), (36_000, 6)])
@pytest.mark.parametrize("loss", RISKS)
def test_newton_with_many_features_and_with_a_sample(loss, n, d):
    X, y = data(loss, 2, n, d)
    found = [
        list(SOLVERS[name]().start(problem(loss, X, y, 0.1, StoppingRule(0, 1e-4))))[-1]
        for name in ("newton", "dual-cd")
    ]
    for one, other in (found, found[::-1]):
        assert one.gap <= 1e-4 * one.primal
        assert one.dual <= other.primal


def test_the_gap_at_a_tangent_is_half_the_squared_gradient(rng):
    for loss in ("squared-hinge", "logistic", "squared-epsilon-insensitive"):
        X, y = data(loss)
        task, A = problem(loss, X, y, 2.0, StoppingRule(0, 1e-4)), full(X, 1.0)
        for _ in range(10):
            w = rng.normal(size=7)
            cut = task.risk.linearize(A @ w)
            gradient = w + 2.0 * A.T @ cut.coef
            g = -cut.coef
            gap = truth.primal(loss, A, y, w, 2.0) - truth.dual(loss, A, y, g, 2.0)
            assert gap == pytest.approx(0.5 * gradient @ gradient, rel=1e-9)


@pytest.mark.parametrize("loss", RISKS)
def test_the_nearest_cut_lies_below_the_risk(rng, loss):
    _, y = data(loss)
    risk = RISKS[loss].bind(y, None, weights(len(y)))
    for size in (0.1, 1.0, 30.0):
        wanted = size * rng.normal(size=len(y))
        coef, offset = risk.nearest_cut(wanted)
        for _ in range(10):
            s = 3 * rng.normal(size=len(y))
            assert offset + coef @ s <= risk.linearize(s).value * (1 + 1e-12)
        tangent = risk.linearize(s)
        coef, offset = risk.nearest_cut(tangent.coef)
        assert coef == pytest.approx(tangent.coef, abs=1e-9)
        assert offset == pytest.approx(tangent.offset, rel=1e-6)


@pytest.mark.parametrize(("loss", "steps"), [("squared-hinge", 16), ("logistic", 8)])
def test_a_step_certifies_itself_and_hard_equations_are_factorised(rng, loss, steps):
    """Long and short columns at a large C: a gradient is far above what is left of the primal,
    products are many."""
    X = (rng.normal(size=(500, 140)) * np.geomspace(1, 1e-3, 140)).astype(np.float32)
    y = np.where(
        X @ (rng.normal(size=140) / np.geomspace(1, 1e-3, 140)) + 3 * rng.normal(size=500) > 0,
        1.0,
        -1.0,
    )
    run = Newton().start(problem(loss, X, y, 1e4, StoppingRule(0, 1e-6)))
    history = list(run)
    assert history[-1].gap <= 1e-6 * history[-1].primal
    assert run._descent._curvature.factored
    assert len(history) <= steps and history[-1].passes < 200
    gradient = run._descent.gradient
    if (
        loss == "squared-hinge"
    ):  # the Hessian that came of changes is that of the last direction's curvatures
        H, bent = run._descent._curvature.before
        A = full(X, 1.0)
        assert np.tril(H) == pytest.approx(np.tril((A.T * bent) @ A), rel=1e-9, abs=1e-9)
        assert history[-1].passes < 140
    if loss == "logistic":
        assert history[-1].gap <= 0.05 * float(gradient @ gradient)


def test_another_risk_is_refused():
    X, y = data("logistic")
    task = Problem(HingeRisk().bind(y), LinearSpace(Csr.from_dense(X)), 1.0, StoppingRule(0, 1e-3))
    with pytest.raises(
        TrainingError, match="this solver needs a loss of one score; use solver='cutting-plane'"
    ):
        LossCd().start(task)
