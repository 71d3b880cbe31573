# SPDX-License-Identifier: BSD-3-Clause
"""The kernel parameter gamma that a word stands for, as in scikit-learn's SVC."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.base.typing import Any
from svmcut.data.examples import Csr
from svmcut.spec.kinds import GAMMAS


def resolve_gamma(gamma: Any, X: Csr, values: NDArray | None = None) -> Any:
    """Return 1 / (d variance of all values of X) for "scale", 1 / d for "auto", else the given
    number.

    If X has a variance of 0, gamma is 1. `values` are the nonzero values of X in higher precision;
    None for its own.
    """
    scale, auto = GAMMAS
    d = max(X.n_features, 1)
    if gamma == auto:
        return 1.0 / d
    if gamma != scale:
        return gamma
    values = X.data[X.stored] if values is None else values
    values, size = values[values != 0].astype(np.float64), max(X.n_rows * d, 1)
    mean = values.sum() / size
    variance = float((np.square(values - mean).sum() + (size - len(values)) * mean**2) / size)
    return 1.0 / (d * variance) if variance > 0 else 1.0
