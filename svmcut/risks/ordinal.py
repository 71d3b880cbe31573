# SPDX-License-Identifier: BSD-3-Clause
"""Ordinal risk: the hinge of every pair of one query with different labels.

    h_q(s) = sum over pairs y_i > y_j of query q of max(0, 1 - (s_i - s_j)),   m_q such pairs

    swapped-pairs      R = (1/Q) sum_q h_q              svm_rank -l 1
    swapped-fraction   R = (1/Q) sum_q h_q / m_q        svm_rank -l 2; queries without pairs give 0
    pairs              R = (1/m) sum_q h_q, m = sum m_q

Q counts all queries, also those without pairs. With weights v of the queries h_q is times v_q, m is
sum v_q m_q, and Q is the sum of the weights. See Joachims, KDD 2006, section 2.2 (OP4, OP5:
"pairs") and Algorithm 2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native.constraints import ordinal_cut, ordinal_grades, workspace
from svmcut.base.errors import TrainingError
from svmcut.base.typing import Literal, NamedTuple
from svmcut.risks.pair_sampling import PairSampler
from svmcut.risks.protocol import Linearization
from svmcut.risks.weights import query_weights

Normalisation = Literal["swapped-pairs", "swapped-fraction", "pairs"]


def query_starts(qid: NDArray | None, n: int) -> NDArray[np.int64]:
    """First row of every query and, last, n: (Q + 1,) int64. qid (n,) is non-decreasing; None makes
    all rows one query.

    Raises TrainingError when qid decreases; it names the row, counted from 1.
    """
    if n == 0:
        return np.zeros(1, np.int64)
    if qid is None:
        return np.array([0, n], np.int64)
    earlier, later = qid[:-1], qid[1:]
    falls = np.flatnonzero(later < earlier)
    if len(falls):
        k = int(falls[0])
        raise TrainingError(
            "row {}: qid {} follows {}; the rows of a query must stand together and qid must "
            "not decrease",
            k + 2,
            int(qid[k + 1]),
            int(qid[k]),
        )
    return np.concatenate(([0], np.flatnonzero(later != earlier) + 1, [n])).astype(np.int64)


class Grades(NamedTuple):
    """Rows graded within their queries."""

    #: (Q + 1,) int64, the first row of every query and, last, n.
    start: NDArray
    #: (n,) int32, 0 for the lowest label of a query.
    grade: NDArray
    #: (Q,) int32.
    n_grades: NDArray
    #: (Q,) int64 pairs of different grades, m_q.
    pairs: NDArray


class OrdinalRisk:
    """The pairwise hinge of labelled queries; the normalisation is also the name of the risk."""

    def __init__(self, normalisation: Normalisation = "swapped-pairs"):
        if normalisation not in ("swapped-pairs", "swapped-fraction", "pairs"):
            raise ValueError(f"unknown normalisation {normalisation!r}")
        self.name = normalisation

    def bind(
        self, y: NDArray, qid: NDArray | None = None, cost: NDArray | None = None, threads: int = 1
    ) -> BoundOrdinal:
        """Grade the labels of every query: a larger label belongs above a smaller one of the same
        query.

        qid (n,) is non-decreasing; None makes all rows one query. `cost` (n,) are weights of the
        queries, the same for all rows of one, None for 1 each. Results do not depend on `threads`.
        Labels without a pair are accepted: the risk is then 0. Raises TrainingError when qid
        decreases or the rows of a query differ in weight.
        """
        y = np.ascontiguousarray(y, np.float64)
        start = query_starts(qid, len(y))
        work = workspace(len(y))
        grades = Grades(start, *ordinal_grades(y, start, work, threads))
        pairs = grades.pairs
        n_queries, n_pairs = len(pairs), int(pairs.sum())
        weights = query_weights(cost, start)
        total = n_queries if weights is None else float(weights.sum())
        weight = np.zeros(n_queries)
        if self.name == "swapped-pairs":
            weight[:] = 1.0 / max(total, 1) if weights is None else weights / total
        elif self.name == "pairs":
            all_pairs = (
                max(n_pairs, 1) if weights is None else float((weights * pairs).sum()) or 1.0
            )
            weight[:] = 1.0 / all_pairs if weights is None else weights / all_pairs
        else:
            paired = pairs > 0
            weight[paired] = 1.0 / (total * pairs[paired].astype(np.float64))
            if weights is not None:
                weight *= weights
        return BoundOrdinal(grades, weight, work, threads, weights)


class BoundOrdinal:
    """Ordinal risk of given labels: R(s) = sum_q weight_q h_q(s).

    O(n log n) time per call for any number of grades; 52 bytes of workspace per row, allocated
    once. Not reentrant. From |s| = 2^53 on, fl(s + 1) = s drops pairs of equal scores from the cut,
    which is then still a cut, but not the most violated one.
    """

    def __init__(self, grades: Grades, weight, work, threads: int, weights=None):
        self.start, self._grade, self._n_grades, pairs = grades
        self._weight, self._work, self._threads = weight, work, threads
        self._margin = np.ones(len(weight))
        self._uniform = len(weight) == 0 or bool((weight == weight[0]).all())
        self.pairs_per_query, self.weights = pairs, weights
        self.n_queries = len(pairs)
        self.n_pairs = int(pairs.sum())

    def linearize(self, s: NDArray) -> Linearization:
        """Value, coefficients (n,) and offset of the cut by the pairs with s_j + 1 > s_i."""
        s = np.ascontiguousarray(s, np.float64)
        coef, cut_pairs, value = ordinal_cut(
            s,
            self.start,
            self._grade,
            self._n_grades,
            self._weight,
            self._margin,
            self._work,
            self._threads,
        )
        if self._uniform:
            weight = float(self._weight[0]) if self.n_queries else 0.0
            return Linearization(weight * float(value.sum()), coef, weight * int(cut_pairs.sum()))
        return Linearization(
            float((self._weight * value).sum()), coef, float((self._weight * cut_pairs).sum())
        )

    def below(self, s: NDArray, margin: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Pairs with s_j + margin > s_i for (Q,) margins, unweighted: coefficients (n,), pairs (Q,)
        int64, and (Q,) sums of margin - (s_i - s_j) over them."""
        weight, work = self._margin, self._work
        return ordinal_cut(
            s, self.start, self._grade, self._n_grades, weight, margin, work, self._threads
        )

    def sampler(self):
        """A sampler of the violated pairs."""
        return PairSampler(self, self.start, self._grade, self._weight)
