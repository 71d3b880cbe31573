# SPDX-License-Identifier: BSD-3-Clause
"""Objectives of estimators by what they predict, from the definitions: scores are those of their
decision_function, |f|^2 is formed of coef_, or of support vectors, in extended precision."""

from __future__ import annotations

import itertools

import numpy as np

from svmcut.models import KernelModel

LOSSES = {
    "hinge": lambda m: np.maximum(0, 1 - m),
    "squared-hinge": lambda m: np.maximum(0, 1 - m) ** 2,
    "logistic": lambda m: np.logaddexp(0, -m),
}


def pairs(K):
    """The machines of pairs of classes."""
    return [*itertools.combinations(range(K), 2)]


def _form(kernel, X, Z):
    """Kernel values of rows in extended precision; kernel is (name, gamma, coef0, degree)."""
    name, gamma, coef0, degree = kernel
    X, Z = np.asarray(X, np.longdouble), np.asarray(Z, np.longdouble)
    if name == "rbf":
        return np.exp(-gamma * ((X[:, None] - Z[None]) ** 2).sum(2))
    products = X @ Z.T
    if name == "linear":
        return products
    wide = gamma * products + coef0
    return wide**degree if name == "poly" else np.tanh(wide)


def kernel_of(machine, X):
    """The kernel of a machine with gamma as scikit-learn means it."""
    gamma = machine.gamma
    if gamma == "scale":
        gamma = 1 / (X.shape[1] * X.var()) if X.var() else 1.0
    elif gamma == "auto":
        gamma = 1 / X.shape[1]
    return machine.kernel, gamma, machine.coef0, machine.degree


def squared_norms(machine, X, chosen=None):
    """(machines,) |f|^2 without the bias; of regularised biases with it."""
    if hasattr(machine, "coef_"):
        coef = machine.coef_
        W = np.atleast_2d(np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef))
        squares = (W.astype(np.longdouble) ** 2).sum(1)
        if getattr(machine, "fit_intercept", None) and not getattr(machine, "free_intercept", 0):
            scale = getattr(machine, "intercept_scaling", 1.0)
            squares = squares + (np.asarray(machine.intercept_, np.longdouble) / scale) ** 2
        return squares
    model = machine._machines()[0]
    if isinstance(model, KernelModel) and model.kernel.is_linear:
        # coefficients that cancel out: its scores are those of this sum, which is rounded
        return (model.weights().astype(np.longdouble) ** 2).sum(keepdims=True)
    vectors, coef = machine.support_vectors_, machine.dual_coef_
    Z, A = (np.asarray(p.toarray() if hasattr(p, "toarray") else p) for p in (vectors, coef))
    Z = Z.astype(np.float32)
    if chosen is not None:  # compat's table of classes
        A = chosen(machine, A)
    A = A.astype(np.longdouble)
    return ((A @ _form(kernel_of(machine, X), Z, Z)) * A).sum(1)


def of_pairs(machine, table):
    """(pairs, m) coefficients of scikit-learn's table (K - 1, m)."""
    K, n = len(machine.classes_), machine.n_support_
    own = np.repeat(np.arange(K), n)
    rows = []
    for first, second in pairs(K):
        row = np.where(own == first, table[second - 1], 0.0)
        rows.append(np.where(own == second, table[first], row))
    return np.array(rows)


def classified(machine, X, y, C, loss="hinge", weights=None, paired=False, own=None):
    """(machines,) objectives of classes; own are the scores of its machines."""
    v = np.ones(len(y)) if weights is None else np.asarray(weights, float)
    codes, K = np.searchsorted(machine.classes_, y), len(machine.classes_)
    s = np.asarray(machine.decision_function(X) if own is None else own, np.longdouble)
    s = s[:, None] if s.ndim == 1 else s
    named = hasattr(machine, "n_support_") and not hasattr(machine, "coef_")
    squares = squared_norms(machine, X, of_pairs if named else None)
    values = []
    machines = (
        pairs(K) if paired and K > 2 else [(1, None)] if K == 2 else [(k, None) for k in range(K)]
    )
    for j, (first, second) in enumerate(machines):
        of = np.ones(len(y), bool) if second is None else (codes == first) | (codes == second)
        margins = np.where(codes[of] == first, 1, -1) * s[of, j]
        values.append(squares[j] / 2 + C * (v[of] * LOSSES[loss](margins)).sum())
    return np.array(values, float)


