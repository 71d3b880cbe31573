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

The fastest of the trainers here where features are few. delta falls once the first part of the gap
is the larger one, so neither part is ever much finer than the other. With many rows w starts from a
sample of them, and that from a smaller one: a sample of n / 8 rows costs an eighth and leaves one
or two steps to do.

The squared hinge has no second derivative where y s = 1; there the generalised Hessian stands in.
The slopes g + l'' e that a step along e foresees make a second cut, but of the hinge: a gradient of
0 but for what the solution of the equations leaves. Where C is large, 1/2 |gradient|^2 at the new
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

from svmcut._native import sparse
from svmcut.base.records import record, replace
from svmcut.base.typing import Any, ClassVar, Self
from svmcut.cutting.oracle import Normals
from svmcut.risks.smoothed import SLOPE_TOLERANCE, SmoothedRisk, line_step
from svmcut.risks.weights import total
from svmcut.solvers.curvature import Curvature
from svmcut.solvers.fractional import FractionalRun
from svmcut.solvers.protocol import Problem, Progress, Solver, Stall, Start
from svmcut.spec import schemas
from svmcut.spec.schemas import OWN, Form, Kept, State

SAMPLE_EVERY = 8  # rows of one sampled row
FINAL = 0.8  # of the target is left to the smoothing
NEAR = 1.05  # times its share of the target the smoothing may cost
SAMPLE_STEPS = 40
#: Of a line's slope at 0 a smoothed loss may leave at a full step, which is welcome, and elsewhere:
#: once the bands have settled a full step ends at the minimum.
FULL, SHORT = 0.3, 0.05
PATIENCE, SMOOTH_PATIENCE = (
    30,
    10,
)  # looks without progress, where delta falls and where there is none


