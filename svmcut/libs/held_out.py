# SPDX-License-Identifier: BSD-3-Clause
"""Probabilities of LIBSVM's machines, from the values of rows that five folds held out."""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import NDArray

from svmcut.libs.kernel_machines import Data, Machine, Svm, fit
from svmcut.libs.training_rows import fold_count, folds
from svmcut.scoring.probabilities import Sigmoid, fit_sigmoid

_FOLDS = 5
#: Standard deviations beyond which a residual has no part in the scale of the others.
_FAR = 5.0
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
    far = _FAR * math.sqrt(2.0) * float(residuals.mean())
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
