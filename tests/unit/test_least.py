# SPDX-License-Identifier: BSD-3-Clause
"""What a stopped run delivers: its primal is not above that of the best constant, nor of the best
multiple of its own w."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import svmcut
from svmcut.training.fallback import best_multiple

LOSSES = {
    "error-rate": lambda y, s: np.maximum(0, 1 - y * s),
    "squared-hinge": lambda y, s: np.maximum(0, 1 - y * s) ** 2,
    "logistic": lambda y, s: np.logaddexp(0, -y * s),
    "epsilon-insensitive": lambda y, s: np.maximum(0, np.abs(y - s) - 0.1),
    "squared-epsilon-insensitive": lambda y, s: np.maximum(0, np.abs(y - s) - 0.1) ** 2,
}


def data(seed, targets=False, far=False):
    """Rows whose columns have scales of their own, or stand far from 0; a third are negative."""
    rng = np.random.default_rng(seed)
    n, d = 90, 4
    Z = rng.normal(size=(n, d))
    score = Z[:, 0] + 0.5 * rng.normal(size=n)
    X = 1e7 + 1e5 * Z if far else Z * 10 ** rng.uniform(0, 5, d)
    y = 3 + score if targets else np.where(score > np.quantile(score, 0.33), 1.0, -1.0)
    return X.astype(np.float32), y


def least_constant(loss, y, C, kind):
    """The least primal of w = 0: without bias, with a free one, or one that costs b^2 / 2."""
    if kind == "none":
        return C * loss(y, 0 * y).sum()

    def value(b):
        return (0.5 * b * b if kind == "feature" else 0.0) + C * loss(y, 0 * y + b).sum()

    ends = max(2.0, np.abs(y).max())
    found = minimize_scalar(value, bounds=(-ends, ends), method="bounded", options={"xatol": 1e-12})
    return min(found.fun, value(0.0), value(1.0), value(-1.0))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["none", "free", "feature"])
@pytest.mark.parametrize("looks", [2])
def test_weights_after_few_steps_are_no_worse_than_constants_or_multiples(loss, kind, looks):
    regression = "insensitive" in loss
    X, y = data(looks, regression)
    how = {"task": "regression"} if regression else {}
    how |= {"free_bias": True} if kind == "free" else {"bias": 1.0 if kind == "feature" else 0.0}
    solvers = ["cutting-plane", "newton"] + (["dual-cd"] if kind != "free" else [])
    for solver in solvers:
        C = 1e-3
        outcome = svmcut.train(
            (X, y), loss=loss, example_cost=C, solver=solver, max_iterations=looks, gap=1e-9, **how
        )
        w, b = outcome.model.w, 0.0 - outcome.model.b
        s = X.astype(np.float64) @ w

        def primal(t, w=w, s=s, b=b, C=C):
            bias = t * b if kind != "free" else None
            if kind == "free":
                ends = np.abs(y).max() + np.abs(t * s).max() + 2
                found = minimize_scalar(
                    lambda c: LOSSES[loss](y, t * s + c).sum(),
                    bounds=(-ends, ends),
                    method="bounded",
                    options={"xatol": 1e-12 * ends},
                )
                return 0.5 * t * t * w @ w + C * found.fun
            square = w @ w + (b * b if kind == "feature" else 0.0)
            return 0.5 * t * t * square + C * LOSSES[loss](y, t * s + bias).sum()

        own = 0.5 * w @ w + (0.5 * b * b if kind == "feature" else 0.0)
        own += C * LOSSES[loss](y, s + b).sum()
        assert own == pytest.approx(outcome.primal, rel=1e-6)
        assert own <= least_constant(LOSSES[loss], y, C, kind) * (1 + 1e-5)
        for t in (0.0, 0.1, 0.5, 0.9, 0.99, 1.01, 1.1, 2.0, 10.0):
            assert own <= primal(t) * (1 + 1e-5)


KERNELS = {
    "rbf": {"kernel": "rbf", "gamma": 1e-8},
    "polynomial": {"kernel": "polynomial", "degree": 3, "scale_kernel": 0.03, "coef0": 0.0},
    "linear": {"kernel": "linear"},
}


@pytest.mark.parametrize("free_bias", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("targets", [False, True])
def test_stopped_machines_of_kernels_are_no_worse_than_the_best_constant(
    kernel, free_bias, targets
):
    for seed, far in ((1, False), (2, True)):
        X, y = data(seed, targets, far)
        how = KERNELS[kernel] | {"solver": "smo", "free_bias": free_bias, "gap": 1e-9}
        loss = LOSSES["epsilon-insensitive" if targets else "error-rate"]
        how |= {"task": "regression"} if targets else {}
        for steps in (1, 30):
            C = 100.0
            outcome = svmcut.train((X, y), example_cost=C, max_iterations=steps, **how)
            most = least_constant(loss, y, C, "free" if free_bias else "none")
            assert outcome.primal <= most * (1 + 1e-5)
            if kernel == "rbf":  # whose scores are as exact as they were in training
                s = outcome.decision_function(X)
                assert C * loss(y, s).sum() <= outcome.primal * (1 + 1e-6)


@pytest.mark.parametrize("far", [False, True])
def test_nu_machines_of_numbers_that_are_stopped_are_no_worse_than_the_best_constant(far):
    X, y = data(5, True, far)
    C, nu = 50.0, 0.4
    how = {"task": "regression", "kernel": "polynomial", "degree": 2, "coef0": 1.0}
    for steps in (1, 100):
        outcome = svmcut.train((X, y), nu=nu, example_cost=C, max_iterations=steps, **how)
        grid = np.linspace(y.min(), y.max(), 100)
        most = min(
            C * (nu * len(y) * tube + np.maximum(0, np.abs(y - b) - tube).sum())
            for b in grid
            for tube in (0.0, *np.quantile(np.abs(y - b), [0.2, 0.4, 0.6, 0.61, 0.8]))
        )
        assert outcome.primal <= most * (1 + 1e-5)


def test_the_best_multiple_is_found_over_many_powers():
    rng = np.random.default_rng(4)
    for _ in range(60):
        place, bend, kink = 10 ** rng.uniform(-25, 3), 10 ** rng.uniform(-8, 8), rng.random() < 0.5

        def value(t, place=place, bend=bend, kink=kink):
            off = (t - place) / place
            return 1.0 + bend * (abs(off) if kink else off * off)

        t, found = best_multiple(value)
        assert t == pytest.approx(place, rel=2e-4) and found <= 1 + bend * 1e-6
    assert best_multiple(lambda t: 1 + t) == (0.0, 1.0)
    t, found = best_multiple(lambda t: math.inf if t > 1e-3 else 1 - t)
    assert t == pytest.approx(1e-3, rel=1e-6) and found == pytest.approx(0.999)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_primal_of_a_file_is_that_of_the_digits_of_its_bias(kernel, tmp_path):
    rng = np.random.default_rng(6)
    X, centre = rng.normal(size=(20, 2)), 0.0123456789012
    y = centre + np.append(rng.uniform(-0.1, 0.1, 18), [-0.1, 0.1])  # which one bias alone fits
    how = KERNELS[kernel] | {"solver": "smo", "free_bias": True, "gap": 1e-2, "max_iterations": 1}
    outcome = svmcut.train((X, y), task="regression", example_cost=811.3, **how)
    outcome.save(tmp_path / "model")
    read = svmcut.load(tmp_path / "model")
    for machine, told in ((outcome, outcome.primal), (read, outcome.primal_of_file)):
        losses = 811.3 * np.maximum(0, np.abs(y - machine.decision_function(X)) - 0.1).sum()
        assert told == pytest.approx(losses, rel=1e-5)
    assert losses > 1e-9
