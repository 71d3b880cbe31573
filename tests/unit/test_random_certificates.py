# SPDX-License-Identifier: BSD-3-Clause
"""Random problems of every loss and kernel, any C and scale: bounds hold the scores of an optimum
that L-BFGS-B finds in the dual, its own error added, and no decided label is another."""

import numpy as np
import pytest
from scipy.optimize import minimize

import svmcut

LOSSES = ("error-rate", "squared-hinge", "logistic", "epsilon-insensitive")
KERNELS = ("linear", "rbf", "polynomial")


def gram(kernel, A, B, bias):
    """Kernel values of rows of A and B in float64; gamma, s and r as below."""
    products = A @ B.T
    if kernel == "linear":
        return products + bias * bias
    if kernel == "polynomial":
        return (0.5 * products + 1.0) ** 2
    squares = (A * A).sum(1)[:, None] + (B * B).sum(1)[None] - 2 * products
    return np.exp(-0.3 * np.maximum(squares, 0.0))


def losses(loss, s, y):
    if loss == "epsilon-insensitive":
        return np.maximum(0, np.abs(y - s) - 0.1)
    if loss == "logistic":
        return np.logaddexp(0, -y * s)
    return np.maximum(0, 1 - y * s) ** (2 if loss == "squared-hinge" else 1)


def optimum(loss, K, y, C):
    """Coefficients of rows, and a radius around their function that holds the optimum."""
    n = len(y)
    if loss == "logistic":  # in the primal, over the square root of K
        values, vectors = np.linalg.eigh(K)
        kept = values > 1e-12 * values.max()
        root = vectors[:, kept] * np.sqrt(values[kept])

        def primal(w):
            s = root @ w
            slope = -C * y / (1 + np.exp(np.clip(y * s, -700, 700)))
            return 0.5 * w @ w + C * losses(loss, s, y).sum(), w + root.T @ slope

        found = minimize(primal, np.zeros(root.shape[1]), jac=True, options={"gtol": 1e-12})
        # what the part of K that was left out may add is below 1e-6 of its scale
        left = 1e-6 * np.sqrt(values.max()) * C * n * 1e-6
        beta = vectors[:, kept] @ (found.x / np.sqrt(values[kept]))
        return beta, float(np.linalg.norm(primal(found.x)[1])) + left
    signed = loss == "epsilon-insensitive"
    curve = 0.5 / C if loss == "squared-hinge" else 0.0

    def expanded(a):
        return a[:n] - a[n:] if signed else y * a

    def dual(a):
        beta = expanded(a)
        f = K @ beta
        if signed:
            value = 0.5 * beta @ f - y @ beta + 0.1 * a.sum()
            return value, np.concatenate([f - y, y - f]) + 0.1
        value = 0.5 * beta @ f - a.sum() + 0.5 * curve * (a @ a)
        return value, y * f - 1 + curve * a

    size = 2 * n if signed else n
    box = [(0, None if curve else C)] * size
    how = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-16, "gtol": 1e-13, "maxcor": 30}
    a = minimize(dual, np.zeros(size), jac=True, bounds=box, method="L-BFGS-B", options=how).x
    beta = expanded(a)
    value = 0.5 * beta @ K @ beta + C * losses(loss, K @ beta, y).sum()
    # as w is v here, the optimum is within sqrt(gap)
    return beta, float(np.sqrt(max(0.0, value + dual(a)[0]) + 1e-13 * value))


def check(seed):
    """Whether anything was decided on a random problem."""
    rng = np.random.default_rng(seed)
    loss, kernel = LOSSES[seed % 4], KERNELS[seed // 4 % 3]
    kernel = "linear" if loss in ("squared-hinge", "logistic") else kernel
    n, d = int(rng.integers(8, 60)), int(rng.integers(1, 8))
    scale = 10.0 ** rng.uniform(-2, 2, d) if kernel == "linear" else np.ones(d)
    X = (rng.normal(size=(n + 40, d)) * scale).astype(np.float32)
    y = X @ (rng.normal(size=d) / scale) + rng.normal(size=n + 40)
    regression = loss == "epsilon-insensitive"
    y = y if regression else np.where(y > 0, 1.0, -1.0)
    y[: min(2, n)] = y[: min(2, n)] if regression else [1.0, -1.0]
    C, bias = 10.0 ** rng.uniform(-4, 6), float(rng.choice([0.0, 1.0, 3.0]))
    given = {"loss": loss, "example_cost": C, "gap": 10.0 ** rng.uniform(-5, -1)}
    given |= {"bias": bias} if kernel == "linear" else {"kernel": kernel, "free_bias": False}
    given |= {"gamma": 0.3} if kernel == "rbf" else {}
    given |= {"degree": 2, "scale_kernel": 0.5, "coef0": 1.0} if kernel == "polynomial" else {}
    task = "regression" if regression else "classification"
    outcome = svmcut.train((X[:n], y[:n]), task=task, threads=1, time_limit=5, **given)
    if outcome.model.certificate is None:  # of a kernel that stopped before its gap
        assert kernel != "linear" and not outcome.converged
        return False
    wide = X.astype(float)
    bias = bias if kernel == "linear" else 0.0
    beta, own = optimum(loss, gram(kernel, wide[:n], wide[:n], bias), y[:n], C)
    best = gram(kernel, wide, wide[:n], bias) @ beta
    length = np.sqrt([gram(kernel, row[None], row[None], bias)[0, 0] for row in wide])
    error = own * length * (1 + 1e-9) + 1e-9 * np.abs(best) + 1e-9
    low, high = outcome.bounds(X).T
    assert (low <= best + error).all() and (best - error <= high).all(), (seed, given)
    if regression:
        return True
    sure = outcome.decided(X) & (np.abs(best) > error)
    assert ((outcome.decision_function(X) > 0) == (best > 0))[sure].all(), (seed, given)
    return bool(sure.any())


@pytest.mark.parametrize("seed", range(36))
def test_bounds_hold_the_optimum(seed):
    check(seed)


@pytest.mark.slow
def test_bounds_of_a_thousand_problems_hold_their_optima():
    assert sum(check(seed) for seed in range(1000)) > 400
