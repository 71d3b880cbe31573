# SPDX-License-Identifier: BSD-3-Clause
"""The space of a linear machine with far fewer rows than features: w = A^T c, kept as c and the
scores A w.

Every point, cut and direction of cutting planes is a combination of rows, so an element is a vector
of twice as many numbers as rows. A dot product reads the coefficients of one element and the scores
of the other; features are read for new coefficients only. For few rows the Gram matrix A A^T is
kept and replaces the features.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from svmcut._native import sparse
from svmcut.spaces.linear import ArraySpace, LinearSpace
from svmcut.spec import schemas

#: Most rows for which the Gram matrix is kept: it costs a pass for every two rows and saves two
#: passes per product.
MAX_GRAM_ROWS = 512


def are_rows_few(X, bias: float) -> bool:
    """Decide if the rows are so few and so sparse that their combinations are better kept as
    coefficients."""
    dim = X.n_features + (bias != 0)
    return 16 * X.n_rows <= dim and X.nnz <= 4 * dim


def linear_space(X, bias: float, threads: int, cuts: bool) -> LinearSpace | RowSpace:
    """The space of a linear machine; `cuts` says that cutting planes alone use it, which can work
    with combinations of few rows."""
    return (RowSpace if cuts and are_rows_few(X, bias) else LinearSpace)(X, bias, threads)


class RowSpace(ArraySpace):
    """Combinations of rows X (n, d) extended by a constant feature; an element is (2 n,):
    coefficients, then scores."""

    def __init__(self, X, bias: float = 0.0, threads: int = 1):
        self.X, self.bias, self.threads = X, bias, threads
        #: The space of the same rows with weights of features.
        self.features = LinearSpace(X, bias, threads)
        self.dim = 2 * X.n_rows

    @cached_property
    def _gram(self):
        """A A^T, or None where it is not kept."""
        return (
            sparse.gram(self.features.rows, self.bias**2)
            if self.X.n_rows <= MAX_GRAM_ROWS
            else None
        )

    def kinds(self) -> schemas.Kinds:
        element, scores = schemas.weights(self.dim), schemas.reals(self.X.n_rows)
        return schemas.Kinds(element, element, scores, scores)

    def scores(self, w):
        """A w: (n,) scores, computed from the coefficients."""
        return self._products(w[: self.X.n_rows])

    def adjoint(self, coef):
        """A^T coef."""
        return np.concatenate([coef, self._products(coef)])

    def _products(self, coef):
        """A A^T coef; O(n^2), or two passes over the features."""
        if self._gram is not None:
            return self._gram @ coef
        return self.features.scores(self.features.adjoint(coef))

    def dot(self, a, b) -> float:
        n = self.X.n_rows
        return sparse.dot(a[:n], b[n:], self.threads)

    def dots(self, elements, a):
        n = self.X.n_rows
        out = np.empty(len(elements))
        sparse.dots([element[:n] for element in elements], a[n:], out, self.threads)
        return out

    def weights(self, w):
        """The element as weights of the features."""
        return self.features.adjoint(w[: self.X.n_rows])

    def split(self, w):
        """Feature weights (d,), and the constant term: bias times its weight."""
        return self.features.split(self.weights(w))
