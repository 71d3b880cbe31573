# SPDX-License-Identifier: BSD-3-Clause
"""liblinear-train, LIBLINEAR's `train`."""

from __future__ import annotations

import math
import os
import sys

import numpy as np

from svmcut.files.models.library_text import LINEAR_SOLVERS, ONE_CLASS, REGRESSION
from svmcut.libs import measures
from svmcut.libs.liblinear_predict import decisions, predicted_of
from svmcut.libs.linear_machines import TOLERANCES, USUAL_TOLERANCE, Linear, train
from svmcut.libs.output import say_nothing, say_now, write_lines
from svmcut.libs.rows import Rows, training_rows
from svmcut.libs.training_rows import check_weights, fold_count, folds, taken
from svmcut.libs.words import (
    Refused,
    bad_usage,
    integer_of,
    kind_of,
    leading_options,
    real_of,
    weight_label,
)
from svmcut.spec.records import record

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
        from svmcut.libs.search import search

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
    """What to train, checked."""
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
    """What is wrong with the parameters, in LIBLINEAR's order."""
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
            model = train(taken(rows, ~held), options, features)
            predicted[held] = predicted_of(model, decisions(model, taken(rows, held)))
    truth = rows.labels if numbers or options.solver == ONE_CLASS else rows.classes()
    print("\n".join(measures.crossed_report(numbers, predicted, truth)))
