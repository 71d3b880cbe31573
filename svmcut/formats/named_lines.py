# SPDX-License-Identifier: BSD-3-Clause
"""Headers of LIBLINEAR's and LIBSVM's model files: lines of a name and its values, in any order, up
to a word."""

from __future__ import annotations

import math
from collections.abc import Sequence

from svmcut.base.errors import ModelError
from svmcut.base.messages import join_names
from svmcut.base.typing import BinaryIO
from svmcut.data.labels import SIGNS, Labels
from svmcut.formats.grammar import LINE_LIMIT


class NamedLines:
    """The lines of a header, up to that of the word `end`, with names in `known`; path, first and
    file as of HeaderLines.

    Raises ModelError for an unknown or repeated name, and if the file ends earlier; so do the
    methods for values that are missing or wrong.
    """

    def __init__(self, path: str, first: bytes, file: BinaryIO, end: str, known: Sequence[str]):
        #: Bytes of the header.
        #: Number of the line after the header.
        self.path, self.next, self.size = path, 1, 0
        self._values: dict[str, tuple[int, list[str]]] = {}
        line = first
        while True:
            self.size += len(line)
            name, *values = line.decode("ascii", "backslashreplace").split() or [""]
            if not line.endswith(b"\n"):
                raise ModelError(
                    path, f"the file ends before the line '{end}'; it was cut short", self.next
                )
            if name == end:
                self.next += 1
                return
            if name not in known or name in self._values:
                expected = f"{join_names(known, 'or')}, each once, and then {end}"
                message = f"line '{name[:40]}' is refused; expected {expected}"
                raise ModelError(path, message, self.next, 1)
            self._values[name] = self.next, values
            line = file.readline(LINE_LIMIT)
            self.next += 1

    def refuse(self, name: str, expected: str) -> ModelError:
        """Error for a wrong or missing line of a name."""
        number, values = self._values.get(name, (None, []))
        text = " ".join(values)[:40]
        fault = f"{name} '{text}' is refused" if number else f"there is no line '{name}'"
        return ModelError(self.path, f"{fault}; expected {expected}", number, 1 if number else None)

    def word(self, name: str, words: Sequence[str]) -> str:
        values = self._values.get(name, (0, []))[1]
        if len(values) != 1 or values[0] not in words:
            raise self.refuse(name, join_names(words, "or"))
        return values[0]

    def words(self, name: str) -> list[str]:
        """Words after a name; [] if it is missing."""
        return self._values.get(name, (0, []))[1]

    def integer(self, name: str, most: int) -> int:
        """A whole number from 0 to most."""
        values = self._values.get(name, (0, []))[1]
        if (
            len(values) != 1
            or not values[0].isdigit()
            or len(values[0]) > 20
            or int(values[0]) > most
        ):
            raise self.refuse(name, f"an integer from 0 to {most}")
        return int(values[0])

    def reals(self, name: str, count: int) -> list[float]:
        """Finite numbers after a name, `count` of them."""
        try:
            values = [float(value) for value in self._values[name][1]]
        except (KeyError, ValueError):
            values = []
        if len(values) != count or not all(map(math.isfinite, values)):
            raise self.refuse(name, "a finite number" if count == 1 else f"{count} finite numbers")
        return values

    def classes(self) -> list[float]:
        """Labels of the classes in the order of the file, two or more."""
        count = self.integer("nr_class", 2**31 - 1)
        if count < 2:
            raise self.refuse("nr_class", "two classes or more")
        names = self.reals("label", count)
        if len(set(names)) < count:
            raise self.refuse("label", "different labels")
        return names

    def __contains__(self, name: str) -> bool:
        return name in self._values


def two_labels(names: Sequence[float]) -> Labels | None:
    """Labels of a model of two classes, whose file has the positive one first."""
    positive, negative = names
    return None if (negative, positive) == SIGNS else (negative, positive)
