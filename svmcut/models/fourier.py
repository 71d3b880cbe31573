# SPDX-License-Identifier: BSD-3-Clause
"""Sums of random Fourier features, which stand for the rbf kernel.

    omega_j ~ N(0, 2 g I),   phi(x) = D^-1/2 (cos omega_j.x, sin omega_j.x), j = 1..D;   |phi(x)| =
    1

phi(x).phi(z) has the mean exp(-g |x - z|^2) = k and the variance (1 - k^2)^2 / (2 D).

References
----------
A. Rahimi and B. Recht, Random features for large-scale kernel machines, NIPS 2007.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.base.records import record
from svmcut.base.resources import one_blas_thread
from svmcut.base.typing import Any
from svmcut.data.examples import Csr
from svmcut.models.base import Ends, feature_facts, kernel_facts, renumber
from svmcut.models.kernels import Kernel
from svmcut.models.two_classes import TwoClasses
from svmcut.spec import schemas

#: Numbers in a block of rows, or products of its entries.
_BLOCK_NUMBERS = 1 << 22
#: Rows with a smaller part of nonzeros stay sparse.
_MIN_DENSITY = 0.1


def frequencies(D: int, d: int, gamma: float, seed: int) -> NDArray[np.float32]:
    """(D, d) random frequencies of the rbf kernel exp(-gamma |x - z|^2)."""
    return (
        np.random.default_rng(seed).normal(scale=np.sqrt(2 * gamma), size=(D, d)).astype(np.float32)
    )


def fourier_features(X: Csr, omega: NDArray[np.float32]) -> NDArray[np.float64]:
    """(n, 2 D) cosines, then sines, of rows; O(n d D), or O(nonzeros D) for sparse rows."""
    D = len(omega)
    F = np.empty((X.n_rows, 2 * D))
    F[:, :D] = _angles(X, omega)
    np.sin(F[:, :D], out=F[:, D:])
    np.cos(F[:, :D], out=F[:, :D])
    F *= D**-0.5
    return F


def _angles(X: Csr, omega: NDArray[np.float32]) -> NDArray[np.float64]:
    """(n, D) omega_j.x; features that omega does not have are 0."""
    D, d = omega.shape
    indices, data = X.indices[X.stored], X.data[X.stored].astype(np.float64)
    starts, known = X.indptr - X.indptr[0], indices < d
    rows = np.repeat(np.arange(X.n_rows), np.diff(starts))[known]
    indices, data = indices[known], data[known]
    if len(data) > _MIN_DENSITY * X.n_rows * d:
        dense = np.zeros((X.n_rows, d))
        dense[rows, indices] = data
        return dense @ omega.T.astype(np.float64)
    angles, columns = np.zeros((X.n_rows, D)), omega.T
    used, first = np.unique(rows, return_index=True)
    if len(used):
        angles[used] = np.add.reduceat(data[:, None] * columns[indices], first)
    return angles


def blocks(X: Csr, omega: NDArray[np.float32]):
    """Blocks of rows of X, as (start, stop)."""
    wide = len(omega) * max(X.nnz // max(X.n_rows, 1), 2) + omega.shape[1]
    step = max(1, _BLOCK_NUMBERS // wide)
    return [(start, min(start + step, X.n_rows)) for start in range(0, X.n_rows, step)]


@record(eq=False)
class FourierModel(TwoClasses):
    """f(x) = w.phi(x) - b; the other fields as in LinearModel."""

    #: Parameter of the kernel.
    gamma: float
    #: (D, d) frequencies; features at or above d, or not in ``columns``, count as 0.
    omega: NDArray[np.float32]
    #: (2 D,) weights of the cosines, then of the sines.
    w: NDArray[np.float64]
    #: Seed of the frequencies.
    seed: int = 0
    b: float = 0.0
    columns: NDArray[np.int32] | None = None
    highest_index: int | None = None
    n_documents: int = 0

    @property
    def kernel(self) -> Kernel:
        """Kernel that the features approximate."""
        return Kernel("rbf", gamma=self.gamma)

    @one_blas_thread()
    def scores(self, X: Csr, threads: int = 1) -> NDArray[np.float64]:
        X, s = renumber(X, self.columns), np.empty(X.n_rows)
        for start, stop in blocks(X, self.omega):
            s[start:stop] = fourier_features(X.rows(start, stop), self.omega) @ self.w - self.offset
        return s

    @property
    def n_features(self) -> int:
        return self.omega.shape[1]

    def form(self) -> dict[str, schemas.Check]:
        self.require(omega=schemas.array(np.float32, None, None))
        w = schemas.reals(2 * len(self.omega))
        return {"w": w, "gamma": schemas.REAL, "seed": schemas.COUNT, **super().form()}

    def facts(self, ends: Ends) -> dict[str, Any]:
        return self._head("fourier") | {
            "kernel": kernel_facts(self.kernel),
            "features": feature_facts(self.columns, np.abs(self.omega).max(axis=0)),
            "threshold": self.b,
            "frequencies": len(self.omega),
            "seed": self.seed,
            "norm": float(np.linalg.norm(self.w)),
        }
