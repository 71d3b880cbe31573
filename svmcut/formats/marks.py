# SPDX-License-Identifier: BSD-3-Clause
"""Lines ``#@ NAME VALUE`` after the last support vector, with parts of a model that the originals
do not know; and the encoding of a table after the lines of any format, see `svmcut.tables.lines`.

The originals read only as many support vectors as announced, so they still read such a model.
"""

from __future__ import annotations

import functools
import io
import itertools
import math
import os
from collections.abc import Callable

from svmcut.base.errors import ModelError
from svmcut.base.messages import Message
from svmcut.base.records import replace
from svmcut.base.typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple
from svmcut.data.labels import REST, label_text
from svmcut.formats.grammar import number_text, short_text
from svmcut.spec.catalog import TASKS, losses

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from svmcut.files.output import Output
    from svmcut.models import ClassModel, ScoringModel
    from svmcut.tables.encoding import Encoding


_START = b"#@ "


class MarkReaders(NamedTuple):
    """Marks of a format: for every name a function of its words, which gives None if they are
    wrong; and the text that messages expect."""

    readers: dict[str, Callable[[list[str]], Any]]
    expected: str


def text_of(model: ScoringModel) -> bytes:
    """Lines of a model; none for the labels -1 and 1 and the error rate."""
    words = {} if model.labels is None else {"labels": [*map(label_text, model.labels)]}
    words |= {} if model.loss is None else {"loss": [model.loss]}
    if model.parameter is not None:
        words["parameter"] = [*map(short_text, model.parameter)]
    if model.threshold is not None:
        words["threshold"] = [short_text(model.threshold)]
    if model.sigma is not None:
        words["sigma"] = [number_text(model.sigma)]
    if model.multipliers is not None:
        words["multipliers"] = _multiplier_words(*model.multipliers)
    return lines_of(
        words if model.sigmoid is None else {**words, "sigmoid": [*map(number_text, model.sigmoid)]}
    )


def text_of_classes(model: ClassModel, **first: list[str]) -> bytes:
    """The marks in `first`, and the lines of a model of classes; classes 1 to K need no names.
    Raises ModelError for labels in an order that no reader accepts, as foreign models may have."""
    if any(high <= low for low, high in itertools.pairwise(model.names.tolist())):
        message = "its labels {} do not rise, as in svmcut's files; train it with svmcut learn"
        shown = ", ".join(map(label_text, model.names.tolist()[:5]))
        raise ModelError("the model", Message(message, shown))
    words = (
        first
        if model.names.tolist() == [*range(1, len(model.names) + 1)]
        else {**first, "labels": [*map(label_text, model.names.tolist())]}
    )
    words |= (
        {}
        if model.loss is None or losses("multiclass")[model.loss].number
        else {"loss": [model.loss]}
    )
    if (sigmoids := getattr(model, "sigmoids", None)) is not None:
        words["sigmoid"] = [number_text(value) for fitted in sigmoids for value in fitted]
    return lines_of(
        words
        if model.temperature is None
        else {**words, "temperature": [number_text(model.temperature)]}
    )


def split_certificate(
    text: bytes, read: Callable[[list[str]], tuple[float, ...] | None] | None = None
) -> tuple[bytes, Any]:
    """The text without a last line of a certificate of earlier versions, and this certificate."""
    place = text.rfind(b"\n", 0, -1) + 1
    words = text[place:].decode("ascii", "replace").split()
    if not text.endswith(b"\n") or words[:2] != ["#@", "certificate"]:
        return text, None
    certificate = (read or _certificate)(words[2:])
    return (text, None) if certificate is None else (text[:place], certificate)


def certificate_words(certificate: tuple[float, ...]) -> list[str]:
    """Numbers of a certificate in its line."""
    return [*map(number_text, certificate[:3]), *map(short_text, certificate[3:])]


def _multiplier_words(C: float, keys: NDArray, parts: NDArray) -> list[str]:
    import numpy as np

    pairs = zip(keys.view(np.uint64).tolist(), parts.tolist(), strict=True)
    return [number_text(C), *(f"{key:x}:{short_text(part)}" for key, part in pairs)]


def _multipliers(words: list[str]) -> tuple[float, NDArray, NDArray] | None:
    import numpy as np

    try:
        pairs = [word.split(":") for word in words[1:]]
        keys = np.array([int(key, 16) for key, _ in pairs], np.uint64).view(np.int64)
        C, *parts = _numbers([words[0], *(part for _, part in pairs)])
    except (ValueError, IndexError, OverflowError):
        return None
    return (C, keys, np.array(parts)) if min([C, *parts]) >= 0 else None


