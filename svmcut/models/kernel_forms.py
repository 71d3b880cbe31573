# SPDX-License-Identifier: BSD-3-Clause
"""Definitions of the kernels in NumPy: functions of products x.z, or of squared distances |x - z|^2
if the row of the catalog says so. The compiled ones are in csrc/kernels/kernel_forms.h."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.base.typing import Protocol

#: Bounds for a kernel of distances, k(gamma D) with k(0) = 1: 2 sqrt(t) |k'(t)| and t |k'(t)| are
#: no larger, nor |k'(t)| than k(t).
BY_ROOT, BY_PART = 0.86, 0.4


class Parameters(Protocol):
    """Parameters of a svmcut.models.kernels.Kernel that a form reads."""

    degree: int
    gamma: float
    scale: float
    offset: float


class OfProducts:
    """A kernel of products x.z."""

    @staticmethod
    def values(kernel: Parameters, products: NDArray) -> NDArray[np.float64]:
        """Kernel values of products of any shape."""
        return np.asarray(products, np.float64)

    @staticmethod
    def change(kernel: Parameters, size: float, by: float) -> float:
        """Largest change of a value when scale x.z + offset, which is at most `size`, changes by
        this much."""
        return by


class Linear(OfProducts):
    """x.z; also kernel values that are given, which are features."""


class Polynomial(OfProducts):
    """(scale x.z + offset)^degree"""

    @staticmethod
    def values(kernel: Parameters, products: NDArray) -> NDArray[np.float64]:
        return (kernel.scale * products + kernel.offset) ** kernel.degree

    @staticmethod
    def change(kernel: Parameters, size: float, by: float) -> float:
        return by * kernel.degree * size ** (kernel.degree - 1) if size < 1e30 else float("inf")


class Rbf:
    """exp(-gamma |x - z|^2)"""

    @staticmethod
    def values(kernel: Parameters, distances: NDArray) -> NDArray[np.float64]:
        """Kernel values of squared distances of any shape."""
        return np.exp(-kernel.gamma * distances)


class Sigmoid(OfProducts):
    """tanh(scale x.z + offset)"""

    @staticmethod
    def values(kernel: Parameters, products: NDArray) -> NDArray[np.float64]:
        return np.tanh(kernel.scale * products + kernel.offset)
