# SPDX-License-Identifier: BSD-3-Clause
"""Truths of the losses of scores that no original of two classes has: smooth ones, those of numbers
and of classes."""

from __future__ import annotations

import itertools

import numpy as np

from attack.truths import REAL, Truth, Vectors, is_definite, kernel_sizes, kernel_values, of_digits


def slope(loss, margins):
    """Loss of every margin."""
    if loss == "squared-hinge":
        return np.maximum(0, 1 - margins) ** 2
    if loss == "logistic":
        return np.logaddexp(REAL(0), -margins)
    return np.maximum(0, 1 - margins)


def bound(loss, size):
    """What the rounding of that loss is counted in, where rounding moves a margin by a part of its
    size."""
    return (1 + size) ** 2 if loss == "squared-hinge" else 1 + size


class Penalised(Vectors):
    """A sum over examples, under any penalty."""

    is_sum = True

    def primal(self, t=1.0):
        l1 = REAL(self.facts.get("l1", 0))
        if not l1:
            return super().primal(t)
        value, size = self.risk(REAL(t))
        bias = self.facts["bias"]
        weights = np.abs(self.alpha @ self.Z).sum()
        weights += abs(self.threshold) / REAL(bias) if bias else 0
        penalty = l1 * weights * abs(t) + (1 - l1) * self.half_norm * t * t
        return float(penalty + self.C * value), float(penalty + self.C * size)


class Smooth(Penalised):
    """Two classes with a smooth loss, or the hinge."""

    def risk(self, t):
        s, size, loss = self.s * t, self.size * abs(t), self.facts["loss"]
        return self.v @ slope(loss, np.where(self.positive, s, -s)), self.v @ bound(loss, size)


class OneOfTwo(Smooth):
    """Of two classes by name: the greater one is positive."""

    def _model(self, model):
        super()._model(model)
        self.positive = self.y == self.y.max()


class Numbers(Penalised):
    """Numbers, with a tube; both ways to state C weigh one example."""

    @property
    def C(self):
        return self.facts.get("example_cost", self.facts.get("cost"))

    @property
    def c(self):
        return self.C

    def risk(self, t):
        away = np.abs(np.asarray(self.case.y, REAL) - self.s * t)
        losses = np.maximum(0, away - REAL(self.facts["tube"]))
        sizes = np.abs(np.asarray(self.case.y, REAL)) + self.size * abs(t)
        if self.facts["loss"].startswith("squared"):
            losses, sizes = losses**2, sizes**2
        return self.v @ losses, self.v @ sizes


class Machines(Truth):
    """Machines of a kernel, one a class or one a pair of classes; their objectives add up."""

    def _model(self, model):
        X, Z = self.X, np.array([line.dense(self.X.shape[1]) for line in model.lines], REAL)
        K, M, y = len(model.names), len(model.thresholds), np.asarray(self.case.y)
        self.Z, self.kernel, self.b = (
            Z.reshape(-1, X.shape[1]),
            model.kernel,
            np.array(model.thresholds, REAL),
        )
        self.alpha = np.zeros((len(self.Z), M), REAL)
        for u, share in enumerate(model.coefficients):
            for m, value in share.items():
                self.alpha[u, m] = value
        place = np.searchsorted(model.names, y)
        pairs = (
            list(itertools.combinations(range(K), 2))
            if model.paired
            else [(k, None) for k in range(K)]
        )
        others = [np.where(place == j, -1, 0) if model.paired else -1 for _, j in pairs]
        self.signs = np.column_stack(
            [np.where(place == i, 1, other) for (i, _), other in zip(pairs, others)]
        )
        self._expand(self.Z)
        self.definite = is_definite(model.kernel, np.vstack([X, self.Z]))

    def _expand(self, Z):
        alpha, sizes = self.alpha, np.abs(self.alpha)
        self.s = kernel_values(self.kernel, self.X, Z) @ alpha - self.b
        self.size = kernel_sizes(self.kernel, self.X, Z) @ sizes + np.abs(self.b)
        self.half_norm = (alpha * (kernel_values(self.kernel, Z, Z) @ alpha)).sum() / 2
        self.half_size = (sizes * (kernel_sizes(self.kernel, Z, Z) @ sizes)).sum() / 2

    @property
    def written(self):
        """Support vectors and thresholds have eight digits, coefficients all."""
        return of_digits(self) + float(5e-8 * np.abs(self.b).sum() * self.C * self.v.sum())

    @property
    def C(self):
        return self.facts["example_cost"]

    @property
    def c(self):
        return self.C * self.v.sum() / 100

    def risk(self, t):
        there = self.signs != 0
        losses = np.maximum(0, 1 - self.signs * self.s * t) * there
        return self.v @ losses.sum(1), self.v @ ((1 + self.size * abs(t)) * there).sum(1)


