# SPDX-License-Identifier: BSD-3-Clause
"""The span of a few points in the feature space of a kernel: a linear machine on k dense features.

    basis     z_1..z_k, K_ZZ = L L'
    features  F(x) = L^-1 K(Z, x)
    function  f = w.F(x) = sum_j alpha_j K(z_j, x),  alpha = L^-T w

|w|^2 is the norm of f in the feature space, so 1/2 |w|^2 + C R(F w) is the full objective of f;
only the part of the optimum outside the span is lost. Points are chosen by incomplete Cholesky
factorisation with symmetric pivoting (Fine and Scheinberg, JMLR 2, 2001, Figure 2).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from svmcut._native.kernels import KernelRows
from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.spaces.protocol import Space
from svmcut.spec import schemas

#: A point depends on the basis if its squared distance from the span is at most this fraction of
#: the largest K(x, x).
PIVOT_TOLERANCE = 1e-6
#: Rows of float32 features converted to float64 at once, few enough for the processor's cache.
_CHUNK = 128
#: Rows whose features are computed at once.
_FEATURE_ROWS = 1024
#: Rows added to a Hessian at once.
_GRAM_ROWS = 8192
#: Features computed at once.
_BLOCK = 128
#: Rounding error of a sum of float32 products, as a fraction of the sum of their sizes.
FLOAT_ROUNDING = 1e-7


def even_rows(n: int, k: int) -> NDArray[np.int64]:
    """Rows floor(i n / k), i = 0..k-1, without repetition: svm_perf's ``--t 1``."""
    return np.unique(np.arange(k) * n // k) if n else np.zeros(0, np.int64)


def pivoted_rows(rows, k: int, tol: float = PIVOT_TOLERANCE) -> NDArray[np.int64]:
    """(at most k,) int64: candidates chosen by incomplete Cholesky factorisation with symmetric
    pivoting, in the order of choice; the earlier of two equal ones.

    It ends when the squared distance of every candidate from the span of those chosen is at most
    `tol` of the largest diagonal value. O(m k^2) time, m k float64 of memory and m k kernel values
    for m candidates.
    """
    rest = np.array(rows.diagonal, np.float64)
    k, least = min(k, rows.n), tol * float(np.max(rest, initial=0.0))
    factor = np.zeros((k, rows.n))
    chosen: list[int] = []
    for t in range(k):
        p = int(np.argmax(rest))
        if not rest[p] > least:
            break
        column = rows.block(np.array([p]))[0].astype(np.float64)
        column -= factor[:t, p] @ factor[:t]
        column *= 1 / np.sqrt(rest[p])
        factor[t] = column
        rest -= column * column
        chosen.append(p)
        rest[chosen] = -1.0
    return np.array(chosen, np.int64)


def kernel_matrix(kernel: Kernel, X: Csr, Z: Csr, threads: int = 1) -> NDArray[np.float64]:
    """(n, k) float64 K(x_i, z_j); one pass over X for every row of Z."""
    out, one = np.empty((X.n_rows, Z.n_rows)), np.ones(1)
    for j in range(Z.n_rows):
        out[:, j] = kernel.expansion(X, Z.rows(j, j + 1), one, 0.0, threads)
    return out


def independent(
    gram: NDArray, tol: float = PIVOT_TOLERANCE
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Rows of a Gram matrix (m, m) that do not depend on earlier ones, (k,) int64, and the inverse
    of their Cholesky factor, (k, k) and lower: gram[kept, kept]^-1 = inverse' inverse.

    A row is independent if its squared distance from the span of those kept is above `tol` of the
    largest diagonal value. O(m k^2).
    """
    m = len(gram)
    least = tol * float(np.max(np.diagonal(gram), initial=0.0))
    inverse = np.zeros((m, m))
    kept: list[int] = []
    for i in range(m):
        k = len(kept)
        row = inverse[:k, :k] @ gram[i, kept]
        rest = gram[i, i] - row @ row
        if rest > least:
            inverse[k, k] = 1 / np.sqrt(rest)
            inverse[k, :k] = -inverse[k, k] * (row @ inverse[:k, :k])
            kept.append(i)
    return np.array(kept, np.int64), inverse[: len(kept), : len(kept)]


class Basis:
    """The points Z (m, d) that span the subspace, without those that depend on earlier ones."""

    def __init__(self, kernel: Kernel, Z: Csr, threads: int = 1):
        gram = KernelRows(Z, kernel, threads).block_double(np.arange(Z.n_rows))
        self.kernel, self._threads = kernel, threads
        #: Places of the points kept among those given.
        self.kept, inverse = independent((gram + gram.T) / 2)
        self.Z = Z.take(self.kept)
        #: L^-T: alpha = to_alpha w.
        self.to_alpha = np.ascontiguousarray(inverse.T)

    def __len__(self) -> int:
        return len(self.kept)

    def features(self, X: Csr, memory: float = np.inf) -> NDArray:
        """(n, k) features of the rows, as float64 if that takes at most `memory` megabytes, else as
        float32."""
        n, k = X.n_rows, len(self)
        F = np.empty((n, k), np.float64 if 8 * n * k <= memory * 1e6 else np.float32)
        points = KernelRows(self.Z, self.kernel, self._threads)
        for start in range(0, n, _FEATURE_ROWS):
            stop = min(start + _FEATURE_ROWS, n)
            K = points.against_double(X.rows(start, stop))
            for a in range(0, k, _BLOCK):  # to_alpha is upper triangular
                b = a + _BLOCK
                F[start:stop, a:b] = K[:, :b] @ self.to_alpha[:b, a:b]
        return F


class Traced:
    """Weights of the features, w = F' coef, with the coefficients of the rows if these are traced.
    The coefficients name an element of the full space, whose projection on the span is w."""

    __slots__ = ("coef", "w")

    def __init__(self, w: NDArray, coef: NDArray | None):
        self.w, self.coef = w, coef

    def __iadd__(self, other: Traced) -> Traced:
        self.w = self.w + other.w
        self.coef = (
            self.coef + other.coef if self.coef is not None and other.coef is not None else None
        )
        return self

    def coefficients(self) -> NDArray[np.float64] | None:
        """(n,) coefficients of the rows, None where they are not traced."""
        return self.coef


class Subspace(Space):
    """Dense features F (n, k) of n rows, float64 or float32, as a space for the solvers of linear
    machines.

    With `trace` elements carry their coefficients, which a dual bound of the full problem needs;
    that costs 8 n bytes a cut. Results do not depend on `threads`: float32 features are summed in
    chunks, in a fixed order.
    """

    def __init__(self, F: NDArray, trace: bool = False, threads: int = 1):
        self.F, self._trace, self.threads = F, trace, threads
        self.n_rows, self.dim = F.shape
        self._step = self.n_rows if F.dtype == np.float64 else _CHUNK

    def zero(self) -> Traced:
        return Traced(np.zeros(self.dim), np.zeros(self.n_rows) if self._trace else None)

    def kinds(self) -> schemas.Kinds:
        scores = schemas.reals(self.n_rows)
        element, traced = (
            schemas.instance(Traced, w=schemas.weights(self.dim), coef=coef)
            for coef in (schemas.maybe(scores), scores)
        )
        return schemas.Kinds(element, traced if self._trace else element, scores, scores)

    def scores(self, element: Traced) -> NDArray[np.float64]:
        """F w, with float64 products and sums; O(n k)."""
        s = np.empty(self.n_rows)

        def form(start: int) -> None:
            piece = slice(start, start + self._step)
            s[piece] = self.F[piece].astype(np.float64, copy=False) @ element.w

        self._each(form, self.n_rows)
        return s

    def adjoint(self, coef: NDArray) -> Traced:
        """F' coef; if most coefficients are 0, their rows are not read."""
        coef = np.asarray(coef, np.float64)
        w = np.zeros(self.dim)
        used = np.flatnonzero(coef)
        sparse = 4 * len(used) < self.n_rows
        step = _CHUNK if sparse else self._step

        def form(start: int):
            rows = used[start : start + step] if sparse else slice(start, start + step)
            return coef[rows] @ self.F[rows].astype(np.float64, copy=False)

        for part in self._each(form, len(used) if sparse else self.n_rows, step):
            w += part
        return Traced(w, coef.copy() if self._trace else None)

    @cached_property
    def _squares(self) -> NDArray:
        """|F_i|^2 of all rows, in the precision of F."""
        return np.einsum("ij,ij->i", self.F, self.F)

    def take(self, rows: NDArray) -> Subspace:
        """The space of these rows."""
        return Subspace(self.F[rows], self._trace, self.threads)

    def gram(self, rows: NDArray, weights: NDArray | None, rounding: float) -> NDArray[np.float64]:
        """sum v_i F_i F_i' over these rows, of float32 products where their rounding is at most
        `rounding`; v are the `weights` of all rows, 1 for None."""
        v = np.ones(len(rows)) if weights is None else weights[rows]
        fine = FLOAT_ROUNDING * float(v @ self._squares[rows]) > rounding
        H = np.zeros((self.dim, self.dim))
        for start in range(0, len(rows), _GRAM_ROWS):
            piece = slice(start, start + _GRAM_ROWS)
            part = self.F[rows[piece]].astype(np.float64 if fine else np.float32, copy=False)
            if weights is not None:
                part *= np.sqrt(v[piece], dtype=part.dtype)[:, None]
            H += part.T @ part
        return H

    def _each(self, form, count: int, step: int | None = None) -> list:
        """form(start) of every chunk, in order."""
        starts = range(0, count, step or self._step or 1)
        threads = min(self.threads, len(starts) // 512)
        if threads <= 1:
            return [form(start) for start in starts]
        bounds = [len(starts) * k // threads for k in range(threads + 1)]
        with ThreadPoolExecutor(threads) as pool:
            # numpy's error state is the context's, which a thread has not by itself
            parts = [
                pool.submit(
                    copy_context().run,
                    lambda k: [form(start) for start in starts[bounds[k] : bounds[k + 1]]],
                    k,
                )
                for k in range(threads)
            ]
            return [result for part in parts for result in part.result()]

    def dot(self, a: Traced, b: Traced) -> float:
        return float(a.w @ b.w)

    def combine(self, weights, elements) -> Traced:
        out = self.zero()
        for weight, element in zip(weights, elements, strict=True):
            out.w += weight * element.w
            if out.coef is not None:
                out.coef = None if element.coef is None else out.coef + weight * element.coef
        return out
