# SPDX-License-Identifier: BSD-3-Clause
"""Compiled sums of losses and their dual coordinate descent, against definitions and slow
truths."""

import numpy as np
import pytest
from reference import losses as truth

from svmcut._native import dual_cd, losses, sparse
from svmcut.data.examples import Csr
from svmcut.risks.losses import (
    EpsilonInsensitiveRisk,
    LogisticRisk,
    SquaredEpsilonRisk,
    SquaredHingeRisk,
)

RISKS = {
    "squared-hinge": SquaredHingeRisk(),
    "logistic": LogisticRisk(),
    "epsilon-insensitive": EpsilonInsensitiveRisk(truth.TUBE),
    "squared-epsilon-insensitive": SquaredEpsilonRisk(truth.TUBE),
}
every_loss = pytest.mark.parametrize("loss", RISKS)


def data(rng, loss, n=60, d=5, density=1.0):
    X = np.where(rng.random((n, d)) < density, rng.normal(size=(n, d)), 0).astype(np.float32)
    s = X @ rng.normal(size=d) + rng.normal(size=n)
    return X, s if loss in truth.OF_TARGETS else np.where(s > 0, 1.0, -1.0)


def bound(loss, y, weights=None, threads=1):
    return RISKS[loss].bind(y, None, weights, threads)


def descent(loss, X, y, weights=None, seed=0):
    """A descent from alpha = 0, with its alpha, logits and w."""
    risk = bound(loss, y, weights)
    alpha, w = np.zeros(len(y)), np.zeros(X.shape[1])
    logit = np.full(len(y), -30.0) if loss == "logistic" else None
    norms = (X.astype(float) ** 2).sum(1)
    rows = sparse.Rows(Csr.from_dense(X))
    run = dual_cd.Descent(
        rows, y, norms, 0.0, alpha, w, seed, risk.weights, risk.number, risk.tube, logit
    )
    return run, risk, alpha, logit, w


def fractions(risk, alpha, C):
    box = C * (np.ones(len(alpha)) if risk.weights is None else risk.weights)
    return np.divide(alpha, box, out=np.zeros(len(alpha)), where=box > 0)


def dual_of(loss, X, y, risk, alpha, C):
    g = fractions(risk, alpha, C) * (1 if risk.signed else y)
    return truth.dual(loss, X.astype(float), y, g, C, risk.weights)


