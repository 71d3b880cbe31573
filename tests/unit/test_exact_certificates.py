# SPDX-License-Identifier: BSD-3-Clause
"""Bounds of certificates against optima in rational arithmetic, down to gaps that float64 cannot
tell from 0: every score of the exact optimum lies within them, and no interval is a point."""

from fractions import Fraction

import numpy as np
import pytest
from reference.exact import ExactMachine
from reference.optima import gram, optimum

import svmcut

LOSSES = ("error-rate", "squared-hinge", "epsilon-insensitive", "error-rate")
POLYNOMIAL = {"name": "polynomial", "scale": 0.5, "offset": 1.0, "degree": 2}
TUBE = 0.125


def drawn(seed):
    """Rows, labels of the first, how they are trained, and the kernel of the exact machine."""
    rng = np.random.default_rng(seed)
    loss = LOSSES[seed % 4]
    curved = seed % 3 == 2 and loss != "squared-hinge"
    n, d = int(rng.integers(2, 9)), int(rng.integers(1, 4))
    scale = np.ones(d) if curved else 10.0 ** rng.uniform(-3, 3, d if rng.random() < 0.5 else 1)
    middle = scale * rng.choice([0, 0, 0, 30])
    X = (rng.normal(size=(n + 12, d)) * scale + middle).astype(np.float32)
    y = ((X - middle)[:n] @ (rng.normal(size=d) / scale)) + 0.5 * rng.normal(size=n)
    given = {"loss": loss, "example_cost": float(2.0 ** rng.integers(-20, 14)), "threads": 1}
    given |= {"gap": 10.0 ** rng.uniform(-14, -6), "time_limit": 1, "task": "regression"}
    if loss == "epsilon-insensitive":
        given["tube"] = TUBE
    else:
        given["task"], y = "classification", np.where(y > 0, 1.0, -1.0)
        y[:2] = [1, -1]
    if curved:
        given |= {"kernel": "polynomial", "degree": 2, "scale_kernel": 0.5, "coef0": 1.0}
        return X, y, given | {"free_bias": False}, POLYNOMIAL
    given["bias"] = float(rng.choice([0.0, 1.0]))
    return X, y, given, {"name": "linear", "bias": given["bias"]}


def optimum_of(X, y, given, kernel):
    """The exact machine."""
    wide, loss, C = X.astype(float), given.get("loss", LOSSES[0]), given["example_cost"]
    K = gram(kernel["name"], wide, wide, kernel.get("bias", 0.0))
    return ExactMachine(X, y, C, optimum(loss, K, y, C)[0], kernel, loss, TUBE)


def held(model, exact, X):
    """The largest distance of an exact score from the middle of its bounds, as a part of half their
    width."""
    worst = Fraction(0)
    for x, (low, high) in zip(X, model.bounds(X).tolist(), strict=True):
        score = exact.score(x)
        assert Fraction(low) <= score <= Fraction(high), (float(score), low, high)
        if low < high:
            middle, half = (Fraction(low) + Fraction(high)) / 2, Fraction(high) - Fraction(low)
            worst = max(worst, 2 * abs(score - middle) / half)
        else:  # nothing is added up
            assert low == 0 and (exact.kernel.get("bias") == 0 or not any(exact.beta))
    return worst


def check(seed, folder):
    """Whether a problem was trained, certified, and solved exactly."""
    X, y, given, kernel = drawn(seed)
    try:
        found = svmcut.train((X[: len(y)], y), **given)
    except svmcut.base.errors.TrainingError:
        return False
    exact = optimum_of(X[: len(y)], y, given, kernel)
    if found.model.certificate is None or exact.beta is None:
        return False
    found.save(folder / "model")
    for model in (found, svmcut.load(folder / "model")):
        assert held(model, exact, X) < 1
        if given["task"] == "classification":
            scores, sure = model.decision_function(X), model.decided(X)
            best = np.array([exact.score(x) > 0 for x in X])
            assert ((scores > 0) == best)[sure].all()
    return True


