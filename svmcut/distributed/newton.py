# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method on rows in parts, for gaps to which cutting planes would crawl.

    problem      min_w  P(w) = 1/2 |w|^2 + C R(w),   R a sum over the parts of losses of one score
    update       that of svmcut/solvers/newton.py: losses with corners smoothed over a width that
                 falls
    rounds       a step is one for the gradient, one for the line and, of few features, one for the
                 Hessian; else one for its diagonal and one for every product of conjugate gradients
    certificate  the smoothed slopes are a cut, whose offset and normal are sums over the parts

Every sum is that of svmcut/distributed/rows.py, so bytes do not depend on the workers, and a part
keeps nothing that a step needs: one that is lost is read again.

Losses without corners take a handful of steps, a fifth of the rounds of cutting planes. Where
losses have corners cutting planes are the better beginning, for w and for the bundle, at two rounds
an iteration. `Relay` has them go on until little of the primal is left.

References
----------
As svmcut/solvers/newton.py; Zhang and Xiao, ICML 2015 (products with sums of Hessians over
machines).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut._native import newton as native
from svmcut.base.records import record
from svmcut.base.typing import Any, ClassVar, NamedTuple
from svmcut.cutting.bundle import Cut
from svmcut.distributed import margin
from svmcut.distributed.margin import ENTRY_BYTES, FIRST, MOST_BYTES, ROW_BYTES, BundledRun, Margin
from svmcut.distributed.oracle import Carried, PartedProblem, Smooth, corners_of
from svmcut.risks import make_risk
from svmcut.solvers.compose import HandOverRun
from svmcut.solvers.curvature import (
    DENSE_DIM,
    FEW_NONZEROS,
    FULL_DIM,
    conjugate_gradients,
    preconditioner,
)
from svmcut.solvers.newton import FINAL, Descent
from svmcut.solvers.protocol import Progress, Run, Solver, Stall, Start
from svmcut.spec import schemas
from svmcut.spec.catalog import DUAL_CD, NEWTON, SOLVERS
from svmcut.spec.entries import CLASSES
from svmcut.spec.parameters import Settings
from svmcut.spec.schemas import OWN, Form, State

#: Part of the gradient that conjugate gradients may leave: more than where products cost no round,
#: as bands move before the solution of their equations is of use.
REST = 0.3
#: Solutions a cut may stay without a multiplier.
MAX_IDLE = 10
#: Looks without progress that end a run.
PATIENCE = 30
#: Widths that a warm start tries, each half of the last.
WIDTHS = 40
#: Relative gap at which cutting planes hand over, and their iterations at most. From 1e-4 to 1e-5
#: on text they need half as many rounds over the workers as Newton's method, for the same CPU time,
#: but spend more of it on the driver.
NEAR, MOST_CUTS = 1e-4, 300
#: Where a quarter of the rows may come to one place, the gap at which cutting planes hand over to
#: that, and the gap for which they do.
SOON, TIGHT = 1e-2, 2e-3


def has_curvature(settings: Settings) -> bool:
    """Tells whether Newton's method knows the loss."""
    row = SOLVERS[NEWTON]
    return settings.of_scores and settings.loss in (row.losses or ()) and settings.labels != CLASSES


def smooth_of(settings: Settings, X: Any) -> Smooth:
    """The facts that Newton's method needs of the loss, and of rows of this shape."""
    unbound = make_risk(settings)
    risk: Any = unbound.bind(np.ones(1))
    dim = X.n_features + bool(settings.bias)
    cheap = risk.has_narrow_band or X.nnz <= FEW_NONZEROS * X.n_rows
    formed = dim <= FULL_DIM or (dim <= DENSE_DIM and cheap)
    known = Smooth(risk.initial_width() > 0, risk.should_cut_ahead, X.n_rows, formed)
    if formed or corners_of(risk) is None:
        return known
    nbytes = float(ENTRY_BYTES * X.nnz + ROW_BYTES * X.n_rows)
    return known._replace(nbytes=nbytes, risk=unbound)


class Look(NamedTuple):
    """The sums of `bands.look`."""

    value: float
    offset: float
    excess: float
    bent: float


