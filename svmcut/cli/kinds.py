# SPDX-License-Identifier: BSD-3-Clause
"""How the text of an option's value is read, and what a message says of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Kind(NamedTuple):
    """How the text of a value is read: parse raises ValueError with what was expected."""

    name: str
    parse: Callable[[str], Any]


def number(low: float, high: float = math.inf, *, above: bool = False) -> Kind:
    """A finite number in [low, high], or in (low, high] with above."""
    range_text = f"a number {'above' if above else 'of at least'} {low:g}"
    if high < math.inf:
        range_text = f"a number {'above' if above else 'from'} {low:g} {'and at most' if above else 'to'} {high:g}"

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or value > high or value < low or (above and value == low):
            raise ValueError(f"{text!r} is not {range_text}")
        return value

    return Kind("FLOAT", parse)


def integer(low: int, high: int = 2**31 - 1) -> Kind:
    """A whole number in [low, high]."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            limit = f"of at least {low}" if high == 2**31 - 1 else f"from {low} to {high}"
            raise ValueError(f"{text!r} is not a whole number {limit}")
        return value

    return Kind("INTEGER", parse)


def _level(text: str) -> int:
    try:
        return max(0, int(text))
    except ValueError:
        raise ValueError(f"{text!r} is not a whole number") from None


class Cost(NamedTuple):
    """One value of C and its text as typed, which names the model file of a path."""

    text: str
    value: float


def costs(low: float, high: float) -> Kind:
    """One value of C in (low, high], or several, separated by commas."""
    one = number(low, high, above=True)

    def parse(text: str) -> tuple[Cost, ...]:
        return tuple(Cost(part.strip(), one.parse(part)) for part in text.split(","))

    return Kind("FLOAT[,FLOAT...]", parse)


def one_cost(several: Kind) -> Kind:
    """One value of C, of a kind that takes several."""

    def parse(text: str) -> tuple[Cost, ...]:
        if "," in text:
            raise ValueError(f"{text!r} is not one number")
        return several.parse(text)

    return Kind("FLOAT", parse)


def one_of(table: Mapping[str, int | None] | tuple[str, ...]) -> Kind:
    """A name, or its number where the originals have one; the name is kept."""
    numbers = {}
    if isinstance(table, Mapping):
        numbers = {str(value): name for name, value in table.items() if value is not None}
    known = ", ".join(table)
    if isinstance(table, Mapping):
        known = ", ".join(name if value is None else f"{name} ({value})" for name, value in table.items())

    def parse(text: str) -> str:
        name = numbers.get(text, text)
        if name not in table:
            raise ValueError(f"{text!r} is unknown; expected one of {known}")
        return name

    return Kind("NAME", parse)


def one_line(text: str) -> str:
    """Text for one line of a model file."""
    if "\n" in text or "\r" in text:
        raise ValueError(f"{text!r} is not one line of text")
    return text


ANY = number(-1e300, 1e300)
TEXT = Kind("TEXT", one_line)
PATH = Kind("FILE", str)
LEVEL = Kind("INTEGER", _level)  # of verbosity: below 0 is 0, as in the originals
