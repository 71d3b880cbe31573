# SPDX-License-Identifier: BSD-3-Clause
"""The last line of a model's file: a checksum of all bytes before it, with the certificate of these
numbers, and C of an example before it, if the model has one.

    #@ cost C
    #@ certificate GAP RADIUS BIAS [RADIUS ..] crc32 XXXXXXXX
    #@ crc32 XXXXXXXX

The checksum is the CRC-32 of all bytes before `` crc32``, so also of the certificate's numbers. A
file of arrays, which have their own checksum, has that of the lines after them only.
"""

from __future__ import annotations

import io
import math
import os
import zlib

from svmcut.base.errors import ModelError
from svmcut.base.typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple
from svmcut.formats.marks import certificate_words, certificates, number_text

if TYPE_CHECKING:
    from svmcut.files.output import Output

_START, _CERTIFICATE = b"#@ ", b"#@ certificate"
_COST, _MARK = b"#@ cost ", b" crc32 "
#: Bytes at the end of a file that hold a checksum.
_END_BYTES = 24
#: Warnings about a file that its checksum does not fit, and about one without checksum.
CHANGED = "the file was changed after svmcut wrote it, as its checksum does not fit"
CHANGED_CERTIFICATE = CHANGED + "; its certificate proves nothing"
EARLIER = (
    "the certificate in the file has no checksum, as those of earlier versions: it proves nothing; "
    "train the model again"
)


class ChecksumOutput:
    """An output that computes the checksum of the bytes written to it."""

    def __init__(self, output: Output):
        self._output, self.crc = output, 0

    def write(self, data: bytes | memoryview) -> None:
        self.crc = zlib.crc32(data, self.crc)
        self._output.write(data)

    def seal(self, certificate: tuple[float, ...] | None, cost: float | None) -> None:
        line = b"#@"
        if certificate is not None:
            if cost is not None:
                self.write(_COST + number_text(cost).encode() + b"\n")
            line = " ".join(["#@ certificate", *certificate_words(certificate)]).encode()
        self.write(line)
        self._output.write(f" crc32 {self.crc:08x}\n".encode())


class Seal(NamedTuple):
    """Content of the last lines."""

    #: Certificate of the model, if the checksum is right.
    certificate: tuple[float, ...] | None = None
    #: C of an example, of a certificate.
    cost: float | None = None
    #: Warning about a file that was changed; "" for none.
    caution: str = ""

    def apply(self, path: str, model: Any) -> tuple[Any, str]:
        """Returns a model that was read without the last line with its certificate, and a warning.
        Raises ModelError if it is no certificate of such a model."""
        from svmcut.base.records import replace

        if self.certificate is not None:
            if len(self.certificate) not in {3, 3 + model.n_radii}:
                given, most = len(self.certificate) - 3, model.n_radii
                message = f"'#@ certificate' has {given} radii; expected none, or {most}"
                raise ModelError(path, message)
            return replace(model, certificate=self.certificate, cost=self.cost), self.caution
        if getattr(model, "certificate", None) is None:
            return model, self.caution
        return replace(model, certificate=None), self.caution or EARLIER


def split_seal(path: str, first: bytes, file: BinaryIO, mapped: bool) -> tuple[BinaryIO, Seal]:
    """Rest of a file after its first line, without the last one, and the content of this; `mapped`
    as of svmcut.spec.entries.Format. Raises ModelError for a malformed certificate."""
    if not file.seekable():
        file = io.BytesIO(file.read())
    at = file.tell()
    end = file.seek(0, os.SEEK_END)
    file.seek(max(at, end - _END_BYTES))
    tail = file.read()
    file.seek(at)
    start = _first_line_after_arrays(file, at, end) if mapped else at
    if _checksum(tail[tail.rfind(_MARK) :] if _MARK in tail else b"") is None:
        return _split_unsealed(file, start, end)
    file.seek(start)
    text = file.read()
    line = text.rfind(b"\n", 0, -1) + 1
    expected = _checksum_of_line(text[line:])
    if expected is None:
        file.seek(at)
        return file, Seal()
    before = text[: text.rfind(_MARK)]
    plain = _unix_lines(first, before) if text.endswith(b"\r\n") else (first, before)
    known = zlib.crc32(plain[1], 0 if mapped else zlib.crc32(plain[0]))
    fits = known == expected
    body, cost = _split_cost(text[:line])
    last = before[line:]
    seal = Seal(_certificate_of(path, last), cost) if fits else _changed_seal(last)
    file.seek(at)
    return _replace_tail(file, start, body), seal


