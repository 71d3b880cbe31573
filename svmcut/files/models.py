# SPDX-License-Identifier: BSD-3-Clause
"""Model files in the layout of SVM-light V6.20, which svm_perf and svm_rank share.

Eleven header lines, then one line per support vector: ``alpha index:value index:value #``. A linear model is one such
line of weights with alpha 1. The threshold of line 11 is subtracted from scores.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np

from svmcut._native.text import ExpansionFault, format_pairs, parse_expansion
from svmcut.data import Csr
from svmcut.errors import MemoryLimitError, ModelError
from svmcut.files.output import write_atomically
from svmcut.kernels import KERNELS, Kernel
from svmcut.machine import available_memory
from svmcut.models import (
    ChainModel,
    KernelChainModel,
    KernelModel,
    LinearModel,
    Model,
    MultilabelModel,
    ScoringModel,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.files.output import Output

VERSION = "SVM-light Version V6.20"
CHAIN_VERSION = b"SVM-HMM Version V3.10"
KERNEL_CHAIN_VERSION = b"svmcut kernel chain model 1"
MULTILABEL_VERSION = b"svmcut multilabel model 1"
_INDEX_LIMIT = 2**31 - 1
_LINE_LIMIT = 1 << 16
_FLOAT = re.compile(rb"[ \t]*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?:#.*)?", re.DOTALL)
_INTEGER = re.compile(rb"[ \t]*([+-]?\d{1,20})\s*(?:#.*)?", re.DOTALL)
_COUNT = re.compile(rb"[ \t]*(\d{1,20})\s*(?:#.*)?", re.DOTALL)

_FAULTS = {
    "short": "the file ends before its last support vector; it was cut short",
    "unended": "the last line does not end in a newline; the file was cut short",
    "alpha": "no finite number; expected the weight alpha*y of a support vector",
    "pair": "neither index:value nor a comment; expected pairs such as 3:0.5",
    "index": "feature index outside 1 to the highest index of line 8",
    "order": "feature index does not follow the one before; indices must increase within a line",
    "value": "no finite number; expected a value that fits a float",
    "trailing": "more lines than line 10 announces",
}


def read_model(path: str) -> Model:
    """Read a model of svm_perf, svm_rank, svm_hmm, svm_light V6.20 or of this program.

    Parameters
    ----------
    path : str

    Returns
    -------
    LinearModel, KernelModel, ChainModel, KernelChainModel or MultilabelModel
        Values are rounded to float32, alpha is float64; the support vectors of a linear model are summed to weights.

    Raises
    ------
    ModelError
        With line and column: another version or kernel, a header line that is no number or out of range, a file cut
        short, more or fewer support vectors than announced, indices that do not increase, numbers that are not finite.

    Notes
    -----
    O(bytes) time and memory: no count of the header is believed before the file has shown the lines it announces.
    """
    try:
        with open(path, "rb") as file:
            first = file.readline(_LINE_LIMIT)
            if first.rstrip() == CHAIN_VERSION:
                from svmcut.files.chain_models import read_chain

                return read_chain(path, first, file)
            if first.rstrip() == KERNEL_CHAIN_VERSION:
                from svmcut.files.kernel_chain_models import read_kernel_chain

                return read_kernel_chain(path, first, file)
            if first.rstrip() == MULTILABEL_VERSION:
                from svmcut.files.multilabel_models import read_multilabel_model

                return read_multilabel_model(path, file)
            _check_version(path, first)
            return _read_svm_light(path, first, file)
    except OSError as error:
        raise ModelError(path, error.strerror or str(error)) from error


def write_model(path: str, model: Model) -> None:
    """Write a model so that it replaces the file of that name as a whole.

    Raises
    ------
    OutputError
        When the file cannot be written.
    ModelError
        When a number of the model is not finite in the precision of the file; nothing is written.
    """
    with write_atomically(path) as output:
        if isinstance(model, LinearModel):
            _write_linear(path, output, model)
        elif isinstance(model, ChainModel):
            from svmcut.files.chain_models import write_chain

            write_chain(path, output, model)
        elif isinstance(model, KernelChainModel):
            from svmcut.files.kernel_chain_models import write_kernel_chain

            write_kernel_chain(path, output, model)
        elif isinstance(model, MultilabelModel):
            from svmcut.files.multilabel_models import write_multilabel

            write_multilabel(path, output, model)
        else:
            _write_expansion(path, output, model)


class _Header(NamedTuple):
    kernel: Kernel
    highest: int
    documents: int
    lines: int
    b: float


def _check_version(path: str, line: bytes) -> None:
    if not line:
        raise ModelError(path, f"the file is empty; expected a model that starts with '{VERSION}'", 1, 1)
    version = line.rstrip().decode("ascii", "backslashreplace")[:60]
    if version != VERSION:
        raise ModelError(path, f"version '{version}' is not supported; expected '{VERSION}'", 1, 1)


def parse_lines(path: str, text: bytes, count: int, highest: int, line: int):
    """alpha, indptr, indices and values of the support vectors in the text that starts at that line.

    Raises
    ------
    ModelError
    """
    try:
        return parse_expansion(text, count, highest)
    except ExpansionFault as fault:
        before = text[: fault.where]
        place = line + before.count(b"\n"), fault.where - before.rfind(b"\n")
        raise ModelError(path, _FAULTS[fault.kind], *place) from None


def check_fits(path: str, numbers: int) -> None:
    """Refuses weights that do not fit: so many float64 of a model's own, whatever its file holds of them.

    Raises
    ------
    MemoryLimitError
    """
    need = 8e-6 * numbers
    available = available_memory() if need > 100 else None
    if available is not None and need > available:
        raise MemoryLimitError(f"{path}: its weights take {need:,.0f} MB, and {available:,.0f} MB are available")


def write_weights(output: Output, columns: NDArray[np.int32], weights: NDArray[np.float32]) -> None:
    """The line of a linear model: alpha 1 and its weights; columns from 0."""
    output.write(b"1 ")
    for start in range(0, len(columns), _LINE_LIMIT):
        piece = slice(start, start + _LINE_LIMIT)
        output.write(format_pairs(columns[piece], weights[piece]))
    output.write(b"#\n")


def _read_svm_light(path: str, first: bytes, file: BinaryIO) -> Model:
    header, start = _read_header(path, first, file)
    text = file.read()
    alpha, indptr, indices, values = parse_lines(path, text, header.lines, header.highest, 12)
    columns, d = None, int(indices.max()) + 1 if len(indices) else 0
    if d > 2 * (start + len(text)):
        columns, indices = np.unique(indices, return_inverse=True)
        indices, d = indices.astype(np.int32), len(columns)
    if not header.kernel.is_linear:
        support = Csr(values, indices, indptr, d, True)
        return KernelModel(header.kernel, support, alpha, header.b, columns, header.highest, header.documents)
    weights = values.astype(np.float64)
    if header.lines != 1 or alpha[0] != 1.0:
        with np.errstate(over="ignore"):
            weights *= np.repeat(alpha, np.diff(indptr))
    w = np.bincount(indices, weights=weights, minlength=d).astype(np.float64)  # of nothing it counts in int64
    if not np.isfinite(w).all():
        raise ModelError(path, "the support vectors add up to weights that are not finite")
    return LinearModel(w, header.b, columns, header.kernel, header.highest, header.documents)


class HeaderLines:
    """The lines of a header, read one value a line.

    Parameters
    ----------
    path : str
    first : bytes
        Line 1, read already.
    file : file
        Behind line 1.
    last : int
        Number of the last line.

    Raises
    ------
    ModelError
        When the file ends before, or a line is too long.
    """

    def __init__(self, path: str, first: bytes, file: BinaryIO, last: int):
        self.path, self._lines = path, [first]
        for number in range(2, last + 1):
            line = file.readline(_LINE_LIMIT)
            if not line.endswith(b"\n"):
                what = "is too long" if len(line) == _LINE_LIMIT else "ends in the header; it was cut short"
                raise ModelError(path, f"the file {what}", number, len(line) + 1)
            self._lines.append(line)

    @property
    def size(self) -> int:
        """Bytes of all lines."""
        return sum(map(len, self._lines))

    def _refuse(self, number: int, expected: str) -> ModelError:
        text = self._lines[number - 1].split(b"#")[0].strip().decode("ascii", "backslashreplace")[:40]
        return ModelError(self.path, f'"{text}" is refused; expected {expected}', number, 1)

    def real(self, number: int, name: str) -> float:
        """A finite number."""
        match = _FLOAT.fullmatch(self._lines[number - 1])
        value = float(match.group(1)) if match else np.inf
        if not np.isfinite(value):
            raise self._refuse(number, f"{name}, a finite number")
        return value

    def integer(self, number: int, name: str, least: int, most: int = _INDEX_LIMIT, sign: bool = False) -> int:
        """A whole number from least to most; with sign it may have one."""
        match = (_INTEGER if sign else _COUNT).fullmatch(self._lines[number - 1])
        value = int(match.group(1)) if match else None
        if value is None or not least <= value <= most:
            raise self._refuse(number, f"{name}, an integer from {least} to {most}")
        return value

    def kernel(self) -> Kernel:
        """Lines 2 to 7."""
        match = _COUNT.fullmatch(self._lines[1])
        number = int(match.group(1)) if match else len(KERNELS)
        if number >= len(KERNELS):
            shown = self._lines[1].split(b"#")[0].strip().decode("ascii", "backslashreplace")[:40]
            raise ModelError(self.path, f'kernel type "{shown}" is unknown; expected 0 (linear) to 3 (sigmoid)', 2, 1)
        return Kernel(
            KERNELS[number],
            self.integer(3, "the degree of a polynomial kernel", -_INDEX_LIMIT, sign=True),
            self.real(4, "the parameter g of a kernel"),
            self.real(5, "the parameter s of a kernel"),
            self.real(6, "the parameter r of a kernel"),
            self._lines[6].split(b"#")[0].rstrip(b"\r\n").decode("utf-8", "surrogateescape"),
        )


def _read_header(path: str, first: bytes, file: BinaryIO) -> tuple[_Header, int]:
    """Lines 2 to 11, and the number of bytes up to their end."""
    lines = HeaderLines(path, first, file, 11)
    header = _Header(
        lines.kernel(),
        lines.integer(8, "the highest feature index", 0),
        lines.integer(9, "the number of training documents", 0),
        lines.integer(10, "the number of support vectors plus 1", 1) - 1,
        lines.real(11, "the threshold b"),
    )
    return header, lines.size


def kernel_text(kernel: Kernel) -> str:
    """Lines 2 to 7."""
    return (
        f"{kernel.number} # kernel type\n"
        f"{kernel.degree} # kernel parameter -d \n"
        f"{kernel.gamma:.8g} # kernel parameter -g \n"
        f"{kernel.scale:.8g} # kernel parameter -s \n"
        f"{kernel.offset:.8g} # kernel parameter -r \n"
        f"{kernel.text}# kernel parameter -u \n"
    )


def _header_text(path: str, model: ScoringModel, highest: int, count: int) -> bytes:
    if not np.isfinite(model.b):
        raise ModelError(path, f"the threshold b is {model.b}; the model is not written")
    if model.highest_index is not None:
        highest = max(highest, min(model.highest_index, _INDEX_LIMIT))
    text = (
        f"{VERSION}\n"
        f"{kernel_text(model.kernel)}"
        f"{highest} # highest feature index \n"
        f"{min(model.n_documents, _INDEX_LIMIT)} # number of training documents \n"
        f"{count + 1} # number of support vectors plus 1 \n"
        f"{model.b:.8g} # threshold b, each following line is a SV (starting with alpha*y)\n"
    )
    return text.encode("utf-8", "surrogateescape")


def finite32(path: str, values: NDArray) -> NDArray[np.float32]:
    """Values as float32; ModelError where one is not finite."""
    with np.errstate(over="ignore"):
        rounded = np.ascontiguousarray(values, np.float32)
    if not np.isfinite(rounded).all():
        raise ModelError(path, "a weight is not finite in float32; the model is not written")
    return rounded


def _write_linear(path: str, output: Output, model: LinearModel) -> None:
    # Rounded before printing, so that reading and writing again gives the same text.
    weights = finite32(path, model.w)
    nonzero = np.flatnonzero(weights).astype(np.int32)
    columns = nonzero if model.columns is None else model.columns[nonzero]
    output.write(_header_text(path, model, int(columns[-1]) + 1 if len(columns) else 0, 1))
    write_weights(output, columns, weights[nonzero])


def _write_expansion(path: str, output: Output, model: KernelModel) -> None:
    support = model.support
    stored = slice(int(support.indptr[0]), int(support.indptr[-1]))
    values, columns = finite32(path, support.data[stored]), support.indices[stored]
    if model.columns is not None:
        columns = model.columns[columns]
    if not np.isfinite(model.alpha).all():
        raise ModelError(path, "a weight alpha is not finite; the model is not written")
    output.write(_header_text(path, model, int(columns.max()) + 1 if len(columns) else 0, support.n_rows))
    bounds = (support.indptr - support.indptr[0]).tolist()
    for i, alpha in enumerate(model.alpha.tolist()):
        row = slice(bounds[i], bounds[i + 1])
        output.write(b"%.32g " % alpha + format_pairs(columns[row], values[row]) + b"#\n")
