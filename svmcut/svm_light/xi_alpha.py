# SPDX-License-Identifier: BSD-3-Clause
"""Rows that XiAlpha's R^2 condemns and a smaller distance acquits (Joachims' depth of the search,
svm_learn -k).

acquitted    rows with alpha_i D_i + xi_i < 1
D_i          the least, over 1 to depth members of S, of |phi(x_i) - mean of phi(S)|^2; K(x_i, x_i)
             where S is empty
S            grown greedily: next comes the row that leaves the least distance, of the other rows
             strictly inside their boxes, whatever their class
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from svmcut.typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Products of rows with candidates that are held at once.
_HELD = 2_000_000


class Candidates(NamedTuple):
    """What S is chosen from.

    Attributes
    ----------
    free : (m,) int64
        Rows.
    own : (n,) float64
        K(x, x) of all rows.
    products : callable
        (k, m) float64 K of the k rows named and the candidates.
    """

    free: NDArray[np.int64]
    own: NDArray[np.float64]
    products: Callable[[NDArray[np.int64]], NDArray[np.float64]]


def acquit(
    rows: NDArray[np.int64],
    alpha: NDArray[np.float64],
    losses: NDArray[np.float64],
    candidates: Candidates,
    depth: int,
) -> NDArray[np.bool_]:
    """Whether each of these rows is acquitted.

    Parameters
    ----------
    rows : (q,) int64
    alpha, losses : (n,) float64
        Multipliers and xi of all rows.
    candidates : Candidates
    depth : int
        At least 1.

    Notes
    -----
    O(depth m) for every row, and the m^2 products of the candidates are held.
    """
    free, own, products = candidates
    out = np.empty(len(rows), bool)
    gram = products(free) if len(rows) else np.zeros((0, 0))
    size = max(1, _HELD // max(1, len(free)))
    for first in range(0, len(rows), size):
        part = rows[first : first + size]
        D = _least(own[part], products(part), gram, free[None, :] == part[:, None], depth)
        out[first : first + size] = alpha[part] * D + losses[part] < 1.0
    return out


def _least(
    own: NDArray, near: NDArray, gram: NDArray, barred: NDArray[np.bool_], depth: int
) -> NDArray[np.float64]:
    """(k,) D of rows with these K(x, x), products with the candidates, and candidates that they are
    themselves."""
    every = np.arange(len(own))
    barred, least = barred.copy(), np.full(len(own), np.inf)
    inner, square, sums = np.zeros(len(own)), np.zeros(len(own)), np.zeros_like(near)
    for size in range(1, min(depth, near.shape[1]) + 1):
        distances = (
            own[:, None]
            - 2.0 / size * (inner[:, None] + near)
            + (square[:, None] + 2.0 * sums + np.diag(gram)) / size**2
        )
        distances[barred] = np.inf
        taken = np.argmin(distances, axis=1)
        there = ~barred[every, taken]
        least = np.where(there, np.minimum(least, distances[every, taken]), least)
        inner += near[every, taken]
        square += 2.0 * sums[every, taken] + gram[taken, taken]
        sums += gram[taken]
        barred[every, taken] = True
    return np.where(np.isfinite(least), least, own)
