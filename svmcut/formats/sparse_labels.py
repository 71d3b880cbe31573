# SPDX-License-Identifier: BSD-3-Clause
"""Binary model files of very many labels, `svmcut label sets binary 1`: arrays as of
svmcut.formats.mapped; docs/formats.md describes them."""

from __future__ import annotations

from svmcut.base.typing import BinaryIO
from svmcut.files.output import Output
from svmcut.formats.mapped import Layout, check_finite, model_of, read_arrays, write_arrays
from svmcut.models import SparseLabelModel

_LAYOUT = Layout(
    {
        "indptr": "<i8",
        "places": "<i4",
        "values": "<f4",
        "constant": "<f8",
        "names": "<i8",
        "counts": "<i8",
        "columns": "<i4",
    },
    optional=frozenset({"columns"}),
    numbers={"n_rows": "rows"},
)


def write(
    path: str, first: bytes, output: Output, model: SparseLabelModel, original: bool = False
) -> None:
    """Writes the whole file; see svmcut.spec.entries.Format."""
    check_finite(path, model.values, model.constant)
    if not model.binary:
        from svmcut.formats import label_sets

        label_sets.write_sparse(path, output, model)
        return
    write_arrays(first, output, model, _LAYOUT)


def read(path: str, first: bytes, file: BinaryIO) -> SparseLabelModel:
    """Reads the model after line 1 of the file; see svmcut.spec.entries.Format."""
    return model_of(path, SparseLabelModel, read_arrays(path, first, file, _LAYOUT))
