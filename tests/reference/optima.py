# SPDX-License-Identifier: BSD-3-Clause
"""Optima of machines without a free bias, by L-BFGS-B in the dual (the logistic one in the primal),
and how far they may be from the exact ones."""

import numpy as np
from scipy.optimize import minimize


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