@every_loss
@pytest.mark.parametrize("n", [1, 33, 5000])
def test_values_tangents_and_curvatures_are_those_of_the_definition(rng, loss, n):
    y = rng.normal(size=n) * 2 if loss in truth.OF_TARGETS else rng.choice([-1.0, 1.0], n)
    s = np.round(rng.normal(size=n) * rng.choice([0.5, 3.0, 50.0], n), 2)
    v = rng.integers(0, 3, n) * 0.5
    if n == 1:
        v[:] = 2.0
    known = np.array([truth.LOSSES[loss](a, b) for a, b in zip(y, s, strict=True)])
    results = []
    for threads in (1, 3):
        risk = bound(loss, y, v, threads)
        cut = risk.smooth(s, 0.0)
        assert cut.value == pytest.approx(v @ known[:, 0], rel=1e-12)
        assert cut.offset == pytest.approx(v @ known[:, 2], rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(cut.coef, v * known[:, 1], rtol=1e-12)
        results.append((cut.value, cut.offset, cut.coef.tobytes(), cut.bends.tobytes()))
        e, t = rng.normal(size=n), 0.37
        moved = risk.smooth(s + t * e, 0.0)
        slope, bend = risk.slope(s, e, t, 0.0)
        assert slope == pytest.approx(moved.coef @ e, rel=1e-9, abs=1e-9 * n)
        assert bend == pytest.approx(moved.bends @ e**2, rel=1e-9, abs=1e-12 * n)
    assert results[0] == results[1]
    ones = bound(loss, y, np.ones(n)).linearize(s), bound(loss, y).linearize(s)
    assert ones[0].value == ones[1].value and ones[0].coef.tobytes() == ones[1].coef.tobytes()


@every_loss
def test_threads_leave_no_trace(rng, loss):
    y, s = rng.choice([-1.0, 1.0], 40_000), rng.normal(size=40_000)
    found = set()
    for threads in (1, 2, 5):
        risk = bound(loss, y, None, threads)
        cut, t = risk.linearize(s), risk.line_minimum(s, y, 0.0, 1.0, 1.0)
        assert t > 0
        found.add((cut.value, cut.offset, cut.coef.tobytes(), t))
    assert len(found) == 1


@every_loss
def test_a_curvature_is_the_change_of_the_slope(rng, loss):
    y = rng.normal(size=200) if loss in truth.OF_TARGETS else rng.choice([-1.0, 1.0], 200)
    s, step = rng.normal(size=200) * 2, 1e-6
    at = bound(loss, y).smooth(s, 0.0)
    change = (bound(loss, y).linearize(s + step).coef - at.coef) / step
    assert at.bends == pytest.approx(change, rel=1e-4, abs=1e-5)


@every_loss
def test_every_fraction_gives_a_cut_and_its_dual(rng, loss):
    y = data(rng, loss)[1]
    v, n = rng.integers(0, 3, 60).astype(float), 60
    risk, u = bound(loss, y, v), rng.random(60)
    if loss in truth.OF_TARGETS:
        u = 2 * u - 1
    if loss.startswith("squared"):
        u *= 5
    coef, offset = risk.dual_cut(u, np.log(u) - np.log1p(-u) if loss == "logistic" else None)
    g = u if risk.signed else u * y
    assert coef == pytest.approx(-v * g, rel=1e-12)
    assert offset == pytest.approx(
        sum(v[i] * truth.h(loss, y[i], g[i]) for i in range(n)), rel=1e-12
    )
    assert risk.fractions(coef)[v > 0] == pytest.approx(u[v > 0], rel=1e-12)
    for _ in range(20):
        s = rng.normal(size=n) * rng.choice([0.3, 3.0, 30.0])
        assert truth.value(loss, y, s, v) >= offset + coef @ s - 1e-9


def step_of(loss, y, f, C, norm, alpha):
    """The best alpha of one row by bisection of the slope of its dual, which falls in alpha."""
    at, sign = f, 1.0 if loss in truth.OF_TARGETS else y

    def slope(new):
        score = at + sign * (new - alpha) * norm
        if loss == "squared-hinge":
            return 1 - y * score - new / (2 * C)
        if loss == "logistic":
            return np.log1p(-new / C) - np.log(new / C) - y * score
        bend = new / (2 * C) if loss in truth.OF_TARGETS[1:] else 0.0
        return y - score - truth.TUBE * np.sign(new) - bend

    low, high = {
        "squared-hinge": (0.0, 1e9),
        "logistic": (1e-300, C * (1 - 1e-16)),
        "epsilon-insensitive": (-C, C),
    }.get(loss, (-1e9, 1e9))
    for _ in range(500):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return low


@every_loss
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_a_visit_of_one_row_ends_at_its_optimum(rng, loss, C):
    for trial in range(10):
        X, y = data(rng, loss, n=1)
        X *= 10.0 ** rng.integers(-2, 3)
        run, risk, alpha, logit, w = descent(loss, X, y, seed=trial)
        x = X[0].astype(float)
        for _ in range(6):
            run.run(C, 1, 0.0)
            assert w == pytest.approx(alpha[0] * (1 if risk.signed else y[0]) * x, rel=1e-9)
        best = step_of(loss, y[0], 0.0, C, x @ x, 0.0)
        assert alpha[0] == pytest.approx(best, rel=1e-5, abs=1e-9 * C)
        if logit is not None:
            assert alpha[0] == C / (1 + np.exp(-logit[0])) or alpha[0] == pytest.approx(
                C / (1 + np.exp(-logit[0]))
            )


@pytest.mark.every(2)
@every_loss
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [0.01, 0.5])
def test_descent_rises_to_the_optimum_shrunk_or_not(rng, loss, C, weighted):
    X, y = data(rng, loss)
    v = rng.integers(0, 4, len(y)).astype(float) if weighted else None
    run, risk, alpha, _, w = descent(loss, X, y, v)
    minimum, last, full = truth.optimum(loss, X, y, C, v), -np.inf, X.astype(float)
    for _ in range(100):
        run.run(C, 10, 0.0)
        assert w == pytest.approx(
            full.T @ (alpha if risk.signed else alpha * y), rel=1e-9, abs=1e-9
        )
        here = dual_of(loss, X, y, risk, alpha, C)
        assert here >= last - 1e-9 * abs(here)
        last = here
        run.wake(C, full @ w)
        assert v is None or run.active <= np.count_nonzero(v)
    assert last == pytest.approx(minimum, rel=1e-7)
    assert v is None or not alpha[v == 0].any()


