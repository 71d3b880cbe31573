# SPDX-License-Identifier: BSD-3-Clause
"""Classes of few rows solved as a whole: its bound meets its value, whatever the columns' scales,
and training ends within a second where steps of one row crawl."""

import time

import numpy as np
import pytest

import svmcut
from svmcut.solvers.few_classes import is_few, solve_classes


def problem(rng, n, d, K, scale):
    X = rng.normal(size=(n, d))
    X[:, : d // 2] = X[:, : d // 2] * scale + 3 * scale
    y = rng.integers(0, K, n).astype(np.int32)
    return np.column_stack([X.astype(np.float32), np.ones(n)]).astype(np.float64), y


def values(X, y, boxes, alpha, W):
    """Primal of W, dual of alpha, from the definition."""
    n = np.arange(len(y))
    scores = X @ W
    margins = scores + (np.arange(W.shape[1]) != y[:, None]) - scores[n, y][:, None]
    primal = 0.5 * (W**2).sum() + boxes @ margins.max(axis=1)
    return primal, alpha[n, y].sum() - 0.5 * ((X.T @ alpha) ** 2).sum()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("C", [1e-3, 1.0, 300.0])
@pytest.mark.parametrize("n, d, K", [(40, 3, 2), (60, 8, 3), (60, 20, 4)])
def test_the_bound_meets_the_value(rng, n, d, K, C, scale):
    X, y = problem(rng, n, d, K, scale)
    boxes = C * rng.uniform(0, 2, n) * (rng.random(n) < 0.9)
    assert is_few(n, d + 1, K)
    alpha, W = solve_classes(X, y, boxes, K)
    right = np.arange(K) == y[:, None]
    assert np.all(alpha <= boxes[:, None] * right + 1e-12 * C) and not alpha[boxes == 0].any()
    assert np.abs(alpha.sum(axis=1)).max() <= 1e-12 * C
    primal, dual = values(X, y, boxes, alpha, W)
    assert abs(primal - dual) <= 1e-5 * primal + 1e-12


def test_more_columns_than_rows(rng):
    X, y = problem(rng, 30, 50, 4, 1.0)
    boxes = np.full(30, 0.1)
    primal, dual = values(X, y, boxes, *solve_classes(X, y, boxes, 4))
    assert abs(primal - dual) <= 1e-6 * primal


def test_no_rows_with_a_cost_have_no_weights():
    alpha, W = solve_classes(np.ones((3, 2)), np.zeros(3, np.int32), np.zeros(3), 2)
    assert alpha.shape == (3, 2) and W.shape == (2, 2) and not alpha.any() and not W.any()


@pytest.mark.parametrize("C", [0.4, 2000.0])
def test_training_ends_soon_where_columns_are_far_from_0(rng, C):
    X, y = problem(rng, 70, 40, 3, 1e6)
    began = time.process_time()
    found = svmcut.train(
        (X[:, :-1], y + 1.0), task="multiclass", multiclass="crammer-singer", example_cost=C
    )
    assert time.process_time() - began < 2
    assert found.converged or found.stopped_by == "file"


def test_a_kernel_of_equal_rows_ends_soon():
    X = np.ones((60, 1), np.float32)
    y = np.repeat([1.0, 14.0], [16, 44])
    cost = {"example_cost": 1e5, "gap": 1e-5}
    began = time.process_time()
    kernel = {"kernel": "rbf", "gamma": 0.013}
    found = svmcut.train((X, y), task="multiclass", multiclass="crammer-singer", **cost, **kernel)
    assert time.process_time() - began < 2
    assert found.converged and found.primal == pytest.approx(2e5 * 16, rel=1e-6)