def certificate_of(path: str, known: dict[str, Any], M: int) -> tuple[float, ...] | None:
    """Certificate among the fields of a model of M machines; raises ModelError if it has another
    number of radii."""
    certificate = known.get("certificate")
    if certificate is not None and len(certificate) not in (3, 3 + M):
        given = len(certificate) - 3
        raise ModelError(path, f"'#@ certificate' has {given} radii; expected none, or {M}")
    return certificate


def names_of(path: str, known: dict[str, Any], K: int, line: int) -> NDArray[np.float64]:
    """(K,) names of classes, among the fields of a model whose line announces K; raises ModelError
    for another number."""
    import numpy as np

    names = np.asarray(known.get("labels", np.arange(1.0, K + 1)), np.float64)
    if len(names) != K:
        raise ModelError(
            path, f"'#@ labels' names {len(names)} classes; expected {K}, as in line {line}"
        )
    return names


def lines_of(marks: dict[str, list[str]]) -> bytes:
    """Marks of these names and words."""
    return b"".join(
        _START + f"{name} {' '.join(words)}\n".encode() for name, words in marks.items()
    )


def split(
    path: str, text: bytes, line: int, known: MarkReaders | None = None
) -> tuple[bytes, dict[str, Any]]:
    """The text without its marks, the last lines, and the fields of a model that they name; the
    text starts at that line of the file. Raises ModelError if a mark is unknown, repeated or has no
    value of its kind."""
    readers, expected = known or OF_SCORES
    end, lines = len(text), []
    while end and text.endswith(b"\n", 0, end):
        start = text.rfind(b"\n", 0, end - 1) + 1
        if not text.startswith(_START, start, end):
            break
        lines.append(text[start:end])
        end = start
    values: dict[str, Any] = {}
    for number, mark in enumerate(reversed(lines), line + text.count(b"\n", 0, end)):
        name, *words = mark[len(_START) :].decode("ascii", "backslashreplace").split() or [""]
        value = readers[name](words) if name in readers else None
        if value is None or name in values:
            shown = mark.decode("ascii", "backslashreplace").strip()[:60]
            raise ModelError(
                path, f"line '{shown}' is refused; expected {expected}, each once", number, 1
            )
        values[name] = value
    return text[:end], values


def _labels(words: list[str]) -> tuple[float | None, float] | None:
    try:
        negative, positive = words
        labels = None if negative == REST else float(negative), float(positive)
    except ValueError:
        return None
    finite = all(math.isfinite(label) for label in labels if label is not None)
    return labels if finite and labels[0] != labels[1] else None


def _loss_of(kind: str) -> Callable[[list[str]], str | None]:
    known = {name for row in TASKS.values() if kind in row.models for name in losses(row.name)}
    return lambda words: words[0] if len(words) == 1 and words[0] in known else None


def _classes(words: list[str]) -> list[float] | None:
    names = _numbers(words)
    return names if names and all(low < high for low, high in itertools.pairwise(names)) else None


def _numbers(words: list[str]) -> list[float]:
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        return []
    return numbers if all(map(math.isfinite, numbers)) else []


def _number(words: list[str], least: float = -math.inf) -> float | None:
    numbers = _numbers(words)
    return numbers[0] if len(numbers) == 1 and numbers[0] >= least else None


def _parameter(words: list[str]) -> tuple[float, ...] | None:
    numbers = _numbers(words)
    return tuple(numbers) if len(numbers) in (1, 2) and min(numbers) >= 0 else None


def certificates(words: list[str]) -> tuple[float, ...] | None:
    """Certificate of a model of several machines, which may have one radius each."""
    numbers = _numbers(words)
    return tuple(numbers) if len(numbers) >= 3 and min(numbers[:2] + numbers[3:]) >= 0 else None


def _certificate(words: list[str]) -> tuple[float, ...] | None:
    return certificates(words) if len(words) == 3 else None


def _sigmoid(words: list[str]) -> tuple[float, float] | None:
    numbers = _numbers(words)
    return (numbers[0], numbers[1]) if len(numbers) == 2 else None


def _sigmoids(words: list[str]) -> tuple[tuple[float, float], ...] | None:
    pairs = _numbers(words)
    return (
        tuple(zip(pairs[::2], pairs[1::2], strict=True)) if pairs and len(pairs) % 2 == 0 else None
    )


