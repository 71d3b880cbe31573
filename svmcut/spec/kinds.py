# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of values: what is accepted, how its text is read, and what a message says of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from svmcut.base.typing import Any, NamedTuple
from svmcut.spec.spellings import nearest, respelt

ABOVE_ZERO = ">0"


class Kind(NamedTuple):
    """A kind of values: what is accepted, and how it is read and worded."""

    #: The name that the help of the command line shows.
    name: str
    #: The end of a message: "a number above 0".
    expected: str
    #: Reads the value of a text; ValueError where there is none.
    read: Callable[[str], Any]
    #: Takes an object as a plain Python value; ValueError where it is not accepted.
    take: Callable[[Any], Any]
    #: Says of a refused text what is wrong with it.
    refusal: str = ""
    #: The kind that the programs with the originals' names read in its place.
    plain: Kind | None = None
    #: The values, where they are names.
    words: tuple[str, ...] = ()
    #: It may be given several times, and is a tuple of all.
    repeats: bool = False
    #: The annotation of a parameter of this kind.
    type: str = "str"

    def parse(self, text: str) -> Any:
        """The value of a text; raises ValueError that says what was expected."""
        try:
            return self.take(self.read(text))
        except Refused:
            raise
        except ValueError:
            raise Refused(f"{text!r} {self.refusal or 'is not ' + self.expected}") from None


class Refused(ValueError):
    """A text that is refused, with all there is to say."""


def _accept(value: Any, accepted: bool) -> Any:
    if not accepted:
        raise ValueError
    return value


def _is_real(value: Any) -> bool:
    """Tell whether it is a number, NumPy's and others' too."""
    if isinstance(value, float | int):
        return True
    import numbers

    return isinstance(value, numbers.Real)


def _is_whole(value: Any) -> bool:
    if isinstance(value, int):
        return True
    import numbers

    return isinstance(value, numbers.Integral)


def number(low: float, high: float = math.inf, *, above: bool = False) -> Kind:
    """A finite number in [low, high], or in (low, high] with above."""
    expected = f"a number {'above' if above else 'of at least'} {low:g}"
    if high < math.inf:
        expected = (
            f"a number {'above' if above else 'from'} {low:g} {'and at most' if above else 'to'} "
            f"{high:g}"
        )

    def take(value: Any) -> float:
        value = float(_accept(value, _is_real(value) and not isinstance(value, bool)))
        return _accept(
            value, math.isfinite(value) and low <= value <= high and not (above and value == low)
        )

    def read_share(text: str) -> float:
        value = float(text.rstrip("%"))
        if value > 2 or text.endswith("%"):
            raise Refused(f"{text!r} is not {expected}, such as {value / 100:g} for {value:g} %")
        return value

    reader = read_share if 0.5 <= high <= 1 else float
    return Kind("FLOAT", expected, reader, take, type="float")


#: Words for a gamma that the training rows decide.
GAMMAS = ("scale", "auto")


def gamma(plain: Kind) -> Kind:
    """A number of this kind, or a word of GAMMAS."""

    def read(text: str) -> Any:
        return text.lower() if text.lower() in GAMMAS else plain.read(text)

    def take(value: Any) -> Any:
        return value if isinstance(value, str) and value in GAMMAS else plain.take(value)

    words = " or ".join(map(repr, GAMMAS))
    annotation = f"{plain.type} | Literal[{', '.join(map(repr, GAMMAS))}]"
    return Kind(plain.name, f"{plain.expected}, or {words}", read, take, type=annotation)


def number_or(plain: Kind, word: str) -> Kind:
    """A number of this kind, or a word."""

    def read(text: str) -> Any:
        return word if text.lower() == word else plain.read(text)

    def take(value: Any) -> Any:
        return value if isinstance(value, str) and value == word else plain.take(value)

    expected = f"{plain.expected}, or '{word}'"
    return Kind(plain.name, expected, read, take, type=f"{plain.type} | str")


def quantity(
    name: str, units: Mapping[str, float], of: str, example: str, *, above: bool = False
) -> Kind:
    """A number of at least 0, or above, or a text of a number and one of these units, in either
    case of the letter."""
    plain = number(0, above=above)

    def read(text: str) -> float:
        factor = units.get(text[-1:].lower())
        return float(text) if factor is None else factor * float(text[:-1])

    def take(value: Any) -> float:
        return plain.take(read(value) if isinstance(value, str) else value)

    expected = f"{plain.expected}: {of}, or with a unit as in {example}"
    return Kind(name, expected, read, take, plain=plain, type="float | str")


def duration(*, above: bool = False) -> Kind:
    """Seconds, or a text such as 30s, 5m, 1h, 2d."""
    units = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    return quantity("DURATION", units, "seconds", "30s, 5m, 1h or 2d", above=above)


def size() -> Kind:
    """Megabytes of 10^6 bytes, or a text such as 500K, 512M, 2G."""
    return quantity(
        "SIZE", {"k": 1e-3, "m": 1.0, "g": 1e3}, "megabytes", "500K, 512M or 2G", above=True
    )


