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
from svmcut.risks.protocol import Linearization
from svmcut.risks.sampling import PairSampler
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


MAX_STEPS = 200


class SquaredOrdinalRisk:
    """svm_rank's -p 2; the normalisation is also the name of the risk."""

    def __init__(
        self, normalisation: Literal["swapped-pairs", "swapped-fraction"] = "swapped-pairs"
    ):
        if normalisation not in ("swapped-pairs", "swapped-fraction"):
            raise ValueError(f"unknown normalisation {normalisation!r}")
        self.name = normalisation

    def bind(
        self, y: NDArray, qid: NDArray | None = None, cost: NDArray | None = None, threads: int = 1
    ) -> BoundSquaredOrdinal:
        """See OrdinalRisk.bind."""
        ordinal = OrdinalRisk().bind(y, qid, cost, threads)
        pairs = np.maximum(ordinal.pairs_per_query, 1).astype(np.float64)
        return BoundSquaredOrdinal(
            ordinal, np.ones(len(pairs)) if self.name == "swapped-pairs" else 1.0 / pairs
        )


class Sets(NamedTuple):
    """Pairs below a threshold (Q,) of every query."""

    threshold: NDArray
    #: (Q,) int64.
    pairs: NDArray
    #: (Q,) float64, minus the sum of the differences; coef.s over the rows of the query.
    total: NDArray
    #: (n,) float64.
    coef: NDArray


class BoundSquaredOrdinal:
    """Squared slack of rankings: every query's slack is squared, with the root of its loss inside.

        H_q(s) = max over sets S of pairs of query q of  sqrt(v |S|) - v sum over S of (s_i - s_j)
        R      = (1/Q) sum_q H_q^2,   v = 1 for swapped-pairs, 1/m_q for swapped-fraction

    The best set of m pairs has the m smallest differences. Each further pair raises the root by
    less and the sum by more, so the best m is where a threshold d of the differences meets the gain
    of the root: S = {pairs with s_i - s_j < d}. The threshold is searched by counting pairs, O(n
    log n) a step. If pairs of equal difference straddle the best m, the cut is the mean over all
    choices of them.

    R(s') >= 2 H_q(s) H_q(s') - H_q(s)^2 makes cuts of H_q cuts of R, as in svmcut.risks.squared.
    The root makes H_q^2 a bound of the loss. With weights of the queries each square is times its
    weight, and Q is their sum. `unit` (Q,) is v of every query. See BoundOrdinal.
    """

    def __init__(self, ordinal: BoundOrdinal, unit: NDArray):
        self._ordinal, self._unit, self._root = ordinal, unit, np.sqrt(unit)
        self.n_queries = ordinal.n_queries
        self.n_pairs = ordinal.n_pairs
        self.weights = ordinal.weights
        self.pairs_per_query = ordinal.pairs_per_query
        self._rows = np.diff(ordinal.start)

    def linearize(self, s: NDArray) -> Linearization:
        """Value, coefficients (n,) and offset."""
        s = np.ascontiguousarray(s, np.float64)
        low, high = self._search(s)
        count = self._best_count(low, high)
        between = np.maximum(high.pairs - low.pairs, 1)
        part = (count - low.pairs) / between
        total = low.total + part * (high.total - low.total)
        loss = self._root * np.sqrt(count)
        slack = np.maximum(0.0, loss + self._unit * total)
        scale, squares = 2.0 * slack * self._unit, slack * slack
        offsets, total = slack * (2.0 * loss - slack), max(self.n_queries, 1)
        if self.weights is not None:
            scale = self.weights * scale
            squares = self.weights * squares
            offsets = self.weights * offsets
            total = float(self.weights.sum())
        scale = scale / total
        rows = np.repeat(part, self._rows)
        coef = np.repeat(scale, self._rows) * (low.coef + rows * (high.coef - low.coef))
        return Linearization(float(squares.sum()) / total, coef, float(offsets.sum()) / total)

    def _gain(self, count: NDArray) -> NDArray:
        """The gain of the root for the pair with this number, from 1, in units of differences."""
        return 1.0 / (
            self._root * (np.sqrt(np.maximum(count, 1)) + np.sqrt(np.maximum(count - 1, 0)))
        )

    def _below(self, s: NDArray, threshold: NDArray) -> Sets:
        coef, count, value = self._ordinal.below(s, threshold)
        return Sets(threshold, count, value - threshold * count, coef)

    def _search(self, s: NDArray) -> tuple[Sets, Sets]:
        """Sets just below and just above the best ones: equal, or one pair or pairs of equal
        difference apart."""
        most = np.maximum(self._ordinal.pairs_per_query, 1)
        low, high = self._below(s, self._gain(most)), self._below(s, 1.0 / self._root)
        for step in range(MAX_STEPS):
            apart = self._unit * (high.pairs - low.pairs) * (high.threshold - low.threshold)
            open_ = (high.pairs - low.pairs > 1) & (
                apart > 1e-15 * self._root * np.sqrt(high.pairs)
            )
            if not open_.any():
                break
            middle = self._below(s, np.where(open_, self._guess(low, high, step), low.threshold))
            inside = open_ & ((middle.pairs == 0) | (self._gain(middle.pairs) >= middle.threshold))
            around = open_ & (~inside | (self._gain(middle.pairs + 1) <= middle.threshold))
            low, high = self._choose(inside, middle, low), self._choose(around, middle, high)
        return low, high

    def _choose(self, where: NDArray, new: Sets, old: Sets) -> Sets:
        rows = np.repeat(where, self._rows)
        threshold = np.where(where, new.threshold, old.threshold)
        pairs, total = np.where(where, new.pairs, old.pairs), np.where(where, new.total, old.total)
        return Sets(threshold, pairs, total, np.where(rows, new.coef, old.coef))

    def _guess(self, low: Sets, high: Sets, step: int) -> NDArray:
        """A threshold between both: near that of evenly spread differences, near their mean, or the
        middle."""
        lower, upper = low.threshold, high.threshold
        turn = step % 5
        if turn == 4:
            return 0.5 * (lower + upper)
        if turn < 2:
            left, right = lower, upper
            slope = (high.pairs - low.pairs) / np.maximum(upper - lower, 1e-300)
            for _ in range(24):
                middle = 0.5 * (left + right)
                beyond = (low.pairs + slope * (middle - lower)) * (
                    2.0 * self._root * middle
                ) ** 2 > 1.0
                left, right = np.where(beyond, left, middle), np.where(beyond, middle, right)
            near, width = right, 0.02
        else:
            near, width = self._mean(low, high), 1e-3
        shift = width * (upper - lower) * (1 if turn % 2 else -1)
        return np.clip(near + shift, lower + 0.1 * abs(shift), upper - 0.1 * abs(shift))

    def _mean(self, low: Sets, high: Sets) -> NDArray:
        """Mean difference of the pairs between the sets."""
        mean = (low.total - high.total) / np.maximum(high.pairs - low.pairs, 1)
        return np.clip(mean, low.threshold, high.threshold)

    def _best_count(self, low: Sets, high: Sets) -> NDArray:
        """The number of pairs of the best set, if those between the sets have their mean
        difference."""
        mean = self._mean(low, high)
        ideal = np.floor(1.0 / (2.0 * self._root * mean) ** 2)
        options = [np.clip(ideal + k, low.pairs, high.pairs) for k in (0.0, 1.0)]
        worth = [self._root * np.sqrt(m) - self._unit * (m - low.pairs) * mean for m in options]
        return np.where(worth[0] >= worth[1], options[0], options[1])
