# SPDX-License-Identifier: BSD-3-Clause
"""Scaling of example files with svm-scale's arithmetic, digits and range files; memory does not
grow with the number of rows."""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut._native.scaling import Measure, Scale
from svmcut.base.errors import DataError, OutputError
from svmcut.base.typing import BinaryIO, NamedTuple
from svmcut.files.output import write_atomically
from svmcut.files.text import ByteSource, Text, explain_memory_errors, feed_scanner, open_text

#: Size of the text buffer; it fits in the second-level cache.
BLOCK_BYTES = 1 << 18


class LabelRange(NamedTuple):
    """The limits for labels, and the lowest and highest label, which are mapped to them."""

    lower: float
    upper: float
    low: float
    high: float


class Ranges(NamedTuple):
    """A range file: the limits, and the lowest and highest value of every feature, which are mapped
    to them."""

    #: Lower and upper limit of features.
    limits: tuple[float, float]
    #: (k,) increasing indices as in the files, (k,) lowest and (k,) highest values. Other features
    #: are scaled to 0.
    features: tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]
    #: None if labels are not scaled.
    labels: LabelRange | None = None


class ScaleLimits(NamedTuple):
    """The limits for features and labels."""

    #: Limits for the lowest and highest value of each feature, which is 0 in rows without it.
    features: tuple[float, float]
    #: None leaves labels as they are.
    labels: tuple[float, float] | None = None


class ScaleCounts(NamedTuple):
    """Counts of a scaled file."""

    #: Features of all rows before and after scaling, and those at index 0.
    before: int
    after: int
    zeros: int
    #: Number of features without a range, and the first of them.
    missing: int
    first_missing: list[int]


def round_limit(value: float) -> float:
    """Round a limit to single precision, as svm-scale does."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def write_ranges(path: str, ranges: Ranges) -> None:
    """Write a range file as svm-scale's -s does; raise OutputError if that fails."""
    labels = ranges.labels
    head = "" if labels is None else "y\n{:.17g} {:.17g}\n{:.17g} {:.17g}\n".format(*labels)
    with write_atomically(path) as output:
        output.write((head + "x\n{:.17g} {:.17g}\n".format(*ranges.limits)).encode())
        for start in range(0, len(ranges.features[0]), 1 << 16):
            rows = zip(
                *(column[start : start + (1 << 16)].tolist() for column in ranges.features),
                strict=True,
            )
            output.write(
                "".join([f"{index} {low:.17g} {high:.17g}\n" for index, low, high in rows]).encode()
            )


def read_ranges(path: str, first: int = 1) -> Ranges:
    """Read a range file of svm-scale or of `write_ranges`; indices start at `first`.

    Raises DataError with the invalid line.
    """
    with open_text(path) as text:
        lines = text.rest().decode("ascii", "replace").rstrip().splitlines()
    place = 0

    def numbers(count: int, what: str) -> list[float]:
        nonlocal place
        place += 1
        line = lines[place - 1] if place <= len(lines) else ""
        try:
            values = list(map(float, line.split()))
        except ValueError:
            values = []
        if len(values) != count or "_" in line or not all(map(math.isfinite, values)):
            raise DataError(path, f"expected {what}", place)
        return values

    labels = None
    if lines and lines[0].strip() == "y":
        place = 1
        lower, upper = numbers(2, "LOWER UPPER, the limits of labels")
        low, high = numbers(2, "LOW HIGH, the lowest and the highest label")
        labels = LabelRange(lower, upper, low, high)
    place += 1
    if place > len(lines) or lines[place - 1].strip() != "x":
        raise DataError(
            path, "expected x; a range file is what svmcut scale or svm-scale saves", place
        )
    limits = numbers(2, "LOWER UPPER, the limits of features")
    head = place
    what = "INDEX LOW HIGH, a feature, its lowest and its highest value"
    table = np.fromiter((number for _ in lines[place:] for number in numbers(3, what)), np.float64)
    index, low_values, high_values = table.reshape(-1, 3).T.copy()
    whole = (index == np.floor(index)) & (index <= 2147483646)
    if len(wrong := np.flatnonzero(~whole | (np.diff(index, prepend=first - 1) <= 0))):
        message = (
            f"feature index {index[wrong[0]]:.10g}; expected whole numbers from {first} that "
            "increase"
        )
        raise DataError(path, message, head + 1 + int(wrong[0]))
    return Ranges((limits[0], limits[1]), (index.astype(np.int32), low_values, high_values), labels)


