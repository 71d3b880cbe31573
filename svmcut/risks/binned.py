# SPDX-License-Identifier: BSD-3-Clause
"""Contingency losses and ROC area of binned examples, of which only counts and sums of keys per
class and bin are known.

    key          r = y s of a contingency loss; for ROC area s of a positive, s + 1 of a negative
    cut          if q of the h members of a bin are flipped, q/h of each is: the mean of all
                 choices, which are labellings of one table and have one loss. Pairs within a bin
                 are all in the cut, or none
    value        that cut at the scores: R_cut <= R
    upper bound  no smaller than R: the members of a bin lie at its edges, as far as their sum
                 allows

Each cut is thus a cut of R, and upper_bound - R_cut is what binning hides: for a contingency loss
at most kappa times the sum over both classes of h (mean - lower) (upper - mean) / width, each in
one bin, which is at most h width / 4; for ROC area at most 100/(P N) times pairs in one bin times
width / 4.

A table (m flipped positives, b flipped negatives) costs U(m) + V(b), piecewise linear and convex.
With margin rescaling Delta is concave in b, and so is the objective; with slack rescaling that is
log-concave where positive. In m it need be neither, but rises: no table with m in (m_0, m_1]
exceeds Delta(m_1, b) less the lowest cost there. Intervals of m are halved while that bound is
above the best table by more than TOLERANCE; the rest enters the upper bound.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from svmcut.base.typing import Any, NamedTuple
from svmcut.risks.protocol import Linearization

#: Relative amount by which another table may be better than the best one found.
TOLERANCE = 1e-7
#: Most intervals of m that are halved together; for more the present bounds are returned.
MAX_INTERVALS = 1 << 14
_FIRST_COUNTS = 256


class Bins(NamedTuple):
    """Keys of the positives, then of the negatives, between the same edges."""

    #: (bins + 1,) float64, increasing.
    edges: Any
    #: (2, bins) float64, as are `sums`.
    counts: Any
    sums: Any


class Costs:
    """The sum of the m lowest keys, piecewise linear and convex in m."""

    def __init__(self, x, y):
        rising = np.diff(x, prepend=-1.0) > 0
        self.x, self._y = x[rising], y[rising]
        self.minimiser = float(self.x[np.count_nonzero(np.diff(self._y) < 0)])

    def __call__(self, m):
        return np.interp(m, self.x, self._y)

    @classmethod
    def chords(cls, counts, sums) -> Costs:
        """Costs with q of h members at q/h of their sum: no less than the lowest q."""
        return cls(np.append(0.0, np.cumsum(counts)), np.append(0.0, np.cumsum(sums)))

    @classmethod
    def lower_bound(cls, edges, counts, sums) -> Costs:
        """The lowest costs that the sums of these bins allow."""
        there = counts > 0
        low, high, h = edges[:-1][there], edges[1:][there], counts[there]
        t = np.clip(sums[there], h * low, h * high)
        q = np.clip(np.floor((h * high - t) / (high - low)), 0, h - 1)
        m = np.column_stack([q, q + 1, h]) + (np.cumsum(h) - h)[:, None]
        cost = np.column_stack([q * low, t - (h - q - 1) * high, t]) + (np.cumsum(t) - t)[:, None]
        return cls(np.append(0.0, m), np.append(0.0, cost))


def _search_integers(rises: Callable[[Any], Any], low, high):
    """The smallest integers in [low, high] after which the next one is no better."""
    low, high = np.array(low, np.float64), np.array(high, np.float64)
    while (is_open := low < high).any():
        middle = np.floor((low + high) / 2)
        up = rises(middle)
        low, high = np.where(is_open & up, middle + 1, low), np.where(is_open & ~up, middle, high)
    return low


class BinnedContingency:
    """A contingency loss of P positives and N negatives in bins, at least one of each; see
    svmcut.risks.contingency. `k` is that of the losses at k, `slack` rescales the slack, and slack
    norm 2 squares it and takes the root of the loss."""

    #: Keys are sign times score plus shift, of positives and negatives.
    signs, shifts = (1.0, -1.0), (0.0, 0.0)

    def __init__(self, name: str, P: int, N: int, k: int, slack: bool, slack_norm: int):
        self._name = name
        self._P = P
        self._N = N
        self._k = k
        self._slack = slack
        self._squared = slack_norm == 2
        self._kappa, self._is_joint = 100.0 / (P + N), name in ("zero-one", "error-rate")

    def linearize(self, bins: Bins) -> Linearization:
        """R_cut, with the coefficients (2, bins) of the members' scores and the offset of the
        cut."""
        counts = bins.counts.sum(axis=0, keepdims=True) if self._is_joint else bins.counts
        sums = bins.sums.sum(axis=0, keepdims=True) if self._is_joint else bins.sums
        value, flips, _ = self._best_value(
            [Costs.chords(*of) for of in zip(counts, sums, strict=True)]
        )
        if value <= 0:
            return Linearization(0.0, np.zeros(bins.counts.shape), 0.0)
        loss = float(self._loss(*flips))
        scale = self._kappa * (loss if self._slack else 1.0)
        before = np.cumsum(counts, axis=1) - counts
        part = np.clip((np.array(flips)[:, None] - before) / np.maximum(counts, 1), 0, 1)
        coef = scale * np.array([[-1.0], [1.0]]) * part
        if self._squared:
            return Linearization(value * value, 2 * value * coef, 2 * value * loss - value * value)
        return Linearization(value, coef, loss)

    def upper_bound(self, bins: Bins) -> float:
        """An upper bound of R."""
        if self._is_joint:
            bins = Bins(
                bins.edges,
                bins.counts.sum(axis=0, keepdims=True),
                bins.sums.sum(axis=0, keepdims=True),
            )
        costs = [
            Costs.lower_bound(bins.edges, *of) for of in zip(bins.counts, bins.sums, strict=True)
        ]
        most = max(0.0, self._best_value(costs)[2])
        return most * most if self._squared else most

    def _loss(self, m, b=0.0):
        """Delta, or its root, of m and b flips, or of m flips of both classes together."""
        P, k = float(self._P), self._name
        if k == "zero-one":
            return np.minimum(m, 1.0)
        if k == "f1":
            percent = 100 * (m + b) / (2 * P - m + b)
        elif k == "prec-at-k":
            percent = 100 * b / (P - m + b)
        else:
            percent = self._kappa * m if self._is_joint else 100 * m / P
        return np.sqrt(percent) if self._squared else percent

    def _value(self, loss, cost):
        return loss * (1 - self._kappa * cost) if self._slack else loss - self._kappa * cost

    def _maximise_along(self, loss, cost, low, high, turn):
        """The best value over integers b in [low, high], and its b; the cost falls up to `turn` and
        rises after it."""

        def rises(b):
            here, after = cost(b), cost(b + 1)
            better = self._value(loss(b + 1), after) > self._value(loss(b), here)
            if not self._slack:
                return better
            hopeless = self._kappa * np.where(b < turn, here, after) >= 1
            return np.where(hopeless, b < turn, better)

        b = _search_integers(rises, low, high)
        return self._value(loss(b), cost(b)), b

    def _best_value(self, costs: list[Costs]) -> tuple[float, tuple, float]:
        """The best value, its flips, and an upper bound of all values."""
        P, N, k, U, V = self._P, self._N, self._k, costs[0], costs[-1]
        if self._name == "f1":
            return self._best_table(U, V, P, lambda m: 0 * m)
        if self._name == "prec-at-k":
            return self._best_table(
                U, V, min(P, P + N - k), lambda m: np.maximum(1, k - P + m), self._at_k(U, V)
            )
        low, high, others = 1, P + N, lambda m: 0 * m
        if self._name == "prbep":
            high, others = min(P, N), lambda m: m
        elif self._name == "rec-at-k":
            low = max(1, P - k)
            high, others = P, lambda m: np.minimum(V.minimiser, np.maximum(0, k - P + m))
        value, (m,) = self._maximise_line(
            lambda m: U(m) + (0 if self._is_joint else V(others(m))), self._loss, low, high
        )
        return value, (m,) if self._is_joint else (m, others(m)), value

    def _maximise_line(self, cost, loss, low, high) -> tuple[float, tuple]:
        """The best value of a loss of one variable."""
        (turn,) = _search_integers(lambda m: cost(m + 1) < cost(m), [low], [high])
        (value,), (m,) = self._maximise_along(loss, cost, [low], [high], turn)
        return float(value), (m,)

    def _at_k(self, U: Costs, V: Costs) -> tuple[float, tuple]:
        """The best table with k predicted positives."""
        P, k = self._P, self._k
        others = lambda m: k - P + m  # noqa: E731
        high = min(P, self._N + P - k)
        if high < max(0, P - k + 1):
            return 0.0, (0.0, 0.0)
        value, (m,) = self._maximise_line(
            lambda m: U(m) + V(others(m)),
            lambda m: self._loss(m, others(m)),
            max(0, P - k + 1),
            high,
        )
        return value, (m, others(m))

    def _best_table(
        self, U: Costs, V: Costs, end: int, low, known=(0.0, (0.0, 0.0))
    ) -> tuple[float, tuple, float]:
        """The best table over m in 0..end and b in low(m)..N, if better than the known one."""
        value: float = known[0]
        flips, most = known[1], 0.0
        exact = (
            not self._slack and not self._squared
        )  # on a straight piece of U the best m is one of its ends

        def at(of_loss, of_range, cost):
            losses, b = self._maximise_along(
                lambda b: self._loss(of_loss, b),
                lambda b: cost + V(b),
                low(of_range),
                np.full(len(cost), float(self._N)),
                V.minimiser,
            )
            return losses, b

        m = np.unique(np.rint(np.linspace(0, end, min(end, _FIRST_COUNTS) + 1)))
        first, last, new = m[:-1], m[1:], m
        while len(new):
            losses, b = at(new, new, U(new))
            k = int(np.argmax(losses))
            if losses[k] > value:
                value, flips = float(losses[k]), (new[k], b[k])
            bound, _ = at(last, first, U(np.clip(U.minimiser, first, last)))
            i, j = np.searchsorted(U.x, first, "right") - 1, np.searchsorted(U.x, last, "left")
            open_ = (last - first > 1) & ~(exact & (j - i < 2))
            first, last, bound, i, j = (of[open_] for of in (first, last, bound, i, j))
            wide = bound > value * (1 + TOLERANCE) + TOLERANCE * TOLERANCE
            if wide.sum() > MAX_INTERVALS:
                wide[:] = False
            most = max(most, float(bound[~wide].max(initial=0.0)))
            first, last, i, j = (of[wide] for of in (first, last, i, j))
            new = np.where(
                j - i < 2,
                np.floor((first + last) / 2),
                U.x[np.minimum((i + j + 1) // 2, len(U.x) - 1)],
            )
            first, last = np.concatenate([first, new]), np.concatenate([new, last])
        return value, flips, max(value, most)


class BinnedRocArea:
    """ROC area of P positives and N negatives in bins."""

    signs, shifts = (1.0, 1.0), (0.0, 1.0)

    def __init__(self, P: int, N: int):
        self._weight = 100.0 / P / N

    def linearize(self, bins: Bins) -> Linearization:
        """See BinnedContingency.linearize."""
        (p, n), value, inside = bins.counts, *self._pairs(bins)
        taken = inside > 0
        below, above = np.cumsum(p) - p, n.sum() - np.cumsum(n)
        coef = self._weight * np.array([-(above + taken * n), below + taken * p])
        return Linearization(value + self._weight * inside[taken].sum(), coef, float(coef[1] @ n))

    def upper_bound(self, bins: Bins) -> float:
        """See BinnedContingency.upper_bound."""
        (p, n), value, inside = bins.counts, *self._pairs(bins)
        low, high, pairs = bins.edges[:-1], bins.edges[1:], p * n
        up = np.clip(bins.sums[1] / np.maximum(n, 1), low, high) - low
        down = high - np.clip(bins.sums[0] / np.maximum(p, 1), low, high)
        least = np.where(pairs > 1, pairs * up * down / (high - low), np.maximum(0, inside))
        return value + self._weight * float(least[pairs > 0].sum())

    def _pairs(self, bins: Bins) -> tuple[float, Any]:
        """R of the pairs that are in the cut whatever their place within bins, and the sums of 1 -
        s_p + s_n of the pairs within each bin."""
        (p, n), (s, t) = bins.counts, bins.sums
        certain = t @ (np.cumsum(p) - p) - n @ (np.cumsum(s) - s)
        return self._weight * float(certain), t * p - n * s
