# SPDX-License-Identifier: BSD-3-Clause
"""Measures of scores against labels, from their definitions, O(n log n) each.

Ties are pessimistic throughout: among equal scores the less relevant example ranks first, and a
pair of different labels with equal scores counts as swapped. A score that is nan ranks last and
predicts the negative class.
"""

from __future__ import annotations

import math

from svmcut._native.scored import two_classes
from svmcut.base.typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Measures(NamedTuple):
    """The measures of predictions."""

    #: The measures of svmcut.spec.catalog.MEASURES by name.
    values: dict[str, float]
    #: Mean over structures of what the original reports as its loss.
    loss: float
    #: Number of structures without an error.
    correct: int
    #: Number of structures: queries, sequences, rows of labels, or 1 for the whole sample.
    total: int


class MeasureTargets(NamedTuple):
    """The parameters of measures of two classes."""

    #: beta of F-beta.
    f: float = 2.0
    #: beta of the Q-measures.
    q: float = 1.0
    #: The least precision for the recall at a precision.
    precision: float = 0.9
    #: The least recall for the precision at a recall.
    recall: float = 0.9
    #: The range of false-positive rates of the partial area.
    rates: tuple[float, float] = (0.0, 0.1)


class UnknownRows(NamedTuple):
    """Counts of the rows whose label is of neither class."""

    #: Number of different labels.
    labels: int = 0
    #: Number of rows.
    rows: int = 0
    #: Number of them predicted negative.
    predicted_negative: int = 0


NO_UNKNOWN_ROWS = UnknownRows()

#: Relative rounding error by which a value may miss a floor.
ROUNDING = 1e-12


def classification_measures(
    y: NDArray,
    scores: NDArray,
    unknown: NDArray | None = None,
    aims: MeasureTargets | None = None,
    labels: int = 1,
) -> Measures:
    """Return the measures of two classes, in percent except for kld.

    They are error rate, accuracy, precision, recall, F1, PRBEP, ROC area, average precision, and
    those of `table_measures` and `_threshold_measures`; the loss is the error rate, the structure
    the whole sample. O(n log n) time, O(n) memory.

    An example is positive if its label in `y` (n,) is above 0, and predicted positive if its score
    is. `unknown` marks examples that are not positive and of no class that could be predicted:
    errors whatever their score; they have `labels` different labels.

    Precision, recall, F1 and PRBEP are 0 if their denominator is; the ROC area is nan when a class
    is missing, the average precision nan without positives. With np positives: PRBEP is the
    precision among the np top ranked; the ROC area is 1 - swapped pairs / (np nn); the average
    precision is the mean over positives of the precision at their rank.
    """
    import numpy as np

    scores, positive = np.ascontiguousarray(scores, np.float64), np.asarray(y) > 0
    n, aims = len(positive), aims or MeasureTargets()
    first, last = find_negative_range(aims.rates, n - int(positive.sum()))
    floors = (floor * (1 - ROUNDING) for floor in (aims.precision, aims.recall))
    worth = two_classes(scores, positive.view(np.uint8), *floors, first, last)
    others = NO_UNKNOWN_ROWS
    if unknown is not None and unknown.any():
        others = UnknownRows(labels, int(unknown.sum()), int((unknown & ~(scores > 0)).sum()))
    return two_class_measures(worth, n, aims, others)


def two_class_measures(
    worth: dict[str, Any], n: int, aims: MeasureTargets, others: UnknownRows = NO_UNKNOWN_ROWS
) -> Measures:
    """Return the measures of `classification_measures` from the counts of
    svmcut._native.scored.two_classes for n rows, whose floors and negatives were those of the
    targets."""
    hits, n_positive = worth["hits"], worth["positives"]
    false_positives, misses = worth["predicted"] - hits, n_positive - hits
    n_negative = n - n_positive
    right = hits + n_negative - false_positives - others.predicted_negative
    precision, recall = _ratio(hits, worth["predicted"]), _ratio(hits, n_positive)
    pairs = n_positive * n_negative
    values = {
        "error_rate": _ratio(n - right, n),
        "accuracy": _ratio(right, n),
        "precision": precision,
        "recall": recall,
        "f1": _ratio(2 * precision * recall, precision + recall),
        "prbep": _ratio(worth["top"], n_positive),
        "roc_area": 1.0 - worth["swapped"] / pairs if pairs else math.nan,
        "average_precision": worth["average"] if n_positive else math.nan,
    }
    percent = {name: 100.0 * value for name, value in values.items()}
    percent |= table_measures(misses, false_positives, n_positive, n_negative, aims, others)
    percent |= _threshold_measures(worth, n_positive, n_negative, aims)
    return Measures(percent, percent["error_rate"], int(right == n), 1)


