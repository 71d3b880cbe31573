# SPDX-License-Identifier: BSD-3-Clause
"""Slow truths of losses under l1 |w|_1 + l2/2 |w|^2: primal, dual from its definition, and a
minimum by proximal gradient steps that knows nothing of coordinates."""

import numpy as np

from reference import losses as truth


def primal(loss, X, y, w, C, l1, l2, v=None, free=False):
    """l1 |w|_1 + l2/2 |w|^2 + C sum v loss; with free the last of w costs nothing."""
    own = w[:-1] if free else w
    return l1 * np.abs(own).sum() + l2 / 2 * float(own @ own) + C * truth.value(loss, y, X @ w, v)


def dual(loss, X, y, g, C, l1, l2, v=None):
    """C sum v h(g) - sum ((|v_j| - l1)+)^2 / (2 l2); without l2 -inf where some |v_j| > l1."""
    v = np.ones(len(y)) if v is None else v
    over = np.maximum(np.abs(C * X.T @ (v * g)) - l1, 0.0)
    value = C * sum(v[i] * truth.h(loss, y[i], g[i]) for i in range(len(y)) if v[i] > 0)
    if l2:
        return value - float(over @ over) / (2 * l2)
    return value if over.max(initial=0.0) <= 1e-9 * l1 else -np.inf


def _slopes(loss, y, s):
    if loss == "squared-hinge":
        return -2 * y * np.maximum(0.0, 1 - y * s)
    if loss == "logistic":
        return -y / (1 + np.exp(np.minimum(700.0, y * s)))
    r = y - s
    return -2 * np.sign(r) * np.maximum(0.0, np.abs(r) - truth.TUBE)


def minimiser(loss, X, y, C, l1, l2, v=None, free=False, steps=60_000, tol=1e-13):
    """Accelerated proximal gradient with restarts (Beck and Teboulle, SIAM J. Imaging Sciences
    2009; O'Donoghue and Candes, 2015). X has its constant column; with free the last is not
    penalised."""
    X, v = np.asarray(X, float), np.ones(len(y)) if v is None else v
    steepest = 0.25 if loss == "logistic" else 2.0
    step = 1 / (C * steepest * np.linalg.norm(X * np.sqrt(v)[:, None], 2) ** 2 + l2)
    cost = np.full(X.shape[1], l1)
    square = np.full(X.shape[1], l2)
    if free:
        cost[-1] = square[-1] = 0.0
    w = z = np.zeros(X.shape[1])
    t = 1.0
    for _ in range(steps):
        to = z - step * (square * z + C * X.T @ (v * _slopes(loss, y, X @ z)))
        to = np.sign(to) * np.maximum(0.0, np.abs(to) - step * cost)
        ahead = (1 + np.sqrt(1 + 4 * t * t)) / 2
        if (z - to) @ (to - w) > 0:  # the momentum points up
            ahead = 1.0
            z = to
        else:
            z = to + (t - 1) / ahead * (to - w)
        done = np.abs(to - w).max() <= tol * max(1.0, np.abs(to).max()) and ahead > 1
        w, t = to, ahead
        if done:
            break
    return w


def hinge_minimum(X, y, C, l1, l2, v=None, free=False):
    """The least l1 |w|_1 + l2/2 |w|^2 + C sum v max(0, 1 - y X w), l2 > 0: the maximum of its dual,
    a smooth function on a box, by L-BFGS-B. X has its constant column; with free the last is not
    penalised, and its weight is searched for."""
    from scipy.optimize import minimize, minimize_scalar

    most = C * (np.ones(len(y)) if v is None else v)

    def least(A, margins):  # of losses max(0, margins - y A w)
        def dual(alpha):
            rest = A.T @ (y * alpha)
            w = np.sign(rest) * np.maximum(0.0, np.abs(rest) - l1) / l2
            return l2 / 2 * float(w @ w) - alpha @ margins, y * (A @ w) - margins

        how = {"maxiter": 10**5, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-11, "maxcor": 30}
        box, alpha, values = list(zip(np.zeros(len(y)), most)), most / 2, [np.inf]
        while len(values) < 100:  # it forgets what it has seen of the corners
            found = minimize(dual, alpha, jac=True, method="L-BFGS-B", bounds=box, options=how)
            alpha, before = found.x, values[-1]
            values.append(found.fun)
            if before - found.fun <= 1e-9 * abs(found.fun):
                break
        return -values[-1]

    if not free:
        return least(X, np.ones(len(y)))
    at = {"bounds": (-10.0, 10.0), "method": "bounded", "options": {"xatol": 1e-9}}
    return minimize_scalar(lambda b: least(X[:, :-1], 1 - y * b), **at).fun
