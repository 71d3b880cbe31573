# SPDX-License-Identifier: BSD-3-Clause
"""liblinear-train, LIBLINEAR's `train`: its machines by the trainers of svmcut, with the lines that
LIBLINEAR prints of each.

With -C it cross-validates at one C after the other, each twice the last, every fold from its
solution before.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut.base.records import record, replace
from svmcut.base.resources import usable_cpus
from svmcut.base.typing import Any, NamedTuple
from svmcut.data.examples import Csr, Examples, Source
from svmcut.formats.library_text import JOINT, LINEAR_SOLVERS, ONE_CLASS, REGRESSION, LinearText
from svmcut.models.kernels import Kernel
from svmcut.originals.libs import predicting
from svmcut.originals.libs.liblinear_predict import decisions, predicted_of
from svmcut.originals.libs.rows import (
    Rows,
    check_weights,
    class_factors,
    classes_of,
    csr_of,
    fold_count,
    folds,
    take_rows,
    training_rows,
)
from svmcut.originals.libs.words import (
    Refused,
    bad_usage,
    integer_of,
    kind_of,
    leading_options,
    real_of,
    say_nothing,
    say_now,
    weight_label,
    write_lines,
)
from svmcut.solvers.compose import Watched
from svmcut.solvers.nu import NuProblem
from svmcut.solvers.one_class_cd import OneClassCd
from svmcut.spec.catalog import LOGISTIC, SQUARED_HINGE
from svmcut.spec.parameters import Settings
from svmcut.training.driver import Driver, make_driver

#: Options without and with a value.
FLAGS, VALUED = "qCR", "scpenBwv"


@record
class _Command:
    solver: int | None
    reals: dict[str, float]
    weights: dict[int, float]
    folds: int
    search: bool
    free_bias: bool
    quiet: bool
    names: list[str]


def run(words: list[str]) -> None:
    """Trains a model, or cross-validates, or looks for C."""
    command = _command(words)
    path = command.names[0]
    rows = training_rows(path, 1)
    options = _options(command, path, rows)
    if command.search:
        search(rows, options, command.folds or 5, command.reals.get("c"), command.reals.get("p"))
    elif command.folds:
        cross_validate(rows, options, command.folds)
    else:
        model_file = [*command.names, f"{os.path.basename(path)}.model"][1]
        write_lines(model_file, train(rows, options).lines())


def _command(words: list[str]) -> _Command:
    given, names = leading_options(words, FLAGS, VALUED, "unknown option")
    known: dict[str, str] = {}
    weights: dict[int, float] = {}
    reals: dict[str, float] = {}
    for word, value in given:
        letter = word[1]
        known[letter] = value
        if letter == "w":
            label = weight_label(word)
            weights[label] = weights.get(label, 1.0) * real_of(value)
        elif letter in "cpenB":
            reals[letter] = real_of(value)
    solver = kind_of(known["s"]) if "s" in known else None
    count = integer_of(known["v"]) if "v" in known else 0
    if "v" in known and count < 2:
        raise bad_usage("n-fold cross validation: n must >= 2")
    if not names:
        raise bad_usage()
    if "C" in known and solver is None:
        print("Solver not specified. Using -s 2", file=sys.stderr)
        solver = 2
    if "C" in known and solver not in (0, 2, 11):
        raise bad_usage("Warm-start parameter search only available for -s 0, -s 2 and -s 11")
    flags = ("C" in known, "R" in known, "q" in known)
    return _Command(solver, reals, weights, count, *flags, names[:2])


def _options(command: _Command, path: str, rows: Rows) -> Linear:
    """The options of training, checked."""
    s, reals = 1 if command.solver is None else command.solver, command.reals
    options = Linear(
        solver=s,
        cost=reals.get("c", 1.0),
        tolerance=reals.get("e", TOLERANCES.get(s, USUAL_TOLERANCE)),
        tube=reals.get("p", 0.1),
        nu=reals.get("n", 0.5),
        bias=reals.get("B", -1.0),
        free_bias=command.free_bias,
        weights=command.weights,
        say=say_nothing if command.quiet else say_now,
        path=path,
    )
    for fault in _faults(options):
        raise Refused(f"ERROR: {fault}")
    if s not in REGRESSION and s != ONE_CLASS:
        check_weights(options.weights, rows)
    return options


def _faults(options: Linear):
    """Faults of the parameters, in LIBLINEAR's order."""
    if not options.tolerance > 0:
        yield "eps <= 0"
    if not options.cost > 0:
        yield "C <= 0"
    if not options.tube >= 0:
        yield "p < 0"
    if options.solver == ONE_CLASS and options.bias >= 0:
        yield "prob->bias >=0, but this is ignored in ONECLASS_SVM"
    if options.solver not in LINEAR_SOLVERS:
        yield "unknown solver type"
    if options.solver == ONE_CLASS and not 0 < options.nu < 1:
        yield "nu <= 0 or nu >= 1"
    numbers = (options.tolerance, options.cost, options.tube, options.bias)
    if not all(map(math.isfinite, (*numbers, *options.weights.values()))):
        yield "a parameter is no finite number"
    if options.free_bias and options.bias != 1:
        yield "-R leaves the bias unregularized, which -B 1 adds; give -B 1"
    if options.free_bias and options.solver not in (0, 2, 5, 6, 11):
        yield "-R is for -s 0, 2, 5, 6 and 11"


