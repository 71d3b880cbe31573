# SPDX-License-Identifier: BSD-3-Clause
"""Probabilities of LIBSVM's machines, from the values of rows that five folds held out."""

from __future__ import annotations

import math

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


def marks(data: Data, machine: Machine, options: Svm) -> list[float]:
    """Scores of the training rows of one class, at every fifth of those below 0 and of those
    above, which part ten ranges of probability."""
    f = np.sort(data.expansion(data, machine, options))
    below, above = f[f < 0], f[f >= 0]
    places = np.arange(_MARKS)
    low = below[places * len(below) // _MARKS] if len(below) else np.zeros(_MARKS)
    high = above[(places + 1) * len(above) // _MARKS - 1] if len(above) else np.zeros(_MARKS)
    return np.maximum.accumulate([*low, *high]).tolist()


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
