# SPDX-License-Identifier: BSD-3-Clause
"""What training examples weigh: ``cost:`` of their lines, weights that are given, and those of
classes, multiplied.

What weighs is an example, in ranking a query and of sequences a sequence. Weight k is k of them,
weight 0 none.
"""

from __future__ import annotations

import numpy as np

from svmcut.base.errors import DataError
from svmcut.base.messages import Message
from svmcut.base.records import replace
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.data.examples import Examples
from svmcut.data.folds import take
from svmcut.data.labels import by_labels, classes_of, distinct, labels_of
from svmcut.files.weights import click_weights, shared_weights
from svmcut.spec.catalog import SMO, TASKS
from svmcut.spec.entries import CLASSES, NUMBERS, TWO_CLASSES
from svmcut.spec.kinds import BALANCED, weights_by_label
from svmcut.spec.parameters import LARGEST_C
from svmcut.spec.refusals import no_sum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.spec.parameters import Settings
    from svmcut.tasks.protocol import Task

#: Entries of a matrix that is not copied for rows of weight 0, where they are this part at most.
LARGE, FEW = 1 << 20, 1 / 8
SINGLE = (TWO_CLASSES, CLASSES)


def weighed(
    task: Task,
    data: Any,
    settings: Settings,
    given: NDArray | None = None,
    where: str = "weights",
    tight: bool = True,
) -> tuple[Any, int]:
    """The data with what they weigh, and how many of weight 0 were left out.

    Parameters
    ----------
    data : Examples, Sequences or MultilabelExamples
        Their weights are those of ``cost:``.
    given : (n,) float64 or None
        One of at least 0 an example, query or sequence; a row where the loss is one of clicks.
    where : str
        What messages call these.
    tight : bool
        Whether features that are left in no example do not count, as in a file; those of an array
        do.

    Returns
    -------
    data
        Weights are above 0, and None where all are 1. Of a large matrix a few rows of weight 0 stay
        where the risk is a sum over rows, as leaving them out would copy the others.
    left_out : int

    Raises
    ------
    DataError
        For weights that are negative, too large, all 0 or not one each; for rows of a query that
        differ; for a class without a row; for ``cost:`` where the loss is no sum.
    """
    if data.weights is None and given is None and settings.class_weight is None:
        return data, 0
    one, path = TASKS[settings.task].unit, data.source.path
    bounds = task.bounds(data)
    n, of_rows = len(bounds) - 1, isinstance(data, Examples)
    if settings.of_clicks:
        clicks = click_weights(data.weights, given, data.y, data.source, where)
        return replace(data, weights=clicks), 0
    weights = _costs(data, bounds, settings)
    if given is not None:
        if len(given) != n:
            raise DataError(
                where, f"{len(given)} weights for {path}; expected {n}, one for every {one}"
            )
        weights *= given
    if settings.class_weight is not None:
        rows = weights > 0
        weights[rows] *= class_weights(data.y[rows], weights[rows], settings, path)
    if (large := ~(weights <= LARGEST_C)).any():
        k = int(np.argmax(large))
        what = f"the weights multiply to {weights[k]:g}; expected at most {LARGEST_C:g}"
        raise DataError(path, what, data.source.line_of(int(bounds[k])))
    keep, lengths = weights > 0, np.diff(bounds)
    if not keep.any():
        raise DataError(
            path, f"all weights are 0; give a weight above 0 to every {one} that counts"
        )
    if not keep.all() and _may_stay(data, keep, settings, tight):
        return replace(data, weights=weights), int(n - keep.sum())
    if not keep.all():
        data, weights = take(data, np.repeat(keep, lengths) if of_rows else keep), weights[keep]
        data = replace(data, X=data.X.tight()) if tight and data.table is None else data
    left_out = n - len(weights)
    if (weights == 1).all():
        return replace(data, weights=None), left_out
    weights = np.repeat(weights, lengths[keep]) if of_rows else weights
    return replace(data, weights=weights), left_out


def _may_stay(data: Any, keep: NDArray[np.bool_], settings: Settings, tight: bool) -> bool:
    """Whether rows of weight 0 may stay: of an array, where no risk, class or part knows them;
    of kernels smo never steps there."""
    if tight or not isinstance(data, Examples) or data.table is not None:
        return False
    few = data.X.nnz >= LARGE and keep.sum() >= (1 - FEW) * len(keep)
    row = TASKS[settings.task]
    steps = not settings.has_kernel or (settings.solver == SMO and not settings.is_nu)
    sums = row.labels in (*SINGLE, NUMBERS) and settings.is_sum and steps
    free = settings.free_bias and not settings.has_kernel
    if not (few and sums) or settings.probability or free:
        return False
    return row.labels == NUMBERS or len(distinct(data.y)) == len(distinct(data.y[keep]))


def _costs(data: Any, bounds: NDArray, settings: Settings) -> NDArray[np.float64]:
    """(n,) weights of ``cost:``, 1 where there are none."""
    if data.weights is None:
        return np.ones(len(bounds) - 1)
    weights = (
        shared_weights(data.weights, bounds, data.source, TASKS[settings.task].unit)
        if isinstance(data, Examples)
        else data.weights.copy()
    )
    bad, what = weights < 0, "cost {:g} is negative; expected a number of at least 0"
    values: tuple[Any, ...] = ()
    if not bad.any() and not settings.is_sum:
        bad, what = weights != 1, "cost:{:g} {}; leave it out or use {loss=}"
        values = no_sum(settings.loss), TASKS[settings.task].loss
    if bad.any():
        k = int(np.argmax(bad))
        message = Message(what, weights[k], *values)
        raise DataError(data.source.path, message, data.source.line_of(int(bounds[k])))
    return weights


def balanced(classes: NDArray, weights: NDArray) -> NDArray[np.float64]:
    """V / (K V_k) of every row (n,), k its class, for rows that weigh above 0."""
    _, places = np.unique(classes, return_inverse=True)
    sums = np.bincount(places, weights)
    return (sums.sum() / (len(sums) * sums))[places]


def class_weights(
    y: NDArray, weights: NDArray, settings: Settings, path: str
) -> NDArray[np.float64]:
    """Weights of rows (n,) by their classes; balanced is V / (K V_k), V the sum of weights and V_k
    that of class k.

    Raises
    ------
    DataError
        For a label that no row has, and as svmcut.data.labels.by_labels and labels_of.
    """
    if settings.class_weight == BALANCED:
        classes, settings = y, by_labels(settings, y, path) if settings.is_open else settings
        if settings.labels == TWO_CLASSES:
            classes, _ = classes_of(y, labels_of(y, settings.positive, path))
        return balanced(classes, weights)
    labels, places = np.unique(y, return_inverse=True)
    factors = np.ones(len(labels))
    for label, weight in weights_by_label(settings.class_weight).items():
        if label not in labels:
            known = ", ".join(f"{known:g}" for known in labels[:10])
            raise DataError(
                path,
                Message("no row has the label {:g} of {class_weight}; expected {}", label, known),
            )
        factors[labels == label] = weight
    return factors[places]
