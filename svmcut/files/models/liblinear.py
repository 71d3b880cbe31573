# SPDX-License-Identifier: BSD-3-Clause
"""LIBLINEAR's models of two classes, which are read alone: a header of names, then a weight a line.

A score above 0 is for the first label. With a bias of at least 0 the last weight is that of a feature of this value.
"""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from svmcut.errors import ModelError
from svmcut.files.models.grammar import INDEX_LIMIT
from svmcut.files.models.named_lines import NamedLines
from svmcut.models import LinearModel

_NAMES = ("solver_type", "nr_class", "label", "nr_feature", "bias")
#: The one with weights of its own for both classes.
_TWO_COLUMNS = "MCSVM_CS"
_CLASSIFIERS = (
    "L2R_LR", "L2R_L2LOSS_SVC_DUAL", "L2R_L2LOSS_SVC", "L2R_L1LOSS_SVC_DUAL", "L1R_L2LOSS_SVC", "L1R_LR", "L2R_LR_DUAL",
    _TWO_COLUMNS,
)  # fmt: skip


def read(path: str, first: bytes, file: BinaryIO) -> LinearModel:
    """The model behind line 1 of the file; see svmcut.rows.Format."""
    lines = NamedLines(path, first, file, "w", _NAMES)
    columns = 1 + (lines.word("solver_type", _CLASSIFIERS) == _TWO_COLUMNS)
    labels, d, (bias,) = lines.labels(), lines.integer("nr_feature", INDEX_LIMIT - 1), lines.reals("bias", 1)
    text = file.read()
    words, rows = text.split(), d + (bias >= 0)
    if len(words) < rows * columns or not text.endswith(b"\n"):
        message = f"the file ends before the last of {rows} lines of weights; it was cut short"
        raise ModelError(path, message, lines.next + text.count(b"\n"))
    if len(words) > rows * columns:
        raise ModelError(path, f"more weights than the {rows} of its header", lines.next + rows)
    try:
        w = np.array(words, np.float64)
    except ValueError:
        w = np.full(1, np.nan)
    if not np.isfinite(w).all():
        raise ModelError(path, "no finite number; expected a weight", lines.next + _bad_line(text))
    w = w.reshape(rows, columns)
    w = np.ascontiguousarray(w[:, 0] - w[:, 1] if columns == 2 else w[:, 0])
    return LinearModel(w[:d], -bias * float(w[d]) if bias >= 0 else 0.0, labels=labels)


def _bad_line(text: bytes) -> int:
    """The first line, from 0, with a word that is no finite number."""
    for number, line in enumerate(text.split(b"\n")):
        try:
            if not all(np.isfinite(float(word)) for word in line.split()):
                return number
        except ValueError:
            return number
    return 0
