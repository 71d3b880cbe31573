# SPDX-License-Identifier: BSD-3-Clause
"""Example files in LIBSVM and svm_light text, read and scanned by several threads, and kernel
values in NumPy's .npy.

Every member of the crew performs all steps: it fills its own buffer with the next lines, which stay
in its cache, scans them apart from the rows, and joins the parts that are due. One member reads at
a time, and one joins, but both take little compared with scanning, and no member waits for another
unless it is far ahead.

(I1) Blocks are numbered as they are read and joined in that order, so rows and the reported fault
are those of one thread. (I2) A failure of the text takes a number too: everything read before it is
scanned first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut._native.scan import Scanner, ScanPart
from svmcut.base.errors import DataError, NoExamples
from svmcut.base.typing import Any, NamedTuple
from svmcut.data.examples import Csr, Examples, Source
from svmcut.files.text import (
    ByteSource,
    Text,
    block_size,
    check_limit,
    explain_memory_errors,
    feed_scanner,
    open_text,
)

#: Size of a regular file from which all threads read blocks of their own.
CREW_BYTES = 1 << 22


class Comments:
    """The text behind the first ``#`` of lines, by line."""

    def __init__(self) -> None:
        self._found: dict[int, bytes] = {}
        self._line, self._open = 1, False

    def add(self, text: bytes) -> None:
        at = 0
        while True:
            if not self._open:
                mark = text.find(b"#", at)
                self._line += text.count(b"\n", at, len(text) if mark < 0 else mark)
                if mark < 0:
                    return
                self._found[self._line], self._open, at = b"", True, mark + 1
            end = text.find(b"\n", at)
            self._found[self._line] += text[at:] if end < 0 else text[at:end]
            if end < 0:
                return
            self._open, at = False, end

    def of(self, source: Source, rows: NDArray[np.int64]) -> list[bytes]:
        """Return the comments of rows, without a carriage return at the end; empty for a line
        without one."""
        if not self._found:
            return [b""] * len(rows)
        return [self._found.get(line, b"").rstrip(b"\r") for line in source.lines_of(rows).tolist()]


class _CommentReader:
    """The bytes of a text whose comments are recorded while it is read."""

    def __init__(self, text: Text, comments: Comments):
        self._text, self._comments, self.bytes_left = text, comments, text.bytes_left

    def readinto(self, view: memoryview) -> int:
        count = self._text.readinto(view)
        self._comments.add(bytes(view[:count]))
        return count


def read_examples(
    path: str,
    *,
    threads: int = 1,
    max_memory: float | None = None,
    zero_based: bool = False,
    comments: Comments | None = None,
    numbered: Callable[[ByteSource], ByteSource] | None = None,
) -> Examples:
    """Return all examples of a file; n_features is its largest index. Time O(bytes).

    `path` is a file or pipe, plain or compressed by content, or ``-`` for standard input. Neither
    result nor error depends on the number of threads. `max_memory` limits the returned arrays, in
    MB (10^6 bytes). With `zero_based`, index k is feature k + 1. `comments` records those of the
    file; `numbered` replaces labels that are words by numbers. Memory is that of the arrays and of
    one block of text per thread, or of the longest line.

    Raises DataError if the file cannot be read, has no examples, changes meanwhile, or has an
    invalid line; MemoryLimitError if the arrays take more than `max_memory`, estimated from the
    part read so far, or more than the system has.
    """
    block_bytes = block_size(threads)
    with open_text(path) as text:
        scanner = Scanner(path, threads=threads, zero_based=zero_based)

        def check(position: int, bytes_left: int) -> None:
            check_limit(scanner, position, bytes_left, max_memory)

        text.check_kind()
        with explain_memory_errors(scanner, block_bytes):
            if (
                comments is None
                and numbered is None
                and threads > 1
                and text.state is not None
                and text.state[0] >= CREW_BYTES
            ):
                read_together(scanner, text, threads, check)
            else:
                shown: ByteSource = text if comments is None else _CommentReader(text, comments)
                shown = shown if numbered is None else numbered(shown)
                for _ in feed_scanner(scanner, shown, block_bytes):
                    check(text.position, text.bytes_left())
            examples = _take_examples(scanner)
        if not len(examples):
            raise NoExamples(path)
        return examples


