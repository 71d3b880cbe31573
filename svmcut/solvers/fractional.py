# SPDX-License-Identifier: BSD-3-Clause
"""Certified runs of solvers that make no cuts: one fractional cut holds all that they found.

    cut          any c in [0, 1]^n:   R(s') >= sum v c - (v c y).s'   (a convex combination of the
                 hinge's 2^n cuts)
    box dual     alpha = C v c, w = sum alpha_i y_i x_i:   D = sum alpha - 1/2 |w|^2,   v = 1
    without weights
    multiplier   a bundle with this cut and the flat plane gives at least that, by scaling alpha:
                 min(C, b / |g|^2)

So a solver that moves alpha in its box, or smooths the loss, is certified by the cut it ends with;
and where it stalls, cutting planes go on from its cuts and its best point.

Where rows are nearly separable the dual value is exact long before the primal value is: hundreds of
margins stand just below 1, and w times 1.00001 frees them all. So the primal is that of the best
multiple of w; the solver keeps w.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator

import numpy as np

from svmcut.base.errors import TrainingError
from svmcut.base.typing import Any, ClassVar
from svmcut.cutting.bundle import Cut, CutBundle
from svmcut.qp import make_qp
from svmcut.risks.protocol import SignedRisk
from svmcut.solvers.compose import Continuation
from svmcut.solvers.cutting_plane import CuttingPlane
from svmcut.solvers.protocol import Problem, Progress, Run, Solver, Start
from svmcut.spaces.linear import LinearSpace
from svmcut.spec import schemas
from svmcut.spec.catalog import CUTTING_PLANE
from svmcut.spec.schemas import OWN, Form, State

#: Solutions that a cut may stay without a multiplier.
MAX_IDLE = 10


class FractionalRun(Run):
    """A run certified by its bundle of fractional cuts and the best primal point so far.

    A subclass says how it descends, and which solver takes over. The bundle of the start is taken
    over, its points are offered. Raises a TrainingError that names what is missing for a risk or
    space that the run does not serve.
    """

    #: The losses and features that it serves: a name for messages, and the protocol of the risks or
    #: the class of the spaces.
    serves: ClassVar[tuple[str, Any]] = ("the loss error-rate", SignedRisk)
    spaces: ClassVar[tuple[str, Any]] = ("a linear kernel", LinearSpace)

    def __init__(self, solver: Solver, problem: Problem, start: Start | None):
        super().__init__(solver, problem, start)
        (loss, served), (features, spaces) = self.serves, self.spaces
        has = {loss: isinstance(problem.risk, served), features: isinstance(problem.space, spaces)}
        if not all(has.values()):
            missing = " and ".join(what for what, there in has.items() if not there)
            raise TrainingError("this solver needs {}; use {solver=}", missing, CUTTING_PLANE)
        self._start = start
        self._saved: State | None = None
        self._started, self._iteration, self._stage = time.perf_counter(), 0, "start"
        self._then = Continuation()
        space = problem.space
        self.bundle = start.bundle if start else CutBundle(space, make_qp(problem.qp))
        self.passes, self.slack, self.lower = 0.0, 0.0, 0.0
        #: The best point, its scores (n,) and |w|^2; its primal below, and the best bound above.
        self.w, self.s, self._squared = space.zero(), np.zeros(space.n_rows), 0.0
        self.risk = problem.risk.linearize(self.s).value
        self.primal = problem.C * self.risk

    def form(self) -> Form:
        kinds = self._problem.space.kinds()
        reals = ("passes", "slack", "lower", "risk", "_squared", "primal")
        return {
            "bundle": OWN,
            "_then": OWN,
            "w": kinds.element,
            "s": kinds.scores,
            "_iteration": schemas.COUNT,
            "_stage": schemas.text("start", "descent", "handed"),
            **dict.fromkeys(reals, schemas.REAL),
        }

    def state(self) -> State:
        descent = self._descent_state() if self._stage == "descent" else None
        return super().state() | {"descent": descent}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._saved = state["descent"]

    def __iter__(self) -> Iterator[Progress]:
        resumed, self._resumed = self._resumed, False
        if not resumed:
            self.begin()
        if self._stage == "start":
            met = self.is_met()
            yield self.progress(again=resumed)
            if met:
                return
        if not self._then.has_begun:
            saved, self._saved = self._saved, None
            going_on = yield from self._descend(saved)
            if not going_on:
                return
            self._then.begin_after(self.progress(again=True))
            self._stage = "handed"
        yield from self._then.steps(
            self,
            self._successor(),
            self._problem,
            lambda: Start(self.bundle, (self.w,), self.fractions),
        )

    def _descend(self, saved: State | None) -> Generator[Progress, None, bool]:
        """Yield the steps from a saved state; return True where another solver should go on."""
        raise NotImplementedError

    def _descent_form(self) -> Form:
        """Return the checks of what is saved while the descent goes on."""
        raise NotImplementedError

    def _descent_state(self) -> State:
        """Return the state of the descent."""
        return schemas.state_of(self, self._descent_form())

    def _successor(self) -> Solver:
        """Return the solver that takes over from the descent."""
        return CuttingPlane(soon=True)

    def begin(self) -> None:
        """Take in the cuts and points of the start."""
        if self._start and len(self._start.bundle):
            self._solve()
        for point in self._start.points if self._start else ():
            self.offer(point)

    @property
    def gap(self) -> float:
        return self.primal - self.lower

    @property
    def target(self) -> float:
        """The gap that ends the run."""
        return self._problem.stop.target(self.primal)

    def is_met(self) -> bool:
        """Tell whether the stopping rule is met, by scores of the best point that are computed
        afresh: those of a line search add up rounding."""
        problem = self._problem
        if not problem.stop.met(self.primal, self.lower):
            return False
        self.s = problem.space.scores(self.w)
        self.risk = problem.risk.linearize(self.s).value
        primal = 0.5 * self._squared + problem.C * self.risk
        if abs(primal - self.primal) > 1e-13 * primal:  # else the sums differ in their order alone
            self.primal = primal
        self.passes += 1
        return problem.stop.met(self.primal, self.lower)

    def cut(self, a, b: float, risk: float, coef=None, scores=None) -> None:
        """Add the cut (a, b); a = A^T coef, coef = -v y c, b = sum v c. A coef that is given must
        not change later, nor the scores of a."""
        space = self._problem.space
        if scores is None and coef is not None and space.should_keep_coefficients:
            scores = space.scores(a)
        self.bundle.add(Cut(a, b, risk, coef, scores))
        self._solve()
        self.bundle.prune(MAX_IDLE)

    def _solve(self) -> None:
        lower, self.slack = self.bundle.bound(
            self._problem.C, 0.01 * max(self.target, 1e-12 * self.primal) / self._problem.C
        )
        self.lower = max(self.lower, lower)

    def offer(self, w, s=None, risk: float | None = None):
        """Take over w and its scores as the best point if it is better; scores and risk are
        computed where they are not given."""
        if s is None:
            s = self._problem.space.scores(w)
            self.passes += 1
        if risk is None:
            risk = self._problem.risk.linearize(s).value
        squared = self._problem.space.dot(w, w)
        primal = 0.5 * squared + self._problem.C * risk
        if primal < self.primal:
            self.primal, self.w, self.s, self.risk, self._squared = primal, w, s, risk, squared

    def search(self, w, s) -> None:
        """Move the best point to the best on the line from it to the best multiple of w, whose
        scores are s."""
        space, problem = self._problem.space, self._problem
        scale = problem.risk.line_minimum(np.zeros(len(s)), s, 0.0, space.dot(w, w), problem.C)
        w, s = space.blend(scale, w, 0.0, w), space.blend(scale, s, 0.0, s)
        cross, rates = space.dot(self.w, w), space.blend(1.0, s, -1.0, self.s)
        wd, dd = cross - self._squared, space.dot(w, w) - 2 * cross + self._squared
        t = problem.risk.line_minimum(self.s, rates, wd, dd, problem.C)
        if t > 0:
            self.offer(space.blend(1 - t, self.w, t, w), space.blend(1.0, self.s, t, rates))

    def progress(self, again: bool = False) -> Progress:
        """Return the next Progress of the run, or the last one again."""
        self._iteration += not again
        w = self.w
        state = self._iteration, self.passes, self.primal, self.lower, lambda: w
        cuts = len(self.bundle), self.bundle.support, self.slack
        return Progress.since(self._started, *state, *cuts, self.risk)
