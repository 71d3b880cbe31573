# SPDX-License-Identifier: BSD-3-Clause
"""Names of tags and features after the last line of a model of sequences: ``#@ tag N NAME``, ``#@
attribute N NAME``.

If features come from columns, ``#@ template N LINE`` follows for every line of the template and
``#@ columns N``, with that of the tag; hashed features have no attributes, but ``#@ hash-bits N``
before the last of these lines. The last line may be ``#@ temperature T``. Numbers are those of the
file, from 1; a name is the rest of its line, in UTF-8, and may hold anything but a newline.
"""

from __future__ import annotations

import math
from collections import Counter

from svmcut.base.errors import ModelError
from svmcut.data.examples import Names
from svmcut.files.output import Output

_START = b"#@ "


def write_names(
    path: str,
    output: Output,
    names: Names | None,
    tags: int,
    features: int,
    temperature: float | None = None,
) -> None:
    """Writes the lines of so many tags and features, none without names, and of the temperature of
    probabilities. Raises ModelError for a name with a newline."""
    last = b"" if temperature is None else b"#@ temperature %.17g\n" % temperature
    if names is None:
        output.write(last)
        return
    kinds = {"tag": names.tags[:tags], "attribute": names.attributes[:features]}
    for kind, of_kind in (kinds | {"template": names.template}).items():
        lines = [f"#@ {kind} {number} {name}\n" for number, name in enumerate(of_kind, 1)]
        text = "".join(lines)
        if text.count("\n") > len(lines):
            bad = next(name for name in of_kind if "\n" in name)
            what = f"{kind} {bad!r} has a newline"
            raise ModelError(path, f"{what}, which no line holds; the model is not written")
        output.write(text.encode("utf-8", "surrogateescape"))
    if names.hash_bits:
        output.write(b"#@ hash-bits %d\n" % names.hash_bits)
    if names.columns:
        output.write(b"#@ columns %d\n" % names.columns)
    output.write(last)


def split(
    path: str, text: bytes, line: int, tags: int, features: int
) -> tuple[bytes, Names | None, float | None]:
    """The text, which starts at that line of the file, without its names; the names; and the
    temperature of probabilities. Raises ModelError for other lines, names that are not numbered 1,
    2, 3, ..., tags first, a repeated name, and a missing one of a tag or feature."""
    end = 0 if text.startswith(_START) else text.find(b"\n" + _START) + 1
    if not end and not text.startswith(_START):
        return text, None, None
    line += text.count(b"\n", 0, end)
    lines = text[end:].split(b"\n")
    if lines.pop():
        raise ModelError(
            path,
            "the last line does not end in a newline; the file was cut short",
            line + len(lines),
            1,
        )
    temperature = _temperature(lines[-1])
    if temperature is not None:
        lines.pop()
    if not lines:
        return text[:end], None, temperature
    by_kind: list[list[str]] = []
    columns = _number_of(b"columns", lines[-1])
    bits = _number_of(b"hash-bits", lines[-2]) if columns and len(lines) > 1 else 0
    if bits:
        del lines[-2]
        if bits > 30 or features > 1 << bits:
            raise ModelError(path, f"{features} features are not hashes of {bits} bits", line)
        features = 0
    template = len(lines) - 1 - tags - features if columns else 0
    for kind, count in (("tag", tags), ("attribute", features), ("template", template)):
        own, lines = lines[:count], lines[count:]
        names = []
        for number, text_of in enumerate(own, 1):
            head = b"#@ %s %d " % (kind.encode(), number)
            if not text_of.startswith(head):
                raise _refusal(path, text_of, f"'{head.decode()}NAME'", line)
            names.append(text_of[len(head) :].decode("utf-8", "surrogateescape"))
            line += 1
        if len(own) < count:
            raise ModelError(
                path, f"the file names {len(own)} of {count} {kind}s; it was cut short", line
            )
        if len(set(names)) < count and kind != "template":
            twice = Counter(names).most_common(1)[0][0]
            raise ModelError(path, f"{kind} {twice!r} stands twice; expected each once", line - 1)
        by_kind.append(names)
    if lines[bool(columns) :]:
        raise _refusal(path, lines[0], "nothing behind the last attribute", line)
    tags_of, attributes, texts = by_kind
    kept = Names(tuple(tags_of), tuple(attributes), tuple(texts), columns, bits)
    return text[:end], kept, temperature


def _temperature(line: bytes) -> float | None:
    """Temperature in a line; None for other lines."""
    head, _, number = line.rpartition(b" ")
    if head != b"#@ temperature":
        return None
    try:
        value = float(number)
    except ValueError:
        return None
    return value if 0 <= value < math.inf else None


def _number_of(kind: bytes, line: bytes) -> int:
    """Number in a line of this kind; 0 for other lines."""
    words = line.split(b" ")
    named = len(words) == 3 and words[:2] == [b"#@", kind] and words[2].isdigit()
    return int(words[2]) if named else 0


def _refusal(path: str, text: bytes, expected: str, line: int) -> ModelError:
    shown = text.decode("utf-8", "backslashreplace").strip()[:60]
    return ModelError(path, f"line '{shown}' is refused; expected {expected}", line, 1)