def address() -> Kind:
    """Address of a scheduler: tcp://host:port, tls://host:port, or local:N for N workers that are
    started here."""

    def take(value: Any) -> str:
        _accept(value, isinstance(value, str))
        name, _, rest = value.partition(":")
        return _accept(
            value, (name == "local" and rest.isdigit() and 0 < int(rest) < 1025) or "://" in value
        )

    return Kind(
        "ADDRESS", "an address as tcp://host:8786, or local:2 for two workers here", str, take
    )


def integer(low: int, high: int = 2**31 - 1) -> Kind:
    """A whole number in [low, high]."""
    limit = f"of at least {low}" if high == 2**31 - 1 else f"from {low} to {high}"

    def take(value: Any) -> int:
        value = int(_accept(value, _is_whole(value) and not isinstance(value, bool)))
        return _accept(value, low <= value <= high)

    return Kind("INTEGER", f"a whole number {limit}", int, take, type="int")


class Typed(NamedTuple):
    """One value of a list, and its text as typed, which names the model file of a path of C."""

    text: str
    value: Any  #: a number, or a word that stands for one


def several(one: Kind, original: Kind | None = None) -> Kind:
    """One value, or several, separated by commas; `original` is what the originals read, a single
    one."""

    def read(text: str) -> tuple[Typed, ...]:
        return tuple(Typed(part.strip(), one.parse(part)) for part in text.split(","))

    def read_one(text: str) -> tuple[Typed, ...]:
        if "," in text:
            raise Refused(f"{text!r} is not one number")
        return (Typed(text.strip(), (original or one).parse(text)),)

    plain = Kind(one.name, one.expected, read_one, tuple)
    return Kind(f"{one.name}[,{one.name}...]", one.expected, read, tuple, plain=plain)


class Span(tuple):
    """The two ends of an interval."""


def several_or_span(one: Kind, original: Kind | None = None) -> Kind:
    """One or several values as in `several`, or two ends in a text LOW:HIGH, which are a Span."""
    listed = several(one, original)

    def read(text: str) -> tuple[Typed, ...]:
        if ":" not in text:
            return listed.read(text)
        low, _, high = text.partition(":")
        ends = listed.read(low) + listed.read(high)
        if len(ends) != 2 or not ends[0].value < ends[1].value:
            raise Refused(f"{text!r} is no interval; expected LOW:HIGH, LOW below HIGH")
        return Span(ends)

    def take(value: Any) -> tuple[Typed, ...]:
        return value if isinstance(value, Span) else tuple(value)

    return listed._replace(read=read, take=take)


def one_of(
    table: Mapping[str, int | None] | tuple[str, ...], others: Mapping[str, str] | None = None
) -> Kind:
    """A name, or in a text its number where the originals have one; the name is kept.

    Other spellings of it are taken (`svmcut.spec.spellings`). `others` are names that are known but
    not accepted here, and what a refusal says of them.
    """
    numbered = table if isinstance(table, Mapping) else dict.fromkeys(table)
    names = {str(value): name for name, value in numbered.items() if value is not None}
    known = ", ".join(
        name if value is None else f"{name} ({value})" for name, value in numbered.items()
    )

    def read(text: str) -> str:
        name = respelt(names.get(text, text), numbered)
        if name in numbered:
            return name
        if others and (elsewhere := respelt(text, others)) in others:
            raise Refused(f"{text!r} {others[elsewhere]}; expected one of {known}")
        if near := nearest(text, numbered):
            raise Refused(f"{text!r} is unknown; did you mean {near}? It is one of {known}")
        return name

    def take(value: Any) -> str:
        name = respelt(value, numbered) if isinstance(value, str) else value
        return str(_accept(name, isinstance(name, str) and name in numbered))

    return Kind(
        "NAME",
        f"one of {known}",
        read,
        take,
        f"is unknown; expected one of {known}",
        words=tuple(numbered),
    )


def place() -> Kind:
    """Places of a ranking, a whole number; a share above 0 and at most 1; or two shares, LOW below
    HIGH."""
    share, places, range_ = number(0, 1, above=True), integer(1), shares()

    def read(text: str) -> Any:
        if "," in text:
            return range_.read(text)
        value = float(text)
        return int(value) if value.is_integer() and text.strip().isdigit() else value

    def take(value: Any) -> Any:
        if isinstance(value, tuple | list):
            return range_.take(value)
        return places.take(value) if _is_whole(value) else share.take(value)

    expected = (
        "a whole number of at least 1, a share above 0 and at most 1, or two shares LOW,HIGH with "
        "LOW below HIGH"
    )
    annotation = "float | tuple[float, float]"
    return Kind("NUMBER[,NUMBER]", expected, read, take, type=annotation)


def two_numbers(low: float) -> Kind:
    """Two numbers of at least `low`."""
    plain = number(low)

    def read(text: str) -> Any:
        return tuple(map(float, text.split(",")))

    def take(value: Any) -> tuple[float, float]:
        first, second = value
        return plain.take(first), plain.take(second)

    return Kind("A,B", f"two numbers of at least {low:g} with a comma in between", read, take)


