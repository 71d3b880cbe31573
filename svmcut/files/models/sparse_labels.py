# SPDX-License-Identifier: BSD-3-Clause
"""Binary model files of very many labels; docs/formats.md describes them.

    svmcut label sets binary 1
    {"arrays": ..., "body": BYTES, "crc32": N, "rows": N}       ASCII, blanks up to a multiple of 64
    the arrays, little-endian, each from a multiple of 64 on

A file is mapped into memory: what is not asked for is not read but for its checksum.
"""

from __future__ import annotations

import io
import json
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from svmcut.errors import ModelError
from svmcut.models import SparseLabelModel
from svmcut.spec.schemas import StateError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.files.output import Output

_ALIGNED = 64
_HEADER_LIMIT = 1 << 12
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
_PIECE = 1 << 22


def write(
    path: str, first: bytes, output: Output, model: SparseLabelModel, original: bool = False
) -> None:
    """The whole file; see svmcut.spec.entries.Format."""
    for values in (model.values, model.constant):
        if not np.isfinite(values).all():
            raise ModelError(path, "a weight is not finite; the model is not written")
    if not model.binary:
        from svmcut.files.models import label_sets

        label_sets.write_sparse(path, output, model)
        return
    arrays = {
        name: np.ascontiguousarray(getattr(model, name), kind)
        for name, kind in _ARRAYS.items()
        if getattr(model, name) is not None
    }
    check, size = 0, 0
    for array in arrays.values():
        for piece in _padded(array):
            check, size = zlib.crc32(piece, check), size + len(piece)
    lengths = {name: len(array) for name, array in arrays.items()}
    head = json.dumps({"arrays": lengths, "body": size, "crc32": check, "rows": model.n_rows})
    line = first + b"\n" + head.encode()
    output.write(line + b" " * (-(len(line) + 1) % _ALIGNED) + b"\n")
    for array in arrays.values():
        for piece in _padded(array):
            output.write(piece)


def _padded(array: NDArray) -> Any:
    """The bytes of an array, in pieces, up to a multiple of _ALIGNED."""
    whole = array.data.cast("B")
    for start in range(0, len(whole), _PIECE):
        yield whole[start : start + _PIECE]
    yield bytes(-len(whole) % _ALIGNED)


def read(path: str, first: bytes, file: BinaryIO) -> SparseLabelModel:
    """The model behind line 1 of the file; see svmcut.spec.entries.Format."""
    line = file.readline(_HEADER_LIMIT)
    head = _header(path, line)
    lengths: dict[str, int] = head["arrays"]
    start = len(first) + len(line)
    body = _mapped(path, file, start, head["body"])
    if zlib.crc32(body.data) != head["crc32"]:
        raise ModelError(path, "the checksum is wrong; the file is damaged")
    found: dict[str, Any] = {}
    at = 0
    for name, kind in _ARRAYS.items():
        if name not in lengths:
            continue
        size = lengths[name] * np.dtype(kind).itemsize
        array = body[at : at + size].view(kind)
        found[name] = array if np.dtype(kind).isnative else array.astype(kind[1:])
        at += size + -size % _ALIGNED
    try:
        return SparseLabelModel(**found, n_rows=head["rows"]).checked()
    except StateError as error:
        raise ModelError(path, f"the arrays do not fit together: {error}") from None


def _header(path: str, line: bytes) -> dict[str, Any]:
    """Line 2, checked: which arrays there are, and the bytes that they take."""
    try:
        head = json.loads(line)
        lengths = head["arrays"]
        numbers = [head["body"], head["crc32"], head["rows"], *lengths.values()]
        known = set(lengths) <= set(_ARRAYS) and set(_ARRAYS) - set(lengths) <= {"columns"}
        if not known or not all(type(number) is int and number >= 0 for number in numbers):
            raise ValueError
        sizes = [count * np.dtype(_ARRAYS[name]).itemsize for name, count in lengths.items()]
        if sum(size + -size % _ALIGNED for size in sizes) != head["body"]:
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError):
        message = "expected a line that says which arrays follow; the file is damaged"
        raise ModelError(path, message, 2, 1) from None
    return head


def _mapped(path: str, file: BinaryIO, start: int, size: int) -> NDArray[np.uint8]:
    """(size,) the bytes from `start` on: of a file on disk mapped, else read."""
    try:
        file.fileno()
    except (OSError, io.UnsupportedOperation):
        body = np.frombuffer(file.read(size), np.uint8)
    else:
        end = file.seek(0, io.SEEK_END)
        if not size:
            body = np.zeros(0, np.uint8)
        elif end < start + size:
            body = np.zeros(max(0, end - start), np.uint8)
        else:
            body = np.memmap(file, np.uint8, "r", start, (size,)).view(np.ndarray)
    if len(body) < size:
        raise ModelError(
            path, f"the file ends {size - len(body)} bytes too early; it was cut short"
        )
    return body
