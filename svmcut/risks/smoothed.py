# SPDX-License-Identifier: BSD-3-Clause
"""The protocol of Newton's method for a sum of losses of one score each, and its line search.

smoothed     a loss with corners, replaced by a parabola in a band of width delta around each
slopes       those of the smoothed losses lie between the loss's own: they are a cut of R, below
             it at s by `excess`
Hessian      of the smoothed R(A w):  1/width sum over rows of bends x x'  (losses without
             corners: width 1); if R is a minimum over a bias, centred: x less its mean,
             weighted by curvatures
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from svmcut.base.typing import NamedTuple, Protocol, runtime_checkable
from svmcut.risks.protocol import SumRisk

MAX_SEARCH_STEPS = 60
#: Fraction of the slope at 0 that may remain at the end of a line search.
SLOPE_TOLERANCE = 1e-3


class Smoothed(NamedTuple):
    """R at scores s, with slopes and curvatures of the losses smoothed over a width."""

    #: R(s), not smoothed.
    value: float
    #: (n,) and, with `offset`, a cut of R: the smoothed losses' slopes.
    coef: NDArray[np.float64]
    offset: float
    #: R(s) less the cut at s; 0 for the tangent of a loss without corners.
    excess: float
    #: (k,) those with a curvature.
    rows: NDArray[np.int32]
    #: (n,) curvatures times `width`; None for 1 each.
    bends: NDArray[np.float64] | None
    width: float
    #: The bias to add to s, if R is a minimum over a bias.
    shift: float = 0.0
    #: (n,) then each row's share of the sum of all curvatures; 0 if there are none.
    shares: NDArray[np.float64] | None = None

    @property
    def total(self) -> float:
        """The sum of all curvatures, times `width`."""
        return float(len(self.rows) if self.bends is None else self.bends[self.rows].sum())


@runtime_checkable
class SmoothedRisk(SumRisk, Protocol):
    """A sum of losses of one score each."""

    #: Few rows have a curvature.
    has_narrow_band: bool
    #: A curvature is one of two numbers, so a Hessian is the last one plus changes of a few rows.
    has_two_curvatures: bool
    #: A cut with the slopes predicted at the end of a step is worth its cost.
    should_cut_ahead: bool

    def initial_width(self) -> float:
        """The first width, of the size of the losses at 0; 0 for losses without corners."""
        ...

    def smooth(self, s: NDArray, delta: float) -> Smoothed:
        """R at s, with its losses smoothed over delta; O(n)."""
        ...

    def slope(self, s: NDArray, e: NDArray, t: float, delta: float) -> tuple[float, float]:
        """Slope and curvature at t of the smoothed R(s + t e); O(n)."""
        ...

    def nearest_cut(self, coef: NDArray) -> tuple[NDArray, float]:
        """Coefficients and offset of the cut of R whose coefficients are nearest to these."""
        ...

    def take(self, rows: NDArray) -> SmoothedRisk:
        """The risk of these examples alone."""
        ...


def line_step(
    rate: Callable[[float], tuple[float, float]],
    fall: float,
    t: float = 1.0,
    first: float = SLOPE_TOLERANCE,
    enough: float = SLOPE_TOLERANCE,
) -> float:
    """A t > 0 near the minimum of a convex function, not above its value at 0, by safeguarded
    Newton steps on the slope.

    `rate(t)` gives slope and curvature; `fall` is minus the slope at 0; `t` is the first step.
    Steps end relative to the slope at 0 alone, as an absolute tolerance would stall on badly scaled
    directions. Short of the minimum a slope of at most `first` (at the first t) or `enough` (later)
    times `fall` is accepted. Past the minimum the rise since `low`, at most here (t - low), must be
    small compared with the fall before it.
    """
    low, high = 0.0, math.inf
    for _ in range(MAX_SEARCH_STEPS):
        here, bend = rate(t)
        if here <= 0:
            if -here <= first * fall:
                break
        elif here <= SLOPE_TOLERANCE * fall or here * (t - low) <= 0.05 * fall * low:
            break
        first = enough
        low, high = (t, high) if here < 0 else (low, t)
        t = t - here / bend if bend > 0 else math.inf
        if not low < t < high:
            t = 0.5 * (low + high) if high < math.inf else 2 * low
    return t
