# SPDX-License-Identifier: BSD-3-Clause
"""LIBLINEAR's models: a header of names, then a line of weights per feature.

With two classes a score above 0 means the first label, with more the largest score wins, the first
of equal ones: labels stay in the order of the file. With a bias of at least 0 the last weights are
those of a feature of this value.
"""

from __future__ import annotations

import numpy as np

from svmcut.base.errors import ModelError, UsageError
from svmcut.base.typing import Any, BinaryIO
from svmcut.files.output import Output
from svmcut.formats import exported
from svmcut.formats.grammar import INDEX_LIMIT
from svmcut.formats.library_text import (
    JOINT,
    LINEAR_NAMES,
    LINEAR_SOLVERS,
    ONE_CLASS,
    LinearText,
    NamedLines,
    two_labels,
)
from svmcut.models import LinearModel, MulticlassModel
from svmcut.spec.catalog import LOGISTIC, ONE_CLASS_LOSS, SQUARED_HINGE, TASKS
from svmcut.spec.entries import SQUARED_TUBE

#: Solver with separate weights for each of two classes.
_TWO_COLUMNS = "MCSVM_CS"
#: Loss of each solver of classes in a model.
_CLASSIFIERS = {
    "L2R_LR": LOGISTIC,
    "L2R_L2LOSS_SVC_DUAL": SQUARED_HINGE,
    "L2R_L2LOSS_SVC": SQUARED_HINGE,
    "L2R_L1LOSS_SVC_DUAL": None,
    "L1R_L2LOSS_SVC": SQUARED_HINGE,
    "L1R_LR": LOGISTIC,
    "L2R_LR_DUAL": LOGISTIC,
    _TWO_COLUMNS: None,
}
_ONE_CLASS = LINEAR_SOLVERS[ONE_CLASS]
#: Loss of each solver of numbers in a model.
_REGRESSORS = {
    "L2R_L2LOSS_SVR": SQUARED_TUBE,
    "L2R_L2LOSS_SVR_DUAL": SQUARED_TUBE,
    "L2R_L1LOSS_SVR_DUAL": TASKS["regression"].loss,
}


def read(path: str, first: bytes, file: BinaryIO) -> LinearModel | MulticlassModel:
    """Reads the model after line 1 of the file; see svmcut.spec.entries.Format."""
    lines = NamedLines(path, first, file, "w", LINEAR_NAMES)
    solver = lines.word("solver_type", (*_CLASSIFIERS, *_REGRESSORS, _ONE_CLASS))
    names = [] if solver in (*_REGRESSORS, _ONE_CLASS) else lines.classes()
    columns = len(names) if len(names) > 2 else 1 + (solver == _TWO_COLUMNS)
    d, (bias,) = lines.integer("nr_feature", INDEX_LIMIT - 1), lines.reals("bias", 1)
    W = _weights(lines, file.read(), d + (bias >= 0), columns)
    if len(names) > 2:
        constant, bias = W[d] if bias >= 0 else np.zeros(columns), max(0.0, bias)
        own = constant, bias, np.array(names), None, d, 0, _CLASSIFIERS[solver]
        return MulticlassModel(np.ascontiguousarray(W[:d]), *own)
    w = np.ascontiguousarray(W[:, 0] - W[:, 1] if columns == 2 else W[:, 0])
    b = -bias * float(w[d]) if bias >= 0 else 0.0
    if solver == _ONE_CLASS:
        return LinearModel(w[:d], b + lines.reals("rho", 1)[0], loss=ONE_CLASS_LOSS)
    if not names:
        return LinearModel(w[:d], b, loss=_REGRESSORS[solver])
    return LinearModel(w[:d], b, labels=two_labels(names), loss=_CLASSIFIERS[solver])


#: LIBLINEAR's solver for a loss; that of the hinge for all others.
_WRITTEN = {LOGISTIC: 0, SQUARED_HINGE: 1, None: 3}
_NUMBERS_WRITTEN = {SQUARED_TUBE: 12}
#: Largest number of rows of a file, which has one for every feature.
_MAX_ROWS = 100_000_000


def write(path: str, first: bytes, output: Output, model: Any, original: bool = False) -> None:
    """Writes the whole file of a linear model; see svmcut.spec.entries.Format. Raises UsageError
    for labels and features that LIBLINEAR cannot have, and ModelError."""
    for part in text_of(path, model).lines():
        output.write(part)


def text_of(path: str, model: Any) -> LinearText:
    """Contents of LIBLINEAR's file of a model; raises as `write`."""
    last = model.n_features if model.columns is None else int(model.columns.max(initial=-1)) + 1
    if last > _MAX_ROWS:
        raise UsageError(
            "{}: the format has a line for each of {:,} features; renumber them", path, last
        )
    if isinstance(model, MulticlassModel):
        exported.check_finite(path, model.W, model.constant)
        W = exported.in_all_features(model.W, model.columns)
        bias = model.bias or -1.0
        W = np.vstack([W, model.constant]) if model.bias else W
        solver = JOINT if len(model.names) == 2 else _WRITTEN.get(model.loss, JOINT)
        return LinearText(JOINT if solver == 3 else solver, exported.names_of(path, model), bias, W)
    exported.check_finite(path, model.w, np.array(model.offset))
    w = exported.in_all_features(model.w, model.columns)
    if model.loss == ONE_CLASS_LOSS:
        return LinearText(ONE_CLASS, None, -1.0, w[:, None], model.offset)
    bias = 1.0 if model.offset else -1.0
    W = (np.append(w, 0.0 - model.offset) if model.offset else w)[:, None]
    if not exported.has_class_signs(model):
        return LinearText(_NUMBERS_WRITTEN.get(model.loss, 13), None, bias, W)
    solver = _WRITTEN.get(model.loss, 3)
    return LinearText(solver, exported.two_names(path, model), bias, W)


def _weights(lines: NamedLines, text: bytes, rows: int, columns: int) -> np.ndarray:
    """(rows, columns) numbers of the text after the header."""
    path, words = lines.path, text.split()
    if len(words) < rows * columns or not text.endswith(b"\n"):
        message = f"the file ends before the last of {rows} lines of weights; it was cut short"
        raise ModelError(path, message, lines.next + text.count(b"\n"))
    if len(words) > rows * columns:
        raise ModelError(path, f"more weights than the {rows} of its header", lines.next + rows)
    try:
        W = np.array(words, np.float64)
    except ValueError:
        W = np.full(1, np.nan)
    if not np.isfinite(W).all():
        raise ModelError(path, "no finite number; expected a weight", lines.next + _bad_line(text))
    return W.reshape(rows, columns)


def _bad_line(text: bytes) -> int:
    """First line, from 0, with a word that is no finite number."""
    for number, line in enumerate(text.split(b"\n")):
        try:
            if not all(np.isfinite(float(word)) for word in line.split()):
                return number
        except ValueError:
            return number
    return 0
