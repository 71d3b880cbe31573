# SPDX-License-Identifier: BSD-3-Clause
"""Counts of the rows that are certainly wrong for every C of an interval, from training at some C.

    w at C, with dual vector v and T = P - D - |w - v|^2 / 2.  At C' = q C, with q v for v,
    optimum     w*(C') in the ball about (w + q v)/2 of radius r,   r^2 = q T + |w - q v|^2 / 4
    a row       s = y w.x, u = y v.x, N = |x|:   s + q u < -2 N r,   a quadratic in q: one interval

Between two C the row is certainly wrong in the union of its intervals. Shibagaki, Suzuki,
Karasuyama and Takeuchi, NIPS 2015; Ndiaye, Le, Fercoq, Salmon and Takeuchi, ICML 2019.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from svmcut.base.typing import NamedTuple

#: Rounding error of the coefficients of a quadratic, relative to their terms.
ROUNDING = 1e-12


class Anchor(NamedTuple):
    """Numbers of held-out rows for the w and v of one C."""

    C: float
    #: (n,) y w.x.
    s: NDArray[np.float64]
    #: (n,) y v.x.
    u: NDArray[np.float64]
    #: (n,) |x|, with the constant feature.
    length: NDArray[np.float64]
    #: w.w, w.v and v.v.
    ww: float
    wv: float
    vv: float
    #: P - D - |w - v|^2 / 2.
    T: float


class Lowest(NamedTuple):
    """The least weight of rows that are certainly wrong, and a C that attains it."""

    weight: float
    C: float


@np.errstate(all="ignore")
def wrong_spans(anchor: Anchor) -> NDArray[np.float64]:
    """Return the ends of the open interval of C in which each row is certainly wrong, (2, n); (inf,
    inf) if there is none."""
    _, s, u, N, ww, wv, vv, T = anchor
    T, square = max(0.0, T), N * N
    a = np.maximum(square * vv - u * u, 0.0) + ROUNDING * square * vv
    b = square * (4 * T - 2 * wv) - 2 * s * u
    b += ROUNDING * (square * (4 * T + 2 * abs(wv)) + 2 * np.abs(s * u))
    c = square * ww - s * s + ROUNDING * (square * ww + s * s)
    root = b * b - 4 * a * c
    middle = -0.5 * (b + np.copysign(np.sqrt(np.maximum(root, 0.0)), b))
    ends = np.sort(np.stack([middle / a, c / middle]), axis=0)
    low, high = np.maximum(ends[0], 0.0), ends[1]
    inside = np.where(np.isfinite(high), 0.5 * (low + high), 2 * low + 1)
    known = (root > 0) & (high > low) & (s + inside * u < 0)
    return np.where(known, anchor.C * np.stack([low, high]), np.inf)


def unite(intervals: Sequence[NDArray[np.float64]]) -> tuple[NDArray, NDArray, NDArray]:
    """Return (starts, ends, rows) of the unions of several intervals of the same rows from
    `wrong_spans`."""
    ends = np.stack(intervals)
    order = np.argsort(ends[:, 0], axis=0)
    low = np.take_along_axis(ends[:, 0], order, axis=0)
    reached = np.maximum.accumulate(np.take_along_axis(ends[:, 1], order, axis=0), axis=0)
    there = np.isfinite(low)
    reached = np.where(there, reached, -np.inf)
    first = there.copy()
    first[1:] &= low[1:] >= np.maximum.accumulate(reached, axis=0)[:-1]
    last = there.copy()
    last[:-1] &= first[1:] | ~there[1:]
    rows = np.broadcast_to(np.arange(ends.shape[2]), first.shape)
    # row by row, so that starts and ends stay together
    return low.T[first.T], reached.T[last.T], rows.T[first.T]


def find_lowest(
    starts: NDArray, ends: NDArray, weights: NDArray, low: float, high: float
) -> Lowest:
    """Return the least total weight, over low <= C <= high, of the open intervals that hold C; O(n
    log n).

    Starts, ends and weights are (m,); intervals of one row do not overlap.
    """
    here = (starts < low) & (low < ends)
    weight = float(weights[here].sum())
    if low == high:
        return Lowest(weight, low)
    opened, closed = (starts >= low) & (starts < high), (ends > low) & (ends <= high)
    closed &= here | opened
    at = np.concatenate([ends[closed], starts[opened]])
    change = np.concatenate([-weights[closed], weights[opened]])
    # what ends at a C ends before what starts there: both are open
    order = np.lexsort((change > 0, at))
    sums = weight + np.cumsum(change[order])
    # at `low` itself nothing that starts there holds, and sums of many weights round
    if not len(sums) or weight <= sums.min():
        return Lowest(weight, low)
    place = int(np.argmin(sums))
    return Lowest(max(0.0, float(sums[place])), float(at[order][place]))