def cross_validate(rows: Rows, options: Linear, wanted: int) -> None:
    """Predicts every row by the model of the folds that lack it, and prints what that is worth."""
    numbers, features = options.solver in REGRESSION, rows.highest
    predicted = np.full(len(rows), 0.0 if numbers else np.nan)  # where no row is left to train on
    for held in folds(len(rows), fold_count(len(rows), wanted)):
        if not held.all():
            model = train(take_rows(rows, ~held), options, features)
            predicted[held] = predicted_of(model, decisions(model, take_rows(rows, held)))
    truth = rows.labels if numbers or options.solver == ONE_CLASS else rows.classes()
    print("\n".join(predicting.crossed_report(numbers, predicted, truth)))


#: The largest C, of classes and of numbers.
_MOST, _MOST_OF_NUMBERS = 2.0**10, 2.0**20
#: Solutions in a row that are the ones before, after which no C changes anything.
_SAME = 5
#: Of the weights, below which a change is none.
_CHANGE = 1e-6
#: Widths of the tube, from 0 to the largest target.
_TUBES = 20


class _Fold(NamedTuple):
    """A part held out, the drivers of the rest, and the classes of these."""

    rows: NDArray[np.bool_]
    held: Rows
    drivers: list[Driver]
    names: list[int] | None


def search(
    rows: Rows, options: Linear, wanted: int, first: float | None, tube: float | None
) -> None:
    """Prints the C, of numbers the C and the width of the tube, of the best cross validation.

    wanted: the number of folds. first, tube: the C and the width of the tube to begin with, if
    given.
    """
    print(f"Doing parameter search with {wanted}-fold cross validation.")
    count = fold_count(len(rows), wanted)
    if options.solver in REGRESSION:
        _search_tubes(rows, options, count, first, tube)
        return
    best_rate, best = -1.0, 0.0
    start = min(_MOST, first if first is not None else _first_cost(rows, options))
    for C, predicted in _predictions(rows, options, count, start, _MOST):
        rate, _ = predicting.accuracy(predicted, rows.classes())
        options.say(f"log2c={math.log2(C):7.2f}\trate={rate:g}")
        if rate > best_rate:
            best_rate, best = rate, C
    print(f"Best C = {best:g}  CV accuracy = {best_rate:g}%")


