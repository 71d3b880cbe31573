# SPDX-License-Identifier: BSD-3-Clause
"""The space of several functions of a kernel, one for each class: f_k = sum_i coef[i, k] K(x_i, .).

An element is an Expansion whose points are positions in (n, K) scores, row by row. Kernel values
and scores are float64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native import multiclass
from svmcut.spaces.kernel import Expansion, KernelSpace

_CHUNK = 256
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
    """Functions of a kernel, one for each class; `rows` has float64 kernel values."""

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
