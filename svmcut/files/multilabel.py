# SPDX-License-Identifier: BSD-3-Clause
"""Multilabel example files: LIBSVM's ``LABEL,LABEL,... INDEX:VALUE ...`` and the
extreme-classification repository's.

A line that starts with a blank has no label, and one of blanks alone no feature either; a blank
after a comma is taken as well. The repository's files open with a line of three whole numbers,
``EXAMPLES FEATURES LABELS``, and count features and labels from 0; an empty line is a row where
there are too few others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np

from svmcut._native.scan import Scanner
from svmcut.base.errors import DataError
from svmcut.data.examples import Csr, MultilabelExamples, Source
from svmcut.files.remote import is_file
from svmcut.files.text import (
    BLOCK_BYTES,
    Bytes,
    ChangedText,
    Text,
    block_bytes_of,
    check_limit,
    feed,
    line_blocks,
    memory_for,
    open_text,
)

_HEADER = re.compile(
    rb"\xef?\xbb?\xbf?[ \t]*(\d{1,18})[ \t]+(\d{1,18})[ \t]+(\d{1,18})[ \t]*\r?(?:\n|$)"
)

#: Lines that are empty.
_NOTHING = (b"", b"\r")


def read_multilabel(
    path: str, *, threads: int = 1, max_memory: float | None = None, zero_based: bool = False
) -> MultilabelExamples:
    """All examples of a multilabel file.

    Parameters
    ----------
    path, threads, max_memory
        As in `read_examples`.
    zero_based : bool
        Indices start at 0, as they do where there is a header.

    Returns
    -------
    MultilabelExamples
        n_features is what a header announces, else the largest index of the file.

    Raises
    ------
    DataError
        The file cannot be read, has no examples, a line is not as it should be, a label stands
        twice in a line, or the file holds other counts than its header announces.
    MemoryLimitError
        The arrays take more than max_memory, or more than the system gives.
    """
    block_bytes = block_bytes_of(threads)
    with open_text(path) as text:
        rows, header, scanner = _started(text, path, threads, zero_based)
        with memory_for(scanner, block_bytes):
            for _ in feed(scanner, rows, block_bytes):
                check_limit(scanner, text.position, text.bytes_left(), max_memory)
            examples = _take(scanner, header)
    _check_count(path, len(examples), header)
    return examples


def stream_multilabel(
    path: str, *, threads: int = 1, block_bytes: int = 1 << 20, zero_based: bool = False
) -> Iterator[MultilabelExamples]:
    """The examples of a multilabel file in blocks of whole rows, in constant memory.

    Parameters
    ----------
    path, threads, block_bytes, zero_based
        As in `stream_examples`.

    Yields
    ------
    MultilabelExamples
        At least one row. ``names`` are the labels of the block; n_features is what a header
        announces, else the largest index of the block; line numbers are those of the file.

    Raises
    ------
    DataError, MemoryLimitError
        As in `read_multilabel`, when their place is reached; another number of examples than a
        header announces after the last block.
    """
    with open_text(path) as text:
        (rows, header, scanner), count = _started(text, path, threads, zero_based), 0
        with memory_for(scanner, block_bytes):
            for _ in feed(scanner, rows, block_bytes):
                examples = _take(scanner, header)
                if len(examples):
                    count += len(examples)
                    yield examples
        _check_count(path, count, header)


def _started(
    text: Text, path: str, threads: int, zero_based: bool
) -> tuple[Bytes, tuple[int, int, int] | None, Scanner]:
    """The lines of the rows, what the header announces, and who scans them."""
    start = _Start(text)
    rows: Bytes = start
    if start.header is not None:
        rows = ChangedText(start, _empty_lines_as_rows(path, start.header[0]))
        zero_based = True
    scanner = Scanner(path, threads=threads, multilabel=True, zero_based=zero_based)
    return rows, start.header, scanner


def _empty_lines_as_rows(path: str, announced: int) -> Callable[[bytes], bytes]:
    """Makes lines of blanks of as many empty ones as the other lines are fewer than the header
    announces; of a file that is read once of all before so many rows are there."""
    missing, again = announced, is_file(path)
    if again:
        with open_text(path) as text:
            lines = (line for block in line_blocks(text, BLOCK_BYTES) for line in block)
            missing += 1 - sum(map(_is_row, lines))  # the header is a line too

    def change(block: bytes) -> bytes:
        nonlocal missing
        if missing <= 0:
            return block
        lines = block.split(b"\n")
        for k, line in enumerate(lines[:-1]):
            if line in _NOTHING and missing > 0:
                lines[k] = b" " + line
                missing -= 1
            elif not again and _is_row(line):
                missing -= 1
        return b"\n".join(lines)

    return change


def _is_row(line: bytes) -> bool:
    return line not in _NOTHING and not line.lstrip().startswith(b"#")


def _take(scanner: Scanner, header: tuple[int, int, int] | None) -> MultilabelExamples:
    """The rows scanned since the last time."""
    rows = scanner.take()
    X = Csr(rows["values"], rows["indices"], rows["indptr"], rows["n_features"], True)
    source = Source(scanner.path, rows["skips"])
    indptr = np.concatenate([[0], np.cumsum(rows["y"])]).astype(np.int64)
    ids = _sorted_rows(rows["label_ids"], indptr, source)
    if header is not None:
        X = _as_announced(X, ids, indptr, header, source)
    names, places = np.unique(ids, return_inverse=True)
    return MultilabelExamples(
        X, names.astype(np.int64), indptr, places.astype(np.int32), source, rows["cost"]
    )


def _check_count(path: str, n: int, header: tuple[int, int, int] | None) -> None:
    if not n:
        raise DataError(path, "no examples")
    if header is not None and n != header[0]:
        raise DataError(
            path, f"the header announces {header[0]} examples, and the file holds {n}", 1
        )


def _sorted_rows(ids, indptr, source: Source):
    """The labels of every row in increasing order; refuses one that stands twice."""
    row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    ids = ids[np.lexsort((ids, row))]
    twice = np.flatnonzero((ids[1:] == ids[:-1]) & (row[1:] == row[:-1]))
    if len(twice):
        k = int(twice[0])
        raise DataError(source.path, f"label {ids[k]} stands twice", source.line_of(int(row[k])))
    return ids


def _as_announced(X: Csr, ids, indptr, header: tuple[int, int, int], source: Source) -> Csr:
    """X with the number of features the header announces; refuses features and labels beyond it."""
    _, d, K = header
    if X.n_features > d:
        row = int(np.searchsorted(X.indptr, int(np.argmax(X.indices >= d)), side="right")) - 1
        message = f"feature index of {d} or more; the header announces {d} features, counted from 0"
        raise DataError(source.path, message, source.line_of(row))
    if len(ids) and ids.max() >= K:
        k = int(np.argmax(ids >= K))
        row = int(np.searchsorted(indptr, k, side="right")) - 1
        message = f"label {ids[k]}; the header announces {K} labels, counted from 0"
        raise DataError(source.path, message, source.line_of(row))
    return Csr(X.data, X.indices, X.indptr, d, X.proven)


class _Start:
    """A text whose first line is looked at; a header becomes a comment line, so that line numbers
    stay.

    Attributes
    ----------
    header : tuple of int or None
        Examples, features, labels.
    """

    def __init__(self, text: Text):
        self._text, self._head = text, bytearray()
        whole = False
        while not whole and len(self._head) < 256:
            piece = bytearray(256)
            count = text.readinto(memoryview(piece))
            self._head += piece[:count]
            whole = count == 0 or b"\n" in self._head
        match = _HEADER.match(self._head) if whole else None
        self.header: tuple[int, int, int] | None = None
        if match:
            self.header = int(match[1]), int(match[2]), int(match[3])
            self._head[: match.start(1) + 1] = b"#" * (match.start(1) + 1)

    def bytes_left(self) -> int:
        left = self._text.bytes_left()
        return left + len(self._head) if left >= 0 else left

    def readinto(self, view: memoryview) -> int:
        """Fills the front of the view; 0 at the end."""
        if not self._head:
            return self._text.readinto(view)
        count = min(len(self._head), len(view))
        view[:count] = self._head[:count]
        del self._head[:count]
        return count
