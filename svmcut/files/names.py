# SPDX-License-Identifier: BSD-3-Clause
"""What the name of a file says is in it."""

from __future__ import annotations

import os
import re

from svmcut.files.remote import is_file, open_file
from svmcut.spec.catalog import COLUMNS

#: Endings of names, before one of a compressed file.
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


def input_of(path: str) -> str | None:
    """What the ending of a name says is in the file; None where it says nothing."""
    name, ending = os.path.splitext(path.lower())
    if ending in PACKED:
        ending = os.path.splitext(name)[1]
    return ENDINGS.get(ending)


_PAIR = re.compile(rb"\s\d+:[-+.\d]")


def guess_input(path: str, tags: bool = False) -> str | None:
    """What a plain file without any INDEX:VALUE in its first lines may hold; None where nothing
    says so. tags: whether its tokens are to have them, in columns then."""
    try:
        if not is_file(path):
            return None
        with open_file(path) as file:
            head = file.read(1 << 14)
    except (OSError, ValueError):
        return None
    first, *rest = head.splitlines() or [b""]
    if _PAIR.search(head) or b"\0" in head:
        return None
    if tags:
        counts = {len(line.split()) for line in (first, *rest[:2]) if line.strip()}
        return COLUMNS if len(counts) == 1 and min(counts) > 1 else None
    if first.startswith(b"__label__"):
        return "text"
    for sign, input in ((b",", "csv"), (b";", "csv"), (b"\t", "tsv")):
        count = first.count(sign)
        if count and all(line.count(sign) >= count for line in rest[:2]):
            return "text" if sign == b"\t" and count == 1 else input
    return None
