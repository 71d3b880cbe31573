# SPDX-License-Identifier: BSD-3-Clause
"""Multilabel example files: LIBSVM's ``LABEL,LABEL,... INDEX:VALUE ...`` and those of the
extreme-classification repository; and files with names of labels.

A line that starts with a blank has no label, and one of blanks only no feature either; a blank
after a comma is accepted. The repository's files begin with a line of three whole numbers,
``EXAMPLES FEATURES LABELS``, and count features and labels from 0; an empty line is a row if there
are too few others. Its sparse matrices begin with ``ROWS COLUMNS``, and their lines are
``INDEX:VALUE ...``, counted from 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain, zip_longest

import numpy as np
from numpy.typing import NDArray

from svmcut._native.scan import Scanner
from svmcut.base.errors import DataError
from svmcut.data.examples import Csr, MultilabelExamples, Source
from svmcut.files.remote import is_file
from svmcut.files.text import (
    BLOCK_BYTES,
    ByteSource,
    ChangedText,
    Text,
    block_size,
    check_limit,
    explain_memory_errors,
    feed_scanner,
    line_blocks,
    open_text,
)

_HEADER = re.compile(
    rb"\xef?\xbb?\xbf?[ \t]*(\d{1,18})[ \t]+(\d{1,18})[ \t]+(\d{1,18})[ \t]*\r?(?:\n|$)"
)

#: Empty lines, without the newline.
_EMPTY_LINES = (b"", b"\r")


def read_multilabel(
    path: str, *, threads: int = 1, max_memory: float | None = None, zero_based: bool = False
) -> MultilabelExamples:
    """Return all examples of a multilabel file; n_features is that of the header, else the largest
    index.

    Arguments are those of `read_examples`; a header implies `zero_based`. Raises DataError if the
    file cannot be read, has no examples, an invalid line or a label twice in a line, or differs
    from its header; MemoryLimitError as `read_examples`.
    """
    block_bytes = block_size(threads)
    with open_text(path) as text:
        rows, header, scanner = _start_scan(text, path, threads, zero_based)
        with explain_memory_errors(scanner, block_bytes):
            for _ in feed_scanner(scanner, rows, block_bytes):
                check_limit(scanner, text.position, text.bytes_left(), max_memory)
            examples = _take(scanner, header)
    _check_count(path, len(examples), header)
    return examples


def stream_multilabel(
    path: str, *, threads: int = 1, block_bytes: int = 1 << 20, zero_based: bool = False
) -> Iterator[MultilabelExamples]:
    """Yield the examples of a multilabel file in blocks of whole rows, at least one each, in
    constant memory.

    Arguments are those of `stream_examples`, failures those of `read_multilabel`, raised at their
    place; another number of examples than in the header is refused after the last block. `names`
    are the labels of the block; n_features is that of the header, else the largest index of the
    block; line numbers are those of the file.
    """
    with open_text(path) as text:
        (rows, header, scanner), count = _start_scan(text, path, threads, zero_based), 0
        with explain_memory_errors(scanner, block_bytes):
            for _ in feed_scanner(scanner, rows, block_bytes):
                examples = _take(scanner, header)
                if len(examples):
                    count += len(examples)
                    yield examples
        _check_count(path, count, header)


def _start_scan(
    text: Text, path: str, threads: int, zero_based: bool
) -> tuple[ByteSource, tuple[int, int, int] | None, Scanner]:
    """Return the lines of the rows, the numbers of the header and the scanner."""
    start = _HeaderText(text)
    rows: ByteSource = start
    if start.header is not None:
        rows = ChangedText(start, _empty_lines_as_rows(path, start.header[0]))
        zero_based = True
    scanner = Scanner(path, threads=threads, multilabel=True, zero_based=zero_based)
    return rows, start.header, scanner


def _empty_lines_as_rows(path: str, announced: int) -> Callable[[bytes], bytes]:
    """Return a function that turns empty lines into rows while rows are missing.

    Missing rows are those of the header less the other lines; a file that can be read only once
    counts lines as they come.
    """
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
            if line in _EMPTY_LINES and missing > 0:
                lines[k] = b" " + line
                missing -= 1
            elif not again and _is_row(line):
                missing -= 1
        return b"\n".join(lines)

    return change


def _is_row(line: bytes) -> bool:
    return line not in _EMPTY_LINES and not line.lstrip().startswith(b"#")


def _take(scanner: Scanner, header: tuple[int, int, int] | None) -> MultilabelExamples:
    rows = scanner.take()
    X = Csr(rows["values"], rows["indices"], rows["indptr"], rows["n_features"], True)
    source = Source(scanner.path, rows["skips"])
    indptr = np.concatenate([[0], np.cumsum(rows["y"])]).astype(np.int64)
    ids = _sort_labels(rows["label_ids"], indptr, source)
    if header is not None:
        X = _apply_header(X, ids, indptr, header, source)
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


def _sort_labels(ids, indptr, source: Source):
    """Return the labels of every row in increasing order; refuse a label that occurs twice."""
    row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    ids = ids[np.lexsort((ids, row))]
    twice = np.flatnonzero((ids[1:] == ids[:-1]) & (row[1:] == row[:-1]))
    if len(twice):
        k = int(twice[0])
        raise DataError(source.path, f"label {ids[k]} stands twice", source.line_of(int(row[k])))
    return ids


def _apply_header(X: Csr, ids, indptr, header: tuple[int, int, int], source: Source) -> Csr:
    """Return X with the number of features of the header; refuse features and labels beyond it."""
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


class _HeaderText:
    """A text whose header, if any, is replaced by a comment line, so that line numbers stay."""

    def __init__(self, text: Text):
        self._text, self._head = text, bytearray()
        whole = False
        while not whole and len(self._head) < 256:
            piece = bytearray(256)
            count = text.readinto(memoryview(piece))
            self._head += piece[:count]
            whole = count == 0 or b"\n" in self._head
        match = _HEADER.match(self._head) if whole else None
        #: Numbers of examples, features and labels; None without a header.
        self.header: tuple[int, int, int] | None = None
        if match:
            self.header = int(match[1]), int(match[2]), int(match[3])
            self._head[: match.start(1) + 1] = b"#" * (match.start(1) + 1)

    def bytes_left(self) -> int:
        left = self._text.bytes_left()
        return left + len(self._head) if left >= 0 else left

    def readinto(self, view: memoryview) -> int:
        if not self._head:
            return self._text.readinto(view)
        count = min(len(self._head), len(view))
        view[:count] = self._head[:count]
        del self._head[:count]
        return count


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
