# SPDX-License-Identifier: BSD-3-Clause
"""Model files of label sets, a plain-text format of our own; docs/formats.md shows one.

Five header lines, then a line of weights for every label and one of its pairs with later labels:

    svmcut multilabel model 1
    K # number of labels
    d # number of features
    1 # constant feature
    LABEL LABEL ... # labels
    constant index:value ... #          K lines
    label place:value ... #             K lines, places counted from 1
"""

from __future__ import annotations

import numpy as np

from svmcut._native.text import format_pairs
from svmcut.base.errors import ModelError
from svmcut.base.typing import BinaryIO
from svmcut.files.output import Output
from svmcut.formats import marks
from svmcut.formats.grammar import INDEX_LIMIT, HeaderLines, finite32
from svmcut.models import MultilabelModel, SparseLabelModel

_HEADER_LINES = 5
_FIRST = "svmcut multilabel model 1"


def write(
    path: str, first: bytes, output: Output, model: MultilabelModel, original: bool = False
) -> None:
    """Writes the whole file, weights rounded to float32, the constants with all digits; see
    svmcut.spec.entries.Format."""
    W, v = finite32(path, model.W), finite32(path, model.v)
    if not np.isfinite(model.constant).all():
        raise ModelError(path, "a constant is not finite; the model is not written")
    columns = np.arange(len(W), dtype=np.int32) if model.columns is None else model.columns
    names = model.names.tolist()
    _write_head(output, columns, names)
    for k, constant in enumerate(model.constant.tolist()):
        used = np.flatnonzero(W[:, k])
        line = format_pairs(columns[used], np.ascontiguousarray(W[used, k]))
        output.write(f"{constant:.17g} ".encode() + line + b"#\n")
    order = np.lexsort((model.second, model.first))
    left, second, v = model.first[order], model.second[order], v[order]
    bounds = np.searchsorted(left, np.arange(len(names) + 1))
    for k, name in enumerate(names):
        row = slice(bounds[k], bounds[k + 1])
        output.write(f"{name} ".encode() + format_pairs(second[row], v[row]) + b"#\n")


def _write_head(output: Output, columns: np.ndarray, names: list[int]) -> None:
    head = [
        _FIRST,
        f"{len(names)} # number of labels",
        f"{int(columns[-1]) + 1 if len(columns) else 0} # number of features",
        "1 # constant feature",
        " ".join(map(str, names)) + " # labels",
    ]
    output.write(("\n".join(head) + "\n").encode())


def write_sparse(path: str, output: Output, model: SparseLabelModel) -> None:
    """Writes a model of sparse weights without pairs in the same format."""
    d, names = model.n_features, model.names.tolist()
    columns = np.arange(d, dtype=np.int32) if model.columns is None else model.columns
    _write_head(output, columns, names)
    bounds, features, values = model.by_label()
    for k, constant in enumerate(model.constant.tolist()):
        own = slice(bounds[k], bounds[k + 1])
        line = format_pairs(columns[features[own]], values[own], exact=True)
        output.write(f"{constant:.17g} ".encode() + line + b"#\n")
    for name in names:
        output.write(f"{name} #\n".encode())


def read(path: str, first: bytes, file: BinaryIO) -> MultilabelModel:
    """Reads the model after line 1 of the file; see svmcut.spec.entries.Format."""
    lines = HeaderLines(path, first, file, _HEADER_LINES, limit=-1)
    K = lines.integer(2, "the number of labels", 0, INDEX_LIMIT - 1)
    d = lines.integer(3, "the number of features", 0)
    lines.integer(4, "the number of constant features", 0, 1)
    names = _names(path, lines.text(5), K)
    body, known = marks.split_certificate(file.read(), marks.certificates)
    certificate = marks.certificate_of(path, {"certificate": known}, K)
    split, size = _end_of_line(body, K), lines.size + len(body)
    constant, indptr, indices, values = lines.vectors(body[:split], K, d)
    labels, starts, places, v = lines.vectors(body[split:], K, K, _HEADER_LINES + 1 + K)
    left = np.repeat(np.arange(K, dtype=np.int32), np.diff(starts))
    wrong = labels != names
    if wrong.any():
        line = _HEADER_LINES + 1 + K + int(np.argmax(wrong))
        raise ModelError(path, "label does not stand at this place of line 5", line, 1)
    if (places <= left).any():
        line = _HEADER_LINES + 1 + K + int(left[np.argmax(places <= left)])
        raise ModelError(path, "pairs name the place of a later label", line)
    columns = None
    if d > 2 * (size + 100) or d * K > 4 * (size + 2**18):
        columns, indices = np.unique(indices, return_inverse=True)
        d = len(columns)
    lines.check_fits(d * K)
    W = np.zeros((d, K))
    W[indices, np.repeat(np.arange(K), np.diff(indptr))] = values
    v = v.astype(np.float64)
    return MultilabelModel(W, constant, left, places, v, names, columns, certificate=certificate)


def _names(path: str, line: bytes, K: int) -> np.ndarray:
    words = line.split()
    if len(words) != K or not all(word.isdigit() and len(word) < 11 for word in words):
        raise ModelError(path, f"expected {K} labels", 5, 1)
    names = np.array([int(word) for word in words], np.int64)
    if (np.diff(names) <= 0).any():
        raise ModelError(path, "labels must increase", 5, 1)
    return names


def _end_of_line(text: bytes, lines: int) -> int:
    """Byte after so many lines; the end of the text if there are fewer."""
    at = 0
    for _ in range(lines):
        at = text.find(b"\n", at) + 1
        if not at:
            return len(text)
    return at
