# SPDX-License-Identifier: BSD-3-Clause
r"""Templates of features for tokens in columns, in CRF++'s grammar with Wapiti's patterns.

A line is a template. Its first letter says what its features are joined with: ``U`` a tag, ``B`` a
tag and the one before it, ``*`` both; case does not matter. The whole line is the name of a feature
once its markers are replaced:

    %x[ROW,COLUMN]            the text of a column, ROW tokens behind this one
    %t[ROW,COLUMN,"REGEX"]    true where the expression matches that text, else false
    %m[ROW,COLUMN,"REGEX"]    the part that matches, or nothing
    %s[ROW,COLUMN]            its shape: X for capitals, x for other letters, 0 for digits, runs cut
                              to one; svmcut's own

A capital marker, ``%X``, takes the text in lower case. A row ``@N`` is token N of the sequence,
from 1, negative from the end. Outside of a sequence texts are ``_B-1``, ``_B-2``, .. and ``_B+1``,
``_B+2``, ... Lines that are empty or begin with ``#`` say nothing, nor does what follows a blank
and ``#``.

Whatever is done to a text is done once for every text there is, and features of several texts are
numbered by numbers of these: no string is made for a token.

References
----------
The grammar is that of CRF++ by T. Kudo; patterns are those that the manual of Wapiti describes (T.
Lavergne, O. Cappe and F. Yvon, Practical very large scale CRFs, ACL 2010).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError
from svmcut.base.messages import Message
from svmcut.base.typing import NamedTuple, TypeAlias

#: Numbers of tuples of texts stay below this.
_MAX_NUMBER = 1 << 62
#: Tokens outside of a sequence that have a text of their own, on either side.
_EDGE = 8
_COMMENT = re.compile(r"(^|\s)#.*|\s+$")
_MARKER = re.compile(
    r"%(?P<letter>[a-zA-Z])\[\s*(?P<row>@?\s*[+-]?\d+)\s*,\s*(?P<column>\d+)\s*"
    r'(?:,\s*"(?P<regex>(?:[^"\\]|\\.)*)"\s*)?\]'
)
_EXPECTED = Message(
    'expected %x[ROW,COLUMN], %s[ROW,COLUMN], %t[ROW,COLUMN,"REGEX"] or %m[ROW,COLUMN,"REGEX"]'
)


class Column(NamedTuple):
    """A column of all tokens: (n,) numbers of texts, and the texts."""

    ids: NDArray[np.int32]
    texts: Sequence[str]


class Marker(NamedTuple):
    """The placeholder of a text in a line."""

    #: One of x, t, m, s.
    letter: str
    #: True to take the text in lower case.
    lower: bool
    #: Tokens behind this one, or with `absolute` the place in the sequence.
    row: int
    absolute: bool
    column: int
    #: The expression in Wapiti's syntax; "" without one.
    regex: str = ""

    def make_function(self) -> Callable[[str], str]:
        change: Callable[[str], str] = str
        if self.letter == "s":
            change = word_shape
        elif self.letter != "x":
            search = re.compile(translate_regex(self.regex), re.DOTALL).search
            if self.letter == "t":
                return lambda text: "true" if search(text) else "false"

            def change(text: str) -> str:
                match = search(text)
                return match[0] if match else ""

        return (lambda text: change(text).lower()) if self.lower else change


class Line(NamedTuple):
    """A template: its line number, whether its features are joined with one tag and with two, and
    its literals and markers in turn."""

    number: int
    one: bool
    two: bool
    pieces: tuple[str | Marker, ...]

    @property
    def markers(self) -> list[Marker]:
        return [piece for piece in self.pieces if isinstance(piece, Marker)]


class Template:
    """The templates of a file, whose name is `path` in messages.

    Raises DataError with the line: one that does not begin with U, B or ``*``, or has an invalid
    marker or expression.
    """

    def __init__(self, lines: Sequence[str], path: str = "template"):
        self.path = path
        self.texts = tuple(lines)
        parsed = (self._parse_line(number, text) for number, text in enumerate(lines, 1))
        self.lines = [line for line in parsed if line is not None]

    @property
    def has_transitions(self) -> bool:
        """True if a line says that tags depend on the tag before."""
        return any(line.two for line in self.lines)

    @property
    def joined(self) -> Line | None:
        """The first line with a marker whose features are joined with two tags."""
        return next((line for line in self.lines if line.two and line.markers), None)

    @property
    def n_columns(self) -> int:
        """Number of columns that the template needs."""
        columns = [marker.column for line in self.lines for marker in line.markers]
        return max(columns, default=-1) + 1

    def check(self, n_columns: int) -> None:
        """Raise DataError for columns that a file with `n_columns` in front of the tag does not
        have."""
        for line in self.lines:
            for marker in line.markers:
                if marker.column >= n_columns:
                    message = Message(
                        "column {} is none of the {} in front of the tag, numbered from 0",
                        marker.column,
                        n_columns,
                    )
                    raise DataError(self.path, message, line.number)

    def _parse_line(self, number: int, text: str) -> Line | None:
        text = _COMMENT.sub("", text) if '"' not in text else text.rstrip()
        if not text.strip() or text.startswith("#"):
            return None
        kind = text[0].lower()
        if kind not in "ub*":
            message = Message("line '{}' begins with none of U, B and *", text[:60])
            raise DataError(self.path, message, number, 1)
        pieces: list[str | Marker] = []
        end = 0
        for match in _MARKER.finditer(text):
            pieces += [self._literal(text, end, match.start(), number), self._marker(match, number)]
            end = match.end()
        pieces.append(self._literal(text, end, len(text), number))
        line = Line(number, kind != "b", kind != "u", tuple(pieces))
        # B alone is all pairs of tags, and no feature of its own
        return line if line.markers or kind != "b" else line._replace(one=False)

    def _literal(self, text: str, start: int, end: int, number: int) -> str:
        place = text.find("%", start, end)
        if place >= 0:
            message = Message("'{}' is no marker; {}", text[place : place + 20], _EXPECTED)
            raise DataError(self.path, message, number, place + 1)
        return text[start:end]

    def _marker(self, match: re.Match[str], number: int) -> Marker:
        letter, regex, row = match["letter"].lower(), match["regex"], match["row"]
        place, shown = match.start() + 1, match[0][:40]
        if letter not in "xtms" or (regex is not None) != (letter in "tm"):
            raise DataError(
                self.path, Message("'{}' is no marker; {}", shown, _EXPECTED), number, place
            )
        absolute = row.startswith("@")
        value = int(row.lstrip("@").strip())
        if absolute and not value:
            message = Message("'{}' names token 0; the first is @1, the last @-1", shown)
            raise DataError(self.path, message, number, place)
        if regex is not None and not regex:
            raise DataError(
                self.path, Message("'{}' has an empty expression", shown), number, place
            )
        return Marker(
            letter, match["letter"].isupper(), value, absolute, int(match["column"]), regex or ""
        )


def default_lines(n_columns: int) -> tuple[str, ...]:
    """Return the default template for n_columns in front of the tag.

    For the first column: words, pairs with neighbours, prefixes and suffixes of up to four letters,
    and shapes; for every other column: texts, also of neighbours, and pairs.
    """
    lines = [f"Uw{row}=%x[{row},0]" for row in (-2, -1, 0, 1, 2)]
    lines += ["Uw-1|w0=%x[-1,0]|%x[0,0]", "Uw0|w1=%x[0,0]|%x[1,0]", "Ulower=%X[0,0]"]
    lines += [f'Uprefix{size}=%m[0,0,"^{"." * size}"]' for size in (1, 2, 3, 4)]
    lines += [f'Usuffix{size}=%m[0,0,"{"." * size}$"]' for size in (1, 2, 3, 4)]
    lines += [f"Ushape{row}=%s[{row},0]" for row in (-1, 0, 1)]
    for column in range(1, n_columns):
        lines += [f"Uc{column}.{row}=%x[{row},{column}]" for row in (-2, -1, 0, 1, 2)]
        lines += [
            f"Uc{column}.{row}|{row + 1}=%x[{row},{column}]|%x[{row + 1},{column}]"
            for row in (-2, -1, 0, 1)
        ]
    return (*lines, "U", "B")


def word_shape(text: str) -> str:
    """Return X for capitals, x for other letters, 0 for digits, and other characters as they are;
    runs are cut to one."""
    kinds: list[str] = []
    for letter in text:
        kind = (
            "0"
            if letter.isdigit()
            else letter
            if not letter.isalpha()
            else "X"
            if letter.isupper()
            else "x"
        )
        if not kinds or kinds[-1] != kind:
            kinds.append(kind)
    return "".join(kinds)


@cache
def _character_ranges(test: Callable[[str], bool]) -> str:
    """Return the ranges of a regular expression's class: those of the first 65536 characters that
    pass a test."""
    codes = [code for code in range(1 << 16) if test(chr(code))]
    ends = np.flatnonzero(np.diff(codes, append=1 << 20) > 1).tolist()
    starts = [0, *(end + 1 for end in ends[:-1])]
    return "".join(f"\\u{codes[a]:04x}-\\u{codes[b]:04x}" for a, b in zip(starts, ends))


def _is_sign(letter: str) -> bool:
    return letter.isprintable() and not letter.isalnum() and not letter.isspace()


_CLASSES: dict[str, Callable[[], str]] = {
    "d": lambda: r"\d",
    "s": lambda: r"\s",
    "a": lambda: _character_ranges(str.isalpha),
    "w": lambda: _character_ranges(str.isalpha) + r"\d",
    "l": lambda: _character_ranges(str.islower),
    "u": lambda: _character_ranges(str.isupper),
    "p": lambda: _character_ranges(_is_sign),
}


def translate_regex(regex: str) -> str:
    """Translate an expression of Wapiti into Python's syntax: ``.``, ``^`` and ``$`` at the ends,
    ``*`` and ``?`` after one character, classes ``\\a \\d \\l \\p \\s \\u \\w`` and, negated, their
    capitals."""
    pieces, k = [], 0
    while k < len(regex):
        letter = regex[k]
        k += 1
        if letter == "\\" and k < len(regex):
            name, k = regex[k], k + 1
            known = _CLASSES.get(name.lower())
            sign = "^" if name.isupper() else ""
            pieces.append(re.escape(name) if known is None else f"[{sign}{known()}]")
        elif letter == ".":
            pieces.append(".")
        elif letter == "^" and k == 1:
            pieces.append("^")
            continue
        elif letter == "$" and k == len(regex):
            pieces.append(r"\Z")
            continue
        else:
            pieces.append(re.escape(letter))
        if k < len(regex) and regex[k] in "*?":
            pieces.append(regex[k])
            k += 1
    return "".join(pieces)


#: Returns the texts of several markers, given numbers of their tuples.
_Decoder: TypeAlias = "Callable[[NDArray[np.int64]], list[list[str]]]"


class LineFeatures(NamedTuple):
    """The feature of a line at every token: (n,) numbers below `size`, and a function that returns
    the names of some of these."""

    ids: NDArray[np.int64]
    size: int
    names: Callable[[NDArray[np.int64]], list[str]]


def _decoder(texts: Sequence[str]) -> _Decoder:
    return lambda ids: [[texts[k] for k in ids.tolist()]]


def _select(decode: _Decoder, there: NDArray[np.int64]) -> _Decoder:
    return lambda ids: decode(there[ids])


def _append_texts(decode: _Decoder, texts: Sequence[str]) -> _Decoder:
    size = len(texts)
    return lambda ids: [*decode(ids // size), [texts[k] for k in (ids % size).tolist()]]


class Expansion:
    """Features of tokens; sequence k is tokens bounds[k] to bounds[k + 1]."""

    def __init__(self, columns: Sequence[Column], bounds: NDArray[np.int64]):
        self._columns, self._bounds = columns, bounds
        self._shifted: dict[tuple[int, int, bool], NDArray[np.int64]] = {}
        self._changed: dict[Marker, tuple[NDArray[np.int64], list[str]]] = {}

    @cached_property
    def _places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(n,) the place of every token in its sequence, and the sequence's length."""
        lengths = np.diff(self._bounds)
        starts = np.repeat(self._bounds[:-1], lengths)
        return np.arange(len(starts)) - starts, np.repeat(lengths, lengths)

    def expand(self, line: Line) -> LineFeatures:
        n, markers = int(self._bounds[-1]), line.markers
        if not markers:
            text = str(line.pieces[0])
            return LineFeatures(np.zeros(n, np.int64), 1, lambda ids: [text] * len(ids))
        literals = [str(piece) for piece in line.pieces[::2]]
        pattern = "%s".join(literals)
        codes, texts = self._part(markers[0])
        count, decode = len(texts), _decoder(texts)
        for marker in markers[1:]:
            ids, texts = self._part(marker)
            if count * len(texts) > _MAX_NUMBER:
                there, codes = np.unique(codes, return_inverse=True)
                count, decode = len(there), _select(decode, there)
            codes, count = codes * len(texts) + ids, count * len(texts)
            decode = _append_texts(decode, texts)
        return LineFeatures(codes, count, lambda ids: [pattern % row for row in zip(*decode(ids))])

    def _part(self, marker: Marker) -> tuple[NDArray[np.int64], list[str]]:
        """Return (n,) the number of a marker's text at every token, and these texts."""
        key = marker._replace(row=0, absolute=False)
        if key not in self._changed:
            self._changed[key] = self._change_texts(marker)
        numbers, texts = self._changed[key]
        return numbers[self._shift(marker)], texts

    def _change_texts(self, marker: Marker) -> tuple[NDArray[np.int64], list[str]]:
        """Return the number of the changed text for every text of a column and at the edges, and
        the changed texts."""
        edges = [f"_B-{k}" for k in range(1, _EDGE + 1)] + [f"_B+{k}" for k in range(1, _EDGE + 1)]
        texts, change = [*self._columns[marker.column].texts, *edges], marker.make_function()
        if marker.letter == "x" and not marker.lower:
            return np.arange(len(texts)), texts
        known: dict[str, int] = {}
        numbers = [known.setdefault(change(text), len(known)) for text in texts]
        return np.array(numbers, np.int64), list(known)

    def _shift(self, marker: Marker) -> NDArray[np.int64]:
        """Return (n,) numbers of a marker's texts at its row; those at the edges come after the
        column's own."""
        key = (marker.row, marker.column, marker.absolute)
        if key in self._shifted:
            return self._shifted[key]
        (places, lengths), column = self._places, self._columns[marker.column]
        if marker.row == 0:
            return column.ids.astype(np.int64)
        aim = places + marker.row
        if marker.absolute:
            aim = marker.row - 1 + 0 * places if marker.row > 0 else lengths + marker.row
        tokens = np.arange(len(places)) - places + aim
        inside = (aim >= 0) & (aim < lengths)
        ids = np.empty(len(places), np.int64)
        ids[inside] = column.ids[tokens[inside]]
        before, behind = np.minimum(-aim, _EDGE), np.minimum(aim - lengths + 1, _EDGE)
        edge = len(column.texts) - 1 + np.where(aim < 0, before, _EDGE + behind)
        ids[~inside] = edge[~inside]
        self._shifted[key] = ids
        return ids


