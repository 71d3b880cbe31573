# SPDX-License-Identifier: BSD-3-Clause
"""What a model's certificate says of the scores and labels of the exact optimum; see
svmcut.training.balls."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcut._native import sparse
from svmcut.data.examples import Csr
from svmcut.spec.catalog import MARKED, ONE_CLASS_LOSS

#: Rounding of scores and norms in float64, as a part of what they are made of.
ROUNDING = 1e-12


def reach(model: Any, X: Csr) -> NDArray[np.float64]:
    """(n,) by how much at most the score of a row differs from that of the exact optimum: r |x|.

    Parameters
    ----------
    model, X
        As of `lengths`.
    """
    return model.certificate[1] * lengths(model, X)


def lengths(model: Any, X: Csr) -> NDArray[np.float64]:
    """(n,) |x| of every row, with the constant feature; by a kernel sqrt(K(x, x)).

    Parameters
    ----------
    model : LinearModel, KernelModel or MulticlassModel
        With a certificate.
    X : Csr
        (n, d). Features that the model does not have count, too.
    """
    bias = model.certificate[2]
    squared = np.empty(X.n_rows)
    sparse.row_norms(sparse.Rows(X), squared)
    kernel = getattr(model, "kernel", None)
    if hasattr(model, "support") and kernel is not None and not kernel.is_linear:
        squared = kernel.own_values(squared)
    return np.sqrt(squared + bias * bias) * (1 + ROUNDING)


def bounds(scores: NDArray[np.float64], width: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, 2) lowest and highest score that the exact optimum can have; (n, K, 2) of classes.

    Parameters
    ----------
    scores : (n,) or (n, K)
        A model's of the rows.
    width : (n,)
        Their `reach`.
    """
    if scores.ndim > 1:
        width = width[:, None]
    return np.stack([scores - width, scores + width], axis=-1)


def decided(
    model: Any, scores: NDArray[np.float64], width: NDArray[np.float64]
) -> NDArray[np.bool_] | None:
    """(n,) whether the label of a row is proven to be that of the exact optimum; None where a model
    has no labels, but numbers.

    Parameters
    ----------
    scores, width
        As in `bounds`.
    """
    if scores.ndim == 1:
        if model.loss in MARKED and model.loss != ONE_CLASS_LOSS:
            return None
        return np.abs(scores) > width
    if scores.shape[1] < 2:
        return np.ones(len(scores), bool)
    first, second = np.partition(scores, -2, axis=1)[:, :-3:-1].T
    return first - second > math.sqrt(2.0) * width


def limits(
    model: Any, scores: NDArray[np.float64], length: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(n,) the radius below which the label of a row is proven, of a model that has labels.

    Parameters
    ----------
    scores
        As in `bounds`.
    length : (n,)
        As `lengths` gives it.
    """
    if scores.ndim == 1:
        margins = np.abs(scores)
    elif scores.shape[1] < 2:
        return np.full(len(scores), np.inf)
    else:
        first, second = np.partition(scores, -2, axis=1)[:, :-3:-1].T
        margins = (first - second) / math.sqrt(2.0)
    found = np.divide(margins, length, out=np.full(len(length), np.inf), where=length > 0)
    return np.where(margins > 0, found, 0.0)
