# SPDX-License-Identifier: BSD-3-Clause
"""Sums that come out the same in any order.

    x_1 +- x_2 +- ..      of float32 numbers, all multiples of u, in float64
    exact where           sum |x_i| <= 2^53 u

Then a normal may be formed from the one before it, of rows whose coefficient changed alone, to the
same bytes as afresh: what a part keeps is no more than a short way to what it would compute anyway.
"""

from __future__ import annotations

import numpy as np

from svmcut.data.examples import Csr

BLOCK = 1 << 16


def are_sums_exact(X: Csr, bias: float) -> bool:
    """Tells whether sums over the rows of a feature, and of the constant one, with coefficients -1,
    0 and 1 are exact.

    Every value is a multiple of the spacing of float32 at the smallest.
    """
    data, indices = X.data[X.stored], X.indices[X.stored]
    sums, least = np.zeros(X.n_features), np.inf
    for start in range(0, len(data), BLOCK):
        values = np.abs(data[start : start + BLOCK])
        sums += np.bincount(indices[start : start + BLOCK], values, len(sums))
        least = min(least, np.min(values, where=values > 0, initial=np.inf))
    if not np.isfinite(least):
        return not bias
    unit = float(np.spacing(np.float32(least)))
    whole = not bias or X.n_rows * abs(bias) <= 2.0**53 * _unit(bias)
    return whole and float(sums.max()) <= 2.0**53 * unit


def _unit(x: float) -> float:
    """The largest power of two that x is a multiple of."""
    whole, parts = float(x).as_integer_ratio()
    return (whole & -whole) / parts