@every_loss
def test_the_estimate_is_near_the_gap_once_little_moves(rng, loss):
    X, y = data(rng, loss, n=300)
    run, risk, alpha, _, w = descent(loss, X, y)
    for _ in range(5):
        run.run(0.5, 3, 0.0)
        run.wake(0.5, X.astype(float) @ w)
    found = truth.primal(loss, X.astype(float), y, w, 0.5) - dual_of(loss, X, y, risk, alpha, 0.5)
    assert found <= 10 * run.gap + 1e-9 and run.gap <= 10 * found + 1e-9


@every_loss
@pytest.mark.parametrize("trial", range(6))
def test_a_line_is_searched_to_its_minimum(loss, trial):
    rng = np.random.default_rng(trial)
    X, y = data(rng, loss)
    v = None if trial % 2 else rng.integers(0, 3, 60).astype(float)
    full, C, w = X.astype(float), 10.0 ** rng.integers(-2, 3), rng.normal(size=5)
    risk = bound(loss, y, v)
    p = -(w + C * full.T @ risk.linearize(full @ w).coef) * 10.0 ** rng.integers(-3, 4)
    t = risk.line_minimum(full @ w, full @ p, w @ p, p @ p, C)
    low, high = 0.0, 1.0

    def slope(step):
        return (w + step * p) @ p + C * risk.linearize(full @ (w + step * p)).coef @ (full @ p)

    while slope(high) < 0:
        high *= 2
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    here, best, start = (truth.primal(loss, full, y, w + step * p, C, v) for step in (t, low, 0.0))
    assert here <= start
    assert here - best <= 0.06 * (start - best) + 1e-12 * start
    assert risk.line_minimum(full @ w, -(full @ p), -(w @ p), p @ p, C) == 0.0


def test_logits_are_those_of_fractions(rng):
    u = np.concatenate([[0.0, 1.0, 0.5, 1e-300, 1 - 1e-16], rng.random(500)])
    with np.errstate(divide="ignore"):
        wanted = np.clip(np.log(u) - np.log1p(-u), -30, 30)
    out = np.empty(len(u))
    losses.logits(u, 30.0, out)
    np.testing.assert_allclose(out, wanted, rtol=1e-14, atol=1e-15)
    with pytest.raises(ValueError, match="differ in length"):
        losses.logits(u, 30.0, out[1:])


def test_rows_of_a_sample_are_one_of_every_so_many():
    rows = sparse.spread_rows(1000, 8)
    k = np.arange(1000, dtype=np.uint64)
    place = (k * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(61)
    assert (rows == (8 * k + place).astype(np.int64)).all()
    assert len(set((rows % 8).tolist())) == 8


def test_what_does_not_belong_together_is_refused(rng):
    y, room = np.ones(4), np.empty(4)
    with pytest.raises(ValueError, match="0 is no loss"):
        losses.losses(0, y, y, 0.0, room)
    with pytest.raises(ValueError, match="differ in length"):
        losses.losses(losses.LOGISTIC, y, np.ones(3), 0.0, room)
    with pytest.raises(ValueError, match="differ in length"):
        losses.slope(losses.LOGISTIC, y, y, np.ones(5), 0.0, 1.0)
    rows, norms = sparse.Rows(Csr.from_dense(np.ones((4, 1), np.float32))), np.ones(4)
    for loss, logit in ((losses.LOGISTIC, None), (losses.TUBE, y), (7, None)):
        with pytest.raises(ValueError, match="the loss is none, or logits do not belong to it"):
            dual_cd.Descent(rows, y, norms, 0.0, room, np.zeros(1), 0, None, loss, 0.0, logit)
    with pytest.raises(ValueError, match="logit has the wrong length"):
        dual_cd.Descent(
            rows, y, norms, 0.0, room, np.zeros(1), 0, None, losses.LOGISTIC, 0.0, np.ones(3)
        )
