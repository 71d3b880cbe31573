# SPDX-License-Identifier: BSD-3-Clause
"""Sampled cuts: cost, determinism, distance to the exact optimum, and no claim that is not kept."""

import itertools
import math

import numpy as np
import pytest
from drivers import risk_of
from reference import hinge
from reference.kernel_rows import SlowKernelRows, gram

from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.risks.sampling import Draw
from svmcut.solvers.constant_cuts import ConstantCuts, ConstantCutsRun, SampleSpace
from svmcut.solvers.cutting_plane import CuttingPlane
from svmcut.solvers.protocol import Problem, StoppingRule
from svmcut.solvers.sampled_cuts import SampledCuts, SampledCutsRun
from svmcut.spaces.kernel import KernelSpace


def checkers(n, seed=1, noise=0.05):
    rng = np.random.default_rng(seed)
    u = 4 * rng.random((n, 2))
    y = np.where((np.floor(u).sum(1) % 2 == 0) ^ (rng.random(n) < noise), 1.0, -1.0)
    return (u - 2).astype(np.float32), y


KERNEL = Kernel("rbf", gamma=2.0)


def sampled(X, y, r, seed=0, loss="error-rate", C=1.0, epsilon=0.01, **options):
    rows = SlowKernelRows(Csr.from_dense(X), KERNEL)
    risk = risk_of(loss).bind(y)
    rule = StoppingRule(C * risk.linearize(np.zeros(len(y))).value * epsilon)
    run = SampledCuts(risk.sampler(), r, seed, **options).start(
        Problem(risk, KernelSpace(rows, 0, np.float32), C, rule)
    )
    return rows, run, list(run)


def constant(X, y, r, seed=0, C=1.0, epsilon=0.02, patience=8):
    rows = SlowKernelRows(Csr.from_dense(X), KERNEL)
    risk = risk_of("error-rate").bind(y)
    run = ConstantCuts(risk.sampler(), r, patience, seed).start(
        Problem(risk, SampleSpace(rows), C, StoppingRule(C * len(y) * epsilon))
    )
    return rows, run, list(run)


def objective(X, y, w, C, risk):
    K = gram(KERNEL, X, X)
    coef = np.zeros(len(y))
    coef[w.points] = w.coef
    return 0.5 * coef @ K @ coef + C * risk.linearize(K @ coef).value


def optimum(X, y, C):
    """Minimum of the hinge problem by `reference.hinge` on a square root of the kernel matrix."""
    values, vectors = np.linalg.eigh(gram(KERNEL, X, X))
    return hinge.optimum(vectors * np.sqrt(np.maximum(values, 0)), y, C, tol=1e-6)[1]


def test_the_exact_cut_is_taken_where_the_sample_covers_the_violations():
    """With r = n nothing is sampled: the algorithm is the exact one, and its model a true lower
    bound."""
    X, y = checkers(120)
    _, _, history = sampled(X, y, 120, epsilon=1e-3)
    minimum = optimum(X, y, 1.0)
    assert minimum - 1e-3 <= history[-1].primal <= minimum + history[-1].gap + 1e-3
    assert history[-1].gap <= 1e-3 * 120


@pytest.mark.parametrize("loss", ["error-rate", "roc-area"])
def test_larger_samples_come_nearer_the_optimum(loss):
    X, y = checkers(300)
    risk = risk_of(loss).bind(y)
    C = 1.0 if loss == "error-rate" else 2.0
    exact = KernelSpace(SlowKernelRows(Csr.from_dense(X), KERNEL), 10)
    *_, last = CuttingPlane().start(Problem(risk, exact, C, StoppingRule(0, 1e-3)))
    excess = []
    for r in (10, 60):
        ends = [sampled(X, y, r, seed, loss, C, 0.02)[2][-1].solution() for seed in range(3)]
        values = [objective(X, y, end, C, risk) for end in ends]
        excess.append(np.mean(values) - last.dual)
    assert excess[0] > excess[1] > 0
    assert excess[1] < 0.25 * last.dual


