# SPDX-License-Identifier: BSD-3-Clause
"""Measures of rankings as risks: MAP, and NDCG of the first places; see `svmcut.scoring.measures`.

    h_q(s) = max over rankings of query q of
             1 - measure - 2/m_q sum over pairs ranked wrongly of (s_hi - s_lo)
    R      = (1/Q) sum_q h_q

The m_q pairs are those of unequal grade: a relevant row and another for MAP, unequal gain for NDCG.
In a ranking by score no pair ranked wrongly has s_hi > s_lo, so h_q is at least 1 - measure,
however ties are broken. A query without such pairs has the same measure for any ranking, and h_q =
0. Q counts all queries; with weights h_q is times that of its query, and Q is their sum.

References
----------
Y. Yue, T. Finley, F. Radlinski, T. Joachims, A support vector method for optimizing average
precision, SIGIR 2007. S. Chakrabarti, R. Khanna, U. Sawant, C. Bhattacharyya, Structured learning
for non-smooth ranking losses, KDD 2008.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from svmcut._native.constraints import (
    map_cut,
    ndcg_cut,
    ndcg_rooms,
    ordinal_grades,
    propensity_cut,
    workspace,
)
from svmcut.base.errors import TrainingError
from svmcut.base.typing import Literal
from svmcut.risks.ordinal import query_starts
from svmcut.risks.protocol import Linearization
from svmcut.risks.weights import example_weights, query_weights
from svmcut.scoring.measures import discounts, gains, is_relevant

#: Most counts of grades among the first places of a query that are searched.
MAX_STATES = 1_000_000
#: Most prices of a step between them.
MAX_STEPS = 4_000_000


class RankingRisk:
    """MAP or NDCG of labelled queries; `at` is the number of places that NDCG counts."""

    def __init__(self, name: Literal["map", "ndcg"], at: int = 10):
        self.name, self._at = name, at

    def bind(
        self, y: NDArray, qid: NDArray | None = None, cost: NDArray | None = None, threads: int = 1
    ) -> BoundMap | BoundNdcg:
        """See OrdinalRisk.bind; raises TrainingError also when a query has too many grades for the
        places of NDCG."""
        y = np.ascontiguousarray(y, np.float64)
        start = query_starts(qid, len(y))
        weights = query_weights(cost, start)
        if self.name == "map":
            return BoundMap(is_relevant(y), start, weights, threads)
        return BoundNdcg(gains(y, start), start, weights, threads, self._at)


class _Bound:
    """Base of both measures: (1/Q) sum_q h_q. 52 bytes of workspace per row, allocated once. Not
    reentrant."""

    def __init__(self, grade: NDArray, start: NDArray, weights: NDArray | None, threads: int):
        self._start, self._threads, self._work = start, threads, workspace(len(grade))
        self._grade, self._n_grades, self.pairs_per_query = ordinal_grades(
            grade, start, self._work, threads
        )
        self.n_queries, self.n_pairs, self.weights = (
            len(self.pairs_per_query),
            int(self.pairs_per_query.sum()),
            weights,
        )
        if weights is None:
            self._weight = np.full(self.n_queries, 1.0 / max(self.n_queries, 1))
        else:
            self._weight = weights / weights.sum()

    def linearize(self, s: NDArray) -> Linearization:
        """The most violated rankings: value, coefficients (n,), and offset, which is their mean
        loss."""
        coef, value, offset = self._cut(np.ascontiguousarray(s, np.float64))
        return Linearization(
            float((self._weight * value).sum()), coef, float((self._weight * offset).sum())
        )

    def _cut(self, s: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        raise NotImplementedError


class BoundMap(_Bound):
    """MAP of given labels; O(n log n) time per call."""

    def __init__(self, relevant: NDArray, start: NDArray, weights: NDArray | None, threads: int):
        self.unlike = "a relevant row, of label 1 or more, and another"
        super().__init__(relevant.astype(np.float64), start, weights, threads)
        query = np.repeat(np.arange(self.n_queries), np.diff(start))
        self._rows = np.lexsort((~relevant, query)).astype(np.int32)
        self._n_relevant = np.bincount(query[relevant], minlength=self.n_queries).astype(np.int64)

    def _cut(self, s: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        return map_cut(
            s, self._start, self._rows, self._n_relevant, self._weight, self._work, self._threads
        )


class BoundNdcg(_Bound):
    """NDCG of given labels; O(n log n) time per call, and M^2 (K + M choose M) for M grades of a
    query and K places. Raises TrainingError if these are too many."""

    def __init__(
        self, gain: NDArray, start: NDArray, weights: NDArray | None, threads: int, at: int
    ):
        self.unlike = "two rows of different gain"
        super().__init__(gain, start, weights, threads)
        rows, M = np.diff(start), self._n_grades.astype(np.int64)
        places = np.where(
            M < 2, 1, np.minimum(rows, min(at, len(gain)))
        )  # of one grade nothing is looked for
        self._gain, self._discount = gain, discounts(np.arange(places.max(initial=1)))
        first = np.concatenate(([0], np.cumsum(M)))
        of_grade = np.bincount(np.repeat(first[:-1], rows) + self._grade, minlength=int(first[-1]))
        open_rows = np.minimum(of_grade, np.repeat(places, M))
        # as many as their product, and as there are ways to choose places and their ends
        states = np.multiply.reduceat(open_rows + 1.0, first[:-1]) if len(M) else np.ones(0)
        for query in np.flatnonzero(states > MAX_STATES / 100):
            ways = math.comb(int(places[query] + M[query]), int(M[query]))
            states[query] = min(states[query], float(min(ways, 10 * MAX_STATES)))
        total = np.add.reduceat(open_rows, first[:-1]) if len(M) else np.ones(0)
        steps = total * (total + M)
        too_many = np.flatnonzero((states > MAX_STATES) | (steps > MAX_STEPS))
        if len(too_many):
            q = int(too_many[0])
            raise TrainingError(
                "the query of rows {} to {} has {} grades, too many for the exact search over "
                "the grades of its first "
                "{} places; lower {at}, merge grades, or use {loss=swapped-pairs}",
                start[q] + 1,
                start[q + 1],
                M[q],
                places[q],
            )
        most = {"states": states, "steps": steps, "grades": M, "places": places}
        self._sizes = {name: int(counts.max(initial=1)) for name, counts in most.items()}
        self._rooms = ndcg_rooms(self._sizes, max(1, min(threads, self.n_queries)))

    def _cut(self, s: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        return ndcg_cut(
            s,
            self._start,
            self._grade,
            self._n_grades,
            self._gain,
            self._discount,
            self._weight,
            self._work,
            self._sizes,
            self._rooms,
        )


class PropensityRisk:
    """The hinge of clicked rows and all others."""

    name = "propensities"

    def bind(
        self, y: NDArray, qid: NDArray | None = None, cost: NDArray | None = None, threads: int = 1
    ) -> BoundPropensities:
        """Rows with y > 0 are clicked; `cost` (n,) has the inverse propensities of clicked rows,
        None for 1 each, and those of other rows are ignored.

        Raises TrainingError when qid decreases, or a cost is negative or not finite.
        """
        return BoundPropensities(np.asarray(y) > 0, qid, cost, threads)


class BoundPropensities:
    """Clicks, each weighed by the inverse of the probability that the user looked at it.

        R(s) = (1/Q) sum over queries  sum over clicked rows i of
               c_i sum over the other rows j of the query of  max(0, 1 - (s_i - s_j))

    The other rows include clicked ones. A term is at least c_i times the rank of i less 1, so R
    bounds the propensity-weighted estimate of the sum of ranks of the relevant rows (Joachims,
    Swaminathan and Schnabel, WSDM 2017, section 5). Q counts all queries, also those without
    clicks. O(n log n).

    The risk of given clicks; 52 bytes of workspace per row, allocated once. Not reentrant;
    results do not depend on threads.
    """

    #: Of the queries: 1 each.
    weights = None
    #: A pair in words.
    unlike = "a clicked row, of label above 0, and another"

    def __init__(self, clicked: NDArray, qid: NDArray | None, cost: NDArray | None, threads: int):
        n = len(clicked)
        self._start, self._work, self._threads = query_starts(qid, n), workspace(n), threads
        weights = example_weights(cost, n)
        self._cost = clicked * (np.ones(n) if weights is None else weights)
        rows = np.diff(self._start)
        until = np.concatenate(([0], np.cumsum(clicked)))[self._start]
        self.pairs_per_query = np.diff(until).astype(np.int64) * (rows - 1)
        self.n_queries, self.n_pairs = len(rows), int(self.pairs_per_query.sum())

    def linearize(self, s: NDArray) -> Linearization:
        """Value, coefficients (n,) and offset of the cut by the pairs with s_j + 1 > s_i."""
        weight = 1.0 / max(self.n_queries, 1)
        coef, value, offset = propensity_cut(
            np.ascontiguousarray(s, np.float64),
            self._start,
            self._cost,
            weight,
            self._work,
            self._threads,
        )
        total = float(value.sum())
        return Linearization(
            weight * (0.0 if total < 0 else total), coef, weight * float(offset.sum())
        )  # below 0 by rounding alone; nan stays
