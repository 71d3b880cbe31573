# SPDX-License-Identifier: BSD-3-Clause
"""The gamma of kernels that words stand for, as of scikit-learn's SVC."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.base.typing import Any
from svmcut.data.examples import Csr
from svmcut.spec.kinds import GAMMAS


def gamma_of(gamma: Any, X: Csr, values: NDArray | None = None) -> Any:
    """1 / (d variance of all values of X) for "scale", 1 / d for "auto", else what is given.

    X of one value has a variance of 0, and 1 for its gamma. values: those of X that are not 0, with
    more digits than it has; None for its own.
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
