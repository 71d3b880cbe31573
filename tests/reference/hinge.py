# SPDX-License-Identifier: BSD-3-Clause
"""Slow truths of hinge-loss training, straight from the definitions."""

import numpy as np


def primal(X, y, w, C, bias=0.0):
    """1/2 |w|^2 + C sum_i max(0, 1 - y_i w.x_i); the last weight belongs to the constant feature where there is one."""
    X = with_constant(X, bias)
    return 0.5 * w @ w + C * np.maximum(0, 1 - y * (X @ w)).sum()


def with_constant(X, bias):
    return np.hstack([X, np.full((len(X), 1), bias)]) if bias else X


def linearize(y, s):
    """(value, coef, offset) by a loop over the examples (Joachims 2006, Algorithm 1, lines 5 to 7)."""
    value, offset, coef = 0.0, 0, np.zeros(len(s))
    for i in range(len(s)):
        if y[i] * s[i] < 1:
            coef[i] = -y[i]
            offset += 1
            value += 1 - y[i] * s[i]
    return value, coef, float(offset)


def optimum(X, y, C, bias=0.0, tol=1e-10, sweeps=200_000):
    """(w, minimum) by dual coordinate ascent in float64, run until primal and dual agree."""
    X = with_constant(np.asarray(X, float), bias)
    norms, alpha, w = (X * X).sum(1), np.zeros(len(y)), np.zeros(X.shape[1])
    for sweep in range(sweeps):
        for i in range(len(y)):
            if norms[i] > 0:
                new = min(C, max(0.0, alpha[i] + (1 - y[i] * (w @ X[i])) / norms[i]))
                w += (new - alpha[i]) * y[i] * X[i]
                alpha[i] = new
            else:
                alpha[i] = C
        if sweep % 10 == 9:
            w = (alpha * y) @ X
            upper = 0.5 * w @ w + C * np.maximum(0, 1 - y * (X @ w)).sum()
            lower = alpha.sum() - 0.5 * w @ w
            if upper - lower <= tol * max(upper, 1e-300):
                break
    return w, upper