def table_measures(
    m: int, b: int, P: int, N: int, aims: MeasureTargets, others: UnknownRows = NO_UNKNOWN_ROWS
) -> dict[str, float]:
    """Return measures of m misses and b false positives among P positives and N others.

    In percent: the mean error rate of the classes that have rows, the geometric mean of both
    classes' recalls, F-beta, and errors of the prevalence: normalised divergence, absolute and
    relative error. kld is the divergence of the prevalences, each smoothed by half a row, and no
    percentage. The Q-measures are F-beta of 1 - |k|/max(P, N), where k is the difference of
    predicted and true positives, and of recall, accuracy, F1 or the geometric mean. Except in the
    first and in F-beta, a class without rows has no errors; F-beta is 0 if nothing is positive.

    References
    ----------
    A. Esuli and F. Sebastiani, Optimizing text quantifiers for multivariate loss functions, ACM
    TKDD 2015; J. Barranquero, J. Diez and J. J. del Coz, Quantification-oriented learning based on
    reliable classifiers, Pattern Recognition 2015.
    """
    n, k, square = P + N, b - m, aims.f**2
    negatives, taken = N - others.rows, b - (others.rows - others.predicted_negative)
    recall, specificity = 1.0 - _ratio(m, P), 1.0 - _ratio(taken, negatives)
    recalls = [recall] * (P > 0) + [specificity] * (negatives > 0) + [0.0] * others.labels
    p, q = (P + 0.5) / (n + 1), (P + k + 0.5) / (n + 1)
    divergence = max(0.0, p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q)))
    whole = (1 + square) * (P - m) + square * m + b
    agreed, agreement = 2 * (P - m), 1.0 - abs(k) / max(P, N)
    gmean = math.sqrt(recall * specificity)
    f1 = agreed / (agreed + m + b) if P + b else 1.0
    rates = {
        "q": recall,
        "qacc": 1.0 - (m + b + others.predicted_negative) / n,
        "qf1": f1,
        "qgm": gmean,
    }
    return {name: 100.0 * _f_beta(rate, agreement, aims.q) for name, rate in rates.items()} | {
        "balanced_error": 100.0 - 100.0 / len(recalls) * sum(recalls),
        "gmean": 100.0 * gmean,
        "fbeta": 100.0 * (1 + square) * (P - m) / whole if whole else 0.0,
        "kld": divergence,
        "nkld": 100.0 - 200.0 / (1.0 + math.exp(divergence)),
        "prevalence_ae": 100.0 * abs(k) / n,
        "prevalence_rae": 50.0 * abs(k) * (1 / (P + 0.5) + 1 / (N + 0.5)),
    }


def _f_beta(precision: float, recall: float, beta: float) -> float:
    """Return F-beta of two shares; 0 if both are 0."""
    under = beta * beta * precision + recall
    return (1.0 + beta * beta) * precision * recall / under if under else 0.0


def _threshold_measures(
    worth: dict[str, Any], P: int, N: int, aims: MeasureTargets
) -> dict[str, float]:
    """Return measures over all thresholds, in percent: the best recall whose precision reaches a
    floor, the best precision whose recall does, and the mean recall over a range of false-positive
    rates.

    They are nan without positives, the area without negatives too. A range that is no whole number
    of negatives is that of the negatives it touches.

    References
    ----------
    H. Narasimhan and S. Agarwal, A structural SVM based approach for optimizing partial AUC, ICML
    2013.
    """
    names = ("recall_at_precision", "precision_at_recall", "partial_auc")
    if not P:
        return dict.fromkeys(names, math.nan)
    first, last = find_negative_range(aims.rates, N)
    lost = worth["lost"] / (P * max(1, last - first))
    values = worth["recall"], worth["precision"], 1.0 - lost if N else math.nan
    return {name: 100.0 * value for name, value in zip(names, values, strict=True)}


