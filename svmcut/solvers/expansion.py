# SPDX-License-Identifier: BSD-3-Clause
"""The base of the stochastic kernel solvers: the problem laid out by class, looks at the iterate,
and the choice of the best.

They keep the response y_i f(x_i) of every point besides the coefficients, so that a look (the
primal value, and the error on the points held out) costs O(n) and no kernel value. Looks come at
fixed steps, so the result does not depend on the clock. A solver ends after its epochs or, with
points held out, once their error has not fallen in the second half of the run so far.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from svmcut._native.expansion import Expansion
from svmcut.base.records import record
from svmcut.base.typing import Any, ClassVar, NamedTuple
from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.risks.weights import total
from svmcut.solvers.protocol import Progress, Run, Solution, Solver, Start
from svmcut.spec import schemas
from svmcut.spec.schemas import OWN, Form

#: Most seconds of one call of a compiled loop, for which signals, limits and progress wait.
PIECE_SECONDS = 0.2
#: Looks an epoch.
LOOKS = 8


@record
class ExpansionProblem:
    """min over f of 1/2 |f|^2 + C sum_i v_i max(0, 1 - y_i f(x_i)), the sum over the points that
    are not held out."""

    #: (n, d)
    X: Csr
    #: (n,) in {-1, +1}
    y: NDArray
    kernel: Kernel
    #: The cost of an example that weighs 1.
    C: float
    #: (n,) Points held out: watched, never trained on.
    held: NDArray
    #: End once (primal - dual) / primal is at most this, where the solver has a dual value.
    gap: float | None = None
    threads: int = 1
    #: (n,) v; None for 1 each.
    weights: NDArray | None = None

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """(n,) Rows: positives, negatives, those held out."""
        return np.argsort(np.where(self.held, 2, np.where(self.y > 0, 0, 1)), kind="stable")

    @cached_property
    def trained(self) -> int:
        return int(np.count_nonzero(~self.held))

    @cached_property
    def positives(self) -> int:
        return int(np.count_nonzero((self.y > 0) & ~self.held))

    @cached_property
    def labels(self) -> NDArray[np.float64]:
        """(n,) y in this order."""
        return self.y[self.order]

    @cached_property
    def ordered_weights(self) -> NDArray[np.float64] | None:
        """(n,) v in this order."""
        return None if self.weights is None else self.weights[self.order]

    @cached_property
    def trained_weights(self) -> NDArray[np.float64] | None:
        """(trained,) v of the points that are not held out."""
        return None if self.ordered_weights is None else self.ordered_weights[: self.trained]

    @cached_property
    def total(self) -> float:
        """The sum of the weights of points that are not held out."""
        return total(self.trained_weights, self.trained)

    @cached_property
    def expansion(self) -> Expansion:
        signs = self.labels[self.trained :].astype(np.int8)
        return Expansion(
            self.X.take(self.order), self.positives, self.trained, signs, self.kernel, self.threads
        )


class Look(NamedTuple):
    """A function on the way, with its values."""

    step: int
    #: (n,) f = sum_i a_i y_i K(x_i, .) + b, in the order of the problem.
    a: NDArray
    b: float
    #: dual is nan where there is none; risk is the weighted sum of the hinge losses.
    primal: float
    dual: float
    risk: float
    #: Percent of the points held out, by their weights; nan without.
    error: float
    #: The criterion of choice where no points are held out; lower is better.
    rank: float

    def is_better(self, other: Look) -> bool:
        """Tell whether this one should replace an earlier one."""
        mine, theirs = ((x.error if x.error == x.error else 0.0, x.rank) for x in (self, other))
        return mine <= theirs


@record
class StepSolver(Solver):
    """The parameters that all stochastic kernel solvers have."""

    patience: ClassVar[int | None] = None
    #: Passes, each with as many steps as points that are not held out.
    epochs: float
    seed: int = 0
    max_steps: int | None = None


class ExpansionRun(Run):
    """A compiled loop, run from look to look; a step at every look, and now and then in between.

    Raises NoLevel for responses that are not finite, or a free bias with an empty class.
    """

    _native: Any

    def __init__(self, solver: StepSolver, problem: ExpansionProblem, start: Start | None):
        super().__init__(solver, problem, start)
        #: Whether the error on the points held out ended the run.
        self.ended_early = False
        #: Steps after which it ends.
        self.total = max(1, math.ceil(solver.epochs * problem.trained))
        if solver.max_steps is not None:
            self.total = min(self.total, solver.max_steps)
        self._open()
        n = len(problem.y)
        #: The result of the run.
        self.best = self._last = self._judge(0, np.zeros(n), np.zeros(n), 0.0, 1.0)

    def form(self) -> Form:
        step, a = schemas.count(0, self.total), schemas.weights(len(self._problem.y))
        others = [schemas.ANY_REAL] * (len(Look._fields) - 3)
        look = schemas.row(step, a, schemas.REAL, *others)
        return {"_native": OWN, "best": look, "_last": look}

    def __iter__(self) -> Iterator[Progress]:
        self._began = time.perf_counter()
        if self._resumed:
            yield self._progress()
            if self._last.step == self._steps_done() and self._should_end():
                return
        while self._steps_done() < self.total:
            due = self._next_look(self._steps_done())
            self._native.run(due - self._steps_done(), PIECE_SECONDS)
            if self._steps_done() < due:
                yield self._progress()
                continue
            self._last = self._look()
            if self.best.step == 0 or self._last.is_better(self.best):
                self.best = self._last
            self._after_look()
            yield self._progress()
            if self._should_end():
                return

    def solution(self) -> Solution:
        """Return the best function."""
        problem, beta = self._problem, np.empty(len(self._problem.y))
        beta[problem.order] = self.best.a * problem.labels
        return Solution(beta, self.best.b)

    def _open(self) -> None:
        raise NotImplementedError

    def _steps_done(self) -> int:
        raise NotImplementedError

    def _look(self) -> Look:
        raise NotImplementedError

    def _after_look(self) -> None:
        """Do what is due after a look."""

    def _next_look(self, done: int) -> int:
        every = max(1, self._problem.trained // LOOKS)
        return min(self.total, (done // every + 1) * every)

    def _judge(self, step: int, a: NDArray, c: NDArray, b: float, scale: float) -> Look:
        """Return the look at scale (sum a_i y_i K_i + b), with responses c of the sum."""
        problem, m = self._problem, self._problem.trained
        y, v = problem.labels, problem.ordered_weights
        margin = scale * (c + y * b)
        losses = np.maximum(0.0, 1.0 - margin[:m])
        risk = float((losses if v is None else v[:m] * losses).sum())
        primal = 0.5 * scale * scale * max(0.0, float(a @ c)) + problem.C * risk
        error = math.nan
        if m < len(y):
            wrong = (margin[m:] * y[m:] > 0) != (y[m:] > 0)
            error = 100.0 * float(np.average(wrong, weights=None if v is None else v[m:]))
        return Look(step, scale * a, scale * b, primal, math.nan, risk, error, primal)

    def _should_end(self) -> bool:
        last, problem = self._last, self._problem
        if problem.gap is not None and last.primal - last.dual <= problem.gap * last.primal:
            self.best = last
            return True
        self.ended_early = (
            last.error == last.error
            and last.step >= problem.trained
            and 2 * self.best.step <= last.step
        )
        return self.ended_early

    def _progress(self) -> Progress:
        best, last, native = self.best, self._last, self._native
        done, support = self._steps_done(), int(np.count_nonzero(best.a))
        state = max(1, done), done / self._problem.trained, best.primal, last.dual, self.solution
        numbers = 0, support, best.risk, best.risk, native.evaluations
        return Progress.since(self._began, *state, *numbers)
