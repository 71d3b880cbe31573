# SPDX-License-Identifier: BSD-3-Clause
"""What the model of a file is worth: its primal value from the definitions of docs/certificates.md.

A Truth gives that of t times the model, every t of which is a feasible point of the problem. Beside each value stands
the size of what was added up for it, in which the rounding of a sum in double precision is counted.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from reference.risks import average_precision_quadratic, graded, ndcg_by_prefixes

REAL = np.longdouble
MEASURES = ("map", "ndcg")


def kernel_values(kernel, A, B):
    """K of all pairs of rows, in extended precision."""
    A, B = np.asarray(A, REAL), np.asarray(B, REAL)
    if kernel.name == "rbf":
        return np.exp(-REAL(kernel.gamma) * ((A[:, None] - B[None]) ** 2).sum(2))
    dot = (A[:, None] * B[None]).sum(2)
    if kernel.name == "linear":
        return dot
    inner = REAL(kernel.scale) * dot + REAL(kernel.offset)
    return inner**kernel.degree if kernel.name == "polynomial" else np.tanh(inner)


def kernel_sizes(kernel, A, B):
    """What the rounding of kernel values in double precision is counted in: their terms in absolute value."""
    values = kernel_values(kernel, A, B)
    A, B = np.abs(np.asarray(A, REAL)), np.abs(np.asarray(B, REAL))
    dot = (A[:, None] * B[None]).sum(2)
    if kernel.name == "linear":
        return dot
    if kernel.name == "rbf":
        return 1 + REAL(kernel.gamma) * ((A**2).sum(1)[:, None] + (B**2).sum(1)[None]) * values
    inner = abs(REAL(kernel.scale)) * dot + abs(REAL(kernel.offset))
    return inner**kernel.degree if kernel.name == "polynomial" else 1 + inner


def is_definite(kernel, X):
    """Whether the kernel matrix of these rows has no eigenvalue clearly below 0, where its values are finite."""
    values = kernel_values(kernel, X, X).astype(float) if kernel.name in ("polynomial", "sigmoid") else np.eye(1)
    found = np.linalg.eigvalsh(values) if np.isfinite(values).all() else np.ones(1)
    return found[0] > -1e-9 * max(abs(found[-1]), 1e-300)


def of_digits(truth):
    """How much the eight digits of support vectors may change the primal value, and the rounding of its sums."""
    X, Z, (primal, total) = truth.X, truth.Z, truth.primal()
    near = [np.all(np.abs(X - z) <= 1e-7 * np.maximum(np.abs(X), 1e-300), axis=1) for z in Z]
    rows = [X[np.argmax(found)] if found.any() else z for found, z in zip(near, Z)]
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

    def risk(self, t):
        """C times the risk of t times the model, and the size of its terms; both where C stands for 1."""
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
        """The gap that is asked for as (absolute, relative to the primal); None where only a KKT tolerance is."""
        if "gap" in self.facts:
            return None, self.facts["gap"]
        if "epsilon" in self.facts:
            return self.c * self.facts["epsilon"], None
        return None


class Vectors(Truth):
    """Models of svm_light's layout: weights or expansions, for classification and rankings."""

    def _model(self, model):
        X = self.X
        self.y = np.asarray(self.case.y, float)
        self.positive, self.kernel, self.threshold = self.y > 0, model.kernel, REAL(model.threshold)
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

    @property
    def written(self):
        """Weights have single precision; support vectors and the threshold eight digits, coefficients all."""
        if self.kernel.name == "linear" and "solver" not in self.facts:
            return super().written
        return of_digits(self) + float(5e-8 * abs(self.threshold) * self.C * self.v.sum())

    @property
    def is_sum(self):
        """Whether the risk is the plain sum of hinge losses."""
        facts = self.facts
        return facts["loss"] == "error-rate" and facts["rescaling"] == "margin" and facts["slack_norm"] == 1

    @property
    def C(self):
        facts = self.facts
        if not self.is_sum:
            return facts["cost"]
        return facts["example_cost"] if "example_cost" in facts else 100 * facts["cost"] / self.v.sum()

    @property
    def c(self):
        return self.facts["example_cost"] * self.v.sum() / 100 if "example_cost" in self.facts else self.facts["cost"]

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
            return value, 100 + 2 * (size[self.positive].sum() * (n - P) + size[~self.positive].sum() * P)
        value = self._tables(s)
        bound = 100 + 100 / n * size.sum() * (100 if facts["rescaling"] == "slack" else 1)
        return (value**2, bound**2) if facts["slack_norm"] == 2 else (value, bound)

    def _tables(self, s):
        """Maximum over all tables of errors: their best labelling flips the lowest positives and highest negatives."""
        facts, n, P = self.facts, len(s), int(self.positive.sum())
        lost = np.concatenate([[REAL(0)], np.cumsum(np.sort(s[self.positive]))])
        gained = np.concatenate([[REAL(0)], np.cumsum(np.sort(-s[~self.positive]))])
        a, b = (P - np.arange(P + 1))[:, None].astype(REAL), np.arange(n - P + 1)[None, :].astype(REAL)
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
        admitted = {"prbep": a + b == P, "prec-at-k": a + b >= min(k, n), "rec-at-k": a + b <= min(k, n)}
        seen = admitted.get(facts["loss"], True) & (delta > 0)
        delta = np.sqrt(delta) if facts["slack_norm"] == 2 else delta
        scores = 100 / REAL(n) * (lost[:, None] + gained[None, :])
        value = delta * (1 - scores) if facts["rescaling"] == "slack" else delta - scores
        return max(REAL(0), value[seen].max()) if np.any(seen) else REAL(0)


