# SPDX-License-Identifier: BSD-3-Clause
"""Cuts of a risk from a sample of its violations (Yu and Joachims, KDD 2008), without features.

A risk that is a sum over terms (examples, pairs) is cut by the terms with positive loss, the set I.
A sampled cut replaces their sum by |I|/r times a sum over r draws: unbiased, and with coefficients
at r points (2 r for pairs) only. Terms with weights are drawn in proportion to them, and the sum of
weights over I replaces |I|.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.base.typing import NamedTuple, Protocol


class Draw(NamedTuple):
    """A sampled cut offset + sum_p coef_p s[points_p]."""

    #: (m,) int64, increasing and distinct: equal draws are merged.
    points: NDArray
    #: (m,) float64.
    coef: NDArray
    offset: float
    #: The cut at the scores it was made at, an estimate of the risk there.
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

    def sample(self, rng: np.random.Generator, r: int) -> Draw:
        """r draws from I with replacement."""
        ...


class Sampler(Protocol):
    """A risk whose violations may be sampled."""

    def violations(self, s: NDArray) -> Violations: ...


def merge_points(points: NDArray, coef: NDArray, offset: float, value: float) -> Draw:
    """The cut with equal points summed and zero sums left out."""
    unique, place = np.unique(points, return_inverse=True)
    total = np.bincount(place, coef, len(unique))
    keep = total != 0
    return Draw(unique[keep].astype(np.int64), total[keep], offset, value)


class HingeSampler:
    """Violations of R(s) = sum_i v_i max(0, 1 - y_i s_i), for labels in {-1, +1}; `weights` None
    for 1 each."""

    def __init__(self, signs: NDArray, weights: NDArray | None = None):
        self.signs, self.weights = signs, weights
        self._cumulative = None if weights is None else np.cumsum(weights)

    def violations(self, s: NDArray) -> HingeViolations:
        return HingeViolations(self.signs, s, self.weights)

    def points(self, rng: np.random.Generator, r: int) -> NDArray:
        """r rows, (r,) int64, drawn from all with replacement, in proportion to their weights; for
        `bootstrap`."""
        if self._cumulative is None:
            return rng.integers(len(self.signs), size=r)
        return draw_places(rng, self._cumulative, r)

    def merge_draws(self, points: NDArray) -> tuple[NDArray, NDArray]:
        """The distinct rows of `points`, and weights with which their risk estimates that of all
        rows."""
        rows, count = np.unique(points, return_counts=True)
        return rows, count * (self._total / len(points))

    @property
    def _total(self) -> float:
        """The sum of all weights."""
        return len(self.signs) if self._cumulative is None else float(self._cumulative[-1])

    def bootstrap(self, s: NDArray, points: NDArray) -> Draw:
        """The cut of a sample of all rows, with the risk scaled to all of them; s (r,) are the
        scores of the drawn points, which may repeat."""
        y = self.signs[points]
        loss = 1 - y * s
        hit = loss > 0
        weight = self._total / len(points)
        return merge_points(
            points[hit], -weight * y[hit], weight * int(hit.sum()), weight * float(loss[hit].sum())
        )


def draw_places(rng: np.random.Generator, cumulative: NDArray, r: int) -> NDArray:
    """r places, (r,) int64, each drawn with probability proportional to the increment of
    `cumulative` there."""
    places = np.searchsorted(cumulative, rng.random(r) * cumulative[-1], side="right")
    return np.minimum(places, np.searchsorted(cumulative, cumulative[-1]))


def choose_terms(rng: np.random.Generator, r: int, size: int, weights: NDArray | None) -> NDArray:
    """r draws, (r,) int64, with replacement from `size` terms, in proportion to their weights."""
    return (
        rng.integers(size, size=r) if weights is None else draw_places(rng, np.cumsum(weights), r)
    )


class HingeViolations:
    """The rows with y_i s_i < 1 and v_i > 0."""

    def __init__(self, signs: NDArray, s: NDArray, weights: NDArray | None = None):
        loss = 1 - signs * s
        self.rows = np.flatnonzero(loss > 0 if weights is None else (loss > 0) & (weights > 0))
        self._signs, self._loss = signs, loss[self.rows]
        self._weights = None if weights is None else weights[self.rows]
        self.size = len(self.rows)
        self.value = float(
            self._loss.sum() if self._weights is None else (self._weights * self._loss).sum()
        )
        #: The sum of the weights over I.
        self._mass = float(self.size) if self._weights is None else float(self._weights.sum())

    def everything(self) -> Draw:
        coef = -self._signs[self.rows]
        return Draw(
            self.rows,
            coef if self._weights is None else self._weights * coef,
            self._mass,
            self.value,
        )

    def sample(self, rng: np.random.Generator, r: int) -> Draw:
        places = choose_terms(rng, r, self.size, self._weights)
        rows, weight = self.rows[places], self._mass / r
        return merge_points(
            rows, -weight * self._signs[rows], self._mass, weight * float(self._loss[places].sum())
        )
