# SPDX-License-Identifier: BSD-3-Clause
"""Measures of scores against labels, from their definitions, O(n log n) each.

Ties are pessimistic throughout: among equal scores the less relevant example ranks first, and a pair of different
labels with equal scores counts as swapped. A score that is nan ranks last and predicts the negative class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def classification_measures(y: NDArray, scores: NDArray) -> dict[str, float]:
    """Error rate, accuracy, precision, recall, F1, PRBEP, ROC area and average precision, in percent.

    Parameters
    ----------
    y : (n,)
        An example is positive where its label is above 0.
    scores : (n,)
        An example is predicted positive where its score is above 0.

    Returns
    -------
    dict
        ``error_rate``, ``accuracy``, ``precision``, ``recall``, ``f1``, ``prbep``, ``roc_area``,
        ``average_precision``. Precision, recall, F1 and PRBEP are 0 where their denominator is; the ROC area is nan
        when a class is missing, the average precision nan without positives.

    Notes
    -----
    O(n log n) time, O(n) memory. With np positives: PRBEP is the precision among the np top ranked; the ROC area is
    1 - swapped pairs / (np nn); the average precision is the mean over positives of the precision at their rank.
    """
    positive = np.asarray(y) > 0
    scores = np.asarray(scores, np.float64)
    predicted = scores > 0
    n, n_positive = len(positive), int(positive.sum())
    n_negative = n - n_positive
    hits, n_predicted = int((positive & predicted).sum()), int(predicted.sum())
    wrong = (n_positive - hits) + (n_predicted - hits)
    precision, recall = _ratio(hits, n_predicted), _ratio(hits, n_positive)

    ranked = positive[np.lexsort((positive, -scores))]
    ranks = np.flatnonzero(ranked)
    # Positive number k (from 0) at rank r (from 0) has r - k negatives above it.
    swapped = int(ranks.sum()) - n_positive * (n_positive - 1) // 2
    found = np.arange(1, n_positive + 1)
    measures = {
        "error_rate": _ratio(wrong, n),
        "accuracy": _ratio(n - wrong, n),
        "precision": precision,
        "recall": recall,
        "f1": _ratio(2 * precision * recall, precision + recall),
        "prbep": _ratio(int(ranked[:n_positive].sum()), n_positive),
        "roc_area": 1.0 - swapped / (n_positive * n_negative) if n_positive and n_negative else np.nan,
        "average_precision": float(np.mean(found / (ranks + 1))) if n_positive else np.nan,
    }
    return {name: 100.0 * value for name, value in measures.items()}


def contingency_table(y: NDArray, scores: NDArray) -> tuple[int, int, int, int]:
    """True positives, false positives, false negatives and true negatives, both classes above 0."""
    positive, predicted = np.asarray(y) > 0, np.asarray(scores) > 0
    hits, n_positive, n_predicted = (int(part.sum()) for part in (positive & predicted, positive, predicted))
    return hits, n_predicted - hits, n_positive - hits, len(positive) - n_positive - n_predicted + hits


@dataclass(frozen=True, slots=True)
class RankingMeasures:
    """Measures of a ranking per query, and their means.

    Attributes
    ----------
    queries : int
        All of them, those without a pair included.
    correct : int
        Queries without a swapped pair.
    swapped_pairs : int
        Pairs of one query with different labels whose scores do not put the larger label first, over all queries.
    swapped_percent : float
        Mean over queries of the percentage of swapped pairs; a query without pairs counts with 0.
    ndcg : dict of int to float
        Mean NDCG at each cut-off, in [0, 1].
    map : float
        Mean average precision, in [0, 1].
    """

    queries: int
    correct: int
    swapped_pairs: int
    swapped_percent: float
    ndcg: dict[int, float]
    map: float

    def as_dict(self) -> dict[str, float]:
        """The measures by their names in reports."""
        ndcg = {f"ndcg@{k}": value for k, value in self.ndcg.items()}
        return {"swapped_pairs": self.swapped_pairs, "swapped_percent": self.swapped_percent, **ndcg, "map": self.map}


def ranking_measures(
    y: NDArray, scores: NDArray, qid: NDArray, cutoffs: tuple[int, ...] = (1, 5, 10)
) -> RankingMeasures:
    """Swapped pairs, NDCG and MAP.

    Parameters
    ----------
    y : (n,)
        Grades; larger is better.
    scores : (n,)
    qid : (n,)
        Query of each row, in any order.
    cutoffs : tuple of int
        The k of NDCG@k.

    Notes
    -----
    O(n log n) time. As LETOR evaluates: the gain of a grade is 2^grade - 1, the discount of rank r (from 1) is
    1 / log2(1 + r), a query of no gain has NDCG 0; for MAP a grade of 1 or more is relevant and a query without one
    has average precision 0. Grades below 0 gain nothing.

    References
    ----------
    Qin, Liu, Xu, Li (2010), LETOR: a benchmark collection for research on learning to rank, section 5.
    """
    y = np.asarray(y, np.float64)
    if not len(y):
        return RankingMeasures(0, 0, 0, 0.0, dict.fromkeys(cutoffs, 0.0), 0.0)
    query = np.unique(qid, return_inverse=True)[1]
    start = np.concatenate([[0], np.cumsum(np.bincount(query))])
    ranking = np.lexsort((y, -np.asarray(scores, np.float64), query))
    query, y = query[ranking], y[ranking]

    swapped = _swapped_pairs(query, y, start)
    share = swapped / np.maximum(_pairs(query, y, start), 1)
    gain, ideal = _gains(query, y, start)
    return RankingMeasures(
        queries=len(swapped),
        correct=int((swapped == 0).sum()),
        swapped_pairs=int(swapped.sum()),
        swapped_percent=100.0 * float(share.mean()),
        ndcg={k: _mean_ndcg(gain, ideal, query, start, k) for k in cutoffs},
        map=_mean_average_precision(query, y >= 1, start),
    )


@dataclass(frozen=True, slots=True)
class SequenceMeasures:
    """Errors of predicted tags.

    Attributes
    ----------
    sequences, tokens, wrong : int
        How many there are, and tokens whose tag is wrong.
    correct : int
        Sequences without a wrong tag.
    """

    sequences: int
    tokens: int
    wrong: int
    correct: int

    @property
    def token_error(self) -> float:
        """Percent of tokens whose tag is wrong."""
        return 100.0 * _ratio(self.wrong, self.tokens)

    @property
    def sequence_error(self) -> float:
        """Percent of sequences with a wrong tag."""
        return 100.0 * _ratio(self.sequences - self.correct, self.sequences)

    def as_dict(self) -> dict[str, float]:
        """The measures by their names in reports."""
        return {"token_error": self.token_error, "sequence_error": self.sequence_error}


def sequence_measures(wrong: NDArray, lengths: NDArray) -> SequenceMeasures:
    """Measures of n sequences from their wrong tags (n,) and their tokens (n,)."""
    return SequenceMeasures(len(wrong), int(lengths.sum()), int(wrong.sum()), int((wrong == 0).sum()))


class LabelTally:
    """Counts of predicted label sets, block by block.

    Parameters
    ----------
    names : (K,) int64
        The labels that can be predicted, increasing. Rows may have others as well.

    Attributes
    ----------
    rows : int
    """

    CUTOFFS = (1, 3, 5)

    def __init__(self, names: NDArray):
        self._names, self.rows, self._exact, self._top = names, 0, 0, dict.fromkeys(self.CUTOFFS, 0)
        self._both, self._right, self._predicted = (np.zeros(len(names), np.int64) for _ in range(3))
        self._others: dict[int, int] = {}

    @property
    def others(self) -> int:
        """Different labels met in rows that cannot be predicted."""
        return len(self._others)

    def add(self, gold: NDArray, predicted: NDArray, scores: NDArray, others: NDArray, row: NDArray) -> None:
        """Takes in rows.

        Parameters
        ----------
        gold, predicted : (rows, K) bool
        scores : (rows, K)
            They rank the labels of a row.
        others, row : (m,) int64
            Right labels that are not among the K, and the row of each.
        """
        beyond = np.bincount(row, minlength=len(gold))
        self.rows += len(gold)
        self._exact += int(((gold == predicted).all(axis=1) & (beyond == 0)).sum())
        self._both += (gold & predicted).sum(axis=0)
        self._right += gold.sum(axis=0)
        self._predicted += predicted.sum(axis=0)
        for name, count in zip(*(part.tolist() for part in np.unique(others, return_counts=True)), strict=True):
            self._others[name] = self._others.get(name, 0) + count
        # ties are pessimistic: among equal scores the wrong label comes first
        best = np.lexsort((gold, -scores), axis=1)[:, : max(self.CUTOFFS)]
        hits = np.take_along_axis(gold, best, axis=1)
        for k in self.CUTOFFS:
            self._top[k] += int(hits[:, :k].sum())

    def measures(self) -> dict[str, float]:
        """Hamming loss, subset accuracy, F1 and precision at k, in percent.

        Notes
        -----
        With K labels: the Hamming loss is the share of wrong label decisions, the subset accuracy that of rows whose
        set is right. Micro F1 counts over all labels; macro F1 is the mean over labels that some row has or is given.
        Precision at k is the share of right labels among the k that rank first, also where a row has fewer. K counts
        the labels of rows that cannot be predicted too; they rank nowhere.
        """
        others = np.array(sorted(self._others), np.int64)
        place = np.searchsorted(self._names, others)
        both, predicted = (np.insert(part, place, 0) for part in (self._both, self._predicted))
        right = np.insert(self._right, place, [self._others[name] for name in others.tolist()])
        counts = right + predicted
        wrong = counts - 2 * both
        met = counts > 0
        macro = float(np.mean(2 * both[met] / counts[met])) if met.any() else 0.0
        measures = {
            "hamming_loss": _ratio(float(wrong.sum()), self.rows * len(wrong)),
            "subset_accuracy": _ratio(self._exact, self.rows),
            "micro_f1": _ratio(2.0 * float(both.sum()), float(counts.sum())),
            "macro_f1": macro,
        } | {f"precision@{k}": _ratio(self._top[k], k * self.rows) for k in self.CUTOFFS}
        return {name: 100.0 * value for name, value in measures.items()}


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _rank(query: NDArray, start: NDArray) -> NDArray:
    """Rank within the query, from 0, of rows sorted by query and rank."""
    return np.arange(len(query)) - start[query]


def _pairs(query: NDArray, y: NDArray, start: NDArray) -> NDArray:
    """(Q,) pairs of different labels per query."""
    order = np.lexsort((y, query))
    first = np.flatnonzero(np.concatenate([[True], (np.diff(y[order]) != 0) | (np.diff(query[order]) != 0)]))
    same = np.diff(np.append(first, len(y)))
    sizes = np.diff(start)
    equal = np.zeros(len(sizes), np.int64)
    np.add.at(equal, query[order][first], same * same)
    return (sizes * sizes - equal) // 2


def _swapped_pairs(query: NDArray, y: NDArray, start: NDArray) -> NDArray:
    """(Q,) pairs per query whose larger label ranks lower; rows are sorted by query and rank."""
    # In order of falling labels, equal labels in order of rank, an inversion of the ranks is a swapped pair. Queries
    # stand in the same blocks in both orders, so no pair of two queries is an inversion.
    inversions = _inversions(np.lexsort((np.arange(len(y)), -y, query)))
    return np.add.reduceat(inversions, start[:-1])


def _inversions(permutation: NDArray) -> NDArray:
    """For each value of a permutation of 0 to n - 1, how many larger values stand before it; O(n log n).

    Values are sorted by their bits from the highest down. Two values part at their highest differing bit; whichever
    pair is inverted there is counted there and nowhere else.
    """
    values, n = permutation, len(permutation)
    position = np.arange(n)
    inversions = np.zeros(n, np.int64)
    for bit in reversed(range(int(n - 1).bit_length())):
        one = (values >> bit) & 1
        # Values that agree above this bit fill the positions from `block` on.
        block = (position >> (bit + 1)) << (bit + 1)
        ones = np.cumsum(one) - one
        ones -= ones[block]
        zero = one == 0
        inversions[values[zero]] += ones[zero]
        placed = np.empty_like(values)
        placed[np.where(zero, position - ones, block + (1 << bit) + ones)] = values
        values = placed
    return inversions


def _gains(query: NDArray, y: NDArray, start: NDArray) -> tuple[NDArray, NDArray]:
    """Gains in the order of the ranking and in the ideal one, each query scaled so that 2^grade cannot overflow."""
    grade = np.maximum(y, 0.0)
    top = np.maximum.reduceat(grade, start[:-1])[query]
    gain = np.exp2(grade - top) - np.exp2(-top)
    return gain, gain[np.lexsort((-gain, query))]


def _mean_ndcg(gain: NDArray, ideal: NDArray, query: NDArray, start: NDArray, k: int) -> float:
    rank = _rank(query, start)
    discount = np.where(rank < k, 1.0 / np.log2(2.0 + rank), 0.0)
    reached, possible = (np.add.reduceat(g * discount, start[:-1]) for g in (gain, ideal))
    return float(np.mean(np.divide(reached, possible, out=np.zeros_like(reached), where=possible > 0)))


def _mean_average_precision(query: NDArray, relevant: NDArray, start: NDArray) -> float:
    found = np.cumsum(relevant)
    found -= np.concatenate([[0], found])[start[:-1]][query]
    precision = np.where(relevant, found / (_rank(query, start) + 1), 0.0)
    total = np.add.reduceat(precision, start[:-1])
    count = np.add.reduceat(relevant.astype(np.int64), start[:-1])
    return float(np.mean(total / np.maximum(count, 1)))
