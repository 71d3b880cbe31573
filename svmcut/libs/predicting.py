# SPDX-License-Identifier: BSD-3-Clause
"""What svm-predict and liblinear-predict share: rows, an output, a model, and blocks of rows from
one to the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from svmcut.errors import ModelError
from svmcut.libs import measures
from svmcut.libs.rows import Rows, bad_line, read_rows
from svmcut.libs.words import Refused, no_model
from svmcut.typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Rows between two writes.
_ROWS = 20_000


class Predicting(NamedTuple):
    """A program's own part.

    Attributes
    ----------
    first : int
        The least index of a feature.
    read : callable
        Gives the model of a path; raises ModelError.
    begin : callable
        Of a model, what the output begins with, b"" for nothing; says and refuses what there is to.
    predictor : callable
        Of a model, what gives the labels of rows, and their probabilities or None.
    """

    first: int
    read: Callable[[str], Any]
    begin: Callable[[Any], bytes]
    predictor: Callable[[Any], Callable[[Rows], tuple[NDArray, NDArray | None]]]


def predict_file(names: list[str], own: Predicting) -> tuple[Any, NDArray, NDArray]:
    """The model, (n,) predictions and (n,) labels of the file, in this order of the originals: rows
    are read, the output is made, then the model is read.

    Parameters
    ----------
    names : list of str
        Of the test file, the model and the output.

    Raises
    ------
    Refused
        Behind the predictions before it, for a line that is no row.
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
            out.write(
                measures.label_lines(labels) if P is None else measures.probability_lines(labels, P)
            )
        if rows.fault:
            raise bad_line(rows.fault)
    return model, np.concatenate(predicted), rows.labels


def head_of(labels: list[int]) -> bytes:
    """The first line of an output with probabilities."""
    return " ".join(["labels", *map(str, labels)]).encode() + b"\n"
