# SPDX-License-Identifier: BSD-3-Clause
"""The contingency losses of svmcut.risks.contingency for binned examples; see svmcut.risks.binned.

Costs are U(m) + V(b), piecewise linear and convex, with turns at integers. The search for the best
table depends on the loss:

    kld, nkld, mae, mrae    Delta depends on k = b - m alone. The cheapest tables of every k merge
                            the slopes of both classes, and Delta is convex on either side of 0, so
                            a turn is best; the curvature of nkld is bounded by its derivative
    balanced-error          a turn of either class, separately
    recall-at-precision     given m, b is where V turns, or where the floor is; intervals of m
    all others              boxes of (m, b)

Delta is convex in m, and in b up to a known curvature. In a box it lies below the plane through
three corners, raised to the fourth, and by width^2 bend / 8; less the costs, such a plane is
largest at a turn of either class. Boxes and intervals are halved, at a turn if there is one, while
that bound is above the best table by more than TOLERANCE; the rest enters the upper bound.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from svmcut.base.typing import Any
from svmcut.risks import binned
from svmcut.risks.binned import TOLERANCE, BinnedContingency, BinnedRocArea, Costs
from svmcut.spec.catalog import losses

_SIZE_LOSSES = ("kld", "nkld", "mae", "mrae")
_PREVALENCE_LOSSES = ("q", "qacc", "qf1", "qgm")
#: Relative rounding error allowed below a floor, as in csrc/measures/tables.cc.
_FLOOR_ROUNDING = 1e-12


class BinnedTable(BinnedContingency):
    """A loss of svmcut.risks.contingency for P positives and N negatives in bins, at least one of
    each; `parameter` is beta or the floor."""

    def __init__(self, name: str, parameter: float, P: int, N: int):
        super().__init__(name, P, N, 0, False, 1)
        self._parameter = parameter

    def _loss(self, m, b=0.0):
        m, b = np.asarray(m, np.float64), np.asarray(b, np.float64)
        P, N, name = float(self._P), float(self._N), self._name
        if name in _SIZE_LOSSES:
            return self._size_loss(b - m)
        if name in _PREVALENCE_LOSSES:
            return self._prevalence_loss(m, b, b - m)
        if name == "balanced-error":
            return 50 * (m / P + b / N)
        if name == "recall-at-precision":
            return np.where(self._reaches_precision(P - m, b), 100 * m / P, 100.0)
        if name == "precision-at-recall":
            return np.where(self._reaches_recall(P - m), 100 * b / np.maximum(1, P - m + b), 100.0)
        rate = self._gmean(m, b) if name == "gmean" else self._fbeta(m, b, self._parameter**2)
        return 100 * (1 - rate)

    def _size_loss(self, k):
        """The loss of P + k predicted positives."""
        P, N, gap = float(self._P), float(self._N), np.abs(k)
        if self._name == "mae":
            return self._kappa * gap
        if self._name == "mrae":
            return 50 * gap * (1 / (P + 0.5) + 1 / (N + 0.5))
        p, q = (P + 0.5) / (P + N + 1), (N + 0.5) / (P + N + 1)
        far = p * np.log((P + 0.5) / (P + k + 0.5)) + q * np.log((N + 0.5) / (N - k + 0.5))
        far = np.maximum(0.0, far)
        return far if self._name == "kld" else 100 - 200 / (1 + np.exp(far))

    def _prevalence_loss(self, m, b, k):
        """The loss of prevalences that differ by k, with the rate of m and b."""
        P, N, square = float(self._P), float(self._N), self._parameter**2
        rate = {
            "q": lambda: 1 - m / P,
            "qacc": lambda: 1 - (m + b) / (P + N),
            "qf1": lambda: self._fbeta(m, b, 1.0),
            "qgm": lambda: self._gmean(m, b),
        }[self._name]()
        q = 1 - np.abs(k) / max(P, N)
        under = square * rate + q
        return 100 * (1 - (1 + square) * q * rate / np.where(under > 0, under, 1.0))

    def _gmean(self, m, b):
        return np.sqrt(np.maximum(0, (1 - m / self._P) * (1 - b / self._N)))

    def _fbeta(self, m, b, square):
        lost, won = square * m + b, (1 + square) * (self._P - m)
        return np.where(lost > 0, won / np.where(lost > 0, won + lost, 1.0), 1.0)

    def _reaches_precision(self, a, b):
        return a >= self._parameter * (1 - _FLOOR_ROUNDING) * (a + b)

    def _reaches_recall(self, a):
        return a >= self._parameter * (1 - _FLOOR_ROUNDING) * self._P

    def _best_value(self, costs: list[Costs]) -> tuple[float, tuple, float]:
        """The best value, its flips, and an upper bound of all values."""
        U, V = costs
        if self._name in _SIZE_LOSSES:
            return self._best_size(U, V)
        if self._name == "balanced-error":
            flips = [
                of.x[np.argmax(50 * of.x / n - self._kappa * of(of.x))]
                for of, n in ((U, self._P), (V, self._N))
            ]
            value = max(0.0, float(self._loss(*flips) - self._kappa * (U(flips[0]) + V(flips[1]))))
            return value, tuple(flips), value
        if self._name == "recall-at-precision":
            return self._at_precision(U, V)
        if self._name == "precision-at-recall":
            return self._at_recall(U, V)
        return self._in_boxes(U, V, (0.0, float(self._P), 0.0, float(self._N)))

    def _best_size(self, U: Costs, V: Costs) -> tuple[float, tuple, float]:
        """The best value over all numbers of predicted positives."""
        m, b = _merge_slopes(U, V)
        k = b - m
        # labellings without loss do not count: a 1 on either side of 0 takes its place
        near = np.array([step for step in (-1.0, 1.0) if k[0] <= step <= k[-1]])
        places = np.unique(np.concatenate([k[k != 0], near]))

        def at(of):
            flips = np.interp(of, k, m), np.interp(of, k, b)
            return self._size_loss(of) - self._kappa * (U(flips[0]) + V(flips[1])), flips

        def bound(first, last):
            (low, _), (high, _) = at(first), at(last)
            if self._name != "nkld":
                return np.maximum(low, high)
            # d2 nkld / dk2 >= -50 sech^2(kld/2) tanh(kld/2) (d kld / dk)^2
            n, rates = self._P + self._N + 1, []
            for of in (first, last):
                shares = (self._P + of + 0.5) / n, (self._N - of + 0.5) / n
                p = (self._P + 0.5) / n
                rates.append(np.abs(-p / shares[0] + (1 - p) / shares[1]) / n)
            bend = 50 * 2 / np.sqrt(27) * np.maximum(*rates) ** 2
            curved = np.maximum(low, high) + (last - first) ** 2 * bend / 8
            far = self._size_loss(np.where(np.abs(last) > np.abs(first), last, first))
            costs = [self._size_loss(of) - value for of, value in ((first, low), (last, high))]
            return np.minimum(curved, far - np.minimum(*costs))

        first, last = places[:-1], places[1:]
        apart = first * last > 0  # no interval spans 0
        value, of, most = _bisect(lambda of: at(of)[0], bound, first[apart], last[apart], places)
        return value, (0.0, 0.0) if of is None else at(of)[1], most

    def _at_precision(self, U: Costs, V: Costs) -> tuple[float, tuple, float]:
        P, N, kappa = float(self._P), float(self._N), self._kappa

        def allowed(m):
            """The most false positives that keep the floor."""
            a = P - m
            b = np.clip(np.floor(a / (self._parameter * (1 - _FLOOR_ROUNDING)) - a), 0, N)
            b += (b < N) & self._reaches_precision(a, b + 1)
            return b - ((b > 0) & ~self._reaches_precision(a, b))

        def sides(m):
            """Both values of m, and their b."""
            inside, outside = (
                np.minimum(V.minimiser, allowed(m)),
                np.maximum(V.minimiser, allowed(m) + 1),
            )
            kept = np.where(self._loss(m, inside) > 0, self._loss(m, inside), -np.inf)
            broken = np.where(outside <= N, 100.0, -np.inf)
            ends = (inside, np.minimum(outside, N))
            return [
                (loss - kappa * (U(m) + V(b)), b)
                for loss, b in zip((kept, broken), ends, strict=True)
            ]

        def bound(first, last):
            inside = np.minimum(V.minimiser, allowed(first))
            outside = np.minimum(np.maximum(V.minimiser, allowed(last) + 1), N)
            rising = _supporting_turn(U, 100 / P / kappa, first, last)
            kept = 100 * rising / P - kappa * (U(rising) + V(inside))
            broken = 100 - kappa * (U(np.clip(U.minimiser, first, last)) + V(outside))
            return np.maximum(kept, broken)

        def best(m):
            (kept, _), (broken, _) = sides(m)
            return np.maximum(kept, broken)

        turns = np.unique(np.append(U.x[U.x <= P], [0.0, P]))
        value, m, most = _bisect(best, bound, turns[:-1], turns[1:], turns)
        if m is None:
            return value, (0.0, 0.0), most
        (kept, inside), (broken, outside) = sides(np.array([m]))
        return value, (m, float((inside if kept >= broken else outside)[0])), most

    def _at_recall(self, U: Costs, V: Costs) -> tuple[float, tuple, float]:
        """The best of tables that keep the floor, in boxes with at least one false positive, and of
        the cheapest table that breaks it."""
        kept = min(float(self._P), float(np.floor(self._P * (1 - self._parameter))) + 1)
        while not self._reaches_recall(self._P - kept):
            kept -= 1
        held = self._in_boxes(U, V, (0.0, kept, 1.0, float(self._N)))
        if kept >= self._P:
            return held
        m = float(np.clip(U.minimiser, kept + 1, self._P))
        broken = float(100 - self._kappa * (U(m) + V(V.minimiser)))
        return held if broken <= held[0] else (broken, (m, V.minimiser), max(broken, held[2]))

    def _bend(self, m1, b0):
        """A bound on the downward curvature of Delta in b, for m <= m1 and b >= b0."""
        P, square = self._P, self._parameter**2
        if self._name == "fbeta":
            return 200 / ((1 + square) * P - m1 + b0) ** 2
        if self._name == "precision-at-recall":
            return 200 / (P - m1 + b0) ** 2
        if self._name == "qf1":
            return 200 * (1 + square) / (2 * P - m1 + b0) ** 2
        return 0.0 * m1

    def _in_boxes(self, U: Costs, V: Costs, whole: tuple) -> tuple[float, tuple, float]:
        """The best value over m and b in `whole` = (first m, last m, first b, last b)."""
        kappa, turns = self._kappa, (U.x, V.x)
        value, flips, most = 0.0, (0.0, 0.0), 0.0

        def take(m, b, loss):
            nonlocal value, flips
            of = loss - kappa * (U(m) + V(b))
            k = int(np.argmax(of))
            if of[k] > value:
                value, flips = float(of[k]), (float(m[k]), float(b[k]))
            return of

        boxes = np.array([whole]).T
        while boxes.shape[1]:
            m0, m1, b0, b1 = boxes
            corners = [(m0, b0), (m1, b0), (m0, b1), (m1, b1)]
            losses = [self._loss(*corner) for corner in corners]
            of = [take(*at, loss) for at, loss in zip(corners, losses, strict=True)]
            slopes = [
                (losses[k + 1] - losses[0]) / np.maximum(1, last - first)
                for k, (first, last) in enumerate(((m0, m1), (b0, b1)))
            ]
            m, b = (
                _supporting_turn(cost, slope / kappa, first, last)
                for cost, slope, first, last in ((U, slopes[0], m0, m1), (V, slopes[1], b0, b1))
            )
            take(m, b, self._loss(m, b))
            plane = losses[0] + slopes[0] * (m - m0) + slopes[1] * (b - b0) - kappa * (U(m) + V(b))
            plane += np.maximum(0, losses[3] - losses[1] - losses[2] + losses[0])
            bend = (b1 - b0) ** 2 * self._bend(m1, b0) / 8
            far = losses[3]
            if self._name in _PREVALENCE_LOSSES:
                far = self._prevalence_loss(m1, b1, np.maximum(0, np.maximum(b1 - m0, m1 - b0)))
            cheapest = U(np.clip(U.minimiser, m0, m1)) + V(np.clip(V.minimiser, b0, b1))
            bound = np.minimum(plane + bend, far - kappa * cheapest)
            inner = [
                np.searchsorted(x, last, "left") - np.searchsorted(x, first, "right")
                for x, first, last in zip(turns, (m0, b0), (m1, b1), strict=True)
            ]
            cell, best = (inner[0] <= 0) & (inner[1] <= 0), np.max(of, axis=0)
            bound = np.where(cell, np.minimum(bound, best + bend), bound)
            bound = np.where((m1 - m0 <= 1) & (b1 - b0 <= 1), best, bound)
            wide = bound > value * (1 + TOLERANCE) + TOLERANCE * TOLERANCE
            if wide.sum() > binned.MAX_INTERVALS:
                wide[:] = False
            most = max(most, float(bound[~wide].max(initial=0.0)))
            first_side = (inner[0] + (m1 - m0) / self._P) >= (inner[1] + (b1 - b0) / self._N)
            along_m = np.where(m1 - m0 <= 1, False, first_side | (b1 - b0 <= 1))
            boxes = _split(boxes[:, wide], along_m[wide], turns)
        return value, flips, max(value, most)


def _merge_slopes(U: Costs, V: Costs) -> tuple[Any, Any]:
    """(turns,) m and b of the cheapest tables as ever more rows are predicted positive: from all
    positives flipped to all negatives flipped."""
    wide = [np.diff(of.x) for of in (U, V)]
    slopes = [np.diff(of(of.x)) / w for of, w in zip((U, V), wide, strict=True)]
    order = np.argsort(np.append(-slopes[0][::-1], slopes[1]), kind="stable")
    of_m = np.append(-wide[0][::-1], np.zeros(len(wide[1])))[order]
    of_b = np.append(np.zeros(len(wide[0])), wide[1])[order]
    return U.x[-1] + np.append(0.0, np.cumsum(of_m)), np.append(0.0, np.cumsum(of_b))


def _supporting_turn(cost: Costs, slope, first, last):
    """The turn in [first, last] at which slope x - cost(x) is largest."""
    slopes = np.diff(cost(cost.x)) / np.diff(cost.x)
    rising = np.maximum.accumulate(slopes)  # convex but for rounding
    return np.clip(cost.x[np.searchsorted(rising, slope)], first, last)


def _split(boxes, along_m, turns: tuple[Any, Any]):
    """(4, k) boxes halved, at the middle turn of the side if there is one inside."""
    halves = []
    for side, chosen in ((0, along_m), (1, ~along_m)):
        of = boxes[:, chosen]
        first, last = of[2 * side], of[2 * side + 1]
        middle = _middle(turns[side], first, last)
        low, high = of.copy(), of.copy()
        low[2 * side + 1], high[2 * side] = middle, middle
        halves += [low, high]
    return np.concatenate(halves, axis=1)


def _middle(turns, first, last):
    i, j = np.searchsorted(turns, first, "right"), np.searchsorted(turns, last, "left")
    inside = turns[np.minimum((i + j) // 2, len(turns) - 1)]
    return np.where(j > i, inside, np.floor((first + last) / 2))


def _bisect(
    at: Callable[[Any], Any], bound: Callable[[Any, Any], Any], first, last, places
) -> tuple[float, float | None, float]:
    """The best value over integers, its place (None: 0 is best), and an upper bound, by halving
    intervals."""
    value, where, most = 0.0, None, 0.0
    while len(places):
        values = at(places)
        k = int(np.argmax(values))
        if values[k] > value:
            value, where = float(values[k]), float(places[k])
        bounds = bound(first, last)
        open_ = last - first > 1
        wide = open_ & (bounds > value * (1 + TOLERANCE) + TOLERANCE * TOLERANCE)
        if wide.sum() > binned.MAX_INTERVALS:
            wide[:] = False
        most = max(most, float(bounds[open_ & ~wide].max(initial=0.0)))
        first, last = first[wide], last[wide]
        places = np.floor((first + last) / 2)
        first, last = np.concatenate([first, places]), np.concatenate([places, last])
    return value, where, max(value, most)


def binned_losses() -> list[str]:
    """The losses that can be computed from bins."""
    rows = losses("classification").items()
    return [name for name, row in rows if row.table or name == "roc-area"]


def make_binned(risk: Any, P: int, N: int) -> BinnedContingency | BinnedRocArea | None:
    """The risk for binned examples, P positives and N negatives, that stands for `risk`; None if it
    needs scores."""
    row = losses("classification")[risk.name]
    if row.table and row.shared:
        return BinnedTable(risk.name, risk.parameter, P, N)
    if row.table:
        slack = risk.rescaling == "slack"
        return BinnedContingency(risk.name, P, N, risk.k(P, N), slack, risk.slack_norm)
    return BinnedRocArea(P, N) if risk.name == "roc-area" else None
