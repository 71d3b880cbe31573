# SPDX-License-Identifier: BSD-3-Clause
"""What the model of a file is worth: its primal value from the definitions of docs/certificates.md.

A Truth gives that of t times the model, every t of which is a feasible point of the problem. Beside
each value stands the size of what was added up for it, in which the rounding of a sum in double
precision is counted.
"""

from __future__ import annotations

import math

import numpy as np
from reference.risks import average_precision_quadratic, graded, ndcg_by_prefixes

REAL = np.longdouble
MEASURES = ("map", "ndcg")


def kernel_values(kernel, A, B):
    """K of all pairs of rows, in extended precision."""
    A, B = np.asarray(A, REAL), np.asarray(B, REAL)
    if kernel.name == "precomputed":
        return A @ kernel.matrix @ B.T
    if kernel.name == "rbf":
        return np.exp(-REAL(kernel.gamma) * ((A[:, None] - B[None]) ** 2).sum(2))
    dot = (A[:, None] * B[None]).sum(2)
    if kernel.name == "linear":
        return dot
    inner = REAL(kernel.scale) * dot + REAL(kernel.offset)
    return inner**kernel.degree if kernel.name == "polynomial" else np.tanh(inner)


def kernel_sizes(kernel, A, B):
    """What the rounding of kernel values in double precision is counted in: their terms in absolute
    value."""
    if kernel.name == "precomputed":
        return np.abs(A @ kernel.matrix @ B.T)
    if kernel.name == "rbf":  # of rows about their mean, as distances do not change with it
        both = np.vstack([A, B])
        A, B = A - both.mean(0), B - both.mean(0)
        lengths = (A**2).sum(1)[:, None] + (B**2).sum(1)[None]
        return 1 + abs(REAL(kernel.gamma)) * lengths * kernel_values(kernel, A, B)
    A, B = np.abs(np.asarray(A, REAL)), np.abs(np.asarray(B, REAL))
    dot = (A[:, None] * B[None]).sum(2)
    if kernel.name == "linear":
        return dot
    inner = abs(REAL(kernel.scale)) * dot + abs(REAL(kernel.offset))
    return inner**kernel.degree if kernel.name == "polynomial" else 1 + inner


def claims(kernel):
    """Whether kernels of that kind and parameters are positive semidefinite whatever the rows, as a
    bound needs."""
    if kernel.name == "precomputed":
        return kernel.may_claim
    if kernel.name == "polynomial":
        even = kernel.degree % 2 == 0 and kernel.offset == 0  # of a negative scale too
        return kernel.offset >= 0 and (kernel.scale >= 0 or even)
    return kernel.gamma >= 0 if kernel.name == "rbf" else kernel.name == "linear"


def is_definite(kernel, X):
    """Whether the kernel matrix of these rows has no eigenvalue clearly below 0, where its values
    are finite."""
    if kernel.name == "precomputed":
        return kernel.is_definite
    values = (
        kernel_values(kernel, X, X).astype(float)
        if kernel.name in ("polynomial", "sigmoid")
        else np.eye(1)
    )
    found = np.linalg.eigvalsh(values) if np.isfinite(values).all() else np.ones(1)
    return found[0] > -1e-9 * max(abs(found[-1]), 1e-300)


def of_digits(truth):
    """How much the eight digits of support vectors may change the primal value, and the rounding of
    its sums."""
    X, Z, (primal, total) = truth.X, truth.Z, truth.primal()
    away = [(np.abs(X - z) / np.maximum(np.abs(X), REAL(1e-300))).max(1) for z in Z]
    rows = [X[np.argmin(found)] if found.min() <= 1e-7 else z for found, z in zip(away, Z)]
    truth._expand(np.array(rows, REAL).reshape(Z.shape))
    trained = truth.primal()[0]
    truth._expand(Z)
    return 1.01 * abs(primal - trained) + 1e-13 * total


class Truth:
    """Primal values of one model.

    Attributes
    ----------
    n_pairs, n_queries : int
        Of rankings.
    definite : bool
        Whether the kernel matrix of the model and the examples has no eigenvalue clearly below 0.
    """

    definite = True
    kernel = None

    @property
    def written(self):
        """How much the primal value may change as weights are rounded to the digits of the file."""
        return 2.0**-24 * self.primal()[1]

    def __init__(self, case, model):
        self.case, self.facts = case, case.facts
        self.X = np.asarray(case.X, REAL)
        self.v = np.asarray(case.facts.get("weights", np.ones(len(self.X))), REAL)
        self._model(model)

    def _model(self, model):
        raise NotImplementedError

    def told(self, report):
        """Takes in what the report alone knows of the model."""

    def risk(self, t):
        """C times the risk of t times the model, and the size of its terms; both where C stands for
        1."""
        raise NotImplementedError

    def primal(self, t=1.0):
        """Primal value of t times the model, and the size of what was added for it."""
        value, size = self.risk(REAL(t))
        C = REAL(self.C)
        return float(self.half_norm * t * t + C * value), float(self.half_size * t * t + C * size)

    @property
    def C(self):
        """The number in front of the risk."""
        n, facts = self.structures, self.facts
        return facts["example_cost"] if "example_cost" in facts else facts["cost"] / n

    @property
    def c(self):
        """C in the unit of -c."""
        facts = self.facts
        return facts["cost"] if "cost" in facts else facts["example_cost"] * self.structures

    @property
    def target(self):
        """The gap that is asked for as (absolute, relative to the primal); None where only a KKT
        tolerance is."""
        if "gap" in self.facts:
            return None, self.facts["gap"]
        if "epsilon" in self.facts:
            return self.c * self.facts["epsilon"], None
        return None


