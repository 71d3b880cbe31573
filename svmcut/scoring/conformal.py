# SPDX-License-Identifier: BSD-3-Clause
"""Split conformal prediction: intervals of numbers and sets of labels that hold the truth of a new
row with a promised probability, whatever the model.

Rows that took no part in training, exchangeable with the new one, have scores of strangeness:

    absolute      |y - f(x)|, of numbers
    probability   1 - p_y(x), of classes with probabilities
    margin        max of s_j(x) over the other classes, minus s_y(x); of two classes -y f(x)

With q the k-th smallest of the n scores, k = n + 1 - floor((n + 1) alpha), a new row has a score
of at most q with probability at least 1 - alpha over the draw of all n + 1 rows. Equal scores only
add to it. alpha is a decimal, and k is computed in whole numbers. With fewer than
ceil(1/alpha) - 1 rows k exceeds n, and nothing can be left out. By class, each class has its own
rows, k and q, and the probability holds given the class.

References
----------
V. Vovk, A. Gammerman, G. Shafer, Algorithmic learning in a random world, 2005. M. Sadinle, J. Lei,
L. Wasserman, Least ambiguous set-valued classifiers, JASA 2019.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import TrainingError, UsageError
from svmcut.base.records import record
from svmcut.base.typing import Any
from svmcut.spec.places import COVERAGE

ABSOLUTE, MARGIN, PROBABILITY = SCORES = ("absolute", "margin", "probability")
#: Roundings of a distance and of the ends of an interval, relative to their sizes.
_SLACK = 2 * float(np.finfo(np.float64).eps)


@record
class Coverage:
    """The promised coverage of a model, and the scores up to which it is kept."""

    #: In (0, 1).
    share: float
    #: One of SCORES.
    score: str
    #: Number of calibration rows, one, or that of each class in the model's order.
    rows: tuple[int, ...]
    #: k of each.
    ranks: tuple[int, ...]
    #: The k-th smallest score of each; inf where there are too few rows.
    limits: tuple[float, ...]

    @property
    def by_class(self) -> bool:
        """True if the promise holds for every class."""
        return len(self.rows) > 1

    def facts(self, labels: Sequence[str] = ()) -> dict[str, Any]:
        """Entries of a report, of a promise by class with the texts of its labels; a limit of
        everything is None."""
        parts = [
            {"rows": n, "k": k, "limit": limit if math.isfinite(limit) else None}
            for n, k, limit in zip(self.rows, self.ranks, self.limits, strict=True)
        ]
        head = {"coverage": self.share, "score": self.score}
        if not self.by_class:
            return head | parts[0]
        return head | {"classes": dict(zip(labels, parts, strict=True))}


def check_coverage(given: Any, name: str = "coverage") -> float:
    """Return a coverage in (0, 1); raise UsageError for others."""
    try:
        share = COVERAGE.take(given)
    except (ValueError, TypeError):
        share = math.nan
    if not share < 1:
        raise UsageError(
            "{} is {}; expected a number above 0 and below 1, such as 0.9", name, given
        )
    return share


def rank_of(n: int, share: float) -> int:
    """Return k, above n where there are too few rows."""
    alpha = _alpha(share)
    return n + 1 - (n + 1) * alpha.numerator // alpha.denominator


def least_rows(share: float) -> int:
    """Return the fewest rows with which a set can leave anything out."""
    return math.ceil(1 / _alpha(share)) - 1


def _alpha(share: float) -> Fraction:
    return 1 - Fraction(repr(float(share)))


def calibrate(
    scores: NDArray[np.float64],
    share: float,
    score: str,
    places: NDArray[np.int64] | None = None,
    n_classes: int = 1,
) -> Coverage:
    """Return what keeps the coverage, of the scores (n,) of calibration rows; by class with the
    places (n,) of their labels among the model's. Raises TrainingError for scores that are not
    finite, and where no class, or not all rows together, are enough."""
    if not np.isfinite(scores).all():
        raise TrainingError("scores are not finite; no coverage can be promised")
    parts = [scores] if places is None else [scores[places == k] for k in range(n_classes)]
    rows = tuple(len(part) for part in parts)
    ranks = tuple(rank_of(n, share) for n in rows)
    if all(k > n for k, n in zip(ranks, rows, strict=True)):
        raise TrainingError(
            "a coverage of {:g} needs {} rows{}, and there are {}; give more, or lower the "
            "coverage",
            share,
            least_rows(share),
            "" if places is None else " of a class",
            max(rows),
        )
    limits = tuple(
        math.inf if k > len(part) else float(np.partition(part, k - 1)[k - 1])
        for part, k in zip(parts, ranks, strict=True)
    )
    return Coverage(share, score, rows, ranks, limits)


# scores that are no numbers are in every set
@np.errstate(invalid="ignore")
def class_strangeness(outputs: NDArray[np.float64], score: str) -> NDArray[np.float64]:
    """Return the scores (n, K) of every class, of probabilities (n, K) or scores (n, K), or of the
    scores (n,) of two classes."""
    if score == PROBABILITY:
        return 1.0 - outputs
    if outputs.ndim == 1:
        return np.column_stack([outputs, -outputs])
    rows = np.arange(len(outputs))
    best, rest = outputs.argmax(axis=1), outputs.copy()
    rest[rows, best] = -np.inf
    strangeness = outputs[rows, best][:, None] - outputs
    strangeness[rows, best] = rest.max(axis=1) - outputs[rows, best]
    return strangeness


def label_sets(coverage: Coverage, outputs: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which classes (n, K) belong to the set of each row; outputs as of class_strangeness,
    all where they are no numbers."""
    strangeness = class_strangeness(outputs, coverage.score)
    return ~(strangeness > np.array(coverage.limits))


@np.errstate(invalid="ignore")
def intervals_of(coverage: Coverage, predicted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lowest and the highest number (n, 2) of each row, rounded outwards; everything
    where the prediction is no number."""
    (limit,) = coverage.limits
    size = limit + _SLACK * (np.abs(predicted) + limit)
    ends = np.column_stack([predicted - size, predicted + size])
    ends[~np.isfinite(predicted)] = -np.inf, np.inf
    return ends