class PartedDescent(Descent):
    """The point of a minimisation over parts; see Descent."""

    def __init__(self, problem: Any, w: NDArray, delta: float, look: bool = True):
        self.problem, self.space, self.C = problem, problem.space, problem.C
        self._rows, self._smooth = problem.parts.rows, problem.smooth
        self.w, self.delta, self.gain, self.passes = w, delta, math.inf, 0.0
        self.ahead: Any = None
        self._here = Carried(w)
        if look:
            self._look()

    def form(self) -> Form:
        width = schemas.real(1e-300) if self._smooth.corners else schemas.real(0, 0)
        numbers = {"delta": width, "passes": schemas.REAL, "gain": schemas.real(infinite=True)}
        return numbers | {"w": self.space.kinds().element}

    def restore(self, state: State) -> None:
        schemas.restore(self, self.form(), state, self.called)
        self._here, passes = Carried(self.w), self.passes
        self._look()
        self.passes = passes

    def begin(self, w: NDArray, gap: float) -> None:
        """Goes to a point whose gap this is, with a width that hides no more than that."""
        self.w, self._here = w, Carried(w)
        if self.delta:
            widths = self.delta * 0.5 ** np.arange(WIDTHS)
            hidden = self.C * self._rows.sum(margin.excesses, [self._here], *map(float, widths))
            self.delta = float(widths[min(WIDTHS - 1, int(np.count_nonzero(hidden > gap)))])

    def _look(self) -> None:
        facts = self._rows.sum(margin.look, [self._here], self.delta)
        self.at: Any = Look(*map(float, facts[: margin.FACTS]))
        self.a = facts[margin.FACTS :].copy()
        self._set_gap()
        self.passes += 2

    def _line(self, p: NDArray) -> PartedLine:
        return PartedLine(self, p)

    def _direction(self) -> NDArray[np.float64]:
        """p of (I + C A'BA) p = -gradient."""
        rows, here, delta, C = self._rows, self._here, self.delta, self.C
        share = self.at.bent / self._smooth.n_rows
        if self._smooth.formed:
            H, p = np.array(rows.sum(margin.gram, [here], delta)), -self.gradient
            self.passes += share
            if native.solve_shifted(H, C, p):
                return p

        def product(q: NDArray) -> NDArray[np.float64]:
            self.passes += 2 * share
            return q + C * rows.sum(margin.product, [here, Carried(q.copy())], delta)

        ahead = preconditioner(np.array(rows.sum(margin.diagonal, [here], delta)), C)
        self.passes += share
        return conjugate_gradients(product, ahead, self.gradient, self.space, rest=REST)[0]


class PartedLine:
    """The line of a step over parts; see solvers.newton.Line."""

    def __init__(self, descent: PartedDescent, p: NDArray):
        self._descent, self._p = descent, p
        self._end = descent.space.blend(1.0, descent.w, 1.0, p)
        self._places = [descent._here, Carried(self._end)]

    def slope(self, t: float) -> tuple[float, float]:
        """Returns slope and curvature of the smoothed risk after t steps."""
        rise, bend = self._descent._rows.sum(margin.slope, self._places, t, self._descent.delta)
        return float(rise), float(bend)

    def cut(self) -> tuple[NDArray[np.float64], float] | None:
        """Returns the cut that is predicted for a full step, if any."""
        descent = self._descent
        if not descent._smooth.foresees:
            return None
        cut = descent._rows.sum(margin.ahead, self._places, descent.delta)
        return cut[1:].copy(), float(cut[0])

    def move(self, t: float) -> NDArray[np.float64]:
        """Takes the descent to t steps; returns the point there."""
        descent = self._descent
        w = self._end if t == 1.0 else descent.space.blend(1.0, descent.w, t, self._p)
        descent._here = Carried(w)
        return w


