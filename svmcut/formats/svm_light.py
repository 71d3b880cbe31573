# SPDX-License-Identifier: BSD-3-Clause
"""Model files in the layout of SVM-light, V6.20 as svm_perf and svm_rank share it, V6.02 as
svm_learn writes it.

Eleven header lines, then one line per support vector: ``alpha index:value index:value #``. A linear
model is one such line of weights with alpha 1, or, in V6.02, one line per support vector as with
every kernel, with the example's comment after the ``#``. The threshold of line 11 is subtracted
from scores. Marks may follow.
"""

from __future__ import annotations

import numpy as np

from svmcut._native.text import format_pairs
from svmcut.base.errors import ModelError
from svmcut.base.typing import BinaryIO
from svmcut.files.output import Output
from svmcut.formats import marks
from svmcut.formats.expansions import scoring_model
from svmcut.formats.grammar import (
    INDEX_LIMIT,
    HeaderLines,
    finite32,
    head_of_vectors,
    write_header,
    write_weights,
)
from svmcut.models import KernelModel, LinearModel, ScoringModel

BLOCK_LINES = 1000
#: First line of a file of `write_vectors`.
LIGHT = b"SVM-light Version V6.02"


def read(path: str, first: bytes, file: BinaryIO) -> ScoringModel:
    """Reads the model after line 1 of the file; see svmcut.spec.entries.Format."""
    return read_counted(path, first, file)[0]


def read_counted(path: str, first: bytes, file: BinaryIO) -> tuple[ScoringModel, int]:
    """Reads the model of `read`, and the number of support vectors in its file."""
    lines = HeaderLines(path, first, file, 11)
    kernel = lines.kernel()
    highest = lines.integer(8, "the highest feature index", 0)
    documents = lines.integer(9, "the number of training documents", 0)
    count = lines.integer(10, "the number of support vectors plus 1", 1) - 1
    b = lines.real(11, "the threshold b")
    text, marked = marks.split(path, file.read(), 12)
    vectors, size = lines.vectors(text, count, highest), lines.size + len(text)
    known = {"highest_index": highest, "n_documents": documents, **marked}
    return scoring_model(path, size, kernel, vectors, b, **known), count


def write(
    path: str,
    first: bytes,
    output: Output,
    model: LinearModel | KernelModel,
    original: bool = False,
) -> None:
    """Writes the whole file; see svmcut.spec.entries.Format."""
    if isinstance(model, LinearModel):
        _write_linear(path, first, output, model)
    else:
        _write_expansion(path, first, output, model, original)
    output.write(marks.text_of(model))


def write_vectors(path: str, output: Output, model: KernelModel, comments: list[bytes]) -> None:
    """Writes a file of V6.02: support vectors of any kernel, the linear one too, each with its
    comment."""
    _write_expansion(path, LIGHT, output, model, True, comments)


def _head(path: str, model: ScoringModel, highest: int, count: int) -> str:
    """Lines after the kernel, for a model of so many features and support vectors."""
    if model.highest_index is not None:
        highest = max(highest, min(model.highest_index, INDEX_LIMIT))
    return head_of_vectors(path, model.b, highest, model.n_documents, count)


def _write_linear(path: str, first: bytes, output: Output, model: LinearModel) -> None:
    # Rounded before printing, so that reading and writing again gives the same text.
    weights = finite32(path, model.w)
    nonzero = np.flatnonzero(weights).astype(np.int32)
    columns = nonzero if model.columns is None else model.columns[nonzero]
    head = _head(path, model, int(columns[-1]) + 1 if len(columns) else 0, 1)
    write_header(output, first, model.kernel, head, True)
    write_weights(output, columns, weights[nonzero])


def _write_expansion(
    path: str,
    first: bytes,
    output: Output,
    model: KernelModel,
    original: bool,
    comments: list[bytes] | None = None,
) -> None:
    support = model.support
    values, columns = finite32(path, support.data[support.stored]), support.indices[support.stored]
    if model.columns is not None:
        columns = model.columns[columns]
    if not np.isfinite(model.alpha).all():
        raise ModelError(path, "a weight alpha is not finite; the model is not written")
    highest = int(columns.max()) + 1 if len(columns) else 0
    head = _head(path, model, highest, support.n_rows)
    write_header(output, first, model.kernel, head, original)
    bounds = (support.indptr - support.indptr[0]).tolist()
    lines = []
    for i, alpha in enumerate(model.alpha.tolist()):
        row = slice(bounds[i], bounds[i + 1])
        comment = comments[i] if comments else b""
        lines.append(
            b"%.32g %b#%b\n"
            % (alpha, format_pairs(columns[row], values[row], not original), comment)
        )
        if len(lines) == BLOCK_LINES:
            output.write(b"".join(lines))
            lines.clear()
    output.write(b"".join(lines))
