# SPDX-License-Identifier: BSD-3-Clause
"""Times until an event, negative where observation ended before it, and whether risks are in their
order."""

from __future__ import annotations

import math

import numpy as np

from svmcut._native.constraints import survival_pairs
from svmcut.base.errors import DataError
from svmcut.base.typing import TYPE_CHECKING
from svmcut.scoring.measures import Measured

if TYPE_CHECKING:
    from numpy.typing import NDArray


def survival_measures(y: NDArray, scores: NDArray) -> Measured:
    """Harrell's c: the share of comparable pairs whose earlier event has the higher score.

    Parameters
    ----------
    y : (n,)
        Times, negative where censored. Two are comparable where the earlier one is an event, and at
        one time where one is an event and the other censored.
    scores : (n,)
        Pairs of equal scores count for half; of a score that is nan for wrong.

    Returns
    -------
    Measured
        ``concordance`` from 0 to 1, nan where no pair is comparable, and ``discordance``, what it
        lacks to 1 in percent. O(n log n).

    References
    ----------
    F. E. Harrell et al., Evaluating the yield of medical tests, JAMA 1982.
    """
    right, tied, pairs = 0, 0, 0
    if len(y):
        key, keys = keys_of(np.asarray(y, np.float64))
        known = np.nan_to_num(np.asarray(scores, np.float64), nan=-np.inf)
        right, tied, pairs = survival_pairs(np.ascontiguousarray(known), key, keys, 1)
    c = (right + 0.5 * tied) / pairs if pairs else math.nan
    values = {"discordance": 100.0 * (1.0 - c), "concordance": c}
    return Measured(values, 1.0 - c, int(right == pairs), 1)


def keys_of(y: NDArray[np.float64]) -> tuple[NDArray[np.int32], int]:
    """(n,) 2 rank of the time, plus 1 where it is censored, and a bound above all: row j outlived
    the event of row i where key_i is even and key_j > key_i."""
    times, ranks = np.unique(np.abs(y), return_inverse=True)
    return (2 * ranks + (y < 0)).astype(np.int32), 2 * len(times)


def pairs_of(key: NDArray[np.int32], keys: int, weights: NDArray | None = None) -> float:
    """The comparable pairs, each of the product of its rows' weights."""
    at_key = np.bincount(key, weights, minlength=keys).astype(np.float64)
    above = at_key.sum() - np.cumsum(at_key)
    return float(at_key[::2] @ above[::2])


def check_times(y: NDArray[np.float64], path: str) -> None:
    """Refuses times of 0, and labels of which no two can be compared, as a DataError."""
    zero = np.flatnonzero(y == 0)
    if len(zero):
        raise DataError(
            path,
            f"the time of example {int(zero[0]) + 1} is 0, which has no sign to say whether it is "
            "censored; times are above 0, and negative where censored",
        )
    if not pairs_of(*keys_of(y)):
        raise DataError(
            path, "no two times can be compared: no event was followed by another time; give others"
        )
