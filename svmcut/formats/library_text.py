# SPDX-License-Identifier: BSD-3-Clause
"""Model files of LIBLINEAR and LIBSVM number by number: a header of names and words, then rows of
numbers. They are read as their own programs do, word by word, and written with their digits;
liblinear.py and libsvm.py convert them to models of svmcut, with the lines of a header checked one
by one."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from svmcut._native.strict import strict_rows
from svmcut.base.errors import ModelError, UsageError
from svmcut.base.messages import join_names
from svmcut.base.records import record
from svmcut.base.typing import Any, BinaryIO
from svmcut.data.labels import SIGNS, Labels
from svmcut.files.remote import open_file
from svmcut.formats.grammar import LINE_LIMIT

#: Solvers of LIBLINEAR, by the numbers of its -s.
LINEAR_SOLVERS = {
    0: "L2R_LR",
    1: "L2R_L2LOSS_SVC_DUAL",
    2: "L2R_L2LOSS_SVC",
    3: "L2R_L1LOSS_SVC_DUAL",
    4: "MCSVM_CS",
    5: "L1R_L2LOSS_SVC",
    6: "L1R_LR",
    7: "L2R_LR_DUAL",
    11: "L2R_L2LOSS_SVR",
    12: "L2R_L2LOSS_SVR_DUAL",
    13: "L2R_L1LOSS_SVR_DUAL",
    21: "ONECLASS_SVM",
}
#: Solvers of numbers, of log odds, with a column for each of two classes, and of one class.
REGRESSION, LOG_ODDS, JOINT, ONE_CLASS = (11, 12, 13), (0, 6, 7), 4, 21
LINEAR_NAMES = ("solver_type", "nr_class", "label", "nr_feature", "bias", "rho")
#: Types of LIBSVM, by the numbers of its -s and -t.
SVM_TYPES = ("c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr")
KERNEL_TYPES = ("linear", "polynomial", "rbf", "sigmoid", "precomputed")
C_SVC, NU_SVC, ONE_CLASS_SVM, EPSILON_SVR, NU_SVR = range(5)
LINEAR, POLYNOMIAL, RBF, SIGMOID, PRECOMPUTED = range(5)
KERNEL_NAMES = (
    "svm_type",
    "kernel_type",
    "degree",
    "gamma",
    "coef0",
    "nr_class",
    "total_sv",
    "rho",
    "label",
    "probA",
    "probB",
    "prob_density_marks",
    "nr_sv",
)
_MAX_INTEGER = 2**31 - 1
_BLOCK_ROWS = 4096


@record(eq=False)
class LinearText:
    """A model of LIBLINEAR."""

    #: A key of LINEAR_SOLVERS.
    solver: int
    #: Labels in the order of the columns; None for numbers and one class.
    labels: list[int] | None
    #: Value of the feature after the others; below 0 there is none.
    bias: float
    #: (features, or one more, columns)
    W: NDArray[np.float64]
    #: Threshold of one class, subtracted.
    rho: float = 0.0

    @property
    def features(self) -> int:
        """Number of features of the training file."""
        return len(self.W) - (self.bias >= 0)

    def lines(self) -> Iterator[bytes]:
        head = [f"solver_type {LINEAR_SOLVERS[self.solver]}"]
        head.append(f"nr_class {2 if self.labels is None else len(self.labels)}")
        if self.labels is not None:
            head.append(" ".join(["label", *map(str, self.labels)]))
        head += [f"nr_feature {self.features}", f"bias {self.bias:.17g}"]
        if self.solver == ONE_CLASS:
            head.append(f"rho {self.rho:.17g}")
        yield "\n".join([*head, "w", ""]).encode()
        line = "%.17g " * self.W.shape[1] + "\n"
        for start in range(0, len(self.W), _BLOCK_ROWS):
            part = self.W[start : start + _BLOCK_ROWS]
            yield (line * len(part) % tuple(part.ravel().tolist())).encode()


@record(eq=False)
class KernelText:
    """A model of LIBSVM."""

    #: Place in SVM_TYPES.
    svm: int
    #: Place in KERNEL_TYPES.
    kernel: int
    #: A number per pair of classes, (0, 1), (0, 2), .., (1, 2), ..; one without classes.
    rho: list[float]
    #: (m, classes - 1) coefficients of the support vectors; (m, 1) without classes.
    coefs: NDArray[np.float64]
    #: (m + 1,) bounds, (nnz,) indices as in the file, and (nnz,) values.
    rows: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]
    #: The classes.
    labels: list[int] | None = None
    #: Number of support vectors of each class.
    counts: list[int] | None = None
    #: probA and probB.
    sigmoids: tuple[list[float], list[float] | None] | None = None
    #: Marks of a one-class machine with probabilities.
    marks: list[float] | None = None
    #: Parameters of the kernels that have them.
    degree: int = 3
    gamma: float = 0.0
    coef0: float = 0.0
    #: Digits of the values of support vectors in a file.
    digits: int = 8

    def head(self) -> str:
        lines = [f"svm_type {SVM_TYPES[self.svm]}", f"kernel_type {KERNEL_TYPES[self.kernel]}"]
        if self.kernel == POLYNOMIAL:
            lines.append(f"degree {self.degree}")
        if self.kernel in (POLYNOMIAL, RBF, SIGMOID):
            lines.append(f"gamma {self.gamma:.17g}")
        if self.kernel in (POLYNOMIAL, SIGMOID):
            lines.append(f"coef0 {self.coef0:.17g}")
        lines.append(f"nr_class {2 if self.labels is None else len(self.labels)}")
        lines += [f"total_sv {len(self.coefs)}", _reals("rho", self.rho)]
        if self.labels is not None:
            lines.append(" ".join(["label", *map(str, self.labels)]))
        for name, values in zip(("probA", "probB"), self.sigmoids or ()):
            if values is not None:
                lines.append(_reals(name, values))
        if self.marks is not None:
            lines.append(_reals("prob_density_marks", self.marks))
        if self.counts is not None:
            lines.append(" ".join(["nr_sv", *map(str, self.counts)]))
        return "\n".join([*lines, "SV", ""])

    def lines(self) -> Iterator[bytes]:
        yield self.head().encode()
        indptr, indices, values = self.rows
        pair = "%d:%d " if self.kernel == PRECOMPUTED else f"%d:%.{self.digits}g "
        real = "%.17g " * self.coefs.shape[1]
        for start in range(0, len(self.coefs), _BLOCK_ROWS):
            stop = min(start + _BLOCK_ROWS, len(self.coefs))
            bounds = indptr[start : stop + 1]
            here = slice(bounds[0], bounds[-1])
            pairs: list[Any] = [None] * (2 * int(bounds[-1] - bounds[0]))
            pairs[::2], pairs[1::2] = indices[here].tolist(), values[here].tolist()
            ends, first = bounds.tolist(), int(bounds[0])
            parts = []
            for k, coefs in enumerate(self.coefs[start:stop].tolist()):
                own = pairs[2 * (ends[k] - first) : 2 * (ends[k + 1] - first)]
                parts.append(real % tuple(coefs) + pair * (len(own) // 2) % tuple(own) + "\n")
            yield "".join(parts).encode()


def _reals(name: str, values: list[float]) -> str:
    return " ".join([name, *(f"{value:.17g}" for value in values)])


class _Header:
    """Names and the words after each, up to the word that ends them."""

    def __init__(self, path: str, data: bytes, names: tuple[str, ...], end: str):
        self.path = path
        self._words: dict[str, list[str]] = {}
        match = re.search(rb"(?:^|\s)%s(?=\s|$)" % end.encode(), data)
        head = data[: match.start() if match else 1 << 16].decode("ascii", "backslashreplace")
        current: list[str] = []
        for number, word in enumerate(head.split()):
            if word in names:
                current = self._words[word] = []
            elif number == 0:
                raise ModelError(path, f"unknown text in model file: [{word[:40]}]")
            else:
                current.append(word)
        if match is None:
            raise ModelError(path, f"the model ends before its line '{end}'")
        self.body = data[match.end() :]

    def word(self, name: str, words: tuple[str, ...], what: str) -> int:
        """Place of the word after a name among these words."""
        given = self._words.get(name, [])
        if len(given) != 1 or given[0] not in words:
            raise ModelError(self.path, f"unknown {what}.")
        return words.index(given[0])

    def integers(self, name: str, count: int, least: int = 0) -> list[int]:
        """Whole numbers after a name, `count` of them."""
        try:
            values = [int(word) for word in self._words.get(name, [])]
        except ValueError:
            values = []
        if len(values) != count or not all(least <= value <= _MAX_INTEGER for value in values):
            raise ModelError(self.path, f"expected a line '{name}' with {_numbers_text(count)}")
        return values

    def reals(self, name: str, count: int) -> list[float]:
        """Numbers after a name, `count` of them."""
        try:
            values = [float(word) for word in self._words.get(name, [])]
        except ValueError:
            values = []
        if len(values) != count:
            raise ModelError(self.path, f"expected a line '{name}' with {_numbers_text(count)}")
        return values

    def __contains__(self, name: str) -> bool:
        return name in self._words


def _numbers_text(count: int) -> str:
    return "a number" if count == 1 else f"{count} numbers"


def _read_file(path: str) -> bytes:
    try:
        with open_file(path) as file:
            return file.read()
    except UsageError:
        raise
    except (OSError, ValueError) as error:
        raise ModelError(path, getattr(error, "strerror", None) or str(error)) from None


def read_linear(path: str) -> LinearText:
    """Reads a model of LIBLINEAR; raises ModelError for unknown names and words, and for missing
    numbers. Text after the last weight is ignored."""
    head = _Header(path, _read_file(path), LINEAR_NAMES, "w")
    names = tuple(LINEAR_SOLVERS.values())
    solver = list(LINEAR_SOLVERS)[head.word("solver_type", names, "solver type")]
    (classes,) = head.integers("nr_class", 1)
    labels = None
    if solver not in (*REGRESSION, ONE_CLASS):
        labels = head.integers("label", classes, -(2**31))
    (features,) = head.integers("nr_feature", 1)
    (bias,) = head.reals("bias", 1)
    (rho,) = head.reals("rho", 1) if solver == ONE_CLASS else (0.0,)
    columns = 1 if labels is None or (classes == 2 and solver != JOINT) else classes
    shape = features + (bias >= 0), columns
    W = _numbers(path, head.body, shape[0] * columns).reshape(shape)
    return LinearText(solver, labels, bias, W, rho)


def _numbers(path: str, text: bytes, count: int) -> NDArray[np.float64]:
    """The first `count` numbers of a text."""
    try:
        if count > 4 * len(text):
            raise ValueError
        words = text.split(None, count)[:count]
        values = np.array(words, np.float64) if words else np.zeros(0)
    except ValueError:
        raise ModelError(path, f"a weight is no number; expected {count} weights") from None
    if len(values) < count:
        raise ModelError(path, f"the model ends before the last of {count} weights")
    return values


def read_kernel(path: str) -> KernelText:
    """Reads a model of LIBSVM; raises as `read_linear`, also for more support vectors than its
    total_sv."""
    head = _Header(path, _read_file(path), KERNEL_NAMES, "SV")
    svm = head.word("svm_type", SVM_TYPES, "svm type")
    kernel = head.word("kernel_type", KERNEL_TYPES, "kernel function")
    (classes,), (total,) = head.integers("nr_class", 1), head.integers("total_sv", 1)
    known: dict[str, Any] = {}
    if kernel == POLYNOMIAL:
        (known["degree"],) = head.integers("degree", 1)
    if kernel in (POLYNOMIAL, RBF, SIGMOID):
        (known["gamma"],) = head.reals("gamma", 1)
    if kernel in (POLYNOMIAL, SIGMOID):
        (known["coef0"],) = head.reals("coef0", 1)
    pairs = classes * (classes - 1) // 2
    if svm in (C_SVC, NU_SVC):
        known["labels"] = head.integers("label", classes, -(2**31))
        known["counts"] = head.integers("nr_sv", classes)
        if sum(known["counts"]) != total:
            raise ModelError(path, f"the numbers of nr_sv do not add up to {total}, total_sv")
        if "probA" in head:
            known["sigmoids"] = head.reals("probA", pairs), head.reals("probB", pairs)
    else:
        classes, pairs = 2, 1
        if "probA" in head:
            known["sigmoids"] = head.reals("probA", 1), None
        if "prob_density_marks" in head:
            known["marks"] = head.reals("prob_density_marks", 10)
    rho = head.reals("rho", pairs)
    coefs, rows = _vectors(path, head.body, total, max(1, classes - 1))
    return KernelText(svm, kernel, rho, coefs, rows, **known)


def _vectors(path: str, text: bytes, total: int, columns: int) -> tuple[Any, Any]:
    """(total, columns) coefficients, and the rows after them."""
    body = text.lstrip(b" \t\r")
    body = body[1:] if body.startswith(b"\n") else body
    body = body.rstrip()
    if columns > 1:
        coefs, rest = [], []
        for line in body.splitlines():
            words = line.split(None, columns)
            coefs.append(words[:columns])
            rest.append(b"0 " + b"".join(words[columns:]))
        try:
            values = np.array(coefs, np.float64).reshape(-1, columns)
        except ValueError:
            raise ModelError(path, f"expected {columns} coefficients of a vector") from None
        body = b"\n".join(rest)
    labels, *rows, fault = strict_rows(body + b"\n" if body else b"", 0)
    if fault:
        raise ModelError(path, f"line {fault} behind SV is no support vector")
    if len(labels) != total:
        raise ModelError(path, f"{len(labels)} support vectors; total_sv announces {total}")
    return (values if columns > 1 else labels[:, None]), tuple(rows)


class NamedLines:
    """The lines of a header, up to that of the word `end`, with names in `known`; path, first and
    file as of HeaderLines.

    Raises ModelError for an unknown or repeated name, and if the file ends earlier; so do the
    methods for values that are missing or wrong.
    """

    def __init__(self, path: str, first: bytes, file: BinaryIO, end: str, known: Sequence[str]):
        #: Bytes of the header.
        #: Number of the line after the header.
        self.path, self.next, self.size = path, 1, 0
        self._values: dict[str, tuple[int, list[str]]] = {}
        line = first
        while True:
            self.size += len(line)
            name, *values = line.decode("ascii", "backslashreplace").split() or [""]
            if not line.endswith(b"\n"):
                raise ModelError(
                    path, f"the file ends before the line '{end}'; it was cut short", self.next
                )
            if name == end:
                self.next += 1
                return
            if name not in known or name in self._values:
                expected = f"{join_names(known, 'or')}, each once, and then {end}"
                message = f"line '{name[:40]}' is refused; expected {expected}"
                raise ModelError(path, message, self.next, 1)
            self._values[name] = self.next, values
            line = file.readline(LINE_LIMIT)
            self.next += 1

    def refuse(self, name: str, expected: str) -> ModelError:
        """Error for a wrong or missing line of a name."""
        number, values = self._values.get(name, (None, []))
        text = " ".join(values)[:40]
        fault = f"{name} '{text}' is refused" if number else f"there is no line '{name}'"
        return ModelError(self.path, f"{fault}; expected {expected}", number, 1 if number else None)

    def word(self, name: str, words: Sequence[str]) -> str:
        values = self._values.get(name, (0, []))[1]
        if len(values) != 1 or values[0] not in words:
            raise self.refuse(name, join_names(words, "or"))
        return values[0]

    def words(self, name: str) -> list[str]:
        """Words after a name; [] if it is missing."""
        return self._values.get(name, (0, []))[1]

    def integer(self, name: str, most: int) -> int:
        """A whole number from 0 to most."""
        values = self._values.get(name, (0, []))[1]
        if (
            len(values) != 1
            or not values[0].isdigit()
            or len(values[0]) > 20
            or int(values[0]) > most
        ):
            raise self.refuse(name, f"an integer from 0 to {most}")
        return int(values[0])

    def reals(self, name: str, count: int) -> list[float]:
        """Finite numbers after a name, `count` of them."""
        try:
            values = [float(value) for value in self._values[name][1]]
        except (KeyError, ValueError):
            values = []
        if len(values) != count or not all(map(math.isfinite, values)):
            raise self.refuse(name, "a finite number" if count == 1 else f"{count} finite numbers")
        return values

    def classes(self) -> list[float]:
        """Labels of the classes in the order of the file, two or more."""
        count = self.integer("nr_class", 2**31 - 1)
        if count < 2:
            raise self.refuse("nr_class", "two classes or more")
        names = self.reals("label", count)
        if len(set(names)) < count:
            raise self.refuse("label", "different labels")
        return names

    def __contains__(self, name: str) -> bool:
        return name in self._values


def two_labels(names: Sequence[float]) -> Labels | None:
    """Labels of a model of two classes, whose file has the positive one first."""
    positive, negative = names
    return None if (negative, positive) == SIGNS else (negative, positive)
