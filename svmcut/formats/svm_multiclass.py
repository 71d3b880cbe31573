# SPDX-License-Identifier: BSD-3-Clause
"""Model files in the layout of svm_multiclass V2.20.

    SVM-multiclass Version V2.20
    K # number of classes
    F # number of base features
    0 # loss function                1 for the squared difference of the classes
    the kernel, six lines
    K F + 1 # highest feature index
    n # number of training documents
    2 # number of support vectors plus 1
    0 # threshold b, ...
    1 qid:0 index:value ... #          weight of feature f and class k at (k - 1) F + f

Lines of a kernel are in svmcut.formats.svm_multiclass_kernel.

Marks follow: ``#@ bias V`` says that the last base feature is the constant V, ``#@ labels L1 L2
..`` names the classes where they are not 1 to K, ``#@ loss NAME`` a loss that svm_multiclass has
not, ``#@ temperature T`` what makes probabilities of scores.
"""

from __future__ import annotations

import numpy as np

from svmcut.base.errors import ModelError
from svmcut.base.records import replace
from svmcut.base.typing import BinaryIO
from svmcut.files.output import Output
from svmcut.formats import marks, svm_multiclass_kernel
from svmcut.formats.grammar import (
    INDEX_LIMIT,
    HeaderLines,
    finite32,
    products,
    write_header,
    write_pairs,
)
from svmcut.models import JointKernelModel, MulticlassModel
from svmcut.models.kernels import Kernel

_HEADER_LINES = 14
_QUERY = b"qid:0 "
#: Weights written together.
_BLOCK_WEIGHTS = 1 << 20


def write(
    path: str,
    first: bytes,
    output: Output,
    model: MulticlassModel | JointKernelModel,
    original: bool = False,
) -> None:
    """Writes the whole file, weights rounded to float32; see svmcut.spec.entries.Format."""
    if isinstance(model, JointKernelModel):
        return svm_multiclass_kernel.write(path, first, output, model, original)
    d, base = len(model.W), model.highest_index + (model.bias != 0)
    head, counts = svm_multiclass_kernel.head_of(path, first, model, base, 1)
    write_header(output, head, Kernel(), counts, original)
    columns = (
        np.arange(d, dtype=np.int64) if model.columns is None else model.columns.astype(np.int64)
    )
    if model.bias:
        columns = np.append(columns, base - 1)
    output.write(b"1 " + _QUERY)
    for start in range(0, len(model.names), max(1, _BLOCK_WEIGHTS // max(1, d))):  # class by class
        some = slice(start, start + max(1, _BLOCK_WEIGHTS // max(1, d)))
        W = finite32(path, model.W[:, some].T)
        if model.bias:
            W = np.column_stack([W, finite32(path, model.constant[some])])
        used, width = np.flatnonzero(W), max(1, W.shape[1])
        k = used // width
        places = (k + start) * base + columns[used - k * width]
        write_pairs(output, places.astype(np.int32), W.ravel()[used])
    output.write(b"#\n")
    bias = {"bias": [repr(model.bias).removesuffix(".0")]} if model.bias else {}
    output.write(marks.text_of_classes(model, **bias))


def read(path: str, first: bytes, file: BinaryIO) -> MulticlassModel | JointKernelModel:
    """Reads the model after line 1 of the file; see svmcut.spec.entries.Format."""
    lines = HeaderLines(path, first, file, _HEADER_LINES)
    K = lines.integer(2, "the number of classes", 1)
    base = lines.integer(3, "the number of base features", 0)
    if lines.text(5).strip() != b"0":
        return svm_multiclass_kernel.read(path, lines, file, K, base)
    highest = lines.integer(11, "the highest feature index", 0)
    documents = lines.integer(12, "the number of training documents", 0)
    count = lines.integer(13, "the number of support vectors plus 1", 1) - 1
    text, known = marks.split(path, file.read(), _HEADER_LINES + 1, marks.OF_CLASSES)
    names, bias = marks.names_of(path, known, K, 2), known.get("bias", 0.0)
    if K * base > INDEX_LIMIT:
        raise ModelError(
            path,
            f"{K} classes of {base} base features have weights above number {INDEX_LIMIT}",
            3,
            1,
        )
    if bias and not base:
        raise ModelError(path, "'#@ bias' needs a base feature", 3, 1)
    alpha, indptr, indices, values = lines.vectors(
        text.replace(b" " + _QUERY, b" "), count, max(K * base, highest)
    )
    own = indices < K * base  # of -p 2 there are slacks of the training rows behind the weights
    weights, places = products(alpha, indptr, values)[own], indices[own].astype(np.int64)
    k = places // max(1, base)
    feature = places - max(1, base) * k
    of_bias = (feature == base - 1) if bias else np.zeros(len(places), bool)
    constant = np.bincount(k[of_bias], weights[of_bias], K).astype(np.float64)
    k, feature, weights = k[~of_bias], feature[~of_bias], weights[~of_bias]
    columns, d = None, base - (bias != 0)
    if d * K > 4 * (lines.size + len(text) + 2**18):
        columns, feature = np.unique(feature, return_inverse=True)
        columns, d = columns.astype(np.int32), len(columns)
    lines.check_fits(d * K)
    feature *= K
    feature += k
    W = np.asarray(np.bincount(feature, weights, d * K), np.float64).reshape(d, K)
    if not (np.isfinite(W).all() and np.isfinite(constant).all()):
        raise ModelError(path, "the support vectors add up to weights that are not finite")
    rest = known.get("loss") or svm_multiclass_kernel.loss_of(lines), known.get("temperature")
    model = MulticlassModel(W, constant, bias, names, columns, base - (bias != 0), documents, *rest)
    return replace(model, certificate=marks.certificate_of(path, known, K))
