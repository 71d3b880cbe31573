# SPDX-License-Identifier: BSD-3-Clause
"""Texts and numbers of a model as literals of programs: nothing of the data stands in a program
unescaped."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Sequence

from svmcut.base.errors import UsageError
from svmcut.base.typing import Any

#: Bytes of a text that every C compiler takes.
MAX_C_TEXT = 4000
_PLAIN = set(" _-.,:=()%+<>&#'")
#: Keywords of C and C++, and macros of their headers and of systems, in lower case.
_RESERVED = """
    alignas alignof and and_eq asm assert auto bitand bitor bool break case catch char char8_t
    char16_t char32_t class co_await co_return co_yield compl complex concept const const_cast
    consteval constexpr constinit continue decltype default delete do double dynamic_cast else enum
    errno explicit export extern false far float for friend goto huge i386 if imaginary inline int
    interface linux long major minor mutable namespace near new noexcept noreturn not not_eq
    nullptr offsetof operator or or_eq private protected public register reinterpret_cast requires
    restrict return short signed sizeof small static static_assert static_cast stderr stdin stdout
    struct switch template this thread_local throw true try typedef typeid typename typeof
    typeof_unqual union unix unsigned using virtual void volatile wchar_t while xor xor_eq
"""


def remark(text: object, most: int = 60) -> str:
    """A text within a comment of any language: letters, digits and harmless signs, at most so
    many."""
    shown = str(text)
    safe = "".join(c if c.isalnum() or c in _PLAIN else "_" for c in shown[:most])
    return safe + ".." * (len(shown) > most)


def real(value: Any) -> str:
    """A float64 that no language takes for a whole number."""
    return repr(float(value))


def wrap(words: Iterable[str], indent: str = "    ", width: int = 100) -> str:
    """Words with commas between and behind, in lines of so many that the longest word would leave
    within this width."""
    words = [*words]
    step = max(1, (width - len(indent)) // (max(map(len, words), default=0) + 2))
    lines = (words[at : at + step] for at in range(0, len(words), step))
    return "\n".join(f"{indent}{', '.join(line)}," for line in lines)


def identifiers(names: Sequence[str]) -> list[str]:
    """A name of a field of a C struct for every name: ASCII, in lower case, no keyword, each
    once."""
    fields: list[str] = []
    for place, name in enumerate(names, 1):
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
        base = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:60] or f"column_{place}"
        base = f"column_{base}" if base[0].isdigit() else base
        base += "_" * (base in _RESERVED.split())
        made, count = base, 1
        while made in fields:
            count += 1
            made = f"{base}_{count}"
        fields.append(made)
    return fields


def is_identifier(name: str) -> bool:
    """True for a prefix of names that C, JavaScript and Python take."""
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,60}", name) is not None


def in_python(text: str) -> str:
    """A literal of Python."""
    return repr(text)


def in_javascript(text: str) -> str:
    """A literal of JavaScript, also within a page of HTML."""
    return '"' + "".join(map(_of_javascript, text)) + '"'


def _of_javascript(c: str) -> str:
    if c in '"\\':
        return "\\" + c
    return c if c.isprintable() and c not in "<>&" else f"\\u{{{ord(c):x}}}"


def in_c(text: str) -> str:
    """A literal of C, of the bytes of its UTF-8; without trigraphs."""
    signs = (
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}"
        for byte in text.encode("utf-8", "surrogateescape")
    )
    return '"' + "".join(signs) + '"'


def quote_sql(name: str) -> str:
    """A name of SQL. Raises UsageError for a NUL, which no database takes."""
    if "\0" in name:
        raise UsageError("a column is called '{}', which no database takes", name)
    return '"' + name.replace('"', '""') + '"'


def in_sql(text: str, character: str) -> str:
    """A text of SQL, where this function makes signs that are not printed."""
    if not text:
        return "''"
    runs = [(is_plain, "".join(run)) for is_plain, run in itertools.groupby(text, str.isprintable)]
    parts = [
        "'" + run.replace("'", "''") + "'"
        if is_plain
        else " || ".join(f"{character}({ord(sign)})" for sign in run)
        for is_plain, run in runs
    ]
    return f"({' || '.join(parts)})" if len(parts) > 1 or not runs[0][0] else parts[0]