def _split_cost(text: bytes) -> tuple[bytes, float | None]:
    """The text without a last line of C, and C."""
    line = text.rfind(b"\n", 0, -1) + 1
    if not text.startswith(_COST, line):
        return text, None
    try:
        cost = float(text[line + len(_COST) :])
    except ValueError:
        return text, None
    return (text[:line], cost) if 0 <= cost < math.inf else (text, None)


def _checksum(end: bytes) -> int | None:
    """The number of `` crc32 XXXXXXXX`` and the end of a line; None for other bytes."""
    mark, digits = end[: len(_MARK)], end[len(_MARK) :].removesuffix(b"\n").removesuffix(b"\r")
    if mark != _MARK or len(digits) != 8 or not end.endswith(b"\n"):
        return None
    try:
        return int.from_bytes(bytes.fromhex(digits.decode("ascii")))
    except ValueError:
        return None


def _checksum_of_line(line: bytes) -> int | None:
    """Checksum in a last line; None for other lines."""
    head, mark, end = line.rpartition(_MARK)
    is_last = head == b"#@" or head.startswith(_CERTIFICATE + b" ")
    return _checksum(mark + end) if is_last else None


def _unix_lines(*texts: bytes) -> tuple[bytes, ...]:
    """Texts with the line ends of svmcut, whatever a copy made of them."""
    return tuple(text.replace(b"\r\n", b"\n") for text in texts)


def _first_line_after_arrays(file: BinaryIO, at: int, end: int) -> int:
    """Position of the lines after the arrays."""
    from svmcut.formats.mapped import bytes_ahead

    return min(end, at + (bytes_ahead(file) or 0))


def _split_unsealed(file: BinaryIO, start: int, end: int) -> tuple[BinaryIO, Seal]:
    """A file that does not end in a checksum; lines may have been added after it."""
    at = file.tell()
    file.seek(start)
    text = file.read() if end > start else b""
    file.seek(at)
    stop, rest = len(text), None
    while stop and text.endswith(b"\n", 0, stop):
        line = text.rfind(b"\n", 0, stop - 1) + 1
        if not text.startswith(_START, line, stop):
            break
        if _checksum_of_line(text[line:stop]) is not None:
            body = _split_cost(text[:line])[0]
            return _replace_tail(file, start, body + text[stop:]), _changed_seal(text[line:stop])
        if _split_cost(text[:stop])[1] is not None:  # of a seal that was deleted
            rest = text[:line] + text[stop:]
        stop = line
    return (file if rest is None else _replace_tail(file, start, rest)), Seal()


def _replace_tail(file: BinaryIO, start: int, text: bytes) -> BinaryIO:
    """The rest of a file with this text from a position on."""
    return io.BytesIO(file.read(start - file.tell()) + text)


def _changed_seal(line: bytes) -> Seal:
    """Seal of a file that its checksum does not fit."""
    changed = CHANGED_CERTIFICATE if line.startswith(_CERTIFICATE) else CHANGED
    return Seal(caution=changed)


def _certificate_of(path: str, line: bytes) -> tuple[float, ...] | None:
    """Certificate before a checksum that fits."""
    if not line.startswith(_CERTIFICATE):
        return None
    numbers = certificates(line[len(_CERTIFICATE) :].decode("ascii", "replace").split())
    if numbers is None:
        shown = line.decode("ascii", "backslashreplace")[:60]
        raise ModelError(path, f"line '{shown}' is refused; expected GAP RADIUS BIAS")
    return numbers
