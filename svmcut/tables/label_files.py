# SPDX-License-Identifier: BSD-3-Clause
"""Files that accompany rows of label sets: names of labels, and labels in a file of their own.

Sparse matrices of the extreme classification repository begin with a line ``ROWS COLUMNS``, and
their lines are ``INDEX:VALUE ...``, counted from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, zip_longest

import numpy as np

from svmcut.base.errors import DataError
from svmcut.base.typing import TYPE_CHECKING
from svmcut.files.text import BLOCK_BYTES, line_blocks, open_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SIZES = re.compile(rb"\s*(\d{1,18})\s+(\d{1,18})\s*")
_LABEL = re.compile(rb"(\d{1,10}):([-+.\deE]+)")


def _read_lines(path: str) -> Iterator[bytes]:
    with open_text(path) as text:
        yield from chain.from_iterable(line_blocks(text, BLOCK_BYTES))


def read_label_names(path: str, labels: NDArray[np.int64]) -> list[str]:
    """Return the names of labels from a file with one name per line, from label 0 on.

    Raises DataError if a label has no line or an empty one.
    """
    names = [" ".join(line.decode("utf-8", "replace").split()) for line in _read_lines(path)]
    if len(labels) and labels[-1] >= len(names):
        raise DataError(
            path,
            f"{len(names)} names, but the model has the label {labels[-1]}; expected one name a "
            "line, that of label 0 first",
        )
    empty = next((int(label) for label in labels if not names[label]), None)
    if empty is not None:
        raise DataError(path, f"the name of label {empty} is empty", empty + 1)
    return [names[label] for label in labels]


def join_lines(features: str, labels: str) -> Iterator[bytes]:
    """Yield the rows of two files as lines of one, after a line with the numbers of rows, features
    and labels.

    Raises DataError if a file does not begin with its size, the files differ in rows, or an entry
    of `labels` is no label.
    """
    paths, files = (features, labels), (_read_lines(features), _read_lines(labels))
    sizes = []
    for path, lines in zip(paths, files, strict=True):
        match = _SIZES.fullmatch(next(lines, b""))
        if match is None:
            raise DataError(path, "expected a first line ROWS COLUMNS, two whole numbers", 1)
        sizes.append((int(match[1]), int(match[2])))
    (rows, d), (others, K) = sizes
    if rows != others:
        raise DataError(labels, f"{others} rows, but {features} has {rows}", 1)
    yield b"%d %d %d\n" % (rows, d, K)
    count = 1
    for number, (row, own) in enumerate(zip_longest(*files), 2):
        if row is None or own is None:
            path = features if row is None else labels
            raise DataError(path, f"the file ends before line {number}; expected {rows} rows")
        yield _parse_labels(labels, own, number, K) + b" " + row.strip() + b"\n"
        count = number
    if count != rows + 1:
        raise DataError(features, f"the first line announces {rows} rows, the file has {count - 1}")


def _parse_labels(path: str, line: bytes, number: int, K: int) -> bytes:
    labels = []
    for word in line.split():
        match = _LABEL.fullmatch(word)
        try:
            value = float(match[2]) if match else None
        except ValueError:
            value = None
        if match is None or value is None or int(match[1]) >= K:
            text = word.decode("ascii", "backslashreplace")[:40]
            raise DataError(
                path, f"'{text}' is no label; expected 0 to {K - 1}, a colon and 1", number
            )
        if value:
            labels.append(match[1])
    return b",".join(labels)
