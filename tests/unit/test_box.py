# SPDX-License-Identifier: BSD-3-Clause
"""The exact QP of few points against every face of its box, and the machines whose steps crawl."""

import itertools

import numpy as np
import pytest

import svmcut
from svmcut.qp import box
from svmcut.solvers import smo


def value(Q, r, x):
    return r @ x - 0.5 * x @ Q @ x


def by_faces(Q, r, top, s):
    """The greatest value over all faces, each by least squares; of the points that are feasible."""
    n, best = len(r), 0.0
    for kinds in itertools.product((0, 1, 2), repeat=n):
        kinds = np.array(kinds)
        x, at = np.where(kinds == 1, top, 0.0), np.flatnonzero(kinds == 2)
        if len(at):
            A, b = Q[np.ix_(at, at)], (r - Q @ x)[at]
            if s is not None:
                A = np.block([[A, s[at, None]], [s[at], np.zeros((1, 1))]])
                b = np.append(b, -s @ x)
            x[at] = np.linalg.lstsq(A, b, rcond=1e-13)[0][: len(at)]
        inside = (x >= 0).all() and (x <= top).all()
        if inside and (s is None or abs(s @ x) <= 1e-12 * x.sum()):
            best = max(best, value(Q, r, x))
    return best


def values(kind, X, rng):
    if kind == "linear":
        return X @ X.T
    if kind == "polynomial":
        return (X @ X.T / np.square(X).max() + 1) ** 2
    return np.exp(-(10 ** rng.uniform(-6, 0)) * np.square(X[:, None] - X).sum(-1))


def problem(kind, free_bias, n, rng):
    X = rng.normal(size=(n, 3)) * 10 ** rng.uniform(-3, 3, 3)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    top = 10 ** rng.uniform(-4, 6.6) * rng.uniform(0.5, 2, n)
    return values(kind, X, rng) * y * y[:, None], np.ones(n), top, y if free_bias else None


def optima(kind, free_bias, n, seed):
    """Three problems, what is found for each, and the scale of its rounding."""
    rng = np.random.default_rng(seed)
    for _ in range(3):
        Q, r, top, s = problem(kind, free_bias, n, rng)
        x = box.maximise_in_box(Q, r, top, s)
        yield Q, r, top, s, x, 1e-14 * np.abs(Q).max() * x.max()


@pytest.mark.parametrize("free_bias", [False, True])
@pytest.mark.parametrize("kind", ["linear", "polynomial", "rbf"])
def test_no_face_is_better(kind, free_bias):
    for Q, r, top, s, x, rounding in optima(kind, free_bias, 5, seed=3):
        assert (x >= 0).all() and (x <= top).all()
        assert s is None or abs(s @ x) <= 1e-14 * x.sum()
        assert value(Q, r, x) >= by_faces(Q, r, top, s) * (1 - 1e-7) - rounding * x.sum()


@pytest.mark.parametrize("free_bias", [False, True])
@pytest.mark.parametrize("kind", ["linear", "polynomial", "rbf"])
def test_the_primal_proves_the_optimum_but_for_rounding(kind, free_bias):
    for Q, r, top, s, x, rounding in optima(kind, free_bias, 40, seed=4):
        slope = r - Q @ x
        levels = [0.0] if s is None else slope * s
        losses = min(
            top @ np.maximum(0, slope - (0 if s is None else level * s)) for level in levels
        )
        primal = 0.5 * x @ Q @ x + losses
        assert primal - value(Q, r, x) <= 1e-6 * primal + rounding * top.sum()


def sums_by_faces(Q, r, top, A, m):
    """As by_faces, of several sums."""
    n, best = len(r), -np.inf
    for kinds in itertools.product((0, 1, 2), repeat=n):
        kinds = np.array(kinds)
        x, at = np.where(kinds == 1, top, 0.0), np.flatnonzero(kinds == 2)
        if len(at):
            rows = np.abs(Q).max() * A[:, at]
            H = np.block([[Q[np.ix_(at, at)], rows.T], [rows, np.zeros((len(m), len(m)))]])
            b = np.append((r - Q @ x)[at], np.abs(Q).max() * (m - A @ x))
            x[at] = np.linalg.lstsq(H, b, rcond=1e-13)[0][: len(at)]
        inside = (x >= 0).all() and (x <= top).all()
        if inside and (np.abs(A @ x - m) <= 1e-12 * m.max()).all():
            best = max(best, value(Q, r, x))
    return best


@pytest.mark.every(3)
@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("kind", ["linear", "polynomial", "rbf"])
def test_no_face_of_several_sums_is_better(kind, parts, share):
    rng = np.random.default_rng(6)
    for _ in range(2):
        Q, _, top, s = problem(kind, True, 5, rng)
        A = np.array([np.ones(5)] if parts == 1 else [s > 0, s < 0], float)
        m, r = share * A @ top, rng.normal(size=5) * (rng.random() < 0.5)
        x = box.maximise_in_box(Q, r, top, A, m)
        assert (x >= 0).all() and (x <= top).all()
        assert (np.abs(A @ x - m) <= 1e-14 * m).all()
        rounding = 1e-14 * np.abs(Q).max() * x.max() * x.sum()
        best = sums_by_faces(Q, r, top, A, m)
        assert value(Q, r, x) >= best - 1e-7 * abs(best) - rounding


