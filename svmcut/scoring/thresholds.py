# SPDX-License-Identifier: BSD-3-Clause
"""Thresholds of scores that keep floors under precision, recall or specificity with a confidence.

Rows that took no part in training are drawn like future rows. With probability at least the
confidence over that draw, every promise holds for the share in the whole population.

    recall >= r          m positives, K the largest number with P(Bin(m, 1 - r) <= K) <= delta: a
                         threshold at the (K + 1)-th lowest of their scores misses more than 1 - r
                         of all positives with probability at most delta (an order statistic).
                         Specificity likewise, by the negatives
    precision >= p       thresholds that are fixed without these rows, from the highest down, each
                         tested by P(Bin(n_j, 1 - p) <= errors_j) <= level_j, n_j the rows above it
                         (Clopper, Pearson 1934). N_STARTS thresholds share delta as their levels,
                         and a test that passes hands its level on to the next; so all that passed
                         hold together with probability at least 1 - delta, however precision goes
    k promises           delta/k each

The thresholds tested for precision lie between scores of other rows: of training rows if they are
given, else of every fifth row, which then takes no part in the tests of precision.

References
----------
C. J. Clopper, E. S. Pearson, Biometrika 1934. B. L. Wiens, A fixed sequence Bonferroni procedure,
Pharmaceutical Statistics 2003. A. N. Angelopoulos et al., Learn then test, 2021.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import TrainingError, UsageError
from svmcut.base.messages import Parameter
from svmcut.base.typing import NamedTuple
from svmcut.spec.places import (
    CONFIDENCE,
    FLOORS,
    MAXIMISED,
    PRECISION,
    RECALL,
    SPECIFICITY,
    USUAL_CONFIDENCE,
)

#: One of this many rows is set aside for its score if no other rows are given.
ASIDE_STEP = 5
#: Ratio of the rows above a threshold and above the previous one.
ROWS_RATIO = 1.1
#: Number of thresholds at which tests of precision start, each with twice the rows of the previous.
N_STARTS = 2
_DOUBLING_STEPS = math.log(2) / math.log(ROWS_RATIO)


class Promises(NamedTuple):
    """The shares that a threshold must keep."""

    #: Shares in (0, 1) by a name of svmcut.spec.places.PROMISED.
    floors: Mapping[str, float]
    #: PRECISION or RECALL: the preference among the thresholds that keep the floors.
    maximise: str
    #: Probability that all promises hold.
    confidence: float = USUAL_CONFIDENCE

    @property
    def delta(self) -> float:
        """The probability with which each promise may be broken."""
        return (1.0 - self.confidence) / len(self.floors)


def make_promises(floors: Mapping[str, float], maximise: str | None, confidence: float) -> Promises:
    """Return checked promises.

    Raises UsageError for values out of range, for no floor, and if the maximised share has no floor
    that limits it.
    """
    given = {"at_least": (FLOORS, floors), "confidence": (CONFIDENCE, confidence)}
    given |= {} if maximise is None else {"maximise": (MAXIMISED, maximise)}
    for name, (kind, value) in given.items() if floors else ():
        try:
            kind.take(value)
        except (ValueError, TypeError):
            raise UsageError(
                "{} is {!r}; expected {}", Parameter(name), value, kind.expected
            ) from None
    if not floors:
        raise UsageError("nothing is promised; give {at_least} precision=0.95, or recall=0.9")
    bounded = PRECISION in floors or SPECIFICITY in floors
    best = maximise or (RECALL if bounded else PRECISION)
    if best == RECALL and not bounded:
        raise UsageError(
            "recall is highest where all is positive; leave out {maximise=}, or promise precision "
            "too",
            RECALL,
        )
    if best == PRECISION and RECALL not in floors:
        raise UsageError(
            "{maximise=} needs a floor under recall; add {at_least} recall=0.5, or leave it out",
            PRECISION,
        )
    return Promises(dict(floors), best, confidence)


def choose_threshold(
    positive: NDArray[np.bool_],
    scores: NDArray[np.float64],
    promises: Promises,
    before: NDArray[np.float64] | None = None,
) -> float:
    """Return the threshold: a row is positive if its score is above it.

    `positive` and `scores` (n,) belong to rows that took no part in training; `before` (k,) are
    scores of other rows, such as training rows. Raises TrainingError, with advice, if no threshold
    keeps the promises with that confidence.
    """
    if not np.isfinite(scores).all():
        raise TrainingError("scores are not finite; no threshold can be chosen")
    low, high = -math.inf, math.inf
    if RECALL in promises.floors:
        high = _threshold_below(scores, _order_statistic(scores[positive], promises, RECALL))
    if SPECIFICITY in promises.floors:
        low = _threshold_above(scores, -_order_statistic(-scores[~positive], promises, SPECIFICITY))
    if low > high:
        raise TrainingError(
            "recall and specificity cannot both be promised: thresholds would be at most {:.6g} "
            "and at least {:.6g}; lower a floor",
            high,
            low,
        )
    if PRECISION not in promises.floors:
        return low if promises.maximise == RECALL else high
    passed = [
        t for t in _precision_thresholds(positive, scores, promises, before) if low <= t <= high
    ]
    if not passed:
        raise TrainingError(
            "no threshold that keeps precision keeps the other promises too; lower a floor"
        )
    return passed[-1] if promises.maximise == RECALL else passed[0]


def _order_statistic(scores: NDArray[np.float64], promises: Promises, name: str) -> float:
    """Return the highest score below which at most the allowed part of such rows lies."""
    from scipy.special import bdtr

    m, floor, delta = len(scores), promises.floors[name], promises.delta
    if m == 0 or bdtr(0, m, 1 - floor) > delta:
        raise TrainingError(
            "{} of at least {:g} with confidence {:g} needs {} {} rows, and there are {}; give "
            "more, or lower the floor or the confidence",
            name,
            floor,
            promises.confidence,
            math.ceil(math.log(delta) / math.log(floor)),
            "positive" if name == RECALL else "negative",
            m,
        )
    K = int(np.searchsorted(bdtr(np.arange(m), m, 1 - floor), delta, side="right")) - 1
    return float(np.sort(scores)[K])


def _precision_thresholds(
    positive: NDArray[np.bool_],
    scores: NDArray[np.float64],
    promises: Promises,
    before: NDArray[np.float64] | None,
) -> list[float]:
    """Return the thresholds that pass the tests of precision, from the highest down."""
    from scipy.special import bdtr

    floor, delta = promises.floors[PRECISION], promises.delta
    if before is None:
        aside = np.arange(len(scores)) % ASIDE_STEP == 0
        before, positive, scores = scores[aside], positive[~aside], scores[~aside]
    order = np.argsort(-scores, kind="stable")
    falling, errors = -scores[order], np.append(0, np.cumsum(~positive[order]))
    least = 2 * math.log(delta) / math.log(floor)
    thresholds = _candidate_thresholds(before, least / max(1, len(scores)))
    starts = {round(k * _DOUBLING_STEPS) for k in range(N_STARTS)}
    starts &= {*range(len(thresholds))}
    passed: list[float] = []
    carried, tried = 0.0, (0, 0)
    for k, threshold in enumerate(thresholds):
        level = carried + delta / len(starts) * (k in starts)
        taken = int(np.searchsorted(falling, -threshold))
        wrong = int(errors[taken])
        keeps = level > 0 and taken > 0 and bdtr(wrong, taken, 1 - floor) <= level
        carried = level if keeps else 0.0
        passed += [threshold] * int(keeps)
        tried = (taken, wrong) if k == 0 else tried
    if not passed:
        raise TrainingError(
            "no threshold keeps a precision of at least {:g} with confidence {:g}: of the {} rows "
            "that score highest {} are negative; give more rows (some {} above the threshold), or "
            "lower the floor or the confidence",
            floor,
            promises.confidence,
            *tried,
            math.ceil(least),
        )
    return passed


def _candidate_thresholds(scores: NDArray[np.float64], share: float) -> list[float]:
    """Return thresholds between scores, falling: the first below that share of them, each of the
    others below ROWS_RATIO times as many."""
    falling = -np.sort(-scores)
    places, thresholds = float(max(1, math.ceil(share * len(falling)))), list[float]()
    while places < len(falling):
        k = int(places)
        middle = falling[k - 1] + (falling[k] - falling[k - 1]) / 2
        if not thresholds or middle < thresholds[-1]:
            thresholds.append(float(middle))
        places = max(k + 1, places * ROWS_RATIO)
    return thresholds


def _threshold_below(scores: NDArray[np.float64], score: float) -> float:
    """Return a threshold below a score and above all lower ones."""
    under = scores[scores < score]
    lower = float(under.max()) if len(under) else score - max(1.0, abs(score))
    middle = lower + (score - lower) / 2
    return middle if lower <= middle < score else lower


def _threshold_above(scores: NDArray[np.float64], score: float) -> float:
    """Return a threshold not below a score and below all higher ones."""
    over = scores[scores > score]
    higher = float(over.min()) if len(over) else score + max(1.0, abs(score))
    middle = score + (higher - score) / 2
    return middle if score <= middle < higher else score
