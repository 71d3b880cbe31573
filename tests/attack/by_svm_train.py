# SPDX-License-Identifier: BSD-3-Clause
"""svm-train by name: what its model predicts is held to what it prints, to the best constant and to
multiples of its own function."""

from __future__ import annotations

import contextlib
import io
import re

import numpy as np

from svmcut.formats.library_text import read_kernel
from svmcut.originals.libs.programs import svm_train
from svmcut.originals.libs.rows import training_rows
from svmcut.originals.libs.svm_predict import Predictor

MULTIPLES = (0.0, 0.3, 0.9, 0.99, 1.01, 1.1, 3.0)
KERNELS = ("linear", "poly", "rbf")


def draw(make, facts):
    """The words of a command line."""
    svm, kernel = make.pick(0, 0, 3, 4), int(make.pick(0, 1, 1, 2))
    words = ["-s", str(svm), "-t", str(kernel), "-c", str(facts["C"]), "-e", str(facts["tol"])]
    if kernel == 1:
        words += ["-d", str(make.pick(1, 2, 3)), "-r", str(make.pick(0, 1))]
    if kernel and make.chance(0.5):
        words += ["-g", f"{10.0 ** make.rng.uniform(-10, 0):.3g}"]
    return words


def values_of(model, Z):
    """Kernel values of support vectors."""
    squares, products = (Z * Z).sum(1), Z @ Z.T
    if model.kernel == 2:
        return np.exp(-model.gamma * np.maximum(squares[:, None] + squares - 2 * products, 0))
    return products if model.kernel == 0 else (model.gamma * products + model.coef0) ** model.degree


class Losses:
    """C R of scores and a bias, of classes with these signs or of numbers."""

    def __init__(self, svm, y, C):
        self.svm, self.y, self.C = svm, y, C

    def value(self, s):
        if self.svm == 0:
            return self.C * np.maximum(0, 1 - self.y * s).sum()
        away = np.abs(self.y - s)
        if self.svm == 3:
            return self.C * np.maximum(0, away - 0.1).sum()
        tube = np.sort(away)[len(away) // 2]  # as nu is a half
        return self.C * (0.5 * len(away) * tube + np.maximum(0, away - tube).sum())

    def least(self, s):
        """At the best bias, which is at a corner; of nu-SVR at the best of some."""
        rest = self.y - s
        some = np.linspace(rest.min(), rest.max(), 50)
        corners = {0: (rest,), 3: (rest - 0.1, rest + 0.1)}.get(self.svm, (rest, some))
        return min(self.value(s + b) for b in np.concatenate(corners))


def wrongs_of(words, X, y, C, tol):
    """What is wrong with a model of these rows."""
    with open("rows", "w", encoding="utf-8") as file:
        for label, row in zip(y, X, strict=True):
            numbers = " ".join(f"{k}:{value:.9g}" for k, value in enumerate(row, 1))
            file.write(f"{label:.17g} {numbers}\n")
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        if status := svm_train([*words, "rows", "rows.model"]):
            return [f"status {status}"]
    text, model = told.getvalue(), read_kernel("rows.model")
    dual = 0.0 - float(re.search(r"obj = ([^,\s]+)", text)[1])
    own, rows, b = Predictor(model), training_rows("rows", 0), 0.0 - model.rho[0]
    s = own.decisions(rows)[:, 0] - b
    indptr, indices, values = model.rows
    Z = np.zeros((len(indptr) - 1, X.shape[1] + 1), np.longdouble)
    Z[np.repeat(np.arange(len(Z)), np.diff(indptr)), indices] = values
    K, alpha = values_of(model, Z), model.coefs[:, 0].astype(np.longdouble)
    squared = float(alpha @ K @ alpha)
    svm = int(words[1])
    signs = np.where(y == model.labels[0], 1.0, -1.0) if svm == 0 else np.asarray(y)
    losses = Losses(svm, signs, C)
    longest = np.sqrt(np.abs(np.diag(K)).max(initial=0.0))
    size = float((np.abs(alpha) @ np.sqrt(np.abs(np.diag(K)))) * longest)
    if model.kernel == 0:  # by weights
        size = float((np.abs(alpha @ Z) * np.abs(X).max(0, initial=0.0).max()).sum())
    noise = 2.0**-50 * C * len(y) * (size + abs(b)) + 2e-6
    primal = squared / 2 + losses.value(s + b)
    wrong = []
    for t in MULTIPLES:
        other = t * t * squared / 2 + losses.least(t * s)
        if primal > other * (1 + 1e-5) + noise and ("WARNING" in text or t == 0):
            wrong.append(f"the objective {primal} is above {other}, that of {t} times the function")
    if dual > primal * (1 + 1e-6) + noise:
        wrong.append(f"the dual {dual} is above the objective {primal} of the file")
    if (
        "WARNING" not in text
        and primal - dual > max(2.02 * C * tol * len(y), 2e-3 * primal) + noise
    ):
        wrong.append(
            f"the gap {primal - dual} is above what -e {tol} allows, and no warning says so"
        )
    return wrong
