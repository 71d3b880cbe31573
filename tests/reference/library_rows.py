# SPDX-License-Identifier: BSD-3-Clause
"""Rows as LIBSVM and LIBLINEAR read them, word by word."""

import math
import re

LARGEST = 2**31 - 2


def real(word):
    """A number, or None."""
    word = word.strip()
    if "_" in word:
        return None
    try:
        value = float.fromhex(word) if "x" in word.lower() else float(word)
    except (ValueError, OverflowError):
        return None
    named = any(letter in word.lower() for letter in "n")
    return value if named or math.isfinite(value) else None


def row(line, first):
    """(label, {index: value}) of a line, or None where it is no row."""
    words = line.replace("\r", " ").split(None, 1)
    if not words or (label := real(words[0])) is None:
        return None
    rest, found, last = words[1] if len(words) > 1 else "", {}, first - 1
    while ":" in rest:
        index, rest = rest.split(":", 1)
        index, rest = index.strip(), rest.lstrip()
        word, *after = rest.split(None, 1) if rest.strip() else ("",)
        rest = after[0] if after else ""
        value = real(word) if word else None
        if not re.fullmatch(r"[+-]?[0-9]+", index) or value is None:
            return None
        if not last < int(index) <= LARGEST:
            return None
        last = int(index)
        found[last] = value
    return label, found


def rows(text, first):
    """Rows up to the first line that is none, and that line from 1; 0 without."""
    found = []
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else [], 1):
        parsed = row(line, first)
        if parsed is None:
            return found, number
        found.append(parsed)
    return found, 0
