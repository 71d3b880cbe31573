# SPDX-License-Identifier: BSD-3-Clause
"""Text of example files, plain or compressed, from a file, a pipe or standard input, read once.

The file is read block by block into one small buffer rather than mapped: pages of a mapping count
as memory of the process, a file cut short under a mapping kills it, and a copy that stays in the
cache costs less than the page faults.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from svmcut.base.errors import FILE_CHANGED, DataError, MemoryLimitError, SvmcutError
from svmcut.base.messages import Message
from svmcut.base.resources import available_memory
from svmcut.base.typing import TYPE_CHECKING, Protocol
from svmcut.files.packed import FOREIGN, LONGEST_MAGIC, PACKINGS, unpack
from svmcut.files.remote import open_file

if TYPE_CHECKING:
    from svmcut._native.scan import Scanner

BLOCK_BYTES = 1 << 18
"""Text in flight with one thread; fits in the second-level cache."""

THREAD_BLOCK_BYTES = 1 << 21
"""Text in flight for each of several threads that scan one block together."""

LONGEST_LINE = 1 << 31
"""Bytes of a line without an end after which no more is read."""

NUL = "NUL byte in a line; expected text"

MEGABYTE = 1e6
_MANY = 256


def block_bytes_of(threads: int) -> int:
    """Text in flight where all of a file is read."""
    return BLOCK_BYTES if threads <= 1 else THREAD_BLOCK_BYTES * threads


def feed(scanner: Scanner, text: Bytes, block_bytes: int) -> Iterator[None]:
    """Scans block after block, and yields after each: signals are served between them."""
    buffer = bytearray(block_bytes)
    kept = 0
    last = False
    broken: Exception | None = None
    while not last:
        with memoryview(buffer) as view:
            try:
                while kept < len(view) and not last:
                    count = text.readinto(view[kept:])
                    last = count == 0
                    kept += count
            except Exception as error:  # its turn comes after the lines before it
                broken = error
            used = scanner.feed(view[:kept], last=last, bytes_left=text.bytes_left())
            view[: kept - used] = view[used:kept]
        if broken is not None:
            raise broken
        kept -= used
        if kept == len(buffer):
            if b"\0" in buffer:  # no end of the line is waited for, which may never come
                scanner.feed(bytes(buffer), last=True)
                raise DataError(scanner.path, NUL)
            if kept >= LONGEST_LINE:
                raise DataError(scanner.path, f"a line is longer than {LONGEST_LINE:,} bytes")
            buffer.extend(bytes(len(buffer)))
        yield


def check_limit(scanner: Scanner, position: int, bytes_left: int, max_memory: float | None) -> None:
    """Refuses more than max_memory (MB), by what has been read so far.

    Raises
    ------
    MemoryLimitError
    """
    if max_memory is None:
        return
    need = scanner.nbytes
    if position and bytes_left > 0:
        need *= 1 + bytes_left / position
    if need > max_memory * MEGABYTE:
        raise MemoryLimitError(
            "{}: the examples take {} MB, and the limit is {:g} MB",
            scanner.path,
            _megabytes(need),
            max_memory,
        )


@contextmanager
def memory_for(scanner: Scanner, block_bytes: int) -> Iterator[None]:
    """A MemoryError of reading becomes a MemoryLimitError with what it takes."""
    try:
        yield
    except MemoryLimitError:
        raise
    except MemoryError:
        need, available = max(scanner.nbytes, block_bytes), available_memory()
        there_is = (
            f" ({available:.1f} MB)"
            if available is not None and available * MEGABYTE < need
            else ""
        )
        raise MemoryLimitError(
            "{}: reading it takes {} MB or more, and there is less{}",
            scanner.path,
            _megabytes(need),
            there_is,
        ) from None


def _megabytes(size: float) -> str:
    return f"{size / MEGABYTE:.0f}" if size >= 10 * MEGABYTE else f"{size / MEGABYTE:.1f}"


@contextmanager
def open_text(path: str) -> Iterator[Text]:
    """The text of a file; every failure of the system on the way becomes a DataError with its
    reason."""
    try:
        if path != "-":
            with open_file(path, buffered=False) as raw:
                yield Text(path, raw)
        elif sys.stdin is None:
            raise DataError(path, "standard input is closed")
        else:
            # Unbuffered where there is a descriptor: a buffered reader keeps a signal waiting for
            # the data it lacks.
            yield Text(path, getattr(sys.stdin.buffer, "raw", sys.stdin.buffer))
    except SvmcutError:
        raise
    except OSError as error:
        raise DataError(path, error.strerror or str(error)) from None
    except ValueError as error:  # a NUL in the name, a closed stream
        raise DataError(path, str(error)) from None


class Bytes(Protocol):
    """A source that blocks are filled from."""

    def bytes_left(self) -> int:
        """About how many follow, -1 if unknown."""
        ...

    def readinto(self, view: memoryview) -> int:
        """Fills the front of the view; 0 at the end."""
        ...


class Text:
    """Bytes of the text, unpacked, and how far they are.

    Attributes
    ----------
    size : int
        Bytes of the whole text, -1 if unknown.
    position : int
        Bytes read.
    """

    def __init__(self, path: str, raw):
        self.path, self.raw = path, raw
        self.position = 0
        self.state = self._stat()
        size = self.state[0] if self.state else getattr(raw, "size", None)
        self.size = -1 if size is None else size
        self.head = b""
        while len(self.head) < LONGEST_MAGIC and (more := raw.read(LONGEST_MAGIC - len(self.head))):
            self.head += more
        if self.head.startswith(b"\0"):  # as /dev/zero does, whose first line never ends
            raise DataError(path, NUL, 1, 1)
        self._fill: Callable[[memoryview], int] = self._plain
        packing = next(
            (name for magic, name in PACKINGS.items() if self.head.startswith(magic)), None
        )
        if packing is not None:
            self.size = -1
            self._fill = unpack(packing, path, self.head, raw)

    def check_kind(self) -> None:
        """Refuses, as a DataError, what is no text: a workbook, a table of another kind."""
        for magic, message in FOREIGN.items():
            if self.head.startswith(magic):
                raise DataError(self.path, Message(message))

    def bytes_left(self) -> int:
        return self.size - self.position if self.size >= self.position else -1

    def readinto(self, view: memoryview) -> int:
        """Fills the front of the view; 0 at the end, where a file must still be what it was at the
        start."""
        count = self._fill(view)
        if count == 0:
            self._check_unchanged()
        self.position += count
        return count

    def rest(self) -> bytes:
        """All that follows."""
        pieces, view = [], memoryview(bytearray(1 << 20))
        while count := self.readinto(view):
            pieces.append(bytes(view[:count]))
        return b"".join(pieces)

    def _plain(self, view: memoryview) -> int:
        if self.head:
            count = min(len(self.head), len(view))
            view[:count] = self.head[:count]
            self.head = self.head[count:]
        else:
            count = self.raw.readinto(view)
            if count is None:
                raise DataError(self.path, "no data yet; the input must not be non-blocking")
        return count

    def _stat(self) -> tuple[int, int] | None:
        try:
            status = os.fstat(self.raw.fileno())
        except (OSError, ValueError):  # a stream without a file
            return None
        return (status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None

    def _check_unchanged(self) -> None:
        if self.state != self._stat():
            raise DataError(self.path, FILE_CHANGED)
        if (check := getattr(self.raw, "check_unchanged", None)) is not None:
            check()


class ChangedText:
    """A text that is read in blocks of whole lines, which are changed.

    Parameters
    ----------
    change : callable
        Gives what takes the place of a block.
    """

    def __init__(self, text: Bytes, change: Callable[[bytes], bytes]):
        self._text, self._change = text, change
        self._raw, self._ready, self._last = bytearray(), memoryview(b""), False

    def bytes_left(self) -> int:
        return self._text.bytes_left()

    def readinto(self, view: memoryview) -> int:
        """Fills the front of the view; 0 at the end."""
        while not self._ready and not self._last:
            block = bytearray(BLOCK_BYTES)
            with memoryview(block) as room:
                count = self._text.readinto(room)
            self._raw += block[:count]
            self._last = not count
            end = len(self._raw) if self._last else self._raw.rfind(b"\n") + 1
            self._ready = memoryview(self._change(bytes(self._raw[:end])))
            del self._raw[:end]
        count = min(len(view), len(self._ready))
        view[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


def line_blocks(text: Text, block_bytes: int) -> Iterator[list[bytes]]:
    """The lines of a text without their ends, some at a time.

    Raises
    ------
    DataError
        For a NUL in a line without an end, and a line of more than LONGEST_LINE bytes.
    """
    buffer, pieces = bytearray(block_bytes), []
    with memoryview(buffer) as view:
        while count := text.readinto(view):
            pieces.append(bytes(view[:count]))
            if count == len(view) and b"\0" in pieces[-1] and b"\n" not in pieces[-1]:
                raise DataError(text.path, NUL)
            if len(pieces) % _MANY == 0 and sum(map(len, pieces)) > LONGEST_LINE:
                raise DataError(text.path, f"a line is longer than {LONGEST_LINE:,} bytes")
            if b"\n" in pieces[-1]:
                *lines, rest = b"".join(pieces).split(b"\n")
                pieces = [rest]
                yield lines
    if last := b"".join(pieces):
        yield [last]
