# SPDX-License-Identifier: BSD-3-Clause
"""Survival times, negative where the event was not observed (censored), and the concordance of
scores with them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from svmcut._native.constraints import survival_pairs
from svmcut.base.errors import DataError
from svmcut.scoring.measures import Measures


def survival_measures(y: NDArray, scores: NDArray) -> Measures:
    """Return Harrell's c: the share of comparable pairs whose earlier event has the higher score;
    O(n log n).

    Times `y` (n,) are negative where censored. Two are comparable if the earlier one is an event,
    or if they are equal and one is an event, the other censored. Pairs of equal scores count half,
    pairs with a score of nan as wrong. ``concordance`` is from 0 to 1, nan if no pair is
    comparable; ``discordance`` is 100 (1 - c), in percent.

    References
    ----------
    F. E. Harrell et al., Evaluating the yield of medical tests, JAMA 1982.
    """
    right, tied, pairs = 0, 0, 0
    if len(y):
        key, keys = order_keys(np.asarray(y, np.float64))
        known = np.nan_to_num(np.asarray(scores, np.float64), nan=-np.inf)
        right, tied, pairs = survival_pairs(np.ascontiguousarray(known), key, keys, 1)
    c = (right + 0.5 * tied) / pairs if pairs else math.nan
    values = {"discordance": 100.0 * (1.0 - c), "concordance": c}
    return Measures(values, 1.0 - c, int(right == pairs), 1)


def order_keys(y: NDArray[np.float64]) -> tuple[NDArray[np.int32], int]:
    """Return keys (n,), twice the rank of the time, plus 1 if it is censored, and a bound above
    all.

    Row j outlived the event of row i if key_i is even and key_j > key_i.
    """
    times, ranks = np.unique(np.abs(y), return_inverse=True)
    return (2 * ranks + (y < 0)).astype(np.int32), 2 * len(times)


def count_pairs(key: NDArray[np.int32], keys: int, weights: NDArray | None = None) -> float:
    """Return the number of comparable pairs, each weighted by the product of its rows' weights."""
    at_key = np.bincount(key, weights, minlength=keys).astype(np.float64)
    above = at_key.sum() - np.cumsum(at_key)
    return float(at_key[::2] @ above[::2])


def check_times(y: NDArray[np.float64], path: str) -> None:
    """Refuse times of 0, and labels of which no two can be compared, with a DataError."""
    zero = np.flatnonzero(y == 0)
    if len(zero):
        raise DataError(
            path,
            f"the time of example {int(zero[0]) + 1} is 0, which has no sign to say whether it is "
            "censored; times are above 0, and negative where censored",
        )
    if not count_pairs(*order_keys(y)):
        raise DataError(
            path, "no two times can be compared: no event was followed by another time; give others"
        )
