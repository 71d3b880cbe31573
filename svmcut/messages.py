# SPDX-License-Identifier: BSD-3-Clause
"""What a message is: words of the library, which a command line or an estimator puts in its own, and quoted names."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

#: How messages of the library speak of parameters.
_SPELLING = (
    r"parameter '(\w+)'|\b([a-z_0-9]+)=('[\w-]+'(?:(?:, | or )'[\w-]+')*|True|False|-?[\d.]+(?:e[+-]?\d+)?(?: or \d+)?)"
)
#: Characters that no name holds (Unicode's noncharacters); what stands between them is a caller's.
_OPEN, _CLOSE = "\ufdd0", "\ufdd1"
_QUOTED = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")
#: What would move the cursor, colour the terminal, end the line or turn its direction round.
_CONTROLS = r"\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufdd0\ufdd1"
_CONTROL = re.compile(f"[{_CONTROLS}]")
_CONTROL_IN_LINES = re.compile(f"(?![\t\n])[{_CONTROLS}]")


def quoted(name: Any) -> str:
    """A file's name, or another text of a caller's, for a place in a message: no wording changes it there.

    The message must be one of an SvmcutError or a `Message`, which take the marks away. Control characters are escaped.
    """
    return f"{_OPEN}{printable(name)}{_CLOSE}"


def printable(text: Any, lines: bool = False) -> str:
    """A text with escapes such as \\x1b in the place of control characters; with `lines` newlines and tabs stay."""
    return (_CONTROL_IN_LINES if lines else _CONTROL).sub(lambda found: ascii(found[0])[1:-1], str(text))


def plain(marked: str) -> str:
    """A text without the marks of what is quoted in it."""
    return marked.replace(_OPEN, "").replace(_CLOSE, "")


class Message(str):
    """A text that knows what in it is `quoted`; warnings that name files are such.

    Attributes
    ----------
    marked : str
        The text for another message that holds it.
    """

    marked: str

    def __new__(cls, marked: str) -> Message:
        found = super().__new__(cls, plain(marked))
        found.marked = marked
        return found


def in_words(message: str | Exception, flag: Callable[[str, str | None], str | None]) -> str:
    """A message in which flag(name, value or None) stands for a parameter, unless that is None or it is quoted."""

    def put(match: re.Match) -> str:
        name, value = match[1] or match[2], match[3]
        return flag(name, None if value is None else value.replace("'", "")) or match[0]

    found = _QUOTED.split(getattr(message, "marked", str(message)))
    return "".join(words if k % 2 else re.sub(_SPELLING, put, words) for k, words in enumerate(found))