class PartedNewtonRun(BundledRun):
    """A look after every step, from the best point and the cuts of the start."""

    def __init__(self, solver: PartedNewton, problem: PartedProblem, start: Start | None):
        super().__init__(solver, problem, start)
        self._stall = Stall(PATIENCE)
        self._descent = PartedDescent(problem, problem.space.zero(), 0.0, False)

    def form(self) -> Form:
        reals = dict.fromkeys(("_lower", "_slack", "_risk", "_primal"), schemas.REAL)
        own = dict.fromkeys(("bundle", "_stall", "_descent"), OWN)
        w = {"_w": self._problem.space.kinds().element}
        return own | reals | w | {"_iteration": schemas.COUNT, "_going": schemas.flag}

    def __iter__(self) -> Iterator[Progress]:
        began, stop, descent = time.perf_counter(), self._problem.stop, self._descent
        resumed, self._resumed = self._resumed, False
        if not resumed:
            self._begin()
        while True:
            if not resumed:
                self._take_in(descent)
                self._iteration += 1
            resumed, gap = False, self._primal - self._lower
            met = stop.met(self._primal, self._lower)
            yield self._progress(descent.passes, began)
            if met or not self._going or self._stall.has_stalled(gap):
                return
            self._going = descent.advance(FINAL * stop.target(self._primal)) > 0

    def _begin(self) -> None:
        """Begins at the best point of the start, with a width that hides no more than the rest of
        the gap."""
        problem, descent = self._problem, self._descent
        if problem.smooth.corners:  # the mean loss at 0, as risks themselves begin
            descent.delta = problem.value(problem.space.zero()) / problem.smooth.n_rows or 1.0
        if self._start is not None:
            if len(self.bundle):
                self._solve()
            points = self._start.points
            values = [problem.penalty(w) + problem.C * problem.value(w) for w in points]
            if values:
                best = int(np.argmin(values))
                descent.begin(points[best], values[best] - self._lower)
        descent.smooth_over(descent.delta)

    def _take_in(self, descent: PartedDescent) -> None:
        """The point, its cut and the one foreseen for it."""
        if descent.primal < self._primal:
            self._w, self._primal, self._risk = descent.w, descent.primal, descent.at.value
        cuts, descent.ahead = [(descent.a, descent.at.offset), descent.ahead], None
        for a, b in filter(None, cuts):
            self.bundle.add(Cut(a, b, self._risk))
            self._solve()
            self.bundle.prune(MAX_IDLE)


@record
class PartedNewton(Solver):
    """Newton's method on a sum of losses over parts."""

    run = PartedNewtonRun
    patience: ClassVar[int | None] = None  # it ends by itself


class RelayRun(HandOverRun):
    """A run, then Newton's method, counted on; the bound never falls back."""

    @property
    def handed(self) -> str | None:
        """The name of the solver that has taken over, if one has."""
        return NEWTON if self._then.has_begun else None

    def _should_hand_over(self, last: Progress) -> bool:
        """Tells whether the first run has done its part here, if it is not over."""
        return False

    def _next(self) -> Solver:
        return PartedNewton()

    def __iter__(self) -> Iterator[Progress]:
        stop, last = self._problem.stop, None
        if not self._then.has_begun:
            for last in self._lead():
                yield last
                if stop.met(last.primal, last.dual):
                    return
                if self._should_hand_over(last):
                    break
            if last is None:
                return
            self._then.begin_after(last)
        yield from self._then.steps(
            self, self._next(), self._problem, lambda: self._hand_over(last)
        )

    def _hand_over(self, last: Progress | None) -> Start | None:
        return last and Start(self.bundle, (last.solution(),))


@record
class Relay(Solver):
    """Newton's method where a run leads no further."""

    run: ClassVar[type[Run]] = RelayRun
    patience: ClassVar[int | None] = None  # it watches the first solver itself
    first: Solver


class FromCutsRun(RelayRun):
    """Cutting planes, then what the rows are for."""

    def __init__(self, solver: FromCuts, problem: PartedProblem, start: Start | None):
        super().__init__(solver, problem, start)
        nbytes = problem.smooth.nbytes if problem.smooth else 0.0
        self._comes, self._soon = nbytes > 0, nbytes <= FIRST * MOST_BYTES

    @property
    def handed(self) -> str | None:
        run = self._then.run
        if run is None or not self._comes:
            return super().handed
        return run.handed or DUAL_CD if isinstance(run, RelayRun) else NEWTON

    def _should_hand_over(self, last: Progress) -> bool:
        tight = self._problem.stop.target(last.primal) < TIGHT * last.primal
        near = SOON if self._comes and self._soon and tight else NEAR
        return last.gap <= near * last.primal or last.iteration >= MOST_CUTS

    def _next(self) -> Solver:
        return Relay(Margin()) if self._comes else PartedNewton()


@record
class FromCuts(Relay):
    """Cutting planes, and from where they are slow the rows near the margin or Newton's method."""

    run = FromCutsRun