def find_negative_range(rates: tuple[float, float], N: int) -> tuple[int, int]:
    """Return the negatives, by falling scores, that a range of false-positive rates touches: from
    the first number, counted from 0, up to below the second."""
    first = min(math.floor(rates[0] * N * (1 + ROUNDING)), max(0, N - 1))
    return first, min(N, max(first + 1, math.ceil(rates[1] * N * (1 - ROUNDING))))


def regression_measures(y: NDArray, scores: NDArray) -> Measures:
    """Return mean squared and mean absolute error, and R2, the share of the variance of y that the
    scores explain.

    The loss is the mean squared error, the structure an example. R2 is nan if all y are equal.
    """
    import numpy as np

    rest, around = y - scores, y - _mean(y)
    squared, total = float(rest @ rest), float(around @ around)
    values = {
        "mse": squared / len(y),
        "mae": _mean(np.abs(rest)),
        "r2": 1.0 - squared / total if total else np.nan,
    }
    return Measures(values, values["mse"], int((rest == 0).sum()), len(y))


def one_class_measures(y: NDArray, scores: NDArray) -> Measures:
    """Return the percentage of rows outside, and for labels of both signs how well the sides
    predict them, in percent.

    A row belongs inside if its label is above 0, and is inside if its score is at least 0. The loss
    is the percentage outside, the structure a row. All other measures are nan if the labels have
    one sign.
    """
    import numpy as np

    inside, positive = np.asarray(scores) >= 0, np.asarray(y) > 0
    outside = 100.0 * float(np.mean(~inside))
    known = ("error_rate", "accuracy", "precision", "recall", "f1", "roc_area")
    if positive.all() or not positive.any():
        values = dict.fromkeys(known, np.nan)
    else:
        measured = classification_measures(y, np.where(scores == 0, np.finfo(float).tiny, scores))
        values = {name: measured.values[name] for name in known}
    return Measures({"outside": outside, **values}, outside, int(inside.sum()), len(inside))


def contingency_table(
    y: NDArray, scores: NDArray, unknown: NDArray | None = None
) -> tuple[int, int, int, int]:
    """Return true positives, false positives, false negatives and true negatives; positive is above
    0.

    Arguments are those of `classification_measures`; an unknown example that is predicted negative
    is in none of the four.
    """
    import numpy as np

    positive, predicted = np.asarray(y) > 0, np.asarray(scores) > 0
    hits, n_positive, n_predicted = (
        int(part.sum()) for part in (positive & predicted, positive, predicted)
    )
    others = 0 if unknown is None else int((unknown & ~predicted).sum())
    return (
        hits,
        n_predicted - hits,
        n_positive - hits,
        len(positive) - n_positive - n_predicted + hits - others,
    )


def ranking_measures(
    y: NDArray, scores: NDArray, qid: NDArray, cutoffs: tuple[int, ...] = (1, 5, 10)
) -> Measures:
    """Return swapped pairs, NDCG at the cutoffs and MAP of grades y, scores and queries qid (n,),
    in any order; O(n log n) time.

    ``swapped_pairs`` are pairs of one query with different labels whose scores do not put the
    larger label first, over all queries; ``swapped_percent`` is the mean over queries of their
    percentage, 0 for a query without pairs, and the loss is the same as a fraction. ``ndcg@k`` and
    ``map`` are means over queries in [0, 1].

    As LETOR evaluates: the gain of a grade is 2^grade - 1, the discount of rank r (from 1) is 1 /
    log2(1 + r), and a query without gain has NDCG 0; for MAP a grade of 1 or more is relevant and a
    query without one has average precision 0. Grades below 0 gain nothing.

    References
    ----------
    Qin, Liu, Xu, Li (2010), LETOR: a benchmark collection for research on learning to rank, section
    5.
    """
    import numpy as np

    y = np.asarray(y, np.float64)
    query = np.unique(qid, return_inverse=True)[1]
    start = np.concatenate([[0], np.cumsum(np.bincount(query))])
    ranking = np.lexsort((y, -np.asarray(scores, np.float64), query))
    query, y = query[ranking], y[ranking]

    swapped = _count_swapped_pairs(query, y, start)
    share = swapped / np.maximum(_count_pairs(query, y, start), 1)
    gain = gains(y, start)
    ideal = gain[np.lexsort((-gain, query))]
    percent = 100.0 * _mean(share)
    values = {
        "swapped_pairs": int(swapped.sum()),
        "swapped_percent": percent,
        **{f"ndcg@{k}": _mean_ndcg(gain, ideal, query, start, k) for k in cutoffs},
        "map": _mean_average_precision(query, is_relevant(y), start),
    }
    return Measures(values, percent / 100, int((swapped == 0).sum()), len(swapped))


