# SPDX-License-Identifier: BSD-3-Clause
"""Guesses of the format of a file from its name and its first lines."""

from __future__ import annotations

import os

from svmcut.base.patterns import pattern
from svmcut.files.remote import is_file, open_file
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
