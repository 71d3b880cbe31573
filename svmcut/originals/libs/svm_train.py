# SPDX-License-Identifier: BSD-3-Clause
"""svm-train."""

from __future__ import annotations

import math
import os

import numpy as np

from svmcut.formats.library_text import (
    C_SVC,
    EPSILON_SVR,
    KERNEL_TYPES,
    NU_SVC,
    NU_SVR,
    ONE_CLASS_SVM,
    POLYNOMIAL,
    PRECOMPUTED,
    RBF,
    SIGMOID,
    SVM_TYPES,
)
from svmcut.originals.libs import predicting
from svmcut.originals.libs.kernel_machines import Svm, check_nu, train
from svmcut.originals.libs.rows import (
    Rows,
    check_weights,
    classes_of,
    fold_count,
    folds,
    take_rows,
    training_rows,
)
from svmcut.originals.libs.svm_predict import Predictor
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

_KINDS, _INTEGERS, _REALS = "st", "dhbv", "grncpme"
#: Options without and with a value.
FLAGS, VALUED = "q", _KINDS + _INTEGERS + _REALS + "w"
#: What reads the value of an option that is a whole number.
_READ = dict.fromkeys(_KINDS, kind_of) | dict.fromkeys(_INTEGERS, integer_of)


def run(words: list[str]) -> None:
    """Trains a model, or cross-validates."""
    given, names = leading_options(words, FLAGS, VALUED, "Unknown option")
    numbers: dict[str, float] = {}
    weights: dict[int, float] = {}
    quiet = False
    for word, value in given:
        letter = word[1]
        if letter == "q":
            quiet = True
        elif letter == "w":
            label = weight_label(word)
            weights[label] = weights.get(label, 1.0) * real_of(value)
        else:
            numbers[letter] = _READ.get(letter, real_of)(value)
    count = int(numbers.get("v", 0))
    if "v" in numbers and count < 2:
        raise bad_usage("n-fold cross validation: n must >= 2")
    if not names:
        raise bad_usage()
    path = names[0]
    rows = training_rows(path, 0)
    options = _options(numbers, weights, rows, path, quiet)
    for fault in _faults(options, numbers):
        raise Refused(f"ERROR: {fault}")
    if options.svm == C_SVC:
        check_weights(weights, rows)
    if options.svm == NU_SVC:
        check_nu(options, rows)
    if options.kernel == PRECOMPUTED:
        check_serials(rows)
    if count:
        cross_validate(rows, options, count)
    else:
        model_file = [*names, f"{os.path.basename(path)}.model"][1]
        write_lines(model_file, train(rows, options).lines())


def _options(
    numbers: dict[str, float], weights: dict[int, float], rows: Rows, path: str, quiet: bool
) -> Svm:
    gamma = numbers.get("g", 0.0)
    if gamma == 0:
        gamma = 1.0 / rows.highest if rows.highest else 0.0
    return Svm(
        svm=int(numbers.get("s", C_SVC)),
        kernel=int(numbers.get("t", RBF)),
        degree=int(numbers.get("d", 3)),
        gamma=gamma,
        coef0=numbers.get("r", 0.0),
        cost=numbers.get("c", 1.0),
        nu=numbers.get("n", 0.5),
        tube=numbers.get("p", 0.1),
        tolerance=numbers.get("e", 1e-3),
        cache=numbers.get("m", 100.0),
        probability=numbers.get("b", 0) == 1,
        weights=weights,
        say=say_nothing if quiet else say_now,
        path=path,
    )


def _faults(options: Svm, numbers: dict[str, float]):
    """Faults of the parameters, in LIBSVM's order."""
    s, t = options.svm, options.kernel
    if not 0 <= s < len(SVM_TYPES):
        yield "unknown svm type"
    if not 0 <= t < len(KERNEL_TYPES):
        yield "unknown kernel type"
    if t in (POLYNOMIAL, RBF, SIGMOID) and options.gamma < 0:
        yield "gamma < 0"
    if t == POLYNOMIAL and options.degree < 0:
        yield "degree of polynomial kernel < 0"
    if options.cache <= 0:
        yield "cache_size <= 0"
    if options.tolerance <= 0:
        yield "eps <= 0"
    if s in (C_SVC, EPSILON_SVR, NU_SVR) and options.cost <= 0:
        yield "C <= 0"
    if s in (NU_SVC, ONE_CLASS_SVM, NU_SVR) and not 0 < options.nu <= 1:
        yield "nu <= 0 or nu > 1"
    if s == EPSILON_SVR and options.tube < 0:
        yield "p < 0"
    if numbers.get("h", 1) not in (0, 1):
        yield "shrinking != 0 and shrinking != 1"
    if numbers.get("b", 0) not in (0, 1):
        yield "probability != 0 and probability != 1"
    given = (options.gamma, options.coef0, options.cost, options.tube, options.tolerance)
    if not all(map(math.isfinite, (*given, options.cache, *options.weights.values()))):
        yield "a parameter is no finite number"


def check_serials(rows: Rows) -> None:
    """Refuses rows of a precomputed kernel without a serial number at index 0, or with one that no
    value stands at."""
    firsts, highest = rows.indptr[:-1], rows.highest
    there = rows.indptr[1:] > firsts
    serials = np.full(len(rows), np.nan)
    serials[there] = np.where(rows.indices[firsts[there]] == 0, rows.values[firsts[there]], np.nan)
    missing = np.isnan(serials)
    wrong = missing | ~((serials >= 1) & (np.trunc(serials) <= highest))
    if not wrong.any():
        return
    k = int(np.argmax(wrong))
    if missing[k]:
        raise Refused(
            "Wrong input format: first column must be 0:sample_serial_number "
            f"(line {k + 1} of {len(rows)})"
        )
    raise Refused(
        "Wrong input format: sample_serial_number out of range "
        f"(line {k + 1}: {serials[k]:g}; expected 1 to {highest})"
    )


def cross_validate(rows: Rows, options: Svm, wanted: int) -> None:
    """Predicts every row by the model of the folds that lack it, and prints what that is worth."""
    count = fold_count(len(rows), wanted)
    classes = classes_of(rows.classes())[1] if options.of_classes and count < len(rows) else None
    numbers = options.svm in (EPSILON_SVR, NU_SVR)
    predicted = np.full(len(rows), 0.0 if numbers else np.nan)  # where no row is left to train on
    for held in folds(len(rows), count, classes):
        if held.all():
            continue
        model = train(take_rows(rows, ~held), options)
        with_probabilities = options.probability and options.of_classes
        predicted[held] = Predictor(model).predict(take_rows(rows, held), with_probabilities)[0]
    truth = rows.classes() if options.of_classes else rows.labels
    print("\n".join(predicting.crossed_report(numbers, predicted, truth)))