def floors(names: tuple[str, ...]) -> Kind:
    """Shares above 0 and below 1 by one of these names, as pairs: a mapping, or a text such as
    precision=0.95; it may be given several times."""
    share = number(0, 1, above=True)

    def read(text: str) -> tuple[tuple[str, float], ...]:
        pairs = (part.split("=") for part in text.split(","))
        return tuple((name.strip(), float(value)) for name, value in pairs)

    def take(value: Any) -> tuple[tuple[str, float], ...]:
        pairs = tuple(value.items() if isinstance(value, Mapping) else value)
        taken = tuple((name, share.take(floor)) for name, floor in pairs)
        known = all(name in names and floor < 1 for name, floor in taken)
        return _accept(taken, known and len(taken) > 0)

    words = tuple(f"{name}=0.9" for name in names)
    expected = f"a share above 0 and below 1 by name as in {names[0]}=0.95; names are " + ", ".join(
        names
    )
    return Kind("MEASURE=FLOAT", expected, read, take, words=words, repeats=True)


def shares() -> Kind:
    """Two numbers from 0 to 1, the first below the second."""
    share = number(0, 1)

    def read(text: str) -> tuple[float, ...]:
        return tuple(float(part) for part in text.split(","))

    def take(value: Any) -> tuple[float, ...]:
        pair = tuple(share.take(each) for each in _accept(value, isinstance(value, tuple | list)))
        return _accept(pair, len(pair) == 2 and pair[0] < pair[1])

    return Kind("LOW,HIGH", "two numbers from 0 to 1, the first below the second", read, take)


BALANCED = "balanced"


def class_weights() -> Kind:
    """`BALANCED`, or weights by label: a mapping, or a text such as 1=5,-1=0.5, which is what is
    kept."""

    def take(value: Any) -> str:
        if isinstance(value, str) and value == BALANCED:
            return value
        if isinstance(value, Mapping):
            _accept(value, all(map(_is_real, value.values())))
            value = ",".join(f"{label}={float(weight)!r}" for label, weight in value.items())
        weights = weights_by_label(_accept(value, isinstance(value, str)))
        _accept(
            value,
            all(map(math.isfinite, weights.values())) and min(weights.values()) >= 0,
        )
        _accept(value, len(weights) == value.count("=") == value.count(",") + 1)
        return ",".join(
            f"{label if isinstance(label, str) else _shortest(label)}={_shortest(weight)}"
            for label, weight in sorted(weights.items(), key=_in_order)
        )

    return Kind(
        "LABEL=FLOAT,...",
        f"'{BALANCED}', or weights of at least 0 by label as in 1=5,-1=0.5",
        str,
        take,
        type="str | Mapping[Any, float]",
    )


def weights_by_label(text: str) -> dict[Any, float]:
    """The weights in a text such as 1=5,-1=0.5; labels that are no numbers are words."""
    pairs = (part.split("=") for part in text.split(","))
    return {LABEL.parse(label): float(weight) for label, weight in pairs}


def _in_order(item: tuple[Any, float]) -> tuple[bool, Any]:
    return isinstance(item[0], str), item[0]


def _shortest(value: float) -> str:
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)


def dashed(names: tuple[str, ...]) -> Kind:
    """A name that is kept with underscores, and shown and read with dashes too."""
    kind = one_of(tuple(name.replace("_", "-") for name in names))
    return kind._replace(
        read=lambda text: text.replace("_", "-"),
        take=lambda value: kind.take(value).replace("-", "_"),
    )


def label() -> Kind:
    """A label, a number or a word, or the rule that all labels above 0 are meant."""
    plain = number(-math.inf)

    def read(text: str) -> Any:
        try:
            return float(text)
        except ValueError:
            return text

    def take(value: Any) -> Any:
        if not isinstance(value, str):
            return plain.take(value)
        return _accept(
            value, value == ABOVE_ZERO or (value.strip() != "" and value[0] not in "<>=")
        )

    expected = "a label, a finite number or a word, or '>0'"
    return Kind("LABEL", expected, read, take, type="float | str")


def _one_line(text: Any) -> str:
    return _accept(text, isinstance(text, str) and "\n" not in text and "\r" not in text)


def _flag(value: Any) -> bool:
    return bool(
        _accept(value, isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"))
    )


ANY = number(-1e300, 1e300)
TEXT = Kind("TEXT", "one line of text", str, _one_line)
PATH = Kind(
    "FILE",
    "a path",
    str,
    lambda value: str(_accept(value, isinstance(value, str))),
    type="Path",
)
ADDRESS = address()
LABEL = label()
FLAG = Kind("", "True or False", str, _flag, type="bool")
LEVEL = Kind(
    "INTEGER", "a whole number", int, lambda value: max(0, value)
)  # below 0 is 0, as in the originals
THREAD_COUNT = integer(1, 4096)
#: Of --format, of learn and of classify.
PRINTED = one_of(("plain", "original"), {"json": "is what --report FILE writes"})
