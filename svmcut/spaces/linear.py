# SPDX-License-Identifier: BSD-3-Clause
"""The feature space of a linear machine, with the constant feature of ``--bias`` after the last
column.

Elements are float64 vectors of length ``dim``; X is not copied for the constant feature.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from svmcut._native import penalty, sparse
from svmcut.data.labels import distinct
from svmcut.spaces.protocol import Elements
from svmcut.spec import schemas

#: Least dimension for which a cut is kept as coefficients where rows are few.
LARGE_DIM = 1_000_000
#: Least dimension for which a normal may be kept without its zeros.
SPARSE_DIM = 1000
#: A normal with fewer nonzeros than its length over this is kept as those.
MOSTLY_ZERO = 4


class RowNormal:
    """The element A^T coef, kept as coef: exact, and small where rows are fewer than features; its
    scores A A^T coef are kept if known, else None."""

    __slots__ = ("coef", "scores")

    def __init__(self, coef, scores=None):
        self.coef, self.scores = coef, scores

    @property
    def nbytes(self) -> int:
        return self.coef.nbytes + (0 if self.scores is None else self.scores.nbytes)


class ArraySpace(Elements):
    """A space whose elements are float64 arrays (dim,)."""

    dim: int
    threads: int

    def zero(self):
        return np.zeros(self.dim)

    def combine(self, weights, elements):
        out = np.empty(self.dim)
        sparse.combine(
            np.ascontiguousarray(weights, dtype=np.float64), list(elements), out, self.threads
        )
        return out

    def blend(self, p: float, a, q: float, b):
        out = np.empty(len(a))
        sparse.blend(p, a, q, b, out, self.threads)
        return out


class WeightSpace(ArraySpace):
    """Weights of features, then of the constant feature; it has no rows.

    `bias` is the value of the constant feature, whose weight is regularised like any other; 0 for
    none. Results do not depend on `threads`.
    """

    def __init__(self, n_features: int, bias: float = 0.0, threads: int = 1):
        self.bias, self.threads = bias, threads
        #: n_features, and one more with the constant feature.
        self.dim = n_features + (bias != 0)

    def kinds(self) -> schemas.Kinds:
        w, none = schemas.weights(self.dim), schemas.reals(0)
        return schemas.Kinds(w, self._normals(w), none, none)

    def _normals(self, *others: schemas.Check) -> schemas.Check:
        """The check that passes these others, or a vector of this space stored without its
        zeros."""
        size = schemas.count(self.dim, self.dim)
        return schemas.either(
            schemas.instance(sparse.Nonzeros, values=schemas.weights(None), size=size), *others
        )

    def dot(self, a, b) -> float:
        return sparse.dot(a, b, self.threads)

    def dots(self, elements, a, scores=None):
        out = np.empty(len(elements))
        sparse.dots(list(elements), a, out, self.threads)
        return out

    def combined_square(self, weights, elements) -> float:
        """|sum_k weights[k] elements[k]|^2, to the last bit; the sum is not stored."""
        weights = np.ascontiguousarray(weights, dtype=np.float64)
        return sparse.combined_square(weights, list(elements), self.dim, self.threads)

    def keep(self, a, coef, scores=None):
        """The normal as a bundle of cuts stores it; see `without_zeros`."""
        return self.without_zeros(a)

    def without_zeros(self, a):
        """The same vector for `dots` and `combine`, stored without zeros where most entries are
        0."""
        kept = sparse.nonzeros(a, self.dim // MOSTLY_ZERO) if self.dim >= SPARSE_DIM else None
        return a if kept is None else kept

    def split(self, w):
        """Feature weights (d,), and the constant term: bias times its weight."""
        if not self.bias:
            return w, 0.0
        return w[:-1], self.bias * float(w[-1])


class LinearSpace(WeightSpace):
    """Rows X (n, d) extended by a constant feature."""

    def __init__(self, X, bias: float = 0.0, threads: int = 1):
        super().__init__(X.n_features, bias, threads)
        #: X for C.
        self.X, self.rows, self.n_rows = X, sparse.Rows(X), X.n_rows

    @property
    def should_keep_coefficients(self) -> bool:
        """See Elements and `keep`."""
        return self.dim >= LARGE_DIM and 2 * self.n_rows <= self.dim

    @cached_property
    def _ranges(self):
        """Ranges of columns with about equally many entries; None where adjoints are not split."""
        count = sparse.ranges(self.rows, self.threads)
        if count == 1:
            return None
        start, stop = self.X.indptr[0], self.X.indptr[-1]
        sample = np.sort(self.X.indices[start : stop : max(1, self.X.nnz // 100_000)])
        inner = sample[[len(sample) * k // count for k in range(1, count)]]
        inner = distinct(inner)
        inner = inner[inner > 0]
        return sparse.Ranges(
            self.rows, np.concatenate([[0], inner, [self.X.n_features]]).astype(np.int64)
        )

    @cached_property
    def columns(self):
        """X by columns, a copy."""
        return penalty.Columns(self.rows)

    def take(self, rows) -> LinearSpace:
        """The space of these rows."""
        return LinearSpace(self.X.take(rows), self.bias, self.threads)

    def kinds(self) -> schemas.Kinds:
        w, scores = schemas.weights(self.dim), schemas.reals(self.X.n_rows)
        normal = schemas.instance(RowNormal, coef=scores, scores=schemas.maybe(scores))
        return schemas.Kinds(w, self._normals(w, normal), scores, scores)

    def scores(self, w):
        """A w: (n,) scores; O(nonzeros)."""
        s = np.empty(self.X.n_rows)
        sparse.scores(self.rows, w, self.bias * w[-1] if self.bias else 0.0, s, self.threads)
        return s

    def adjoint(self, coef):
        """A^T coef; O(nonzeros of the rows with a nonzero coefficient)."""
        a = np.zeros(self.dim)
        sparse.adjoint(self.rows, coef, a, self._ranges, self.threads)
        if self.bias:
            a[-1] = self.bias * float(np.sum(coef))
        return a

    def dots(self, elements, a, scores=None):
        """Dot products of the elements with a; `scores` are those of a, if known."""
        if not _has_normals(elements):
            return super().dots(elements, a)
        out = np.empty(len(elements))
        # (A^T coef).a = coef.(A a): one pass for all
        s = self.scores(a) if scores is None else scores
        for k, element in enumerate(elements):
            out[k] = (
                self.dot(element.coef, s)
                if isinstance(element, RowNormal)
                else self.dot(element, a)
            )
        return out

    def combine(self, weights, elements):
        return (self._combine_normals if _has_normals(elements) else super().combine)(
            weights, elements
        )

    def combined_square(self, weights, elements) -> float:
        """|sum_k weights[k] elements[k]|^2, to the last bit where the sum is formed.

        If the scores of all elements are known, |A^T c|^2 = c.(A A^T c) needs no feature. Its
        rounding is like that of the primal: of a sum of multipliers times margins.
        """
        if _has_normals(elements) and all(_has_scores(element) for element in elements):
            weights, c, s = np.asarray(weights, np.float64), *np.empty((2, self.n_rows))
            sparse.combine(weights, [element.coef for element in elements], c, self.threads)
            sparse.combine(weights, [element.scores for element in elements], s, self.threads)
            return max(0.0, self.dot(c, s))
        if _has_normals(elements):
            w = self._combine_normals(weights, elements)
            return self.dot(w, w)
        return super().combined_square(weights, elements)

    def _combine_normals(self, weights, elements):
        """`combine` where some elements are kept as coefficients; one pass."""
        kept = np.array([isinstance(element, RowNormal) for element in elements])
        coef = np.zeros(self.X.n_rows)
        normals = [element.coef for element in elements if isinstance(element, RowNormal)]
        sparse.combine(np.asarray(weights, np.float64)[kept], normals, coef, self.threads)
        out = self.adjoint(coef)
        others = [element for element in elements if not isinstance(element, RowNormal)]
        if others:
            factors = np.concatenate([[1.0], np.asarray(weights, np.float64)[~kept]])
            sparse.combine(factors, [out, *others], out := np.empty(self.dim), self.threads)
        return out

    def keep(self, a, coef, scores=None):
        """The normal a = A^T coef as a bundle of cuts stores it: coef itself if that is less than
        half as long, with the scores of a if known, else a without its zeros.

        Dot products and combinations then cost one pass over the features for all cuts together,
        about as much work as reading each normal, and no memory. Leaving out zeros changes no bit
        of any product.
        """
        if coef is None or not self.should_keep_coefficients:
            return self.without_zeros(a)
        return RowNormal(np.array(coef, dtype=np.float64), scores)


def _has_normals(elements) -> bool:
    return any(isinstance(element, RowNormal) for element in elements)


def _has_scores(element) -> bool:
    return isinstance(element, RowNormal) and element.scores is not None
