# SPDX-License-Identifier: BSD-3-Clause
"""Cuts of a risk from a sample of its violations (Yu and Joachims, KDD 2008), without features.

A risk that is a sum over terms (examples, pairs) is cut by the terms with positive loss, the set I. A sampled cut
replaces their sum by |I|/r times a sum over r draws: unbiased, and with coefficients at r points (2 r for pairs) only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Draw(NamedTuple):
    """A cut  offset + sum_p coef_p s[points_p]  of a sample.

    Attributes
    ----------
    points : (m,) int64
        Increasing, each once: equal draws are merged.
    coef : (m,) float64
    offset, value : float
        value is the cut's at the scores it was made at, the estimate of the risk there.
    """

    points: NDArray
    coef: NDArray
    offset: float
    value: float


class Violations(Protocol):
    """The violated terms at one vector of scores.

    Attributes
    ----------
    size : int
        |I|.
    value : float
        The risk, exactly.
    """

    size: int
    value: float

    def everything(self) -> Draw:
        """The exact cut."""
        ...

    def sample(self, rng: np.random.Generator, r: int, harder: bool = False) -> Draw:
        """r draws from I with replacement; from the half with the larger losses where `harder`."""
        ...

    def worst(self, r: int) -> Draw:
        """The term with the largest loss, r times: its cut is violated whenever any is."""
        ...


class Sampler(Protocol):
    """A risk whose violations may be sampled."""

    def violations(self, s: NDArray) -> Violations: ...


def merged(points: NDArray, coef: NDArray, offset: float, value: float) -> Draw:
    """Equal points summed; those that cancel are left out."""
    unique, place = np.unique(points, return_inverse=True)
    total = np.bincount(place, coef, len(unique))
    keep = total != 0
    return Draw(unique[keep].astype(np.int64), total[keep], offset, value)


class HingeSampler:
    """Violations of R(s) = sum_i max(0, 1 - y_i s_i).

    Parameters
    ----------
    signs : (n,) float64
        Labels in {-1, +1}.
    """

    def __init__(self, signs: NDArray):
        self.signs = signs

    def violations(self, s: NDArray) -> HingeViolations:
        return HingeViolations(self.signs, s)

    def bootstrap(self, s: NDArray, points: NDArray) -> Draw:
        """The cut of a sample of all rows, with the risk scaled to all of them.

        Parameters
        ----------
        s : (r,) float64
            Scores of the drawn points.
        points : (r,) int64
            With repetitions.
        """
        y = self.signs[points]
        loss = 1 - y * s
        hit = loss > 0
        weight = len(self.signs) / len(points)
        return merged(points[hit], -weight * y[hit], weight * int(hit.sum()), weight * float(loss[hit].sum()))


class HingeViolations:
    """The rows with y_i s_i < 1."""

    def __init__(self, signs: NDArray, s: NDArray):
        loss = 1 - signs * s
        self.rows = np.flatnonzero(loss > 0)
        self._signs, self._loss = signs, loss[self.rows]
        self.size, self.value = len(self.rows), float(self._loss.sum())

    def everything(self) -> Draw:
        return Draw(self.rows, -self._signs[self.rows], float(self.size), self.value)

    def sample(self, rng: np.random.Generator, r: int, harder: bool = False) -> Draw:
        if harder:
            half = np.argsort(-self._loss, kind="stable")[: (self.size + 1) // 2]
            places = half[rng.integers(len(half), size=r)]
        else:
            places = rng.integers(self.size, size=r)
        return self._cut(places)

    def worst(self, r: int) -> Draw:
        return self._cut(np.full(r, int(np.argmax(self._loss))))

    def _cut(self, places: NDArray) -> Draw:
        rows, weight = self.rows[places], self.size / len(places)
        return merged(rows, -weight * self._signs[rows], float(self.size), weight * float(self._loss[places].sum()))
