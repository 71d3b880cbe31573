# SPDX-License-Identifier: BSD-3-Clause
"""Writes models of svmcut as LIBSVM's machines of two classes, for svmcut export.

Scores of classes, of which the largest wins, become machines of pairs whose values are differences
of scores: the class with the largest score wins all of its pairs. A vector that serves several
classes appears once for each. Weights of features are one vector.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut.base.typing import Any
from svmcut.data.examples import Csr
from svmcut.files.output import Output
from svmcut.formats import exported
from svmcut.formats.library_text import C_SVC, EPSILON_SVR, KERNEL_TYPES, ONE_CLASS_SVM, KernelText
from svmcut.models import (
    JointKernelModel,
    KernelModel,
    KernelMulticlassModel,
    LinearModel,
    MulticlassModel,
    pairs_of,
)
from svmcut.models.kernels import Kernel
from svmcut.spec.catalog import ONE_CLASS_LOSS


def write(path: str, first: bytes, output: Output, model: Any, original: bool = False) -> None:
    """Writes the whole file; see svmcut.spec.entries.Format. Raises UsageError for labels that
    LIBSVM cannot have, and ModelError."""
    for part in text_of(path, model).lines():
        output.write(part)


def text_of(path: str, model: Any) -> KernelText:
    """Contents of LIBSVM's file of a model; raises as `write`."""
    if isinstance(model, LinearModel):
        exported.check_finite(path, model.w, np.array(model.offset))
        w = Csr.from_dense(model.w[None].astype(np.float64))
        rows = w.indptr, _indices(w.indices, model.columns), model.w[model.w != 0]
        return _text_of_one(path, model, Kernel(), rows, np.ones(1))
    if isinstance(model, KernelModel):
        exported.check_finite(path, model.alpha, np.array(model.offset))
        return _text_of_one(path, model, model.kernel, _rows(model), model.alpha)
    if isinstance(model, MulticlassModel):
        return _text_of_weights(path, model)
    assert isinstance(model, KernelMulticlassModel)
    exported.check_finite(path, model.alpha, model.b)
    return _text_of_machines(path, model)


def _indices(columns: NDArray, names: NDArray | None) -> NDArray[np.int32]:
    return (columns if names is None else names[columns]).astype(np.int32) + np.int32(1)


def _rows(model: Any) -> tuple[NDArray, NDArray, NDArray]:
    support = model.support
    starts = support.indptr - support.indptr[0]
    if model.kernel.is_given:  # a vector is the 1 in the column of its point
        columns = support.indices[support.stored]
        names = columns if model.columns is None else model.columns[columns]
        return starts, np.zeros(len(columns), np.int32), names + 1.0
    values = support.data[support.stored].astype(np.float64)
    return starts, _indices(support.indices[support.stored], model.columns), values


def _kernel(kernel: Kernel) -> dict[str, Any]:
    """Fields of a KernelText: LIBSVM's gamma scales a product where svm_light's s does."""
    number = KERNEL_TYPES.index(kernel.name)
    gamma = kernel.gamma if kernel.row.of_distances else kernel.scale
    return {"kernel": number, "degree": kernel.degree, "gamma": gamma, "coef0": kernel.offset}


def _text_of_one(path: str, model: Any, kernel: Kernel, rows: Any, alpha: NDArray) -> KernelText:
    """A machine of two classes, or of numbers."""
    own, b = _kernel(kernel), model.offset
    if model.loss == ONE_CLASS_LOSS:
        return KernelText(ONE_CLASS_SVM, own.pop("kernel"), [b], alpha[:, None], rows, **own)
    if not exported.has_class_signs(model):
        return KernelText(EPSILON_SVR, own.pop("kernel"), [b], alpha[:, None], rows, **own)
    order = np.argsort(alpha < 0, kind="stable")
    counts = [int(np.count_nonzero(alpha >= 0)), int(np.count_nonzero(alpha < 0))]
    known: dict[str, Any] = {"labels": exported.two_names(path, model), "counts": counts, **own}
    if model.sigmoid is not None:
        A, B = model.sigmoid
        known["sigmoids"] = [A], [B + A * (model.threshold or 0.0)]
    return KernelText(
        C_SVC, known.pop("kernel"), [b], alpha[order, None], take_rows(rows, order), **known
    )


def take_rows(rows: Any, order: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Some rows of (bounds, indices, values)."""
    indptr, indices, values = rows
    lengths = np.diff(indptr)[order]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    entries = np.repeat(indptr[order] - starts[:-1], lengths) + np.arange(starts[-1])
    return starts, indices[entries], values[entries]


def _text_of_weights(path: str, model: MulticlassModel) -> KernelText:
    """Classes with their own weights: each is a vector."""
    exported.check_finite(path, model.W, model.constant)
    K = len(model.names)
    dense = model.W.T
    place, column = np.nonzero(dense)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=K))])
    rows = indptr, _indices(column, model.columns), dense[place, column]
    b = -model.bias * model.constant
    return _text_of_scores(path, model, Kernel(), rows, (np.arange(K), np.arange(K), np.ones(K)), b)


def _text_of_machines(path: str, model: KernelMulticlassModel) -> KernelText:
    machine = np.repeat(np.arange(len(model.b)), np.diff(model.starts))
    if not model.paired or isinstance(model, JointKernelModel):
        entries = model.places.astype(np.int64), machine, model.alpha
        return _text_of_scores(path, model, model.kernel, _rows(model), entries, model.b)
    pairs = np.array(pairs_of(len(model.names)))[machine]
    first = model.alpha > 0
    own, other = np.where(first, *pairs.T), np.where(first, *pairs.T[::-1])
    sides = model.places.astype(np.int64), own, other, model.alpha
    return _text_of_pairs(path, model, model.kernel, _rows(model), sides, model.b.tolist())


def _text_of_scores(
    path: str, model: Any, kernel: Kernel, rows: Any, entries: Any, b: NDArray
) -> KernelText:
    """Machines of differences of scores; `entries` are (vectors, classes, coefficients) of the
    scores."""
    places, own, alpha = entries
    K = len(model.names)
    others = np.arange(K - 1)[None] + (np.arange(K - 1)[None] >= own[:, None])
    signs = np.where(others > own[:, None], 1.0, -1.0)
    spread = np.repeat(places, K - 1), np.repeat(own, K - 1), others.ravel()
    rho = [float(b[i] - b[j]) for i, j in pairs_of(K)]
    return _text_of_pairs(
        path, model, kernel, rows, (*spread, (signs * alpha[:, None]).ravel()), rho
    )


def _text_of_pairs(
    path: str, model: Any, kernel: Kernel, rows: Any, entries: Any, rho: list[float]
) -> KernelText:
    """Text of coefficients (vectors, own classes, other classes, values): each is in a row of its
    vector and class."""
    places, own, other, alpha = entries
    K = len(model.names)
    keys, row = np.unique(own * (len(rows[0]) - 1) + places, return_inverse=True)
    coefs = np.zeros((len(keys), K - 1))
    np.add.at(coefs, (row, np.where(other > own, other - 1, other)), alpha)
    vectors, classes = keys % max(1, len(rows[0]) - 1), keys // max(1, len(rows[0]) - 1)
    known = _kernel(kernel) | {"labels": exported.names_of(path, model)}
    known["counts"] = np.bincount(classes, minlength=K).tolist()
    sigmoids = getattr(model, "sigmoids", None)
    if sigmoids is not None:
        known["sigmoids"] = [A for A, _ in sigmoids], [B for _, B in sigmoids]
    return KernelText(C_SVC, known.pop("kernel"), rho, coefs, take_rows(rows, vectors), **known)
