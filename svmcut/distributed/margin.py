# SPDX-License-Identifier: BSD-3-Clause
"""Losses with corners on rows in parts at tight gaps: the few rows near the margin, or near the
edge of the tube, come to one place.

    problem      min_w  P(w) = 1/2 |w|^2 + C R(w),   R a sum of hinges, or of errors beyond a tube,
                 over the parts
    model        R of the rows with |1 - y s| <= delta, or ||y - s| - tube| <= delta, at the best
                 point, as it is; of all others their cut there, whose offset and normal are sums
                 over the parts
    update       the model's minimiser by dual coordinate descent (svmcut/solvers/dual_cd.py), which
                 begins at the multipliers it had; then the minimum of P on the line to it
    certificate  the multipliers of these rows, C (of a tube -C too) and 0 of the others on either
                 side: a cut of R
    rounds       four a step: the line, R and the counts of rows by distance, the cut, the rows

If all rows that change sides until the end are near, a step leaves as much of the gap as the
descent does. Cutting planes and Newton's method have to learn a corner for each of these rows, with
a round for every product; text has as many as a third of its features. If a step leaves too much,
the next one takes twice the rows; if there are no more, the run ends.

delta is in units of 1 for the hinge, whose margin is 1 wide. Targets have a unit of their own: the
mean loss at the start and the tube, which is no less than the mean distance.

A part keeps nothing between steps but its losses smoothed at the last point, which the products of
Newton's method need again; sums do not depend on the workers.

References
----------
Teo, Vishwanathan, Smola and Le, JMLR 2010 (cuts of sums over machines); Hsieh, Chang, Lin, Keerthi
and Sundararajan, ICML 2008 (the descent); Ho and Lin, JMLR 2012 (that of the tube). Adding the
steps of descents on every part, a round each (CoCoA+; Ma, Smith, Jaggi, Jordan, Richtarik and
Takac, ICML 2015) had a gap of 2.5e-3 after 200 rounds on the rows of docs/clusters.md, eight parts
of 18,000.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from svmcut._native import dual_cd
from svmcut._native import newton as native
from svmcut.base.records import record
from svmcut.base.typing import ClassVar, NamedTuple
from svmcut.cutting.bundle import Cut, CutBundle
from svmcut.cutting.oracle import Point
from svmcut.data.examples import Csr
from svmcut.distributed.oracle import Carried, Corners, PartedProblem, corners_of
from svmcut.distributed.parts import Part, Place
from svmcut.qp import make_qp
from svmcut.risks.smoothed import Smoothed
from svmcut.risks.weights import boxes
from svmcut.solvers.descent import squared_norms
from svmcut.solvers.protocol import Progress, Run, Solver, Start, constant
from svmcut.spaces.linear import LinearSpace
from svmcut.spec import schemas
from svmcut.spec.schemas import OWN, Form, State

#: Distances from a corner up to which rows are counted, in units of a scale and increasing: four in
#: an octave.
EDGES = np.sort([2.0**k * f for k in range(-18, 3) for f in (1.0, 1.1875, 1.4140625, 1.6875)])
#: Bytes of a gathered row beside its entries, and of an entry.
ROW_BYTES, ENTRY_BYTES = 40, 8


class Nearby(NamedTuple):
    """Rows near the margin."""

    #: (k,) their places, increasing.
    rows: NDArray[np.int64]
    X: Csr
    #: (k,) signs or targets.
    y: NDArray[np.float64]
    weights: NDArray[np.float64] | None


def distances(part: Part, at: Place) -> NDArray[np.float64]:
    """Return (rows,) distances of scores from a corner of their loss."""
    corners = corners_of(part.risk)
    assert corners is not None
    return corners.distances(part.scores(at))


def count_near(part: Part, at: Place, scale: float) -> NDArray[np.float64]:
    """Return (1 + EDGES,): R at a point, and bytes of the rows whose distance from a corner lies
    between each edge and the one before."""
    sums = np.zeros(1 + len(EDGES))
    if part.risk:
        s, X = part.scores(at), part.examples.X
        sums[0] = part.risk.linearize(s).value
        places = np.searchsorted(scale * EDGES, distances(part, at))
        sizes = ENTRY_BYTES * np.diff(X.indptr) + ROW_BYTES
        sums[1:] = np.bincount(places, sizes, len(EDGES) + 1)[: len(EDGES)]
    return sums


def cut_far(part: Part, at: Place, delta: float) -> NDArray[np.float64]:
    """Return (1 + dim,): offset and normal of the cut at a point of all rows farther than delta
    from a corner."""
    dim = len(at.vectors[0])
    cut = np.zeros(1 + dim)
    if part.risk:
        coef, near = part.risk.linearize(part.scores(at)).coef, distances(part, at) <= delta
        coef[near] = 0.0
        cut[0], cut[1:] = part.risk.nearest_cut(coef)[1], part.space(dim).adjoint(coef)
    return cut


def gather_near(part: Part, at: Place, delta: float) -> tuple:
    """Return the number of rows, and the arrays of those near a corner for `join_near`."""
    n = len(part.examples)
    if not part.risk:
        return n, None
    rows = np.flatnonzero(distances(part, at) <= delta)
    near = corners_of(part.risk.take(rows))
    assert near is not None
    X, v = part.examples.X.take(rows), near.risk.weights
    arrays = X.data, X.indices, np.diff(X.indptr), near.labels
    return n, (rows, *arrays, v)


def join_near(pieces: Sequence[tuple], n_features: int) -> Nearby:
    """Return the rows of all parts, in their order."""
    starts = np.cumsum([0, *(n for n, _ in pieces)])
    full = [(start, *piece) for start, (_, piece) in zip(starts, pieces, strict=False) if piece]
    if not full:
        none = np.zeros(0)
        return Nearby(none.astype(np.int64), Csr.from_dense(np.zeros((0, n_features))), none, None)
    start, rows, data, indices, lengths, y, weights = zip(*full, strict=True)
    indptr = np.zeros(1 + sum(map(len, rows)), np.int64)
    np.cumsum(np.concatenate(lengths), out=indptr[1:])
    X = Csr(np.concatenate(data), np.concatenate(indices), indptr, n_features, True)
    v = None
    if any(some is not None for some in weights):
        v = np.concatenate(
            [np.ones(len(r)) if some is None else some for r, some in zip(rows, weights)]
        )
    places = np.concatenate([first + some for first, some in zip(start, rows, strict=True)])
    return Nearby(places, X, np.concatenate(y), v)


class BundledRun(Run):
    """The best point, its primal value and risk, and the bound of the cuts, which never falls."""

    def __init__(self, solver: Solver, problem: PartedProblem, start: Start | None):
        super().__init__(solver, problem, start)
        space = problem.space
        self._start = start
        self.bundle = start.bundle if start else CutBundle(space, make_qp(problem.qp))
        self._iteration, self._lower, self._slack, self._going = 0, 0.0, 0.0, True
        self._w, self._primal, self._risk = space.zero(), math.inf, 0.0

    def _progress(self, passes: float, began: float) -> Progress:
        """After so many passes, of a run that began at that time."""
        return Progress(
            self._iteration,
            passes,
            self._primal,
            self._lower,
            self._primal - self._lower,
            time.perf_counter() - began,
            constant(self._w),
            len(self.bundle),
            self.bundle.support,
            self._slack,
            self._risk,
        )

    def _solve(self) -> None:
        """Bounds the minimum by the cuts."""
        C, stop, primal = self._problem.C, self._problem.stop, self._primal
        least = max(stop.target(primal), 1e-12 * primal) if math.isfinite(primal) else C
        model = self.bundle.solve(C, 0.01 * least / C)
        self._lower, self._slack = max(self._lower, model.lower), model.slack


#: Bytes of rows that come to one place at most.
MOST_BYTES = 256e6
#: Part of all rows that the first step has.
FIRST = 4
#: Of the gap, what the descent may leave, or of the target.
REST, LAST = 0.02, 0.3
#: Entries that a descent reads, some seconds, or epochs if these are more.
MOST_READ, EPOCHS = 4e9, 400
#: What a step leaves of the gap that had enough rows, and steps that may leave more where no more
#: are to be had.
GOOD, PATIENCE = 0.25, 4
#: What delta is measured by at least.
TINY = 1e-200
#: Solutions a cut may stay without a multiplier.
MAX_IDLE = 10


class Model(NamedTuple):
    """The minimiser of the model, its multipliers by C, they as a cut, and the gap of the model."""

    w: NDArray[np.float64]
    fractions: NDArray[np.float64]
    a: NDArray[np.float64]
    b: float
    left: float


class MarginRun(BundledRun):
    """A look after every step, from the best point and the cuts of the start."""

    def __init__(self, solver: Margin, problem: PartedProblem, start: Start | None):
        super().__init__(solver, problem, start)
        self._rows, smooth = problem.parts.rows, problem.smooth
        assert smooth is not None and smooth.risk is not None
        self._smooth, self._scale = smooth, 1.0
        self._share, self._slow, self._passes = 1 / FIRST, 0, 0.0
        self._sizes = np.zeros(len(EDGES))
        self._near, self._multipliers = np.zeros(0, np.int64), np.zeros(0)

    def form(self) -> Form:
        names = ("_lower", "_slack", "_risk", "_primal", "_passes", "_share")
        rows = schemas.array(np.int64, None, low=0, rising=True)
        least = self._corners(np.zeros(0), None).least
        return {
            **dict.fromkeys(names, schemas.REAL),
            **dict.fromkeys(("_iteration", "_slow"), schemas.COUNT),
            "bundle": OWN,
            "_w": self._problem.space.kinds().element,
            "_going": schemas.flag,
            "_scale": schemas.real(1e-300),
            "_sizes": schemas.reals(len(EDGES), low=0),
            "_near": rows,
            "_multipliers": schemas.reals(None, low=least, high=1),
        }

    def restore(self, state: State) -> None:
        super().restore(state)
        fits = len(self._near) == len(self._multipliers)
        schemas.require(fits, "the multipliers of the state", "one for every row near the margin")

    def __iter__(self) -> Iterator[Progress]:
        began, stop = time.perf_counter(), self._problem.stop
        if not self._resumed:
            self._begin()
        self._resumed = False
        while True:
            yield self._progress(self._passes, began)
            if stop.met(self._primal, self._lower) or not self._going:
                return
            self._step()

    def _begin(self) -> None:
        """Begins at the best point of the start."""
        self._iteration = 1
        if len(self.bundle):
            self._solve()
        points = (self._start.points if self._start else ()) or (self._problem.space.zero(),)
        corners = self._corners(np.zeros(0), None)
        if corners.scaled:
            mean = self._problem.value(points[0]) / self._smooth.weight
            self._scale = max(mean + corners.tube, TINY)
            self._passes += 1
        for w in points:
            self._look(w)

    def _corners(self, y: NDArray, v: NDArray | None) -> Corners:
        """The corners of the losses of rows with these labels and weights."""
        risk = self._smooth.risk.bind(y, None, v, self._problem.space.threads)
        corners = corners_of(risk)
        assert corners is not None
        return corners

    def _look(self, w: NDArray) -> None:
        """Takes a point if it is the best."""
        counts = self._rows.sum(count_near, [Carried(w)], self._scale)
        self._passes += 1
        primal = self._problem.penalty(w) + self._problem.C * float(counts[0])
        if primal < self._primal:
            self._w, self._primal, self._risk = w, primal, float(counts[0])
            self._sizes = counts[1:].copy()

    def _step(self) -> None:
        self._iteration += 1
        before, delta, more = self._primal - self._lower, *self._width()
        if not delta:
            self._going = False
            return
        here = Carried(self._w)
        rest = self._rows.sum(cut_far, [here], delta)
        pieces = self._rows.gather(gather_near, [here], delta)
        self._passes += 2
        near = join_near(pieces, self._problem.space.dim - (self._problem.space.bias != 0))
        model = self._minimise(near, rest, delta)
        self._near, self._multipliers = near.rows, model.fractions
        self.bundle.add(Cut(model.a, model.b, self._risk))
        self._solve()
        self.bundle.prune(MAX_IDLE)
        self._search(model.w)
        gap = self._primal - self._lower
        if gap > GOOD * before:
            wider = more and model.left < 0.5 * gap
            self._share *= 2 if wider else 1
            self._slow += 0 if wider else 1
            self._going = self._slow < PATIENCE

    def _width(self) -> tuple[float, bool]:
        """The distance up to which rows come, 0 for none, and whether there could be more."""
        sums = np.cumsum(self._sizes)
        wanted = min(self._share * self._smooth.nbytes, MOST_BYTES)
        k = int(np.searchsorted(sums, wanted, side="right")) - 1
        if k < 0 or not sums[k]:
            return 0.0, False
        more = k + 1 < len(EDGES) and sums[k + 1] <= MOST_BYTES
        return float(self._scale * EDGES[k]), bool(more)

    def _began(
        self, corners: Corners, rows: NDArray, s: NDArray, delta: float
    ) -> NDArray[np.float64]:
        """Fractions of the rows to begin with: those of the last step; of new rows those of the
        cut at their scores, in the first step of the smoothed loss."""
        if not len(self._near):
            return corners.smooth(s, 2 * delta)
        fractions = corners.tangent(s)
        places = np.minimum(np.searchsorted(self._near, rows), len(self._near) - 1)
        known = self._near[places] == rows
        fractions[known] = self._multipliers[places[known]]
        return fractions

    def _minimise(self, near: Nearby, rest: NDArray, delta: float) -> Model:
        """The model's minimiser, up to a part of the gap."""
        problem, C, v = self._problem, self._problem.C, near.weights
        space = LinearSpace(near.X, problem.space.bias, problem.space.threads)
        corners, box, w = self._corners(near.y, v), boxes(C, v), np.empty(space.dim)
        alpha = self._began(corners, near.rows, space.scores(self._w), delta) * box
        rows, norms, kind = space.rows, squared_norms(space), (corners.number, corners.tube)
        descent = dual_cd.Descent(rows, near.y, norms, space.bias, alpha, w, 0, v, *kind)
        target = problem.stop.target(self._primal)
        most = max(EPOCHS, int(MOST_READ / (near.X.nnz + 10 * len(alpha))))
        enough = max(REST * (self._primal - self._lower), LAST * target)
        idle = False
        while True:
            fractions = corners.fractions(alpha, box)
            coef, offset = corners.cut(fractions)
            a, b = space.adjoint(coef) + rest[1:], offset + float(rest[0])
            np.multiply(a, -C, out=w)
            s = space.scores(w)
            value = float(rest[0]) + problem.space.dot(rest[1:], w)
            value += corners.risk.linearize(s).value
            left = C * (value - b) + problem.space.dot(w, w)
            if left <= enough or descent.epochs >= most or idle:
                return Model(w, fractions, a, b, left)
            if descent.epochs:
                descent.wake(C, s)
            before = descent.epochs
            descent.run(C, max(10, before // 5), 0.5 * enough)
            idle = descent.epochs == before + 1 and not descent.moved

    def _search(self, w: NDArray) -> None:
        """The minimum of P on the line from the best point to the model's."""
        problem, space = self._problem, self._problem.space
        squared = space.dot(self._w, self._w)
        here = Point(self._w, self._risk, squared, 0, Carried(self._w))
        line = problem.parts.line(here, w, space.dot(w, w))
        t = line.minimum(problem.C, self._primal - self._lower)
        self._passes += 1
        if t > 0:
            self._look(w if t == 1.0 else space.blend(1 - t, self._w, t, w))


@record
class Margin(Solver):
    """Coordinate descent on the rows near a corner of their loss."""

    run = MarginRun
    patience: ClassVar[int | None] = None  # it ends by itself


#: Numbers before the vector of an answer of `look`.
FACTS = 4


def smooth_losses(part: Part, at: Place, delta: float) -> Smoothed:
    """The losses at a point, not to be changed."""
    key = at.names, at.steps, delta
    kept = part.banded
    if kept is None or kept[0] != key:
        part.banded = kept = key, part.risk.smooth(part.scores(at), delta)
    return kept[1]


def look(part: Part, at: Place, delta: float) -> NDArray[np.float64]:
    """(FACTS + dim,): R, offset and excess of the smoothed losses' cut, rows with a curvature; the
    normal of the cut."""
    dim = len(at.vectors[0])
    facts = np.zeros(FACTS + dim)
    if part.risk:
        known = smooth_losses(part, at, delta)
        facts[:FACTS] = known.value, known.offset, known.excess, len(known.rows)
        facts[FACTS:] = part.space(dim).adjoint(known.coef)
    return facts


def excesses(part: Part, at: Place, *widths: float) -> NDArray[np.float64]:
    """(widths,): how far the cuts of losses smoothed over these widths lie below R at a point."""
    if not part.risk:
        return np.zeros(len(widths))
    s = part.scores(at)
    return np.array([part.risk.smooth(s, delta).excess for delta in widths])


def slope(part: Part, here: Place, target: Place, t: float, delta: float) -> NDArray[np.float64]:
    """(2,): slope and curvature of the smoothed R, t of the way from here to the target."""
    if not part.risk:
        return np.zeros(2)
    s = part.scores(here)
    return np.array(part.risk.slope(s, part.scores(target) - s, t, delta))


def ahead(part: Part, here: Place, target: Place, delta: float) -> NDArray[np.float64]:
    """(1 + dim,): offset and normal of the cut whose slopes a step to the target foresees."""
    dim = len(here.vectors[0])
    cut = np.zeros(1 + dim)
    if part.risk:
        known, s = smooth_losses(part, here, delta), part.scores(here)
        bends = 1.0 if known.bends is None else known.bends
        coef, cut[0] = part.risk.nearest_cut(
            known.coef + bends * (part.scores(target) - s) / known.width
        )
        cut[1:] = part.space(dim).adjoint(coef)
    return cut


def diagonal(part: Part, at: Place, delta: float) -> NDArray[np.float64]:
    """(dim,): that of A'BA."""
    diag = np.zeros(len(at.vectors[0]))
    if part.risk:
        known, space = smooth_losses(part, at, delta), part.space(len(diag))
        native.band_diagonal(space.rows, known.rows, space.bias, diag, space.threads, known.bends)
        diag /= known.width
    return diag


def product(part: Part, at: Place, q: Place, delta: float) -> NDArray[np.float64]:
    """(dim,): A'BA q"""
    (vector,) = q.vectors
    image = np.zeros(len(vector))
    if part.risk:
        known, space = smooth_losses(part, at, delta), part.space(len(image))
        native.band_product(
            space.rows, known.rows, space.bias, vector, image, space.threads, known.bends
        )
        image /= known.width
    return image


def gram(part: Part, at: Place, delta: float) -> NDArray[np.float64]:
    """(dim, dim): the lower triangle of A'BA."""
    dim = len(at.vectors[0])
    matrix = np.zeros((dim, dim))
    if part.risk:
        known, space = smooth_losses(part, at, delta), part.space(dim)
        native.band_gram(space.rows, known.rows, space.bias, matrix, space.threads, known.bends)
        matrix /= known.width
    return matrix