class Descent(Kept):
    """The point of a minimisation, what is known there, and the next step.

    Parameters
    ----------
    problem : Problem
        Or that of a sample of its rows with C so much larger.
    w
        Element of the space; never changed.
    delta : float
        Width of the smoothing, 0 for losses without corners.

    Attributes
    ----------
    s : (n,) float64
        Scores of w; with a free bias, but for what the last step moved it.
    at : Smoothed
    a, gradient
        Normal of the cut; gradient of the smoothed P.
    smoothing, unfinished : float
        Parts of the gap.
    gain : float
        What the last step promised.
    passes : float
    ahead : ((n,) float64, float) or None
        Coefficients and offset of the cut that the last step foresaw for its end.
    """

    SHRINK: ClassVar[float] = 0.35  # of delta is left at least, in one go
    SAMPLE: ClassVar[tuple[int, int]] = (
        4000,
        20,
    )  # rows of the smallest sample, and rows a feature
    FEWEST: ClassVar[int] = (
        10  # rows with a curvature a feature of a sample, or its Hessian says little about all rows
    )

    called = "descent"

    def __init__(self, problem: Problem, w, delta: float, look: bool = True):
        self.problem = problem
        self.space = problem.space
        self.risk = problem.risk
        self.C = problem.C
        self._curvature = self._equations()
        # coefficients of a smoothed loss stay where they are, but for a few
        self._normals = Normals(self.space, refresh=20 if delta else 1)
        self.w, self.delta, self.ahead, self.gain = w, delta, None, math.inf
        self.s, self.passes = np.zeros(self.space.n_rows), 1.0
        if look:
            self.s = self.space.scores(w)
            self._look()

    @classmethod
    def restored(cls, problem: Problem, state: State) -> Self:
        """The descent whose `state` this is."""
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
        self._know(a)

    def _equations(self) -> Any:
        return Curvature(self.space, self.risk)

    def _look(self) -> None:
        """Cut, gradient and gap at w and delta; one pass, over changed rows alone where it pays."""
        self._know(None)
        self.passes += 1

    def _know(self, a) -> None:
        self.at = at = self.risk.smooth(self.s, self.delta)
        self.a = self._normals.of(at.coef) if a is None else a
        self.gradient = self.space.blend(1.0, self.w, self.C, self.a)
        self.smoothing, self.unfinished = (
            self.C * at.excess,
            0.5 * self.space.dot(self.gradient, self.gradient),
        )

    @property
    def primal(self) -> float:
        return 0.5 * self.space.dot(self.w, self.w) + self.C * self.at.value

    def lower(self, target: float) -> bool:
        """Lowers delta towards the one that leaves a gap of `target`, if the gap is mostly its
        work; True if it did."""
        if self.smoothing <= NEAR * target or not self._settled():
            return False
        self.smooth_over(self.delta * max(self.SHRINK, math.sqrt(target / self.smoothing)))
        return True

    def smooth_over(self, delta: float) -> None:
        """The same point with another width."""
        self.delta = delta
        self._look()

    def _settled(self) -> bool:
        return self.unfinished <= self.smoothing

    def step(self) -> bool:
        """One Newton step with line search; False where there is none that helps."""
        space, risk, at, delta, w = self.space, self.risk, self.at, self.delta, self.w
        p = self._curvature.direction(at, self.C, self.gradient)
        self.passes += self._curvature.passes
        slope = space.dot(self.gradient, p)
        if not slope < 0:
            return False
        self.gain, s, e = -0.5 * slope, self.s, space.scores(p)
        if at.shares is not None:  # the bias follows
            s, e = s + at.shift, e - float(at.shares @ e)
        wd, dd = space.dot(w, p), space.dot(p, p)

        def rate(t: float) -> tuple[float, float]:
            rise, bend = risk.slope(s, e, t, delta)
            return wd + t * dd + self.C * rise, dd + self.C * bend

        t = line_step(
            rate, -slope, 1.0, *((FULL, SHORT) if delta else (SLOPE_TOLERANCE, SLOPE_TOLERANCE))
        )
        if risk.should_cut_ahead:
            self.ahead = risk.nearest_cut(at.coef + at.bends * e)
        self.w, self.s = space.blend(1.0, w, t, p), np.empty(len(e))
        sparse.blend(1.0, s, t, e, self.s, space.threads)
        self.passes += 1
        self._look()
        return True

    @classmethod
    def sampled(cls, problem: Problem, w, delta: float) -> tuple[Any, float]:
        """(w, delta) of a sample's minimum with C scaled up, itself started from a smaller sample;
        or what was given where the rows are few. delta is one that all rows will need: the sample's
        gap is relative to its primal."""
        part = sample_of(problem, *cls.SAMPLE)
        if part is None:
            return w, delta
        descent = cls(part, *cls.sampled(part, w, delta))
        for _ in range(SAMPLE_STEPS):
            target = FINAL * part.stop.target(descent.primal)
            if descent.smoothing <= NEAR * target and descent._over(target):
                break
            lowered = descent.lower(target)
            if (
                lowered and len(descent.at.rows) < cls.FEWEST * part.space.dim
            ) or not descent.step():
                break
        return descent.w, descent.delta

    def _over(self, target: float) -> bool:
        """Whether a sample has no more to say, once the smoothing costs no more than the target."""
        return self.unfinished <= (self.smoothing or target / FINAL)


def sample_of(problem: Problem, least: int, each: int) -> Problem | None:
    """The problem of one row of every SAMPLE_EVERY, with C scaled up by the weight of all; None
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
    """A look after every step. It begins at the point of the start, where that has some."""

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
            descent = self.descent.restored(problem, saved)
        else:
            w, delta = self.w, problem.risk.initial_width()
            if not self._warm:
                w, delta = self.descent.sampled(problem, w, delta)
            descent = self.descent(problem, w, delta)
        self._descent, self._stage = descent, "descent"
        while True:
            if saved is None:
                self._take_in(descent)
            met = self.met()
            yield self.progress(again=saved is not None)
            saved = None
            if met:
                return False
            self._spent = self.passes > self._solver.most_passes
            if self._spent or not self._going or self._stall.update(self.gap):
                return True
            target = FINAL * self.target
            self._going = descent.lower(target) or descent.step()

    def _take_in(self, descent: Descent) -> None:
        """The point, its cut and the one foreseen for it."""
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
    """Newton's method on a sum of losses, smoothed where they have corners.

    Parameters
    ----------
    most_passes : float
        After which `then` goes on.
    then : Solver or None
        From the fractions of the start; None where there is no such end.
    """

    run = NewtonRun
    most_passes: float = math.inf
    then: Solver | None = None
