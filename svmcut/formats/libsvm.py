# SPDX-License-Identifier: BSD-3-Clause
"""LIBSVM's models of classes, of one class and of numbers: a header of names, then one support
vector per line; libsvm_writing.py writes them.

A score above 0 means the first label; rho is subtracted. probA and probB are the sigmoid of the
first. Several classes are one against one, and stay in the order of the file: a vector of class c
has a coefficient for every other class.
"""

from __future__ import annotations

import re

import numpy as np

from svmcut.base.errors import ModelError
from svmcut.base.messages import Message
from svmcut.base.typing import Any, BinaryIO
from svmcut.data.examples import Csr
from svmcut.formats.expansions import scoring_model
from svmcut.formats.grammar import FAULTS, INDEX_LIMIT, vectors
from svmcut.formats.library_text import (
    KERNEL_NAMES,
    KERNEL_TYPES,
    PRECOMPUTED,
    NamedLines,
    two_labels,
)
from svmcut.models import KernelMulticlassModel, ScoringModel, pairs_of
from svmcut.models.kernels import Kernel
from svmcut.spec.catalog import ONE_CLASS_LOSS, TASKS

_CLASSIFIERS, _REGRESSORS, _ONE_CLASS = ("c_svc", "nu_svc"), ("epsilon_svr", "nu_svr"), "one_class"
#: Loss of models of numbers.
_OF_NUMBERS = TASKS["regression"].loss
#: At most as many digits as an int64 has; longer ones are refused when they are read.
_INDEX = re.compile(rb"([ \t])(\d{1,18}):")
_FAULTS = FAULTS | {
    "index": Message(
        "feature index outside 1 to {}; where they begin at 0 give {zero_based}", INDEX_LIMIT - 1
    ),
    "trailing": "more lines than total_sv announces",
}


def read(
    path: str, first: bytes, file: BinaryIO, zero_based: bool = False
) -> ScoringModel | KernelMulticlassModel:
    """Reads the model after line 1 of the file; see svmcut.spec.entries.Format."""
    lines = NamedLines(path, first, file, "SV", KERNEL_NAMES)
    machine = lines.word("svm_type", (*_CLASSIFIERS, *_REGRESSORS, _ONE_CLASS))
    kernel = _kernel(lines, lines.word("kernel_type", KERNEL_TYPES[:PRECOMPUTED]))
    known: dict[str, Any] = {"loss": ONE_CLASS_LOSS if machine == _ONE_CLASS else _OF_NUMBERS}
    if machine in _CLASSIFIERS:
        names = lines.classes()
        if len(names) > 2:
            return _several(lines, kernel, names, _text(file, zero_based))
        known = {"labels": two_labels(names)}
        if "probA" in lines:
            known["sigmoid"] = lines.reals("probA", 1)[0], lines.reals("probB", 1)[0]
    elif machine in _REGRESSORS and "probA" in lines:
        (known["sigma"],) = lines.reals("probA", 1)
    (rho,) = lines.reals("rho", 1)
    count, text = lines.integer("total_sv", INDEX_LIMIT), _text(file, zero_based)
    support = vectors(path, text, count, INDEX_LIMIT - 1, lines.next, _FAULTS)
    return scoring_model(path, lines.size + len(text), kernel, support, rho, **known)


def _text(file: BinaryIO, zero_based: bool) -> bytes:
    """The support vectors, with features from 1."""
    text = file.read()
    return (
        _INDEX.sub(lambda match: b"%s%d:" % (match[1], int(match[2]) + 1), text)
        if zero_based
        else text
    )


def _several(
    lines: NamedLines, kernel: Kernel, names: list[float], text: bytes
) -> KernelMulticlassModel:
    """The model of more than two classes."""
    K, path, pairs = len(names), lines.path, pairs_of(len(names))
    b, count = lines.reals("rho", len(pairs)), lines.integer("total_sv", INDEX_LIMIT)
    sizes = np.array(lines.reals("nr_sv", K))
    if (sizes < 0).any() or (sizes != np.round(sizes)).any() or sizes.sum() != count:
        raise lines.refuse("nr_sv", f"{K} whole numbers that add up to total_sv")
    sigmoids = None
    if "probA" in lines:
        sigmoids = tuple(
            zip(*(lines.reals(name, len(pairs)) for name in ("probA", "probB")), strict=True)
        )
    coef, rest = [], []
    for number, line in enumerate(text.splitlines(keepends=True), lines.next):
        *words, tail = [*line.split(None, K - 1), b""][:K]
        try:
            coef.append([float(word) for word in words])
        except ValueError:
            coef.append([])
        if len(coef[-1]) != K - 1 or not np.isfinite(coef[-1]).all():
            raise ModelError(
                path, f"expected {K - 1} finite coefficients of a support vector", number, 1
            )
        start = len(line.rstrip()) - len(tail.rstrip()) if tail else len(line.rstrip())
        rest.append(b"0".ljust(start) + line[start:])  # columns of messages stay
    _, indptr, indices, values = vectors(
        path, b"".join(rest), count, INDEX_LIMIT - 1, lines.next, _FAULTS
    )
    own, alphas = np.repeat(np.arange(K), sizes.astype(np.int64)), np.array(coef).reshape(-1, K - 1)
    machines, alpha, places = [], [], []
    for first, second in pairs:
        of = np.flatnonzero((own == first) | (own == second))
        of_pair = np.where(own[of] == first, alphas[of, second - 1], alphas[of, first])
        machines.append(int(np.count_nonzero(of_pair)))
        alpha.append(of_pair[of_pair != 0])
        places.append(of[of_pair != 0].astype(np.int32))
    columns, d = None, int(indices.max(initial=-1)) + 1
    if d > 2 * (lines.size + len(text)):
        columns, indices = np.unique(indices, return_inverse=True)
        indices, d = indices.astype(np.int32), len(columns)
    return KernelMulticlassModel(
        kernel,
        Csr(values, indices, indptr, d, True),
        np.cumsum([0, *machines]),
        np.concatenate(places),
        np.concatenate(alpha),
        np.array(b),
        np.array(names),
        True,
        columns,
        sigmoids=sigmoids,
    )


def _kernel(lines: NamedLines, name: str) -> Kernel:
    """Kernel of the header; LIBSVM's gamma is svm_light's s if it scales a product, and its g in a
    distance."""
    if name == "linear":
        return Kernel()
    (gamma,) = lines.reals("gamma", 1)
    if name == "rbf":
        return Kernel(name, gamma=gamma)
    (offset,) = lines.reals("coef0", 1)
    if name == "sigmoid":
        return Kernel(name, scale=gamma, offset=offset)
    return Kernel(name, lines.integer("degree", INDEX_LIMIT), scale=gamma, offset=offset)
