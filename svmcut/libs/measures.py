# SPDX-License-Identifier: BSD-3-Clause
"""Lines of accuracy and of errors, as the programs print them, and labels as they write them."""

from __future__ import annotations

import math

import numpy as np

from svmcut.typing import TYPE_CHECKING

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
        total = [float(np.cumsum(values)[-1]) for values in (p, t, p * p, t * t, p * t)]
        sp, st, pp, tt, pt = map(np.float64, total)  # in the order of rows, rounded as originals'
        cross = n * pt - sp * st
        return float(cross * cross / ((n * pp - sp * sp) * (n * tt - st * st)))


def report(numbers: bool, predicted: NDArray, targets: NDArray, of_classes: str = "") -> list[str]:
    """What the programs print of predictions.

    Parameters
    ----------
    of_classes : str
        What stands behind an accuracy.
    """
    if numbers:
        correlation = squared_correlation(predicted, targets)
        return [
            f"Mean squared error = {_said(squared_error(predicted, targets))} (regression)",
            f"Squared correlation coefficient = {_said(correlation)} (regression)",
        ]
    percent, right = accuracy(predicted, targets)
    return [f"Accuracy = {_said(percent)}% ({right}/{len(targets)}){of_classes}"]


def crossed_report(numbers: bool, predicted: NDArray, targets: NDArray) -> list[str]:
    """What they print of a cross-validation."""
    if numbers:
        correlation = squared_correlation(predicted, targets)
        return [
            f"Cross Validation Mean squared error = {_said(squared_error(predicted, targets))}",
            f"Cross Validation Squared correlation coefficient = {_said(correlation)}",
        ]
    return [f"Cross Validation Accuracy = {accuracy(predicted, targets)[0]:g}%"]


def _said(value: float) -> str:
    """%g of a measure; what is none has the sign that it has in the original."""
    return "-nan" if math.isnan(value) else f"{value:g}"


def label_lines(labels: NDArray, short: bool = False) -> bytes:
    """A label a line: %.17g, or %g."""
    kind = "%g\n" if short else "%.17g\n"
    return (kind * len(labels) % tuple(labels.tolist())).encode()


def probability_lines(labels: NDArray, P: NDArray) -> bytes:
    """A label and its probabilities a line."""
    line = "%g" + " %g" * P.shape[1] + "\n"
    return (line * len(P) % tuple(np.column_stack([labels, P]).ravel().tolist())).encode()
