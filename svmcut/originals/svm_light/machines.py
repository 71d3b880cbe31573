# SPDX-License-Identifier: BSD-3-Clause
"""Machines of labels or numbers with a free bias, with all the numbers svm_light's estimates are
made of.

A machine is trained by SMO on kernel values; on many rows of few features without a kernel by
Newton's method, whose solution has multipliers that meet the same KKT conditions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from svmcut.base.records import record, replace
from svmcut.base.typing import Any, NamedTuple
from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.models.linear_sums import linear_weights
from svmcut.risks.weights import boxes
from svmcut.solvers.auto import DENSE_DIM
from svmcut.solvers.smo import KernelProblem, Smo
from svmcut.solvers.smoothed_margin import SmoothedMargin

#: Rows from which a linear machine is trained on features, where these are few enough for a
#: Hessian.
FEATURE_ROWS = 1000


Spent = Mapping[str, float]
#: Parts of training in svm_light's order.
PARTS = ("kernel", "optimizer", "final", "update", "model", "check", "select")


def both(one: Spent, other: Spent) -> Spent:
    """The sums, part by part."""
    return {name: one.get(name, 0.0) + other.get(name, 0.0) for name in {**one, **other}}


class Machine(NamedTuple):
    """A trained machine: f(x) = sum_i beta_i K(x_i, x) + b."""

    #: (n,) with the signs of labels.
    beta: NDArray[np.float64]
    b: float
    #: (n,) f at the training rows.
    scores: NDArray[np.float64]
    #: Of the KKT conditions.
    violation: float
    #: Of the solver.
    steps: int
    #: Kernel values; 0 for a machine that was trained on features.
    evaluations: int
    #: Seconds by the names of PARTS.
    spent: Spent = MappingProxyType({})

    def after(self, earlier: Machine) -> Machine:
        """This one, with the work of an earlier one too."""
        return self._replace(
            steps=earlier.steps + self.steps,
            evaluations=earlier.evaluations + self.evaluations,
            spent=both(earlier.spent, self.spent),
        )

    def losses(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Hinge losses at the training rows."""
        return np.maximum(0.0, 1.0 - y * self.scores)


@record
class MachineProblem:
    """min over w, b of 1/2 |w|^2 + C sum_i v_i max(0, 1 - y_i f(x_i)), of targets of max(0, |y_i -
    f(x_i)| - tube); fields as in svmcut.solvers.smo.KernelProblem, and the kernel may be the linear
    one."""

    X: Csr
    y: NDArray[np.float64]
    kernel: Kernel
    C: float
    #: B is 0 without.
    free_bias: bool
    weights: NDArray[np.float64] | None = None
    tube: float | None = None
    #: Of the KKT conditions.
    tolerance: float = 1e-3
    cache_mb: float = 100.0
    threads: int = 1
    #: Whether the parts of steps are timed, which costs a little.
    timed: bool = False

    @property
    def boxes(self) -> NDArray[np.float64]:
        """(n,) C_i."""
        return np.broadcast_to(boxes(self.C, self.weights), len(self.y))

    @property
    def on_features(self) -> bool:
        """True where it is trained on features, unless it begins somewhere."""
        few = self.X.n_features < DENSE_DIM and len(self.y) >= FEATURE_ROWS
        return self.kernel.is_linear and self.tube is None and few

    def take(self, rows: NDArray[np.int64]) -> MachineProblem:
        """The problem of these rows."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, X=self.X.take(rows), y=self.y[rows], weights=weights)

    def feasible(self, beta: NDArray[np.float64]) -> NDArray[np.float64]:
        """These coefficients within their boxes, and of sum 0 where the bias is free."""
        low = -self.boxes if self.tube is not None else np.where(self.y > 0, 0.0, -self.boxes)
        high = self.boxes if self.tube is not None else np.where(self.y > 0, self.boxes, 0.0)
        inside = np.clip(beta, low, high)
        rest = float(inside.sum())
        if self.free_bias and rest:
            heavy = inside * rest > 0
            inside[heavy] *= 1.0 - rest / float(inside[heavy].sum())
        return inside

    def squared_norm(self, machine: Machine) -> float:
        """Return |w|^2 of a machine; below 0 by rounding, or for a kernel that is not definite."""
        if self.kernel.is_linear:  # a large bias would hide small scores
            points = np.flatnonzero(machine.beta)
            w = linear_weights(self.X.take(points), machine.beta[points])
            return float(w @ w)
        return float(machine.beta @ (machine.scores - machine.b))

    def without(
        self, removed: NDArray[np.bool_], observe: Callable[[Any], None] | None = None
    ) -> Machine:
        """The machine of the rows that are not removed, with the scores of all."""
        rows, aside = np.flatnonzero(~removed), np.flatnonzero(removed)
        part = self.take(rows).train(observe)
        beta, scores = np.zeros(len(removed)), np.empty(len(removed))
        beta[rows], scores[rows] = part.beta, part.scores
        points = np.flatnonzero(beta)
        scores[aside] = self.kernel.expansion(
            self.X.take(aside), self.X.take(points), beta[points], -part.b, self.threads
        )
        return part._replace(beta=beta, scores=scores)

    def train(
        self, observe: Callable[[Any], None] | None = None, beta: NDArray | None = None
    ) -> Machine:
        """Trains the machine, f = 0 of no rows; observe is called with every step that the solver
        reports.

        beta: (n,) coefficients to begin at, within the boxes and of sum 0 where the bias is free.
        Raises MemoryError.
        """
        observe = observe or (lambda step: None)
        if not len(self.y):
            return Machine(np.zeros(0), 0.0, np.zeros(0), 0.0, 0, 0)
        problem = KernelProblem(
            self.X, self.y, self.kernel, self.C, self.tolerance, None, self.weights, self.tube
        )
        began = time.perf_counter()
        if self.on_features and beta is None:
            last = None
            for last in SmoothedMargin(problem, self.free_bias, self.threads):
                observe(last)
            if last is not None and last.violation <= self.tolerance:
                solution, spent = last.solution, {"optimizer": time.perf_counter() - began}
                return Machine(
                    solution.beta, solution.b, last.scores, last.violation, last.steps, 0, spent
                )
        solver = Smo(self.free_bias, self.cache_mb, self.threads)
        state = None if beta is None else solver.state_at(problem, beta)
        run: Any = solver.start(problem, None, state)
        if self.timed:
            run.time_parts()
        began = time.perf_counter()
        steps = evaluations = 0
        for step in run:
            observe(step)
            steps, evaluations = step.iteration, step.evaluations or 0
        ended = time.perf_counter()
        f = run.expansion()
        scores = run.scores()
        parts = run.seconds_of_parts()
        parts["check"] = ended - began - parts.pop("steps") - parts["final"]
        parts["model"] = time.perf_counter() - ended
        return Machine(f.beta, f.b, scores, run.violation(), steps, evaluations, parts)
