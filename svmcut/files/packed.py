# SPDX-License-Identifier: BSD-3-Clause
"""Compressed texts, unpacked while reading: gzip, bzip2, xz and, if Python has it, Zstandard."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable

from svmcut.base.errors import DataError
from svmcut.base.typing import Any

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
