# SPDX-License-Identifier: BSD-3-Clause
"""Truths of sequences and label sets: every labelling is looked at."""

from __future__ import annotations

import itertools

import numpy as np

from attack.truths import REAL, Truth, is_definite, kernel_sizes, kernel_values, of_digits


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
            self.alpha, self.Z, self.kernel = alpha, Z, model.kernel
            self.definite = is_definite(model.kernel, np.vstack([self.X, Z]))
            self.behind, self.transition = (
                None,
                {index: REAL(value) for index, value in model.weights.items()},
            )
            self._expand(Z)
            return
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
        self._weigh((E**2).sum(), (E**2).sum())

    def _expand(self, Z):
        """Scores and norm with these support tokens."""
        alpha, sizes = self.alpha, np.abs(self.alpha)
        self.nodes = kernel_values(self.kernel, self.X, Z) @ alpha
        self.node_size = kernel_sizes(self.kernel, self.X, Z) @ sizes
        norm = (alpha * (kernel_values(self.kernel, Z, Z) @ alpha)).sum()
        self._weigh(norm, (sizes * (kernel_sizes(self.kernel, Z, Z) @ sizes)).sum())

    @property
    def written(self):
        """Support tokens may have eight digits, as weights have."""
        return super().written if self.kernel is None else of_digits(self) + super().written

    def _weigh(self, norm, norm_size):
        """The norm, with transitions; scores of all labellings."""
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
            value, size = (
                value + self.nodes[start + k, tag - 1],
                size + self.node_size[start + k, tag - 1],
            )
            if self.behind is not None and k > 0:
                slot = tag + self.K * tags[k - 1]
                value, size = (
                    value + self.behind[start + k, slot],
                    size + self.behind_size[start + k, slot],
                )
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
    """Label sets: the hinge relaxed to the local polytope, whose corners have every label at 0, 1/2
    or 1."""

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
        self.half_norm = (
            (W**2).sum() + (v**2).sum() + (((constant / REAL(bias)) ** 2).sum() if bias else 0)
        ) / 2
        self.half_size = self.half_norm
        self.gold = np.array(
            [[label in row for label in model.labels] for row in self.case.y], REAL
        )
        p = np.array(list(itertools.product((0.0, 0.5, 1.0), repeat=K)), REAL)
        low, both = (
            np.maximum(0, p[:, :, None] + p[:, None, :] - 1),
            np.minimum(p[:, :, None], p[:, None, :]),
        )
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
