# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints: the state of a run as one checksummed file, next to that of the previous generation.

    svmcut checkpoint 1\n
    one line of JSON: {"identity": ..., "tree": ..., "arrays": [[dtype, shape], ...]}
    the bytes of the arrays, little endian, one after the other
    SHA-256 of all before it

A state is a tree of None, bool, int, float, str, lists, tuples, dicts with string keys, NumPy
arrays, and instances of the classes that the caller lists; nothing in a file can name another.

The files of a checkpoint: FILE, the newest; FILE.1, the generation before it; and FILE.lock while a
run holds them.

(I1) A file is overwritten or moved only if it begins as checkpoints do. (I2) A run removes only
what it wrote or continued from. (I3) Symbolic links are followed, and never replaced or removed.
URLs are not locked: object stores have no locks.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import math
import os
import stat
from collections.abc import Iterable, Iterator

import numpy as np

from svmcut.base import records
from svmcut.base.errors import CheckpointError, OutputError, TrainingError, UsageError
from svmcut.base.messages import Message, Parameter
from svmcut.base.typing import Any
from svmcut.files import remote
from svmcut.files.output import descriptor_of, write_atomically
from svmcut.files.remote import open_file
from svmcut.spec import schemas
from svmcut.spec.schemas import StateError

MAGIC = b"svmcut checkpoint 1\n"
_LOCK_MAGIC = b"svmcut lock 1\n"
#: Length of the checksum at the end, which identifies a checkpoint.
_CHECKSUM_BYTES = 32


def resolve_path(path: str) -> str:
    """Return the file that the name of a checkpoint leads to."""
    path = remote.local_path(path)
    return os.path.realpath(path) if os.path.islink(path) else path


def previous_path(path: str) -> str:
    """Return the file of the previous generation."""
    return resolve_path(resolve_path(path) + ".1")


def lock_path(path: str) -> str:
    """Return the file that is locked while a run holds the checkpoint."""
    return resolve_path(resolve_path(path) + ".lock")


def check_names(path: str) -> None:
    """Refuse the name of a checkpoint under which something else exists.

    Raises CheckpointError if FILE is an open descriptor, if FILE or FILE.1 exists and is no regular
    file or does not begin as checkpoints do, and if FILE.lock exists and is no lock of svmcut.
    """
    another = Message("name another file with {checkpoint}")
    if descriptor_of(path) is not None:
        raise CheckpointError(path, Message("is no regular file; {}", another))
    for name, magic in (
        (resolve_path(path), MAGIC),
        (previous_path(path), MAGIC),
        (lock_path(path), _LOCK_MAGIC),
    ):
        try:
            if remote.is_url(name):
                if magic is not MAGIC:
                    continue
            elif not stat.S_ISREG(os.stat(name).st_mode):
                raise CheckpointError(name, Message("is no regular file; {}", another))
            with remote.open_file(name) as file:
                start = file.read(len(magic))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise CheckpointError(name, f"cannot be read: {error.strerror or error}") from error
        # A run killed between making its lock and writing into it leaves an empty one, which is
        # locked and removed too.
        if start != magic and (start or magic is MAGIC):
            what = "checkpoint" if magic is MAGIC else "lock"
            raise CheckpointError(
                name, Message("is no {} of svmcut; remove it or {}", what, another)
            )


def rotate(path: str) -> None:
    """Move or copy FILE to FILE.1; raise OutputError if that fails."""
    try:
        if remote.is_url(path):
            remote.copy(path, previous_path(path))
        else:
            os.replace(resolve_path(path), previous_path(path))
    except FileNotFoundError:
        pass
    except OSError as error:
        raise OutputError(
            path, f"cannot be kept as {previous_path(path)}: {error.strerror or error}"
        ) from error


class Generations:
    """The files of a checkpoint that a run may remove."""

    def __init__(self, path: str):
        self._path = path
        self._mine: set[tuple[Any, ...]] = set()

    def __bool__(self) -> bool:
        return bool(self._mine)

    def own_all(self) -> None:
        """Own the existing files: the run continues from them."""
        self._mine = set(self._there().values())

    def own_newest(self) -> None:
        """Own FILE, which this run has just written, and FILE.1 if the run owned it as FILE."""
        there = self._there()
        self._mine = {identity for identity in there.values() if identity in self._mine}
        self._mine.update(
            identity for name, identity in there.items() if name == resolve_path(self._path)
        )

    def remove(self) -> None:
        for name, identity in self._there().items():
            if identity in self._mine:
                with contextlib.suppress(OSError):
                    (remote.remove if remote.is_url(name) else os.unlink)(name)
        self._mine.clear()

    def _there(self) -> dict[str, tuple[Any, ...]]:
        identities: dict[str, tuple[Any, ...]] = {}
        for name in (resolve_path(self._path), previous_path(self._path)):
            with contextlib.suppress(OSError):
                if remote.is_url(name):  # a copy has the checksum too
                    identities[name] = (remote.last_bytes(name, _CHECKSUM_BYTES),)
                else:
                    status = os.stat(name)
                    identities[name] = status.st_dev, status.st_ino
        return identities


