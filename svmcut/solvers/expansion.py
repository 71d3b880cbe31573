# SPDX-License-Identifier: BSD-3-Clause
"""What the stochastic kernel trainers share: the problem laid out by class, looks at the iterate,
the best of them.

They keep the response y_i f(x_i) of every point beside the coefficients, so that a look (the primal
value, and the error on the points held out) costs O(n) and no kernel value. Looks come at fixed
steps: what is kept does not depend on the clock. A solver ends after its epochs or, with points
held out, once their error has not fallen in the second half of the run so far.
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

#: Seconds of one call of the compiled loops: signals, limits and progress wait no longer.
PIECE_SECONDS = 0.2
#: Looks an epoch.
LOOKS = 8


@record
class ExpansionProblem:
    """min over f of 1/2 |f|^2 + C sum_i v_i max(0, 1 - y_i f(x_i)), the sum over the points that
    are not held out.

    Attributes
    ----------
    X : Csr
        (n, d)
    y : (n,) float64 in {-1, +1}
    kernel : Kernel
    C : float
        Of an example that weighs 1.
    held : (n,) bool
        Points held out: watched, never trained on.
    gap : float or None
        End once (primal - dual) / primal is at most this, where the solver has a dual value.
    threads : int
    weights : (n,) float64 or None
        v; None for 1 each.
    """

    X: Csr
    y: NDArray
    kernel: Kernel
    C: float
    held: NDArray
    gap: float | None = None
    threads: int = 1
    weights: NDArray | None = None

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """(n,) rows: positives, negatives, those held out."""
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
        """The sum of these."""
        return total(self.trained_weights, self.trained)

    @cached_property
    def expansion(self) -> Expansion:
        signs = self.labels[self.trained :].astype(np.int8)
        return Expansion(
            self.X.take(self.order), self.positives, self.trained, signs, self.kernel, self.threads
        )


class Look(NamedTuple):
    """One function met on the way, and what is known of it.

    Attributes
    ----------
    step : int
    a : (n,) float64
        f = sum_i a_i y_i K(x_i, .) + b, in the order of the problem.
    b : float
    primal, dual, risk : float
        dual is nan where there is none; risk is the weighted sum of the hinge losses.
    error : float
        Percent of the points held out, by their weights; nan without.
    rank : float
        What the solver prefers, lower first, where no points are held out.
    """

    step: int
    a: NDArray
    b: float
    primal: float
    dual: float
    risk: float
    error: float
    rank: float

    def before(self, other: Look) -> bool:
        """Whether this one is to be kept instead of an earlier one."""
        mine, theirs = ((x.error if x.error == x.error else 0.0, x.rank) for x in (self, other))
        return mine <= theirs


@record
class StepSolver(Solver):
    """What the parameters share.

    Parameters
    ----------
    epochs : float
        Passes: a step for every point that is not held out makes one.
    seed : int
    max_steps : int or None
    """

    patience: ClassVar[int | None] = None
    epochs: float
    seed: int = 0
    max_steps: int | None = None


class ExpansionRun(Run):
    """Runs a compiled loop from look to look; a step at every look, and in between while the next
    one is not due.

    Attributes
    ----------
    best : Look
        The one that stands for the run.
    total : int
        Steps it ends after.
    ended_early : bool
        Whether the error on the points held out ended the run.

    Raises
    ------
    MemoryError
    NoLevel
        For responses that are not finite, or a class that is empty beside a free bias.
    """

    _native: Any

    def __init__(self, solver: StepSolver, problem: ExpansionProblem, start: Start | None):
        super().__init__(solver, problem, start)
        self.ended_early = False
        self.total = max(1, math.ceil(solver.epochs * problem.trained))
        if solver.max_steps is not None:
            self.total = min(self.total, solver.max_steps)
        self._open()
        n = len(problem.y)
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
            if self._last.step == self._done() and self._ends():
                return
        while self._done() < self.total:
            due = self._next_look(self._done())
            self._native.run(due - self._done(), PIECE_SECONDS)
            if self._done() < due:
                yield self._progress()
                continue
            self._last = self._look()
            if self.best.step == 0 or self._last.before(self.best):
                self.best = self._last
            self._looked()
            yield self._progress()
            if self._ends():
                return

    def solution(self) -> Solution:
        """The best function."""
        problem, beta = self._problem, np.empty(len(self._problem.y))
        beta[problem.order] = self.best.a * problem.labels
        return Solution(beta, self.best.b)

    def _open(self) -> None:
        raise NotImplementedError

    def _done(self) -> int:
        raise NotImplementedError

    def _look(self) -> Look:
        raise NotImplementedError

    def _looked(self) -> None:
        """What is due after a look."""

    def _next_look(self, done: int) -> int:
        every = max(1, self._problem.trained // LOOKS)
        return min(self.total, (done // every + 1) * every)

    def _judge(self, step: int, a: NDArray, c: NDArray, b: float, scale: float) -> Look:
        """The look at scale (sum a_i y_i K_i + b), with responses c of the sum."""
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

    def _ends(self) -> bool:
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
        return Progress(
            max(1, self._done()),
            self._done() / self._problem.trained,
            best.primal,
            last.dual,
            best.primal - last.dual,
            time.perf_counter() - self._began,
            self.solution,
            0,
            int(np.count_nonzero(best.a)),
            best.risk,
            best.risk,
            native.evaluations,
        )
