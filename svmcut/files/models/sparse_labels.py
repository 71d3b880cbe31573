# SPDX-License-Identifier: BSD-3-Clause
"""Binary model files of very many labels, `svmcut label sets binary 1`: arrays as
svmcut.files.models.mapped has them. docs/formats.md describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from svmcut.errors import ModelError
from svmcut.files.models.mapped import check_finite, read_arrays, write_arrays
from svmcut.models import SparseLabelModel
from svmcut.spec.schemas import StateError

if TYPE_CHECKING:
    from svmcut.files.output import Output

#: The arrays of a file, in their order.
_ARRAYS = {
    "indptr": "<i8",
    "places": "<i4",
    "values": "<f4",
    "constant": "<f8",
    "names": "<i8",
    "counts": "<i8",
    "columns": "<i4",
}
_OPTIONAL = frozenset({"columns"})


def write(
    path: str, first: bytes, output: Output, model: SparseLabelModel, original: bool = False
) -> None:
    """The whole file; see svmcut.spec.entries.Format."""
    check_finite(path, model.values, model.constant)
    if not model.binary:
        from svmcut.files.models import label_sets

        label_sets.write_sparse(path, output, model)
        return
    arrays = {name: getattr(model, name) for name in _ARRAYS}
    write_arrays(first, output, arrays, _ARRAYS, {"rows": model.n_rows})


def read(path: str, first: bytes, file: BinaryIO) -> SparseLabelModel:
    """The model behind line 1 of the file; see svmcut.spec.entries.Format."""
    found = read_arrays(path, first, file, _ARRAYS, _OPTIONAL, {"n_rows": "rows"})
    try:
        return SparseLabelModel(**found).checked()
    except StateError as error:
        raise ModelError(path, f"the arrays do not fit together: {error}") from None
