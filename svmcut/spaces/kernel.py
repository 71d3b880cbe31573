# SPDX-License-Identifier: BSD-3-Clause
"""The feature space of a kernel: functions  f = sum_i coef_i K(x_i, .)  over the training points.

An element keeps its scores K coef beside its coefficients, so that a score pass is free, a dot
product reads the scores of one element at the points of the other, and a kernel value is needed in
one place only: the adjoint.
"""

from __future__ import annotations

import numpy as np

from svmcut._native import sparse
from svmcut.base.resources import KERNEL, part
from svmcut.base.typing import TYPE_CHECKING
from svmcut.spaces.protocol import Space
from svmcut.spec import schemas

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CHUNK = 256
#: Rows up to which stored kernel values are float64 from float64 sums; the steps towards a large C
#: need the digits.
EXACT_ROWS = 2000


class Expansion:
    """One element f of the space.

    Attributes
    ----------
    points : (m,) int64
        Rows of the training set, increasing, each once.
    coef : (m,) float64
        Their coefficients.
    scores : (n,) float64 or float32
        f at every row of the training set.
    """

    __slots__ = ("coef", "points", "scores")

    def __init__(self, points: NDArray, coef: NDArray, scores: NDArray):
        self.points, self.coef, self.scores = points, coef, scores

    def __iadd__(self, other: Expansion) -> Expansion:
        dense = self.coefficients()
        dense[other.points] += other.coef
        self.points = np.flatnonzero(dense)
        self.coef = dense[self.points]
        self.scores += other.scores
        return self

    def coefficients(self) -> NDArray[np.float64]:
        """(n,) coefficients of all rows."""
        dense = np.zeros(len(self.scores))
        dense[self.points] = self.coef
        return dense


def sum_points(weights, elements, dim: int) -> tuple[NDArray, NDArray]:
    """Points and coefficients of sum_k weights[k] elements[k]; those that cancel are left out."""
    coef = np.zeros(dim)
    for weight, element in zip(weights, elements, strict=True):
        coef[element.points] += weight * element.coef
    points = np.flatnonzero(coef)
    return points, coef[points]


class KernelSpace(Space):
    """Functions over the rows of a kernel.

    Parameters
    ----------
    rows : KernelRows
        Kernel values of the training rows.
    memory : float
        Megabytes the full Gram matrix may take: as float64 where it fits, as float32 where that
        fits, else it is not stored and every adjoint evaluates the rows it needs.
    dtype : type
        Of the scores of adjoints; float32 halves the memory of many cuts over many rows.

    Attributes
    ----------
    dim : int
        n.
    gram : (n, n) array or None
        Filled when the first adjoint needs it.
    """

    def __init__(self, rows, memory: float = 0.0, dtype: type = np.float64):
        self.rows, self.dim, self._dtype = rows, rows.n, dtype
        self.gram: NDArray | None = None
        self._stored = next(
            (
                kind
                for kind in (np.float64, np.float32)
                if np.dtype(kind).itemsize * rows.n**2 <= memory * 1e6
            ),
            None,
        )

    def zero(self) -> Expansion:
        return Expansion(np.zeros(0, np.int64), np.zeros(0), np.zeros(self.dim))

    def kinds(self) -> schemas.Kinds:
        scores = schemas.reals(self.dim)
        rounded = schemas.either(scores, schemas.array(np.float32, self.dim))
        element = schemas.expansion(Expansion, self.dim, scores=rounded)
        return schemas.Kinds(element, element, scores, scores)

    def scores(self, w: Expansion) -> NDArray:
        """(n,) f at the training rows, known already; not to be changed."""
        return w.scores

    def adjoint(self, coef: NDArray) -> Expansion:
        """sum_i coef_i K(x_i, .); rows with coefficient 0 are not read, O(n) kernel values for each
        of the others."""
        points = np.flatnonzero(coef)
        return self.expansion(points, np.asarray(coef, np.float64)[points])

    def expansion(self, points: NDArray, coef: NDArray) -> Expansion:
        """The element with these coefficients at these rows (increasing, each once)."""
        if self._stored is not None and self.gram is None:
            self._fill()
        if self.gram is None:
            scores = self.rows.accumulate(points, coef)
        elif len(points) == self.dim and self.gram.dtype == np.float64:
            scores = coef @ self.gram
        else:
            scores = np.zeros(self.dim)
            for start in range(0, len(points), _CHUNK):
                piece = slice(start, start + _CHUNK)
                scores += coef[piece] @ self.gram[points[piece]].astype(np.float64, copy=False)
        return Expansion(points, coef, np.asarray(scores, self._dtype))

    def dot(self, a: Expansion, b: Expansion) -> float:
        """coef_a' K coef_b, by look-up at the points of the element that has fewer."""
        if len(b.points) > len(a.points):
            a, b = b, a
        return float(b.coef @ a.scores[b.points])

    def combine(self, weights, elements) -> Expansion:
        scores, weights = np.empty(self.dim), np.asarray(weights, np.float64)
        parts = [element.scores for element in elements]
        if all(part.dtype == np.float32 for part in parts):
            sparse.combine_floats(weights, parts, scores, self.rows.threads)
        else:
            sparse.combine(
                weights,
                [part.astype(np.float64, copy=False) for part in parts],
                scores,
                self.rows.threads,
            )
        points, coef = sum_points(weights, elements, self.dim)
        return Expansion(points, coef, scores)

    @part(KERNEL)
    def _fill(self) -> None:
        n = self.rows.n
        block = (
            self.rows.block_double
            if n <= EXACT_ROWS and self._stored is np.float64
            else self.rows.block
        )
        self.gram = np.empty((n, n), self._stored)
        for start in range(0, n, _CHUNK):
            stop = min(start + _CHUNK, n)
            self.gram[start:stop] = block(np.arange(start, stop))
        # one value for both halves, whatever the kernel rows round; a certificate needs H symmetric
        for start in range(0, n, _CHUNK):
            stop = min(start + _CHUNK, n)
            self.gram[start:stop, start:] = self.gram[start:, start:stop].T


class DrawnSpace(KernelSpace):
    """The space of many cuts of few points each, whose scores are float32 and kernel values are not
    stored."""

    def __init__(self, rows):
        super().__init__(rows, 0.0, np.float32)

    def dots(self, elements, a: Expansion) -> NDArray[np.float64]:
        """As exact as `dot`; every look-up is in the scores of a, which the caches hold where they
        are new."""
        return np.array([float(element.coef @ a.scores[element.points]) for element in elements])