def is_relevant(y: NDArray) -> NDArray:
    """Return the rows that MAP counts as relevant, as booleans."""
    return y >= 1


def gains(y: NDArray, start: NDArray) -> NDArray:
    """Return the gains of NDCG (n,), scaled per query so that 2^grade cannot overflow; query q is
    rows start[q] to start[q + 1]."""
    import numpy as np

    grade = np.maximum(y, 0.0)
    top = np.repeat(np.maximum.reduceat(grade, start[:-1]), np.diff(start))
    return np.exp2(grade - top) - np.exp2(-top)


def discounts(rank: NDArray) -> NDArray:
    """Return the discounts of gains at ranks from 0."""
    import numpy as np

    return 1.0 / np.log2(2.0 + rank)


def sequence_measures(wrong: NDArray, lengths: NDArray) -> Measures:
    """Return the percentages of wrong tags and of sequences with one; the loss is the wrong tags
    per sequence.

    `wrong` and `lengths` (n,) are the wrong tags and the tokens of each sequence.
    """
    n, total, correct = len(wrong), int(wrong.sum()), int((wrong == 0).sum())
    values = {
        "token_error": 100.0 * _ratio(total, int(lengths.sum())),
        "sequence_error": 100.0 * _ratio(n - correct, n),
    }
    return Measures(values, _ratio(total, n), correct, n)


def class_measures(table: NDArray, others: NDArray, labels: int) -> Measures:
    """Return error rate, accuracy, and macro averages of precision, recall and F1 over all labels
    of rows and predictions, in percent.

    `table` (K, K) counts rows of each class by predicted class; `others` (K,) counts rows of no
    class, which are errors, by predicted class, and `labels` their different labels. A class that
    neither rows nor predictions have counts in no average; a precision or recall whose denominator
    is 0 is 0, and so are those of labels that are no class.
    """
    import numpy as np

    right, true, predicted = np.diagonal(table), table.sum(axis=1), table.sum(axis=0) + others
    n, correct, met = int(table.sum() + others.sum()), int(right.sum()), true + predicted > 0
    averaged = int(met.sum()) + labels
    macro = {
        "precision": right[met] / np.maximum(predicted[met], 1),
        "recall": right[met] / np.maximum(true[met], 1),
        "f1": 2 * right[met] / np.maximum((true + predicted)[met], 1),
    }
    values = {"error_rate": _ratio(n - correct, n), "accuracy": _ratio(correct, n)}
    values |= {name: _ratio(float(shares.sum()), averaged) for name, shares in macro.items()}
    percent = {name: 100.0 * value for name, value in values.items()}
    return Measures(percent, percent["error_rate"], correct, n)


def class_shares(right: NDArray, predicted: NDArray, both: NDArray) -> dict[str, NDArray]:
    """Return precision, recall and F1 of every class in percent, nan where they are not defined.

    The (K,) counts are rows of the class, rows predicted as it, and both.
    """
    import numpy as np

    with np.errstate(invalid="ignore"):
        return {
            "precision": 100.0 * both / predicted,
            "recall": 100.0 * both / right,
            "f1": 200.0 * both / (predicted + right),
        }