def test_the_stated_primal_is_the_objective_and_the_violation_meets_the_rule():
    X, y = checkers(250)
    rows, _, history = sampled(X, y, 40)
    last = history[-1]
    risk = risk_of("error-rate").bind(y)
    assert last.primal == pytest.approx(objective(X, y, last.solution(), 1.0, risk), rel=1e-5)
    assert math.isnan(last.dual)
    assert last.gap <= 0.01 * 250
    assert all(b.primal <= a.primal for a, b in itertools.pairwise(history))
    cuts = rows.evaluations / 250
    assert cuts <= 40 * (len(history) - 1)


@pytest.mark.parametrize("loss", ["error-rate", "roc-area"])
def test_the_best_is_the_lowest_of_its_line_and_the_cut_drawn_behind_it_is_violated_at_the_end(
    loss, monkeypatch
):
    """The exact cut at u is violated at w by what the theorem promises, and the sampled one by more
    than epsilon."""
    X, y = checkers(200)
    C, K, risk, seen = 1.5, gram(KERNEL, X, X), risk_of(loss).bind(y), []
    draw = SampledCutsRun._draw

    def spied(run, best, w, level):
        cut, violated = draw(run, best, w, level)
        seen.append((best.coefficients(), w.coefficients(), run._model.slack, level, cut))
        return cut, violated

    def primal(a):
        return 0.5 * a @ K @ a + C * risk.linearize(K @ a).value

    monkeypatch.setattr(SampledCutsRun, "_draw", spied)
    _, _, history = sampled(X, y, 30, loss=loss, C=C)
    assert len(seen) > 10
    for step, (v, w, slack, level, cut) in zip(history, seen, strict=False):
        gap, d = primal(v) - 0.5 * w @ K @ w - C * slack, w - v
        assert step.gap == pytest.approx(gap, rel=1e-3, abs=1e-4 * primal(v))
        # the search of pairs ends within a part of the gap
        slip = 0.1 * gap * (loss != "error-rate") + 1e-4 * primal(v)
        assert all(primal(v) <= primal(v + t * d) + slip for t in np.linspace(-0.5, 1.5, 21))
        exact, s = risk.linearize(K @ (v + 0.3 * d)), K @ w
        assert exact.offset + exact.coef @ s - slack >= (gap + 0.35 * d @ K @ d - slip) / C
        assert cut.offset + cut.coef @ s[cut.points] > level - 1e-4 * primal(v)


def test_the_exact_cut_stands_where_no_sample_is_violated_enough():
    """A sampler whose samples are worthless: every cut is exact, and so is the optimum."""

    class Worthless:
        def violations(self, s):
            violated = risk_of("error-rate").bind(y).sampler().violations(s)
            violated.sample = lambda rng, r: Draw(np.zeros(0, np.int64), np.zeros(0), 0.0, 0.0)
            return violated

    X, y = checkers(100)
    risk = risk_of("error-rate").bind(y)
    space = KernelSpace(SlowKernelRows(Csr.from_dense(X), KERNEL), 0, np.float32)
    *_, last = SampledCuts(Worthless(), 5, 0).start(Problem(risk, space, 1.0, StoppingRule(0.1)))
    assert last.primal == pytest.approx(optimum(X, y, 1.0), abs=0.11)


def test_the_dual_of_the_model_rises_with_every_cut():
    """Each cut is violated by more than epsilon, so that the maximum of the small QP rises."""
    X, y = checkers(150)
    rows = SlowKernelRows(Csr.from_dense(X), KERNEL)
    risk = risk_of("error-rate").bind(y)
    solver = SampledCuts(risk.sampler(), 30, 0, max_idle=10**9)
    lower, epsilon = [], 150 * 0.02
    run = solver.start(Problem(risk, KernelSpace(rows, 0, np.float32), 1.0, StoppingRule(epsilon)))
    for _ in run:
        lower.append(run.bundle.solve(1.0, 1e-6).lower)
    R = 150  # |a| <= n |phi|
    rise = min(epsilon / 2, epsilon**2 / (2 * R * R))
    assert all(b - a >= 0.9 * rise for a, b in itertools.pairwise(lower))


