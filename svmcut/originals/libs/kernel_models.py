# SPDX-License-Identifier: BSD-3-Clause
"""LIBSVM's models, made of the machines of all pairs of classes, or of one.

Probabilities of LIBSVM's machines, from the values of rows that five folds held out.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import NDArray

from svmcut.base.records import replace
from svmcut.base.typing import Any
from svmcut.formats.library_text import ONE_CLASS_SVM, PRECOMPUTED, KernelText
from svmcut.models import pairs_of
from svmcut.originals.libs.kernel_machines import Data, Machine, Svm, data_of, fit
from svmcut.originals.libs.rows import Rows, class_factors, classes_of, fold_count, folds, take_rows
from svmcut.originals.libs.svm_predict import Expansion, pair_coefficients
from svmcut.originals.libs.words import Refused
from svmcut.scoring.probabilities import Sigmoid, fit_sigmoid

_FOLDS = 5
#: Standard deviations beyond which a residual has no part in the scale of the others.
MAX_DEVIATIONS = 5.0
#: Marks of the scores of one class on each side of 0.
_MARKS = 5


def pair_sigmoid(data: Data, y: NDArray, v: NDArray, options: Svm) -> Sigmoid:
    """A and B of a pair of classes with these signs."""
    f = np.zeros(len(y))
    for held in folds(len(y), _FOLDS):
        train = np.flatnonzero(~held)
        signs = y[train]
        if not len(train) or (signs == signs[:1]).all():  # no machine of one class
            f[held] = signs[0] if len(train) else 0.0
            continue
        f[held] = _values(data, (train, held), signs, v[train], options)
    return fit_sigmoid(f, y > 0)


def laplace_scale(data: Data, options: Svm) -> float:
    """Sigma of the Laplace distribution of residuals, without those that are far away."""
    y = data.rows.labels
    residuals, ones = np.abs(y), np.ones(len(y))  # of no row to train on nothing is known
    for held in folds(len(y), fold_count(len(y), _FOLDS)):
        train = np.flatnonzero(~held)
        if not len(train):
            continue
        residuals[held] = np.abs(
            y[held] - _values(data, (train, held), y[train], ones[train], options)
        )
    far = MAX_DEVIATIONS * math.sqrt(2.0) * float(residuals.mean())
    sigma = float(residuals[residuals <= far].mean())
    options.say(
        "Prob. model for test data: target value = predicted value + z,\n"
        f"z: Laplace distribution e^(-|z|/sigma)/(2sigma),sigma= {sigma:g}"
    )
    return sigma


def marks(data: Data, machine: Machine, options: Svm) -> list[float] | None:
    """Scores that part ten ranges of probability of one class: halfway between bounds, five that
    hold a fifth each of the training rows below 0, then 0, then five of those above. None, and a
    warning, where one side has fewer rows than bounds."""
    f = data.expansion(data, machine, options)
    # rows at 0, whose sign is what rounding leaves of it: half of them on either side
    free = (machine.beta > 0) & (machine.beta < 1)
    count = np.count_nonzero(f[~free] < 0) + np.count_nonzero(free) // 2
    below, above = np.split(np.sort(f), [count])
    if min(len(below), len(above)) < _MARKS:
        print(
            f"WARNING: number of positive or negative decision values <{_MARKS}; "
            "too few to do a probability estimation.",
            file=sys.stderr,
        )
        return None
    places = np.arange(_MARKS)
    low, high = below[places * len(below) // _MARKS], above[(places + 1) * len(above) // _MARKS - 1]
    bounds = np.concatenate([low, [0.0], high])
    return (0.5 * (bounds[:-1] + bounds[1:])).tolist()


def _values(
    data: Data, places: tuple[NDArray, NDArray], y: NDArray, v: NDArray, options: Svm
) -> NDArray[np.float64]:
    """f of the rows that are held out, where places are those to train on, and whether a row is
    held out."""
    train, held = data.take(places[0]), data.take(np.flatnonzero(places[1]))
    machine = fit(train, y, v, options)
    if options.of_classes:
        options.say(f"Total nSV = {np.count_nonzero(machine.beta)}")
    return train.expansion(held, machine, options)


#: Rows that show how digits change decisions, and the part of the tolerance by which they may.
SAMPLED, PART = 250, 0.1


def train(rows: Rows, options: Svm) -> KernelText:
    """The model of rows, whose report is told machine by machine."""
    data = data_of(rows, options)
    if not options.of_classes:
        return _one_machine(data, options)
    names, places = classes_of(rows.classes())
    factors = class_factors(names, options.weights)
    K, own = len(names), [np.flatnonzero(places == k) for k in range(len(names))]
    if K == 1:
        options.say("WARNING: training data in only one class. See README for details.")
    coef: NDArray[np.float64] = np.zeros((len(rows), max(1, K - 1)))
    used, rho, sigmoids = np.zeros(len(rows), bool), [], []
    for i, j in pairs_of(K):
        pair = np.concatenate([own[i], own[j]])
        y = np.repeat([1.0, -1.0], [len(own[i]), len(own[j])])
        v = np.where(y > 0, factors[i], factors[j])
        if options.probability:
            sigmoids.append(pair_sigmoid(data.take(pair), y, v, options))
        machine = fit(data.take(pair), y, v, options)
        rho.append(machine.rho)
        coef[own[i], j - 1] = machine.beta[: len(own[i])]
        coef[own[j], i] = machine.beta[len(own[i]) :]
        used[pair] |= machine.beta != 0
    order = np.concatenate([part[used[part]] for part in own])
    options.say(f"Total nSV = {len(order)}")
    known: dict[str, Any] = {"labels": names, "counts": [int(used[part].sum()) for part in own]}
    if options.probability:
        known["sigmoids"] = [A for A, _ in sigmoids], [B for _, B in sigmoids]
    return _text(data, options, order, coef[order], rho, known)


def _one_machine(data: Data, options: Svm) -> KernelText:
    """The model of a regression, or of one class."""
    known: dict[str, Any] = {}
    if options.probability and options.svm != ONE_CLASS_SVM:
        known["sigmoids"] = [laplace_scale(data, options)], None
    machine = fit(data, data.rows.labels, np.ones(len(data.rows)), options)
    if options.probability and options.svm == ONE_CLASS_SVM:
        known["marks"] = marks(data, machine, options)
    order = np.flatnonzero(machine.beta)
    return _text(data, options, order, machine.beta[order][:, None], [machine.rho], known)


def _text(
    data: Data,
    options: Svm,
    order: NDArray[np.int64],
    coefs: NDArray[np.float64],
    rho: list[float],
    known: dict[str, Any],
) -> KernelText:
    """The model of these support vectors."""
    if options.kernel == PRECOMPUTED:
        vectors = serials_of(data.rows, order)
    else:
        rows = take_rows(data.rows, order)
        vectors = rows.indptr, rows.indices, rows.values
    known |= {"degree": options.degree, "gamma": options.gamma, "coef0": options.coef0}
    text = KernelText(options.svm, options.kernel, rho, coefs, vectors, **known)
    return text if options.kernel == PRECOMPUTED else _with_digits(text, data.rows, options)


def _with_digits(text: KernelText, rows: Rows, options: Svm) -> KernelText:
    """The model with the vectors as they were trained, in single precision, and all their digits,
    where those of the file in eight digits would change a decision by much of the tolerance."""
    indptr, indices, values = text.rows
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scale = 10.0 ** (7 - np.floor(np.log10(np.abs(values))))
        eight = np.where(values == 0, 0.0, np.round(values * scale) / scale)
    trained = values.astype(np.float32).astype(np.float64)
    exact = replace(text, rows=(indptr, indices, trained), digits=17)
    short = replace(text, rows=(indptr, indices, eight))
    sample = take_rows(rows, np.arange(0, len(rows), max(1, len(rows) // SAMPLED)))
    coefs = pair_coefficients(text)
    one, other = (Expansion(model).sums(sample, coefs) for model in (exact, short))
    apart = float(np.max(np.abs(one - other), initial=0.0))
    return exact if apart > PART * options.tolerance else text


def serials_of(rows: Rows, order: NDArray[np.int64]) -> tuple[NDArray, NDArray, NDArray]:
    """Some rows, of their serial number alone, at index 0."""
    zeros = np.zeros(len(order), np.int32)
    return np.arange(len(order) + 1), zeros, rows.values[rows.indptr[order]]


def check_nu(options: Svm, rows: Rows) -> None:
    """Refuses a nu of nu-SVC that two classes cannot have."""
    counts = np.bincount(classes_of(rows.classes())[1]).tolist()
    for k, n in enumerate(counts):
        for m in counts[k + 1 :]:
            if options.nu * (n + m) / 2 > min(n, m):
                most = 2 * min(n, m) / (n + m)
                raise Refused(
                    "ERROR: specified nu is infeasible: "
                    f"two classes have {n} and {m} rows; give -n {most:g} or less"
                )
