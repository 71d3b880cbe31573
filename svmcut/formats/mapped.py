# SPDX-License-Identifier: BSD-3-Clause
"""Model files of arrays that are mapped into memory; docs/formats.md describes them.

    the first line of the format
    {"arrays": ..., "body": BYTES, "crc32": N, ...}     ASCII, blanks up to a multiple of 64
    the arrays, little-endian, each from a multiple of 64 on

Only the checksum reads a whole file; else the arrays are read as they are used.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import ModelError
from svmcut.base.typing import Any, BinaryIO, NamedTuple, TypeVar
from svmcut.files.output import Output
from svmcut.models import LabelTreeModel, SparseLabelModel
from svmcut.spec.schemas import StateError

M = TypeVar("M", LabelTreeModel, SparseLabelModel)
_ALIGNMENT = 64
_HEADER_LIMIT = 1 << 12
_PIECE_BYTES = 1 << 22


def check_finite(path: str, *weights: NDArray) -> None:
    """Raises ModelError for weights that are not finite, before a file is written."""
    for values in weights:
        if not np.isfinite(values).all():
            raise ModelError(path, "a weight is not finite; the model is not written")


class Layout(NamedTuple):
    """Layout of a model in a file."""

    #: Arrays and their types, in their order.
    kinds: Mapping[str, str]
    #: Arrays that may be missing, if the model has None.
    optional: frozenset[str]
    #: Whole numbers by attributes of the model: their names in the file.
    numbers: Mapping[str, str]


def write_arrays(first: bytes, output: Output, model: Any, layout: Layout) -> None:
    """Writes the whole file of a model."""
    given = {name: getattr(model, name) for name in layout.kinds}
    arrays = {
        name: np.ascontiguousarray(given[name], kind)
        for name, kind in layout.kinds.items()
        if given[name] is not None
    }
    numbers = {key: getattr(model, name) for name, key in layout.numbers.items()}
    check, size = 0, 0
    for array in arrays.values():
        for piece in _padded_pieces(array):
            check, size = zlib.crc32(piece, check), size + len(piece)
    lengths = {name: len(array) for name, array in arrays.items()}
    head = json.dumps({"arrays": lengths, "body": size, "crc32": check, **numbers})
    line = first + b"\n" + head.encode()
    output.write(line + b" " * (-(len(line) + 1) % _ALIGNMENT) + b"\n")
    for array in arrays.values():
        for piece in _padded_pieces(array):
            output.write(piece)


def _padded_pieces(array: NDArray) -> Iterator[Any]:
    """Bytes of an array in pieces, up to a multiple of _ALIGNMENT."""
    whole = array.data.cast("B")
    for start in range(0, len(whole), _PIECE_BYTES):
        yield whole[start : start + _PIECE_BYTES]
    yield bytes(-len(whole) % _ALIGNMENT)


def bytes_ahead(file: BinaryIO) -> int | None:
    """Bytes of line 2 and the arrays, of a file positioned before them; None if line 2 does not
    tell."""
    at = file.tell()
    line = file.readline(_HEADER_LIMIT)
    file.seek(at)
    try:
        size = json.loads(line)["body"]
    except (ValueError, LookupError, TypeError):
        return None
    return len(line) + size if type(size) is int and size >= 0 else None


def read_arrays(path: str, first: bytes, file: BinaryIO, layout: Layout) -> dict[str, Any]:
    """Arrays by name, without missing ones, and numbers, by the attributes of a model. Raises
    ModelError for a file that is damaged or cut short."""
    kinds, optional, numbers = layout
    line = file.readline(_HEADER_LIMIT)
    head = _header(path, line, kinds, optional, [*numbers.values()])
    lengths: dict[str, int] = head["arrays"]
    start = len(first) + len(line)
    body = _map(path, file, start, head["body"])
    if zlib.crc32(body.data) != head["crc32"]:
        raise ModelError(path, "the checksum is wrong; the file is damaged")
    values: dict[str, Any] = {name: head[key] for name, key in numbers.items()}
    at = 0
    for name, kind in kinds.items():
        if name not in lengths:
            continue
        size = lengths[name] * np.dtype(kind).itemsize
        array = body[at : at + size].view(kind)
        values[name] = array if np.dtype(kind).isnative else array.astype(kind[1:])
        at += size + -size % _ALIGNMENT
    return values


def model_of(path: str, kind: type[M], values: dict[str, Any]) -> M:
    """Makes a model of a class that has `validate`; raises ModelError for arrays that do not fit
    together."""
    try:
        return kind(**values).validate()
    except StateError as error:
        raise ModelError(path, f"the arrays do not fit together: {error}") from None


def _header(
    path: str, line: bytes, kinds: Mapping[str, str], optional: frozenset[str], keys: list[str]
) -> dict[str, Any]:
    """Checked line 2: the arrays, and their bytes."""
    try:
        head = json.loads(line)
        lengths = head["arrays"]
        numbers = [head["body"], head["crc32"], *(head[key] for key in keys), *lengths.values()]
        known = set(lengths) <= set(kinds) and set(kinds) - set(lengths) <= optional
        if not known or not all(type(number) is int and number >= 0 for number in numbers):
            raise ValueError
        sizes = [count * np.dtype(kinds[name]).itemsize for name, count in lengths.items()]
        if sum(size + -size % _ALIGNMENT for size in sizes) != head["body"]:
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError):
        message = "expected a line that says which arrays follow; the file is damaged"
        raise ModelError(path, message, 2, 1) from None
    return head


def _map(path: str, file: BinaryIO, start: int, size: int) -> NDArray[np.uint8]:
    """(size,) bytes from `start` on: mapped for a file on disk, else read."""
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
