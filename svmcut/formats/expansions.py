# SPDX-License-Identifier: BSD-3-Clause
"""Models from lines of support vectors: the lines themselves with a kernel, their sum without."""

from __future__ import annotations

import numpy as np

from svmcut.base.errors import ModelError
from svmcut.base.typing import Any
from svmcut.data.examples import Csr
from svmcut.formats.grammar import products
from svmcut.models import KernelModel, LinearModel, ScoringModel
from svmcut.models.kernels import Kernel
from svmcut.models.linear_sums import column_sums


def scoring_model(
    path: str, size: int, kernel: Kernel, vectors: Any, b: float, **fields: Any
) -> ScoringModel:
    """The model of `grammar.vectors` in a file of `size` bytes; `fields` are those that linear and
    kernel models share."""
    alpha, indptr, indices, values = vectors
    columns, d = None, int(indices.max()) + 1 if len(indices) else 0
    if d > 2 * size:
        columns, indices = np.unique(indices, return_inverse=True)
        indices, d = indices.astype(np.int32), len(columns)
    if not kernel.is_linear:
        return KernelModel(
            kernel, Csr(values, indices, indptr, d, True), alpha, b, columns, **fields
        )
    if len(alpha) == 1:
        sums: Any = np.bincount(indices, weights=products(alpha, indptr, values), minlength=d)
    else:
        sums = column_sums(indices, np.repeat(alpha, np.diff(indptr)), values, d)
    w = sums.astype(np.float64)  # of nothing it counts in int64
    if not np.isfinite(w).all():
        raise ModelError(path, "the support vectors add up to weights that are not finite")
    return LinearModel(w, b, columns, kernel, **fields)