def stream_examples(
    path: str,
    *,
    threads: int = 1,
    block_bytes: int = 1 << 20,
    unlabelled: bool = False,
    zero_based: bool = False,
    numbered: Callable[[ByteSource], ByteSource] | None = None,
) -> Iterator[Examples]:
    """Yield the examples of a file in blocks of whole rows, at least one each, in constant memory.

    Arguments and failures are those of `read_examples`, raised at their place. A block comes from
    about `block_bytes` of text; a longer line makes a block of its own. With `unlabelled` any word,
    or none, may stand in place of a label; labels are 0 then. n_features is the largest index of
    the block; qid and weights are None when no line of the block has one; line numbers are those of
    the file.
    """
    with open_text(path) as text:
        text.check_kind()
        scanner = Scanner(path, threads=threads, unlabelled=unlabelled, zero_based=zero_based)
        begun = False
        with explain_memory_errors(scanner, block_bytes):
            for _ in feed_scanner(
                scanner, text if numbered is None else numbered(text), block_bytes
            ):
                examples = _take_examples(scanner)
                if len(examples):
                    begun = True
                    yield examples
        if not begun:
            raise NoExamples(path)


def _take_examples(scanner: Scanner) -> Examples:
    rows = scanner.take()
    X = Csr(rows["values"], rows["indices"], rows["indptr"], rows["n_features"], True)
    return Examples(X, rows["y"], rows["qid"], rows["cost"], Source(scanner.path, rows["skips"]))


#: Text buffered by each member; it fits in the second-level cache, with the scanned rows.
BLOCK_BYTES = 1 << 19

PARTS_PER_MEMBER = 4
"""Parts a member; those that are not being scanned wait for an earlier one."""


class _ScannedBlock(NamedTuple):
    """A scanned part, or its failure, and the place in the text after it was read."""

    part: ScanPart
    failure: Exception | None
    position: int
    bytes_left: int


def read_together(scanner: Scanner, text, threads: int, check: Callable[[int, int], None]) -> None:
    """Scan the whole text with that many threads, this one among them.

    `text` has readinto, position and bytes_left, and reading it must not block. `check` is called
    after every join with the bytes read until then and the bytes left; it may raise. The first
    failure in the order of the text is raised: of the scan, of the text or of the check.
    """
    crew = _Crew(scanner, text, threads, check)
    helpers = [threading.Thread(target=crew.work, daemon=True) for _ in range(threads - 1)]
    try:
        try:
            for helper in helpers:
                helper.start()
        except RuntimeError:  # no more threads: those there are do it all
            pass
        crew.work()
    except BaseException:  # a signal; failures are kept until all have ended
        crew.stop()
        raise
    finally:
        for helper in helpers:
            if helper.ident is not None:
                helper.join()
    if crew.failure is not None:
        raise crew.failure


