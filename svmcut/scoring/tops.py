# SPDX-License-Identifier: BSD-3-Clause
"""Measures of the labels that rank first: precision, nDCG and propensity-scored precision at k."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native import label_index
from svmcut.base.typing import NamedTuple

#: The k of precision@k, nDCG@k and psp@k.
CUTOFFS = (1, 3, 5)


class Propensity(NamedTuple):
    """The probability that a label that a row should have was recorded, of Jain, Prabhu and Varma
    (KDD 2016): 1 / (1 + (ln n - 1) (B + 1)^A (N + B)^-A) if N of n training rows have it.

    A and B are .55 and 1.5, for Wikipedia .5 and .4, for Amazon .6 and 2.6.
    """

    A: float = 0.55
    B: float = 1.5

    def inverse(self, counts: NDArray, n: int) -> NDArray[np.float64]:
        """Return 1 / p of labels that `counts` of n training rows have."""
        C = (np.log(max(n, 1)) - 1.0) * (self.B + 1.0) ** self.A
        return 1.0 + C * (np.asarray(counts, np.float64) + self.B) ** -self.A


USUAL_PROPENSITY = Propensity()


def is_member(keys: NDArray[np.int64], known: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the keys that are among the known ones, which increase, as booleans (m,)."""
    at = np.searchsorted(known, keys)
    there = at < len(known)
    there[there] = known[at[there]] == keys[there]
    return there


class TopScores(NamedTuple):
    """Scores (n, K) of the labels that may be among the best of their rows; the others rank
    behind."""

    n: int
    K: int
    #: (m,) not falling.
    row: NDArray[np.int64]
    place: NDArray[np.int64]
    #: (m,) none of them -inf.
    score: NDArray[np.float64]

    def select(self, kept: NDArray[np.bool_]) -> TopScores:
        """Return the entries marked in (m,) booleans."""
        return self._replace(row=self.row[kept], place=self.place[kept], score=self.score[kept])

    def row_bounds(self) -> NDArray[np.int64]:
        """Return the bounds (n + 1,) of the entries of each row."""
        return np.searchsorted(self.row, np.arange(self.n + 1))

    def kth_best(self, k: int, threads: int = 1) -> NDArray[np.float64]:
        """Return the k-th best score of each row (n,); -inf if there are fewer."""
        return label_index.least(self.score, self.row_bounds(), k, threads)

    def dense(self) -> NDArray[np.float64]:
        """Return (n, K) scores, -inf for labels that are not kept."""
        scores = np.full((self.n, self.K), -np.inf)
        scores[self.row, self.place] = self.score
        return scores


def stack_scores(n: int, K: int, parts: list[TopScores]) -> TopScores:
    """Concatenate scores of (n, K)."""
    row = np.concatenate([np.zeros(0, np.int64), *(part.row for part in parts)])
    place = np.concatenate([np.zeros(0, np.int64), *(part.place for part in parts)])
    score = np.concatenate([np.zeros(0), *(part.score for part in parts)])
    order = np.argsort(row, kind="stable")
    return TopScores(n, K, row[order], place[order], score[order])


def select_top_scores(scores: NDArray[np.float64], k: int, threads: int = 1) -> TopScores:
    """Return the scores of (n, K) that are no worse than the k-th best of their row."""
    n, K = scores.shape
    ends = np.arange(n + 1) * K
    least = label_index.least(scores.ravel(), ends, min(k, K), threads) if K else np.zeros(n)
    row, place = np.nonzero((scores >= least[:, None]) & (scores > -np.inf))
    return TopScores(n, K, row, place, scores[row, place])


def rank_best(
    ranked: TopScores, k: int, last: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of the k best entries of every row, best first, row by row, and their ranks
    from 0.

    Among equal scores the entries marked in `last` (m,) come last; then higher places do.
    """
    behind = ranked.place if last is None else last
    at = np.lexsort((ranked.place, behind, -ranked.score, ranked.row))
    rank = np.arange(len(at)) - ranked.row_bounds()[ranked.row]
    return at[rank < k], rank[rank < k]


class TopTally:
    """Counts of the labels that rank first, accumulated over blocks of rows; they are integers, so
    that the blocks change no digit.

    `inverse` (K,) is 1 / p of the labels of the model, None if unknown; `unknown` is that of a
    label that no training row has.
    """

    def __init__(self, K: int, inverse: NDArray[np.float64] | None, unknown: float = 1.0):
        most = max(CUTOFFS)
        self._rows = 0
        # right labels by rank and the number of labels of their row
        self._hits = np.zeros((most, most + 1), np.int64)
        # right labels, and those that could be, by rank and label; unknown ones at the end
        self._worth = None if inverse is None else np.append(inverse, unknown)
        self._found, self._possible = np.zeros((2, most, K + 1 if self._worth is not None else 0))

    def add(self, ranked: TopScores, gold: NDArray[np.int64], beyond: NDArray) -> None:
        """Add rows with their best scores.

        `gold` increases and has i K + k if row i has label k; `beyond` (n,) counts the labels of
        each row that the model does not know.
        """
        most, n, K = max(CUTOFFS), ranked.n, ranked.K
        self._rows += n
        # ties are pessimistic: among equal scores the wrong label comes first
        right = is_member(ranked.row * K + ranked.place, gold)
        at, rank = rank_best(ranked, most, right)
        hit = right[at]
        at, rank = at[hit], rank[hit]
        row, place = np.divmod(gold, max(1, K))
        size = np.minimum(np.bincount(row, minlength=n) + beyond, most)
        np.add.at(self._hits, (rank, size[ranked.row[at]]), 1)
        if self._worth is None:
            return
        np.add.at(self._found, (rank, ranked.place[at]), 1)
        row = np.concatenate([row, np.repeat(np.arange(n), beyond)])
        place = np.concatenate([place, np.full(int(beyond.sum()), len(self._worth) - 1)])
        order = np.lexsort((-self._worth[place], row))
        row, place = row[order], place[order]
        rank = np.arange(len(row)) - np.searchsorted(row, row)
        kept = rank < most
        np.add.at(self._possible, (rank[kept], place[kept]), 1)

    def values(self) -> dict[str, float]:
        """Return percentages by name; propensity-scored ones if propensities are known."""
        n, most = max(1, self._rows), max(CUTOFFS)
        hits = self._hits.sum(axis=1)
        values = {f"precision@{k}": 100.0 * (int(hits[:k].sum()) / (k * n)) for k in CUTOFFS}
        discount = 1.0 / np.log2(2.0 + np.arange(most))
        ideal = discount.cumsum()
        for k in CUTOFFS:
            reach = ideal[np.minimum(np.maximum(np.arange(most + 1), 1), k) - 1]
            gain = float((discount[:k, None] * self._hits[:k] / reach).sum())
            values[f"ndcg@{k}"] = 100.0 * gain / n
        if self._worth is None:
            return values
        for k in CUTOFFS:
            right, possible = (
                float(counts[:k].sum(axis=0) @ self._worth)
                for counts in (self._found, self._possible)
            )
            values[f"psp@{k}"] = 100.0 * right / possible if possible else 0.0
        return values
