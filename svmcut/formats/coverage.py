# SPDX-License-Identifier: BSD-3-Clause
"""Lines of a model's promised coverage, behind those of a table and before the checksum.

    #@ coverage SHARE rows N k K score absolute|margin|probability limit Q
    #@ coverage SHARE class LABEL rows N k K score margin|probability limit Q

Of classes by themselves there is one line a class, in the model's order; see
svmcut.scoring.conformal.
"""

from __future__ import annotations

import io
import math
import os

from svmcut.base.errors import ModelError
from svmcut.base.messages import Message
from svmcut.base.records import replace
from svmcut.base.typing import Any, BinaryIO
from svmcut.data.labels import SIGNS, label_text
from svmcut.formats.grammar import number_text, short_text

_START = b"#@ coverage "
#: Bytes that hold the last line.
_TAIL = 256


def class_texts(model: Any) -> list[str]:
    """Labels of a model of classes as its lines have them."""
    names = getattr(model, "names", None)
    return [*map(label_text, (model.labels or SIGNS) if names is None else names.tolist())]


def format_coverage(model: Any) -> bytes:
    """The lines of a model; none without a coverage."""
    given = getattr(model, "coverage", None)
    if given is None:
        return b""
    labels = [f" class {text}" for text in class_texts(model)] if given.by_class else [""]
    return "".join(
        f"#@ coverage {short_text(given.share)}{label} rows {n} k {k} score {given.score} "
        f"limit {number_text(limit)}\n"
        for label, n, k, limit in zip(labels, given.rows, given.ranks, given.limits, strict=True)
    ).encode()


def split_coverage(file: BinaryIO) -> tuple[BinaryIO, list[str]]:
    """Rest of a file without the lines of a coverage, and these lines."""
    if not file.seekable():
        file = io.BytesIO(file.read())
    at = file.tell()
    end = file.seek(0, os.SEEK_END)
    file.seek(max(at, end - _TAIL))
    tail = file.read()
    file.seek(at)
    if not tail.removesuffix(b"\n").rpartition(b"\n")[2].startswith(_START):
        return file, []
    text, lines = file.read(), list[str]()
    stop = len(text)
    while stop:
        start = text.rfind(b"\n", 0, stop - 1) + 1
        if not text.startswith(_START, start):
            break
        lines.insert(0, text[start:stop].decode("ascii", "backslashreplace").strip())
        stop = start
    return io.BytesIO(text[:stop]), lines


def with_coverage(path: str, model: Any, lines: list[str]) -> Any:
    """The model with the coverage of these lines; raises ModelError if they are none of it."""
    from svmcut.scoring.conformal import ABSOLUTE, Coverage

    classes = [line.split()[3:5] for line in lines]
    by_class = any(words[:1] == ["class"] for words in classes)
    parsed = [_parse_line(path, line, by_class) for line in lines]
    shares, scores, rows, ranks, limits = zip(*parsed, strict=True)
    known = class_texts(model) if by_class and hasattr(model, "has_probabilities") else []
    alike = len({*shares}) == len({*scores}) == 1
    expected = [["class", text] for text in known] if by_class else [classes[0]]
    if not alike or classes != expected or (by_class and scores[0] == ABSOLUTE):
        raise ModelError(
            path,
            Message(
                "lines '#@ coverage' do not fit the model; expected one, or one a class in their "
                "order"
            ),
        )
    return replace(model, coverage=Coverage(shares[0], scores[0], rows, ranks, limits))


def _parse_line(path: str, line: str, by_class: bool) -> tuple[float, str, int, int, float]:
    """Share, score, rows, k and limit of a line."""
    from svmcut.scoring.conformal import SCORES, rank_of

    words = line.split()[2:]
    names, values = words[1::2], words[2::2]
    try:
        share, given = float(words[0]), dict(zip(names, values, strict=True))
        n, k, limit = int(given["rows"]), int(given["k"]), float(given["limit"])
        keys = [*(["class"] if by_class else []), "rows", "k", "score", "limit"]
        if names != keys or given["score"] not in SCORES or not 0 < share < 1 or n < 0:
            raise ValueError
        if k != rank_of(n, share) or math.isnan(limit) or (math.isinf(limit) != (k > n)):
            raise ValueError
    except (ValueError, KeyError, IndexError):
        message = "line '{}' is refused; expected SHARE rows N k K score NAME limit Q"
        raise ModelError(path, Message(message, line[:60])) from None
    return share, given["score"], n, k, limit
