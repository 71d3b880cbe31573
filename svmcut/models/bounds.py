# SPDX-License-Identifier: BSD-3-Clause
"""Scores and labels of the exact optimum, bounded by a model's certificate; see
svmcut.training.certificate."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from svmcut._native import sparse
from svmcut.base.typing import Any
from svmcut.data.examples import Csr
from svmcut.spec.catalog import MARKED, ONE_CLASS_LOSS

#: Rounding of scores and norms in float64, as a part of what they are made of; of the last steps to
#: a bound alone, the threshold and the width.
ROUNDING, STEP_ROUNDING = 1e-12, 2.0**-50


def reach(model: Any, X: Csr) -> NDArray[np.float64]:
    """(n,) largest difference of a row's score to that of the exact optimum, r |x|; (n, M) if every
    machine of the model has its own radius."""
    length, radii = lengths(model, X), np.array(model.certificate[3:])
    least = STEP_ROUNDING * abs(getattr(model, "offset", 0.0))
    if not len(radii):
        return model.certificate[1] * length + least
    return np.outer(length, np.minimum(radii, model.certificate[1])) + least


def intervals(
    model: Any, X: Csr, scores: NDArray[np.float64], threads: int = 1
) -> NDArray[np.float64]:
    """(n, 2) or (n, K, 2) `bounds` of scores of rows; for pairs of classes those of the votes."""
    if getattr(model, "paired", False):
        return np.stack(_votes(model, X, threads), axis=-1)
    return bounds(scores, reach(model, X))


def certain_labels(
    model: Any, X: Csr, scores: NDArray[np.float64], threads: int = 1
) -> NDArray[np.bool_] | None:
    """Labels of rows that are proven, as `decided_labels`; for pairs of classes by their proven
    votes."""
    if not getattr(model, "paired", False):
        return decided_labels(model, scores, reach(model, X))
    low, high = _votes(model, X, threads)
    rows, first = np.arange(len(scores)), np.argmax(scores, axis=1)
    # of equal votes the first class has it
    others = high + np.where(np.arange(scores.shape[1]) < first[:, None], 0.5, 0.0)
    others[rows, first] = -np.inf
    return low[rows, first] >= others.max(axis=1)


def _votes(model: Any, X: Csr, threads: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(n, K) the fewest and the most votes that a class can have at the exact optimum."""
    f, K = model.decisions(X, threads), len(model.names)
    sure, open_ = np.zeros((len(f), K)), np.zeros((len(f), K))
    width = np.broadcast_to(reach(model, X).reshape(len(f), -1), f.shape)
    for own, most, (first, second) in zip(f.T, width.T, model.machines(), strict=True):
        known = np.abs(own) > most
        sure[:, first] += known & (own > 0)
        sure[:, second] += known & (own < 0)
        open_[:, first] += ~known
        open_[:, second] += ~known
    return sure, sure + open_


def lengths(model: Any, X: Csr) -> NDArray[np.float64]:
    """(n,) |x| of every row, with the constant feature; sqrt(K(x, x)) with a kernel. The model has
    a certificate; features that it lacks count too."""
    bias = model.certificate[2]
    squared = np.empty(X.n_rows)
    sparse.row_norms(sparse.Rows(X), squared)
    kernel = getattr(model, "kernel", None)
    if hasattr(model, "support") and kernel is not None and not kernel.is_linear:
        squared = kernel.own_values(squared)
    return np.sqrt(squared + bias * bias) * (1 + ROUNDING)


def bounds(scores: NDArray[np.float64], width: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, 2) lowest and highest score that the exact optimum can have, (n, K, 2) of classes; from a
    model's scores and their `reach`."""
    if scores.ndim > width.ndim:
        width = width[:, None]
    width = width + STEP_ROUNDING * np.abs(scores)
    return np.stack([scores - width, scores + width], axis=-1)


def decided_labels(
    model: Any, scores: NDArray[np.float64], width: NDArray[np.float64]
) -> NDArray[np.bool_] | None:
    """(n,) True if the label of a row is proven to be that of the exact optimum; (n, K) for each
    label of sets; None for models of numbers. Takes what `bounds` takes."""
    if scores.ndim == 1:
        if model.loss in MARKED and model.loss != ONE_CLASS_LOSS:
            return None
        return np.abs(scores) > width
    if model.of_sets:
        return np.abs(scores) > (width if width.ndim > 1 else width[:, None])
    if scores.shape[1] < 2:
        return np.ones(len(scores), bool)
    if width.ndim > 1:
        rows, best = np.arange(len(scores)), np.argmax(scores, axis=1)
        others = scores + width
        others[rows, best] = -np.inf
        return (scores - width)[rows, best] > others.max(axis=1)
    first, second = np.partition(scores, -2, axis=1)[:, :-3:-1].T
    return first - second > math.sqrt(2.0) * width


def limits(
    model: Any, scores: NDArray[np.float64], length: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(n,) radius below which the label of a row is proven, for a model that has labels; `length`
    is from `lengths`."""
    if scores.ndim == 1:
        margins = np.abs(scores)
    elif scores.shape[1] < 2:
        return np.full(len(scores), np.inf)
    elif len(radii := np.array(model.certificate[3:])) and model.certificate[1] > 0:
        rows, best = np.arange(len(scores)), np.argmax(scores, axis=1)
        radii = np.minimum(radii / model.certificate[1], 1.0)
        each = (scores[rows, best][:, None] - scores) / (radii[best][:, None] + radii)
        each[rows, best] = np.inf
        margins = each.min(axis=1)
    else:
        first, second = np.partition(scores, -2, axis=1)[:, :-3:-1].T
        margins = (first - second) / math.sqrt(2.0)
    least = np.divide(margins, length, out=np.full(len(length), np.inf), where=length > 0)
    return np.where(margins > 0, least, 0.0)
