# SPDX-License-Identifier: BSD-3-Clause
"""Slow truth of the kernel rows: every value from the definition of the kernel, in float64, on
dense rows."""

import numpy as np


def gram(kernel, X, Z):
    """(n, m) float64 K(x_i, z_j) of dense rows."""
    width = max(X.shape[1], Z.shape[1])
    X, Z = (np.pad(A.astype(np.float64), ((0, 0), (0, width - A.shape[1]))) for A in (X, Z))
    dot = X @ Z.T
    if kernel.name == "polynomial":
        return (kernel.scale * dot + kernel.offset) ** kernel.degree
    if kernel.name == "rbf":
        return np.exp(-kernel.gamma * ((X[:, None, :] - Z[None, :, :]) ** 2).sum(2))
    if kernel.name == "sigmoid":
        return np.tanh(kernel.scale * dot + kernel.offset)
    return dot


class SlowKernelRows:
    """The methods of svmcut's kernel rows, one full matrix behind them."""

    def __init__(self, X, kernel, threads=1):
        self._X, self._kernel = X.to_dense(), kernel
        self._K = gram(kernel, self._X, self._X)
        self.n, self.evaluations, self.threads = len(self._K), 0, threads

    @property
    def diagonal(self):
        return np.diagonal(self._K).copy()

    def block(self, rows):
        self.evaluations += len(rows) * self.n
        return self._K[rows].astype(np.float32)

    def block_double(self, rows):
        self.evaluations += len(rows) * self.n
        return self._K[rows]

    def block_between(self, rows, columns):
        self.evaluations += len(rows) * len(columns)
        return self._K[np.ix_(rows, columns)].astype(np.float32)

    def against(self, Z):
        self.evaluations += Z.n_rows * self.n
        return gram(self._kernel, Z.to_dense(), self._X).astype(np.float32)

    def accumulate(self, rows, coef):
        self.evaluations += len(rows) * self.n
        return np.asarray(coef) @ self._K[rows]
