# SPDX-License-Identifier: BSD-3-Clause
"""liblinear-train, LIBLINEAR's `train`.

liblinear-train -C: cross validation at one C after the other, each twice the last, every fold
from its solution before.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut.base.records import record, replace
from svmcut.base.typing import Any, NamedTuple
from svmcut.formats.library_text import LINEAR_SOLVERS, ONE_CLASS, REGRESSION, LinearText
from svmcut.originals.libs import predicting
from svmcut.originals.libs.liblinear_predict import decisions, predicted_of
from svmcut.originals.libs.linear_machines import (
    TOLERANCES,
    USUAL_TOLERANCE,
    Linear,
    driver_of,
    fit,
    train,
)
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
from svmcut.training.driver import Driver

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
            W = _weights(own, fold)
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


def _weights(options: Linear, fold: _Fold) -> NDArray[np.float64]:
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
