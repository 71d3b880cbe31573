# SPDX-License-Identifier: BSD-3-Clause
"""Thresholds of scores that keep floors under precision, recall or specificity with a confidence.

Rows that took no part in training are drawn like those to come. With probability at least the
confidence over that draw, every promise holds of the share in the whole population.

    recall >= r          m positives, K the largest number with P(Bin(m, 1 - r) <= K) <= delta: a
                         threshold at the (K + 1)-th lowest of their scores misses more than 1 - r
                         of all positives with probability at most delta (an order statistic).
                         Specificity alike, by the negatives
    precision >= p       thresholds that are fixed without these rows, from the highest down, each
                         tested by P(Bin(n_j, 1 - p) <= errors_j) <= level_j, n_j the rows above it
                         (Clopper, Pearson 1934). Levels of STARTS thresholds share delta, and a
                         test that passes hands its level on to the next; so all that passed hold
                         together with probability at least 1 - delta, however precision goes
    k promises           delta/k each

The thresholds of precision are those between scores of other rows, of training rows where they are
there, else of every fifth row, which then takes no part in the tests of precision.

References
----------
C. J. Clopper, E. S. Pearson, Biometrika 1934. B. L. Wiens, A fixed sequence Bonferroni procedure,
Pharmaceutical Statistics 2003. A. N. Angelopoulos et al., Learn then test, 2021.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from svmcut.base.errors import TrainingError, UsageError
from svmcut.base.messages import Parameter
from svmcut.base.typing import TYPE_CHECKING, NamedTuple
from svmcut.spec.places import (
    CONFIDENCE,
    FLOORS,
    MAXIMISED,
    PRECISION,
    RECALL,
    SPECIFICITY,
    USUAL_CONFIDENCE,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Every so many rows one is set aside for its score, where no others are there.
EVERY = 5
#: Rows above a threshold, times those above the one before.
STEP = 1.1
#: Tests of precision begin at so many thresholds, each with twice the rows of the one before.
STARTS = 2
_DOUBLE = math.log(2) / math.log(STEP)


class Promises(NamedTuple):
    """What is asked of a threshold.

    Attributes
    ----------
    floors : mapping
        Shares in (0, 1) by a name of svmcut.spec.places.PROMISED.
    maximise : str
        PRECISION or RECALL: which the choice among the thresholds that are left favours.
    confidence : float
    """

    floors: Mapping[str, float]
    maximise: str
    confidence: float = USUAL_CONFIDENCE

    @property
    def delta(self) -> float:
        """What each promise may be broken with."""
        return (1.0 - self.confidence) / len(self.floors)


def promises(floors: Mapping[str, float], maximise: str | None, confidence: float) -> Promises:
    """Checked promises.

    Raises
    ------
    UsageError
        For values out of range, and where there is none, or where nothing keeps what is maximised
        from its trivial best.
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
    asked: Promises,
    before: NDArray[np.float64] | None = None,
) -> float:
    """The threshold: a row is positive where its score is above it.

    Parameters
    ----------
    positive, scores : (n,)
        Of rows that took no part in training.
    asked : Promises
    before : (k,) float64 or None
        Scores of other rows, training rows among them.

    Raises
    ------
    TrainingError
        Where no threshold keeps the promises with that confidence; says what would help.
    """
    if not np.isfinite(scores).all():
        raise TrainingError("scores are not finite; no threshold can be chosen")
    low, high = -math.inf, math.inf
    if RECALL in asked.floors:
        high = _below(scores, _order_statistic(scores[positive], asked, RECALL))
    if SPECIFICITY in asked.floors:
        low = _above(scores, -_order_statistic(-scores[~positive], asked, SPECIFICITY))
    if low > high:
        raise TrainingError(
            "recall and specificity cannot both be promised: thresholds would be at most {:.6g} "
            "and at least {:.6g}; lower a floor",
            high,
            low,
        )
    if PRECISION not in asked.floors:
        return low if asked.maximise == RECALL else high
    passed = [t for t in _precise(positive, scores, asked, before) if low <= t <= high]
    if not passed:
        raise TrainingError(
            "no threshold that keeps precision keeps the other promises too; lower a floor"
        )
    return passed[-1] if asked.maximise == RECALL else passed[0]


def _order_statistic(scores: NDArray[np.float64], asked: Promises, name: str) -> float:
    """The highest score below which at most the allowed part of such rows lies."""
    from scipy.special import bdtr

    m, floor, delta = len(scores), asked.floors[name], asked.delta
    if m == 0 or bdtr(0, m, 1 - floor) > delta:
        raise TrainingError(
            "{} of at least {:g} with confidence {:g} needs {} {} rows, and there are {}; give "
            "more, or lower the floor or the confidence",
            name,
            floor,
            asked.confidence,
            math.ceil(math.log(delta) / math.log(floor)),
            "positive" if name == RECALL else "negative",
            m,
        )
    K = int(np.searchsorted(bdtr(np.arange(m), m, 1 - floor), delta, side="right")) - 1
    return float(np.sort(scores)[K])


def _precise(
    positive: NDArray[np.bool_],
    scores: NDArray[np.float64],
    asked: Promises,
    before: NDArray[np.float64] | None,
) -> list[float]:
    """The thresholds that passed, from the highest down."""
    from scipy.special import bdtr

    floor, delta = asked.floors[PRECISION], asked.delta
    if before is None:
        aside = np.arange(len(scores)) % EVERY == 0
        before, positive, scores = scores[aside], positive[~aside], scores[~aside]
    order = np.argsort(-scores, kind="stable")
    falling, errors = -scores[order], np.append(0, np.cumsum(~positive[order]))
    least = 2 * math.log(delta) / math.log(floor)
    thresholds = _between(before, least / max(1, len(scores)))
    starts = {round(k * _DOUBLE) for k in range(STARTS)}
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
            asked.confidence,
            *tried,
            math.ceil(least),
        )
    return passed


def _between(scores: NDArray[np.float64], share: float) -> list[float]:
    """Thresholds between scores, falling: the first below that share of them, each of the others
    below STEP times as many."""
    falling = -np.sort(-scores)
    places, thresholds = float(max(1, math.ceil(share * len(falling)))), list[float]()
    while places < len(falling):
        k = int(places)
        middle = falling[k - 1] + (falling[k] - falling[k - 1]) / 2
        if not thresholds or middle < thresholds[-1]:
            thresholds.append(float(middle))
        places = max(k + 1, places * STEP)
    return thresholds


def _below(scores: NDArray[np.float64], score: float) -> float:
    """A threshold below a score and above all that are lower."""
    under = scores[scores < score]
    lower = float(under.max()) if len(under) else score - max(1.0, abs(score))
    middle = lower + (score - lower) / 2
    return middle if lower <= middle < score else lower


def _above(scores: NDArray[np.float64], score: float) -> float:
    """A threshold no lower than a score and below all that are higher."""
    over = scores[scores > score]
    higher = float(over.min()) if len(over) else score + max(1.0, abs(score))
    middle = score + (higher - score) / 2
    return middle if score <= middle < higher else score
