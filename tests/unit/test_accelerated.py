# SPDX-License-Identifier: BSD-3-Clause
"""Dual coordinate descent, smoothed hinge and Newton step against slow truths; gaps against their
identities."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import hinge, smoothed

from svmcut._native import dual_cd as native_dual
from svmcut._native import newton as native
from svmcut._native import sparse
from svmcut.base.errors import TrainingError
from svmcut.cutting.bundle import CutBundle
from svmcut.data.examples import Csr
from svmcut.qp.simplex import CheckedSimplexQp
from svmcut.risks.hinge import BoundHinge, HingeRisk
from svmcut.risks.losses import LogisticRisk
from svmcut.risks.smoothed import line_step
from svmcut.solvers.auto import choose, newton_step
from svmcut.solvers.curvature import Curvature
from svmcut.solvers.dual_cd import DualCd
from svmcut.solvers.newton import Descent, Newton
from svmcut.solvers.protocol import Problem, Start, StoppingRule
from svmcut.spaces.linear import LinearSpace
from svmcut.spec.schemas import StateError


def data(rng, n=80, d=12, density=0.5):
    X = np.where(rng.random((n, d)) < density, rng.normal(size=(n, d)), 0).astype(np.float32)
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


def problem(X, y, C, gap=1e-6, bias=1.0, threads=1):
    risk = HingeRisk().bind(y, threads=threads)
    return Problem(risk, LinearSpace(Csr.from_dense(X), bias, threads), C, StoppingRule(0, gap))


def descent_of(X, y, bias, seed=0):
    rows = sparse.Rows(Csr.from_dense(X))
    norms = (X.astype(float) ** 2).sum(1) + bias**2
    alpha, w = np.zeros(len(y)), np.zeros(X.shape[1] + (bias != 0))
    return native_dual.Descent(rows, y, norms, bias, alpha, w, seed), alpha, w


@pytest.mark.parametrize("bias", [0.0, 1.5])
def test_an_epoch_of_one_row_at_a_time_is_the_step_of_the_paper(rng, bias):
    X, y = data(rng, n=1)
    X += 1
    descent, alpha, w = descent_of(X, y, bias)
    full = hinge.with_constant(X.astype(float), bias)
    slow_alpha, slow_w = np.zeros(1), np.zeros(full.shape[1])
    for _ in range(3):
        descent.run(0.7, 1, 0.0)
        smoothed.epoch(full, y, 0.7, slow_alpha, slow_w, [0])
        assert alpha == pytest.approx(slow_alpha, rel=1e-12)
        assert w == pytest.approx(slow_w, rel=1e-12)


@pytest.mark.every(2)
@pytest.mark.parametrize("bias", [0.0, 1.5])
@pytest.mark.parametrize("C", [0.01, 1.0, 20.0])
def test_descent_reaches_the_optimum_shrunk_or_not(rng, C, bias):
    X, y = data(rng)
    descent, alpha, w = descent_of(X, y, bias)
    full = hinge.with_constant(X.astype(float), bias)
    for _ in range(300):
        descent.run(C, 10, 0.0)
        assert w == pytest.approx((alpha * y) @ full, rel=1e-9, abs=1e-9)
        assert alpha.min() >= 0 and alpha.max() <= C
        descent.wake(C, full @ w)
    _, minimum = hinge.optimum(X, y, C, bias)
    assert alpha.sum() - 0.5 * w @ w == pytest.approx(minimum, rel=1e-7)


def test_the_order_follows_the_seed_and_a_cancelled_run_goes_on(rng):
    X, y = data(rng)
    runs = []
    for seed in (1, 1, 2):
        descent, alpha, _ = descent_of(X, y, 1.0, seed)
        descent.run(1.0, 3, 0.0)
        runs.append(alpha.copy())
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])
    descent, alpha, _ = descent_of(X, y, 1.0)
    assert not descent.run(1.0, 3, 0.0, np.ones(1, np.intc))
    assert not alpha.any()
    assert descent.run(1.0, 3, 0.0, np.zeros(1, np.intc))
    assert alpha.any()


def test_the_estimate_is_near_the_gap_once_little_moves(rng):
    X, y = data(rng, n=300)
    descent, alpha, w = descent_of(X, y, 1.0)
    for _ in range(40):
        descent.run(0.5, 10, 0.0)
        descent.wake(0.5, hinge.with_constant(X.astype(float), 1.0) @ w)
    truth = hinge.primal(X, y, w, 0.5, 1.0) - (alpha.sum() - 0.5 * w @ w)
    assert truth <= descent.gap * 1.5 <= 3 * truth


@pytest.mark.every(3)
@pytest.mark.parametrize("n", [1, 7, 255, 257, 40_000])
@pytest.mark.parametrize("delta", [1e-3, 0.5, 3.0])
def test_smoothed_hinge_is_its_definition(rng, n, delta):
    y, s = rng.choice([-1.0, 1.0], n), np.round(rng.normal(size=n) * 2, 2)
    loss, u = smoothed.losses(y, s, delta)
    coef = np.empty(n)
    value, plain, share, excess, band = native.smooth_hinge(y, s, delta, coef)
    assert coef == pytest.approx(-y * u, abs=1e-12)
    assert value == pytest.approx(loss.sum(), rel=1e-12)
    z = 1 - y * s
    assert plain == pytest.approx(np.maximum(z, 0).sum(), rel=1e-12)
    assert share == pytest.approx(u.sum(), rel=1e-12)
    assert excess == pytest.approx((np.maximum(z, 0) - u * z).sum(), rel=1e-9, abs=1e-12 * n)
    rows = np.empty(n + 1, np.int32)
    assert native.band_rows(coef, rows) == band
    assert np.array_equal(rows[:band], np.nonzero((np.abs(coef) > 0) & (np.abs(coef) < 1))[0])
    e = rng.normal(size=n)
    slope, curvature = native.smooth_slope(y, s, e, 0.3, delta)
    _, u = smoothed.losses(y, s + 0.3 * e, delta)
    assert slope == pytest.approx(-(u * y * e).sum(), rel=1e-9, abs=1e-9)
    assert curvature == pytest.approx((e**2)[(u > 0) & (u < 1)].sum() / delta, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("density", [0.4, 1.0])
@pytest.mark.parametrize("bias", [0.0, 2.0])
@pytest.mark.parametrize("n", [3, 9000])
def test_gram_product_and_solution_are_those_of_dense_rows(rng, n, bias, density):
    X, _ = data(rng, n, 7, density)
    if density == 1.0:
        X[X == 0] = 1
    full = hinge.with_constant(X.astype(float), bias)
    rows = np.nonzero(rng.random(n) < 0.9)[0].astype(np.int32)
    rows_of_X = sparse.Rows(Csr.from_dense(X))
    grams = []
    for threads in (1, 2, 5):
        H, product = np.zeros((full.shape[1],) * 2), np.zeros(full.shape[1])
        diagonal = np.zeros(full.shape[1])
        native.band_gram(rows_of_X, rows, bias, H, threads)
        native.band_diagonal(rows_of_X, rows, bias, diagonal, threads)
        p = np.linspace(-1, 1, len(product))
        native.band_product(rows_of_X, rows, bias, p, product, threads)
        assert np.tril(H) == pytest.approx(np.tril(full[rows].T @ full[rows]), rel=1e-9, abs=1e-9)
        assert product == pytest.approx(full[rows].T @ (full[rows] @ p), rel=1e-9, abs=1e-9)
        assert diagonal == pytest.approx(np.diag(H), rel=1e-9)
        grams.append((H.tobytes(), product.tobytes(), diagonal.tobytes()))
    assert len(set(grams)) == 1
    g = rng.normal(size=len(p))
    truth = np.linalg.solve(np.eye(len(p)) + 3.0 * full[rows].T @ full[rows], g)
    assert native.solve_shifted(H, 3.0, g)
    assert g == pytest.approx(truth, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("dim", [*range(1, 10), 21])
def test_factors_of_rows_taken_together_solve_the_equations(rng, dim):
    A, g = rng.normal(size=(dim, 2 * dim)), rng.normal(size=dim)
    truth = np.linalg.solve(np.eye(dim) + 2.0 * A @ A.T, g)
    assert native.solve_shifted(np.tril(A @ A.T), 2.0, g)
    assert g == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("trial", range(20))
def test_line_step_ends_near_the_minimum_of_the_line(trial):
    rng = np.random.default_rng(trial)
    X, y = data(rng)
    full = hinge.with_constant(X.astype(float), 1.0)
    C, delta = 10.0 ** rng.integers(-2, 3), 10.0 ** rng.integers(-3, 1)
    w, scale = rng.normal(size=13), 10.0 ** rng.integers(-3, 4)
    p = -scale * smoothed.primal(full, y, w, C, delta)[1]
    before = smoothed.primal(full, y, w, C, delta)[1] @ p
    s, e, risk = full @ w, full @ p, BoundHinge(y)

    def rate(t):
        rise, bend = risk.slope(s, e, t, delta)
        return w @ p + t * p @ p + C * rise, p @ p + C * bend

    t = line_step(rate, -before, 1.0, 0.3, 0.05)
    assert abs(smoothed.primal(full, y, w + t * p, C, delta)[1] @ p) <= 0.3 * abs(before)
    best = smoothed.minimum_on_line(full, y, w, p, C, delta)
    low, high = (smoothed.primal(full, y, w + x * p, C, delta)[0] for x in (best, t))
    start = smoothed.primal(full, y, w, C, delta)[0]
    assert high <= start
    assert high - low <= 0.5 * (start - low) + 1e-9 * start


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(-3, 3), st.floats(-3, 0.5), st.floats(0, 2))
def test_gap_identities(seed, log_C, log_delta, size):
    """P - D = C sum (max(z, 0) - c z) + 1/2 |w - C g|^2, and the bundle's bound is no worse than
    D."""
    rng = np.random.default_rng(seed)
    X, y = data(rng, 30, 5)
    C, delta, w = 10.0**log_C, 10.0**log_delta, size * rng.normal(size=6)
    full = hinge.with_constant(X.astype(float), 1.0)
    at = BoundHinge(y).smooth(full @ w, delta)
    primal = hinge.primal(X, y, w, C, 1.0)
    g, b = -full.T @ at.coef, at.offset
    dual = C * b - 0.5 * C**2 * g @ g
    gap = C * at.excess + 0.5 * (w - C * g) @ (w - C * g)
    assert primal - dual == pytest.approx(gap, rel=1e-9, abs=1e-9 * max(primal, abs(dual)))
    task = problem(X, y, C)
    run = Newton().start(task)
    run.cut(task.space.adjoint(at.coef), b, at.value)
    assert run.lower >= dual - 1e-9 * abs(dual)
    theta = min(C, b / max(g @ g, 1e-300))
    assert run.lower == pytest.approx(
        max(0.0, theta * b - 0.5 * theta**2 * g @ g), rel=1e-6, abs=1e-9
    )
    assert C * at.excess <= C * len(at.rows) * delta / 16 + 1e-12 * primal


def test_newton_direction_solves_the_newton_equations(rng):
    X, y = data(rng, 200)
    task = problem(X, y, 2.0)
    w = rng.normal(size=13) * 0.1
    descent = Descent(task, w, 0.8)
    _, gradient, H = smoothed.primal(hinge.with_constant(X.astype(float), 1.0), y, w, 2.0, 0.8)
    assert descent.gradient == pytest.approx(gradient, rel=1e-9, abs=1e-9)
    assert np.array_equal(
        descent.at.rows, np.nonzero((descent.at.coef != 0) & (np.abs(descent.at.coef) < 1))[0]
    )
    curvature, g = Curvature(task.space, task.risk), descent.gradient
    assert curvature.direction(descent.at, 2.0, g) == pytest.approx(
        -np.linalg.solve(H, gradient), rel=1e-8
    )
    by_gradients, products = curvature.conjugate_gradients(
        descent.at, 2.0 / 0.8, g, None, rest=1e-12
    )
    assert 1 <= products <= 40
    assert by_gradients == pytest.approx(-np.linalg.solve(H, gradient), rel=1e-7)


def test_newton_with_many_features_and_with_a_sample(rng):
    for n, d in ((60, 400), (40_000, 6)):
        X, y = data(rng, n, d, 0.3)
        last = list(Newton().start(problem(X, y, 0.1, 1e-4)))[-1]
        reference = list(DualCd().start(problem(X, y, 0.1, 1e-5)))[-1]
        assert last.gap <= 1e-4 * last.primal
        assert last.dual <= reference.primal
        assert last.primal <= reference.primal * (1 + 1.1e-4)


@pytest.mark.parametrize("solver", [DualCd, Newton])
def test_a_start_from_another_cost_saves_work(rng, solver):
    X, y = data(rng, 400, 20)
    first = solver().start(problem(X, y, 1.0, 1e-4))
    list(first)
    task = problem(X, y, 1.3, 1e-4)
    start = Start(first.bundle, (task.space.zero(),), first.fractions)
    warm, cold = list(solver().start(task, start)), list(solver().start(problem(X, y, 1.3, 1e-4)))
    assert warm[-1].gap <= 1e-4 * warm[-1].primal
    assert warm[0].dual > cold[0].dual
    assert warm[-1].primal == pytest.approx(cold[-1].primal, rel=2e-4)


@pytest.mark.parametrize(
    ("solver", "loss"), [(DualCd, "the loss error-rate"), (Newton, "a loss of one score")]
)
def test_another_risk_or_space_is_refused(solver, loss):
    class Other:
        pass

    task = Problem(Other(), Other(), 1.0, StoppingRule(0, 1e-3))
    with pytest.raises(
        TrainingError,
        match=f"this solver needs {loss} and a linear kernel; use solver='cutting-plane'",
    ):
        solver().start(task)


@pytest.mark.parametrize("solver", [DualCd(), Newton()])
def test_the_point_looked_at_is_the_best_multiple_of_w(rng, solver):
    """Nearly separable rows: margins just below 1 are what is left of the gap."""
    X, y = data(rng, 60, 200)
    known = problem(X, y, 100.0)
    *_, last = DualCd().start(problem(X, y, 100.0, 0.1), None, None)
    for t in (0.5, 0.999, 1.3):
        run = solver.start(known, None, None)
        direction = known.space.adjoint(known.risk.signs)
        run.search(direction, known.space.scores(direction))  # else the line comes from 0
        assert run.primal < known.C * 60
        v = last.solution() * t
        run.search(v.copy(), known.space.scores(v))
        for multiple in np.append(np.geomspace(0.3, 3, 50), [1 / t]):
            s = known.space.scores(v * multiple)
            value = (
                0.5 * known.space.dot(v, v) * multiple**2 + known.C * known.risk.linearize(s).value
            )
            assert run.primal <= value * (1 + 1e-12)


def test_a_hand_over_keeps_the_bounds_and_the_count(rng):
    X, y = data(rng, 300, 15)
    history = list(DualCd(max_epochs=0).start(problem(X, y, 300.0, 1e-4)))
    assert [p.iteration for p in history] == list(range(1, len(history) + 1))
    assert all(b.passes >= a.passes for a, b in itertools.pairwise(history))
    assert history[-1].gap <= 1e-4 * history[-1].primal


def test_the_descent_goes_on_as_long_as_a_step_of_newton_costs_many_epochs(rng):
    X = rng.normal(size=(400, 300)).astype(np.float32)
    y = np.where(X @ rng.normal(size=300) + 6 * rng.normal(size=400) > 0, 1.0, -1.0)
    task = problem(X, y, 1.0, 1e-5)
    step = newton_step(400, 300, task.space.X.nnz)
    assert 10 < step < 30
    assert newton_step(400, 3, 1200) < 3
    stages, epochs = [], []
    for most in (15, 15 / step):
        run = DualCd(max_epochs=most).start(task)
        last = list(run)[-1]
        assert last.gap <= 1e-5 * last.primal
        stages.append(run.state()["stage"])
        epochs.append(run._native.epochs)
    assert stages == ["descent", "handed"] and epochs[0] > 2 * epochs[1]


@pytest.mark.parametrize("own", [HingeRisk, LogisticRisk])
def test_a_state_with_another_width_is_refused(rng, own):
    X, y = data(rng)
    task = Problem(own().bind(y), LinearSpace(Csr.from_dense(X)), 1.0, StoppingRule(0, 1e-9))
    run = Newton().start(task)
    for _ in itertools.islice(run, 3):
        state = run.state()
    assert (state["descent"]["delta"] > 0) == (own is HingeRisk)
    state["descent"]["delta"] = 0.0 if own is HingeRisk else 0.1
    with pytest.raises(StateError, match=r"descent\.delta"):
        list(Newton().start(task, None, state))


def test_choice_of_a_solver():
    assert choose(500_000, 54, 6_000_000, 1.0) == "newton"
    assert choose(100_000, 47_000, 7_000_000, 1.0) == "dual-cd"


def test_an_empty_bundle_is_a_start(rng):
    X, y = data(rng)
    task = problem(X, y, 1.0)
    for solver in (DualCd, Newton):
        history = list(solver().start(task, Start(CutBundle(task.space, CheckedSimplexQp()))))
        assert history[-1].gap <= 1e-6 * history[-1].primal