def scale_examples(
    path: str,
    limits: ScaleLimits,
    *,
    restored: tuple[str, Ranges] | None = None,
    save: str | None = None,
    target: str = "-",
    libsvm: bool = False,
) -> ScaleCounts:
    """Write scaled examples and return their counts.

    `path` is one of `read_examples`. `limits` apply to the ranges found in the file; constant
    features are left out. `restored` is the name and content of a range file, which replaces the
    limits, and those of labels if it has them. `save` is a range file to write; `target` is the
    file of the rows, ``-`` for standard output. With `libsvm`, index 0 is a feature that no range
    file names, comments are dropped, and a file without rows is no error.

    Memory is 32 bytes per feature, in pages of 256 indices, and the text of features whose zeros
    are not scaled to 0. The text of an input that is no named file is kept on disk, unless one pass
    is enough.

    Raises DataError if the file cannot be read, has no examples, changes meanwhile or has an
    invalid line, and for a range beyond double precision; OutputError if the temporary copy or the
    target cannot be written; MemoryLimitError.
    """
    ranges = restored[1] if restored else None
    twice = ranges is None or (limits.labels is not None and ranges.labels is None)
    with contextlib.ExitStack() as stack:
        spool: BinaryIO | None = None
        state = None
        if twice:
            measure = Measure(path, libsvm=libsvm)
            with open_text(path) as text, explain_memory_errors(measure, BLOCK_BYTES):
                state = text.state
                if path == "-" or state is None:
                    spool = stack.enter_context(_temporary_file())
                _run_pass(measure, text if spool is None else _SpoolingText(text, spool), libsvm)
                features = ranges.features if ranges else measure.features()
            labels = LabelRange(*limits.labels, *measure.labels) if limits.labels else None
            ranges = Ranges(ranges.limits if ranges else limits.features, features, labels)
            if restored is None:
                _check_widths(path, ranges)
        assert ranges is not None
        if save is not None:
            write_ranges(save, _without_zero(ranges))
        with write_atomically(target) as output:

            def write(data: bytes) -> None:
                try:
                    output.write(data)
                except (
                    BrokenPipeError
                ) as error:  # no failure of the input, as which it would be taken below
                    raise _ReaderGone(error) from None

            try:
                with _open_second_pass(path, spool) as text:
                    if twice and spool is None and text.state != state:
                        raise DataError(path, "the file changed between the two passes over it")
                    try:
                        how = ranges.limits, ranges.features, ranges.labels, twice
                        scale = Scale(path, write, *how, libsvm=libsvm)
                    except OverflowError as error:
                        named = restored[0] if restored else path
                        raise DataError(
                            named, f"the range of feature {error} is beyond double precision"
                        ) from None
                    with explain_memory_errors(scale, BLOCK_BYTES):
                        _run_pass(scale, text, libsvm)
            except _ReaderGone as gone:
                raise gone.args[0] from None
        return ScaleCounts(scale.entries, scale.written, scale.zeros, *scale.missing)


def _without_zero(ranges: Ranges) -> Ranges:
    skip = int(ranges.features[0][:1].tolist() == [0])
    indices, low, high = ranges.features
    return ranges._replace(features=(indices[skip:], low[skip:], high[skip:]))


class _ReaderGone(Exception):
    """The reader of the output has closed it."""


def _run_pass(one_pass: Measure | Scale, text: ByteSource, may_be_empty: bool) -> None:
    for _ in feed_scanner(one_pass, text, BLOCK_BYTES):
        pass
    if not (one_pass.rows or may_be_empty):
        raise DataError(one_pass.path, "no examples")


def _check_widths(path: str, ranges: Ranges) -> None:
    """Refuse ranges that double precision cannot scale."""
    name = None
    (lower, upper), (indices, low, high) = ranges.limits, ranges.features
    with np.errstate(over="ignore"):
        wide = np.flatnonzero(~np.isfinite((upper - lower) * (high - low)))
    if len(wide):
        name = f"feature {indices[wide[0]]} ranges from {low[wide[0]]:g} to {high[wide[0]]:g}"
    elif (labels := ranges.labels) and not math.isfinite(
        (labels.upper - labels.lower) * (labels.high - labels.low)
    ):
        name = f"labels range from {labels.low:g} to {labels.high:g}"
    if name:
        raise DataError(
            path, f"{name}, which is too wide for double precision; divide by 1000 first"
        )


@contextlib.contextmanager
def _temporary_file() -> Iterator[BinaryIO]:
    with _as_copy_error(), tempfile.TemporaryFile() as file:
        yield file


@contextlib.contextmanager
def _as_copy_error() -> Iterator[None]:
    """Turn failures of the temporary copy into OutputError."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            tempfile.gettempdir(),
            f"the input cannot be kept for the second pass: {error.strerror or error}; "
            "TMPDIR names another folder, and a file that is named is read twice",
        ) from None


class _SpoolingText:
    """A text that is copied to a file while it is read."""

    def __init__(self, text: ByteSource, spool: BinaryIO):
        self.text, self.spool = text, spool

    def bytes_left(self) -> int:
        return self.text.bytes_left()

    def readinto(self, view: memoryview) -> int:
        count = self.text.readinto(view)
        with _as_copy_error():
            self.spool.write(view[:count])
            if count == 0:
                self.spool.seek(0)
        return count


@contextlib.contextmanager
def _open_second_pass(path: str, spool: BinaryIO | None) -> Iterator[Text]:
    """Yield the text for the second pass, or for the only one."""
    if spool is not None:
        yield Text(path, spool)
        return
    with open_text(path) as text:
        yield text