class Vectors(Truth):
    """Models of svm_light's layout: weights or expansions, for classification and rankings; or of
    Fourier features."""

    def _model(self, model):
        X = self.X
        self.y = np.asarray(self.case.y, float)
        self.positive, self.threshold = self.y > 0, REAL(model.threshold)
        if hasattr(model, "cosines"):
            self._waves(model)
            return
        self.kernel = model.kernel
        width = max([X.shape[1], *(index for line in model.lines for index, _ in line.pairs)])
        self.X = X = np.hstack([X, np.zeros((len(X), width - X.shape[1]), REAL)])
        self.Z = np.array([line.dense(width) for line in model.lines], REAL).reshape(-1, width)
        self.alpha = np.array([line.factor for line in model.lines], REAL)
        self.definite = is_definite(model.kernel, np.vstack([X, self.Z]))
        self._expand(self.Z)

    def _expand(self, Z):
        """Scores and norm with these support vectors."""
        alpha, bias = self.alpha, self.facts["bias"]
        sizes, inner_sizes = kernel_sizes(self.kernel, self.X, Z), kernel_sizes(self.kernel, Z, Z)
        self.s = kernel_values(self.kernel, self.X, Z) @ alpha - self.threshold
        self.size = sizes @ np.abs(alpha) + abs(self.threshold)
        self.half_norm = alpha @ kernel_values(self.kernel, Z, Z) @ alpha / 2
        self.half_size = np.abs(alpha) @ inner_sizes @ np.abs(alpha) / 2
        if bias:
            self.half_norm += (self.threshold / REAL(bias)) ** 2 / 2
        if self.facts.get("multiclass") == "crammer-singer":  # of two classes: w/2 and -w/2
            self.half_norm, self.half_size = self.half_norm / 2, self.half_size / 2

    def _waves(self, model):
        """Scores and norm of weights of cosines and sines."""
        w = np.array([model.cosines, [line.factor for line in model.lines]], REAL)
        omega = np.array([line.dense(self.X.shape[1]) for line in model.lines], REAL).T
        angles, sizes = self.X @ omega, np.abs(self.X) @ np.abs(omega)
        root = np.sqrt(REAL(len(model.lines)))
        self.s = (np.cos(angles) @ w[0] + np.sin(angles) @ w[1]) / root - self.threshold
        self.size = (1 + sizes) @ np.abs(w).sum(0) / root + abs(self.threshold)
        self.half_norm = self.half_size = (w**2).sum() / 2

    @property
    def written(self):
        """Weights have single precision; support vectors and the threshold eight digits,
        coefficients all."""
        if self.kernel is None:  # all digits
            return 1e-9 * self.primal()[0]
        if self.kernel.name == "linear" and "solver" not in self.facts:
            return super().written
        return of_digits(self) + float(5e-8 * abs(self.threshold) * self.C * self.v.sum())

    @property
    def is_sum(self):
        """Whether the risk is the plain sum of hinge losses."""
        facts = self.facts
        return (
            facts["loss"] == "error-rate"
            and facts["rescaling"] == "margin"
            and facts["slack_norm"] == 1
        )

    @property
    def C(self):
        facts = self.facts
        if not self.is_sum:
            return facts["cost"]
        return (
            facts["example_cost"] if "example_cost" in facts else 100 * facts["cost"] / self.v.sum()
        )

    @property
    def c(self):
        return (
            self.facts["example_cost"] * self.v.sum() / 100
            if "example_cost" in self.facts
            else self.facts["cost"]
        )

    def risk(self, t):
        facts, s, size = self.facts, self.s * t, self.size * abs(t)
        if self.is_sum:
            return self.v @ np.maximum(0, 1 - np.where(self.positive, s, -s)), self.v @ (1 + size)
        n, P = len(s), int(self.positive.sum())
        if facts["loss"] == "roc-area":
            apart = s[self.positive][:, None] - s[~self.positive][None, :]
            sizes = size[self.positive][:, None] + size[~self.positive][None, :]
            return 100 * np.maximum(0, 1 - apart).mean(), 100 * (1 + sizes).mean()
        if facts["loss"] == "average-precision":
            value = average_precision_quadratic(s, self.positive)
            return value, 100 + 2 * (
                size[self.positive].sum() * (n - P) + size[~self.positive].sum() * P
            )
        value = self._tables(s)
        bound = 100 + 100 / n * size.sum() * (100 if facts["rescaling"] == "slack" else 1)
        return (value**2, bound**2) if facts["slack_norm"] == 2 else (value, bound)

    def _tables(self, s):
        """Maximum over all tables of errors: their best labelling flips the lowest positives and
        highest negatives."""
        facts, n, P = self.facts, len(s), int(self.positive.sum())
        lost = np.concatenate([[REAL(0)], np.cumsum(np.sort(s[self.positive]))])
        gained = np.concatenate([[REAL(0)], np.cumsum(np.sort(-s[~self.positive]))])
        a, b = (
            (P - np.arange(P + 1))[:, None].astype(REAL),
            np.arange(n - P + 1)[None, :].astype(REAL),
        )
        some, k = np.maximum(a + b, 1), max(1, math.floor(P * facts.get("p", 0.0)))
        precision, recall = np.where(a + b > 0, a / some, 0), a / max(P, 1)
        deltas = {
            "zero-one": ((a < P) | (b > 0)) / REAL(100),
            "f1": 1 - 2 * a / np.maximum(P + a + b, 1),
            "error-rate": (P - a + b) / n,
            "prbep": 1 - np.minimum(precision, recall),
            "prec-at-k": 1 - precision,
            "rec-at-k": 1 - recall + 0 * b,
        }
        delta = 100 * deltas[facts["loss"]]
        admitted = {
            "prbep": a + b == P,
            "prec-at-k": a + b >= min(k, n),
            "rec-at-k": a + b <= min(k, n),
        }
        seen = admitted.get(facts["loss"], True) & (delta > 0)
        delta = np.sqrt(delta) if facts["slack_norm"] == 2 else delta
        scores = 100 / REAL(n) * (lost[:, None] + gained[None, :])
        value = delta * (1 - scores) if facts["rescaling"] == "slack" else delta - scores
        return max(REAL(0), value[seen].max()) if np.any(seen) else REAL(0)


