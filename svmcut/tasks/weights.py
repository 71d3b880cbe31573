# SPDX-License-Identifier: BSD-3-Clause
"""Weights of training examples: ``cost:`` of their lines, given weights, and those of classes,
multiplied. An example has a weight, in ranking a query and of sequences a sequence; weight k counts
as k of them, 0 as none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError
from svmcut.base.messages import Message
from svmcut.base.records import replace
from svmcut.base.typing import Any
from svmcut.data.examples import Examples
from svmcut.data.folds import take
from svmcut.data.labels import choose_task, classes_of, distinct, labels_of
from svmcut.files.weights import click_weights, structure_weights
from svmcut.spec.catalog import SMO, TASKS
from svmcut.spec.entries import CLASSES, NUMBERS, TWO_CLASSES
from svmcut.spec.kinds import BALANCED, weights_by_label
from svmcut.spec.parameters import LARGEST_C, Settings
from svmcut.spec.refusals import no_sum
from svmcut.tasks.protocol import Task

#: Entries of a matrix that is not copied for rows of weight 0, where they are this part at most.
MIN_UNCOPIED_ENTRIES, MAX_ZERO_SHARE = 1 << 20, 1 / 8
ONE_LABEL = (TWO_CLASSES, CLASSES)


def apply_weights(
    task: Task,
    data: Any,
    settings: Settings,
    given: NDArray | None = None,
    where: str = "weights",
    tight: bool = True,
) -> tuple[Any, int]:
    """Returns the data with their weights, None if all are 1, and the number of examples left out
    with weight 0.

    `given` is (n,) one per example, query or sequence, or a row each if the loss is one of clicks;
    `where` is its name in messages. `tight` drops features that are left in no example, as in a
    file; arrays keep them. A few rows of weight 0 of a large matrix stay if the risk is a sum over
    rows, to avoid a copy.

    Raises DataError for weights that are negative, too large, all 0 or not one each; for rows of a
    query that differ; for a class without a row; for ``cost:`` if the loss is no sum.
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
    if not keep.all() and _can_keep_zero_rows(data, keep, settings, tight):
        return replace(data, weights=weights), int(n - keep.sum())
    if not keep.all():
        data, weights = take(data, np.repeat(keep, lengths) if of_rows else keep), weights[keep]
        data = replace(data, X=data.X.tight()) if tight and data.table is None else data
    left_out = n - len(weights)
    if (weights == 1).all():
        return replace(data, weights=None), left_out
    weights = np.repeat(weights, lengths[keep]) if of_rows else weights
    return replace(data, weights=weights), left_out


def _can_keep_zero_rows(
    data: Any, keep: NDArray[np.bool_], settings: Settings, tight: bool
) -> bool:
    """True if rows of weight 0 may stay: only of an array, if no risk, class or part knows them;
    with kernels if smo, which never steps there."""
    if tight or not isinstance(data, Examples) or data.table is not None:
        return False
    few = data.X.nnz >= MIN_UNCOPIED_ENTRIES and keep.sum() >= (1 - MAX_ZERO_SHARE) * len(keep)
    row = TASKS[settings.task]
    steps = not settings.has_kernel or (settings.solver == SMO and not settings.is_nu)
    sums = row.labels in (*ONE_LABEL, NUMBERS) and settings.is_sum and steps
    free = settings.free_bias and not settings.has_kernel
    if not (few and sums) or settings.probability or free:
        return False
    return row.labels == NUMBERS or len(distinct(data.y)) == len(distinct(data.y[keep]))


def _costs(data: Any, bounds: NDArray, settings: Settings) -> NDArray[np.float64]:
    """(n,) weights of ``cost:``, 1 if there are none."""
    if data.weights is None:
        return np.ones(len(bounds) - 1)
    weights = (
        structure_weights(data.weights, bounds, data.source, TASKS[settings.task].unit)
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


def balanced_weights(classes: NDArray, weights: NDArray) -> NDArray[np.float64]:
    """V / (K V_k) of every row (n,), k its class, for rows that weigh above 0."""
    _, places = np.unique(classes, return_inverse=True)
    sums = np.bincount(places, weights)
    return (sums.sum() / (len(sums) * sums))[places]


def class_weights(
    y: NDArray, weights: NDArray, settings: Settings, path: str
) -> NDArray[np.float64]:
    """Weights of rows (n,) by their classes; balanced is V / (K V_k), V the sum of weights and V_k
    that of class k. Raises DataError for a label that no row has, and as
    svmcut.data.labels.choose_task and labels_of."""
    if settings.class_weight == BALANCED:
        classes, settings = y, choose_task(settings, y, path) if settings.is_open else settings
        if settings.labels == TWO_CLASSES:
            classes, _ = classes_of(y, labels_of(y, settings.positive, path))
        return balanced_weights(classes, weights)
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