def chunk_measures(right: int, predicted: int, both: int) -> dict[str, float]:
    """Return precision, recall and F1 in percent of counts of chunks in the data, predicted, and
    predicted correctly; 0 for a denominator of 0."""
    return {
        "chunk_precision": 100.0 * both / max(1, predicted),
        "chunk_recall": 100.0 * both / max(1, right),
        "chunk_f1": 200.0 * both / max(1, right + predicted),
    }


def label_measures(
    both: NDArray, right: NDArray, predicted: NDArray, exact: int, rows: int
) -> Measures:
    """Return Hamming loss, subset accuracy, micro and macro F1 in percent; the loss is the number
    of wrong labels per row.

    The (K,) counts say in how many rows each label is right and predicted, right, and predicted;
    `exact` of `rows` rows have exactly the right set. The Hamming loss is the share of wrong label
    decisions, the subset accuracy the share of rows whose set is right. Micro F1 counts over all
    labels; macro F1 is the mean over labels that some row has or is predicted to have.
    """
    counts = right + predicted
    wrong, met = float((counts - 2 * both).sum()), counts > 0
    values = {
        "hamming_loss": _ratio(wrong, rows * len(counts)),
        "subset_accuracy": _ratio(exact, rows),
        "micro_f1": _ratio(2.0 * float(both.sum()), float(counts.sum())),
        "macro_f1": _mean(2 * both[met] / counts[met]),
    }
    return Measures(
        {name: 100.0 * value for name, value in values.items()}, _ratio(wrong, rows), exact, rows
    )


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _mean(values: NDArray) -> float:
    return float(values.sum() / len(values)) if len(values) else 0.0


def _rank(query: NDArray, start: NDArray) -> NDArray:
    """Return the rank within the query, from 0, of rows sorted by query and rank."""
    import numpy as np

    return np.arange(len(query)) - start[query]


def _count_pairs(query: NDArray, y: NDArray, start: NDArray) -> NDArray:
    """Return the pairs of different labels of each query, (Q,)."""
    import numpy as np

    order = np.lexsort((y, query))
    new = np.concatenate([[True], (np.diff(y[order]) != 0) | (np.diff(query[order]) != 0)])
    first = np.flatnonzero(new[: len(y)])
    same = np.diff(np.append(first, len(y)))
    sizes = np.diff(start)
    equal = np.zeros(len(sizes), np.int64)
    np.add.at(equal, query[order][first], same * same)
    return (sizes * sizes - equal) // 2


def _count_swapped_pairs(query: NDArray, y: NDArray, start: NDArray) -> NDArray:
    """Return the pairs of each query whose larger label ranks lower, (Q,); rows are sorted by query
    and rank."""
    # In order of falling labels, equal labels in order of rank, an inversion of the ranks is a
    # swapped pair. Queries stand in the same blocks in both orders, so no pair of two queries is an
    # inversion.
    import numpy as np

    inversions = _count_inversions(np.lexsort((np.arange(len(y)), -y, query)))
    return np.add.reduceat(inversions, start[:-1])


def _count_inversions(permutation: NDArray) -> NDArray:
    """Count for each value of a permutation of 0 to n - 1 the larger values before it; O(n log n).

    Values are sorted by their bits from the highest down. Two values separate at their highest
    differing bit; an inverted pair is counted there and nowhere else.
    """
    import numpy as np

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


def _mean_ndcg(gain: NDArray, ideal: NDArray, query: NDArray, start: NDArray, k: int) -> float:
    import numpy as np

    rank = _rank(query, start)
    discount = np.where(rank < k, discounts(rank), 0.0)
    reached, possible = (np.add.reduceat(g * discount, start[:-1]) for g in (gain, ideal))
    return _mean(np.divide(reached, possible, out=np.zeros_like(reached), where=possible > 0))


def _mean_average_precision(query: NDArray, relevant: NDArray, start: NDArray) -> float:
    import numpy as np

    above = np.cumsum(relevant)
    above -= np.concatenate([[0], above])[start[:-1]][query]
    precision = np.where(relevant, above / (_rank(query, start) + 1), 0.0)
    total = np.add.reduceat(precision, start[:-1])
    count = np.add.reduceat(relevant.astype(np.int64), start[:-1])
    return _mean(total / np.maximum(count, 1))
