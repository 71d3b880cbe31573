# SPDX-License-Identifier: BSD-3-Clause
"""Losses of all examples together with too many scores for one place: parts return counts and sums
by bins.

spread       the largest |s| and its mean, at every point of a line's start: one round bins
between them, as keys of the risk; the outer two hold everything beyond value        the cut of the
bins, which is one of R and decides the steps on a line certificate  an upper bound of R, so that
the gap includes what the bins hide; see
             svmcut.risks.binned

Classes of whole labels over parts, all at once or one against the rest, are trained by cutting
planes over the sum of the risks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError
from svmcut.base.typing import Any
from svmcut.cutting.bundle import Cut
from svmcut.cutting.oracle import Point, line_minimum
from svmcut.data.labels import label_text
from svmcut.distributed.oracle import TOLERANCE, Carried, PartedLine, PartedOracle, PartedProblem
from svmcut.distributed.parts import Found, Part, Place, move_scores
from svmcut.distributed.rows import Rows
from svmcut.risks.binned import Bins
from svmcut.solvers.protocol import StoppingRule
from svmcut.spaces.linear import WeightSpace
from svmcut.spec.parameters import Settings
from svmcut.training.checks import check_class_memory, check_class_numbers, class_warnings
from svmcut.training.multiclass import units_of

#: Of each class, the outer two among them; 3 MB an answer.
BINS = 1 << 16
#: Times the mean of |s| to the outer bins.
_INNER = 16
#: Values on a line, each but the first two a round.
_VALUES = 5
#: Rows of a part that are seen at once.
_BLOCK = 1 << 18


def spread(part: Part, *places: Place) -> NDArray[np.float64]:
    """(places, 3): the largest |s|, the sum of |s|, and rows."""
    sizes = [np.abs(part.scores(at)) for at in places]
    return np.array([[size.max(initial=0), size.sum(), len(size)] for size in sizes])


def edges_of(far: float, near: float, shifts: Sequence[float], bins: int) -> NDArray[np.float64]:
    """Edges of bins for keys of scores in [-far, far], evenly for those in [-near, near]."""
    if far == 0:
        far = near = 1.0
    low, high = min(shifts), max(shifts)
    near = min(near, far)
    inner = (low - near) + np.arange(bins - 1) * ((high - low + 2 * near) / (bins - 2))
    # outer bins have a width even where nothing lies in them
    return np.concatenate([[low - max(far, 1.001 * near)], inner, [high + max(far, 1.001 * near)]])


def places_of(keys: NDArray, edges: NDArray) -> NDArray[np.int64]:
    """The bins of keys."""
    bins = ((keys - edges[1]) * ((len(edges) - 3) / (edges[-2] - edges[1]))) + 1
    return np.clip(np.floor(bins), 0, len(edges) - 2).astype(np.int64)


def histograms(part: Part, here: Place, target: Place, *numbers: float) -> NDArray[np.float64]:
    """(steps, 3, 2, bins): counts, sums of keys, and rates of change of the scores, of positives
    and of negatives.

    numbers : bins, signs and shifts of the keys, then step, far and near of every point on the
        line.
    """
    bins, signs, shifts = int(numbers[0]), numbers[1:3], numbers[3:5]
    steps = np.reshape(numbers[5:], (-1, 3))
    s, end, negative = part.scores(here), part.scores(target), part.examples.y <= 0
    binned = np.zeros((len(steps), 3, 2 * bins))
    for (t, far, near), (counts, sums, rates) in zip(steps, binned, strict=True):
        edges = edges_of(far, near, shifts, bins)
        for start in range(0, len(s), _BLOCK):
            rows = slice(start, start + _BLOCK)
            of = negative[rows].astype(np.int64)
            at = move_scores(s[rows], end[rows], t) if t else s[rows]
            keys = np.take(signs, of) * at + np.take(shifts, of)
            of = bins * of + places_of(keys, edges)
            counts += np.bincount(of, minlength=2 * bins)
            sums += np.bincount(of, keys, 2 * bins)
            if end is not s:
                rates += np.bincount(of, end[rows] - s[rows], 2 * bins)
    return binned.reshape(-1, 3, 2, bins)


def normal(
    part: Part, here: Place, target: Place, table: Place, *numbers: float
) -> NDArray[np.float64]:
    """(dim,): A^T coef, with the coefficients of the members of every bin in a table; numbers as
    for one step above."""
    bins, signs, shifts, (t, far, near) = int(numbers[0]), numbers[1:3], numbers[3:5], numbers[5:]
    edges, s, dim = edges_of(far, near, shifts, bins), part.scores(here), len(here.vectors[0])
    if t:
        s = move_scores(s, part.scores(target), t)
    of = (part.examples.y <= 0).astype(np.int64)
    of = bins * of + places_of(np.take(signs, of) * s + np.take(shifts, of), edges)
    return part.space(dim).adjoint(table.vectors[0][of])


class BinnedOracle(PartedOracle):
    """R of a risk (BinnedContingency or BinnedRocArea) in bins."""

    def __init__(self, rows: Rows, space: Any, risk: Any, bins: int = BINS):
        super().__init__(rows, space)
        self.of_bins, self.bins = risk, bins

    def spread(self, *points: Carried) -> NDArray[np.float64]:
        """(points, 2): the largest |s| and _INNER times its mean; one round."""
        spreads = np.array(self.rows.gather(spread, points))
        mean = spreads[:, :, 1].sum(axis=0) / spreads[:, :, 2].sum(axis=0)
        return np.column_stack([spreads[:, :, 0].max(axis=0), _INNER * mean])

    def seen(
        self, here: Carried, target: Carried, steps: Sequence[tuple[float, Any]]
    ) -> list[tuple[Bins, NDArray]]:
        """The bins, and sums of rates in them, at steps that come with the spread there; one
        round."""
        risk = self.of_bins
        numbers = [number for t, (far, near) in steps for number in (t, float(far), float(near))]
        binned = self.rows.sum(histograms, [here, target], *self._keys(), *numbers)
        return [
            (Bins(edges_of(far, near, risk.shifts, self.bins), counts, sums), rates)
            for (counts, sums, rates), (_, (far, near)) in zip(binned, steps, strict=True)
        ]

    def risk(self, w) -> float:
        """No smaller than R(w); two rounds."""
        known = Carried(w)
        ((bins, _),) = self.seen(known, known, [(0.0, self.spread(known)[0])])
        return self.of_bins.upper_bound(bins)

    def line(self, here: Point, w, squared: float) -> BinnedLine:
        return BinnedLine(self, here, w, squared)

    def cut_along(self, here: Carried, target: Carried, t: float, at: Any = None) -> Cut:
        """Two rounds where the spread is known."""
        at = self.spread(here)[0] if at is None else at
        ((bins, _),) = self.seen(here, target, [(t, at)])
        value, coef, offset = self.of_bins.linearize(bins)
        places = [here, target, Carried(np.ascontiguousarray(coef).ravel())]
        return Cut(
            self.rows.sum(normal, places, *self._keys(), t, *map(float, at)),
            float(offset),
            float(value),
        )

    def _keys(self) -> tuple[float, ...]:
        return (float(self.bins), *self.of_bins.signs, *self.of_bins.shifts)


class BinnedLine(PartedLine):
    """A line on which every value is that of a cut."""

    _oracle: BinnedOracle

    def __init__(self, oracle: BinnedOracle, here: Point, w, squared: float):
        super().__init__(oracle, here, w, squared)
        self._ends = oracle.spread(here.known, self._target)
        self._bins: dict[float, Bins] = {}

    def value(self, t: float) -> tuple[float, float]:
        if t not in self._values:
            steps = (t,) if self._values else tuple(dict.fromkeys((t, 0.0, 1.0)))
            seen = self._oracle.seen(
                self._here.known, self._target, [(step, self._spread(step)) for step in steps]
            )
            for step, (bins, rates) in zip(steps, seen, strict=True):
                cut = self._oracle.of_bins.linearize(bins)
                self._values[step], self._bins[step] = (
                    (float(cut.value), float((cut.coef * rates).sum())),
                    bins,
                )
        return self._values[t]

    def minimum(self, C: float, gap: float) -> float:
        return line_minimum(self, self._products, C, TOLERANCE * gap, _VALUES).t

    def cut(self, t: float, share: float) -> Cut:
        t += share * (1 - t)
        return self._oracle.cut_along(self._here.known, self._target, t, self._spread(t))

    def _risk(self, t: float) -> float:
        self.value(t)
        return self._oracle.of_bins.upper_bound(self._bins[t])

    def _spread(self, t: float) -> NDArray[np.float64]:
        """Bounds that scores at t cannot exceed."""
        return np.abs([1 - t, t]) @ self._ends


NO_WEIGHT = "all weights are 0; give a weight above 0 to every row that counts"


class ClassSpace(WeightSpace):
    """Weights of K classes, those of a feature being neighbours; X: the numbers of rows, features
    and nonzeros."""

    def __init__(self, X: Any, K: int, bias: float, threads: int):
        super().__init__(K * (X.n_features + (bias != 0)), 0.0, threads)
        self.X = X


class PartedClasses:
    """Rows of several classes in parts; see svmcut.training.multiclass.BoundClasses."""

    apart = False

    def __init__(self, rows: Rows, parted: Any, settings: Settings):
        self.path, self.names, K = parted.source.path, parted.y, len(parted.y)
        self.examples, self.X, self.columns, s = parted, parted.X, None, settings
        check_class_numbers(self.path, K, self.X.n_features)
        check_class_memory(self.path, K, 0, self.X.n_features, s.max_memory)
        self.units = units_of(s, parted.sum("weight"), len(parted))
        self.warnings = class_warnings(self.path, len(parted), self.names)
        self._oracle = PartedOracle(rows, ClassSpace(self.X, K, s.bias or 0.0, s.threads))
        self.details, self._qp = rows.details, s.qp

    def space(self, cuts: bool) -> Any:
        return self._oracle.space

    def problem(self, space: Any, C: float, stop: StoppingRule) -> PartedProblem:
        return PartedProblem(self._oracle, C, stop, self._qp)

    def sensitivity(self, space: Any, w: Any) -> float:
        return math.inf


def names_of(path: str, facts: Sequence[Found]) -> NDArray:
    """The labels of the rows that weigh above 0; raises DataError for labels that are no names of
    classes."""
    names = np.unique(np.concatenate([part.labels[part.costs != 0] for part in facts]))
    if not len(names):
        raise DataError(path, NO_WEIGHT)
    fraction = names[names != names.round()]
    if len(fraction):
        message = (
            f"label {label_text(float(fraction[0]))} is not whole; expected whole numbers as names "
            "of classes"
        )
        raise DataError(path, message)
    return names
