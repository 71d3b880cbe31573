# SPDX-License-Identifier: BSD-3-Clause
"""Slow truths of losses of one score each and of training with their sums, straight from the
definitions."""

import math

import numpy as np

TUBE = 0.3


def squared_hinge(y, s):
    """(loss, slope, h at minus the slope)"""
    z = max(0.0, 1 - y * s)
    return z * z, -2 * y * z, 2 * z - z * z


def logistic(y, s):
    m = y * s
    u = 1 / (1 + math.exp(m)) if m < 700 else 0.0
    entropy = -sum(p * math.log(p) for p in (u, 1 - u) if p > 0)
    return math.log1p(math.exp(-m)) if m > -30 else -m, -y * u, entropy


def epsilon_insensitive(y, s):
    r = y - s
    if abs(r) <= TUBE:
        return 0.0, 0.0, 0.0
    c = math.copysign(1.0, r)
    return abs(r) - TUBE, -c, c * y - TUBE * abs(c)


def squared_epsilon_insensitive(y, s):
    r = y - s
    g = 2 * math.copysign(max(0.0, abs(r) - TUBE), r)
    return g * g / 4, -g, g * y - TUBE * abs(g) - g * g / 4


LOSSES = {
    "squared-hinge": squared_hinge,
    "logistic": logistic,
    "epsilon-insensitive": epsilon_insensitive,
    "squared-epsilon-insensitive": squared_epsilon_insensitive,
}
#: Those of targets; the others are of labels.
OF_TARGETS = ("epsilon-insensitive", "squared-epsilon-insensitive")


def h(loss, y, g):
    """The conjugate by its formula: the largest h with loss(f) >= h - g f for every f."""
    if loss == "squared-hinge":
        return y * g - g * g / 4
    if loss == "logistic":
        return -sum(p * math.log(p) for p in (y * g, 1 - y * g) if p > 0)
    return g * y - TUBE * abs(g) - (g * g / 4 if loss != "epsilon-insensitive" else 0.0)


def value(loss, y, s, v=None):
    """sum v loss"""
    v = np.ones(len(y)) if v is None else v
    return math.fsum(v[i] * LOSSES[loss](y[i], s[i])[0] for i in range(len(y)) if v[i] > 0)


def primal(loss, X, y, w, C, v=None):
    """1/2 |w|^2 + C sum v loss; X has its constant column."""
    return 0.5 * float(w @ w) + C * value(loss, y, X @ w, v)


def dual(loss, X, y, g, C, v=None):
    """C sum v h(g) - 1/2 |C X'(v g)|^2"""
    v = np.ones(len(y)) if v is None else v
    w = C * X.T @ (v * g)
    return C * math.fsum(
        v[i] * h(loss, y[i], g[i]) for i in range(len(y)) if v[i] > 0
    ) - 0.5 * float(w @ w)


def optimum(loss, X, y, C, v=None, tol=1e-11):
    """The least primal; X has its constant column. The duality gap of what is found is at most tol
    of it."""
    X, v = np.asarray(X, float), np.ones(len(y)) if v is None else v
    if loss == "epsilon-insensitive":
        return _by_coordinates(X, y, C, v, tol)
    w = np.zeros(X.shape[1])
    for _ in range(300):
        s = X @ w
        slopes = np.array([LOSSES[loss](a, b)[1] for a, b in zip(y, s, strict=True)])
        gradient = w + C * X.T @ (v * slopes)
        here = primal(loss, X, y, w, C, v)
        if 0.5 * gradient @ gradient <= tol * here:
            return here
        bend = (
            np.abs(slopes) * (1 - np.abs(slopes))
            if loss == "logistic"
            else np.where(slopes != 0, 2.0, 0.0)
        )
        p = -np.linalg.solve(np.eye(len(w)) + C * X.T @ ((v * bend)[:, None] * X), gradient)
        t = 1.0
        while primal(loss, X, y, w + t * p, C, v) > here + 1e-4 * t * gradient @ p and t > 1e-12:
            t /= 2
        w = w + t * p
    raise AssertionError("no optimum")


def _by_coordinates(X, y, C, v, tol):
    """Coordinate ascent in beta (Ho and Lin, JMLR 2012, equation 12)."""
    beta, w, norms = np.zeros(len(y)), np.zeros(X.shape[1]), (X * X).sum(1)
    for sweep in range(200_000):
        for i in np.flatnonzero(norms * v > 0):
            u = beta[i] + (y[i] - X[i] @ w) / norms[i]
            new = math.copysign(min(C * v[i], max(0.0, abs(u) - TUBE / norms[i])), u)
            w += (new - beta[i]) * X[i]
            beta[i] = new
        if sweep % 10 == 9:
            w = X.T @ beta
            upper = primal("epsilon-insensitive", X, y, w, C, v)
            lower = beta @ y - TUBE * np.abs(beta).sum() - 0.5 * w @ w
            if upper - lower <= tol * upper:
                return upper
    raise AssertionError("no optimum")
