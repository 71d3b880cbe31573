# SPDX-License-Identifier: BSD-3-Clause
"""Text of example files, plain or compressed (gzip, bzip2, xz and, if Python has it, Zstandard),
from a file, a pipe or standard input, read once.

The file is read block by block into one small buffer instead of being mapped: mapped pages count as
memory of the process, a file that is shortened while mapped kills it, and copying a block that
stays in the cache costs less than page faults.
"""

from __future__ import annotations

import importlib
import io
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from svmcut.base.errors import FILE_CHANGED, DataError, MemoryLimitError, SvmcutError
from svmcut.base.messages import Message
from svmcut.base.resources import available_memory
from svmcut.base.typing import TYPE_CHECKING, Any, Protocol
from svmcut.files.remote import open_file

if TYPE_CHECKING:
    from svmcut._native.scan import Scanner


#: Compressions by the first bytes of a text.
PACKINGS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
#: Messages by the first bytes of files that are no text of examples.
FOREIGN = {
    b"PK\x03\x04": "is an Excel workbook or a ZIP archive; save its sheet as CSV, or unpack it",
    b"\xd0\xcf\x11\xe0": "is an Excel workbook; save its sheet as CSV",
    b"%PDF-": "is a PDF; expected a text of examples or a table",
    b"\x89HDF": "is an HDF5 file; write its table as CSV or Parquet",
    b"PAR1\x15": "is a Parquet file; add {input=parquet}",
    b"ARROW1": "is an Arrow file; add {input=arrow}",
}
LONGEST_MAGIC = max(map(len, PACKINGS))
#: Compressed bytes read at a time; fewer for zstd, as zstandard unpacks all of them at once.
_PIECE, _ZSTD_PIECE = 1 << 16, 1 << 10


def unpack(packing: str, path: str, head: bytes, raw: Any) -> Callable[[memoryview], int]:
    """Return a function that fills the front of a view with the unpacked text; it returns 0 at the
    end.

    `packing` is a value of PACKINGS; `head` are the bytes already read from the stream `raw`.
    Raises DataError if no library can unpack it; so does the function, for truncated or damaged
    data.
    """
    text, damages = _STREAMS[packing](path, _HeadStream(head, raw))

    def readinto(view: memoryview) -> int:
        try:
            return text.readinto(view)
        except EOFError:
            raise DataError(path, f"the {packing} data is truncated") from None
        except damages as error:
            raise DataError(path, f"the {packing} data is damaged: {error}") from None

    return readinto


class _HeadStream(io.RawIOBase):
    """A stream with the bytes already read put back."""

    def __init__(self, head: bytes, raw: Any):
        super().__init__()
        self.head, self.raw = head, raw

    def read(self, size: int = -1) -> bytes:
        if self.head:
            head, self.head = self.head[:size], self.head[size:]
            return head
        return self.raw.read(size)


class _Damaged(Exception):
    """Bytes after the end of a stream that begin no other stream."""