def classes(case, model):
    """The truth of a model of several classes."""
    if hasattr(model, "thresholds"):
        return Machines(case, model)
    if not hasattr(model, "names"):
        return OneOfTwo(case, model)
    return (Expansions if hasattr(model, "classes") else Classes)(case, model)


class Classes(Truth):
    """Several classes, all at once or one against the rest."""

    def _model(self, model):
        facts, F = self.facts, self.X.shape[1]
        factor = (
            REAL(100) if "cost" in facts and facts["loss"] == "error-rate" else REAL(1)
        )  # svm_multiclass's weights
        W = np.zeros((F, len(model.names)), REAL)
        for k, row in enumerate(model.rows):
            for index, value in row.items():
                W[index - 1, k] = value / factor
        constant, bias = np.array(model.constant, REAL) / factor, facts["bias"]
        self.s, self.size = self.X @ W + constant, np.abs(self.X) @ np.abs(W) + np.abs(constant)
        self.half_norm = ((W**2).sum() + (((constant / REAL(bias)) ** 2).sum() if bias else 0)) / 2
        self.half_size = self.half_norm
        self.right = np.asarray(self.case.y)[:, None] == np.array(model.names)

    @property
    def C(self):
        facts = self.facts
        if "example_cost" in facts:
            return facts["example_cost"]
        return facts["cost"] / (100 if facts["loss"] == "error-rate" else 1 / 100) / self.v.sum()

    @property
    def c(self):
        return self.C * self.v.sum() / 100

    def risk(self, t):
        s, size, loss = self.s * t, self.size * abs(t), self.facts["loss"]
        if self.facts["multiclass"] == "one-vs-rest":
            terms = slope(loss, np.where(self.right, s, -s)).sum(1)
            return self.v @ terms, self.v @ bound(loss, size).sum(1)
        terms = (s + ~self.right).max(1) - (s * self.right).sum(1)
        return self.v @ terms, self.v @ (1 + 2 * size.max(1))


class Expansions(Classes):
    """Several classes at once, each a function of the kernel."""

    def _model(self, model):
        Z = np.array([line.dense(self.X.shape[1]) for line in model.lines], REAL)
        self.Z, self.kernel = Z.reshape(-1, self.X.shape[1]), model.kernel
        self.alpha = np.zeros((len(Z), len(model.names)), REAL)
        self.alpha[np.arange(len(Z)), model.classes] = [line.factor for line in model.lines]
        self.alpha /= 100 if "cost" in self.facts else 1  # svm_multiclass's weights
        self.definite = is_definite(model.kernel, np.vstack([self.X, self.Z]))
        self.right = np.asarray(self.case.y)[:, None] == np.array(model.names)
        self._expand(self.Z)

    def _expand(self, Z):
        alpha, sizes = self.alpha, np.abs(self.alpha)
        self.s = kernel_values(self.kernel, self.X, Z) @ alpha
        self.size = kernel_sizes(self.kernel, self.X, Z) @ sizes
        self.half_norm = (alpha * (kernel_values(self.kernel, Z, Z) @ alpha)).sum() / 2
        self.half_size = (sizes * (kernel_sizes(self.kernel, Z, Z) @ sizes)).sum() / 2

    @property
    def written(self):
        """Support vectors may have eight digits, coefficients have all."""
        return of_digits(self)