class Rankings(Vectors):
    """Pairs of one query, normalised as the loss says, or rankings for a measure; C is in front of the mean."""

    def _model(self, model):
        super()._model(model)
        qid = np.zeros(len(self.y)) if self.case.qid is None else np.array(self.case.qid)
        self.blocks = []
        for query in np.unique(qid):
            rows = np.flatnonzero(qid == query)
            grade = self.y[rows] if self.facts["loss"] not in MEASURES else graded(self.y[rows], self.facts["loss"])
            self.blocks.append((rows, grade[:, None] > grade[None, :]))
        self.n_queries, self.n_pairs = len(self.blocks), sum(int(above.sum()) for _, above in self.blocks)

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


class Sequences(Truth):
    """Chains, linear or with a kernel: every labelling of every sequence is looked at."""

    def _model(self, model):
        self.K, order = max(self.case.y), self.facts["order"]
        F, self.order = self.X.shape[1], order
        if hasattr(model, "tokens"):
            Z = np.zeros((len(model.tokens), F), REAL)
            alpha = np.zeros((len(model.tokens), self.K), REAL)
            for u, line in enumerate(model.tokens):
                for index, value in line.pairs:
                    if index <= self.K:
                        alpha[u, index - 1] = REAL(line.factor) * value
                    else:
                        Z[u, index - self.K - 1] = value
            values = kernel_values(model.kernel, self.X, Z)
            self.nodes = values @ alpha
            self.node_size = kernel_sizes(model.kernel, self.X, Z) @ np.abs(alpha)
            norm = (alpha * (kernel_values(model.kernel, Z, Z) @ alpha)).sum()
            norm_size = (np.abs(alpha) * (kernel_sizes(model.kernel, Z, Z) @ np.abs(alpha))).sum()
            weights = {index: REAL(value) for index, value in model.weights.items()}
            self.behind = None
            self.transition = weights
        else:
            base = sum(self.K ** (m + 1) for m in range(order + 1)) + 1
            E = np.zeros((self.K * (self.K + 1) + 1, model.features), REAL)
            self.transition = {}
            for index, value in model.weights.items():
                if index > base + model.features:
                    slot, f = divmod(index - base - 1, model.features)
                    E[slot, f] = value
                else:
                    self.transition[index] = REAL(value)
            E = np.hstack([E, np.zeros((len(E), max(0, F - model.features)), REAL)])[:, :F]
            emissions, sizes = self.X @ E.T, np.abs(self.X) @ np.abs(E).T
            self.nodes, self.node_size = emissions[:, 1 : self.K + 1], sizes[:, 1 : self.K + 1]
            self.behind = emissions if self.facts["emissions"] else None
            self.behind_size = sizes
            norm = norm_size = (E**2).sum()
        total = sum((value**2 for value in self.transition.values()), REAL(0))
        self.half_norm, self.half_size = (norm + total) / 2, (norm_size + total) / 2
        self.slope = [self._above(*part) for part in self._parts()]

    def _parts(self):
        """First and last token of every sequence."""
        bounds = np.flatnonzero(np.diff(self.case.qid)) + 1
        starts = [0, *bounds.tolist()]
        return list(zip(starts, [*starts[1:], len(self.case.qid)]))

    @property
    def structures(self):
        return len(self.slope)

    def _score(self, tags, start):
        """Score of one labelling, and the size of its terms."""
        value, size = REAL(0), REAL(0)
        for k, tag in enumerate(tags):
            value, size = value + self.nodes[start + k, tag - 1], size + self.node_size[start + k, tag - 1]
            if self.behind is not None and k > 0:
                slot = tag + self.K * tags[k - 1]
                value, size = value + self.behind[start + k, slot], size + self.behind_size[start + k, slot]
            for m in range(1, min(self.order, k) + 1):
                index = tag + sum(self.K**j * tags[k - j] for j in range(1, m + 1))
                weight = self.transition.get(index, REAL(0))
                value, size = value + weight, size + abs(weight)
        return value, size

    def _above(self, start, end):
        """For every labelling: wrong tags, score above the right one's, size."""
        gold = tuple(self.case.y[start:end])
        right, right_size = self._score(gold, start)
        rows = []
        for tags in itertools.product(range(1, self.K + 1), repeat=end - start):
            value, size = self._score(tags, start)
            rows.append((sum(a != b for a, b in zip(tags, gold)), value - right, size + right_size))
        return np.array(rows, REAL)

    def risk(self, t):
        facts, total = self.facts, np.zeros(2, REAL)
        for table in self.slope:
            wrong, above, size = table.T
            wrong = np.minimum(wrong, 1) if facts["loss"] == "zero-one" else wrong
            loss = np.sqrt(wrong) if facts["slack_norm"] == 2 else wrong
            slack = facts["rescaling"] == "slack" or facts["loss"] == "zero-one"
            values = np.where(wrong > 0, loss * (1 + above * t) if slack else loss + above * t, 0)
            found, sizes = max(REAL(0), values.max()), (loss.max() * (1 + size.max() * abs(t)))
            total += (found**2, sizes**2) if facts["slack_norm"] == 2 else (found, sizes)
        return total


