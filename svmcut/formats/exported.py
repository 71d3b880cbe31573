# SPDX-License-Identifier: BSD-3-Clause
"""Models for other programs: as JSON, and what all their formats need, such as whole labels and
refusals.

    {"format": "svmcut model", "version": 1, "class": "LinearModel", "w": [...], "b": 0.5, ...}

JSON has the class of the model and its fields by name. Arrays are lists, matrices lists of rows;
sparse rows are {"n_features", "indptr", "indices", "values"} with indices from 0; a kernel is
{"name", "degree", "gamma", "scale", "offset"}. A number that is not finite is null. docs/formats.md
names the fields.
"""

from __future__ import annotations

import json
import math

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import ModelError, UsageError
from svmcut.base.messages import join_names
from svmcut.base.records import fields
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.data.examples import Csr
from svmcut.data.labels import SIGNS
from svmcut.models.kernels import Kernel
from svmcut.spec.catalog import EXPORTS, MARKED, TASKS, losses

if TYPE_CHECKING:
    from svmcut.files.output import Output
    from svmcut.spec.entries import Format


_LARGEST = 2**31 - 1
#: Losses of models whose scores are numbers, or an order, and no sign.
_OF_SCORES = {loss for name in ("rank", "regression") if name in TASKS for loss in losses(name)}


def whole_label(path: str, label: float | None) -> int:
    """Returns a label as a 32-bit integer; raises UsageError if it is none."""
    if label is None:
        raise UsageError(
            "{}: the negative class is every label but one, and the format names each; train with "
            "two labels",
            path,
        )
    if label != int(label) or abs(label) > _LARGEST:
        raise UsageError("{}: the format has whole labels, and {:g} is none", path, label)
    return int(label)


def two_names(path: str, model: Any) -> list[int]:
    """Labels of the positive and of the negative class; for words 1 and -1."""
    if model.words:
        return [1, -1]
    negative, positive = model.labels or SIGNS
    return [whole_label(path, positive), whole_label(path, negative)]


def names_of(path: str, model: Any) -> list[int]:
    """Labels of classes in the order of their scores; for words their numbers from 1."""
    return [whole_label(path, label) for label in model.names.tolist()]


def has_class_signs(model: Any) -> bool:
    """True if the sign of a score names a class."""
    return model.loss not in MARKED and model.loss not in _OF_SCORES


def in_all_features(w: NDArray[np.float64], columns: NDArray | None) -> NDArray[np.float64]:
    """Weights of all features from 0 to the last one."""
    if columns is None:
        return w
    out = np.zeros((int(columns.max(initial=-1)) + 1, *w.shape[1:]))
    out[columns] = w
    return out


def check_finite(path: str, *arrays: NDArray) -> None:
    """Raises ModelError for a model with a number that is not finite."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise ModelError(path, "a number of the model is not finite; it is not exported")


def can_express(to: str, model: Any) -> bool:
    """True if a format has this kind of model, its kernel and its columns."""
    row, kernel = EXPORTS[to], getattr(model, "kernel", None)
    known = kernel is None or to in kernel.row.formats
    return not row.models or (
        type(model).__name__ in row.models and known and _has_columns(row, model)
    )


def _has_columns(row: Format, model: Any) -> bool:
    """True if a format takes the columns that the rows of a model are made of."""
    columns = () if model.table is None else model.table.columns
    kinds = {type(column).__name__ for column in columns}
    return not row.columns or (bool(kinds) and kinds <= {*row.columns})


def not_expressible(path: str, model: Any, to: str, able: list[str]) -> UsageError:
    """Error for a model that a format does not express, with the formats that do."""
    row, what = EXPORTS[to], _kind(model)
    if type(model).__name__ in row.models and not _has_columns(row, model):
        what = "words of texts" if model.table else "rows of numbered features, but tables"
    return UsageError(
        "{}: {} has no {}; {} {} it",
        path,
        to,
        what,
        join_names(able, "and"),
        "take" if len(able) > 1 else "takes",
    )


def _kind(model: Any) -> str:
    kernel = f"the {getattr(getattr(model, 'kernel', None), 'name', '')} kernel"
    named = {
        "LinearModel": "linear machine of two classes, numbers or an order",
        "MulticlassModel": "linear machine of several classes",
        "KernelModel": f"machine with {kernel}",
        "KernelMulticlassModel": f"machine of classes with {kernel}",
        "JointKernelModel": "machine of classes with a kernel that were trained at once",
        "FourierModel": "machine on random Fourier features",
        "ChainModel": "machine of sequences",
        "KernelChainModel": "machine of sequences with a kernel",
        "MultilabelModel": "machine of label sets",
        "SparseLabelModel": "machine of label sets",
        "LabelTreeModel": "tree of labels",
    }
    return named.get(type(model).__name__, type(model).__name__)


def write(path: str, first: bytes, output: Output, model: Any, original: bool = False) -> None:
    """Writes the whole file; see svmcut.spec.entries.Format."""
    own = {"format": "svmcut model", "version": 1, "class": type(model).__name__}
    attributes = {field.name: plain(getattr(model, field.name)) for field in fields(model)}
    if attributes.pop("table", None) is not None:
        from svmcut.tables.lines import format_lines

        attributes["table"] = format_lines(model.table).decode().splitlines()
    output.write(json.dumps(own | attributes, indent=1, allow_nan=False).encode() + b"\n")


def plain(value: Any) -> Any:
    """Returns a value as JSON has it."""
    if isinstance(value, Csr):
        return {
            "n_features": int(value.n_features),
            "indptr": (value.indptr - value.indptr[0]).tolist(),
            "indices": value.indices[value.stored].tolist(),
            "values": value.data[value.stored].tolist(),
        }
    if isinstance(value, Kernel):
        names = ("name", "degree", "gamma", "scale", "offset")
        return {name: getattr(value, name) for name in names}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [*map(plain, value)]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if value is None or isinstance(value, str | int):
        return value
    return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
