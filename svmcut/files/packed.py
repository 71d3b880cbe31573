# SPDX-License-Identifier: BSD-3-Clause
"""Compressed texts, unpacked on the way: gzip, bzip2, xz and, where Python has it, Zstandard."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable

from svmcut.base.errors import DataError
from svmcut.base.typing import Any

#: What compressed texts begin with.
PACKINGS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
#: What files begin with that hold no text of examples, and what to do about them.
FOREIGN = {
    b"PK\x03\x04": "is an Excel workbook or a ZIP archive; save its sheet as CSV, or unpack it",
    b"\xd0\xcf\x11\xe0": "is an Excel workbook; save its sheet as CSV",
    b"%PDF-": "is a PDF; expected a text of examples or a table",
    b"\x89HDF": "is an HDF5 file; write its table as CSV or Parquet",
    b"PAR1\x15": "is a Parquet file; add {input=parquet}",
    b"ARROW1": "is an Arrow file; add {input=arrow}",
}
LONGEST_MAGIC = max(map(len, PACKINGS))
#: Compressed bytes taken at a time; of zstd fewer, as zstandard gives all that they hold at once.
_PIECE, _ZSTD_PIECE = 1 << 16, 1 << 10


def unpack(packing: str, path: str, head: bytes, raw: Any) -> Callable[[memoryview], int]:
    """Return a function that fills the front of a view with text of a stream; 0 at the end.

    Parameters
    ----------
    packing : str
        A value of PACKINGS.
    head : bytes
        Taken from the stream already.
    raw : object
        With read.

    Raises
    ------
    DataError
        No library reads it; from the function, the data is truncated or damaged.
    """
    text, damages = _STREAMS[packing](path, _Rejoined(head, raw))

    def readinto(view: memoryview) -> int:
        try:
            return text.readinto(view)
        except EOFError:
            raise DataError(path, f"the {packing} data is truncated") from None
        except damages as error:
            raise DataError(path, f"the {packing} data is damaged: {error}") from None

    return readinto


class _Rejoined(io.RawIOBase):
    """A stream with the bytes already taken from it put back."""

    def __init__(self, head: bytes, raw: Any):
        super().__init__()
        self.head, self.raw = head, raw

    def read(self, size: int = -1) -> bytes:
        if self.head:
            head, self.head = self.head[:size], self.head[size:]
            return head
        return self.raw.read(size)


class _Damaged(Exception):
    """Bytes behind the end of a stream that begin no other."""


class _Joined(io.RawIOBase):
    """Streams one behind the other, unpacked; Python's own readers drop what follows the first if
    it is damaged.

    Parameters
    ----------
    start : callable
        Gives a decompressor with decompress, eof and unused_data.
    packed : object
        With read.
    piece : int
        Bytes to take at a time.
    limited : bool
        Whether decompress takes the most bytes to give.
    magic, padding : bytes
        What a stream begins with; what may stand behind one.
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
        """The first bytes of the next stream; none at the end."""
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


def _gzip(path: str, packed: _Rejoined) -> Any:
    import gzip
    import zlib

    return gzip.GzipFile(fileobj=packed, mode="rb"), (gzip.BadGzipFile, zlib.error)


def _bzip2(path: str, packed: _Rejoined) -> Any:
    library = _part_of_python(path, "bzip2", "bz2", "bzcat")
    return _Joined(library.BZ2Decompressor, packed, b"BZh"), (_Damaged, OSError)


def _xz(path: str, packed: _Rejoined) -> Any:
    library = _part_of_python(path, "xz", "lzma", "xzcat")
    text = _Joined(library.LZMADecompressor, packed, b"\xfd7zXZ\x00", padding=b"\0")
    return text, (_Damaged, library.LZMAError)


def _part_of_python(path: str, packing: str, name: str, program: str) -> Any:
    """A library that a Python may have been built without."""
    try:
        return importlib.import_module(name)
    except ImportError:
        remedy = f"this Python was built without {name}; unpack it first, with {program}"
        raise _unread(path, packing, remedy) from None


def _zstd(path: str, packed: _Rejoined) -> Any:
    magic = b"\x28\xb5\x2f\xfd"
    for name in ("compression.zstd", "zstandard"):
        try:
            library = importlib.import_module(name)
        except ImportError:
            continue
        if name == "zstandard":
            start = library.ZstdDecompressor().decompressobj
            text = _Joined(start, packed, magic, piece=_ZSTD_PIECE, limited=False)
        else:
            text = _Joined(library.ZstdDecompressor, packed, magic)
        return text, (_Damaged, library.ZstdError)
    remedy = (
        "Python reads it from 3.14 on, or with the package zstandard; else unpack it first, with "
        "zstdcat"
    )
    raise _unread(path, "zstd", remedy)


def _unread(path: str, packing: str, remedy: str) -> DataError:
    return DataError(path, f"the data is {packing}, which cannot be read here: {remedy}")


_STREAMS: dict[str, Callable[[str, _Rejoined], Any]] = {
    "gzip": _gzip,
    "bzip2": _bzip2,
    "xz": _xz,
    "zstd": _zstd,
}
