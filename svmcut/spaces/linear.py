# SPDX-License-Identifier: BSD-3-Clause
"""The feature space of a linear machine, with the constant feature of ``--bias`` behind the last column.

Elements are float64 vectors of length ``dim``; X is never touched, so the constant feature costs no copy.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from svmcut._native import sparse


class LinearSpace:
    """Rows X (n, d) extended by a constant feature.

    Parameters
    ----------
    X : Csr
        (n, d) rows.
    bias : float
        Value of the constant feature; its weight is regularised like any other. 0 for none.
    threads : int
        Threads of the C calls; results do not depend on it.

    Attributes
    ----------
    dim : int
        d + 1 with the constant feature, d without.
    rows : sparse.Rows
        X as the C side sees it.
    """

    def __init__(self, X, bias: float = 0.0, threads: int = 1):
        self.X, self.bias, self.threads = X, bias, threads
        self.dim = X.n_features + (bias != 0)
        self.rows = sparse.Rows(X)

    @cached_property
    def _columns(self):
        """Bounds of column ranges with about equally many entries, one range a thread."""
        d = self.X.n_features
        if self.threads == 1 or self.X.nnz == 0:
            return np.array([0, d])
        start, stop = self.X.indptr[0], self.X.indptr[-1]
        sample = np.sort(self.X.indices[start : stop : max(1, self.X.nnz // 100_000)])
        inner = sample[[len(sample) * k // self.threads for k in range(1, self.threads)]]
        # by hand: np.unique imports numpy.ma, which takes longer than a small run
        inner = inner[np.diff(inner, prepend=0) > 0]
        return np.concatenate([[0], inner, [d]]).astype(np.int64)

    def zero(self):
        return np.zeros(self.dim)

    def scores(self, w):
        """A w: (n,) scores; O(nonzeros)."""
        s = np.empty(self.X.n_rows)
        sparse.scores(self.rows, w, self.bias * w[-1] if self.bias else 0.0, s, self.threads)
        return s

    def adjoint(self, coef):
        """A^T coef; rows with coefficient 0 are not read, O(nonzeros of the others)."""
        a = np.zeros(self.dim)
        sparse.adjoint(self.rows, coef, a, self._columns, self.threads)
        if self.bias:
            a[-1] = self.bias * float(np.sum(coef))
        return a

    def dot(self, a, b) -> float:
        return sparse.dot(a, b, self.threads)

    def dots(self, elements, a):
        """(k,) dot products of every element with a, each to the last bit that of `dot`."""
        out = np.empty(len(elements))
        sparse.dots(list(elements), a, out, self.threads)
        return out

    def combine(self, weights, elements):
        """sum_k weights[k] elements[k]"""
        out = np.empty(self.dim)
        sparse.combine(np.ascontiguousarray(weights, dtype=np.float64), list(elements), out, self.threads)
        return out

    def blend(self, p: float, a, q: float, b):
        """p a + q b"""
        out = np.empty(len(a))
        sparse.blend(p, a, q, b, out, self.threads)
        return out

    def split(self, w):
        """(feature weights (d,), value of the constant term: bias times its weight)."""
        if not self.bias:
            return w, 0.0
        return w[:-1], self.bias * float(w[-1])
