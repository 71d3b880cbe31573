# SPDX-License-Identifier: BSD-3-Clause
"""Lines of kernel machines in model files of svm_multiclass V2.20, after the header of 14.

    alpha qid:k index:value ... #          feature f of a support vector of f_k at (k - 1) F + f

f_k(x) is the sum of alpha K(z, x) over the lines of class k only.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from svmcut._native.text import format_pairs
from svmcut.base.errors import ModelError
from svmcut.base.typing import BinaryIO
from svmcut.data.examples import Csr, find_distinct_rows
from svmcut.files.output import Output
from svmcut.formats import marks
from svmcut.formats.grammar import INDEX_LIMIT, HeaderLines, finite32, write_header
from svmcut.models import JointKernelModel, MulticlassModel
from svmcut.models.base import drop_columns
from svmcut.spec.catalog import losses

#: Losses of svm_multiclass other than 0.
NUMBERED = [row for row in losses("multiclass").values() if row.number]
_FIRST_LINE = 15
_BLOCK_LINES = 1000
_CLASS = re.compile(rb"([^ \n]+)( qid:(\d{1,10}) )")


def head_of(
    path: str, first: bytes, model: MulticlassModel | JointKernelModel, base: int, vectors: int
) -> tuple[bytes, str]:
    """Header of a model of so many base features and support vectors, before the kernel and after
    it. Raises ModelError if their weights could not be numbered."""
    K = len(model.names)
    if K * base >= INDEX_LIMIT:
        raise ModelError(
            path,
            f"{K} classes of {base} features have weights above number {INDEX_LIMIT}; not written",
        )
    loss = next((row.number for row in NUMBERED if row.name == model.loss), 0)
    head = (
        f"{first.decode()}\n{K} # number of classes\n{base} # number of base features\n"
        f"{loss} # loss function"
    )
    return head.encode(), (
        f"{K * base + 1} # highest feature index \n"
        f"{model.n_documents} # number of training documents \n"
        f"{vectors + 1} # number of support vectors plus 1 \n"
        "0 # threshold b, each following line is a SV (starting with alpha*y)\n"
    )


def loss_of(lines: HeaderLines) -> str | None:
    """Loss that the header names; None for the first one, and for unknown numbers."""
    number = lines.text(4).strip()
    return next((row.name for row in NUMBERED if number.decode("latin-1") == str(row.number)), None)


def write(path: str, first: bytes, output: Output, model: JointKernelModel, original: bool) -> None:
    """Writes the whole file: features rounded to float32, coefficients with all digits."""
    support, K = model.support, len(model.names)
    values, columns = finite32(path, support.data[support.stored]), support.indices[support.stored]
    if model.columns is not None:
        columns = model.columns[columns]
    if not np.isfinite(model.alpha).all():
        raise ModelError(path, "a coefficient is not finite; the model is not written")
    base = max(int(columns.max(initial=-1)) + 1, model.highest_index)
    head, counts = head_of(path, first, model, base, len(model.alpha))
    write_header(output, head, model.kernel, counts, original)
    classes = np.repeat(np.arange(K), np.diff(model.starts))
    order = np.lexsort((classes, model.places))
    bounds, lines = (support.indptr - support.indptr[0]).tolist(), []
    for alpha, k, place in zip(
        model.alpha[order].tolist(),
        classes[order].tolist(),
        model.places[order].tolist(),
        strict=True,
    ):
        row = slice(bounds[place], bounds[place + 1])
        pairs = format_pairs((columns[row] + k * base).astype(np.int32), values[row], not original)
        lines.append(b"%.32g qid:%d %b#\n" % (alpha, k + 1, pairs))
        if len(lines) == _BLOCK_LINES:
            output.write(b"".join(lines))
            lines.clear()
    output.write(b"".join(lines))
    output.write(marks.text_of_classes(model))


def read(path: str, lines: HeaderLines, file: BinaryIO, K: int, base: int) -> JointKernelModel:
    """Reads the model after the header, of K classes and so many base features."""
    kernel = lines.kernel(5)
    highest = lines.integer(11, "the highest feature index", 0)
    documents = lines.integer(12, "the number of training documents", 0)
    count = lines.integer(13, "the number of support vectors plus 1", 1) - 1
    if K * base > INDEX_LIMIT:
        raise ModelError(
            path,
            f"{K} classes of {base} base features have weights above number {INDEX_LIMIT}",
            3,
            1,
        )
    lines.check_fits(4 * K)
    text, fields = marks.split(path, file.read(), _FIRST_LINE, marks.OF_FUNCTIONS)
    names = marks.names_of(path, fields, K, 2)
    numbers, vectors = _classes_of(path, text, K)
    alpha, indptr, indices, values = lines.vectors(vectors, count, max(K * base, highest))
    # slacks of -p 2 stand behind
    own = drop_columns(Csr(values, indices, indptr, max(K * base, highest), True), K * base)
    classes = np.array(numbers, np.int64) - 1
    features = _base_features(path, own, classes, base)
    columns, d = None, base
    if base > 2 * (lines.size + len(text)):
        columns, features = np.unique(features.astype(np.int32), return_inverse=True)
        d = len(columns)
    rows = Csr(own.data, features.astype(np.int32), own.indptr, d, True)
    places, firsts = find_distinct_rows(rows.indptr, rows.indices, rows.data)
    support = rows.take(firsts)
    key, where = np.unique(classes * count + places, return_inverse=True)
    weights = np.bincount(where, alpha, len(key)).astype(np.float64)
    if not np.isfinite(weights).all():
        raise ModelError(path, "the support vectors add up to coefficients that are not finite")
    starts = np.searchsorted(key, np.arange(K + 1) * max(1, count)).astype(np.int64)
    return JointKernelModel(
        kernel,
        support,
        starts,
        (key % max(1, count)).astype(np.int32),
        weights,
        np.zeros(K),
        names,
        False,
        columns,
        base,
        documents,
        loss_of(lines),
        temperature=fields.get("temperature"),
    )


def _classes_of(path: str, text: bytes, K: int) -> tuple[list[int], bytes]:
    """Number of the class that each line names, and the lines without it."""
    numbers, parts = [], []
    for number, line in enumerate(text.splitlines(keepends=True), _FIRST_LINE):
        match = _CLASS.match(line)
        if match is None or not 1 <= int(match[3]) <= K:
            raise ModelError(
                path,
                f"no class; expected 'qid:' and a number from 1 to {K} behind the weight",
                number,
                1,
            )
        numbers.append(int(match[3]))
        parts += [match[1], b" " * len(match[2]), line[match.end() :]]
    return numbers, b"".join(parts)


def _base_features(
    path: str, own: Csr, classes: NDArray[np.int64], base: int
) -> NDArray[np.integer]:
    """Base feature of every entry of rows of these classes."""
    features = own.indices - np.repeat(classes * base, np.diff(own.indptr))
    astray = np.flatnonzero((features < 0) | (features >= base))
    if len(astray):
        row = int(np.repeat(np.arange(len(classes)), np.diff(own.indptr))[astray[0]])
        message = f"feature index {own.indices[astray[0]] + 1} is none of class {classes[row] + 1}"
        raise ModelError(path, message, _FIRST_LINE + row, 1)
    return features
