# SPDX-License-Identifier: BSD-3-Clause
"""Slow truths of kernels and of the hinge loss with kernels, in float64 from the definitions."""

import numpy as np


def matrix(kernel, X, Z):
    """K of all pairs of dense rows of equal width."""
    X, Z = np.asarray(X, float), np.asarray(Z, float)
    dot = X @ Z.T
    if kernel.name == "polynomial":
        return (kernel.scale * dot + kernel.offset) ** kernel.degree
    if kernel.name == "rbf":
        return np.exp(-kernel.gamma * ((X[:, None] - Z[None]) ** 2).sum(2))
    if kernel.name == "sigmoid":
        return np.tanh(kernel.scale * dot + kernel.offset)
    return dot


def primal(K, y, beta, b, C):
    """1/2 beta'K beta + C sum_i max(0, 1 - y_i (K beta + b)_i)"""
    return 0.5 * beta @ K @ beta + C * np.maximum(0, 1 - y * (K @ beta + b)).sum()


def maximum(K, y, C, free_bias, tol=1e-9, steps=500_000):
    """(maximum, beta) of sum beta y - 1/2 beta'K beta in the box, and on sum beta = 0 where the bias is free.

    Without bias coordinate after coordinate; with bias the most violating pair, until no violation exceeds tol.
    """
    n = len(y)
    low, high = np.minimum(0, C * y), np.maximum(0, C * y)
    beta, v = np.zeros(n), y.astype(float).copy()
    for step in range(steps):
        if free_bias:
            up, down = np.where(beta < high, v, -np.inf), np.where(beta > low, v, np.inf)
            i, j = int(np.argmax(up)), int(np.argmin(down))
            if up[i] - down[j] <= tol:
                break
            a = max(K[i, i] + K[j, j] - 2 * K[i, j], 1e-12)
            s = min((v[i] - v[j]) / a, high[i] - beta[i], beta[j] - low[j])
            beta[i], beta[j] = beta[i] + s, beta[j] - s
            v -= s * (K[i] - K[j])
        else:
            i = step % n
            new = np.clip(beta[i] + v[i] / max(K[i, i], 1e-12), low[i], high[i])
            v -= (new - beta[i]) * K[i]
            beta[i] = new
            if i == n - 1 and max(np.where(beta < high, v, 0).max(), -np.where(beta > low, v, 0).min()) <= tol:
                break
    return beta @ y - 0.5 * beta @ K @ beta, beta