@contextlib.contextmanager
def hold_lock(path: str) -> Iterator[str | None]:
    """Lock FILE.lock so that one run at a time uses the checkpoint; remove it in the end.

    Yields a warning if the file system has no locks, else None. Raises UsageError when another run
    holds the lock.
    """
    if remote.is_url(path):
        yield None
        return
    name, descriptor, warning = lock_path(path), None, None
    try:
        descriptor = _lock(name)
    except BlockingIOError:
        raise UsageError(
            "the checkpoint {!r} is in use by another run; wait for its end or name another "
            "file with {checkpoint}",
            path,
        ) from None
    except (OSError, ImportError) as error:
        reason = getattr(error, "strerror", None) or error
        warning = Message(
            "{}: cannot be locked: {}; another run with this checkpoint would not be noticed",
            name,
            reason,
        )
    try:
        yield warning
    finally:
        if descriptor is not None:
            with contextlib.suppress(OSError):
                os.unlink(name)
            os.close(descriptor)


def _lock(name: str) -> int:
    """Lock a file and return its descriptor; closing it or ending the process releases the lock."""
    import fcntl

    while True:
        made = not os.path.exists(name)
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _has_name(name, descriptor):
                with contextlib.suppress(OSError):  # a full disk; an empty file is as good a lock
                    os.write(descriptor, _LOCK_MAGIC)
                return descriptor
        except BaseException as error:
            os.close(descriptor)
            if made and isinstance(error, OSError) and not isinstance(error, BlockingIOError):
                os.unlink(name)
            raise
        os.close(descriptor)  # its last holder has removed it since it was opened


def _has_name(name: str, descriptor: int) -> bool:
    """Return whether the file of the descriptor still has this name."""
    try:
        return os.path.samestat(os.stat(name), os.fstat(descriptor))
    except FileNotFoundError:
        return False


_DIGEST = hashlib.sha256().digest_size
_ARRAY_KINDS = "biuf"
_STATE_FAILURES = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    RecursionError,
    StopIteration,
    TrainingError,
)


def write_checkpoint(
    path: str, identity: dict[str, Any], state: Any, classes: Iterable[type] = ()
) -> None:
    """Write FILE; the previous FILE becomes FILE.1.

    `identity` is what a run must share with this one to continue from it; `state` is a tree as
    described at the head of the module, with instances of `classes`: records, named tuples and
    classes with __slots__. Raises OutputError; CheckpointError if FILE or FILE.1 exists and is no
    checkpoint, which stays as it is; TypeError for a value of another type.
    """
    check_names(path)
    arrays: list[np.ndarray] = []
    tree = _encode(state, {cls.__name__ for cls in classes}, arrays, {})
    heads = [[array.dtype.str, list(array.shape)] for array in arrays]
    head = json.dumps({"identity": identity, "tree": tree, "arrays": heads}).encode()
    digest = hashlib.sha256()
    with write_atomically(path) as output:
        parts: list[bytes | memoryview] = [MAGIC, head, b"\n"]
        for part in (*parts, *(array.reshape(-1).view(np.uint8).data for array in arrays)):
            digest.update(part)
            output.write(part)
        output.write(digest.digest())
        rotate(path)


def read_checkpoint(path: str, classes: Iterable[type] = ()) -> tuple[dict[str, Any], Any] | None:
    """Return identity and state of the newest complete generation; None if neither file exists.

    Raises CheckpointError if files exist and none is complete.
    """
    damage = None
    for name in (path, previous_path(path)):
        try:
            with open_file(name) as file:
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
    if not data.startswith(MAGIC):
        raise CheckpointError(
            path,
            Message("is no checkpoint of svmcut; remove it or name another file with {checkpoint}"),
        )
    if (
        len(data) < len(MAGIC) + _DIGEST
        or hashlib.sha256(data[:-_DIGEST]).digest() != data[-_DIGEST:]
    ):
        raise CheckpointError(path, "is damaged or cut short; remove it to start afresh")
    with refuse_unfit(path):
        end = data.index(b"\n", len(MAGIC))
        head = json.loads(data[len(MAGIC) : end])
        arrays, at, body = [], end + 1, memoryview(data)[:-_DIGEST]
        for kind, shape in head["arrays"]:
            dtype = np.dtype(kind)
            if dtype.kind not in _ARRAY_KINDS or not all(
                type(size) is int and size >= 0 for size in shape
            ):
                raise StateError(f"an array {shape} of {kind}; expected one of numbers")
            array = np.frombuffer(body, dtype, math.prod(shape), at).reshape(shape).copy()
            arrays.append(array)
            at += array.nbytes
        if at != len(body):
            raise StateError(f"{len(body) - at} bytes follow the last array; expected none")
        text = schemas.text()
        kind = schemas.fields(version=text, examples=text, options=schemas.instance(dict))
        identity = head["identity"]
        if identity:
            schemas.checked(identity, kind, "identity")
            schemas.many(text)(list(identity["options"].values()), "identity.options")
        return identity, _decode(head["tree"], classes, arrays)


