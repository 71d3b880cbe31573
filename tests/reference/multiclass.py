# SPDX-License-Identifier: BSD-3-Clause
"""Slow truths of Crammer and Singer's multiclass training, straight from the definitions; y from 0,
v weights."""

import itertools

import numpy as np


def risk(y, s, v=None):
    """sum_i v_i max_k ([k != y_i] + s_ik - s_iy) by a loop."""
    v = np.ones(len(y)) if v is None else v
    total = 0.0
    for i, right in enumerate(y):
        total += v[i] * max((k != right) + s[i, k] - s[i, right] for k in range(s.shape[1]))
    return total


def with_constant(X, bias):
    X = np.asarray(X, float)
    return np.hstack([X, np.full((len(X), 1), bias)]) if bias else X


def primal(X, y, W, C, v=None):
    """1/2 |W|^2 + C R(X W), W (d, K)."""
    return 0.5 * float((W * W).sum()) + C * risk(y, X @ W, v)


def dual(X, y, alpha):
    """sum_i alpha_iy - 1/2 |W(alpha)|^2, W = X' alpha."""
    W = X.T @ alpha
    return float(alpha[np.arange(len(y)), y].sum()) - 0.5 * float((W * W).sum())


def feasible(alpha, y, C, v=None, tol=1e-12):
    """Whether alpha_ik <= C_i [k = y_i] and the sum of a row is 0."""
    bound = np.zeros_like(alpha)
    bound[np.arange(len(y)), y] = C * (np.ones(len(y)) if v is None else v)
    return bool((alpha <= bound + tol).all() and np.abs(alpha.sum(axis=1)).max() <= tol)


def row_step(B, A, bound, right):
    """The minimum of A/2 |alpha|^2 + B.alpha over alpha_k <= bound [k = right], sum alpha = 0, by
    trying every set of classes at their bound."""
    K, best = len(B), (np.inf, None)
    for free in itertools.product((False, True), repeat=K):
        alpha, free = np.where(np.arange(K) == right, bound, 0.0), np.array(free)
        if not free.any():
            continue
        alpha[free] = 0.0
        level = (alpha.sum() * A - B[free].sum()) / free.sum()
        alpha[free] = -(B[free] + level) / A
        limit = np.where(np.arange(K) == right, bound, 0.0)
        if (alpha > limit + 1e-12).any():
            continue
        value = 0.5 * A * alpha @ alpha + B @ alpha
        if value < best[0] - 1e-15:
            best = value, alpha
    return best[1]


def optimum(X, y, K, C, bias=0.0, v=None, tol=1e-7, sweeps=3000):
    """(W, minimum) by visits of rows until primal and dual agree."""
    X = with_constant(X, bias)
    n, norms = len(y), (X * X).sum(axis=1)
    bound = C * (np.ones(n) if v is None else np.asarray(v, float))
    alpha, W = np.zeros((n, K)), np.zeros((X.shape[1], K))
    for sweep in range(sweeps):
        for i in np.flatnonzero(bound):
            alpha_then, A = alpha[i].copy(), norms[i]
            own = np.arange(K) == y[i]
            if A == 0:
                alpha[i] = 0
                if K > 1:
                    alpha[i, [y[i], (y[i] + 1) % K]] = bound[i], -bound[i]
                continue
            B = X[i] @ W + ~own - A * alpha_then
            # the level at which min(bound, (level - B) / A) adds up to 0, by the numbers at which a
            # class comes in
            D = np.sort(B + A * bound[i] * own)[::-1]
            levels = (np.cumsum(D) - A * bound[i]) / np.arange(1, K + 1)
            level = levels[np.flatnonzero(levels >= np.append(D[1:], -np.inf))[0]]
            alpha[i] = np.minimum(bound[i] * own, (level - B) / A)
            W += np.outer(X[i], alpha[i] - alpha_then)
        if sweep % 20 == 19:
            W = X.T @ alpha
            upper, lower = primal(X, y, W, C, v), dual(X, y, alpha)
            if upper - lower <= tol * max(upper, 1e-300):
                break
    return W, upper
