# SPDX-License-Identifier: BSD-3-Clause
"""The space of a linear machine where rows are far fewer than features: w = A^T c, kept as c and
the scores A w.

Every point, cut and direction of cutting planes is a combination of rows, so vectors of twice as
many numbers as there are rows stand for it: a dot product reads the coefficients of one and the
scores of the other, and the features are read where new coefficients appear. Few rows have their
Gram matrix A A^T kept, which then answers for the features.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from svmcut._native import sparse
from svmcut.spaces.linear import ArraySpace, LinearSpace
from svmcut.spec import schemas

#: Rows up to which the Gram matrix is kept: it costs half as many passes as there are rows, and
#: spares two a product.
GRAM_ROWS = 512


def few_rows(X, bias: float) -> bool:
    """Whether the rows are so few and so sparse that combinations of them are better known by their
    coefficients."""
    dim = X.n_features + (bias != 0)
    return 16 * X.n_rows <= dim and X.nnz <= 4 * dim


def linear_space(X, bias: float, threads: int, cuts: bool) -> LinearSpace | RowSpace:
    """The space of a linear machine; cuts: for cutting planes alone, which may work with
    combinations of few rows."""
    return (RowSpace if cuts and few_rows(X, bias) else LinearSpace)(X, bias, threads)


class RowSpace(ArraySpace):
    """Combinations of rows X (n, d), extended by a constant feature; an element is (2 n,):
    coefficients, then scores.

    Parameters
    ----------
    X : Csr
        (n, d) rows.
    bias : float
        Value of the constant feature, 0 for none.
    threads : int
        Threads of the C calls; results do not depend on it.

    Attributes
    ----------
    dim : int
        2 n.
    features : LinearSpace
        Where the rows are vectors of features.
    """

    def __init__(self, X, bias: float = 0.0, threads: int = 1):
        self.X, self.bias, self.threads = X, bias, threads
        self.features = LinearSpace(X, bias, threads)
        self.dim = 2 * X.n_rows

    @cached_property
    def _gram(self):
        """A A^T, or None where it is not kept."""
        return sparse.gram(self.features.rows, self.bias**2) if self.X.n_rows <= GRAM_ROWS else None

    def kinds(self) -> schemas.Kinds:
        element, scores = schemas.weights(self.dim), schemas.reals(self.X.n_rows)
        return schemas.Kinds(element, element, scores, scores)

    def scores(self, w):
        """A w: (n,) scores, formed afresh from the coefficients."""
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
        """The same element as a vector of the space `features`."""
        return self.features.adjoint(w[: self.X.n_rows])

    def split(self, w):
        """(feature weights (d,), value of the constant term: bias times its weight)."""
        return self.features.split(self.weights(w))
