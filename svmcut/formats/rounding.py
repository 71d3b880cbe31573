# SPDX-License-Identifier: BSD-3-Clause
"""Rounding of models by their files: eight digits of weights and thresholds, in an original's file
of all numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native.text import format_pairs, parse_expansion
from svmcut.base.records import replace
from svmcut.base.typing import TYPE_CHECKING
from svmcut.data.examples import Csr
from svmcut.files.output import KEPT
from svmcut.models import KernelModel
from svmcut.models.kernel_forms import BY_PART, BY_ROOT
from svmcut.spec.catalog import load

if TYPE_CHECKING:
    from svmcut.models.kernels import Kernel


def read_back(values: NDArray) -> NDArray[np.float32]:
    """(k,) float32 weights or features as a reader of the file gets them; those that are not finite
    stay."""
    with np.errstate(over="ignore"):
        narrow = np.ascontiguousarray(values, np.float32).copy()
    places = np.flatnonzero(np.isfinite(narrow) & (narrow != 0))
    if len(places):
        text = b"1 " + format_pairs(np.arange(len(places), dtype=np.int32), narrow[places]) + b"#\n"
        narrow[places] = parse_expansion(text, 1, len(places))[3]
    return narrow


def read_back_number(value: float) -> float:
    """A threshold or a parameter of a kernel as a reader of the file gets it."""
    return float(f"{value:.8g}")


def expansion_read_back(kernel: Kernel, support: Csr, original: bool = False) -> tuple[Kernel, Csr]:
    """Kernel and support vectors as a file has them; the same vectors if no feature changes, as in
    svmcut's."""
    if not original:
        return kernel, support
    values = support.data.copy()
    values[support.stored] = read_back(support.data[support.stored])
    if not np.array_equal(values, support.data):
        support = replace(support, data=values)
    gamma, scale, offset = map(read_back_number, (kernel.gamma, kernel.scale, kernel.offset))
    return replace(kernel, gamma=gamma, scale=scale, offset=offset), support


def model_read_back(model: KernelModel) -> KernelModel:
    """The model as an original's file has it."""
    kernel, support = expansion_read_back(model.kernel, model.support, True)
    return replace(model, kernel=kernel, support=support, b=read_back_number(model.b))


def change_in_file(model: KernelModel, kept: KernelModel) -> float:
    """Largest difference of a sum over the support vectors to that of the model as it is read
    back."""
    if kept.support is model.support and kept.kernel == model.kernel:
        return 0.0
    support = model.support
    rows = np.repeat(np.arange(support.n_rows), np.diff(support.indptr))
    data = support.data[support.stored].astype(np.float64)
    largest = float(np.max(np.bincount(rows, data * data, support.n_rows), initial=0.0))
    return float(np.abs(model.alpha).sum()) * _value_change(model.kernel, largest)


def most_change_in_file(rows: Csr, kernel: Kernel) -> float:
    """Largest change of a kernel value with one of these rows, if all features change as in an
    original's file."""
    data = rows.data[rows.stored].astype(np.float64)
    places = np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr))
    largest = float(np.max(np.bincount(places, data * data, rows.n_rows), initial=0.0))
    return _value_change(kernel, largest)


def _value_change(kernel: Kernel, largest: float) -> float:
    """Largest change of a kernel value when features of a z and the parameters change as in a file,
    to first order; no |x|^2 is above `largest`."""
    if kernel.row.of_distances:  # |dK| = |k'(t)| 2 sqrt(t gamma) |dz|, and t |k'(t)| of gamma's
        return KEPT * (BY_ROOT * float(np.sqrt(kernel.gamma * largest)) + BY_PART)
    if not kernel.row.takes:
        return KEPT * largest
    size = abs(kernel.scale) * largest + abs(kernel.offset)
    change: float = load(kernel.row.where).change(kernel, size, 3 * KEPT * size)
    return change
