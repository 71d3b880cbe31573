# SPDX-License-Identifier: BSD-3-Clause
"""Scaling of example files: svm-scale's arithmetic, digits and range files; memory does not grow
with the file."""

from __future__ import annotations

import contextlib
import math
import tempfile

import numpy as np

from svmcut._native.scaling import Measure, Scale
from svmcut.base.errors import DataError, OutputError
from svmcut.base.typing import TYPE_CHECKING, BinaryIO, NamedTuple
from svmcut.files.output import write_atomically
from svmcut.files.text import Bytes, Text, feed, memory_for, open_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

BLOCK_BYTES = 1 << 18
"""Text in flight; fits in the second-level cache."""


class Labels(NamedTuple):
    """Where the lowest and the highest label go, and these."""

    lower: float
    upper: float
    low: float
    high: float


class Ranges(NamedTuple):
    """A range file: where the lowest and the highest value of every feature go, and these.

    Attributes
    ----------
    limits : (float, float)
    features : tuple
        (k,) int32 indices as in the files, which increase, (k,) float64 lowest and (k,) float64
        highest values. Features that are not here are scaled to 0.
    labels : Labels or None
        None where labels stay as they are.
    """

    limits: tuple[float, float]
    features: tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]
    labels: Labels | None = None


class Limits(NamedTuple):
    """Where the lowest and the highest value of each feature go, a feature that a row leaves out
    being 0 there, and those of labels; None leaves labels as they are."""

    features: tuple[float, float]
    labels: tuple[float, float] | None = None


class Scaled(NamedTuple):
    """Counts of what was written: features of all rows before and after, those at index 0, features
    without a range and the first of them."""

    before: int
    after: int
    zeros: int
    missing: int
    first_missing: list[int]


def single(value: float) -> float:
    """The limit that svm-scale takes for a number: it is rounded to single precision."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def write_ranges(path: str, ranges: Ranges) -> None:
    """A range file as svm-scale's -s writes it.

    Raises
    ------
    OutputError
    """
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
    """A range file of svm-scale or of `write_ranges`; indices are from `first`.

    Raises
    ------
    DataError
        With the line that is not as it should be.
    """
    data, block = bytearray(), bytearray(BLOCK_BYTES)
    with open_text(path) as text:
        while count := text.readinto(memoryview(block)):
            data += block[:count]
    lines = data.decode("ascii", "replace").rstrip().splitlines()
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
        labels = Labels(lower, upper, low, high)
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
    limits: Limits,
    *,
    restored: tuple[str, Ranges] | None = None,
    save: str | None = None,
    target: str = "-",
    libsvm: bool = False,
) -> Scaled:
    """Write scaled examples.

    Parameters
    ----------
    path : str
        As of svmcut.files.examples.read_examples.
    limits : Limits
        What is the same in all rows is left out.
    restored : (str, Ranges), optional
        A range file and its content, which take the place of limits, and of those of labels where
        it has some.
    save : str, optional
        A range file to be written.
    target : str
        Of the rows; ``-`` is standard output.
    libsvm : bool
        Whether index 0 is a feature, which no range file names, comments are left out, and a file
        without rows is no error.

    Raises
    ------
    DataError
        The file cannot be read, has no examples or changes meanwhile, a line is not as it should
        be, or the scale of a number is beyond doubles.
    OutputError
        Neither the temporary copy of what cannot be read twice nor the target can be written.
    MemoryLimitError

    Notes
    -----
    Memory: 32 bytes a feature, in pages of 256 indices, and the text of features whose zeros are
    scaled to something else. Disk: the text of what is no named file, unless one pass will do.
    """
    ranges = restored[1] if restored else None
    twice = ranges is None or (limits.labels is not None and ranges.labels is None)
    with contextlib.ExitStack() as stack:
        spool: BinaryIO | None = None
        state = None
        if twice:
            measure = Measure(path, libsvm=libsvm)
            with open_text(path) as text, memory_for(measure, BLOCK_BYTES):
                state = text.state
                if path == "-" or state is None:
                    spool = stack.enter_context(_temporary())
                _run(measure, text if spool is None else _Spooled(text, spool), libsvm)
                features = ranges.features if ranges else measure.features()
            labels = Labels(*limits.labels, *measure.labels) if limits.labels else None
            ranges = Ranges(ranges.limits if ranges else limits.features, features, labels)
            if restored is None:
                _check_widths(path, ranges)
        assert ranges is not None
        if save is not None:
            write_ranges(save, _from_one(ranges))
        with write_atomically(target) as output:

            def write(data: bytes) -> None:
                try:
                    output.write(data)
                except (
                    BrokenPipeError
                ) as error:  # no failure of the input, as which it would be taken below
                    raise _Gone(error) from None

            try:
                with _again(path, spool) as text:
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
                    with memory_for(scale, BLOCK_BYTES):
                        _run(scale, text, libsvm)
            except _Gone as gone:
                raise gone.args[0] from None
        return Scaled(scale.entries, scale.written, scale.zeros, *scale.missing)


def _from_one(ranges: Ranges) -> Ranges:
    """Ranges without that of index 0."""
    skip = int(ranges.features[0][:1].tolist() == [0])
    indices, low, high = ranges.features
    return ranges._replace(features=(indices[skip:], low[skip:], high[skip:]))


class _Gone(Exception):
    """The reader of the output is gone."""


def _run(one_pass: Measure | Scale, text: Bytes, may_be_empty: bool) -> None:
    for _ in feed(one_pass, text, BLOCK_BYTES):
        pass
    if not (one_pass.rows or may_be_empty):
        raise DataError(one_pass.path, "no examples")


def _check_widths(path: str, ranges: Ranges) -> None:
    """Refuses what the arithmetic of doubles cannot scale."""
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
def _temporary() -> Iterator[BinaryIO]:
    with _keeping(), tempfile.TemporaryFile() as file:
        yield file


@contextlib.contextmanager
def _keeping() -> Iterator[None]:
    """Failures of the temporary copy."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            tempfile.gettempdir(),
            f"the input cannot be kept for the second pass: {error.strerror or error}; "
            "TMPDIR names another folder, and a file that is named is read twice",
        ) from None


class _Spooled:
    """Text that is kept as it is read."""

    def __init__(self, text: Bytes, spool: BinaryIO):
        self.text, self.spool = text, spool

    def bytes_left(self) -> int:
        return self.text.bytes_left()

    def readinto(self, view: memoryview) -> int:
        count = self.text.readinto(view)
        with _keeping():
            self.spool.write(view[:count])
            if count == 0:
                self.spool.seek(0)
        return count


@contextlib.contextmanager
def _again(path: str, spool: BinaryIO | None) -> Iterator[Text]:
    """The text for the second pass, or the only one."""
    if spool is not None:
        yield Text(path, spool)
        return
    with open_text(path) as text:
        yield text
