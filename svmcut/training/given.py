# SPDX-License-Identifier: BSD-3-Clause
"""Kernel values that are given: the matrix of the rows, what proves that it is positive
semidefinite, and models over it.

A matrix has a dual bound where Cholesky's factorisation of K + tau I exists. tau is 64 n 2^-53 of
the largest diagonal value, which is nothing; where that fails, the most that rounding to float32
can have done, n 2^-24 of it, or a part of that. The gap of K + tau I is then at most that of K and
tau sum_i beta_i max(beta_i, C_i - beta_i), which is taken off the dual value.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError, MemoryLimitError
from svmcut.base.resources import describe_shortage
from svmcut.base.typing import Any
from svmcut.data.examples import Csr
from svmcut.data.precomputed import (
    dense_columns,
    is_symmetric,
    make_symmetric,
    point_rows,
    serial_columns,
)
from svmcut.models import KernelModel
from svmcut.models.two_classes import LinearModel
from svmcut.spec.parameters import Settings
from svmcut.training.gate import Part
from svmcut.training.kernel_plan import KernelRoom
from svmcut.training.vectors import Vectors

#: Rows up to which a factorisation, of n^3 / 3 products, is worth its time; and steps of Lanczos'
#: method beyond.
MAX_FACTORED_ROWS, LANCZOS_STEPS = 12_000, 20
FLOAT32_UNIT = 2.0**-24  # of float32
BLOCK_ROWS = 512  # rows compared at once


def room_of(vectors: Vectors, settings: Settings, exact_work: float) -> KernelRoom:
    """The room of these examples: of features, or of values that are given."""
    kind = GivenRoom if settings.is_given else KernelRoom
    return kind(vectors, settings, exact_work)


class GivenRoom(KernelRoom):
    """The kernel values of some examples, which are their features. X (n, 1) has as many rows as
    they are, and nothing of them."""

    def __init__(self, vectors: Vectors, settings: Settings, exact_work: float):
        super().__init__(vectors, settings, exact_work)
        self._columns = serial_columns(vectors.examples)
        n = len(vectors.examples)
        need = 4e-6 * n * n * (3 if n <= MAX_FACTORED_ROWS else 1)
        if there := describe_shortage(need, settings.max_memory):
            raise MemoryLimitError(
                "{}: {} rows of kernel values need about {:,.0f} MB, and {}",
                vectors.path,
                n,
                need,
                there,
            )
        self.K = dense_columns(vectors.X, self._columns)
        self._make_symmetric(vectors)
        self.X = Csr.from_dense(np.ones((n, 1), np.float32))
        self.shift, why = definite_shift(self.K)
        self.definite = not why
        if why:
            self.warnings = [
                *self.warnings,
                f"the matrix {why}: training ends at a stationary point, and no dual bound is "
                "known",
            ]

    @property
    def is_definite(self) -> bool:
        return self.definite

    def tile_values(self, copies: int = 1) -> tuple[NDArray, NDArray[np.int64]]:
        """The values as runs over so many copies of the rows take them."""
        n = len(self.K)
        places = np.tile(np.arange(n), copies)
        from svmcut._native.smo import EXACT_POINTS

        return (self._wide if len(places) <= EXACT_POINTS else self.K), places

    @cached_property
    def _wide(self) -> NDArray[np.float64]:
        return self.K.astype(np.float64)

    def diagonal(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.K[rows, rows].astype(np.float64)

    def machine(self, beta: NDArray, b: float) -> KernelModel:
        rows, examples = np.flatnonzero(beta), self.vectors.examples
        support = point_rows(self._columns[rows], examples.X.n_features)
        n = len(examples)
        return KernelModel(self.kernel, support, beta[rows], 0.0 - b, None, None, n)

    def dual_rounding(self, size: NDArray, most: Any) -> float:
        """The amount by which the gap can be below that of a matrix that is certainly definite."""
        lost = self.shift * float((size * np.maximum(size, most - size)).sum())
        return lost + super().dual_rounding(size, most)

    def _evaluate(self, model: KernelModel) -> tuple[float, NDArray[np.float64]]:
        support, d = model.support, self.vectors.examples.X.n_features
        own = support.indices[support.stored]
        w = np.bincount(own, model.alpha, d).astype(np.float64)
        s = LinearModel(w, 0.0).scores(self.vectors.X, self.settings.threads)
        rows = np.full(d, -1)
        rows[self._columns] = np.arange(len(self._columns))
        return float(model.alpha @ s[rows[own]]), s - model.b

    def _own(self, model: KernelModel) -> KernelModel:
        return model

    def _part(self, model: KernelModel) -> Part:
        return Part(model, lambda read: np.array_equal(read.alpha, model.alpha))

    def _make_symmetric(self, vectors: Vectors) -> None:
        """Refuses a matrix that is not symmetric, up to rounding; makes it so to the last bit."""
        K, examples = self.K, vectors.examples
        if is_symmetric(K):
            return
        most = float(np.abs(K).max(initial=0.0))
        for start in range(0, len(K), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            apart = np.abs(K[rows] - K[:, rows].T)
            if apart.max(initial=0.0) > 1e-5 * most:
                i, j = np.unravel_index(int(np.argmax(apart)), apart.shape)
                i += start
                a, b = (int(self._columns[k]) + 1 for k in (i, j))
                raise DataError(
                    vectors.path,
                    f"the value of points {a} and {b} is {K[i, j]:g}, but that of {b} and {a} is "
                    f"{K[j, i]:g}; expected a symmetric matrix",
                    examples.source.line_of(int(i)),
                )
        make_symmetric(K, BLOCK_ROWS)


def definite_shift(K: NDArray[np.float32]) -> tuple[float, str]:
    """The tau for which K + tau I is positive definite, and "" ; or what forbids that this is
    known."""
    n, diagonal = len(K), K.diagonal().astype(np.float64)
    most = float(np.abs(diagonal).max(initial=0.0))
    if (diagonal < 0).any():
        row = int(np.argmin(diagonal))
        return (
            0.0,
            f"is not positive semidefinite (row {row + 1} has {diagonal[row]:g} with itself)",
        )
    for start in range(0, n, BLOCK_ROWS):
        block = np.square(K[start : start + BLOCK_ROWS], dtype=np.float64)
        bound = (1 + 8 * FLOAT32_UNIT) * np.outer(diagonal[start : start + BLOCK_ROWS], diagonal)
        if (wrong := block > bound + 1e-300).any():
            i, j = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
            return 0.0, (
                f"is not positive semidefinite (the value of rows {i + start + 1} and {j + 1} is "
                "above what their own values allow)"
            )
    rounding = n * FLOAT32_UNIT * most
    if n > MAX_FACTORED_ROWS:
        if smallest_ritz(K) < -rounding:
            return 0.0, "is not positive semidefinite"
        return (
            0.0,
            f"has more than {MAX_FACTORED_ROWS:,} rows, too many to prove it positive semidefinite",
        )
    wide = K.astype(np.float64)
    for shift in (64 * n * 2.0**-53 * most, rounding / 64, rounding):
        wide[np.diag_indices(n)] = diagonal + shift
        try:
            np.linalg.cholesky(wide)
        except np.linalg.LinAlgError:
            continue
        return (0.0 if shift < rounding / 64 else shift), ""
    return 0.0, "is not positive semidefinite"


def smallest_ritz(K: NDArray) -> float:
    """The smallest Ritz value of some steps of Lanczos' method: no smaller than the smallest
    eigenvalue."""
    n, rng = len(K), np.random.default_rng(0)
    q, before, beta = rng.normal(size=n), np.zeros(n), 0.0
    q /= np.linalg.norm(q)
    basis, diagonal, off = [q], [], []
    for _ in range(min(LANCZOS_STEPS, n)):
        r = (K @ q.astype(np.float32)).astype(np.float64) - beta * before
        diagonal.append(float(q @ r))
        r -= diagonal[-1] * q
        for other in basis:
            r -= (other @ r) * other
        beta = float(np.linalg.norm(r))
        if beta < 1e-12:
            break
        before, q = q, r / beta
        basis.append(q)
        off.append(beta)
    k = len(diagonal)
    T = np.diag(diagonal) + np.diag(off[: k - 1], 1) + np.diag(off[: k - 1], -1)
    return float(np.linalg.eigvalsh(T)[0])
