# SPDX-License-Identifier: BSD-3-Clause
"""Queries in a file next to that of the rows, FILE.group or FILE.query, as for LightGBM and
XGBoost."""

from __future__ import annotations

import numpy as np

from svmcut.base.errors import DataError
from svmcut.base.typing import TYPE_CHECKING
from svmcut.files.remote import has_file
from svmcut.files.text import BLOCK_BYTES, open_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

SUFFIXES = (".group", ".query")


def find_queries(path: str) -> str | None:
    """Return the first existing file of the queries of a file; None if there is none."""
    return next(
        (path + suffix for suffix in SUFFIXES if path != "-" and has_file(path + suffix)),
        None,
    )


def read_queries(path: str, rows: int, of: str) -> NDArray[np.int64]:
    """Return the query of every row (rows,), counted from 1 if the file has counts.

    The file has one whole number per line: the number of rows of each query, or the qid of each
    row. `of` names the file of the rows in messages. Raises DataError for an invalid line, numbers
    that are neither, and decreasing qids.
    """
    pieces, buffer = [], bytearray(BLOCK_BYTES)
    with open_text(path) as text, memoryview(buffer) as view:
        while count := text.readinto(view):
            pieces.append(bytes(view[:count]))
    lines = b"".join(pieces).removeprefix(b"\xef\xbb\xbf").rstrip().split(b"\n")
    numbers = np.empty(len(lines), np.int64)
    for k, line in enumerate(lines):
        word = line.strip()
        if not (word.isdigit() and len(word) < 19):
            shown = word[:40].decode("utf-8", "replace")
            raise DataError(
                path, f"'{shown}' is no whole number; expected the rows of a query a line", k + 1
            )
        numbers[k] = int(word)
    if int(numbers.astype(object).sum()) == rows:
        return np.repeat(np.arange(1, len(numbers) + 1), numbers)
    if len(numbers) != rows:
        raise DataError(
            path,
            f"its {len(numbers)} numbers are neither counts that add up to the {rows} rows of "
            f"{of} nor "
            "one qid a row",
        )
    falls = np.flatnonzero(numbers[1:] < numbers[:-1])
    if len(falls):
        k = int(falls[0]) + 1
        raise DataError(
            path, f"qid {numbers[k]} follows {numbers[k - 1]}; qids must not decrease", k + 1
        )
    return numbers
