# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints: the state of a run as one file, checksummed, with the generation before it beside it.

    svmcut checkpoint 1\\n
    one line of JSON: {"identity": ..., "tree": ..., "arrays": [[dtype, shape], ...]}
    the bytes of the arrays, little endian, one after the other
    SHA-256 of all before it

FILE is the newest, FILE.1 the one before. A state is a tree of None, bool, int, float, str, lists, tuples, dicts with
string keys, NumPy arrays, and instances of the classes that the caller lists; nothing in a file can name another.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from svmcut.errors import CheckpointError
from svmcut.files.generations import MAGIC, check_ours, make_room, previous
from svmcut.files.output import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAGIC = MAGIC
_DIGEST = hashlib.sha256().digest_size
_KINDS = "biuf"


def write_checkpoint(path: str, identity: dict[str, Any], state: Any, classes: Iterable[type] = ()) -> None:
    """Writes FILE; what was FILE becomes FILE.1.

    Parameters
    ----------
    identity : dict
        What a run must share with this one to go on from here.
    state : tree
        See the head of the module.
    classes : types
        Dataclasses, named tuples and classes with __slots__ that may occur in it.

    Raises
    ------
    OutputError
    CheckpointError
        Where FILE or FILE.1 is there and is no checkpoint; they stay as they are.
    TypeError
        For a value that is none of the kinds above.
    """
    check_ours(path)
    arrays: list[np.ndarray] = []
    tree = _encode(state, {cls.__name__ for cls in classes}, arrays, {})
    heads = [[array.dtype.str, list(array.shape)] for array in arrays]
    head = json.dumps({"identity": identity, "tree": tree, "arrays": heads}).encode()
    digest = hashlib.sha256()
    with write_atomically(path) as output:
        parts: list[bytes | memoryview] = [_MAGIC, head, b"\n"]
        for part in (*parts, *(array.reshape(-1).view(np.uint8).data for array in arrays)):
            digest.update(part)
            output.write(part)
        output.write(digest.digest())
        make_room(path)


def read_checkpoint(path: str, classes: Iterable[type] = ()) -> tuple[dict[str, Any], Any] | None:
    """Identity and state of the newest generation that is whole; None where there is no file of either.

    Raises
    ------
    CheckpointError
        When files are there and none is whole.
    """
    damage = None
    for name in (path, previous(path)):
        try:
            with open(name, "rb") as file:
                data = file.read()
            return _parse(name, data, {cls.__name__: cls for cls in classes})
        except FileNotFoundError:
            continue
        except OSError as error:
            damage = damage or CheckpointError(name, f"cannot be read: {error.strerror or error}")
        except CheckpointError as error:
            damage = damage or error
    if damage is not None:
        raise damage
    return None


def _parse(path: str, data: bytes, classes: dict[str, type]) -> tuple[dict[str, Any], Any]:
    if not data.startswith(_MAGIC):
        raise CheckpointError(path, "is no checkpoint of svmcut; remove it or name another file with --checkpoint")
    if len(data) < len(_MAGIC) + _DIGEST or hashlib.sha256(data[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise CheckpointError(path, "is damaged or cut short; remove it to start afresh")
    end = data.index(b"\n", len(_MAGIC))
    head = json.loads(data[len(_MAGIC) : end])
    arrays, at = [], end + 1
    for kind, shape in head["arrays"]:
        count = math.prod(shape)
        array = np.frombuffer(data, np.dtype(kind), count, at).reshape(shape).copy()
        arrays.append(array)
        at += array.nbytes
    return head["identity"], _decode(head["tree"], classes, arrays)


def _encode(value: Any, classes: set[str], arrays: list[np.ndarray], seen: dict[int, int]) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in _KINDS:
        if id(value) not in seen:
            seen[id(value)] = len(arrays)
            arrays.append(np.ascontiguousarray(value, value.dtype.newbyteorder("<")).reshape(value.shape))
        return {"array": seen[id(value)]}
    name = type(value).__name__
    if name in classes:
        return {name: {key: _encode(getattr(value, key), classes, arrays, seen) for key in _fields(type(value))}}
    if isinstance(value, dict):
        return {"dict": {key: _encode(item, classes, arrays, seen) for key, item in value.items()}}
    if isinstance(value, tuple | list):
        items = [_encode(item, classes, arrays, seen) for item in value]
        return {"tuple": items} if isinstance(value, tuple) else items
    raise TypeError(f"a checkpoint cannot hold {type(value)!r}")


def _decode(value: Any, classes: dict[str, type], arrays: list[np.ndarray]) -> Any:
    if isinstance(value, list):
        return [_decode(item, classes, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "array":
        return arrays[content]
    if kind == "tuple":
        return tuple(_decode(item, classes, arrays) for item in content)
    fields = {key: _decode(item, classes, arrays) for key, item in content.items()}
    if kind == "dict":
        return fields
    cls = classes[kind]
    if hasattr(cls, "_fields") or dataclasses.is_dataclass(cls):
        return cls(**fields)
    instance: Any = object.__new__(cls)
    for key, item in fields.items():
        setattr(instance, key, item)
    return instance


def _fields(cls: type) -> list[str]:
    if hasattr(cls, "_fields"):
        return list(cls._fields)
    if dataclasses.is_dataclass(cls):
        return [field.name for field in dataclasses.fields(cls)]
    return [name for base in cls.__mro__ for name in getattr(base, "__slots__", ())]