@contextlib.contextmanager
def refuse_unfit(path: str):
    """Turn every failure of restoring a state within the block into one CheckpointError that names
    the file.

    A state is what a run wrote: one that any code fails on, in whatever way, is not.
    """
    try:
        yield
    except _STATE_FAILURES as error:
        text = (
            str(error)
            if isinstance(error, StateError | TrainingError)
            else f"{type(error).__name__}: {error}"
        )
        reason = " ".join(text.split())
        message = f"is no state that this run can go on from: {reason}; remove it to start afresh"
        raise CheckpointError(path, message) from error


def _encode(value: Any, classes: set[str], arrays: list[np.ndarray], seen: dict[int, int]) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Message):
        parts = [
            (part.name, part.value) if isinstance(part, Parameter) else part
            for part in value.values
        ]
        return {
            "message": [_encode(part, classes, arrays, seen) for part in (value.template, *parts)]
        }
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in _ARRAY_KINDS:
        if id(value) not in seen:
            seen[id(value)] = len(arrays)
            arrays.append(
                np.ascontiguousarray(value, value.dtype.newbyteorder("<")).reshape(value.shape)
            )
        return {"array": seen[id(value)]}
    name = type(value).__name__
    if name in classes:
        return {
            name: {
                key: _encode(getattr(value, key), classes, arrays, seen)
                for key in _fields(type(value))
            }
        }
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
        return arrays[schemas.checked(content, schemas.count(0, len(arrays) - 1), "array")]
    if kind == "message":
        return _message(*(_decode(item, classes, arrays) for item in content))
    if kind == "tuple":
        return tuple(_decode(item, classes, arrays) for item in content)
    fields = {key: _decode(item, classes, arrays) for key, item in content.items()}
    if kind == "dict":
        return fields
    cls = classes[kind]
    if fields.keys() != set(_fields(cls)):
        raise StateError(
            f"a {kind} of {', '.join(sorted(fields))}; expected {', '.join(sorted(_fields(cls)))}"
        )
    _check_types(cls, fields, classes)
    if "proven" in fields:  # no file can say so
        fields["proven"] = False
    if hasattr(cls, "_fields") or records.is_record(cls):
        instance = cls(**fields)
        return instance.validate() if hasattr(cls, "validate") else instance
    instance = object.__new__(cls)
    for key, item in fields.items():
        setattr(instance, key, item)
    return instance


def _message(template: Any, *values: Any) -> Message:
    """Build a message whose values are words, numbers and the parts of a parameter."""
    schemas.checked(template, schemas.text(), "message")
    return Message(
        template, *(Parameter(*value) if isinstance(value, tuple) else value for value in values)
    )


def _check_types(cls: type, fields: dict[str, Any], classes: dict[str, type]) -> None:
    """Refuse values that have none of the plain types, arrays and listed classes in their
    annotations."""
    plain: dict[str, Any] = {
        "int": int,
        "float": int | float,
        "bool": bool,
        "str": str,
        "None": type(None),
    } | classes
    for base in cls.__mro__:
        for name, annotation in inspect.get_annotations(base).items():
            if name not in fields:
                continue
            value = fields[name]
            wanted = getattr(annotation, "__forward_arg__", str(annotation)).split(" | ")
            kinds = [
                np.ndarray if kind.startswith("NDArray") else plain.get(kind, object)
                for kind in wanted
            ]
            truth = isinstance(value, bool) and not {"bool", "Any"} & set(wanted)
            if truth or not any(isinstance(value, kind) for kind in kinds):
                raise StateError(
                    f"{name} of a {cls.__name__} is {type(value).__name__}; expected {annotation}"
                )


def _fields(cls: type) -> list[str]:
    if hasattr(cls, "_fields"):
        return list(cls._fields)
    if records.is_record(cls):
        return [field.name for field in records.fields(cls)]
    return [name for base in cls.__mro__ for name in getattr(base, "__slots__", ())]


def fingerprint(examples: Any) -> str:
    """Return a digest of all data of the examples; rows in parts have their own."""
    if hasattr(examples, "digest"):
        return examples.digest
    digest = hashlib.sha256()
    X, *others = (
        getattr(examples, field.name)
        for field in records.fields(examples)
        if field.name != "source"
    )
    for part in (X.indptr, X.indices, X.data, *others):
        for piece in part.contents() if hasattr(part, "contents") else (part,):
            digest.update(_digest_input(piece))
    return digest.hexdigest()


def _digest_input(part: Any) -> Any:
    """Return the bytes of an array, of bytes, or of plain values that enter a digest."""
    if isinstance(part, np.ndarray):
        return np.ascontiguousarray(part).reshape(-1).view(np.uint8)
    if isinstance(part, bytes):
        return part
    return b"none" if part is None else repr(part).encode()
