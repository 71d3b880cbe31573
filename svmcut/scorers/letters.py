# SPDX-License-Identifier: BSD-3-Clause
"""Tables of Unicode, for programs of languages without any: code points of words, and their lower
case."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable
from functools import cache

_SIGMA, _FINAL, _SMALL = "\u03a3", "\u03c2", "\u03c3"
_POINTS = [point for point in range(0x110000) if not 0xD800 <= point < 0xE000]


@cache
def word_ranges() -> list[tuple[int, int]]:
    """First and last of the runs of letters, digits and underscores."""
    return _ranges(point for point in _POINTS if chr(point).isalnum() or point == ord("_"))


def lower_pairs(letters: Collection[str]) -> list[tuple[int, int]]:
    """Code points, rising, whose lower case is one of these letters, and that letter; a dotted
    capital I becomes an i, and a capital sigma is none of them."""
    return [(point, ord(small)) for point, small in capitals() if small in letters]


@cache
def capitals() -> list[tuple[int, str]]:
    """Code points whose lower case is another, and that."""
    changed = (point for point in _POINTS if chr(point).lower() != chr(point))
    return [(point, chr(point).lower()[0]) for point in changed if chr(point) != _SIGMA]


def has_sigma(letters: Collection[str]) -> bool:
    """True if the lower case of a capital sigma, which hangs on the letters around, counts."""
    return _FINAL in letters or _SMALL in letters


@cache
def sigma_ranges() -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Runs of letters with a case, and of signs between letters that are passed over."""
    cased = [point for point in _POINTS if (chr(point) + _SIGMA).lower()[-1] == _FINAL]
    between = {point for point in _POINTS if ("A" + chr(point) + _SIGMA).lower()[-1] == _FINAL}
    return _ranges(cased), _ranges(sorted(between - {*cased}))


def _ranges(points: Iterable[int]) -> list[tuple[int, int]]:
    runs = itertools.groupby(enumerate(points), lambda pair: pair[1] - pair[0])
    listed = ([point for _, point in run] for _, run in runs)
    return [(run[0], run[-1]) for run in listed]
