# SPDX-License-Identifier: BSD-3-Clause
"""LIBSVM's models of two classes and of numbers, which are read alone: a header of names, then a support vector a line.

A score above 0 is for the first label; rho is subtracted. probA and probB of two classes are the sigmoid of the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from svmcut.catalog import TASKS
from svmcut.files.models.expansions import scoring_model
from svmcut.files.models.grammar import FAULTS, INDEX_LIMIT, vectors
from svmcut.files.models.named_lines import NamedLines, two_labels
from svmcut.kernels import KERNELS, Kernel

if TYPE_CHECKING:
    from svmcut.models import ScoringModel

_NAMES = ("svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv", "rho", "label", "probA",
          "probB", "nr_sv")  # fmt: skip
_CLASSIFIERS, _REGRESSORS = ("c_svc", "nu_svc"), ("epsilon_svr", "nu_svr")
#: What says that a model is one of numbers.
_OF_NUMBERS = TASKS["regression"].loss
_FAULTS = FAULTS | {
    "index": f"feature index outside 1 to {INDEX_LIMIT - 1}",
    "trailing": "more lines than total_sv announces",
}


def read(path: str, first: bytes, file: BinaryIO) -> ScoringModel:
    """The model behind line 1 of the file; see svmcut.rows.Format."""
    lines = NamedLines(path, first, file, "SV", _NAMES)
    of_numbers = lines.word("svm_type", (*_CLASSIFIERS, *_REGRESSORS)) in _REGRESSORS
    kernel = _kernel(lines, lines.word("kernel_type", KERNELS))
    known: dict[str, Any] = {"loss": _OF_NUMBERS}
    if not of_numbers:
        names = lines.classes()
        if len(names) > 2:
            raise lines.refuse("nr_class", "two classes")
        known = {"labels": two_labels(names)}
        if "probA" in lines:
            known["sigmoid"] = lines.reals("probA", 1)[0], lines.reals("probB", 1)[0]
    (rho,) = lines.reals("rho", 1)
    count, text = lines.integer("total_sv", INDEX_LIMIT), file.read()
    found = vectors(path, text, count, INDEX_LIMIT - 1, lines.next, _FAULTS)
    return scoring_model(path, lines.size + len(text), kernel, found, rho, **known)


def _kernel(lines: NamedLines, name: str) -> Kernel:
    """LIBSVM's gamma is svm_light's s where a product is scaled, and its g in a distance."""
    if name == "linear":
        return Kernel()
    (gamma,) = lines.reals("gamma", 1)
    if name == "rbf":
        return Kernel(name, gamma=gamma)
    (offset,) = lines.reals("coef0", 1)
    if name == "sigmoid":
        return Kernel(name, scale=gamma, offset=offset)
    return Kernel(name, lines.integer("degree", INDEX_LIMIT), scale=gamma, offset=offset)
