# SPDX-License-Identifier: BSD-3-Clause
"""What the name of a file says is in it."""

from __future__ import annotations

import os

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
