# SPDX-License-Identifier: BSD-3-Clause
"""Folds of cross-validation: parts of a training set, each held out once while training on the
others.

The units dealt to folds have a loss of their own: examples, queries in ranking, sequences. Those of
one class are shuffled and dealt round-robin, and the next class continues with the next fold: sizes
of folds, and the counts of every class in them, differ by 1 at most.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import UsageError
from svmcut.base.records import replace
from svmcut.base.typing import Any, NamedTuple
from svmcut.spec.catalog import TASKS
from svmcut.spec.entries import GRADES


class Fold(NamedTuple):
    """Rows to train on and rows held out: (n,) bool, as `take` of the data expects."""

    train: NDArray[np.bool_]
    held: NDArray[np.bool_]


def take(data: Any, keep: NDArray[np.bool_]) -> Any:
    """Return the rows to keep, as a training set of their own: features of a table are fitted to
    them."""
    return data.take(keep) if data.table is None else split(data, Fold(keep, ~keep))[0]


def split(data: Any, fold: Fold) -> tuple[Any, Any]:
    """Return training and held-out rows; features of a table are fitted to the training rows."""
    train, held = data.take(fold.train), data.take(fold.held)
    table = data.table
    if table is None or not table.encoding.columns:
        return train, held
    own, X, other = table.split(np.flatnonzero(fold.train), np.flatnonzero(fold.held))
    return replace(train, X=X, table=own), replace(held, X=other)


def make_folds(task: str, data: Any, K: int, seed: int = 0) -> list[Fold]:
    """Return K >= 2 folds of training data, for `split`; O(n log n).

    The data has no rows of weight 0. Folds depend on the seed and on the order of the data. The
    task says what a label is: classes are spread over folds, and examples of a query stay together.
    Raises UsageError for fewer than two folds, and for fewer examples, queries or sequences than
    folds.
    """
    if K < 2:
        raise UsageError("folds is {}; expected at least 2", K)
    units = np.arange(len(data))
    row = TASKS[task]
    if row.labels == GRADES:
        qid = np.zeros(len(data)) if data.qid is None else data.qid
        units = np.cumsum(np.diff(qid, prepend=qid[:1]) != 0)
    places = deal(data.y if row.has_classes else np.zeros(units[-1] + 1), K, seed)
    if len(places) < K:
        raise UsageError(
            "{} has {} {}, too few for {} folds; expected one each",
            data.source.path,
            len(places),
            row.units,
            K,
        )
    of_rows = places[units]
    return [Fold(of_rows != k, of_rows == k) for k in range(K)]


def deal(classes: NDArray, K: int, seed: int) -> NDArray[np.int64]:
    """Return the fold of each of n units (n,), from 0, by their classes (n,)."""
    rng = np.random.default_rng(seed)
    order = np.argsort(classes, kind="stable")
    starts = np.flatnonzero(np.diff(classes[order])) + 1
    shuffled = np.concatenate([rng.permutation(part) for part in np.split(order, starts)])
    places = np.empty(len(classes), np.int64)
    places[shuffled] = np.arange(len(classes)) % K
    return places