class Rankings(Vectors):
    """Pairs of one query, normalised as the loss says, or rankings for a measure; C is in front of
    the mean."""

    def _model(self, model):
        super()._model(model)
        qid = np.zeros(len(self.y)) if self.case.qid is None else np.array(self.case.qid)
        self.blocks = []
        for query in np.unique(qid):
            rows = np.flatnonzero(qid == query)
            grade = (
                self.y[rows]
                if self.facts["loss"] not in MEASURES
                else graded(self.y[rows], self.facts["loss"])
            )
            above = grade[:, None] > grade[None, :]
            if self.facts["loss"] == "propensities":  # a click is to be above all others
                above = (grade > 0)[:, None] & ~np.eye(len(rows), dtype=bool)
            self.blocks.append((rows, above))
        self.n_queries, self.n_pairs = (
            len(self.blocks),
            sum(int(above.sum()) for _, above in self.blocks),
        )

    @property
    def is_sum(self):
        return False

    @property
    def C(self):
        return self.c

    @property
    def c(self):
        facts = self.facts
        return facts["cost"] if "cost" in facts else facts["example_cost"] * self.n_queries

    @property
    def target(self):
        found = super().target
        if found and found[0] is not None and self.facts["loss"] == "swapped-pairs":
            return found[0] * self.n_pairs / self.n_queries, None
        return found

    def risk(self, t):
        total = np.zeros(2, REAL)
        for rows, above in self.blocks:
            s, size = self.s[rows] * t, self.size[rows] * abs(t)
            if self.facts["loss"] in MEASURES:
                total += self._measured(s, self.y[rows], size, above) / self.n_queries
                continue
            terms = np.maximum(0, 1 - (s[:, None] - s[None, :]))[above].sum()
            sizes = (1 + size[:, None] + size[None, :])[above].sum()
            part = np.array([terms, sizes]) / self.n_queries
            if self.facts["loss"] == "swapped-fraction":
                part /= max(1, above.sum())
            elif self.facts["loss"] == "pairs":
                part *= REAL(self.n_queries) / max(1, self.n_pairs)
            total += part
        return total

    def _measured(self, s, y, size, above):
        """The most violated ranking of one query, and the size of its terms."""
        if not above.any():
            return np.zeros(2, REAL)
        m, relevant = REAL(2) / int(above.sum()), y >= 1
        if self.facts["loss"] == "map":
            value = average_precision_quadratic(s, relevant, REAL(1), m)
        else:
            value = ndcg_by_prefixes(s, y, self.facts["at"])
        return np.array([value, 1 + m * (size[:, None] + size[None, :])[above].sum()])
