# SPDX-License-Identifier: BSD-3-Clause
"""Two classes of any labels: which label is positive, and which rows are."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from svmcut.errors import DataError, UsageError
from svmcut.kinds import ABOVE_ZERO

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Labels of the negative and the positive class; None for the first stands for every label but the second. Where there
#: is None in place of a pair, labels above 0 are positive, and the classes go by -1 and 1.
Labels: TypeAlias = "tuple[float | None, float]"
SIGNS = (-1.0, 1.0)
REST = "rest"


def labels_of(y: NDArray[np.float64], positive: float | str | None, path: str) -> Labels | None:
    """The labels of the two classes of a training set; O(n).

    Parameters
    ----------
    y : (n,)
        Labels as in the file, at least one.
    positive : float, ">0" or None
        The label of the positive class, or the rule that has labels above 0 in it; None for the larger one of two.

    Raises
    ------
    DataError
        When there are three labels or more, and none is named.
    UsageError
        When no row has the label that is named.
    """
    if positive == ABOVE_ZERO:
        return None
    low, high = float(y.min()) + 0.0, float(y.max()) + 0.0  # no -0
    if positive is None:
        if not ((y == low) | (y == high)).all():
            raise DataError(
                path, f"the labels are {_listed(y)}, but two classes are trained; name the positive one as in "
                f"positive={label_text(high)}, or give parameter 'positive' with '>0' for all labels above 0"
            )  # fmt: skip
        if low == high in SIGNS:
            return None
        found: Labels = (low if low < high else None, high)
    else:
        named = float(positive) + 0.0
        rest = y[y != named]
        if len(rest) == len(y):
            raise UsageError(f"parameter 'positive' is {label_text(named)}, but the labels of {path} are {_listed(y)}")
        found = (float(rest[0]) + 0.0 if len(rest) and (rest == rest[0]).all() else None, named)
    return None if found == SIGNS else found


def classes_of(y: NDArray, labels: Labels | None) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(n,) rows of the positive class, and rows with a label that is of neither; O(n)."""
    y = np.asarray(y)
    if labels is None:
        return y > 0, np.zeros(len(y), bool)
    negative, positive = labels
    right = y == positive
    return right, np.zeros(len(y), bool) if negative is None else ~(right | (y == negative))


def label_text(label: float | None) -> str:
    """A label as a model file has it: the shortest text of the number, `rest` for all others."""
    return REST if label is None else repr(float(label)).removesuffix(".0")


def _listed(y: NDArray[np.float64], most: int = 5) -> str:
    names = [label_text(label) for label in np.unique(y)[: most + 1].tolist()]
    return ", ".join([*names[:most], "..."] if len(names) > most else names)
