# SPDX-License-Identifier: BSD-3-Clause
"""Contingency losses and ROC area where of every class only counts and sums of keys in bins are
known.

    key          r = y s of a contingency loss; of ROC area s of a positive, s + 1 of a negative
    cut          q of the h members of a bin are flipped: q/h of each, the mean of all ways to
                 choose them, which are labellings of one table and have one loss. Pairs in one bin
                 are all in the cut, or none
    value        what the best such cut says at the scores: R_cut <= R
    most         no smaller than R: the members of a bin lie at its edges, as far as their sum
                 allows

So a cut is one of R, and most - R_cut is what the bins hide: of a contingency loss at most kappa
times the sum over both classes of h (mean - lower) (upper - mean) / width, each in one bin, which
is at most h width / 4; of ROC area at most 100/(P N) times pairs in one bin times width / 4.

A table (m flipped positives, b flipped negatives) costs U(m) + V(b), piecewise linear and convex.
Delta is concave in b where margins are rescaled, and so is what is maximised; with slack it is
log-concave where positive. In m it need be neither, but rises: no table with m in (m_0, m_1]
exceeds Delta(m_1, b) less the least cost there. Intervals of m are halved while that is above the
best table by more than TOLERANCE; what is left of it enters `most`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from svmcut.base.typing import Any, NamedTuple
from svmcut.risks.protocol import Linearization

#: Part of the best table's value by which another may be better.
TOLERANCE = 1e-7
#: Intervals of m that are looked at side by side; of more the present bounds stand.
MOST_INTERVALS = 1 << 14
_FIRST = 256


class Bins(NamedTuple):
    """Keys of the positives, then of the negatives, between the same edges.

    Attributes
    ----------
    edges : (bins + 1,) float64
        Increasing.
    counts, sums : (2, bins) float64
    """

    edges: Any
    counts: Any
    sums: Any


class Costs:
    """The sum of the m lowest keys, piecewise linear and convex in m.

    Attributes
    ----------
    x : (k,) float64
        Whole numbers from 0 on, increasing, where the slope may change.
    turn : float
        The m of the least sum.
    """

    def __init__(self, x, y):
        rising = np.diff(x, prepend=-1.0) > 0
        self.x, self._y = x[rising], y[rising]
        self.turn = float(self.x[np.count_nonzero(np.diff(self._y) < 0)])

    def __call__(self, m):
        return np.interp(m, self.x, self._y)

    @classmethod
    def chords(cls, counts, sums) -> Costs:
        """Where q of h members cost q/h of their sum: no less than the lowest q."""
        return cls(np.append(0.0, np.cumsum(counts)), np.append(0.0, np.cumsum(sums)))

    @classmethod
    def least(cls, edges, counts, sums) -> Costs:
        """The least that sums in these bins allow."""
        there = counts > 0
        low, high, h = edges[:-1][there], edges[1:][there], counts[there]
        t = np.clip(sums[there], h * low, h * high)
        q = np.clip(np.floor((h * high - t) / (high - low)), 0, h - 1)
        m = np.column_stack([q, q + 1, h]) + (np.cumsum(h) - h)[:, None]
        cost = np.column_stack([q * low, t - (h - q - 1) * high, t]) + (np.cumsum(t) - t)[:, None]
        return cls(np.append(0.0, m), np.append(0.0, cost))


def _search(rises: Callable[[Any], Any], low, high):
    """The least whole numbers in [low, high] from which on the next one is no better."""
    low, high = np.array(low, np.float64), np.array(high, np.float64)
    while (ajar := low < high).any():
        middle = np.floor((low + high) / 2)
        up = rises(middle)
        low, high = np.where(ajar & up, middle + 1, low), np.where(ajar & ~up, middle, high)
    return low


class BinnedContingency:
    """A contingency loss of examples in bins; see svmcut.risks.contingency.

    Parameters
    ----------
    name : str
    P, N : int
        Positives and negatives, at least one of each.
    k : int
        Of the losses at k.
    slack : bool
        Whether the slack is rescaled.
    slack_norm : {1, 2}
        With 2 the square of the slack, whose loss is the root.
    """

    #: Keys are sign times score plus shift, of positives and negatives.
    signs, shifts = (1.0, -1.0), (0.0, 0.0)

    def __init__(self, name: str, P: int, N: int, k: int, slack: bool, slack_norm: int):
        self._name = name
        self._P = P
        self._N = N
        self._k = k
        self._slack = slack
        self._squared = slack_norm == 2
        self._kappa, self._joint = 100.0 / (P + N), name in ("zero-one", "error-rate")

    def linearize(self, bins: Bins) -> Linearization:
        """R_cut, and the coefficients (2, bins) of the scores of the members, and the offset of the
        cut."""
        counts = bins.counts.sum(axis=0, keepdims=True) if self._joint else bins.counts
        sums = bins.sums.sum(axis=0, keepdims=True) if self._joint else bins.sums
        value, flips, _ = self._highest(
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

    def most(self, bins: Bins) -> float:
        """An upper bound of R."""
        if self._joint:
            bins = Bins(
                bins.edges,
                bins.counts.sum(axis=0, keepdims=True),
                bins.sums.sum(axis=0, keepdims=True),
            )
        costs = [Costs.least(bins.edges, *of) for of in zip(bins.counts, bins.sums, strict=True)]
        most = max(0.0, self._highest(costs)[2])
        return most * most if self._squared else most

    def _loss(self, m, b=0.0):
        """Delta, of so many flips of either class or of both together, or its root."""
        P, k = float(self._P), self._name
        if k == "zero-one":
            return np.minimum(m, 1.0)
        if k == "f1":
            percent = 100 * (m + b) / (2 * P - m + b)
        elif k == "prec-at-k":
            percent = 100 * b / (P - m + b)
        else:
            percent = self._kappa * m if self._joint else 100 * m / P
        return np.sqrt(percent) if self._squared else percent

    def _value(self, loss, cost):
        return loss * (1 - self._kappa * cost) if self._slack else loss - self._kappa * cost

    def _peak(self, loss, cost, low, high, turn):
        """The best value over whole numbers in [low, high], and where; cost falls up to `turn` and
        rises then."""

        def rises(b):
            here, after = cost(b), cost(b + 1)
            better = self._value(loss(b + 1), after) > self._value(loss(b), here)
            if not self._slack:
                return better
            hopeless = self._kappa * np.where(b < turn, here, after) >= 1
            return np.where(hopeless, b < turn, better)

        b = _search(rises, low, high)
        return self._value(loss(b), cost(b)), b

    def _highest(self, costs: list[Costs]) -> tuple[float, tuple, float]:
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
            high, others = P, lambda m: np.minimum(V.turn, np.maximum(0, k - P + m))
        value, (m,) = self._along(
            lambda m: U(m) + (0 if self._joint else V(others(m))), self._loss, low, high
        )
        return value, (m,) if self._joint else (m, others(m)), value

    def _along(self, cost, loss, low, high) -> tuple[float, tuple]:
        """The best value where one number says all."""
        (turn,) = _search(lambda m: cost(m + 1) < cost(m), [low], [high])
        (value,), (m,) = self._peak(loss, cost, [low], [high], turn)
        return float(value), (m,)

    def _at_k(self, U: Costs, V: Costs) -> tuple[float, tuple]:
        """The best table with k predicted positives."""
        P, k = self._P, self._k
        others = lambda m: k - P + m  # noqa: E731
        high = min(P, self._N + P - k)
        if high < max(0, P - k + 1):
            return 0.0, (0.0, 0.0)
        value, (m,) = self._along(
            lambda m: U(m) + V(others(m)),
            lambda m: self._loss(m, others(m)),
            max(0, P - k + 1),
            high,
        )
        return value, (m, others(m))

    def _best_table(
        self, U: Costs, V: Costs, end: int, low, known=(0.0, (0.0, 0.0))
    ) -> tuple[float, tuple, float]:
        """Over m from 0 to the end and b from low(m) to N; better than the one that is known."""
        value: float = known[0]
        flips, most = known[1], 0.0
        exact = (
            not self._slack and not self._squared
        )  # on a straight piece of U the best m is one of its ends

        def at(of_loss, of_range, cost):
            losses, b = self._peak(
                lambda b: self._loss(of_loss, b),
                lambda b: cost + V(b),
                low(of_range),
                np.full(len(cost), float(self._N)),
                V.turn,
            )
            return losses, b

        m = np.unique(np.rint(np.linspace(0, end, min(end, _FIRST) + 1)))
        first, last, new = m[:-1], m[1:], m
        while len(new):
            losses, b = at(new, new, U(new))
            k = int(np.argmax(losses))
            if losses[k] > value:
                value, flips = float(losses[k]), (new[k], b[k])
            bound, _ = at(last, first, U(np.clip(U.turn, first, last)))
            i, j = np.searchsorted(U.x, first, "right") - 1, np.searchsorted(U.x, last, "left")
            open_ = (last - first > 1) & ~(exact & (j - i < 2))
            first, last, bound, i, j = (of[open_] for of in (first, last, bound, i, j))
            wide = bound > value * (1 + TOLERANCE) + TOLERANCE * TOLERANCE
            if wide.sum() > MOST_INTERVALS:
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
    """ROC area of examples in bins; P and N as those of BinnedContingency."""

    signs, shifts = (1.0, 1.0), (0.0, 1.0)

    def __init__(self, P: int, N: int):
        self._weight = 100.0 / P / N

    def linearize(self, bins: Bins) -> Linearization:
        """As BinnedContingency.linearize."""
        (p, n), value, inside = bins.counts, *self._pairs(bins)
        taken = inside > 0
        below, above = np.cumsum(p) - p, n.sum() - np.cumsum(n)
        coef = self._weight * np.array([-(above + taken * n), below + taken * p])
        return Linearization(value + self._weight * inside[taken].sum(), coef, float(coef[1] @ n))

    def most(self, bins: Bins) -> float:
        """As BinnedContingency.most."""
        (p, n), value, inside = bins.counts, *self._pairs(bins)
        low, high, pairs = bins.edges[:-1], bins.edges[1:], p * n
        up = np.clip(bins.sums[1] / np.maximum(n, 1), low, high) - low
        down = high - np.clip(bins.sums[0] / np.maximum(p, 1), low, high)
        least = np.where(pairs > 1, pairs * up * down / (high - low), np.maximum(0, inside))
        return value + self._weight * float(least[pairs > 0].sum())

    def _pairs(self, bins: Bins) -> tuple[float, Any]:
        """R of the pairs whose bins say that they are in the cut, and sums of 1 - s_p + s_n of the
        pairs of a bin."""
        (p, n), (s, t) = bins.counts, bins.sums
        certain = t @ (np.cumsum(p) - p) - n @ (np.cumsum(s) - s)
        return self._weight * float(certain), t * p - n * s
