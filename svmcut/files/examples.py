# SPDX-License-Identifier: BSD-3-Clause
"""Example files: LIBSVM and svm_light text."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from svmcut._native.scan import Scanner
from svmcut.data.examples import Csr, Examples, Source
from svmcut.errors import NoExamples
from svmcut.files.text import Bytes, Text, block_bytes_of, check_limit, feed, memory_for, open_text
from svmcut.typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CREW_BYTES = 1 << 22
"""A regular file of so many bytes is read by all threads, each its own blocks."""


class Comments:
    """What stands behind the first ``#`` of lines, by line."""

    def __init__(self) -> None:
        self._found: dict[int, bytes] = {}
        self._line, self._open = 1, False

    def add(self, text: bytes) -> None:
        """Takes in the text that follows what was added before."""
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
        """The comments of rows, without a carriage return at the end; empty where a line has
        none."""
        if not self._found:
            return [b""] * len(rows)
        return [self._found.get(line, b"").rstrip(b"\r") for line in source.lines_of(rows).tolist()]


class _Commented:
    """The bytes of a text, whose comments are kept on the way."""

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
    numbered: Callable[[Bytes], Bytes] | None = None,
) -> Examples:
    """All examples of a file.

    Parameters
    ----------
    path : str
        A file or pipe, plain or compressed by content; ``-`` for standard input.
    threads : int
        How many scan at once. The result and the error do not depend on it.
    max_memory : float, optional
        In MB (10^6 bytes), for the arrays returned.
    zero_based : bool
        Indices of the file start at 0: index k is feature k + 1.
    comments : Comments, optional
        Takes in those of the file.
    numbered : callable, optional
        Gives the text with numbers for labels that are words.

    Returns
    -------
    Examples
        n_features is the largest index of the file.

    Raises
    ------
    DataError
        The file cannot be read, has no examples or changes meanwhile, or a line is not as it should
        be.
    MemoryLimitError
        The arrays take more than max_memory, by what has been read so far, or more than the system
        gives.

    Notes
    -----
    Time O(bytes). Memory: the arrays and one block of text a thread, or the longest line.
    """
    block_bytes = block_bytes_of(threads)
    with open_text(path) as text:
        scanner = Scanner(path, threads=threads, zero_based=zero_based)

        def check(position: int, bytes_left: int) -> None:
            check_limit(scanner, position, bytes_left, max_memory)

        text.check_kind()
        with memory_for(scanner, block_bytes):
            if (
                comments is None
                and numbered is None
                and threads > 1
                and text.state is not None
                and text.state[0] >= CREW_BYTES
            ):
                from svmcut.files.crew import read_together

                read_together(scanner, text, threads, check)
            else:
                shown: Bytes = text if comments is None else _Commented(text, comments)
                shown = shown if numbered is None else numbered(shown)
                for _ in feed(scanner, shown, block_bytes):
                    check(text.position, text.bytes_left())
            examples = _take(scanner)
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
    numbered: Callable[[Bytes], Bytes] | None = None,
) -> Iterator[Examples]:
    """The examples of a file in blocks of whole rows, in constant memory.

    Parameters
    ----------
    path, threads, zero_based
        As in `read_examples`.
    block_bytes : int
        About how much text makes a block; a longer line makes a block of its own.
    unlabelled : bool
        Whether any word may stand in place of a label, or none; labels are 0 then.
    numbered : callable, optional
        Gives the text with numbers for labels that are words.

    Yields
    ------
    Examples
        At least one row. n_features is the largest index of the block; qid and weights are None
        when no line of the block has one; line numbers are those of the file.

    Raises
    ------
    DataError, MemoryLimitError
        As in `read_examples`, when their place is reached.
    """
    with open_text(path) as text:
        text.check_kind()
        scanner = Scanner(path, threads=threads, unlabelled=unlabelled, zero_based=zero_based)
        begun = False
        with memory_for(scanner, block_bytes):
            for _ in feed(scanner, text if numbered is None else numbered(text), block_bytes):
                examples = _take(scanner)
                if len(examples):
                    begun = True
                    yield examples
        if not begun:
            raise NoExamples(path)


def _take(scanner: Scanner) -> Examples:
    rows = scanner.take()
    X = Csr(rows["values"], rows["indices"], rows["indptr"], rows["n_features"], True)
    return Examples(X, rows["y"], rows["qid"], rows["cost"], Source(scanner.path, rows["skips"]))
