# SPDX-License-Identifier: BSD-3-Clause
"""Ordinal risk: the hinge of every pair of one query with different labels.

    h_q(s) = sum over pairs y_i > y_j of query q of max(0, 1 - (s_i - s_j)),     m_q = number of
    these pairs

    swapped-pairs      R = (1/Q) sum_q h_q              svm_rank -l 1
    swapped-fraction   R = (1/Q) sum_q h_q / m_q        svm_rank -l 2; queries without pairs give 0
    pairs              R = (1/m) sum_q h_q, m = sum m_q

Q counts all queries, those without pairs too. With weights v of the queries h_q is times v_q, m is
sum v_q m_q, and Q is the sum of the weights.

References
----------
T. Joachims, Training linear SVMs in linear time, KDD 2006, section 2.2 (OP4, OP5: "pairs") and
Algorithm 2.
"""

from __future__ import annotations

import numpy as np

from svmcut._native.constraints import ordinal_cut, ordinal_grades, workspace
from svmcut.base.errors import TrainingError
from svmcut.base.typing import TYPE_CHECKING, Literal, NamedTuple
from svmcut.risks.protocol import Linearization
from svmcut.risks.weights import query_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

Normalisation = Literal["swapped-pairs", "swapped-fraction", "pairs"]


def query_starts(qid: NDArray | None, n: int) -> NDArray[np.int64]:
    """First row of every query and, last, n: (Q + 1,) int64.

    Parameters
    ----------
    qid : (n,) int64 or None
        Non-decreasing; None makes all rows one query.

    Raises
    ------
    TrainingError
        When qid decreases; names the row, counted from 1.
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
    """Rows graded within their queries.

    Attributes
    ----------
    start : (Q + 1,) int64
        First row of every query.
    grade : (n,) int32
        0 for the lowest label of a query.
    n_grades : (Q,) int32
        Grades of a query.
    pairs : (Q,) int64
        Pairs of different grades, m_q.
    """

    start: NDArray
    grade: NDArray
    n_grades: NDArray
    pairs: NDArray


class OrdinalRisk:
    """The pairwise hinge of labelled queries.

    Parameters
    ----------
    normalisation : {"swapped-pairs", "swapped-fraction", "pairs"}
        What the sum over pairs is divided by (head of the module). Also the name of the risk.
    """

    def __init__(self, normalisation: Normalisation = "swapped-pairs"):
        if normalisation not in ("swapped-pairs", "swapped-fraction", "pairs"):
            raise ValueError(f"unknown normalisation {normalisation!r}")
        self.name = normalisation

    def bind(
        self, y: NDArray, qid: NDArray | None = None, cost: NDArray | None = None, threads: int = 1
    ) -> BoundOrdinal:
        """Grade the labels of every query.

        Parameters
        ----------
        y : (n,) float64
            Labels, any real numbers; a larger label belongs above a smaller one of the same query.
        qid : (n,) int64 or None
            Non-decreasing query numbers; None makes all rows one query.
        cost : (n,) float64 or None
            Weights of the queries, the same at all rows of one; None for 1 each.
        threads : int
            Threads of the binding and of every call; no result depends on them.

        Raises
        ------
        TrainingError
            When qid decreases or the rows of a query differ in their weight. Labels without a
            single pair are accepted: the risk is 0 then.
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

    Attributes
    ----------
    n_queries : int
        Q, queries without pairs included.
    n_pairs : int
        m, over all queries; exact, may exceed 2^31.
    pairs_per_query : (Q,) int64
        m_q.
    start : (Q + 1,) int64
        First row of every query.
    weights : (Q,) float64 or None
        Of the queries as given; None for 1 each. Their sum stands for Q.

    Notes
    -----
    O(n log n) time per call whatever the number of grades. 52 bytes of workspace per row, allocated
    once. Not reentrant. From |s| = 2^53 on, fl(s + 1) = s takes pairs of equal scores out of the
    cut: a cut still, not the most violated.
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
        """Pairs with s_j + 1 > s_i; value, coefficients (n,) and offset of their cut."""
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
        """Pairs with s_j + margin > s_i, (Q,) margins, unweighted.

        Returns
        -------
        coef : (n,) float64
        pairs : (Q,) int64
        value : (Q,) float64
            Sum of margin - (s_i - s_j) over them.
        """
        weight, work = self._margin, self._work
        return ordinal_cut(
            s, self.start, self._grade, self._n_grades, weight, margin, work, self._threads
        )

    def sampler(self):
        """The violated pairs, to draw from; see PairSampler."""
        from svmcut.risks.pair_sampling import PairSampler

        return PairSampler(self, self.start, self._grade, self._weight)
