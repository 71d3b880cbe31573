# SPDX-License-Identifier: BSD-3-Clause
"""Weights of features as sums over rows, exact although the terms cancel.

In a column that is large compared with the others, multipliers cancel: w_j = sum_i beta_i x_ij is
1e-4 while its terms are 1e4. Such columns are summed again without error: products of halves of
both factors are exact, and so are sums of the parts of them that are multiples of one power of 2
(after Demmel and Nguyen, ARITH 2013).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native import sparse
from svmcut.data.examples import Csr

#: A sum below this part of the sum of its terms' sizes is formed again.
MAX_CANCELLATION = 2.0**-16
#: Beyond it halves of a number would overflow.
MAX_EXACT = 1e290
_SPLIT = 2.0**27 + 1


def linear_weights(support: Csr, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """(d,) sum_k alpha_k z_k of the rows z."""
    entries = support.stored
    factors = np.repeat(alpha, np.diff(support.indptr))
    return column_sums(support.indices[entries], factors, support.data[entries], support.n_features)


def linear_scores(
    X: Csr, w: NDArray[np.float64], b: float, threads: int = 1
) -> NDArray[np.float64]:
    """(n,) w.x - b of every row."""
    scores = np.empty(X.n_rows)
    sparse.predict(sparse.Rows(X), w, -b, scores, threads)
    return scores


def column_sums(
    places: NDArray, factors: NDArray, values: NDArray, width: int
) -> NDArray[np.float64]:
    """(width,) sums of factors times values of each place."""
    factors, values = (np.asarray(part, np.float64) for part in (factors, values))
    with np.errstate(over="ignore", invalid="ignore"):
        products = factors * values
        sums = np.bincount(places, products, width).astype(np.float64)
        sizes = np.bincount(places, np.abs(products), width)
        again = (np.abs(sums) < MAX_CANCELLATION * sizes) & (sizes < MAX_EXACT)
    if not again.any():
        return sums
    chosen = again[places]
    places, factors, values = places[chosen], factors[chosen], values[chosen]
    if np.abs(factors).max() < MAX_EXACT and np.abs(values).max() < MAX_EXACT:
        exact = _exact_sums(places, _halves(factors), _halves(values), width)
        sums[again] = exact[again]
    return sums


def _halves(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Numbers of at most 26 bits that add up to the values."""
    wide = _SPLIT * values
    high = wide - (wide - values)
    return high, values - high


def _exact_sums(
    places: NDArray, factors: tuple[NDArray, NDArray], values: tuple[NDArray, NDArray], width: int
) -> NDArray[np.float64]:
    terms = [one * other for one in factors for other in values if other.any()]
    where = np.tile(places, len(terms))
    every = np.concatenate(terms)
    largest = np.zeros(width)
    np.maximum.at(largest, where, np.abs(every))
    # n terms below 2^e are cut where 2^(e + log2 n) has its last bit, so that their sum is exact
    exponents = np.frexp(largest)[1] + np.frexp(np.bincount(where, minlength=width))[1]
    unit = np.ldexp(1.5, exponents)[where]
    high = (unit + every) - unit
    low = np.bincount(where, every - high, width)
    return np.bincount(where, high, width).astype(np.float64) + low