def numbered(machine, X, y, C, tube, squared=False, weights=None):
    """(1,) the objective of numbers."""
    v = np.ones(len(y)) if weights is None else weights
    s = np.asarray(machine.predict(X), np.longdouble)
    losses = np.maximum(0, np.abs(np.asarray(y) - s) - tube)
    losses = losses**2 if squared else losses
    return np.array([float(squared_norms(machine, X)[0] / 2 + C * (v * losses).sum())])


def inside(machine, X, nu):
    """(1,) LIBSVM's objective of one class."""
    s = np.asarray(machine.decision_function(X), np.longdouble)
    rho = float(np.ravel(machine.offset_)[0])
    return np.array(
        [float(squared_norms(machine, X)[0] / 2 - nu * len(X) * rho + np.maximum(0, -s).sum())]
    )


def difference(machine, values, room=1e-6):
    """What is wrong with what a fit told of these objectives by its predictions; "" for nothing."""
    told, dual = np.asarray(machine.primal_of_model_), np.asarray(machine.dual_)
    if len(told) == 1:  # of machines that training did not come to, the sum
        values = values.sum(keepdims=True)
    if told.shape != values.shape:
        return f"primal_of_model_ has the shape {told.shape}, the machines {values.shape}"
    apart = np.abs(told - values) > room * np.abs(values) + 1e-12
    if apart.any():
        return f"primal_of_model_ is {told.tolist()}, the predictions' {values.tolist()}"
    if (dual > values + 1e-9 * (1 + np.abs(values))).any():
        return f"dual_ {dual.tolist()} is above {values.tolist()}"
    return ""


def promise(machine, values, most):
    """What is wrong with converged_, where gaps of the predictions are to be `most` at most."""
    gaps = values - machine.dual_ if machine.converged_ else np.zeros(1)
    if (gaps > most).any():
        return f"converged_, and the gap of the predictions is {gaps.tolist()}, not {most}"
    return ""


def nu_classified(machine, X, y, nu):
    """The least objective of nu-SVC over all lengths of its f, in LIBSVM's scale, and the size of
    what it is made of."""
    signs = np.where(np.asarray(y) == machine.classes_[1], 1, -1)
    named = None if hasattr(machine, "coef_") else of_pairs
    squared = float(squared_norms(machine, X, named)[0])
    left = nu * len(X) - float(LOSSES["hinge"](signs * machine.decision_function(X)).sum())
    return -(max(0.0, left) ** 2) / (2 * squared), nu * len(X)


def nu_numbered(machine, X, y, C, nu):
    """The objective of nu-SVR at its best tube, and the size of what it is made of."""
    errors = np.sort(np.abs(np.asarray(y) - machine.predict(X)))
    tubes = [C * (nu * len(X) * t + np.maximum(0, errors - t).sum()) for t in [0.0, *errors]]
    value = float(squared_norms(machine, X)[0] / 2 + min(tubes))
    return value, value


def between(machine, value, size, room=1e-6):
    """What is wrong with the bounds of a machine whose rho or tube is not known: its value is below
    what is told, and above the dual."""
    told, dual = float(machine.primal_of_model_[0]), float(machine.dual_[0])
    size = max(size, abs(value))
    if value > told + room * size:
        return f"primal_of_model_ is {told}, the predictions' {value} at best"
    return f"dual_ {dual} is above {value}" if dual > value + room * size else ""
