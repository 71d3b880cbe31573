# SPDX-License-Identifier: BSD-3-Clause
"""Slow truths of the smoothed hinge and of dual coordinate descent, from their definitions."""

import numpy as np


def losses(y, s, delta):
    """Per example: (smoothed loss, u), by the three cases of the definition."""
    loss, u = np.zeros(len(s)), np.zeros(len(s))
    for i in range(len(s)):
        z = 1 - y[i] * s[i]
        if z >= delta / 2:
            loss[i], u[i] = z, 1.0
        elif z > -delta / 2:
            u[i] = z / delta + 0.5
            loss[i] = delta * u[i] ** 2 / 2
    return loss, u


def primal(X, y, w, C, delta):
    """1/2 |w|^2 + C sum of the smoothed losses, its gradient and Hessian; X (n, d) dense with its
    constant column."""
    loss, u = losses(y, X @ w, delta)
    band = X[(u > 0) & (u < 1)]
    value = 0.5 * w @ w + C * loss.sum()
    return value, w - C * X.T @ (u * y), np.eye(len(w)) + C / delta * band.T @ band


def minimum_on_line(X, y, w, p, C, delta, steps=200):
    """The t >= 0 that minimises the smoothed primal at w + t p, by bisection of its slope."""

    def slope(t):
        return primal(X, y, w + t * p, C, delta)[1] @ p

    low, high = 0.0, 1.0
    while slope(high) < 0:
        high *= 2
    for _ in range(steps):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return 0.5 * (low + high)


def epoch(X, y, C, alpha, w, order):
    """One epoch of dual coordinate descent over `order`, in place (Hsieh et al. 2008, Algorithm
    1)."""
    for i in order:
        G = y[i] * (w @ X[i]) - 1
        new = min(max(alpha[i] - G / (X[i] @ X[i]), 0.0), C)
        w += (new - alpha[i]) * y[i] * X[i]
        alpha[i] = new
