# SPDX-License-Identifier: BSD-3-Clause
"""What the labels that rank first are worth: precision, nDCG and precision by propensities at k."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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


def best(
    scores: NDArray[np.float64], k: int, last: NDArray | None = None
) -> tuple[NDArray, NDArray, NDArray]:
    """The k places with the highest scores of every row of (n, K), none of -inf: rows, ranks from 0
    and places.

    Parameters
    ----------
    last : (n, K) bool or None
        Of equal scores those come last; then the later places.
    """
    n, K = scores.shape
    k = min(k, K)
    if not (n and k):
        return (np.zeros(0, np.intp),) * 3
    least = np.partition(scores, K - k, axis=1)[:, K - k]
    row, place = np.nonzero((scores >= least[:, None]) & (scores > -np.inf))
    behind = place if last is None else last[row, place]
    order = np.lexsort((place, behind, -scores[row, place], row))
    row, place = row[order], place[order]
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    kept = rank < k
    return row[kept], rank[kept], place[kept]


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

    def add(self, scores: NDArray[np.float64], gold: NDArray[np.bool_], beyond: NDArray) -> None:
        """Takes in rows (n, K), and how many labels (n,) each has that the model does not know."""
        most = max(TOP)
        self._rows += len(scores)
        # ties are pessimistic: among equal scores the wrong label comes first
        row, rank, place = best(scores, most, gold)
        hit = gold[row, place]
        row, rank, place = row[hit], rank[hit], place[hit]
        size = np.minimum(gold.sum(axis=1) + beyond, most)
        np.add.at(self._hits, (rank, size[row]), 1)
        if self._worth is None:
            return
        np.add.at(self._found, (rank, place), 1)
        row, place = np.nonzero(gold)
        row = np.concatenate([row, np.repeat(np.arange(len(gold)), beyond)])
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
        found = {f"precision@{k}": 100.0 * (int(hits[:k].sum()) / (k * n)) for k in TOP}
        discount = 1.0 / np.log2(2.0 + np.arange(most))
        ideal = discount.cumsum()
        for k in TOP:
            reach = ideal[np.minimum(np.maximum(np.arange(most + 1), 1), k) - 1]
            gain = float((discount[:k, None] * self._hits[:k] / reach).sum())
            found[f"ndcg@{k}"] = 100.0 * gain / n
        if self._worth is None:
            return found
        for k in TOP:
            right, possible = (
                float(counts[:k].sum(axis=0) @ self._worth)
                for counts in (self._found, self._possible)
            )
            found[f"psp@{k}"] = 100.0 * right / possible if possible else 0.0
        return found
