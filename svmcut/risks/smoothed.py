# SPDX-License-Identifier: BSD-3-Clause
"""What Newton's method asks of a sum of losses of one score each, and the search of a line that
needs no more.

smoothed     a loss with corners over a width delta, by a parabola in a band around each of its
             corners
slopes       those of the smoothed losses lie between the loss's own: they are a cut of R, below it
             at s by `excess`
Hessian      of the smoothed R(A w):  1/width sum over rows of bends x x'  (losses without corners:
             width 1); centred, where R is a minimum over a bias: x less its mean over the
             curvatures
"""

from __future__ import annotations

import math
from collections.abc import Callable

from svmcut.base.typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable
from svmcut.risks.protocol import SumRisk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SEARCH_STEPS = 60
#: Of the slope at 0 is left at the end of a line; a smoothed loss, whose bands move, is content
#: with less.
FLAT = 1e-3


class Smoothed(NamedTuple):
    """R at scores s, with slopes and curvatures of the losses smoothed over a width.

    Attributes
    ----------
    value : float
        R(s), not smoothed.
    coef, offset : (n,) float64, float
        A cut of R: the smoothed losses' slopes.
    excess : float
        What the cut lies below R at s; 0 for the tangent of a loss without corners.
    rows : (k,) int32
        Those with a curvature.
    bends : (n,) float64 or None
        Their curvatures times `width`; None for 1 each.
    width : float
    shift : float
        The bias to be added to s, where R is a minimum over one.
    shares : (n,) float64 or None
        Then the parts of the rows in the sum of all curvatures; 0 where there are none.
    """

    value: float
    coef: NDArray[np.float64]
    offset: float
    excess: float
    rows: NDArray[np.int32]
    bends: NDArray[np.float64] | None
    width: float
    shift: float = 0.0
    shares: NDArray[np.float64] | None = None

    @property
    def total(self) -> float:
        """The sum of all curvatures, times `width`."""
        return float(len(self.rows) if self.bends is None else self.bends[self.rows].sum())


@runtime_checkable
class SmoothedRisk(SumRisk, Protocol):
    """A sum of losses of one score each.

    Attributes
    ----------
    narrow : bool
        Whether few rows have a curvature, as in a narrow band.
    lasting : bool
        Whether a curvature is one of two numbers: a Hessian is then the last one and what a few
        rows change.
    foresees : bool
        Whether slopes that a step foresees are worth a cut.
    """

    narrow: bool
    lasting: bool
    foresees: bool

    def widest(self) -> float:
        """The width to begin with, of the size of the losses at 0; 0 for losses without corners."""
        ...

    def smoothed(self, s: NDArray, delta: float) -> Smoothed:
        """R at s, its losses smoothed over delta; O(n)."""
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
    first: float = FLAT,
    enough: float = FLAT,
) -> float:
    """A t > 0 near the minimum of a convex function, and not above its value at 0.

    Safeguarded Newton steps on the slope. They end relative to the slope at 0 and to nothing else:
    a tolerance on the gradient stalls on badly scaled directions. Short of the minimum a small
    slope will do. Beyond it the rise since `low`, at most here (t - low), must be small against the
    fall before it.

    Parameters
    ----------
    rate : Callable
        Slope and curvature at t.
    fall : float
        The slope at 0 without its sign, which is minus.
    t : float
        Where to begin.
    first, enough : float
        Parts of `fall` that may be left short of the minimum, at the first t and later.
    """
    low, high = 0.0, math.inf
    for _ in range(SEARCH_STEPS):
        here, bend = rate(t)
        if here <= 0:
            if -here <= first * fall:
                break
        elif here <= FLAT * fall or here * (t - low) <= 0.05 * fall * low:
            break
        first = enough
        low, high = (t, high) if here < 0 else (low, t)
        t = t - here / bend if bend > 0 else math.inf
        if not low < t < high:
            t = 0.5 * (low + high) if high < math.inf else 2 * low
    return t
