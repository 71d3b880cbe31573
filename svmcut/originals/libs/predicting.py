# SPDX-License-Identifier: BSD-3-Clause
"""Common parts of svm-predict and liblinear-predict: reading blocks of rows, writing labels, and
the lines of accuracy and of errors."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import ModelError
from svmcut.base.typing import Any, NamedTuple
from svmcut.originals.libs.rows import Rows, bad_line, read_rows
from svmcut.originals.libs.words import Refused, no_model


def accuracy(predicted: NDArray, targets: NDArray) -> tuple[float, int]:
    """Percent of what is right, nan of no rows, and its number."""
    right = int(np.count_nonzero(predicted == targets))
    return (100.0 * right / len(targets) if len(targets) else math.nan), right


def squared_error(predicted: NDArray, targets: NDArray) -> float:
    """The mean; nan of no rows."""
    return float(np.mean((predicted - targets) ** 2)) if len(targets) else math.nan


def squared_correlation(predicted: NDArray, targets: NDArray) -> float:
    """The squared correlation of predictions and targets; nan where one of them is constant."""
    n, p, t = len(targets), predicted, targets
    if not n:
        return math.nan
    with np.errstate(all="ignore"):
        total = [float(np.cumsum(values)[-1]) for values in (p, t, p * p, t * t, p * t)]
        sp, st, pp, tt, pt = map(np.float64, total)  # in the order of rows, rounded as originals'
        cross = n * pt - sp * st
        return float(cross * cross / ((n * pp - sp * sp) * (n * tt - st * st)))


def report(numbers: bool, predicted: NDArray, targets: NDArray, of_classes: str = "") -> list[str]:
    """The printed lines on predictions; of_classes is written behind an accuracy."""
    if numbers:
        correlation = squared_correlation(predicted, targets)
        return [
            f"Mean squared error = {_said(squared_error(predicted, targets))} (regression)",
            f"Squared correlation coefficient = {_said(correlation)} (regression)",
        ]
    percent, right = accuracy(predicted, targets)
    return [f"Accuracy = {_said(percent)}% ({right}/{len(targets)}){of_classes}"]


def crossed_report(numbers: bool, predicted: NDArray, targets: NDArray) -> list[str]:
    """The printed lines on a cross-validation."""
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


#: Rows between two writes.
_ROWS = 20_000


class Predicting(NamedTuple):
    """The parts that differ between the programs."""

    #: The least index of a feature.
    first: int
    #: Reads the model of a path; raises ModelError.
    read: Callable[[str], Any]
    #: Gives the beginning of the output for a model, b"" for none; prints and refuses what is due.
    begin: Callable[[Any], bytes]
    #: Gives, for a model, the function from rows to their labels, and probabilities or None.
    predictor: Callable[[Any], Callable[[Rows], tuple[NDArray, NDArray | None]]]


def predict_file(names: list[str], own: Predicting) -> tuple[Any, NDArray, NDArray]:
    """The model, (n,) predictions and (n,) labels of the file.

    names: the test file, the model and the output. In the order of the originals the rows are read,
    the output is made, then the model is read. Raises Refused, behind the predictions before it,
    for a line that is no row.
    """
    test, model_file, output = names
    rows = read_rows(test, own.first)
    try:
        out = open(output, "wb")  # noqa: SIM115
    except (OSError, ValueError):
        raise Refused(f"can't open output file {output}") from None
    with out:
        try:
            model = own.read(model_file)
        except ModelError as error:
            raise no_model(model_file, error) from None
        out.write(own.begin(model))
        predicted, predict = [np.zeros(0)], own.predictor(model)
        for start in range(0, len(rows), _ROWS):
            labels, P = predict(rows.part(start, min(start + _ROWS, len(rows))))
            predicted.append(labels)
            out.write(label_lines(labels) if P is None else probability_lines(labels, P))
        if rows.fault:
            raise bad_line(rows.fault)
    return model, np.concatenate(predicted), rows.labels


def head_of(labels: list[int]) -> bytes:
    """The first line of an output with probabilities."""
    return " ".join(["labels", *map(str, labels)]).encode() + b"\n"
