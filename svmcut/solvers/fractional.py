# SPDX-License-Identifier: BSD-3-Clause
"""Certified runs of trainers that know nothing of cuts: one fractional cut holds all they found out.

    cut          any c in [0, 1]^n:   R(s') >= sum c - (c y).s'       (a convex combination of the hinge's 2^n cuts)
    box dual     alpha = C c, w = C sum c_i y_i x_i:   D = C sum c - 1/2 |w|^2
    multiplier   a bundle with this cut and the flat plane gives at least that, by scaling alpha: min(C, b / |g|^2)

So a trainer that moves alpha in its box, or smooths the loss, is certified by the cut it ends with; and where it
stalls, cutting planes go on from its cuts and its best point.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from svmcut import states
from svmcut.cutting.bundle import Cut, CutBundle
from svmcut.errors import TrainingError
from svmcut.qp import make_qp
from svmcut.solvers.protocol import Problem, Progress, Start

# what a solver may need of a problem -> how to tell, and how to say so
NEEDS = {
    "hinge": (lambda problem: hasattr(problem.risk, "signs"), "the loss error-rate"),
    "linear": (lambda problem: hasattr(problem.space, "split"), "a linear kernel"),
}


def check_needs(solver, problem: Problem) -> None:
    """
    Raises
    ------
    TrainingError
        When the problem lacks something of solver.needs; lists all that is missing.
    """
    missing = [NEEDS[need][1] for need in sorted(solver.needs) if not NEEDS[need][0](problem)]
    if missing:
        raise TrainingError(f"solver {solver.name} needs {' and '.join(missing)}")


class FractionalCuts:
    """The certificate of a run: its bundle of fractional cuts and the best primal point so far.

    Parameters
    ----------
    problem : Problem
        Hinge risk, linear space.
    start : Start or None
        Its bundle is taken over; its points are offered.

    Attributes
    ----------
    bundle : CutBundle
    primal, lower : float
        P of the best point, the best certified bound.
    w, s : (dim,), (n,) float64
        The best point and its scores.
    passes : float
        Passes over the features.
    """

    def __init__(self, problem: Problem, start: Start | None, max_idle: int = 10):
        self.problem, self._max_idle = problem, max_idle
        self._started, self._iteration = time.perf_counter(), 0
        space = problem.space
        self.bundle = start.bundle if start else CutBundle(space, make_qp(problem.qp))
        self.passes, self.slack, self.lower = 0.0, 0.0, 0.0
        n = len(problem.risk.signs)
        self.w, self.s, self.risk, self._squared = space.zero(), np.zeros(n), float(n), 0.0
        self.primal = problem.C * self.risk
        if start and len(start.bundle):
            self._solve()
        for point in start.points if start else ():
            self.offer(point)

    @classmethod
    def restored(cls, problem: Problem, state: dict[str, Any]) -> FractionalCuts:
        """The run whose `state` this is."""
        kinds, numbers = problem.space.kinds(), states.row(*6 * (states.REAL,), states.COUNT)
        states.checked(state, states.fields(w=kinds.element, s=kinds.scores, numbers=numbers), "run")
        run = cls(problem, None)
        run.bundle = CutBundle.restored(problem.space, make_qp(problem.qp), state["bundle"])
        run.w, run.s = state["w"], state["s"]
        run.passes, run.slack, run.lower, run.risk, run._squared, run.primal, run._iteration = state["numbers"]
        return run

    def state(self) -> dict[str, Any]:
        """The run as it stands after a progress; what it does later does not change it."""
        return {
            "bundle": self.bundle.state(), "w": self.w, "s": self.s,
            "numbers": (self.passes, self.slack, self.lower, self.risk, self._squared, self.primal, self._iteration),
        }  # fmt: skip

    @property
    def gap(self) -> float:
        return self.primal - self.lower

    @property
    def target(self) -> float:
        """The gap that ends the run."""
        return self.problem.stop.target(self.primal)

    def met(self) -> bool:
        """Whether the stopping rule is met, by scores of the best point that are computed afresh: those of a search's
        steps add up rounding."""
        problem = self.problem
        if not problem.stop.met(self.primal, self.lower):
            return False
        self.s = problem.space.scores(self.w)
        self.risk = problem.risk.linearize(self.s).value
        primal = 0.5 * self._squared + problem.C * self.risk
        if abs(primal - self.primal) > 1e-13 * primal:  # else the sums differ in their order alone
            self.primal = primal
        self.passes += 1
        return problem.stop.met(self.primal, self.lower)

    def cut(self, a, b: float, risk: float, coef=None) -> None:
        """Takes in the cut (a, b); a = A^T coef, coef = -y c, b = sum c. Where coef is given it must not change."""
        self.bundle.add(Cut(a, b, risk, coef))
        self._solve()
        self.bundle.prune(self._max_idle)

    def _solve(self) -> None:
        model = self.bundle.solve(self.problem.C, 0.01 * max(self.target, 1e-12 * self.primal) / self.problem.C)
        self.lower, self.slack = max(self.lower, model.lower), model.slack

    def offer(self, w, s=None, risk: float | None = None):
        """Takes w for the best point if it is better; its scores and risk are computed where they are not given.

        w and s are the caller's no more.
        """
        if s is None:
            s = self.problem.space.scores(w)
            self.passes += 1
        if risk is None:
            risk = self.problem.risk.linearize(s).value
        squared = self.problem.space.dot(w, w)
        primal = 0.5 * squared + self.problem.C * risk
        if primal < self.primal:
            self.primal, self.w, self.s, self.risk, self._squared = primal, w, s, risk, squared

    def search(self, w, s) -> None:
        """Moves the best point to the best on the line from it to w, whose scores are s."""
        space, problem = self.problem.space, self.problem
        cross, rates = space.dot(self.w, w), space.blend(1.0, s, -1.0, self.s)
        wd, dd = cross - self._squared, space.dot(w, w) - 2 * cross + self._squared
        t = problem.risk.line_minimum(self.s, rates, wd, dd, problem.C)
        if t > 0:
            self.offer(space.blend(1 - t, self.w, t, w), space.blend(1.0, self.s, t, rates))

    def progress(self, again: bool = False) -> Progress:
        """The next Progress of the run, or the last one again."""
        self._iteration += not again
        w = self.w
        return Progress(
            self._iteration, self.passes, self.primal, self.lower, self.gap, time.perf_counter() - self._started,
            lambda: w, len(self.bundle), self.bundle.support, self.slack, self.risk,
        )  # fmt: skip

    def hand_over(self, solver, state: dict[str, Any] | None = None) -> Iterator[Progress]:
        """Runs another solver from here; iterations, passes and seconds go on, the bounds never fall back.

        state: of the other solver, to go on from.
        """
        iteration, passes, seconds = self._iteration, self.passes, time.perf_counter() - self._started
        lower = self.lower
        start = None if state else Start(self.bundle, (self.w,))
        for p in solver.steps(self.problem, start, state):
            self.bundle = solver.bundle
            dual = max(lower, p.dual)
            yield p._replace(
                iteration=iteration + p.iteration, passes=passes + p.passes, seconds=seconds + p.seconds, dual=dual,
                gap=p.primal - dual,
            )  # fmt: skip
