# SPDX-License-Identifier: BSD-3-Clause
"""Model files of classes with a kernel, a plain-text format of our own; docs/formats.md shows one.

    svmcut multiclass 1
    the kernel, six lines
    highest # highest feature index
    n # number of training documents
    m # number of support vectors plus 1
    K # number of classes
    one-vs-one # or one-vs-rest
    b b ... # thresholds of the machines
    machine:coefficient ... | index:value ... #          m - 1 lines, machines counted from 1

Marks follow: ``#@ labels L1 L2 ..`` names the classes where they are not 1 to K, ``#@ loss NAME``
another loss than the hinge, ``#@ sigmoid A B A B ..`` the probabilities of pairs, ``#@ temperature
T`` those of classes against the rest.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from svmcut._native.text import ExpansionFault, format_pairs, parse_expansion
from svmcut.base.errors import ModelError
from svmcut.base.typing import BinaryIO
from svmcut.data.examples import Csr
from svmcut.files.output import Output
from svmcut.formats import marks
from svmcut.formats.grammar import FAULTS, INDEX_LIMIT, HeaderLines, finite32, write_header
from svmcut.models import KernelMulticlassModel
from svmcut.spec.catalog import MULTICLASS

_HEADER_LINES = 13
_NUMBER = rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_WORD = re.compile(_NUMBER)
_COEFFICIENTS = re.compile(rb"(?:\d{1,10}:" + _NUMBER + rb" )*\| ")


def write(
    path: str, first: bytes, output: Output, model: KernelMulticlassModel, original: bool = False
) -> None:
    """Writes the whole file: features rounded to float32, coefficients with all digits; see
    svmcut.spec.entries.Format."""
    support, K = model.support, len(model.names)
    values, columns = finite32(path, support.data[support.stored]), support.indices[support.stored]
    if model.columns is not None:
        columns = model.columns[columns]
    if not (np.isfinite(model.alpha).all() and np.isfinite(model.b).all()):
        raise ModelError(
            path, "a coefficient or a threshold is not finite; the model is not written"
        )
    highest = max(int(columns.max(initial=-1)) + 1, min(model.highest_index, INDEX_LIMIT))
    write_header(
        output,
        first,
        model.kernel,
        f"{highest} # highest feature index\n"
        f"{min(model.n_documents, INDEX_LIMIT)} # number of training documents\n"
        f"{support.n_rows + 1} # number of support vectors plus 1\n"
        f"{K} # number of classes\n"
        f"{MULTICLASS[2 if model.paired else 1]} # machines\n"
        f"{' '.join(f'{b:.8g}' for b in model.b.tolist())} # thresholds of the machines; support "
        "vectors follow\n",
        original,
    )
    machines = np.repeat(np.arange(1, len(model.b) + 1), np.diff(model.starts))
    order = np.argsort(model.places, kind="stable")
    words = [
        f"{j}:{a:.17g}"
        for j, a in zip(machines[order].tolist(), model.alpha[order].tolist(), strict=True)
    ]
    ends = np.searchsorted(model.places[order], np.arange(support.n_rows + 1)).tolist()
    bounds = (support.indptr - support.indptr[0]).tolist()
    pairs = format_pairs(columns, values, not original).decode().split(" ")
    pieces = (
        [*words[ends[i] : ends[i + 1]], "|", *pairs[bounds[i] : bounds[i + 1]], "#\n"]
        for i in range(support.n_rows)
    )
    output.write("".join(map(" ".join, pieces)).encode())
    output.write(marks.text_of_classes(model))


def read(path: str, first: bytes, file: BinaryIO) -> KernelMulticlassModel:
    """Reads the model after line 1 of the file; see svmcut.spec.entries.Format."""
    lines = HeaderLines(path, first, file, _HEADER_LINES, limit=-1)
    kernel = lines.kernel()
    highest = lines.integer(8, "the highest feature index", 0)
    documents = lines.integer(9, "the number of training documents", 0)
    count = lines.integer(10, "the number of support vectors plus 1", 1) - 1
    K = lines.integer(11, "the number of classes", 1)
    kind, words = lines.text(12).strip().decode("ascii", "backslashreplace"), lines.text(13).split()
    if kind not in MULTICLASS[1:]:
        expected = f"expected {MULTICLASS[2]} or {MULTICLASS[1]}"
        raise ModelError(path, f"machines '{kind[:40]}' are refused; {expected}", 12, 1)
    paired = kind == MULTICLASS[2]
    M = K * (K - 1) // 2 if paired else K
    b = np.array(words if all(map(_WORD.fullmatch, words)) else [], np.float64)
    if len(b) != M or not np.isfinite(b).all():
        raise ModelError(path, f"the thresholds are refused; expected {M} finite numbers", 13, 1)
    text, known = marks.split(path, file.read(), _HEADER_LINES + 1, marks.OF_MACHINES)
    names = marks.names_of(path, known, K, 11)
    sigmoids, temperature = known.get("sigmoid"), known.get("temperature")
    if (sigmoids is not None and (not paired or len(sigmoids) != M)) or (
        temperature is not None and paired
    ):
        raise ModelError(path, f"probabilities are refused; expected those of {M} machines {kind}")
    heads, starts, tails = _split_lines(path, text)
    try:
        _, indptr, indices, values = parse_expansion(b"".join(tails), count, highest)
    except ExpansionFault as fault:
        raise _refusal_of(path, fault, tails, starts) from None
    ends, machines, alpha = _coefficients(path, heads, M)
    places = np.repeat(np.arange(count, dtype=np.int32), np.diff(ends))
    order = np.argsort(machines, kind="stable")
    columns, d = None, int(indices.max(initial=-1)) + 1
    if d > 2 * (lines.size + len(text)):
        columns, indices = np.unique(indices, return_inverse=True)
        indices, d = indices.astype(np.int32), len(columns)
    bounds = np.searchsorted(machines[order], np.arange(M + 1)).astype(np.int64)
    return KernelMulticlassModel(
        kernel,
        Csr(values, indices, indptr, d, True),
        bounds,
        places[order],
        alpha[order],
        b,
        names,
        paired,
        columns,
        highest,
        documents,
        known.get("loss"),
        sigmoids,
        temperature,
        certificate=marks.certificate_of(path, known, M),
    )


def _split_lines(path: str, text: bytes) -> tuple[list[bytes], list[int], list[bytes]]:
    """Coefficients of every line, start of its features, and these as a support vector of weight
    1."""
    heads, starts, tails = [], [], []
    for number, line in enumerate(text.splitlines(keepends=True), _HEADER_LINES + 1):
        match = _COEFFICIENTS.match(line)
        if match is None:
            message = (
                "no coefficients; expected machine:coefficient pairs and a bar, such as '1:0.5 "
                "3:-0.25 | '"
            )
            raise ModelError(path, message, number, 1)
        heads.append(match[0][:-2])
        starts.append(match.end())
        tails.append(b"1 " + line[match.end() :])
    return heads, starts, tails


def _coefficients(path: str, heads: list[bytes], M: int) -> tuple[NDArray, NDArray, NDArray]:
    """First coefficient of each support vector, machines of the coefficients from 0, and their
    values."""
    words = b"".join(heads).replace(b":", b" ").split()
    machines = np.array(words[0::2], np.int64) - 1
    alpha = np.array(words[1::2], np.float64)
    ends = np.cumsum([0, *(head.count(b":") for head in heads)])
    vectors = np.repeat(np.arange(len(heads)), np.diff(ends))
    bad = (machines < 0) | (machines >= M) | ~np.isfinite(alpha)
    bad[1:] |= (machines[1:] <= machines[:-1]) & (vectors[1:] == vectors[:-1])
    if bad.any():
        message = (
            f"a coefficient is refused; expected finite ones of machines 1 to {M}, which increase "
            "within a line"
        )
        raise ModelError(path, message, _HEADER_LINES + 1 + int(vectors[np.argmax(bad)]), 1)
    return ends, machines, alpha


def _refusal_of(
    path: str, fault: ExpansionFault, tails: list[bytes], starts: list[int]
) -> ModelError:
    """Error for a fault in the tails, at its place in the file."""
    before = b"".join(tails)[: fault.where]
    line = before.count(b"\n")
    column = fault.where - before.rfind(b"\n")
    if line < len(starts):
        column = max(1, column - 2 + starts[line])
    return ModelError(path, FAULTS[fault.kind], _HEADER_LINES + 1 + line, column)
