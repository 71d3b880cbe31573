# SPDX-License-Identifier: BSD-3-Clause
"""Sets of labels with pair weights: the StructuredModel over them.

    w.Psi(x, y) = sum_k y_k W[k].(x, bias) + sum_{k<l} v[k,l] y_k y_l,   y in {0, 1}^K
    Delta = number of wrong labels

The argmax is over the local polytope, a linear-programming relaxation: an upper bound of the hinge
that is exact where no label is at one half, as with v >= 0. Its vertices are half-integral, so a
labelling is one number per label: 0 for off, 2 for on, and 1 + 4 m at one half, where bit r of m
says that the pair with the r-th label at one half is on by one half (it is off where v is not
positive).

w holds W row by row, K neighbours per feature and the constant feature last, then v[0,1], v[0,2],
..., v[K-2,K-1].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native import multilabel, sparse
from svmcut.data.examples import MultilabelExamples
from svmcut.structured.protocol import Samples, Separation

#: Labels at one half whose pairs with each other are kept; pairs of further ones count as off.
MAX_HALVES = 29


class LabelSets(Samples):
    """A StructuredModel of label sets with positive weights; see svmcut.structured.protocol.

    `bias` is the value of the constant feature, 0 for none. Without `pairs` the problem is one
    hinge problem per label.
    """

    def __init__(
        self, examples: MultilabelExamples, bias: float = 1.0, pairs: bool = True, threads: int = 1
    ):
        self.examples, self.bias, self.threads = examples, bias, threads
        self.n_samples = len(examples)
        #: K.
        self.n_labels = len(examples.names)
        self.weights = examples.weights
        self.pairs = pairs and self.n_labels > 1
        #: Rows of W.
        self.n_rows = examples.X.n_features + (bias != 0)
        self._upper = np.triu_indices(self.n_labels, 1)
        self.dim = self.n_rows * self.n_labels + self.pairs * len(self._upper[0])
        self.parts = np.arange(self.n_samples + 1, dtype=np.int64) * self.n_labels
        #: The features for C++.
        self.rows = sparse.Rows(examples.X)
        #: The labels for C++.
        self.sets = multilabel.Sets(examples.indptr, examples.labels)
        #: (n K,) int32, 2 where the label is right, else 0.
        self.gold = 2 * examples.gold().astype(np.int32).ravel()

    def split(self, w: NDArray) -> tuple[NDArray, NDArray | None]:
        """W (rows, K), a view, and v (K, K), symmetric; v is None without pairs."""
        size = self.n_rows * self.n_labels
        v = None
        if self.pairs:
            v = np.zeros((self.n_labels, self.n_labels))
            v[self._upper] = w[size:]
            v += v.T
        return w[:size].reshape(self.n_rows, self.n_labels), v

    def join(self, W: NDArray, v: NDArray | None) -> NDArray:
        """The w (dim,) of W and the upper triangle of v; None stands for 0."""
        if not self.pairs:
            return W.ravel().copy()
        return np.concatenate(
            [W.ravel(), np.zeros(len(self._upper[0])) if v is None else v[self._upper]]
        )

    def relax(self, W: NDArray, v: NDArray | None):
        """Doubled maximisers (n, K) int8 and H_n (n,)."""
        return multilabel.relax(
            self.rows, multilabel.Weights(W, v, self.bias), self.sets, 1.0, self.threads
        )

    def primal(self, W: NDArray, v: NDArray | None, C: float) -> float:
        """P(w); O(n K) and one pass over the features."""
        squared = float(np.vdot(W, W)) + (0.5 * float(np.vdot(v, v)) if v is not None else 0.0)
        return 0.5 * squared + C * self.weighted_sum(self.relax(W, v)[1])

    def separate(self, w: NDArray) -> Separation:
        """The most violated labelling of every sample."""
        W, v = self.split(np.ascontiguousarray(w, np.float64))
        doubled, slacks = self.relax(W, v)
        losses = 0.5 * np.abs(doubled - self.gold.reshape(doubled.shape)).sum(axis=1)
        return Separation(_encode(doubled, v).ravel(), slacks, losses)

    def joint(self, labels: NDArray, weights: NDArray | None = None) -> NDArray:
        """sum_n weights[n] (Psi(x_n, gold_n) - Psi(x_n, y_n)); O(n K + nonzeros of the samples with
        a wrong label)."""
        shape = (self.n_samples, self.n_labels)
        labels, gold = np.asarray(labels).reshape(shape), self.gold.reshape(shape)
        wrong = np.flatnonzero((labels != gold).any(axis=1))
        weights = np.ones(self.n_samples) if weights is None else np.asarray(weights, np.float64)
        coef = (
            0.5
            * (gold[wrong] - np.where(labels[wrong] & 1, 1, labels[wrong]))
            * weights[wrong, None]
        )
        W = np.zeros((self.n_rows, self.n_labels))
        multilabel.adjoint(self.rows, wrong, np.ascontiguousarray(coef), self.bias, W, self.threads)
        if not self.pairs:
            return W.ravel()
        v = np.zeros((self.n_labels, self.n_labels))
        for n in wrong.tolist():
            _add_pairs(v, gold[n], weights[n])
            _add_pairs(v, labels[n], -weights[n])
        return self.join(W, v)


def _encode(doubled: NDArray, v: NDArray | None) -> NDArray[np.int32]:
    """Labels (n, K) of doubled maximisers, with the pairs of halves that are on by one half."""
    labels = doubled.astype(np.int32)
    if v is None:
        return labels
    for n in np.flatnonzero((doubled == 1).any(axis=1)).tolist():
        halves = np.flatnonzero(doubled[n] == 1)[:MAX_HALVES]
        attract = v[np.ix_(halves, halves)] > 0
        labels[n, halves] += 4 * (attract @ (1 << np.arange(len(halves))))
    return labels


def _add_pairs(v: NDArray, labels: NDArray, weight: float) -> None:
    """Add weight q to the upper triangle of v."""
    used = np.flatnonzero(labels)
    if len(used) < 2:
        return
    y = labels[used]
    half = (y & 1).astype(bool)
    q = np.where(half[:, None] | half, 0.5, 1.0)
    halves = np.flatnonzero(half)[:MAX_HALVES]
    rest = np.flatnonzero(half)[MAX_HALVES:]
    if len(halves):
        q[np.ix_(halves, halves)] = 0.5 * ((y[halves] >> 2)[:, None] >> np.arange(len(halves)) & 1)
        q[np.ix_(rest, np.flatnonzero(half))] = q[np.ix_(np.flatnonzero(half), rest)] = 0.0
    v[np.ix_(used, used)] += weight * np.triu(q, 1)