def slow_nu(seed, n, nu):
    """Numbers of columns far apart, and the nu machine's P of a model from its definition."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, 5)) * 10 ** rng.uniform(-3, 3, 5)).astype(np.float32)
    y = X.astype(float) @ rng.normal(size=5) * 10 ** rng.uniform(-2, 0) + rng.normal(size=n)

    def primal(model, C):
        w = model.alpha @ model.support.to_dense().astype(np.float64)
        r = y - (X.astype(np.float64) @ w - model.b)
        tubes = np.append(np.abs(r), 0.0)
        losses = nu * n * tubes + np.maximum(0, np.abs(r)[:, None] - tubes).sum(0)
        return 0.5 * w @ w + C * losses.min()

    return X, y, primal


@pytest.mark.parametrize("nu", [0.3, 1.0])
@pytest.mark.parametrize("n", [20, 60])
def test_nu_machines_of_few_rows_take_no_more_steps_than_a_crawl(n, nu, monkeypatch):
    monkeypatch.setattr(smo, "TRUSTED", 20_000)
    monkeypatch.setattr(smo, "TRUSTED_PER_POINT", 0)
    monkeypatch.setattr(smo, "CRAWL", 20_000)
    for seed in range(2):
        X, y, primal = slow_nu(seed, n, nu)
        C = 10.0 ** np.random.default_rng(seed).uniform(0, 4)
        how = {"task": "regression", "nu": nu, "example_cost": C}
        outcome = svmcut.train((X, y), gap=1e-4, **how)
        assert outcome.progress.iteration <= 60_000
        found = primal(outcome.model, C)
        assert outcome.converged and found <= outcome.dual * (1 + 2e-4)
        assert outcome.dual <= found * (1 + 1e-9)


def crawling(task):
    rng = np.random.default_rng(11)
    n, d = 40, 6
    X = (rng.normal(size=(n, d)) * np.logspace(-2, 3, d)).astype(np.float32)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0) if task is None else rng.normal(size=n)
    return X, y


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("task", [None, "regression"])
@pytest.mark.parametrize("free_bias", [False, True])
def test_steps_that_crawl_end_at_the_optimum(task, free_bias, by_columns, monkeypatch):
    X, y = crawling(task)
    how = {"kernel": "linear", "solver": "smo", "free_bias": free_bias, "example_cost": 30.0}
    how |= {"gap": 1e-6, "time_limit": 20} | ({} if task is None else {"task": task, "tube": 0.1})
    monkeypatch.setattr(smo, "TRUSTED", 50_000)
    monkeypatch.setattr(smo, "CRAWL", 50_000)
    monkeypatch.setattr(smo, "MAX_WHOLE_ROWS", len(y) - 1)
    monkeypatch.setattr(smo, "MAX_COLUMN_WORK", 0)
    before = svmcut.train((X, y), max_iterations=150_000, **how)
    assert not before.converged and before.gap > 1e-3 * before.primal
    if by_columns:
        monkeypatch.setattr(smo, "MAX_COLUMN_WORK", X.size * X.shape[1])
    else:
        monkeypatch.setattr(smo, "MAX_WHOLE_ROWS", len(y))
    after = svmcut.train((X, y), **how)
    assert after.converged and after.progress.iteration < 150_000
    model, A = after.model, X.astype(np.float64)
    w = model.alpha @ model.support.to_dense().astype(np.float64)
    r = y - (A @ w - model.b)
    losses = np.maximum(0, y * r if task is None else np.abs(r) - 0.1)
    primal = 0.5 * w @ w + 30 * losses.sum()
    assert after.dual <= primal * (1 + 1e-9) and primal <= after.dual * (1 + 3e-6)


def test_one_class_alone_is_left_to_the_steps():
    X, _ = crawling(None)
    K = smo.KernelProblem(svmcut.data.examples.Csr.from_dense(X), np.ones(len(X)), None, 1.0)
    assert K.best(X @ X.T.astype(np.float64), free_bias=True) is None


@pytest.mark.parametrize("kind", [None, "one sum", "two sums"])
def test_a_narrow_product_has_the_optimum_of_its_matrix(kind):
    rng = np.random.default_rng(12)
    for _ in range(4):
        n, signs = 30, np.where(np.arange(30) % 2, 1.0, -1.0)
        B = rng.normal(size=(n, 3)) * 10 ** rng.uniform(-2, 2, 3)
        top = 10 ** rng.uniform(-3, 3) * rng.uniform(0.5, 2, n)
        A, m = None, None
        if kind == "one sum":
            A = signs
        elif kind == "two sums":
            A = np.array([signs > 0, signs < 0], float)
            m = 0.3 * A @ top
        Q, r = signs * (B @ B.T) * signs[:, None], np.ones(n)
        ways = [
            box.maximise_in_box(each, r, top, A, m) for each in (Q, box.signed_values(B, signs))
        ]
        dense, narrow = (value(Q, r, x) for x in ways)
        assert narrow == pytest.approx(dense, rel=1e-7)
        assert (ways[1] >= 0).all() and (ways[1] <= top).all()


def test_the_level_of_many_points_is_the_best_of_all():
    rng = np.random.default_rng(13)
    for _ in range(50):
        n = rng.integers(2, 12)
        s, top, own = rng.choice([-1.0, 1.0], n), rng.uniform(0.1, 2, n), rng.normal(size=n)
        x, levels = top * rng.random(n), own * s
        slopes = own - np.append(levels, box._best_level(levels, s, top, x))[:, None] * s
        gaps = np.maximum(slopes, 0) @ top - slopes @ x
        assert gaps[-1] <= gaps.min() + 1e-12
