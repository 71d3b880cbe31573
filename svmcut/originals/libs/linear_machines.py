# SPDX-License-Identifier: BSD-3-Clause
"""LIBLINEAR's machines by the trainers of svmcut, with the lines that LIBLINEAR prints of each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from svmcut.base.records import record
from svmcut.base.resources import usable_cpus
from svmcut.base.typing import Any, NamedTuple
from svmcut.data.examples import Csr, Examples, Source
from svmcut.formats.library_text import JOINT, ONE_CLASS, REGRESSION, LinearText
from svmcut.models.kernels import Kernel
from svmcut.originals.libs.rows import Rows, class_factors, classes_of, csr_of
from svmcut.solvers.compose import Watched
from svmcut.solvers.nu import NuProblem
from svmcut.solvers.one_class_cd import OneClassCd
from svmcut.spec.catalog import LOGISTIC, SQUARED_HINGE
from svmcut.spec.parameters import Settings
from svmcut.training.driver import Driver, make_driver

_HINGE, _TUBE, _SQUARED_TUBE = "error-rate", "epsilon-insensitive", "squared-epsilon-insensitive"
#: By the numbers of -s.
LOSSES = {
    0: LOGISTIC,
    1: SQUARED_HINGE,
    2: SQUARED_HINGE,
    3: _HINGE,
    4: _HINGE,
    5: SQUARED_HINGE,
    6: LOGISTIC,
    7: LOGISTIC,
    11: _SQUARED_TUBE,
    12: _SQUARED_TUBE,
    13: _TUBE,
}
#: Of -e, and the relative gap of an -e of 1. LIBLINEAR ends at a gradient or at a violation of the
#: KKT conditions; at its default it is further from the optimum than these gaps are.
TOLERANCES = {0: 0.01, 2: 0.01, 5: 0.01, 6: 0.01, 11: 1e-4, 21: 0.01}
USUAL_TOLERANCE = 0.1
_GAPS = {0: 0.01, 2: 0.01, 4: 1e-3, 5: 0.1, 6: 0.1, 11: 1.0, 21: 0.1}
_GAP = 0.01
#: Losses of classes at once that differ by less are the same; rows within this share of a margin
#: are near it.
SAME, NEAR_MARGIN = 0.01, 0.25
#: A relative gap that double precision reaches.
LEAST_GAP, LARGEST_GAP = 1e-9, 1e-3
#: Those that print a line a step, and those that count their support vectors.
_PRIMAL, _COUNTED, _SPARSE = (0, 2, 11), (1, 3, 4, 12, 13), (5, 6)


@record
class Linear:
    """The options of liblinear-train."""

    #: -s.
    solver: int
    #: -c.
    cost: float
    #: -e.
    tolerance: float
    #: -p.
    tube: float
    #: -n.
    nu: float
    #: -B.
    bias: float
    #: -R.
    free_bias: bool
    #: -wi.
    weights: dict[int, float]
    #: Prints reports of training.
    say: Callable[[str], None]
    #: Of the training file.
    path: str

    def settings(self) -> Settings:
        """The settings of one machine."""
        known: dict[str, Any] = {}
        if self.solver in REGRESSION:
            known = {"task": "regression", "tube": self.tube}
        elif self.solver == JOINT:
            known = {"task": "multiclass", "multiclass": "crammer-singer"}
        if self.solver in _SPARSE:
            known["penalty"] = "l1"
        if self.free_bias:
            known |= {"free_bias": True, "bias": 0.0}
        else:
            known["bias"] = max(0.0, self.bias)
        gap = _GAPS.get(self.solver, _GAP) * self.tolerance
        known["gap"] = min(max(gap, LEAST_GAP), LARGEST_GAP)
        return Settings(loss=LOSSES[self.solver], example_cost=self.cost, **known)


class Fitted(NamedTuple):
    """Weights (d, columns), with those of the bias behind them where there is one, and the lines of
    the report."""

    W: NDArray[np.float64]
    lines: list[str]


def train(rows: Rows, options: Linear, features: int | None = None) -> LinearText:
    """The model of rows, whose report is told machine by machine."""
    features = rows.highest if features is None else features
    X = csr_of(options.path, rows, 1, features)
    s = options.solver
    if s == ONE_CLASS:
        return one_class(X, options)
    if s in REGRESSION:
        W = _print_lines(options, machine(options, X, rows.labels, None))
        return LinearText(s, None, options.bias, W)
    names, places = classes_of(rows.classes())
    factors = class_factors(names, options.weights)
    if s == JOINT:
        weights = None if (factors == 1).all() else factors[places]
        W = _print_lines(options, joint_machine(options, X, places, weights, len(names)))
        return LinearText(s, names, options.bias, W)
    columns = []
    for k in range(1 if len(names) == 2 else len(names)):
        own = places == k
        other = factors[1] if len(names) == 2 else 1.0
        weights = np.where(own, factors[k], other)
        signs = np.where(own, 1.0, -1.0)
        columns.append(
            _print_lines(
                options, machine(options, X, signs, None if (weights == 1).all() else weights)
            )
        )
    return LinearText(s, names, options.bias, np.hstack(columns))


def one_class(X: Csr, options: Linear) -> LinearText:
    """The machine of one class, in LIBLINEAR's scale: multipliers up to 1."""
    n = X.n_rows
    gap = min(max(_GAPS[ONE_CLASS] * options.tolerance, LEAST_GAP), LARGEST_GAP)
    compact, columns = X.compact()
    problem = NuProblem(compact, np.zeros(n), np.ones(n), (options.nu * n, 0.0), Kernel(), gap=gap)
    watched = Watched(OneClassCd(usable_cpus()), problem)
    for _ in watched:
        pass
    run: Any = watched.run
    beta, (rho, _) = run.expansion().beta, run.levels()
    w = np.zeros(X.n_features)
    w[slice(0, compact.n_features) if columns is None else columns] = run.w
    count = run.iterations
    late = ["WARNING: reaching max number of iterations"] if watched.idle else []
    head = ["." * (count // 10) + "*", f"optimization finished, #iter = {count}", *late]
    objective, support = 0.5 * float(w @ w), np.count_nonzero(beta)
    lines = [f"Objective value = {objective:.6f}", f"nSV = {support}", f"rho = {rho:.6f}"]
    options.say("\n".join([*head, *lines, *inside(rho)]))
    return LinearText(ONE_CLASS, None, options.bias, w[:, None], rho)


def inside(rho: float) -> list[str]:
    """A warning of a machine of one class that says nothing."""
    if rho > 0:
        return []
    return ["WARNING: the origin is among the rows, so that rho is 0 but for rounding; raise -n"]


def _print_lines(options: Linear, fitted: Fitted) -> NDArray[np.float64]:
    options.say("\n".join(fitted.lines))
    return fitted.W


def driver_of(options: Linear, X: Csr, y: NDArray, weights: NDArray | None) -> Driver:
    """The driver of one machine."""
    examples = Examples(X, y, None, weights, Source(options.path))
    return make_driver(options.settings(), examples)


def machine(options: Linear, X: Csr, y: NDArray, weights: NDArray | None) -> Fitted:
    """One machine of signs or numbers."""
    return fit(driver_of(options, X, y, weights), options, X)


def fit(driver: Driver, options: Linear, X: Csr) -> Fitted:
    """The machine of a driver."""
    steps: list[str] = []

    def observe(progress: Any, _: Any) -> None:
        if progress.report and options.solver in _PRIMAL:
            steps.append(f"iter {len(steps) + 1:2d} f {progress.primal:.3e} gap {progress.gap:.3e}")

    outcome = driver.fit(None, options.cost, observe)
    model: Any = outcome.model
    W = _weights(model, options, X.n_features)
    return Fitted(W, _report(driver, outcome, options, W, steps))


def _weights(model: Any, options: Linear, features: int) -> NDArray[np.float64]:
    """(features, and one more with a bias; 1)"""
    w = np.zeros(features + (options.bias >= 0))
    if model.columns is None:
        w[: len(model.w)] = model.w
    else:
        w[model.columns] = model.w
    if options.bias > 0:
        w[-1] = (0.0 - model.b) / options.bias
    return w[:, None]


def joint_machine(
    options: Linear, X: Csr, places: NDArray, weights: NDArray | None, count: int
) -> Fitted:
    """The machine of Crammer and Singer, a column a class."""
    driver = driver_of(options, X, places.astype(np.float64), weights)
    outcome = driver.fit(None, options.cost)
    model: Any = outcome.model
    W = np.zeros((X.n_features + (options.bias >= 0), count))
    rows = slice(0, len(model.W)) if model.columns is None else model.columns
    W[rows] = model.W
    if options.bias > 0:
        W[-1] = model.constant
    return Fitted(W, _report(driver, outcome, options, W))


def _report(
    driver: Driver, outcome: Any, options: Linear, W: NDArray[np.float64], steps: Any = ()
) -> list[str]:
    """The lines of one machine."""
    s, count = options.solver, max(1, outcome.progress.iteration)
    progress, gap = outcome.progress, options.settings().gap or 0.0  # of the weights as they are
    met = progress.gap <= gap * abs(progress.primal)
    late = [] if met else ["WARNING: reaching max number of iterations"]
    if s in _PRIMAL:
        return [*steps, *late]
    lines = ["." * (count // 10) + "*"]
    if s == 6:
        lines.append("=" * 25)
    lines += [f"optimization finished, #iter = {count}", *late]
    if s in _SPARSE:
        lines.append(f"Objective value = {outcome.primal:.6f}")
        lines.append(f"#nonzeros/#features = {np.count_nonzero(W)}/{len(W)}")
        return lines
    lines.append(f"Objective value = {-outcome.dual:.6f}")
    if s in _COUNTED:
        lines.append(f"nSV = {_support(driver, W, options)}")
    return lines


def _support(driver: Driver, W: NDArray[np.float64], options: Linear) -> int:
    """Multipliers that are not 0: one a row, of classes at once one a row and class."""
    if options.solver != JOINT:
        return int(np.count_nonzero(driver.run.fractions))
    plan: Any = driver.plan
    scores = plan.space.scores(driver.run.best).reshape(-1, W.shape[1])
    return joint_support(scores, plan.classes.risk.y)


def joint_support(scores: NDArray[np.float64], right: NDArray) -> int:
    """Multipliers of classes at once that are not 0 at the optimum, by the scores (n, K) there and
    the rows' classes: of a row's most violating classes, and of its own where there are any.

    Other rows that are no further than NEAR_MARGIN from their margin have one: the steps of the
    dual begin with all rows, and leave roundings of multipliers that return to 0.
    """
    rows = np.arange(len(scores))
    losses = 1 + scores - scores[rows, right][:, None]
    losses[rows, right] = -np.inf
    largest = losses.max(axis=1)
    used = largest > -SAME
    count = np.count_nonzero(losses[used] > largest[used, None] - SAME) + np.count_nonzero(used)
    return int(count + np.count_nonzero(~used & (largest > -NEAR_MARGIN)))
