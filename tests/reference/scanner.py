# SPDX-License-Identifier: BSD-3-Clause
"""Example files read slowly: one token at a time, numbers as fractions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

NUMBER = re.compile(rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
INTEGER = re.compile(rb"[+-]?[0-9]+")
FEATURE = re.compile(rb"([+-]?[0-9]+):(.*)", re.DOTALL)
TOKEN = re.compile(rb"[^ \t\v\f\r#]+")
BLANKS = b" \t\v\f\r"
LARGEST_INDEX = 2**31 - 2


class Refused(Exception):
    """A fault at a 1-based line and column."""

    def __init__(self, line: int, column: int, why: str):
        super().__init__(f"{line}:{column}: {why}")
        self.place = (line, column)


@dataclass
class Rows:
    """What the scanner returns, as lists."""

    y: list[float] = field(default_factory=list)
    qid: list[int | None] = field(default_factory=list)
    cost: list[float | None] = field(default_factory=list)
    indptr: list[int] = field(default_factory=lambda: [0])
    indices: list[int] = field(default_factory=list)
    values: list[np.float32] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


def round_to(text: bytes, precision: int, lowest: int, highest: int) -> float:
    """The nearest number m 2^e with m below 2^precision and e >= lowest, ties to even m; inf from
    2^highest."""
    sign = -1.0 if text.startswith(b"-") else 1.0
    body = text.lstrip(b"+-").lower()
    mantissa, _, exponent = body.partition(b"e")
    power = int(exponent or b"0")
    whole, _, part = mantissa.partition(b".")
    digits = int(whole + part or b"0")
    if digits == 0:
        return sign * 0.0
    magnitude = len(str(digits)) + power - len(part)
    if magnitude > 400:
        return sign * np.inf
    if magnitude < -400:
        return sign * 0.0
    x = Fraction(digits) * Fraction(10) ** (power - len(part))
    unit = lowest
    while x / Fraction(2) ** unit >= 2**precision:
        unit += 1
    m = round(x / Fraction(2) ** unit)  # ties to even
    if m * Fraction(2) ** unit >= 2**highest:
        return sign * np.inf
    return sign * float(m * Fraction(2) ** unit)


def to_float(text: bytes) -> np.float32:
    return np.float32(round_to(text, 24, -149, 128))


def to_double(text: bytes) -> float:
    return round_to(text, 53, -1074, 1024)


def scan(text: bytes) -> Rows:
    """Every example of a text, or Refused at the first fault."""
    rows = Rows()
    text = text.removeprefix(b"\xef\xbb\xbf")
    for number, line in enumerate(text.split(b"\n"), 1):
        body = line.split(b"#", 1)[0]
        if body.strip(BLANKS):
            scan_line(rows, number, body)
        nul = line.find(b"\0", len(body))
        if nul >= 0:
            raise Refused(number, nul + 1, "NUL")
    return rows


def scan_line(rows: Rows, line: int, body: bytes) -> None:
    tokens = [(match.start() + 1, match.group()) for match in TOKEN.finditer(body)]
    keys: dict[bytes, float] = {}
    last = 0
    for place, (column, token) in enumerate(tokens):
        if b"\0" in token:
            raise Refused(line, column + token.index(b"\0"), "NUL")
        if place == 0:
            if not NUMBER.fullmatch(token) or not np.isfinite(to_double(token)):
                raise Refused(line, column, "label")
            rows.y.append(to_double(token))
            continue
        key, colon, value = token.partition(b":")
        if colon and key in (b"qid", b"sid", b"cost"):
            keys[key] = scan_key(line, column, key, value, keys)
            continue
        feature = FEATURE.fullmatch(token)
        if not feature:
            raise Refused(line, column, "no INDEX:VALUE")
        index = int(feature[1])
        if index < 1 or feature[1].startswith(b"-") or index > LARGEST_INDEX or index <= last:
            raise Refused(line, column, "index")
        if not NUMBER.fullmatch(feature[2]) or not np.isfinite(to_float(feature[2])):
            raise Refused(line, column + len(feature[1]) + 1, "value")
        last = index
        rows.indices.append(index - 1)
        rows.values.append(to_float(feature[2]))
    rows.qid.append(keys.get(b"qid"))
    rows.cost.append(keys.get(b"cost"))
    rows.indptr.append(len(rows.indices))
    rows.lines.append(line)


def scan_key(line: int, column: int, key: bytes, value: bytes, keys: dict) -> float:
    if key in keys:
        raise Refused(line, column, "twice")
    column += len(key) + 1
    if key == b"cost":
        if not NUMBER.fullmatch(value) or not np.isfinite(to_double(value)):
            raise Refused(line, column, "cost")
        return to_double(value)
    if not INTEGER.fullmatch(value) or not -(2**63) <= int(value) < 2**63:
        raise Refused(line, column, "integer")
    if key == b"sid" and int(value) < 1:
        raise Refused(line, column, "sid")
    return int(value)
