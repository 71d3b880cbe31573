# SPDX-License-Identifier: BSD-3-Clause
"""The dual of a sum of losses on few rows, solved as a whole: one cut that no other raises.

    dual         max_x  r.x - 1/2 x'Qx,   0 <= x <= top,   s.x = 0 where the bias is free
    hinge        Q = B B',  B the rows s_i x_i,  r = 1,  top = C v
    tube         a rise and a fall of each row:  r = s y - tube
    squares      1 / (2 C v) more on the diagonal;  no loss is above C R(0) at the optimum, so that
                 x <= 2 sqrt(C v . C R(0))
    cut          coefficients - s x / C

Cutting planes and steps of one row at a time may need thousands of looks where rows are few and
scales far apart; svmcut/qp/box.py needs some fifty factorisations. With a free bias the columns
less their means give the same optimum with more digits.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from svmcut._native.losses import SQUARED_HINGE, SQUARED_TUBE, TUBE
from svmcut.base.typing import Any, NamedTuple
from svmcut.risks.free_bias import FreeBias
from svmcut.risks.hinge import BoundHinge
from svmcut.risks.losses import BoundLosses
from svmcut.risks.weights import boxes
from svmcut.solvers.protocol import Problem
from svmcut.spaces.linear import LinearSpace
from svmcut.spaces.rows import RowSpace

#: Most rows, and most numbers of the rows as a dense matrix.
MAX_ROWS, MAX_NUMBERS = 500, 500_000
_SQUARED = (SQUARED_HINGE, SQUARED_TUBE)


def is_few(problem: Any) -> bool:
    """Tell whether the dual of a problem is of these, and small enough."""
    if not isinstance(problem, Problem) or problem.l1 or problem.l2 != 1:
        return False
    risk = problem.risk.risk if isinstance(problem.risk, FreeBias) else problem.risk
    known = isinstance(risk, BoundHinge) or (
        isinstance(risk, BoundLosses) and risk.number in (TUBE, *_SQUARED)
    )
    space = problem.space
    if not (known and isinstance(space, LinearSpace | RowSpace) and space.X.n_rows <= MAX_ROWS):
        return False
    return bool(space.X.n_rows * space.X.n_features <= MAX_NUMBERS)


class Whole(NamedTuple):
    """The cut of the greatest dual value as near as rounding allows, and its weights."""

    #: Of the cut.
    coef: NDArray[np.float64]
    offset: float
    #: (dim,) Where the losses of rows between their bounds are at their corners, which the sum of
    #: the rows misses by rounding where C is large.
    w: NDArray[np.float64]


def solve_whole(problem: Any) -> Whole | None:
    """Solve a problem that `is_few`; None where it has no solution in finite numbers."""
    from svmcut.qp.box import Product, Sums, maximise_in_box, slopes

    free, C = isinstance(problem.risk, FreeBias), problem.C
    risk = problem.risk.risk if free else problem.risk
    number, rows = getattr(risk, "number", None), dense_rows(problem.space)
    n, rows = len(rows), rows - rows.mean(axis=0) if free else rows
    top = np.array(np.broadcast_to(boxes(C, risk.weights), n), np.float64)
    if number in (None, SQUARED_HINGE):
        s, r = risk.signs if number is None else risk.targets, np.ones(n)
    else:  # a rise and a fall of each row
        s, top, rows = np.repeat([1.0, -1.0], n), np.tile(top, 2), np.tile(rows, (2, 1))
        r = s * np.tile(risk.targets, 2) - risk.tube
    if free and abs(float(s.sum())) == len(s):
        return None
    h = np.zeros(len(s))
    if number in _SQUARED:
        h = np.divide(0.5, top, out=h, where=top > 0)
        top = 2 * np.sqrt(top * (C * risk.linearize(np.zeros(n)).value))
    B = s[:, None] * rows
    Q, sums = Product(B, h), Sums.from_rows(s if free else None, None, len(s))
    x = maximise_in_box(Q, r, top, s if free else None)
    slope = slopes(Q, r, top, sums, x)
    between = (x >= -slope * top) & (top - x >= slope * top) & (top > 0)
    w = _fit_to_corners(B, s if free else None, (r - h * x), x, between)
    coef = -s * x / C
    coef, offset = problem.risk.nearest_cut(coef.reshape(-1, n).sum(axis=0))
    good = math.isfinite(offset) and np.isfinite(coef).all() and np.isfinite(w).all()
    return Whole(coef, offset, w) if good else None


def _fit_to_corners(
    B: NDArray, s: NDArray | None, r: NDArray, x: NDArray, between: NDArray
) -> NDArray[np.float64]:
    """Return B'x, moved to where B w + s b = r at these rows, whatever the scales of the
    columns."""
    w: NDArray[np.float64] = B.T @ x
    scales = np.abs(B).max(axis=0)
    used, at = np.flatnonzero(scales), np.flatnonzero(between)
    if not len(at) or not len(used):
        return w
    A = B[np.ix_(at, used)] / scales[used]
    A = A if s is None else np.column_stack([A, s[at]])
    b = 0.0 if s is None else float(np.median((r - B @ w)[at] * s[at]))
    for _ in range(3):
        rest = (r - B @ w)[at] - (0.0 if s is None else b * s[at])
        move = np.linalg.lstsq(A, rest, rcond=None)[0]
        w[used] += move[: len(used)] / scales[used]
        b += 0.0 if s is None else float(move[-1])
    return w


def dense_rows(space: Any) -> NDArray[np.float64]:
    """Return the rows (n, d) with their constant feature."""
    rows: NDArray[np.float64] = space.X.to_dense().astype(np.float64)
    return np.column_stack([rows, np.full(len(rows), space.bias)]) if space.bias else rows