def _find_distinct(numbered: LineFeatures) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers that occur, in order, and (n,) the place of each token's among them."""
    ids, count = numbered.ids, numbered.size
    if count <= 4 * len(ids) + 1024:
        there = np.zeros(count, bool)
        there[ids] = True
        present = np.flatnonzero(there)
        place = np.empty(count, np.int64)
        place[present] = np.arange(len(present))
        return present, place[ids]
    return np.unique(ids, return_inverse=True)


def learn_features(
    template: Template,
    columns: Sequence[Column],
    bounds: NDArray[np.int64],
    known: dict[str, int],
    least: int = 1,
) -> NDArray[np.int32]:
    """Return (n, lines) columns of the features of tokens, -1 for none.

    `known` receives the names of features that at least `least` tokens have, line after line.
    """

    def number(names: list[str], places: NDArray[np.int64]) -> list[int]:
        return [known.setdefault(name, len(known)) for name in names]

    if least == 1:
        return _expand(template, columns, bounds, number)
    counts: dict[str, int] = {}

    def count(names: list[str], places: NDArray[np.int64]) -> list[int]:
        tokens = np.bincount(places, minlength=len(names)).tolist()
        for name, more in zip(names, tokens):
            counts[name] = counts.get(name, 0) + more
        return [every.setdefault(name, len(every)) for name in names]

    every: dict[str, int] = {}
    columns_of = _expand(template, columns, bounds, count)
    kept = np.array([counts[name] >= least for name in every], bool)
    known |= {name: k for k, name in enumerate(name for name in every if counts[name] >= least)}
    return np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)[columns_of]


