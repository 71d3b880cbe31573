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


@pytest.mark.parametrize("seed", range(6))
def test_bounds_of_cuts_lose_it_too(seed):
    """(x.z + 1e6)^2 of squared losses: K of all rows is 1.5e12 and a little."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 2)).astype(np.float32), np.round(2 * rng.normal(size=40), 6)
    words = {"kernel": "polynomial", "degree": 2, "coef0": 1234567.89, "scale_kernel": 0.279}
    how = {"task": "regression", "loss": "squared-epsilon-insensitive", "cost": 0.3453}
    outcome = svmcut.train((X, y), solver="cutting-plane", epsilon=1e-3, **how, **words)
    assert outcome.stopped_by != "mistake" and outcome.dual <= outcome.primal * (1 + 1e-9)


def test_bounds_of_sampled_cuts_lose_it_too():
    a = [40167.5547, 48380.9766, 45237.3945, 46926.6914, 46446.5898, 43918.1953]
    a += [44800.0352, 41626.168, 46334.7422, 43008.6641, 40979.8164, 45655.6875]
    b = [41109.9336, 44370.6641, 44868.0938, 47821.4805, 44559.9102, 44873.4141]
    b += [39300.7852, 42559.3164, 44317.8125, 37121.9727, 45022.0977, 41685.6836]
    X = np.float32([a, b]).T * np.float32([1, -1])
    y = [-1, 9, -1, 1, -1, -1, -1, 9, 4, -1, 9, 4]
    how = {"task": "multiclass", "multiclass": "one-vs-one", "kernel": "linear", "seed": 93}
    how |= {"solver": "subspace", "basis": 5, "example_cost": 0.4677, "epsilon": 1e-5}
    outcome = svmcut.train((X, y), **how)
    assert outcome.stopped_by != "mistake"
    for machine in outcome.details["machines"]:
        assert machine["dual"] <= machine["primal"] * (1 + 1e-9)


def test_coefficients_of_equal_rows_are_summed_before_the_primal_is_told():
    """Of rows of several classes the file has the sums, which are 1e-16 of what is summed."""
    two = np.float32([
        [-45192.824, 150292.25, -109878.5, -48323.469, -19262.166, 54501.004, 8329.8418, 50740.539],
        [56799.82, -9096.3955, 79400.117, 78774.867, 121769.32, -126665.32, 81875.227, -6711.0439],
    ])  # fmt: skip
    X, y = two[[0, 0, 0, 0, 0, 1, 0, 1]], np.array([14, 14, 7, 14, 14, 2, 14, 2])
    how = {"task": "multiclass", "multiclass": "one-vs-rest", "kernel": "linear", "gap": 1e-2}
    how |= {"solver": "smo", "example_cost": 1.231e5, "free_bias": False, "seed": 33}
    outcome = svmcut.train((X, y), **how)
    model, X = outcome.model, X.astype(np.longdouble)
    Z, primal = model.support.to_dense().astype(np.longdouble), 0.0
    for j, name in enumerate(model.names):
        own = slice(model.starts[j], model.starts[j + 1])
        w = model.alpha[own].astype(np.longdouble) @ Z[model.places[own]]
        hinge = np.maximum(0, 1 - np.where(y == name, 1, -1) * (X @ w - model.b[j]))
        primal += 0.5 * (w @ w) + 1.231e5 * hinge.sum()
    assert outcome.stopped_by == "rounding"
    assert outcome.primal_of_file == pytest.approx(float(primal), rel=1e-6)
