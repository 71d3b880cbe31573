# SPDX-License-Identifier: BSD-3-Clause
"""Any model as JSON, for programs that read no other format: its class, and its fields by name.

    {"format": "svmcut model", "version": 1, "class": "LinearModel", "w": [...], "b": 0.5, ...}

Arrays are lists, matrices lists of rows; sparse rows are {"n_features", "indptr", "indices",
"values"} with indices from 0; a kernel is {"name", "degree", "gamma", "scale", "offset"}. A number
that is none is null. docs/formats.md names the fields.
"""

from __future__ import annotations

import json
import math

import numpy as np

from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.spec.records import fields
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svmcut.files.output import Output


def write(path: str, first: bytes, output: Output, model: Any, original: bool = False) -> None:
    """The whole file; see svmcut.spec.entries.Format."""
    own = {"format": "svmcut model", "version": 1, "class": type(model).__name__}
    attributes = {field.name: plain(getattr(model, field.name)) for field in fields(model)}
    if attributes.pop("table", None) is not None:
        from svmcut.tables.lines import text_of

        attributes["table"] = text_of(model.table).decode().splitlines()
    output.write(json.dumps(own | attributes, indent=1, allow_nan=False).encode() + b"\n")


def plain(value: Any) -> Any:
    """A value as JSON has it."""
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
