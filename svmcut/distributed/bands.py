# SPDX-License-Identifier: BSD-3-Clause
"""What Newton's method asks of a part: its losses smoothed at a point, and their curvatures.

A part keeps what it found at the last point, which the products of a step ask for again and again.
"""

from __future__ import annotations

import numpy as np

from svmcut._native import newton as native
from svmcut.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.distributed.parts import Part, Place
    from svmcut.risks.smoothed import Smoothed

#: Numbers before the vector of an answer of `look`.
FACTS = 4


def smoothed(part: Part, at: Place, delta: float) -> Smoothed:
    """The losses at a point, not to be changed."""
    key = at.names, at.steps, delta
    kept = part.banded
    if kept is None or kept[0] != key:
        part.banded = kept = key, part.risk.smoothed(part.scores(at), delta)
    return kept[1]


def look(part: Part, at: Place, delta: float) -> NDArray[np.float64]:
    """(FACTS + dim,): R, offset and excess of the smoothed losses' cut, rows with a curvature; the
    normal of the cut."""
    dim = len(at.vectors[0])
    facts = np.zeros(FACTS + dim)
    if part.risk:
        known = smoothed(part, at, delta)
        facts[:FACTS] = known.value, known.offset, known.excess, len(known.rows)
        facts[FACTS:] = part.space(dim).adjoint(known.coef)
    return facts


def excesses(part: Part, at: Place, *widths: float) -> NDArray[np.float64]:
    """(widths,): how far the cuts of losses smoothed over these widths lie below R at a point."""
    if not part.risk:
        return np.zeros(len(widths))
    s = part.scores(at)
    return np.array([part.risk.smoothed(s, delta).excess for delta in widths])


def slope(part: Part, here: Place, target: Place, t: float, delta: float) -> NDArray[np.float64]:
    """(2,): slope and curvature of the smoothed R, t of the way from here to the target."""
    if not part.risk:
        return np.zeros(2)
    s = part.scores(here)
    return np.array(part.risk.slope(s, part.scores(target) - s, t, delta))


def ahead(part: Part, here: Place, target: Place, delta: float) -> NDArray[np.float64]:
    """(1 + dim,): offset and normal of the cut whose slopes a step to the target foresees."""
    dim = len(here.vectors[0])
    cut = np.zeros(1 + dim)
    if part.risk:
        known, s = smoothed(part, here, delta), part.scores(here)
        bends = 1.0 if known.bends is None else known.bends
        coef, cut[0] = part.risk.nearest_cut(
            known.coef + bends * (part.scores(target) - s) / known.width
        )
        cut[1:] = part.space(dim).adjoint(coef)
    return cut


def diagonal(part: Part, at: Place, delta: float) -> NDArray[np.float64]:
    """(dim,): that of A'BA."""
    diag = np.zeros(len(at.vectors[0]))
    if part.risk:
        known, space = smoothed(part, at, delta), part.space(len(diag))
        native.band_diagonal(space.rows, known.rows, space.bias, diag, space.threads, known.bends)
        diag /= known.width
    return diag


def product(part: Part, at: Place, q: Place, delta: float) -> NDArray[np.float64]:
    """(dim,): A'BA q"""
    (vector,) = q.vectors
    image = np.zeros(len(vector))
    if part.risk:
        known, space = smoothed(part, at, delta), part.space(len(image))
        native.band_product(
            space.rows, known.rows, space.bias, vector, image, space.threads, known.bends
        )
        image /= known.width
    return image


def gram(part: Part, at: Place, delta: float) -> NDArray[np.float64]:
    """(dim, dim): the lower triangle of A'BA."""
    dim = len(at.vectors[0])
    matrix = np.zeros((dim, dim))
    if part.risk:
        known, space = smoothed(part, at, delta), part.space(dim)
        native.band_gram(space.rows, known.rows, space.bias, matrix, space.threads, known.bends)
        matrix /= known.width
    return matrix
