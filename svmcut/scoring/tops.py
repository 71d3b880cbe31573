# SPDX-License-Identifier: BSD-3-Clause
"""What the labels that rank first are worth: precision, nDCG and precision by propensities at k."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native import label_index
from svmcut.base.typing import NamedTuple

#: The k of the measures.
TOP = (1, 3, 5)


class Propensity(NamedTuple):
    """How likely it is that a label that a row should have was found to be there, of Jain, Prabhu
    and Varma (KDD 2016): 1 / (1 + (ln n - 1) (B + 1)^A (N + B)^-A), N of n training rows having it.

    A and B are .55 and 1.5, for Wikipedia .5 and .4, for Amazon .6 and 2.6.
    """

    A: float = 0.55
    B: float = 1.5

    def inverse(self, counts: NDArray, n: int) -> NDArray[np.float64]:
        """1 / p of labels that so many of n training rows have."""
        C = (np.log(max(n, 1)) - 1.0) * (self.B + 1.0) ** self.A
        return 1.0 + C * (np.asarray(counts, np.float64) + self.B) ** -self.A


USUAL = Propensity()


def among(keys: NDArray[np.int64], known: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(m,) which keys are among those known, which increase."""
    at = np.searchsorted(known, keys)
    there = at < len(known)
    there[there] = known[at[there]] == keys[there]
    return there


class Ranked(NamedTuple):
    """Scores of labels (n, K) that may be among the best of their rows: others rank behind.

    Attributes
    ----------
    n, K : int
    row : (m,) int64
        Not falling.
    place : (m,) int64
    score : (m,) float64
        None of -inf.
    """

    n: int
    K: int
    row: NDArray[np.int64]
    place: NDArray[np.int64]
    score: NDArray[np.float64]

    def where(self, kept: NDArray[np.bool_]) -> Ranked:
        """Those of (m,) that are kept."""
        return self._replace(row=self.row[kept], place=self.place[kept], score=self.score[kept])

    def ends(self) -> NDArray[np.int64]:
        """(n + 1,) where those of each row begin, and the last's end."""
        return np.searchsorted(self.row, np.arange(self.n + 1))

    def least(self, k: int, threads: int = 1) -> NDArray[np.float64]:
        """(n,) the k-th best score of each row; -inf where there are fewer."""
        return label_index.least(self.score, self.ends(), k, threads)

    def dense(self) -> NDArray[np.float64]:
        """(n, K) scores, -inf of others."""
        scores = np.full((self.n, self.K), -np.inf)
        scores[self.row, self.place] = self.score
        return scores


def stacked(n: int, K: int, parts: list[Ranked]) -> Ranked:
    """All of some (n, K) in one."""
    row = np.concatenate([np.zeros(0, np.int64), *(part.row for part in parts)])
    place = np.concatenate([np.zeros(0, np.int64), *(part.place for part in parts)])
    score = np.concatenate([np.zeros(0), *(part.score for part in parts)])
    order = np.argsort(row, kind="stable")
    return Ranked(n, K, row[order], place[order], score[order])


def leading(scores: NDArray[np.float64], k: int, threads: int = 1) -> Ranked:
    """Those of (n, K) that are no worse than the k-th best of their row."""
    n, K = scores.shape
    ends = np.arange(n + 1) * K
    least = label_index.least(scores.ravel(), ends, min(k, K), threads) if K else np.zeros(n)
    row, place = np.nonzero((scores >= least[:, None]) & (scores > -np.inf))
    return Ranked(n, K, row, place, scores[row, place])


def best(
    ranked: Ranked, k: int, last: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the k best of every row are, best first, row after row; their ranks from 0.

    Parameters
    ----------
    last : (m,) bool or None
        Of equal scores those come last; then the later places.
    """
    behind = ranked.place if last is None else last
    at = np.lexsort((ranked.place, behind, -ranked.score, ranked.row))
    rank = np.arange(len(at)) - ranked.ends()[ranked.row]
    return at[rank < k], rank[rank < k]


class TopTally:
    """Counts of the labels that rank first, of rows part after part; whole numbers, so that parts
    change no digit.

    Parameters
    ----------
    inverse : (K,) float64 or None
        1 / p of the labels of the model; None where it is not known.
    unknown : float
        The same of a label that no training row has.
    """

    def __init__(self, K: int, inverse: NDArray[np.float64] | None, unknown: float = 1.0):
        most = max(TOP)
        self._rows = 0
        # right labels by rank and the number of labels of their row
        self._hits = np.zeros((most, most + 1), np.int64)
        # right labels, and those that could be, by rank and label; unknown ones at the end
        self._worth = None if inverse is None else np.append(inverse, unknown)
        self._found, self._possible = np.zeros((2, most, K + 1 if self._worth is not None else 0))

    def add(self, ranked: Ranked, gold: NDArray[np.int64], beyond: NDArray) -> None:
        """Takes in rows, of which `ranked` has the best: i K + k, increasing, where row i has the
        label k, and how many labels (n,) each has that the model does not know."""
        most, n, K = max(TOP), ranked.n, ranked.K
        self._rows += n
        # ties are pessimistic: among equal scores the wrong label comes first
        right = among(ranked.row * K + ranked.place, gold)
        at, rank = best(ranked, most, right)
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
        """Percent by name; propensity-scored ones where propensities are known."""
        n, most = max(1, self._rows), max(TOP)
        hits = self._hits.sum(axis=1)
        values = {f"precision@{k}": 100.0 * (int(hits[:k].sum()) / (k * n)) for k in TOP}
        discount = 1.0 / np.log2(2.0 + np.arange(most))
        ideal = discount.cumsum()
        for k in TOP:
            reach = ideal[np.minimum(np.maximum(np.arange(most + 1), 1), k) - 1]
            gain = float((discount[:k, None] * self._hits[:k] / reach).sum())
            values[f"ndcg@{k}"] = 100.0 * gain / n
        if self._worth is None:
            return values
        for k in TOP:
            right, possible = (
                float(counts[:k].sum(axis=0) @ self._worth)
                for counts in (self._found, self._possible)
            )
            values[f"psp@{k}"] = 100.0 * right / possible if possible else 0.0
        return values
