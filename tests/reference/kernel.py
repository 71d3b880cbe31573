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


def tube_primal(K, y, beta, b, C, tube):
    """1/2 beta'K beta + sum_i C_i max(0, |y_i - (K beta + b)_i| - tube)"""
    return 0.5 * beta @ K @ beta + np.sum(C * np.maximum(0, np.abs(y - K @ beta - b) - tube))


def maximum(K, y, C, free_bias, tol=1e-9, steps=500_000):
    """(maximum, beta) of sum beta y - 1/2 beta'K beta in the box, and on sum beta = 0 where the
    bias is free."""
    beta = _ascent(
        K, y.astype(float), np.minimum(0, C * y), np.maximum(0, C * y), free_bias, tol, steps
    )
    return beta @ y - 0.5 * beta @ K @ beta, beta


def tube_maximum(K, y, C, tube, free_bias, tol=1e-9, steps=500_000):
    """(maximum, beta) of sum (beta y - tube |beta|) - 1/2 beta'K beta with |beta| <= C: in LIBSVM's
    2 n variables."""
    n, zero, most = len(y), np.zeros(len(y)), np.broadcast_to(C, len(y))
    low, high = np.concatenate([zero, -most]), np.concatenate([most, zero])
    parts = _ascent(
        np.tile(K, (2, 2)), np.concatenate([y - tube, y + tube]), low, high, free_bias, tol, steps
    )
    beta = parts[:n] + parts[n:]
    return beta @ y - tube * np.abs(beta).sum() - 0.5 * beta @ K @ beta, beta


def _ascent(K, p, low, high, free_bias, tol, steps):
    """The beta of the largest sum beta p - 1/2 beta'K beta.

    Without bias coordinate after coordinate; with bias the most violating pair, until no violation
    exceeds tol.
    """
    n, norms = len(p), np.maximum(K.diagonal(), 1e-12).tolist()
    beta, v, least, most = np.zeros(n), p.copy(), low.tolist(), high.tolist()
    above, below = np.where(beta < high, 0.0, -np.inf), np.where(beta > low, 0.0, np.inf)
    for step in range(steps):
        if free_bias:
            up, down = v + above, v + below
            i, j = int(up.argmax()), int(down.argmin())
            if up[i] - down[j] <= tol:
                break
            a = max(K[i, i] + K[j, j] - 2 * K[i, j], 1e-12)
            s = min((v[i] - v[j]) / a, high[i] - beta[i], beta[j] - low[j])
            beta[i], beta[j] = beta[i] + s, beta[j] - s
            for k in (i, j):
                above[k], below[k] = (
                    0.0 if beta[k] < high[k] else -np.inf,
                    0.0 if beta[k] > low[k] else np.inf,
                )
            v -= s * (K[i] - K[j])
        else:
            i = step % n
            before = beta.item(i)
            new = min(max(before + v.item(i) / norms[i], least[i]), most[i])
            if new != before:
                v -= (new - before) * K[i]
                beta[i] = new
            if (
                i == n - 1
                and max(np.where(beta < high, v, 0).max(), -np.where(beta > low, v, 0).min()) <= tol
            ):
                break
    return beta