_temperature = functools.partial(_number, least=0)
OF_SCORES = MarkReaders(
    {
        "labels": _labels,
        "loss": _loss_of("LinearModel"),
        "parameter": _parameter,
        "threshold": _number,
        "sigma": _temperature,
        "certificate": _certificate,
        "multipliers": _multipliers,
        "sigmoid": _sigmoid,
    },
    "'#@ labels NEGATIVE POSITIVE', '#@ loss NAME', '#@ parameter NUMBER ..', '#@ threshold T', "
    "'#@ sigma S', '#@ certificate GAP RADIUS BIAS', '#@ multipliers C KEY:PART ..' or "
    "'#@ sigmoid A B'",
)
OF_CLASSES = MarkReaders(
    {
        "labels": _classes,
        "bias": lambda words: _number(words) or None,
        "loss": _loss_of("MulticlassModel"),
        "temperature": _temperature,
        "certificate": certificates,
    },
    "'#@ labels L1 L2 ..', which rise, '#@ bias NUMBER', '#@ loss NAME', '#@ temperature T' or "
    "'#@ certificate GAP RADIUS BIAS ..'",
)
OF_FUNCTIONS = MarkReaders(
    {"labels": _classes, "temperature": _temperature, "certificate": certificates},
    "'#@ labels L1 L2 ..', which rise, '#@ temperature T' or '#@ certificate GAP RADIUS BIAS'",
)
OF_MACHINES = MarkReaders(
    {
        "labels": _classes,
        "loss": _loss_of("KernelMulticlassModel"),
        "sigmoid": _sigmoids,
        "temperature": _temperature,
        "certificate": certificates,
    },
    "'#@ labels L1 L2 ..', which rise, '#@ loss NAME', '#@ sigmoid A B ..', '#@ temperature T' or "
    "'#@ certificate GAP RADIUS BIAS ..'",
)


#: Bytes that hold the last line, which counts the lines of the table.
_TAIL = 64
_END = b"#@ table "


def write_table(output: Output, model: Any) -> None:
    """Writes the lines of a model's table, if it has one."""
    if getattr(model, "table", None) is not None:
        from svmcut.tables.lines import format_lines

        output.write(format_lines(model.table))


def with_table(path: str, model: Any, table: Encoding) -> Any:
    """The model of these lines; raises ModelError if they name fewer features or labels than it
    has."""
    width = model.least_columns
    if table.columns and width > table.n_features:
        message = "has weights of {} features, and the columns of its table make {}"
        raise ModelError(path, Message(message, width, table.n_features))
    labels = getattr(model, "names", None)
    if labels is None:
        labels = getattr(model, "labels", None) or ()
    known = range(1, len(table.words) + 1)
    if table.words and (more := [k for k in labels if k is not None and k not in known]):
        message = "has no line '#@ label {}', and predicts that label"
        raise ModelError(path, Message(message, label_text(float(more[0]))))
    return replace(model, table=table)


def split_table(
    path: str, file: BinaryIO, mapped: bool = False
) -> tuple[BinaryIO, Encoding | None]:
    """Rest of a file without the lines of a table, and the encoding in these; `mapped` as of
    svmcut.spec.entries.Format. Raises ModelError with the line for a wrong one."""
    if not file.seekable():
        file = io.BytesIO(file.read())
    at = file.tell()
    file.seek(0, os.SEEK_END)
    file.seek(max(at, file.tell() - _TAIL))
    tail = file.read()
    file.seek(at)
    if _END not in tail:
        return file, None
    from svmcut.tables.lines import count_lines_at_end, parse_lines

    count = count_lines_at_end(tail)
    if not count:
        return file, None
    if mapped:
        from svmcut.formats.mapped import bytes_ahead

        if (ahead := bytes_ahead(file)) is None:
            return file, None
        file.seek(at + ahead)
        text = file.read()
        file.seek(at)
        return file, parse_lines(path, text, 3) if text.count(b"\n") == count else None
    text = file.read()
    end = len(text)
    for _ in range(count):
        if not end:
            message = "the last line counts more lines of a table than there are; the file was cut"
            raise ModelError(path, message, 1 + text.count(b"\n"), 1)
        end = text.rfind(b"\n", 0, end - 1) + 1
    line = 2 + text.count(b"\n", 0, end)
    return io.BytesIO(text[:end]), parse_lines(path, text[end:], line)
