# SPDX-License-Identifier: BSD-3-Clause
"""The grammar that formats of model files share: header lines of one value, lines of weights, and
their refusals."""

from __future__ import annotations

import math

from svmcut._native.text import ExpansionFault, format_pairs, parse_expansion
from svmcut.base.errors import MemoryLimitError, ModelError
from svmcut.base.resources import describe_shortage
from svmcut.base.typing import TYPE_CHECKING, BinaryIO
from svmcut.models.kernels import Kernel
from svmcut.spec.catalog import KERNELS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from svmcut.files.output import Output

INDEX_LIMIT = 2**31 - 1
LINE_LIMIT = 1 << 16

FAULTS = {
    "short": "the file ends before its last support vector; it was cut short",
    "unended": "the last line does not end in a newline; the file was cut short",
    "alpha": "no finite number; expected the weight alpha*y of a support vector",
    "pair": "neither index:value nor a comment; expected pairs such as 3:0.5",
    "index": "feature index outside 1 to the highest index of line 8",
    "order": "feature index does not follow the one before; indices must increase within a line",
    "value": "no finite number; expected a value that fits a float",
    "trailing": "more lines than line 10 announces",
}


def _without_comment(line: bytes) -> bytes:
    """Part of a line before its comment."""
    return line.partition(b"#")[0].rstrip().lstrip(b" \t")


def _real(line: bytes) -> float:
    """A decimal number; nan if there is none."""
    text = _without_comment(line)
    try:
        return math.nan if text.translate(None, b"0123456789+-.eE") else float(text)
    except ValueError:
        return math.nan


def _integer(line: bytes, sign: bool = False) -> int | None:
    """A whole number of at most twenty digits."""
    text = _without_comment(line)
    figures = text[1:] if sign and text[:1] in (b"+", b"-") else text
    return int(text) if figures.isdigit() and len(figures) <= 20 else None


class HeaderLines:
    """The lines 1 to `last` of a header, with one value each. Line 1 was read already, and a line
    has at most `limit` bytes, -1 for any.

    Raises ModelError if the file ends earlier or a line is too long; so do the methods for a line
    that holds something else.
    """

    def __init__(self, path: str, first: bytes, file: BinaryIO, last: int, limit: int = LINE_LIMIT):
        self.path, self._lines = path, [first]
        for number in range(2, last + 1):
            line = file.readline(limit)
            if not line.endswith(b"\n"):
                what = (
                    "is too long" if len(line) == limit else "ends in the header; it was cut short"
                )
                raise ModelError(path, f"the file {what}", number, len(line) + 1)
            self._lines.append(line)
        #: Bytes of all lines.
        self.size = sum(map(len, self._lines))

    def text(self, number: int) -> bytes:
        """A line before its comment."""
        return self._lines[number - 1].split(b"#")[0].rstrip(b"\r\n")

    def _refuse(self, number: int, what: str, expected: str) -> ModelError:
        text = self.text(number).strip().decode("ascii", "backslashreplace")[:40]
        return ModelError(self.path, f'{what}"{text}" is {expected}', number, 1)

    def real(self, number: int, name: str) -> float:
        value = _real(self._lines[number - 1])
        if not math.isfinite(value):
            raise self._refuse(number, "", f"refused; expected {name}, a finite number")
        return value

    def integer(
        self, number: int, name: str, least: int, most: int = INDEX_LIMIT, sign: bool = False
    ) -> int:
        """A whole number from least to most; with `sign` it may have one."""
        value = _integer(self._lines[number - 1], sign)
        if value is None or not least <= value <= most:
            raise self._refuse(
                number, "", f"refused; expected {name}, an integer from {least} to {most}"
            )
        return value

    def kernel(self, at: int = 2) -> Kernel:
        """The kernel of the six lines from this one on."""
        kind = _integer(self._lines[at - 1])
        text = self.text(at + 5).decode("utf-8", "surrogateescape")
        row = next((row for row in KERNELS.values() if row.number == kind), None)
        if row is None or (row.given and text.strip() != row.name):
            raise self._refuse(at, "kernel type ", "unknown; expected 0 (linear) to 3 (sigmoid)")
        return Kernel(
            row.name,
            self.integer(at + 1, "the degree of a polynomial kernel", -INDEX_LIMIT, sign=True),
            self.real(at + 2, "the parameter g of a kernel"),
            self.real(at + 3, "the parameter s of a kernel"),
            self.real(at + 4, "the parameter r of a kernel"),
            text,
        )

    def vectors(self, text: bytes, count: int, highest: int, line: int | None = None):
        """alpha, indptr, indices and values of `count` support vectors, in the text that starts at
        that line; None is the line after the header. Raises ModelError."""
        line = len(self._lines) + 1 if line is None else line
        return vectors(self.path, text, count, highest, line)

    def check_fits(self, numbers: int) -> None:
        """Raises MemoryLimitError if so many float64 weights of the model exceed the memory,
        whatever the file holds of them."""
        need = 8e-6 * numbers
        if there := describe_shortage(need, least=100):
            raise MemoryLimitError(
                "{}: its weights take {:,.0f} MB, and {}", self.path, need, there
            )


