# SPDX-License-Identifier: BSD-3-Clause
"""liblinear-predict, LIBLINEAR's `predict`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from svmcut.formats.library_text import (
    JOINT,
    LOG_ODDS,
    ONE_CLASS,
    REGRESSION,
    LinearText,
    read_linear,
)
from svmcut.originals.libs import predicting
from svmcut.originals.libs.predicting import Predicting, head_of, predict_file
from svmcut.originals.libs.rows import Rows
from svmcut.originals.libs.words import Refused, bad_usage, integer_of


def run(words: list[str]) -> None:
    """Predicts the rows of a file with a model, and measures the predictions."""
    probability, quiet, names = _options(words)

    def begin(model: LinearText) -> bytes:
        if not probability:
            return b""
        if model.solver not in LOG_ODDS:
            raise Refused("probability output is only supported for logistic regression")
        assert model.labels is not None
        return head_of(model.labels)

    def predictor(model: LinearText) -> Callable[[Rows], tuple[NDArray, NDArray | None]]:
        def predict(part: Rows) -> tuple[NDArray, NDArray | None]:
            f = decisions(model, part)
            return predicted_of(model, f), class_probabilities(f, model) if probability else None

        return predict

    predictions = predict_file(names, Predicting(1, read_linear, begin, predictor))
    if not quiet:
        model, predicted, targets = predictions
        print("\n".join(predicting.report(model.solver in REGRESSION, predicted, targets)))


def _options(words: list[str]) -> tuple[bool, bool, list[str]]:
    """Probabilities, quiet, and the three files; options stand anywhere, as getopt has them."""
    probability, quiet, names = False, False, []
    at, ended = 0, False
    while at < len(words):
        word = words[at]
        at += 1
        if ended or not word.startswith("-") or word == "-":
            names.append(word)
            continue
        if word == "--":
            ended = True
            continue
        for place, letter in enumerate(word[1:], 1):
            if letter == "q":
                quiet = True
                continue
            if letter != "b":
                raise bad_usage(f"invalid option -- '{letter}'")
            value = word[place + 1 :]
            if not value:
                if at == len(words):
                    raise bad_usage("option requires an argument -- 'b'")
                value, at = words[at], at + 1
            number = integer_of(value)
            if number not in (0, 1):
                raise bad_usage(f"-b: '{value}' is refused; expected 0 or 1")
            probability = number == 1
            break
    if len(names) < 3:
        raise bad_usage()
    return probability, quiet, names[:3]


@np.errstate(all="ignore")  # rows may have infinite values
def decisions(model: LinearText, rows: Rows) -> NDArray[np.float64]:
    """(n, columns) values; features that the training file lacked are left out."""
    W, d, n = model.W, model.features, len(rows)
    known = rows.indices <= d
    of, columns, values = rows.row_of_entries(), rows.indices - 1, rows.values
    if not known.all():
        of, columns, values = of[known], columns[known], values[known]
    out = np.empty((n, W.shape[1]))
    for k in range(W.shape[1]):
        out[:, k] = np.bincount(of, values * W[columns, k], n)
        if model.bias >= 0:
            out[:, k] += model.bias * W[d, k]
    return out - model.rho


def predicted_of(model: LinearText, f: NDArray) -> NDArray[np.float64]:
    """(n,) labels, or numbers."""
    if model.solver in REGRESSION:
        return f[:, 0]
    if model.solver == ONE_CLASS:
        return np.where(f[:, 0] > 0, 1.0, -1.0)
    assert model.labels is not None
    names = np.array(model.labels, np.float64)
    if len(names) == 2 and model.solver != JOINT:
        return np.where(f[:, 0] > 0, names[0], names[1])
    return names[np.argmax(f, axis=1)] if len(names) else np.zeros(len(f))


def class_probabilities(f: NDArray, model: LinearText) -> NDArray[np.float64]:
    """(n, K) probabilities of machines of the logistic loss."""
    from svmcut.scoring.probabilities import LOG_ODDS as SIGMOID
    from svmcut.scoring.probabilities import sigmoid

    p = sigmoid(f, SIGMOID)
    if model.labels is not None and len(model.labels) == 2:
        return np.column_stack([p[:, 0], 1 - p[:, 0]])
    return p / p.sum(axis=1, keepdims=True)
