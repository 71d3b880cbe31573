# SPDX-License-Identifier: BSD-3-Clause
"""Slow truths of hinge-loss training, straight from the definitions."""

import numpy as np


def primal(X, y, w, C, bias=0.0):
    """1/2 |w|^2 + C sum_i max(0, 1 - y_i w.x_i); the last weight belongs to the constant feature
    where there is one."""
    X = with_constant(X, bias)
    return 0.5 * w @ w + C * np.maximum(0, 1 - y * (X @ w)).sum()


def with_constant(X, bias):
    return np.hstack([X, np.full((len(X), 1), bias)]) if bias else X


def linearize(y, s):
    """(value, coef, offset) by a loop over the examples (Joachims 2006, Algorithm 1, lines 5 to
    7)."""
    value, offset, coef = 0.0, 0, np.zeros(len(s))
    for i in range(len(s)):
        if y[i] * s[i] < 1:
            coef[i] = -y[i]
            offset += 1
            value += 1 - y[i] * s[i]
    return value, coef, float(offset)


def optimum(X, y, C, bias=0.0, tol=1e-10, steps=200):
    """(w, minimum) by interior-point steps on the dual, run until primal and dual agree.

    The dual is max sum(a) - 1/2 |sum a_i y_i x_i|^2 over 0 <= a <= C, with multipliers of both
    bounds.
    """
    signed = with_constant(np.asarray(X, float), bias) * y[:, None]
    G, a = signed @ signed.T, np.full(len(y), C / 2)
    low = high = np.ones(len(y))
    for _ in range(steps):
        w = a @ signed
        upper = 0.5 * w @ w + C * np.maximum(0, 1 - signed @ w).sum()
        if upper - (a.sum() - 0.5 * w @ w) <= tol * max(upper, 1e-300):
            return w, upper
        room = C - a
        mu = 0.1 * (a @ low + room @ high) / (2 * len(y))
        d = np.linalg.solve(G + np.diag(low / a + high / room), 1 - G @ a + mu / a - mu / room)
        d_low, d_high = mu / a - low - low / a * d, mu / room - high + high / room * d
        ratios = np.concatenate((-d / a, d / room, -d_low / low, -d_high / high))
        t = min(1.0, 0.99 / max(ratios.max(), 1e-300))
        a, low, high = a + t * d, low + t * d_low, high + t * d_high
    raise AssertionError(f"primal and dual do not meet in {steps} steps")
