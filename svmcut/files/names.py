# SPDX-License-Identifier: BSD-3-Clause
"""Files by their names: patterns and lists of files, and guesses of a file's format from its name
and its first lines."""

from __future__ import annotations

import os
from collections.abc import Sequence

from svmcut.base.errors import DataError, UsageError
from svmcut.base.patterns import pattern
from svmcut.files import remote
from svmcut.files.remote import is_file, local_path, open_file
from svmcut.spec.catalog import COLUMNS

#: Formats by the ending of a name; that of a compressed file may follow.
ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
PACKED = (".gz", ".bz2", ".xz", ".zst")


def input_by_ending(path: str) -> str | None:
    """Return the format that the ending of a name implies; None for other endings."""
    name, ending = os.path.splitext(path.lower())
    if ending in PACKED:
        ending = os.path.splitext(name)[1]
    return ENDINGS.get(ending)


_PAIR = pattern(rb"\s\d+:[-+.\d]")


def guess_input(path: str, tags: bool = False) -> str | None:
    """Guess the format of a plain file without INDEX:VALUE in its first lines; None if there is no
    sign.

    With `tags`, tokens are expected to have tags, in columns then.
    """
    first, *rest = _lines_without_pairs(path) or [b""]
    if tags:
        return COLUMNS if _count_columns([first, *rest[:2]]) > 1 else None
    if first.startswith(b"__label__"):
        return "text"
    for sign, input in ((b",", "csv"), (b";", "csv"), (b"\t", "tsv")):
        count = first.count(sign)
        if count and all(line.count(sign) >= count for line in rest[:2]):
            return "text" if sign == b"\t" and count == 1 else input
    return None


def are_sentences(path: str) -> bool:
    """Return whether a plain file may hold tokens in columns, the last of them words, with empty
    lines between sentences."""
    lines = _lines_without_pairs(path)
    words = [line.split() for line in lines if line.strip()]
    return (
        _count_columns(lines[:-1]) > 1
        and any(not line.strip() for line in lines)
        and any(word[-1].strip(b"+-.0123456789") for word in words)
    )


def _count_columns(lines: list[bytes]) -> int:
    """Return the number of words of every line that is not empty; 0 if they differ."""
    counts = {len(line.split()) for line in lines} - {0}
    return counts.pop() if len(counts) == 1 else 0


def _lines_without_pairs(path: str) -> list[bytes]:
    """Return the first lines of a plain file; none if it has INDEX:VALUE or cannot be read."""
    try:
        if not is_file(path):
            return []
        with open_file(path) as file:
            head = file.read(1 << 14)
    except (OSError, ValueError):
        return []
    return [] if _PAIR.search(head) or b"\0" in head else head.splitlines()


def list_files(paths: str | os.PathLike | Sequence[str | os.PathLike]) -> tuple[str, list[str]]:
    """Return a name for all files in messages, and their absolute paths or URLs in the order of
    their names, or as listed.

    Raises UsageError for standard input and for a file that is named twice, DataError if no file
    fits a pattern.
    """
    if not isinstance(paths, str | os.PathLike):
        named = [os.fspath(path) for path in paths]
        if not named:
            raise UsageError("no file is named; expected one at least")
        names = named
        name = named[0] if len(named) == 1 else f"{named[0]} to {named[-1]}"
    else:
        name = os.fspath(paths)
        names = _match(name) if is_pattern(name) else [name]
        if not names:
            raise DataError(name, "no file fits this pattern")
    if "-" in names:
        raise UsageError("standard input is read once and by one process; name files")
    files = [path if remote.is_url(path) else os.path.abspath(local_path(path)) for path in names]
    if len(set(files)) < len(files):
        twice = next(path for path in files if files.count(path) > 1)
        raise UsageError("{} is named twice; every file is a part of the rows", twice)
    return name, files


def _match(pattern: str) -> list[str]:
    """Return the files that fit a pattern, in the order of their names."""
    if not remote.is_url(pattern):
        from glob import glob

        return sorted(glob(local_path(pattern)))
    try:
        return remote.match_urls(pattern)
    except OSError as error:
        raise DataError(pattern, error.strerror or str(error)) from None


def is_pattern(path: str) -> bool:
    """Return whether a name is a pattern and not the name of a file."""
    if remote.is_url(path):
        return remote.is_pattern(path)
    path = local_path(path)
    return any(sign in path for sign in "*?[") and not os.path.exists(path)
