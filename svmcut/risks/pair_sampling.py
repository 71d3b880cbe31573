# SPDX-License-Identifier: BSD-3-Clause
"""Cuts of the ordinal risks from a sample of their violated pairs.

    R(s) = sum over queries q and pairs y_i > y_j of q of weight_q max(0, 1 - (s_i - s_j))
    I    = pairs with s_j + 1 > s_i;   a pair is drawn with probability weight_q / W,
           W = sum over I of weight_q
    cut    offset W,  coefficients W/r sum over the draws of (e_j - e_i): unbiased, at most 2 r
           points

No list of pairs is formed: rows are sorted by query, then by s and s + 1, so that the partners of a
row are the ends of runs, one run for each grade.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.risks.protocol import BoundRisk
from svmcut.risks.sampling import Draw, merge_points

#: Most grades of a query; time and memory grow with them.
MAX_GRADES = 100


class PairSampler:
    """Violated pairs of an ordinal risk. `start` (Q + 1,) has the first row of every query and,
    last, n; `grade` (n,) the grades within queries, from 0; `weight` (Q,) those of the queries.

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
