# SPDX-License-Identifier: BSD-3-Clause
"""liblinear-train -C: cross validation at one C after the other, each twice the last, every fold
from its solution before."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut.files.models.library_text import REGRESSION, LinearText
from svmcut.libs import measures
from svmcut.libs.liblinear_predict import decisions, predicted_of
from svmcut.libs.linear_machines import Linear, driver_of, fit
from svmcut.libs.rows import Rows
from svmcut.libs.training_rows import (
    class_factors,
    classes_of,
    csr_of,
    fold_count,
    folds,
    taken,
)
from svmcut.spec.records import replace
from svmcut.training.driver import Driver
from svmcut.typing import Any, NamedTuple

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

    Parameters
    ----------
    wanted : int
        Folds.
    first, tube : float or None
        Where C and the width of the tube begin.
    """
    print(f"Doing parameter search with {wanted}-fold cross validation.")
    count = fold_count(len(rows), wanted)
    if options.solver in REGRESSION:
        _search_tubes(rows, options, count, first, tube)
        return
    best_rate, best = -1.0, 0.0
    start = min(_MOST, first if first is not None else _first_cost(rows, options))
    for C, predicted in _predictions(rows, options, count, start, _MOST):
        rate, _ = measures.accuracy(predicted, rows.classes())
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
            error = measures.squared_error(predicted, rows.labels)
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
    train = taken(rows, ~held)
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
    return _Fold(held, taken(rows, held), drivers, names)
