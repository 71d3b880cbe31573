# SPDX-License-Identifier: BSD-3-Clause
"""Cuts of a risk from a sample of its violations (Yu and Joachims, KDD 2008), without features.

A risk that is a sum over terms (examples, pairs) is cut by the terms with positive loss, the set I.
A sampled cut replaces their sum by |I|/r times a sum over r draws: unbiased, and with coefficients
at r points (2 r for pairs) only. Where terms have weights they are drawn in proportion to them, and
their sum over I stands for |I|.
"""

from __future__ import annotations

import numpy as np

from svmcut.base.typing import TYPE_CHECKING, NamedTuple, Protocol

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

    def sample(self, rng: np.random.Generator, r: int) -> Draw:
        """r draws from I with replacement."""
        ...


class Sampler(Protocol):
    """A risk whose violations may be sampled."""

    def violations(self, s: NDArray) -> Violations: ...


def merge_points(points: NDArray, coef: NDArray, offset: float, value: float) -> Draw:
    """Equal points summed; those that cancel are left out."""
    unique, place = np.unique(points, return_inverse=True)
    total = np.bincount(place, coef, len(unique))
    keep = total != 0
    return Draw(unique[keep].astype(np.int64), total[keep], offset, value)


class HingeSampler:
    """Violations of R(s) = sum_i v_i max(0, 1 - y_i s_i).

    Parameters
    ----------
    signs : (n,) float64
        Labels in {-1, +1}.
    weights : (n,) float64 or None
        None for 1 each.
    """

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

    def merged(self, points: NDArray) -> tuple[NDArray, NDArray]:
        """The rows of a sample of `points`, each once, and weights with which their risk stands for
        that of all."""
        rows, count = np.unique(points, return_counts=True)
        return rows, count * (self._total / len(points))

    @property
    def _total(self) -> float:
        """Sum of all weights."""
        return len(self.signs) if self._cumulative is None else float(self._cumulative[-1])

    def bootstrap(self, s: NDArray, points: NDArray) -> Draw:
        """The cut of a sample of all rows, with the risk scaled to all of them.

        Parameters
        ----------
        s : (r,) float64
            Scores of the drawn points.
        points : (r,) int64
            With repetitions, as `points` draws them.
        """
        y = self.signs[points]
        loss = 1 - y * s
        hit = loss > 0
        weight = self._total / len(points)
        return merge_points(
            points[hit], -weight * y[hit], weight * int(hit.sum()), weight * float(loss[hit].sum())
        )


def draw_places(rng: np.random.Generator, cumulative: NDArray, r: int) -> NDArray:
    """r places, (r,) int64, each drawn in proportion to what `cumulative` rises by there; never
    where it does not."""
    places = np.searchsorted(cumulative, rng.random(r) * cumulative[-1], side="right")
    return np.minimum(places, np.searchsorted(cumulative, cumulative[-1]))


def choose_terms(rng: np.random.Generator, r: int, size: int, weights: NDArray | None) -> NDArray:
    """r draws, (r,) int64 with repetitions, from `size` terms in proportion to their weights."""
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
        #: Sum of the weights over I.
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
