# SPDX-License-Identifier: BSD-3-Clause
"""Kernel values so large that double precision cannot tell v = y - K beta: bounds stay true, and
training ends."""

import numpy as np
import pytest

import svmcut

ONES = np.float32([-4.27847731e9, -3.24665498e9, -4.27847731e9, -4.27847731e9, -7.86412339e9])


@pytest.mark.parametrize("n", [5, 12])
def test_the_dual_loses_what_rounding_may_have_made_of_it(n):
    """On one feature at 4e9 K is near 1e18, and beta'K beta of C = 825 is off by 1e9."""
    x = np.resize(ONES, n)[:, None]
    y = np.where(np.arange(n) % 5 < 2, -1.0, 1.0)
    words = {"kernel": "polynomial", "degree": 1, "coef0": 1.0, "scale_kernel": 0.0461835}
    how = {"solver": "smo", "free_bias": False, "gap": 1e-6, "example_cost": 824.9}
    outcome = svmcut.train((x, y), **words, **how)
    assert outcome.stopped_by == "rounding" and not outcome.converged
    assert 0 <= outcome.dual <= 824.9 * n  # the primal of w = 0


def test_training_ends_where_rounding_is_all_that_is_left_of_the_violation():
    """The cube of x.z + 1e6 is near 1e18; rows without a feature belong to both classes."""
    rng = np.random.default_rng(5)
    X = np.where(np.arange(11)[:, None] < 6, 0.0, 100 * rng.normal(size=(11, 5)))
    y = np.float64([-1, 1, 1, 1, -1, 1, -1, 1, 1, -1, -1])
    v = np.float64([1, 0.25, 0.25, 0.25, 1, 0.25, 2, 2, 0.25, 1, 0.25])
    words = {"kernel": "polynomial", "degree": 3, "coef0": 1234567.9, "scale_kernel": 1.215e-6}
    how = {"solver": "smo", "free_bias": True, "gap": 1e-4, "example_cost": 0.1024}
    outcome = svmcut.train((X, y), weights=v, time_limit=20, **words, **how)
    assert outcome.stopped_by == "rounding"
    assert outcome.progress.iteration < 2_000_000


@pytest.mark.parametrize("free_bias", [False, True])
def test_a_run_that_ends_early_is_the_best_multiple_of_its_machine(free_bias):
    """Squares of products of 30s: five steps of C = 1000 have left most margins far below 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)).astype(np.float32) * 30
    y = np.where(rng.random(40) < 0.5, 1, -1)
    words = {"kernel": "polynomial", "degree": 2, "solver": "smo", "example_cost": 1e3}
    how = {"free_bias": free_bias, "max_iterations": 5, "gap": 1e-3}
    outcome = svmcut.train((X, y), **words, **how)
    model = outcome.model
    assert outcome.stopped_by == "limit" and 0 < outcome.primal < 4e4
    Z, alpha = model.support.to_dense().astype(float), model.alpha
    f, squared = (X @ Z.T + 1) ** 2 @ alpha, alpha @ (Z @ Z.T + 1) ** 2 @ alpha

    def primal(t):
        return 0.5 * t * t * squared + 1e3 * np.maximum(0, 1 - t * y * (f - model.b)).sum()

    assert outcome.primal == pytest.approx(primal(1.0), rel=1e-6)
    assert primal(1.0) <= min(primal(0.99), primal(1.01)) * (1 + 1e-9)