def number_features(
    template: Template,
    columns: Sequence[Column],
    bounds: NDArray[np.int64],
    number: Callable[[str], int],
) -> NDArray[np.int32]:
    """Return (n, lines) the number of every feature's name, -1 for none."""
    return _expand(
        template, columns, bounds, lambda names, places: [number(name) for name in names]
    )


def make_hash(bits: int) -> Callable[[str], int]:
    """Return a function that hashes names to numbers below 2^bits: the low bits of the CRC-32 of
    UTF-8."""
    mask = (1 << bits) - 1
    return lambda name: zlib.crc32(name.encode("utf-8", "surrogateescape")) & mask


def hash_features(
    template: Template,
    columns: Sequence[Column],
    bounds: NDArray[np.int64],
    bits: int,
    least: int = 1,
) -> NDArray[np.int32]:
    """Return (n, lines) hashes of the features; -1 for those that fewer than `least` tokens
    have."""
    features = number_features(template, columns, bounds, make_hash(bits))
    if least > 1:
        features[np.bincount(features.ravel(), minlength=1 << bits)[features] < least] = -1
    return features


def _expand(
    template: Template,
    columns: Sequence[Column],
    bounds: NDArray[np.int64],
    number: Callable[[list[str], NDArray[np.int64]], list[int]],
) -> NDArray[np.int32]:
    """Return (n, lines) features: `number` gives the numbers of a line's different names."""
    expansion = Expansion(columns, bounds)
    lines = [line for line in template.lines if line.one or line.markers]
    features = np.empty((int(bounds[-1]), len(lines)), np.int32)
    for k, line in enumerate(lines):
        numbered = expansion.expand(line)
        there, places = _find_distinct(numbered)
        own = number(numbered.names(there), places)
        features[:, k] = np.array(own, np.int32)[places]
    return features