class LabelSets(Truth):
    """Label sets: the hinge relaxed to the local polytope, whose corners have every label at 0, 1/2 or 1."""

    def _model(self, model):
        K, F, bias = len(model.labels), self.X.shape[1], self.facts["bias"]
        W, v = np.zeros((max(F, model.features), K), REAL), np.zeros((K, K), REAL)
        for k, line in enumerate(model.rows):
            for index, value in line.pairs:
                W[index - 1, k] = value
        for k, line in enumerate(model.pairs):
            for place, value in line.pairs:
                v[k, place - 1] = value
        constant = np.array([line.factor for line in model.rows], REAL)
        W = W[:F]
        self.s, self.size = self.X @ W + constant, np.abs(self.X) @ np.abs(W) + np.abs(constant)
        self.half_norm = ((W**2).sum() + (v**2).sum() + (((constant / REAL(bias)) ** 2).sum() if bias else 0)) / 2
        self.half_size = self.half_norm
        self.gold = np.array([[label in row for label in model.labels] for row in self.case.y], REAL)
        p = np.array(list(itertools.product((0.0, 0.5, 1.0), repeat=K)), REAL)
        low, both = np.maximum(0, p[:, :, None] + p[:, None, :] - 1), np.minimum(p[:, :, None], p[:, None, :])
        self.corners = p, (np.where(v < 0, low, both) * v).sum((1, 2))
        self.right = (self.gold[:, :, None] * self.gold[:, None, :] * v).sum((1, 2))
        self.pair_size = np.abs(v).sum()

    @property
    def structures(self):
        return len(self.X)

    def risk(self, t):
        p, pairs = self.corners
        wrong = np.abs(p[None] - self.gold[:, None]).sum(2)
        scores = t * (self.s @ p.T + pairs) + wrong
        right = t * ((self.s * self.gold).sum(1) + self.right)
        sizes = self.gold.shape[1] + abs(t) * (2 * self.size.sum(1) + self.pair_size)
        return np.maximum(0, scores.max(1) - right).sum(), sizes.sum()
