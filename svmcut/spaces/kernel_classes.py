# SPDX-License-Identifier: BSD-3-Clause
"""The space of several functions of a kernel, one a class: f_k = sum_i coef[i, k] K(x_i, .).

An element is an Expansion whose points are places of (n, K) scores, row by row. Kernel values and
scores are float64.
"""

from __future__ import annotations

import numpy as np

from svmcut._native import multiclass
from svmcut.base.typing import TYPE_CHECKING
from svmcut.spaces.kernel import Expansion, KernelSpace

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CHUNK = 256
#: A sum of float64 products of kernel values is off by no more than about this part of the sum of
#: their sizes.
ROUNDED = 2.0**-51


def rounding(rows, alpha: NDArray) -> float:
    """How far sum_k alpha_k' K alpha_k in float64 may be from what it is, alpha (n, K); rows are
    KernelRows.

    Large coefficients of both signs over kernel values that are nearly the same cancel, and digits
    with them.
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
    """Functions of a kernel, one a class.

    Parameters
    ----------
    rows : CachedRows
        Kernel values in float64.
    n_classes : int
    """

    def __init__(self, rows, n_classes: int):
        super().__init__(rows)
        self.n_classes, self.dim = n_classes, rows.n * n_classes

    def expansion(self, points: NDArray, coef: NDArray) -> Expansion:
        """The element with these coefficients at these places of scores (increasing, each once)."""
        alpha = np.zeros((self.rows.n, self.n_classes))
        alpha.ravel()[points] = coef
        return Expansion(
            points, np.asarray(coef, np.float64), np.ascontiguousarray(self.formed(alpha).T).ravel()
        )

    def rounding(self, alpha: NDArray) -> float:
        """As `rounding` of the kernel rows."""
        return rounding(self.rows.rows, alpha)

    def formed(self, alpha: NDArray) -> NDArray[np.float64]:
        """(K, n) scores of alpha (n, K), class by class; the kernel values of each row of alpha
        that is not 0."""
        s, used = np.zeros(alpha.shape[::-1]), np.flatnonzero(alpha.any(axis=1))
        for start in range(0, len(used), _CHUNK):
            rows = used[start : start + _CHUNK]
            multiclass.add_functions(*self.rows.look_up(rows), alpha[rows], s, self.rows.threads)
        return s