def test_bounds_hold_exact_optima(tmp_path):
    assert sum(check(seed, tmp_path) for seed in range(16)) > 12


@pytest.mark.slow
def test_bounds_hold_a_thousand_exact_optima(tmp_path):
    assert sum(check(seed, tmp_path) for seed in range(1000)) > 800


def test_a_large_primal_does_not_swallow_the_radius():
    """All rows at C: w is known exactly, and a row on which it is nearly 0 gets no proof."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = (0.1 * rng.normal(size=(100, 2))).astype(np.float32)
        y = np.where(rng.random(100) < 0.5, 1.0, -1.0)
        w = [sum(map(Fraction, column.tolist())) for column in (y[:, None] * X.astype(float)).T]
        assert all(
            a * Fraction(y) * w[0] + b * Fraction(y) * w[1] < 1 for (a, b), y in _pairs(X, y)
        )
        z = np.array([[float(w[1]), -float(w[0])]], np.float32)
        score = sum(a * Fraction(b) for a, b in zip(w, z[0].tolist(), strict=True))
        found = svmcut.train((X, y), bias=0.0, gap=1e-9, example_cost=1.0, threads=1)
        ((low, high),) = found.bounds(z).tolist()
        assert low < high and Fraction(low) <= score <= Fraction(high)
        assert not found.decided(z)[0] or (score > 0) == (found.decision_function(z)[0] > 0)


def _pairs(X, y):
    """Rows as fractions, and their labels."""
    return zip(([*map(Fraction, row)] for row in X.tolist()), y.tolist(), strict=True)


@pytest.mark.parametrize("kernel", ["linear", "polynomial"])
def test_bounds_of_updates_hold_exact_optima(kernel):
    """Rows that go and rows that come, from no gap and from one."""
    known, worst = 0, Fraction(0)
    for seed in range(6):
        X, y, given, own = drawn(12 * seed + (0 if kernel == "linear" else 8))
        X, y = X[:-6], np.append(y, np.where(np.arange(6) % 2, 1.0, -1.0))
        X, y, given = X[: len(y)], y[: len(X)], given | {"loss": "error-rate"}
        if given["task"] != "classification":
            continue
        first = svmcut.train((X[:-2], y[:-2]), **given | {"keep_multipliers": True})
        less = svmcut.forget(first, (X[:-2], y[:-2]), [0], threads=1)
        more = svmcut.fit_more(first, (X[:-2], y[:-2]), (X[-2:], y[-2:]), threads=1)
        for found, now in ((less, slice(1, -2)), (more, slice(None))):
            exact = optimum_of(X[now], y[now], given, own)
            if found.model.certificate is None or exact.beta is None:
                continue
            known, worst = known + 1, max(worst, held(found, exact, X))
    assert known > 4 and worst < 1


def test_radii_of_classes_hold_exact_optima():
    """One machine a class, each with a radius of its own."""
    rng, known = np.random.default_rng(3), 0
    for gap in (1e-6, 1e-10, 1e-14):
        X = (rng.normal(size=(9, 2)) * 10.0 ** rng.uniform(-2, 2)).astype(np.float32)
        y = np.arange(9) % 3 + 1.0
        given = {"example_cost": float(2.0 ** rng.integers(-12, 6)), "gap": gap, "threads": 1}
        how = {"task": "multiclass", "multiclass": "one-vs-rest", "time_limit": 3}
        found = svmcut.train((X, y), **given, **how)
        ends = found.bounds(X)
        assert len(found.model.certificate) == 6 and min(found.model.certificate[3:]) > 0
        for k in range(3):
            signs = np.where(y == k + 1, 1.0, -1.0)
            exact = optimum_of(X, signs, given, {"name": "linear", "bias": 1.0})
            known += exact.beta is not None
            for x, (low, high) in zip(X, ends[:, k].tolist(), strict=True):
                if exact.beta is None:
                    break
                assert low < high and Fraction(low) <= exact.score(x) <= Fraction(high)
    assert known > 5
