# SPDX-License-Identifier: BSD-3-Clause
"""A cache of the rows of example files as binary arrays, which later runs map into memory instead
of reading the text.

    FOLDER/FILES-STATE/rows.json                       the arrays and the text they were read from
    FOLDER/FILES-STATE/{indptr,indices,data,y,..}      the arrays, one per file

FILES is a digest of the names and of the way they are read. STATE is a digest of their sizes,
inodes and times, among them that of the last change, which no program sets, or of what the server
of a URL gives as version. Changed text therefore has another folder, and the previous one is
removed. A folder is written under another name and renamed, so it is complete or missing, and of
several jobs that write it at once one is kept. Mapped pages that are not in use do not count as
memory of the process: rows may be larger than memory if training reads them one after the other.

Every array has a checksum in rows.json, which has its own; all are compared before the rows are
used. No array is changed or shortened once it is written, and its file is read-only: a shorter one
would end every process that has it mapped (SIGBUS).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator, Sequence

import numpy as np

from svmcut.base.errors import DataError, OutputError, UsageError
from svmcut.base.messages import Message, hide_secrets
from svmcut.base.typing import Any
from svmcut.data.examples import Csr, Examples, Source, stack_rows
from svmcut.files import remote
from svmcut.files.examples import read_examples, stream_examples

FORMAT = 2
#: Type and default of the optional values of a row.
_OPTIONAL = {"qid": (np.int64, 0), "weights": (np.float64, 1.0)}
_TYPES = {
    "indptr": np.int64,
    "indices": np.int32,
    "data": np.float32,
    "y": np.float64,
    "skips": np.int64,
    "qid": np.int64,
    "weights": np.float64,
}
_BLOCK = 1 << 20
#: Words of 64 bits that are summed for one line of a checksum.
_CHECKSUM_WORDS = 1 << 17


def read_files(
    name: str,
    paths: Sequence[str],
    *,
    cache: str | None = None,
    threads: int = 1,
    max_memory: float | None = None,
    zero_based: bool = False,
) -> Examples:
    """Return the examples of several files, concatenated.

    `name` stands for all of them in messages; line numbers continue from file to file. `cache` is a
    folder for the rows, created if missing; `max_memory` does not limit mapped rows. The other
    arguments and failures are those of `read_examples`; OutputError is raised if the cache cannot
    be written.
    """
    if cache is None:
        how: dict[str, Any] = {
            "threads": threads,
            "max_memory": max_memory,
            "zero_based": zero_based,
        }
        return join_examples(name, [read_examples(path, **how) for path in paths])
    if remote.is_url(cache):
        raise UsageError("{cache} is a folder of a disk, whose files are mapped; {} is none", cache)
    for _ in range(3):  # another job may take away what it has just been found to need no more
        target = os.path.join(cache, _name_folder(paths, zero_based))
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            return _map_folder(name, target)
        _store(name, paths, cache, target, threads, zero_based)
    raise DataError(
        name, Message("its rows in {} come and go; use another folder for {cache}", cache)
    )


def join_examples(name: str, examples: Sequence[Examples]) -> Examples:
    """Concatenate examples."""
    if len(examples) == 1:
        return examples[0]
    X = stack_rows([part.X for part in examples])
    others = {field: _fill_column(examples, field) for field in _OPTIONAL}
    y = np.concatenate([part.y for part in examples])
    return Examples(X, y, others["qid"], others["weights"], Source(name, _join_skips(examples)))


def _fill_column(examples: Sequence[Examples], field: str) -> Any:
    """Concatenate an optional column, with its default for parts without it; None if no part has
    it."""
    dtype, usual = _OPTIONAL[field]
    columns = [getattr(part, field) for part in examples]
    if all(values is None for values in columns):
        return None
    return np.concatenate(
        [
            np.full(len(part), usual, dtype) if values is None else values
            for part, values in zip(examples, columns, strict=True)
        ]
    )


def _join_skips(examples: Sequence[Examples]) -> Any:
    """Return the skips of Source for concatenated texts."""
    skips, rows, skipped = [], 0, 0
    for part in examples:
        skips.append(part.source.skips + np.array([rows, skipped]))
        skipped += part.source.line_of(len(part) - 1) - len(part)
        rows += len(part)
    return np.concatenate(skips)


def _name_folder(paths: Sequence[str], zero_based: bool) -> str:
    """Return the name of the folder for these files in their current state."""
    states: list[Any] = []
    for path in paths:
        try:
            if remote.is_url(path):
                states.append(remote.read_state(path))
                continue
            status = os.stat(path)
        except OSError as error:
            raise DataError(path, error.strerror or str(error)) from None
        if not stat.S_ISREG(status.st_mode):
            raise DataError(
                path, Message("is no regular file, and its rows cannot be kept; leave out {cache}")
            )
        states.append((status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino))
    names = [_real_path(path) for path in paths]
    return "-".join(
        hashlib.sha256(json.dumps(what).encode()).hexdigest()[:24]
        for what in ([FORMAT, names, zero_based], states)
    )


def _real_path(path: str) -> str:
    return path if remote.is_url(path) else os.path.realpath(path)


def _store(
    name: str, paths: Sequence[str], cache: str, target: str, threads: int, zero_based: bool
) -> None:
    """Write the folder, in constant memory."""
    own = os.path.join(cache, f".{os.path.basename(target)}-{os.getpid():x}-{os.urandom(4).hex()}")
    try:
        os.makedirs(own)
        about = _write_arrays(own, name, paths, threads, zero_based)
        if os.path.basename(target) != _name_folder(paths, zero_based):
            raise DataError(name, "the files changed while they were read")
        with open(os.path.join(own, "rows.json"), "w", encoding="ascii") as file:
            json.dump(about, file)
        for field in about["bytes"]:
            os.chmod(os.path.join(own, field), 0o444)
        for entry in (*os.listdir(own), "."):
            _sync_path(os.path.join(own, entry))
        try:
            os.rename(own, target)
        except OSError:
            if not os.path.isdir(target):  # where it is, another job was quicker
                raise
    except OSError as error:
        raise OutputError(cache, f"rows cannot be kept there: {error.strerror or error}") from None
    finally:
        shutil.rmtree(own, ignore_errors=True)
    files, _, _ = os.path.basename(target).partition("-")
    for entry in os.listdir(cache):  # of the same files, as they were before
        if entry.startswith(f"{files}-") and entry != os.path.basename(target):
            shutil.rmtree(os.path.join(cache, entry), ignore_errors=True)


def _write_arrays(
    folder: str, name: str, paths: Sequence[str], threads: int, zero_based: bool
) -> dict[str, Any]:
    """Write the arrays and return the content of rows.json."""
    n = nnz = features = lines = before = 0
    seen: set[str] = set()
    with contextlib.ExitStack() as stack:
        files = {
            field: stack.enter_context(open(os.path.join(folder, field), "wb")) for field in _TYPES
        }

        def put(field: str, values: Any) -> None:
            files[field].write(np.ascontiguousarray(values, _TYPES[field]).data)

        put("indptr", np.zeros(1))
        for path in paths:
            blocks: Iterator[Examples] = stream_examples(
                path, threads=threads, block_bytes=_BLOCK, zero_based=zero_based
            )
            for part in blocks:
                X = part.X
                put("indptr", X.indptr[1:] - X.indptr[0] + nnz)
                put("indices", X.indices[X.stored])
                put("data", X.data[X.stored])
                put("y", part.y)
                for field, (dtype, usual) in _OPTIONAL.items():
                    values = getattr(part, field)
                    seen |= set() if values is None else {field}
                    put(field, np.full(len(part), usual, dtype) if values is None else values)
                lines_at = (
                    part.source.lines_of(np.arange(len(part)))
                    + before
                    - np.arange(n + 1, n + len(part) + 1)
                )
                changed = np.flatnonzero(np.diff(lines_at, prepend=lines))
                put("skips", np.column_stack([changed + n, lines_at[changed]]))
                lines = int(lines_at[-1])
                n, nnz, features = n + len(part), nnz + X.nnz, max(features, X.n_features)
            before = n + lines
    for field in _OPTIONAL.keys() - seen:
        os.unlink(os.path.join(folder, field))
    kept = sorted(_TYPES.keys() - (_OPTIONAL.keys() - seen))
    sizes = {field: os.path.getsize(os.path.join(folder, field)) for field in kept}
    arrays = {
        field: _map_array(os.path.join(folder, field), field, size) for field, size in sizes.items()
    }
    about = {
        "format": FORMAT,
        "files": [hide_secrets(_real_path(path)) for path in paths],
        "name": hide_secrets(name),
        "rows": n,
        "nonzeros": nnz,
        "features": features,
        "bytes": sizes,
        "checksums": {field: _checksum(array) for field, array in arrays.items()},
    }
    return {**about, "checksum": _hash_metadata(about)}


def _hash_metadata(about: dict[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=16).hexdigest()


def _checksum(array: Any) -> str:
    """Return a checksum of an array's bytes at some gigabytes per second: the sum and the exclusive
    or of every megabyte's words, hashed.

    It changes if a word changes, and if megabytes change places.
    """
    given = np.ascontiguousarray(array).view(np.uint8)
    whole = len(given) // 8 * 8
    words = given[:whole].view(np.uint64)
    digest = hashlib.blake2b(given[whole:].tobytes(), digest_size=16)
    for start in range(0, len(words), _CHECKSUM_WORDS):
        block = words[start : start + _CHECKSUM_WORDS]
        digest.update(
            np.array(
                [block.sum(dtype=np.uint64), np.bitwise_xor.reduce(block)], np.uint64
            ).tobytes()
        )
    return digest.hexdigest()


def _map_folder(name: str, folder: str) -> Examples:
    """Return the examples of a folder.

    Raises FileNotFoundError or NotADirectoryError if it is missing or disappears meanwhile,
    DataError if it is damaged.
    """
    with open(os.path.join(folder, "rows.json"), encoding="ascii") as file:
        text = file.read()
    try:
        about = json.loads(text)
        right = about.pop("checksum") == _hash_metadata(about)
        n, nnz, features = (int(about[key]) for key in ("rows", "nonzeros", "features"))
        arrays = {
            field: _map_array(os.path.join(folder, field), field, size)
            for field, size in about["bytes"].items()
        }
        X, skips = (
            (arrays["data"], arrays["indices"], arrays["indptr"]),
            arrays["skips"].reshape(-1, 2),
        )
        lengths = [
            len(array)
            for array in (*X, arrays["y"], *(arrays[key] for key in _OPTIONAL if key in arrays))
        ]
        rising = (
            not (np.diff(arrays["indptr"]) < 0).any()
            and arrays["indptr"][0] == 0
            and arrays["indptr"][-1] == nnz
        )
        right &= all(
            _checksum(array) == about["checksums"][field] for field, array in arrays.items()
        )
        whole = (
            right
            and lengths == [nnz, nnz, n + 1, *[n] * (len(lengths) - 3)]
            and n > 0
            and rising
            and _are_rows(*X, features)
            and all(map(_are_finite, (arrays["data"], arrays["y"])))
            and not len(skips[(skips < 0).any(axis=1) | (skips[:, 0] > n)])
            and not ("qid" in arrays and (arrays["qid"] < 0).any())
            and not ("weights" in arrays and not _are_finite(arrays["weights"]))
            and not ("weights" in arrays and (arrays["weights"] < 0).any())
        )
    except (ValueError, LookupError, TypeError, AttributeError):
        whole = False
    if not whole:
        raise DataError(folder, "these kept rows are damaged; remove the folder")
    source = Source(name, np.array(skips))
    return Examples(
        Csr(*X, features, True), arrays["y"], arrays.get("qid"), arrays.get("weights"), source
    )


def _are_finite(values: Any) -> bool:
    return all(
        np.isfinite(values[start : start + _BLOCK]).all() for start in range(0, len(values), _BLOCK)
    )


def _are_rows(data: Any, indices: Any, indptr: Any, features: int) -> bool:
    """Return whether the features of every row rise, from 0 to below their number; block by block,
    as they may exceed memory."""
    for start in range(0, len(data), _BLOCK):
        stop = min(len(data), start + _BLOCK)
        part = np.concatenate([[-1], indices[max(0, start - 1) : stop]])[-(stop - start) - 1 :]
        rises = np.diff(part.astype(np.int64)) > 0
        first, last = np.searchsorted(indptr, [start, stop])
        rises[indptr[first:last] - start] = True
        if not rises.all() or part[1:].min() < 0 or part[1:].max() >= features:
            return False
    return True


def _map_array(path: str, field: str, size: int) -> Any:
    """Return a file as a read-only array."""
    if os.path.getsize(path) != size:
        raise ValueError
    if not size:
        return np.zeros(0, _TYPES[field])
    return np.asarray(np.memmap(path, _TYPES[field], "r"))


def _sync_path(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
