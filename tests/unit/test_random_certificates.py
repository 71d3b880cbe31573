# SPDX-License-Identifier: BSD-3-Clause
"""Random problems of every loss and kernel, any C and scale: bounds hold the scores of an optimum
that L-BFGS-B finds in the dual, its own error added, and no decided label is another."""

import numpy as np
import pytest
from reference.optima import gram, optimum

import svmcut

LOSSES = ("error-rate", "squared-hinge", "logistic", "epsilon-insensitive")
KERNELS = ("linear", "rbf", "polynomial")


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


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(36))
def test_bounds_hold_the_optimum(seed):
    check(seed)


@pytest.mark.slow
def test_bounds_of_a_thousand_problems_hold_their_optima():
    assert sum(check(seed) for seed in range(1000)) > 400
