# SPDX-License-Identifier: BSD-3-Clause
"""What the originals do not know of a model: lines ``#@ NAME VALUE`` after the last support vector.

The originals read no further than the number of support vectors they were told, so such a model stays theirs too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from svmcut.catalog import TASKS, losses
from svmcut.classes import REST, label_text
from svmcut.errors import ModelError

if TYPE_CHECKING:
    from svmcut.models import ScoringModel

_START = b"#@ "


def text_of(model: ScoringModel) -> bytes:
    """The lines of a model; of what is -1 and 1, and trained for the error rate, there are none."""
    lines = [] if model.labels is None else [f"labels {' '.join(map(label_text, model.labels))}"]
    lines += [] if model.loss is None else [f"loss {model.loss}"]
    return b"".join(_START + line.encode() + b"\n" for line in lines)


def split(path: str, text: bytes, line: int) -> tuple[bytes, dict[str, Any]]:
    """The text without its last lines, where they are marks, and fields of a model that these name.

    Raises
    ------
    ModelError
        When a mark is unknown, stands twice or has no value of its kind; the text starts at that line of the file.
    """
    end, lines = len(text), []
    while end and text.endswith(b"\n", 0, end):
        start = text.rfind(b"\n", 0, end - 1) + 1
        if not text.startswith(_START, start, end):
            break
        lines.append(text[start:end])
        end = start
    found: dict[str, Any] = {}
    for number, mark in enumerate(reversed(lines), line + text.count(b"\n", 0, end)):
        name, *words = mark[len(_START) :].decode("ascii", "backslashreplace").split() or [""]
        value = _READERS[name](words) if name in _READERS else None
        if value is None or name in found:
            shown = mark.decode("ascii", "backslashreplace").strip()[:60]
            raise ModelError(path, f"line '{shown}' is refused; expected {_EXPECTED}, each once", number, 1)
        found[name] = value
    return text[:end], found


_EXPECTED = "'#@ labels NEGATIVE POSITIVE' or '#@ loss NAME'"


def _labels(words: list[str]) -> tuple[float | None, float] | None:
    try:
        negative, positive = words
        found = None if negative == REST else float(negative), float(positive)
    except ValueError:
        return None
    finite = all(math.isfinite(label) for label in found if label is not None)
    return found if finite and found[0] != found[1] else None


_LOSSES = {name for row in TASKS.values() if "LinearModel" in row.models for name in losses(row.name)}


def _loss(words: list[str]) -> str | None:
    return words[0] if len(words) == 1 and words[0] in _LOSSES else None


_READERS: dict[str, Any] = {"labels": _labels, "loss": _loss}