class _Crew:
    """The state that the members share."""

    def __init__(self, scanner: Scanner, text, threads: int, check: Callable[[int, int], None]):
        self.failure: Exception | None = None
        self._scanner, self._text, self._check = scanner, text, check
        self._reading = threading.Lock()
        self._kept, self._numbers, self._ended = b"", 0, False  # this and the next under _reading
        self._broken: Exception | None = None
        self._change = threading.Condition()
        self._free = [
            ScanPart() for _ in range(PARTS_PER_MEMBER * threads)
        ]  # this and what follows under _change
        self._done: dict[int, _ScannedBlock] = {}
        self._joined, self._joining, self._stopped = 0, False, False

    def stop(self) -> None:
        with self._change:
            self._stopped = True
            self._change.notify_all()

    def work(self) -> None:
        """Read, scan and join until the text is consumed."""
        try:
            buffer = bytearray(BLOCK_BYTES)
            while (part := self._take_part()) is not None:
                number, done = self._scan_next(part, buffer)
                if done is None:
                    return
                self._hand_in(number, done)
        except Exception as failure:
            self.failure = self.failure or failure
            self.stop()

    def _take_part(self) -> ScanPart | None:
        with self._change:
            while not self._free and not self._stopped:
                self._change.wait()
            return None if self._stopped else self._free.pop()

    def _scan_next(self, part: ScanPart, buffer: bytearray) -> tuple[int, _ScannedBlock | None]:
        """Read and scan the next block; return None at the end of the text."""
        text = self._text
        with self._reading:
            if self._ended:
                return 0, None
            failure, size = self._broken, 0
            if failure is None:
                size = self._fill(buffer)
            else:
                self._ended = True
            number = self._numbers
            self._numbers += 1
            position, left = text.position, text.bytes_left()
        with memoryview(buffer) as view:
            self._scanner.scan_part(part, view[:size], first=number == 0)
        return number, _ScannedBlock(part, failure, position, left)

    def _fill(self, buffer: bytearray) -> int:
        """Put the next whole lines into the buffer and return their size; the rest of the last line
        is kept."""
        size = len(self._kept)
        buffer.extend(bytes(max(0, size + BLOCK_BYTES - len(buffer))))
        buffer[:size] = self._kept
        while True:
            with memoryview(buffer) as view:
                try:
                    while size < len(view) and not self._ended:
                        count = self._text.readinto(view[size:])
                        self._ended = count == 0
                        size += count
                except Exception as error:  # its turn comes after the lines before it
                    self._broken = error
            lines = size if self._ended else buffer.rfind(b"\n", 0, size) + 1
            if lines or self._ended or self._broken is not None:
                self._kept = bytes(memoryview(buffer)[lines:size])
                return lines
            buffer.extend(bytes(len(buffer)))

    def _hand_in(self, number: int, done: _ScannedBlock) -> None:
        """Join all parts that are due, unless another member is joining."""
        with self._change:
            self._done[number] = done
            if self._joining:
                return
            self._joining = True
        while True:
            with self._change:
                due = None if self._stopped else self._done.pop(self._joined, None)
                if due is None:
                    self._joining = False
                    return
            if due.failure is not None:
                raise due.failure
            self._scanner.join(due.part, bytes_left=due.bytes_left)
            self._check(due.position, due.bytes_left)
            with self._change:
                self._joined += 1
                self._free.append(due.part)
                self._change.notify()


BLOCK_ROWS = 1000  # at once


def is_npy(path: str) -> bool:
    """Return whether the name of a file ends in .npy."""
    return path.lower().endswith(".npy")


def read_npy(path: str) -> Examples:
    """Return all rows of a matrix of labels and kernel values, row k with the serial number k;
    raise DataError if the file is no matrix of finite numbers.

    A training set of n rows has n + 1 columns.
    """
    return _make_examples(path, _matrix(path), 0)


def stream_npy(path: str) -> Iterator[Examples]:
    """Yield the rows in blocks; raise as `read_npy`."""
    matrix = _matrix(path)
    for start in range(0, len(matrix), BLOCK_ROWS):
        yield _make_examples(path, matrix[start : start + BLOCK_ROWS], start)


def _matrix(path: str) -> Any:
    try:
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise DataError(path, f"is no matrix of NumPy: {error}") from None
    shape: tuple[int, ...] = getattr(matrix, "shape", ())
    if len(shape) != 2 or shape[1] < 2 or matrix.dtype.kind not in "fiu":
        raise DataError(
            path, f"has shape {shape}; expected a matrix of a label and kernel values a row"
        )
    if not len(matrix):
        raise NoExamples(path)
    return matrix


def _make_examples(path: str, matrix: Any, start: int) -> Examples:
    y = np.ascontiguousarray(matrix[:, 0], np.float64)
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(matrix[:, 1:], np.float32)
    n, d = values.shape
    indices = np.tile(np.arange(d, dtype=np.int32), n)
    X = Csr(values.ravel(), indices, np.arange(0, n * d + 1, d, dtype=np.int64), d)
    serials = np.arange(start + 1.0, start + n + 1)
    return Examples(X, y, None, None, Source(path), serials=serials).validate()