def test_cuts_stay_within_their_memory():
    X, y = checkers(200)
    _, run, _ = sampled(X, y, 10, memory=4e-6 * 200 * 5, epsilon=1e-3)
    assert run.full
    assert len(run.bundle) <= 6


@pytest.mark.parametrize("train", [sampled, constant])
def test_same_seed_same_answer(train):
    X, y = checkers(200)
    runs = [train(X, y, 30, seed)[2][-1].solution() for seed in (7, 7, 8)]
    assert runs[0].coef.tobytes() == runs[1].coef.tobytes()
    assert runs[0].coef.tobytes() != runs[2].coef.tobytes()


def test_constant_cuts_cost_the_same_for_any_number_of_rows():
    """A round costs the sample against itself, the points of the cuts there are and 200 held-out
    rows, whatever n."""
    for n in (200, 1600):
        rows, _, history = constant(*checkers(n), 50)
        assert rows.evaluations <= sum(
            50 * (50 * (progress.cuts + 1) + 200) for progress in history
        )


def test_constant_cuts_search_and_state_the_objective_of_the_rows_held_out(monkeypatch):
    X, y = checkers(300)
    K, C, seen, step = gram(KERNEL, X, X), 1.2, [], ConstantCutsRun._step
    held = np.random.default_rng(5).integers(300, size=160)

    def coefficients(run, multipliers):
        w, dense = (
            run.bundle.space.combine(-C * multipliers[1:], run.bundle.elements()),
            np.zeros(300),
        )
        dense[w.points] = w.coef
        assert w.scores == pytest.approx((K @ dense)[np.unique(held)], abs=1e-4)
        return dense

    def primal(a):
        return 0.5 * a @ K @ a + C * 300 / 160 * np.maximum(0, 1 - y * (K @ a))[held].sum()

    def spied(run, target):
        before = coefficients(run, run.bundle.best)
        step(run, target)
        ends = before, coefficients(run, run.bundle.best), coefficients(run, run.bundle.beta)
        model = 0.5 * ends[2] @ K @ ends[2] + C * run._slack
        space, elements = run.bundle.space, run.bundle.elements()
        products = [space.dot(a, elements[-1]) for a in elements]
        assert products == pytest.approx(run.bundle.state()["H"][-1, 1:], rel=1e-5, abs=1e-4)
        seen.append((*ends, model))

    monkeypatch.setattr(ConstantCutsRun, "_step", spied)
    _, run, history = constant(X, y, 40, seed=5, C=C)
    assert len(seen) == len(history) - 1 > 10
    assert run._calm == 8 or history[-1].gap <= 0.02 * C * 300
    for (before, v, w, model), progress in zip(seen, history[1:], strict=True):
        assert progress.primal == pytest.approx(primal(v), rel=1e-3)
        assert progress.gap == pytest.approx(primal(v) - model, abs=2e-3 * primal(v))
        assert primal(v) <= (1 + 2e-3) * min(
            primal(before + t * (w - before)) for t in np.linspace(0, 1, 41)
        )


def test_constant_cuts_approach_the_optimum():
    X, y = checkers(300)
    risk = risk_of("error-rate").bind(y)
    minimum = optimum(X, y, 1.0)
    means = []
    for r in (20, 200):
        ends = [constant(X, y, r, seed)[2][-1].solution() for seed in range(3)]
        means.append(np.mean([objective(X, y, end, 1.0, risk) for end in ends]))
    small, large = means
    assert minimum < large < small
    assert large < 1.25 * minimum