def _search_tubes(
    rows: Rows, options: Linear, count: int, first: float | None, tube: float | None
) -> None:
    widest = float(np.abs(rows.labels).max())
    steps = _TUBES - 1
    if tube is not None and tube > 0 and widest > 0:
        steps = min(steps, int(tube / (widest / _TUBES)))
    best_error, best, best_tube = math.inf, 0.0, 0.0
    for step in range(steps, -1, -1):
        own = replace(options, tube=widest * step / _TUBES)
        start = min(_MOST_OF_NUMBERS, first if first is not None else _first_tube_cost(rows, own))
        for C, predicted in _predictions(rows, own, count, start, _MOST_OF_NUMBERS):
            error = predicting.squared_error(predicted, rows.labels)
            own.say(f"log2c={math.log2(C):7.2f}\tp={own.tube:7.2f}\tMean squared error={error:g}")
            if error < best_error:
                best_error, best, best_tube = error, C, own.tube
    print(f"Best C = {best:g} Best p = {best_tube:g}  CV MSE = {best_error:g}")


def _first_cost(rows: Rows, options: Linear) -> float:
    """A power of 2 at which the loss of no row matters much beside |w|^2."""
    most = max(1, len(rows)) * _longest(rows, options) * (1.0 if options.solver == 0 else 2.0)
    return 2.0 ** math.floor(math.log2(1.0 / most)) if most > 0 else 2.0**-10


def _first_tube_cost(rows: Rows, options: Linear) -> float:
    """A power of 2 at which the loss stays within a tenth of that of w = 0 (Hsia and Lin, Parameter
    selection for linear support vector regression, IEEE TNNLS 2020)."""
    sizes = np.abs(rows.labels)
    loss = float((np.maximum(0.0, sizes - options.tube) ** 2).sum())
    most = 8.0 * float(sizes.sum()) ** 2 * _longest(rows, options)
    return 2.0 ** math.floor(math.log2(0.01 * loss / most)) if loss > 0 and most > 0 else 1.0


def _longest(rows: Rows, options: Linear) -> float:
    """The largest |x|^2 of a row, its bias with it."""
    of = rows.row_of_entries()
    longest = float(np.bincount(of, rows.values * rows.values, len(rows)).max(initial=0.0))
    return longest + max(0.0, options.bias) ** 2


def _predictions(
    rows: Rows, options: Linear, count: int, first: float, most: float
) -> Iterator[tuple[float, NDArray[np.float64]]]:
    """C, and the prediction of every row by the folds that lack it, up to the largest C, or until
    nothing changes."""
    made = [_fold(rows, options, held) for held in folds(len(rows), count)]
    last: list[Any] = [None] * len(made)
    same, C = 0, first
    while most >= C:
        predicted, changed = np.zeros(len(rows)), False
        own = replace(options, cost=C)
        for k, fold in enumerate(made):
            W = _fold_weights(own, fold)
            model = LinearText(own.solver, fold.names, own.bias, W)
            predicted[fold.rows] = predicted_of(model, decisions(model, fold.held))
            size = float(np.abs(W).max(initial=0.0))
            changed |= last[k] is None or float(np.abs(W - last[k]).max(initial=0)) > _CHANGE * size
            last[k] = W
        yield C, predicted
        same = 0 if changed else same + 1
        if same == _SAME:
            return
        C *= 2
    options.say("warning: maximum C reached.")


def _fold_weights(options: Linear, fold: _Fold) -> NDArray[np.float64]:
    quiet = replace(options, say=lambda text: None)
    features: Any = [driver.plan for driver in fold.drivers]
    return np.hstack(
        [
            fit(driver, quiet, plan.vectors.examples.X).W
            for driver, plan in zip(fold.drivers, features)
        ]
    )


def _fold(rows: Rows, options: Linear, held: NDArray[np.bool_]) -> _Fold:
    train = take_rows(rows, ~held)
    X = csr_of(options.path, train, 1, rows.highest)
    if options.solver in REGRESSION:
        drivers, names = [driver_of(options, X, train.labels, None)], None
    else:
        names, places = classes_of(train.classes())
        factors, drivers = class_factors(names, options.weights), []
        for k in range(1 if len(names) == 2 else len(names)):
            own = places == k
            weights = np.where(own, factors[k], factors[1] if len(names) == 2 else 1.0)
            signs = np.where(own, 1.0, -1.0)
            drivers.append(driver_of(options, X, signs, weights))
    return _Fold(held, take_rows(rows, held), drivers, names)


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
