# SPDX-License-Identifier: BSD-3-Clause
"""Features of tokens in columns from the definition: a string for every token and line; slow on
purpose."""

import re

MARKER = re.compile(r'%([a-zA-Z])\[\s*(@?)([-+]?\d+)\s*,\s*(\d+)\s*(?:,"((?:[^"\\]|\\.)*)")?\]')


def of_class(name, letter):
    """Whether a letter is of the class \\name."""
    tests = {
        "a": letter.isalpha(),
        "d": letter.isdecimal(),
        "l": letter.islower() and letter.isalpha(),
        "p": letter.isprintable() and not letter.isalnum() and not letter.isspace(),
        "s": letter.isspace(),
        "u": letter.isupper() and letter.isalpha(),
        "w": letter.isalpha() or letter.isdecimal(),
    }
    if name.lower() not in tests:
        return letter == name
    return tests[name.lower()] != name.isupper()


def match_here(regex, text):
    """Letters that an expression without ^ matches at the start of a text, the greedy way; None
    where it does not."""
    if not regex:
        return 0
    if regex == "$":
        return 0 if not text else None
    size = 2 if regex[0] == "\\" and len(regex) > 1 else 1
    atom, rest = regex[:size], regex[size:]
    fits = bool(text) and (
        atom == "." or (of_class(atom[1], text[0]) if size == 2 else atom == text[0])
    )
    sign = rest[:1] if rest[:1] in ("*", "?") else ""
    if fits:
        found = match_here(regex if sign == "*" else rest[len(sign) :], text[1:])
        if found is not None:
            return found + 1
    return match_here(rest[1:], text) if sign else None


def search(regex, text):
    """The first part of a text that matches; None where none does."""
    if regex.startswith("^"):
        found = match_here(regex[1:], text)
        return None if found is None else text[:found]
    for start in range(len(text) + 1):
        found = match_here(regex, text[start:])
        if found is not None:
            return text[start : start + found]
    return None


def shape(text):
    """Kinds of letters, runs cut to one."""
    kinds = "".join(
        "0" if c.isdigit() else c if not c.isalpha() else "X" if c.isupper() else "x" for c in text
    )
    return "".join(c for k, c in enumerate(kinds) if k == 0 or kinds[k - 1] != c)


def feature(line, rows, t):
    """The feature of a line at token t of a sequence of rows of columns."""

    def text_of(found):
        letter, absolute, row, column, regex = found.groups()
        at = t + int(row)
        if absolute:
            at = int(row) - 1 if int(row) > 0 else len(rows) + int(row)
        if at < 0:
            text = f"_B-{min(-at, 8)}"
        elif at >= len(rows):
            text = f"_B+{min(at - len(rows) + 1, 8)}"
        else:
            text = rows[at][int(column)]
        if letter in "tT":
            text = "true" if search(regex, text) is not None else "false"
        elif letter in "mM":
            text = search(regex, text) or ""
        elif letter in "sS":
            text = shape(text)
        return text.lower() if letter.isupper() else text

    return MARKER.sub(text_of, line)


def features(lines, sequences):
    """Of every token of every sequence the features of the lines U and *, a list each."""
    used = [line for line in lines if (line and line[0] in "uU*") or (line and "%" in line)]
    return [
        [feature(line, rows, t) for line in used] for rows in sequences for t in range(len(rows))
    ]
