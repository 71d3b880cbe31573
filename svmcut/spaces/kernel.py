# SPDX-License-Identifier: BSD-3-Clause
"""The feature space of a kernel: functions f = sum_i coef_i K(x_i, .) of the training points.

An element keeps its scores K coef next to its coefficients. Scores are therefore free, a dot
product reads the scores of one element at the points of the other, and only the adjoint needs
kernel values.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native import multiclass, sparse
from svmcut.base.resources import KERNEL, timed_part
from svmcut.spaces.protocol import Space
from svmcut.spec import schemas

_CHUNK = 256
#: Most rows for which stored kernel values are float64 from float64 sums; steps towards a large C
#: need the digits.
EXACT_ROWS = 2000


class Expansion:
    """One element f of the space."""

    __slots__ = ("coef", "points", "scores")

    def __init__(self, points: NDArray, coef: NDArray, scores: NDArray):
        #: (m,) int64 rows of the training set, increasing and distinct.
        self.points = points
        #: (m,) float64, the coefficients of the points.
        self.coef = coef
        #: (n,) float64 or float32, f at every row of the training set.
        self.scores = scores

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
    """Points and coefficients of sum_k weights[k] elements[k], without those that cancel."""
    coef = np.zeros(dim)
    for weight, element in zip(weights, elements, strict=True):
        coef[element.points] += weight * element.coef
    points = np.flatnonzero(coef)
    return points, coef[points]


class KernelSpace(Space):
    """Functions of the training rows of a kernel.

    The Gram matrix is stored if it takes at most `memory` megabytes, as float64 if that fits, else
    as float32; otherwise every adjoint evaluates the rows it needs. `dtype` is that of the scores
    of adjoints: float32 halves the memory of many cuts over many rows.
    """

    def __init__(self, rows, memory: float = 0.0, dtype: type = np.float64):
        self.rows, self.dim, self._dtype = rows, rows.n, dtype
        #: (n, n), filled when the first adjoint needs it; None if it is not stored.
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
        """(n,) f at the training rows, as stored; must not be changed."""
        return w.scores

    def adjoint(self, coef: NDArray) -> Expansion:
        """sum_i coef_i K(x_i, .); O(n) kernel values for every nonzero coefficient."""
        points = np.flatnonzero(coef)
        return self.expansion(points, np.asarray(coef, np.float64)[points])

    def expansion(self, points: NDArray, coef: NDArray) -> Expansion:
        """The element with these coefficients at these rows, which are increasing and distinct."""
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
        """coef_a' K coef_b, summed over the points of the element that has fewer."""
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

    @timed_part(KERNEL)
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
        # a certificate needs H symmetric, and kernel rows may round the two halves differently
        for start in range(0, n, _CHUNK):
            stop = min(start + _CHUNK, n)
            self.gram[start:stop, start:] = self.gram[start:, start:stop].T


class DrawnSpace(KernelSpace):
    """The space for many cuts of few points each: float32 scores, no stored kernel values."""

    def __init__(self, rows):
        super().__init__(rows, 0.0, np.float32)

    def dots(self, elements, a: Expansion) -> NDArray[np.float64]:
        """Dot products as exact as `dot`; reads only the scores of a, which are in the processor's
        cache if new."""
        return np.array([float(element.coef @ a.scores[element.points]) for element in elements])


#: Rounding error of a sum of float64 products of kernel values, as a fraction of the sum of their
#: sizes.
ROUNDED = 2.0**-51


def rounding_bound(rows, alpha: NDArray) -> float:
    """Bound on the rounding error of sum_k alpha_k' K alpha_k in float64, for alpha (n, K).

    Large coefficients of both signs cancel over nearly equal kernel values, and digits are lost.
    """
    size = np.abs(alpha)
    if not rows.kernel.row.of_distances:  # |K(x, z)|^2 <= K(x, x) K(z, z)
        return ROUNDED * float(np.square(np.sqrt(np.abs(rows.diagonal)) @ size).sum())
    used, total = np.flatnonzero(size.any(axis=1)), 0.0
    for start in range(0, len(used), _CHUNK):
        points = used[start : start + _CHUNK]
        total += float(np.vdot(size[points], rows.block_double(points)[:, used] @ size[used]))
    return ROUNDED * total


class ClassFunctions(KernelSpace):
    """The space of several functions of a kernel, one for each class: f_k = sum_i coef[i, k] K(x_i,
    .).

    An element is an Expansion whose points are positions in (n, K) scores, row by row. Kernel
    values and scores are float64.

    Functions of a kernel, one for each class; `rows` has float64 kernel values.
    """

    def __init__(self, rows, n_classes: int):
        super().__init__(rows)
        self.n_classes, self.dim = n_classes, rows.n * n_classes

    def expansion(self, points: NDArray, coef: NDArray) -> Expansion:
        """The element with these coefficients at these positions of scores, which are increasing
        and distinct."""
        alpha = np.zeros((self.rows.n, self.n_classes))
        alpha.ravel()[points] = coef
        return Expansion(
            points,
            np.asarray(coef, np.float64),
            np.ascontiguousarray(self.compute_scores(alpha).T).ravel(),
        )

    def rounding_bound(self, alpha: NDArray) -> float:
        """`rounding_bound` for the kernel rows."""
        return rounding_bound(self.rows.rows, alpha)

    def compute_scores(self, alpha: NDArray) -> NDArray[np.float64]:
        """(K, n) scores of alpha (n, K), class by class; reads the kernel rows of the nonzero rows
        of alpha."""
        s, used = np.zeros(alpha.shape[::-1]), np.flatnonzero(alpha.any(axis=1))
        for start in range(0, len(used), _CHUNK):
            rows = used[start : start + _CHUNK]
            multiclass.add_functions(*self.rows.look_up(rows), alpha[rows], s, self.rows.threads)
        return s
