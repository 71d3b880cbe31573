# SPDX-License-Identifier: BSD-3-Clause
"""Lines of accuracy and of errors, as the programs print them, and labels as they write them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def accuracy(predicted: NDArray, targets: NDArray) -> tuple[float, int]:
    """Percent of what is right, nan of no rows, and its number."""
    right = int(np.count_nonzero(predicted == targets))
    return (100.0 * right / len(targets) if len(targets) else math.nan), right


def squared_error(predicted: NDArray, targets: NDArray) -> float:
    """The mean; nan of no rows."""
    return float(np.mean((predicted - targets) ** 2)) if len(targets) else math.nan


def squared_correlation(predicted: NDArray, targets: NDArray) -> float:
    """Of predictions and targets; nan where one of them is constant."""
    n, p, t = len(targets), predicted, targets
    if not n:
        return math.nan
    with np.errstate(all="ignore"):
        cross = n * np.dot(p, t) - p.sum() * t.sum()
        sizes = (n * np.dot(p, p) - p.sum() ** 2) * (n * np.dot(t, t) - t.sum() ** 2)
        return float(np.float64(cross) * cross / np.float64(sizes))


def label_lines(labels: NDArray, short: bool = False) -> bytes:
    """A label a line: %.17g, or %g."""
    kind = "%g\n" if short else "%.17g\n"
    return (kind * len(labels) % tuple(labels.tolist())).encode()


def probability_lines(labels: NDArray, P: NDArray) -> bytes:
    """A label and its probabilities a line."""
    line = "%g" + " %g" * P.shape[1] + "\n"
    return (line * len(P) % tuple(np.column_stack([labels, P]).ravel().tolist())).encode()
