# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method on a sum of losses of one score each, certified by a cut at every point.

    problem      min_w  P(w) = 1/2 |w|^2 + C R(A w),   R(s) = sum_i v_i l(y_i, s_i), or its minimum
                 over a free bias
    smoothed     losses with corners, over a width delta that falls as w settles
                 (svmcut/risks/smoothed.py)
    update       w <- w + t p,  (I + C A'BA) p = -gradient, B the curvatures
                 (svmcut/solvers/curvature.py); t by a line search on cached scores
    certificate  the smoothed slopes are a cut:   P - D = C (R - cut)(A w)  +  1/2 |gradient|^2
                                                          smoothing            unfinished
                                                                               minimisation

The fastest of the solvers here where features are few. delta falls once the first part of the gap
is the larger one, so neither part is ever much finer than the other. With many rows w starts from a
sample of them, and that from a smaller one: a sample of n / 8 rows costs an eighth and leaves one
or two steps to do.

The squared hinge has no second derivative where y s = 1; the generalised Hessian is used there.
Except for the hinge, the slopes g + l'' e that a step along e predicts make a second cut, whose
gradient is 0 but for the residual of the equations. Where C is large, 1/2 |gradient|^2 at the new
point is far above what is left of the primal.

References
----------
Chapelle, Training a support vector machine in the primal, Neural Computation 2007 (smooth hinge);
Keerthi and DeCoste, JMLR 2005 (squared hinge); Lin, Weng and Keerthi, JMLR 2008 (logistic).
"""

from __future__ import annotations

import math
from collections.abc import Generator

import numpy as np
from numpy.typing import NDArray

from svmcut._native import sparse
from svmcut.base.records import record, replace
from svmcut.base.typing import Any, ClassVar, Protocol, Self
from svmcut.cutting.oracle import Normals
from svmcut.risks.smoothed import SLOPE_TOLERANCE, SmoothedRisk, line_step
from svmcut.risks.weights import total
from svmcut.solvers.curvature import Curvature
from svmcut.solvers.fractional import FractionalRun
from svmcut.solvers.protocol import Problem, Progress, Solver, Stall, Start
from svmcut.spec import schemas
from svmcut.spec.schemas import OWN, Form, Kept, State

SAMPLE_EVERY = 8  # a sample has every eighth row
FINAL = 0.8  # part of the target that smoothing may cost
SMOOTHING_SHARE = 1.05  # delta falls while the smoothing costs so many times that part
SAMPLE_STEPS = 40
#: Part of a line's slope at 0 that a smoothed loss may leave at a full step, which is preferred,
#: and elsewhere: once the bands have settled a full step ends at the minimum.
FULL, SHORT = 0.3, 0.05
PATIENCE, SMOOTH_PATIENCE = 30, 10  # looks without progress, with a delta that falls and without


class Line(Protocol):
    """The line from the point of a descent along a step."""

    def slope(self, t: float) -> tuple[float, float]:
        """Return slope and curvature of the smoothed risk after t steps."""
        ...

    def cut(self) -> tuple[NDArray[np.float64], float] | None:
        """Return coefficients and offset of the cut that is predicted for a full step, if any."""
        ...

    def move(self, t: float) -> Any:
        """Take the descent's scores to t steps; return the point there."""
        ...


class RowLine:
    """A Line by the scores of rows."""

    def __init__(self, descent: Descent, p: Any):
        self._descent, self._p, self._s, self._e = descent, p, descent.s, descent.space.scores(p)
        at = descent.at
        if at.shares is not None:  # the bias follows
            self._s, self._e = self._s + at.shift, self._e - float(at.shares @ self._e)

    def slope(self, t: float) -> tuple[float, float]:
        rise, bend = self._descent.risk.slope(self._s, self._e, t, self._descent.delta)
        return rise, bend

    def cut(self) -> tuple[NDArray[np.float64], float] | None:
        risk, at = self._descent.risk, self._descent.at
        return risk.nearest_cut(at.coef + at.bends * self._e) if risk.should_cut_ahead else None

    def move(self, t: float) -> Any:
        descent, space = self._descent, self._descent.space
        descent.s = np.empty(len(self._e))
        sparse.blend(1.0, self._s, t, self._e, descent.s, space.threads)
        return space.blend(1.0, descent.w, t, self._p)


class Descent(Kept):
    """The point w of a minimisation, its cut and gradient, and the next step.

    Its problem may be that of a sample of the rows with C so much larger; delta is the width of the
    smoothing, 0 for losses without corners. w is never changed in place.
    """

    SHRINK: ClassVar[float] = 0.35  # delta keeps this part at least, at one time
    SAMPLE: ClassVar[tuple[int, int]] = 4000, 20  # rows of the smallest sample, and rows a feature
    #: Rows with a curvature, a feature, below which the Hessian of a sample says little of all
    #: rows.
    FEWEST: ClassVar[int] = 10

    #: The smoothed risk at w, the normal of its cut, and the gradient of the smoothed P.
    at: Any
    a: Any
    gradient: Any
    #: Parts of the gap: that of the smoothing, and 1/2 |gradient|^2.
    smoothing: float
    unfinished: float

    called = "descent"

    def __init__(self, problem: Problem, w, delta: float, look: bool = True):
        self.problem = problem
        self.space = problem.space
        self.risk = problem.risk
        self.C = problem.C
        self._curvature = self._equations()
        # coefficients of a smoothed loss stay where they are, but for a few
        self._normals = Normals(self.space, refresh=20 if delta else 1)
        #: The predicted gain of the last step, and the cut predicted for its end.
        self.w, self.delta, self.gain = w, delta, math.inf
        self.ahead: tuple[NDArray, float] | None = None
        #: (n,) Scores of w; a free bias is not in them since the last step.
        self.s, self.passes = np.zeros(self.space.n_rows), 1.0
        if look:
            self.s = self.space.scores(w)
            self._look()

    @classmethod
    def from_state(cls, problem: Problem, state: State) -> Self:
        """Return the descent whose `state` this is."""
        descent = cls(problem, problem.space.zero(), problem.risk.initial_width(), False)
        descent.restore(state)
        return descent

    def form(self) -> Form:
        kinds = self.space.kinds()
        delta = schemas.real(1e-300) if self.risk.initial_width() else schemas.real(0, 0)
        numbers = {"delta": delta, "passes": schemas.REAL, "gain": schemas.real(infinite=True)}
        parts = {"_normals": OWN, "_curvature": OWN}
        return numbers | parts | {"w": kinds.element, "s": kinds.scores}

    def restore(self, state: State) -> None:
        super().restore(state)
        a = state["normals"]["a"]
        schemas.require(a is not None, "descent.normals.a", "the normal of the last cut")
        self._set_cut(a)

    def _equations(self) -> Any:
        return Curvature(self.space, self.risk)

    def _look(self) -> None:
        """Compute cut, gradient and gap at w and delta: one pass, over changed rows where it
        pays."""
        self._set_cut(None)
        self.passes += 1

    def _set_cut(self, a) -> None:
        self.at = at = self.risk.smooth(self.s, self.delta)
        self.a = self._normals.of(at.coef) if a is None else a
        self._set_gap()

    def _set_gap(self) -> None:
        """Set gradient and gap of the present cut."""
        self.gradient = self.space.blend(1.0, self.w, self.C, self.a)
        self.smoothing = self.C * self.at.excess
        self.unfinished = 0.5 * self.space.dot(self.gradient, self.gradient)

    @property
    def primal(self) -> float:
        return 0.5 * self.space.dot(self.w, self.w) + self.C * self.at.value

    def should_sharpen(self, target: float) -> bool:
        """Tell whether the gap is mostly that of the smoothing, and that above the target."""
        return self.smoothing > SMOOTHING_SHARE * target and self._is_settled()

    def sharpen(self, target: float) -> None:
        """Lower delta towards the one that leaves a gap of `target`."""
        self.smooth_over(self.delta * max(self.SHRINK, math.sqrt(target / self.smoothing)))

    def smooth_over(self, delta: float) -> None:
        """Smooth the losses over another width, at the same point."""
        self.delta = delta
        self._look()

    def advance(self, target: float) -> float:
        """Lower delta where that is due, else take a step; return what it may gain, 0 where nothing
        helps."""
        if self.should_sharpen(target):
            self.sharpen(target)
            return math.inf
        return self.step()

    def _direction(self) -> Any:
        """Return p of (I + C A'BA) p = -gradient, or near it."""
        p = self._curvature.direction(self.at, self.C, self.gradient)
        self.passes += self._curvature.passes
        return p

    def _line(self, p: Any) -> Line:
        return RowLine(self, p)

    def _is_settled(self) -> bool:
        return self.unfinished <= self.smoothing

    def step(self) -> float:
        """Take a Newton step with line search; return the predicted gain, 0 where none helps."""
        space, p = self.space, self._direction()
        slope = space.dot(self.gradient, p)
        if not slope < 0:
            return 0.0
        self.gain, line = -0.5 * slope, self._line(p)
        wd, dd = space.dot(self.w, p), space.dot(p, p)

        def rate(t: float) -> tuple[float, float]:
            rise, bend = line.slope(t)
            return wd + t * dd + self.C * rise, dd + self.C * bend

        tolerances = (FULL, SHORT) if self.delta else (SLOPE_TOLERANCE, SLOPE_TOLERANCE)
        t = line_step(rate, -slope, 1.0, *tolerances)
        self.ahead = line.cut()
        self.w = line.move(t)
        self.passes += 1
        self._look()
        return self.gain

    @classmethod
    def sample_start(cls, problem: Problem, w, delta: float) -> tuple[Any, float]:
        """Return (w, delta) of a sample's minimum with C scaled up, itself started from a smaller
        sample, or the same where rows are few. All rows will need that delta: the sample's gap is
        relative to its primal."""
        part = sample_of(problem, *cls.SAMPLE)
        if part is None:
            return w, delta
        descent = cls(part, *cls.sample_start(part, w, delta))
        for _ in range(SAMPLE_STEPS):
            target = FINAL * part.stop.target(descent.primal)
            if descent.smoothing <= SMOOTHING_SHARE * target and descent._is_sample_done(target):
                break
            if descent.should_sharpen(target):
                descent.sharpen(target)
                if len(descent.at.rows) < cls.FEWEST * part.space.dim:
                    break
            if not descent.step():
                break
        return descent.w, descent.delta

    def _is_sample_done(self, target: float) -> bool:
        """Tell whether a sample is solved well enough, once the smoothing is within the target."""
        return self.unfinished <= (self.smoothing or target / FINAL)


def sample_of(problem: Problem, least: int, each: int) -> Problem | None:
    """Return the problem of one row in SAMPLE_EVERY, with C scaled up by the weight of all; None
    where these are fewer than `least`, or than `each` for every feature."""
    space, n = problem.space, problem.space.n_rows
    count = n // SAMPLE_EVERY
    if count < max(least, each * space.dim):
        return None
    rows = sparse.spread_rows(count, SAMPLE_EVERY)
    risk = problem.risk.take(rows)
    C = problem.C * total(problem.risk.weights, n) / total(risk.weights, count)
    return replace(problem, risk=risk, space=space.take(rows), C=C)


class NewtonRun(FractionalRun):
    """A look after every step. It begins at the point of the start, if any."""

    serves = ("a loss of one score", SmoothedRisk)
    descent: ClassVar[type[Descent]] = Descent

    def __init__(self, solver: Newton, problem: Problem, start: Start | None):
        super().__init__(solver, problem, start)
        self._going, self._warm = True, start is not None and bool(start.points)
        self._stall = Stall(PATIENCE if problem.risk.initial_width() else SMOOTH_PATIENCE)
        self._spent = False
        if start is not None and solver.then is not None:
            self.fractions = start.fractions

    def form(self) -> Form:
        own = {"_warm": schemas.flag, "_going": schemas.flag, "_stall": OWN}
        if self._solver.then is not None:
            n = self._problem.space.n_rows
            own |= {"_spent": schemas.flag, "fractions": schemas.maybe(self._problem.risk.box(n))}
        return super().form() | own

    def _successor(self) -> Solver:
        return self._solver.then if self._spent else super()._successor()

    def _descent_state(self) -> State:
        return self._descent.state()

    def _descend(self, saved: State | None) -> Generator[Progress, None, bool]:
        problem = self._problem
        if saved is not None:
            descent = self.descent.from_state(problem, saved)
        else:
            w, delta = self.w, problem.risk.initial_width()
            if not self._warm:
                w, delta = self.descent.sample_start(problem, w, delta)
            descent = self.descent(problem, w, delta)
        self._descent, self._stage = descent, "descent"
        while True:
            if saved is None:
                self._take_in(descent)
            met = self.is_met()
            yield self.progress(again=saved is not None)
            saved = None
            if met:
                return False
            self._spent = self.passes > self._solver.max_passes
            if self._spent or not self._going or self._stall.has_stalled(self.gap):
                return True
            self._going = descent.advance(FINAL * self.target) > 0

    def _take_in(self, descent: Descent) -> None:
        """Take in the point, its cut and the one that was predicted for it."""
        at = descent.at
        self.offer(descent.w, descent.s, at.value)
        self.cut(descent.a, at.offset, self.risk, at.coef)
        if descent.ahead is not None:
            (coef, offset), descent.ahead = descent.ahead, None
            self.cut(self._problem.space.adjoint(coef), offset, self.risk, coef)
            descent.passes += 1
        self.passes = descent.passes


@record
class Newton(Solver):
    """Newton's method on a sum of losses, smoothed where they have corners."""

    run = NewtonRun
    #: Passes after which `then` takes over.
    max_passes: float = math.inf
    #: It begins at the fractions of the start; None for cutting planes.
    then: Solver | None = None