class _MultiStream(io.RawIOBase):
    """Concatenated streams, unpacked; Python's own readers drop everything after the first if it is
    damaged.

    `start` creates a decompressor with decompress, eof and unused_data; `limited` says that its
    decompress takes a limit of the output. A stream begins with `magic`, and `padding` may follow
    it; `piece` bytes are read at a time.
    """

    def __init__(
        self,
        start: Callable[[], Any],
        packed: Any,
        magic: bytes,
        *,
        piece: int = _PIECE,
        limited: bool = True,
        padding: bytes = b"",
    ):
        super().__init__()
        self._start, self._packed, self._piece, self._limited = start, packed, piece, limited
        self._magic, self._padding = magic, padding
        self._stream, self._ready = start(), b""

    def readinto(self, view: Any) -> int:
        while not self._ready:
            if self._stream.eof:
                rest = self._next()
                if not rest:
                    return 0
                self._stream = self._start()
            else:
                more = not self._limited or self._stream.needs_input
                rest = self._packed.read(self._piece) if more else b""
                if more and not rest:
                    raise EOFError
            most = (len(view),) if self._limited else ()
            self._ready = self._stream.decompress(rest, *most)
        count = min(len(view), len(self._ready))
        view[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _next(self) -> bytes:
        """Return the first bytes of the next stream; none at the end."""
        rest = self._stream.unused_data.lstrip(self._padding)
        while len(rest) < len(self._magic) and (more := self._packed.read(self._piece)):
            rest = (rest + more).lstrip(self._padding)
        if rest and not rest.startswith(self._magic):
            raise (
                EOFError
                if self._magic.startswith(rest)
                else _Damaged("what follows is no other stream")
            )
        return rest


def _gzip(path: str, packed: _HeadStream) -> Any:
    import gzip
    import zlib

    return gzip.GzipFile(fileobj=packed, mode="rb"), (gzip.BadGzipFile, zlib.error)


def _bzip2(path: str, packed: _HeadStream) -> Any:
    library = _import_decoder(path, "bzip2", "bz2", "bzcat")
    return _MultiStream(library.BZ2Decompressor, packed, b"BZh"), (_Damaged, OSError)


def _xz(path: str, packed: _HeadStream) -> Any:
    library = _import_decoder(path, "xz", "lzma", "xzcat")
    text = _MultiStream(library.LZMADecompressor, packed, b"\xfd7zXZ\x00", padding=b"\0")
    return text, (_Damaged, library.LZMAError)


def _import_decoder(path: str, packing: str, name: str, program: str) -> Any:
    """Import a library that a Python may have been built without."""
    try:
        return importlib.import_module(name)
    except ImportError:
        remedy = f"this Python was built without {name}; unpack it first, with {program}"
        raise _cannot_read(path, packing, remedy) from None


def _zstd(path: str, packed: _HeadStream) -> Any:
    magic = b"\x28\xb5\x2f\xfd"
    for name in ("compression.zstd", "zstandard"):
        try:
            library = importlib.import_module(name)
        except ImportError:
            continue
        if name == "zstandard":
            start = library.ZstdDecompressor().decompressobj
            text = _MultiStream(start, packed, magic, piece=_ZSTD_PIECE, limited=False)
        else:
            text = _MultiStream(library.ZstdDecompressor, packed, magic)
        return text, (_Damaged, library.ZstdError)
    remedy = (
        "Python reads it from 3.14 on, or with the package zstandard; else unpack it first, with "
        "zstdcat"
    )
    raise _cannot_read(path, "zstd", remedy)


def _cannot_read(path: str, packing: str, remedy: str) -> DataError:
    return DataError(path, f"the data is {packing}, which cannot be read here: {remedy}")


_STREAMS: dict[str, Callable[[str, _HeadStream], Any]] = {
    "gzip": _gzip,
    "bzip2": _bzip2,
    "xz": _xz,
    "zstd": _zstd,
}


#: Size of the text buffer with one thread; it fits in the second-level cache.
BLOCK_BYTES = 1 << 18
#: Size of the text buffer per thread if several threads scan one block together.
THREAD_BLOCK_BYTES = 1 << 21
MAX_LINE_BYTES = 1 << 31
"""Bytes of a line without an end after which no more is read."""

NUL_MESSAGE = "NUL byte in a line; expected text"

MEGABYTE = 1e6
_CHECK_STEP = 256


def block_size(threads: int) -> int:
    """Return the size of the text buffer for reading all of a file."""
    return BLOCK_BYTES if threads <= 1 else THREAD_BLOCK_BYTES * threads


def feed_scanner(scanner: Scanner, text: ByteSource, block_bytes: int) -> Iterator[None]:
    """Scan block after block, and yield after each, so that signals are handled between them."""
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
                raise DataError(scanner.path, NUL_MESSAGE)
            if kept >= MAX_LINE_BYTES:
                raise DataError(scanner.path, f"a line is longer than {MAX_LINE_BYTES:,} bytes")
            buffer.extend(bytes(len(buffer)))
        yield


def check_limit(scanner: Scanner, position: int, bytes_left: int, max_memory: float | None) -> None:
    """Raise MemoryLimitError if the whole file needs more than `max_memory` (MB), estimated from
    the part read so far."""
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
def explain_memory_errors(scanner: Scanner, block_bytes: int) -> Iterator[None]:
    """Turn a MemoryError of reading into a MemoryLimitError that gives the need."""
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
    """Yield the text of a file; failures of the system become a DataError with the reason."""
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


class ByteSource(Protocol):
    """The protocol of a source of bytes that fills blocks."""

    def bytes_left(self) -> int:
        """Return the approximate number of bytes that follow, -1 if unknown."""
        ...

    def readinto(self, view: memoryview) -> int:
        """Fill the front of the view; return 0 at the end."""
        ...


class Text:
    """The unpacked bytes of a text and the position in it."""

    def __init__(self, path: str, raw):
        self.path, self.raw = path, raw
        #: Bytes read so far.
        self.position = 0
        self.state = self._stat()
        size = self.state[0] if self.state else getattr(raw, "size", None)
        #: Bytes of the whole text, -1 if unknown.
        self.size = -1 if size is None else size
        self.head = b""
        while len(self.head) < LONGEST_MAGIC and (more := raw.read(LONGEST_MAGIC - len(self.head))):
            self.head += more
        if self.head.startswith(b"\0"):  # as /dev/zero does, whose first line never ends
            raise DataError(path, NUL_MESSAGE, 1, 1)
        self._fill: Callable[[memoryview], int] = self._plain
        packing = next(
            (name for magic, name in PACKINGS.items() if self.head.startswith(magic)), None
        )
        if packing is not None:
            self.size = -1
            self._fill = unpack(packing, path, self.head, raw)

    def check_kind(self) -> None:
        """Refuse, with a DataError, files that are no text: workbooks and tables of another
        kind."""
        for magic, message in FOREIGN.items():
            if self.head.startswith(magic):
                raise DataError(self.path, Message(message))

    def bytes_left(self) -> int:
        return self.size - self.position if self.size >= self.position else -1

    def readinto(self, view: memoryview) -> int:
        """Fill the front of the view; return 0 at the end, where a file must be unchanged since the
        start."""
        count = self._fill(view)
        if count == 0:
            self._check_unchanged()
        self.position += count
        return count

    def rest(self) -> bytes:
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
    """A text whose blocks of whole lines pass through a function that changes them."""

    def __init__(self, text: ByteSource, change: Callable[[bytes], bytes]):
        self._text, self._change = text, change
        self._raw, self._ready, self._last = bytearray(), memoryview(b""), False

    def bytes_left(self) -> int:
        return self._text.bytes_left()

    def readinto(self, view: memoryview) -> int:
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
    """Yield the lines of a text without their ends, some at a time.

    Raises DataError for a NUL in a line without an end, and for a line of more than MAX_LINE_BYTES
    bytes.
    """
    buffer, pieces = bytearray(block_bytes), []
    with memoryview(buffer) as view:
        while count := text.readinto(view):
            pieces.append(bytes(view[:count]))
            if count == len(view) and b"\0" in pieces[-1] and b"\n" not in pieces[-1]:
                raise DataError(text.path, NUL_MESSAGE)
            if len(pieces) % _CHECK_STEP == 0 and sum(map(len, pieces)) > MAX_LINE_BYTES:
                raise DataError(text.path, f"a line is longer than {MAX_LINE_BYTES:,} bytes")
            if b"\n" in pieces[-1]:
                *lines, rest = b"".join(pieces).split(b"\n")
                pieces = [rest]
                yield lines
    if last := b"".join(pieces):
        yield [last]