def vectors(
    path: str, text: bytes, count: int, highest: int, line: int, faults: Mapping[str, str] = FAULTS
):
    """Support vectors as of HeaderLines.vectors; `faults` words the refusals."""
    try:
        return parse_expansion(text, count, highest)
    except ExpansionFault as fault:
        before = text[: fault.where]
        place = line + before.count(b"\n"), fault.where - before.rfind(b"\n")
        raise ModelError(path, faults[fault.kind], *place) from None


def products(alpha: NDArray, indptr: NDArray, values: NDArray) -> NDArray[np.float64]:
    """Every value times the alpha of its line; not finite on overflow."""
    import numpy as np

    weights = values.astype(np.float64)
    if len(alpha) != 1 or alpha[0] != 1.0:
        with np.errstate(over="ignore"):
            weights *= np.repeat(alpha, np.diff(indptr))
    return weights


def finite32(path: str, values: NDArray) -> NDArray[np.float32]:
    """Values as float32; ModelError if one is not finite."""
    import numpy as np

    with np.errstate(over="ignore"):
        rounded = np.ascontiguousarray(values, np.float32)
    if not np.isfinite(rounded).all():
        raise ModelError(path, "a weight is not finite in float32; the model is not written")
    return rounded


def head_of_vectors(path: str, b: float, highest: int, documents: int, count: int) -> str:
    """Lines after the kernel of a model in svm_light's layout: highest index, training documents,
    support vectors, threshold. Raises ModelError if the threshold is not finite."""
    if not math.isfinite(b):
        raise ModelError(path, f"the threshold b is {b}; the model is not written")
    return (
        f"{highest} # highest feature index \n"
        f"{min(documents, INDEX_LIMIT)} # number of training documents \n"
        f"{count + 1} # number of support vectors plus 1 \n"
        f"{b:.8g} # threshold b, each following line is a SV (starting with alpha*y)\n"
    )


def write_header(
    output: Output, first: bytes, kernel: Kernel, rest: str, original: bool = False
) -> None:
    """Writes line 1, the kernel in lines 2 to 7, and the rest; `original` gives its parameters
    eight digits."""
    gamma, scale, offset = (
        f"{value:.8g}" if original else short_text(value)
        for value in (kernel.gamma, kernel.scale, kernel.offset)
    )
    text = (
        f"{first.decode()}\n"
        f"{kernel.number} # kernel type\n"
        f"{kernel.degree} # kernel parameter -d \n"
        f"{gamma} # kernel parameter -g \n"
        f"{scale} # kernel parameter -s \n"
        f"{offset} # kernel parameter -r \n"
        f"{kernel.text}# kernel parameter -u \n"
        f"{rest}"
    )
    output.write(text.encode("utf-8", "surrogateescape"))


def number_text(value: float) -> str:
    """A number with all its digits."""
    return f"{value:.17g}"


def short_text(value: float) -> str:
    """A number in eight digits if these read back as it, else with all."""
    text = f"{value:.8g}"
    return text if float(text) == value else number_text(value)


def write_weights(
    output: Output, columns: NDArray[np.int32], weights: NDArray[np.float32], query: bytes = b""
) -> None:
    """Writes the line of a linear model: alpha 1, a query if given, and its weights; columns from
    0."""
    output.write(b"1 " + query)
    write_pairs(output, columns, weights)
    output.write(b"#\n")


def write_pairs(output: Output, columns: NDArray[np.int32], weights: NDArray[np.float32]) -> None:
    """Writes weights after their columns, which count from 0."""
    for start in range(0, len(columns), LINE_LIMIT):
        piece = slice(start, start + LINE_LIMIT)
        output.write(format_pairs(columns[piece], weights[piece]))
