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

from svmcut._native import chain
from svmcut.base.typing import NamedTuple, Protocol
from svmcut.data.labellings import Labelling, Labellings
from svmcut.risks.protocol import BoundRisk
from svmcut.risks.weights import example_weights


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
    """The violated terms at one vector of scores."""

    #: |I|.
    size: int
    #: The risk, exactly.
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


#: Most grades of a query; time and memory grow with them.
MAX_GRADES = 100


class PairSampler:
    """Cuts of the ordinal risks from a sample of their violated pairs.

        R(s) = sum over queries q and pairs y_i > y_j of q of weight_q max(0, 1 - (s_i - s_j))
        I    = pairs with s_j + 1 > s_i;   a pair is drawn with probability weight_q / W,
               W = sum over I of weight_q
        cut    offset W,  coefficients W/r sum over the draws of (e_j - e_i): unbiased, at most 2 r
               points

    No list of pairs is formed: rows are sorted by query, then by s and s + 1, so that the partners
    of a row are the ends of runs, one run for each grade. `start` (Q + 1,) has the first row of
    every query and, last, n; `grade` (n,) the grades within queries, from 0; `weight` (Q,) those of
    the queries.

    Raises ValueError for more than MAX_GRADES grades.
    """

    def __init__(self, risk: BoundRisk, start: NDArray, grade: NDArray, weight: NDArray):
        self.grades = int(grade.max(initial=0)) + 1
        if self.grades > MAX_GRADES:
            raise ValueError(f"{self.grades} grades; sampled pairs are for at most {MAX_GRADES}")
        self.risk, self.start, self.grade, self.weight = risk, start, np.asarray(grade), weight
        self.query = np.repeat(np.arange(len(start) - 1), np.diff(start))

    def violations(self, s: NDArray) -> PairViolations:
        return PairViolations(self, np.asarray(s, np.float64))


class PairViolations:
    """The pairs with s_j + 1 > s_i at one vector of scores; O(n log n + n R) time for R grades."""

    def __init__(self, sampler: PairSampler, s: NDArray):
        self._sampler, self._s = sampler, s
        self._exact = sampler.risk.linearize(s)
        self.value = self._exact.value
        n, grade, query = len(s), sampler.grade, sampler.query
        t = s + 1
        # at equal values t comes first, so that the partners of i come after it
        order = np.lexsort(
            (np.repeat([1, 0], n), np.concatenate([s, t]), np.concatenate([query, query]))
        )
        is_t, row = order >= n, order % n
        place = np.empty(n, np.int64)
        place[row[~is_t]] = np.flatnonzero(~is_t)
        ends = 2 * sampler.start[1:] - 1
        self._runs, self._last = [], np.zeros((sampler.grades, len(ends)), np.int64)
        self._behind = np.zeros((sampler.grades, n), np.int64)
        for g in range(sampler.grades):
            of_grade = is_t & (grade[row] == g)
            count = np.cumsum(of_grade)
            self._runs.append(row[of_grade])
            self._last[g] = count[ends] if n else 0
            self._behind[g] = np.where(grade > g, self._last[g][query] - count[place], 0)
        self._partners = self._behind.sum(0)
        self.size = int(self._partners.sum())
        self._cumulative = np.cumsum(self._partners * sampler.weight[query])

    def everything(self) -> Draw:
        points = np.flatnonzero(self._exact.coef)
        return Draw(points, self._exact.coef[points], self._exact.offset, self.value)

    def sample(self, rng: np.random.Generator, r: int) -> Draw:
        total = self._cumulative[-1]
        i = np.searchsorted(self._cumulative, rng.random(r) * total, side="right")
        i = np.minimum(i, np.flatnonzero(self._partners)[-1])
        rest = rng.integers(self._partners[i])
        reach = np.cumsum(self._behind[:, i], axis=0)
        g = (reach <= rest).sum(0)
        rest -= np.where(g > 0, reach[np.maximum(g - 1, 0), np.arange(r)], 0)
        last = self._last[g, self._sampler.query[i]]
        j = np.empty(r, np.int64)
        for grade in np.unique(g):
            here = g == grade
            j[here] = self._runs[grade][last[here] - 1 - rest[here]]
        weight = total / r
        value = weight * float((1 - self._s[i] + self._s[j]).sum())
        return merge_points(
            np.concatenate([i, j]), np.repeat([-weight, weight], r), float(total), value
        )


class ChainSampler:
    """Cuts of the structured hinge of chains from a sample of its violated sequences.

        R(s) = sum_n v_n H_n(s),   H_n = max_y [score_s(y) + Delta(y_n, y)] - score_s(y_n)
        I    = sequences with v_n H_n > 0, drawn in proportion to v, 1 without weights
        cut    sum_I v / r times the sum over the draws of their most violated labellings: unbiased

    A draw of r sequences has coefficients at their wrong tokens only, and the cost of a cut with a
    kernel grows with those. Points are positions of scores as in svmcut.data.labellings; `weights`
    are those of the sequences, None for 1 each.
    """

    def __init__(self, labellings: Labellings, threads: int = 1, weights: NDArray | None = None):
        self.labellings, self.threads = labellings, threads
        self.weights = example_weights(weights, labellings.chains.n_sequences)

    def violations(self, s: NDArray) -> ChainViolations:
        return ChainViolations(self, s)


class ChainViolations:
    """The sequences whose most violated labelling is not the right one; O(tokens K^2) at transition
    order 1."""

    def __init__(self, sampler: ChainSampler, s: NDArray):
        self._labellings = labellings = sampler.labellings
        chains = labellings.chains
        self._labels = np.empty(chains.n_tokens, np.int32)
        self._slacks, self._losses = np.empty(chains.n_sequences), np.empty(chains.n_sequences)
        chain.argmax(
            chains,
            np.ascontiguousarray(s[labellings.n_nodes :]),
            s,
            chain.HAMMING,
            0,
            self._labels,
            self._slacks,
            self._losses,
            sampler.threads,
        )
        v = sampler.weights
        self.sequences = np.flatnonzero(
            self._slacks > 0 if v is None else (self._slacks > 0) & (v > 0)
        )
        self._weights = None if v is None else v[self.sequences]
        self.size = len(self.sequences)
        self.value = float(self._slacks.sum() if v is None else (v * self._slacks).sum())
        self._mass = self.size if self._weights is None else float(self._weights.sum())

    def everything(self) -> Draw:
        weights = np.zeros(len(self._slacks))
        weights[self.sequences] = 1.0 if self._weights is None else self._weights
        return self._cut(weights)

    def sample(self, rng: np.random.Generator, r: int) -> Draw:
        sequences = self.sequences[choose_terms(rng, r, self.size, self._weights)]
        return self._cut(self._mass / r * np.bincount(sequences, minlength=len(self._slacks)))

    def _cut(self, weights: NDArray) -> Draw:
        points, coef = self._labellings.coefficients(Labelling(self._labels, weights))
        return Draw(points, coef, float(weights @ self._losses), float(weights @ self._slacks))
