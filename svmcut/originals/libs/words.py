# SPDX-License-Identifier: BSD-3-Clause
"""Command lines of LIBSVM's and LIBLINEAR's programs: numbers as they read them, and refusals.

Options come first, one letter of a word counts, and a number is what a word begins with, as C's
atoi and atof have it; a word that begins with none is 0.

What the programs print of training, and their model files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from svmcut.base.errors import ModelError, OutputError
from svmcut.base.messages import hide_secrets
from svmcut.cli.guard import guard
from svmcut.files.output import write_atomically

_INTEGER = re.compile(r"\s*([+-]?[0-9]+)", re.ASCII)
_REAL = re.compile(
    r"""\s*(?:
    (?P<hexadecimal>[+-]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?)
    | (?P<decimal>[+-]?(?:inf|nan|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?))
    )""",
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)


class Refused(Exception):
    """Ends a program with status 1; lines: for standard error; usage: whether the usage text
    follows, on standard output."""

    def __init__(self, *lines: str, usage: bool = False):
        super().__init__(*lines)
        self.lines, self.usage = lines, usage


def bad_usage(*lines: str) -> Refused:
    """A refusal that shows how the program is called."""
    return Refused(*lines, usage=True)


def no_model(path: str, error: ModelError) -> Refused:
    """The error for a file that is no model, in the words of the programs."""
    return Refused(": ".join([f"can't open model file {path}", error.message]))


def run_program(
    name: str, usage: str, work: Callable[[list[str]], None], argv: list[str] | None
) -> int:
    """Runs a program on its words; 0, or 1 with what it was refused for."""

    def run() -> int:
        import sys

        try:
            work(sys.argv[1:] if argv is None else argv)
        except Refused as refused:
            sys.stdout.flush()
            for line in refused.lines:
                print(hide_secrets(line), file=sys.stderr, flush=True)
            if refused.usage:
                print(usage, end="")
            return 1
        return 0

    return guard(run, lambda: name, statuses=(0, 1), final=argv is None)


def integer_of(word: str) -> int:
    """The whole number that a word begins with, cut to 32 bits; 0 without one."""
    match = _INTEGER.match(word)
    number = min(max(int(match[1][:40]), -(2**63)), 2**63 - 1) if match else 0
    return (number + 2**31) % 2**32 - 2**31


def kind_of(word: str) -> int:
    """The whole number that a word begins with, which chooses what is trained: refused where it
    would be 0 for want of one."""
    if not _INTEGER.match(word):
        raise bad_usage(f"'{word}' is refused; expected a whole number")
    return integer_of(word)


def real_of(word: str) -> float:
    """The number that a word begins with, nan and inf with the others; 0 without one."""
    match = _REAL.match(word)
    if not match:
        return 0.0
    if match["decimal"]:
        return float(match["decimal"])
    try:
        return float.fromhex(match["hexadecimal"])
    except OverflowError:
        return float("-inf" if match["hexadecimal"].startswith("-") else "inf")


def leading_options(
    words: list[str], single: str, paired: str, unknown: str
) -> tuple[list[tuple[str, str]], list[str]]:
    """Options as pairs of a word and its value, and the words behind them; single, paired: letters
    without and with a value; unknown: the words for an unknown option."""
    options, at = [], 0
    while at < len(words) and words[at].startswith("-"):
        word = words[at]
        letter = word[1:2]
        if letter and letter in single:
            options.append((word, ""))
            at += 1
            continue
        if not letter or letter not in paired:
            raise bad_usage(f"{unknown}: {word}")
        if at + 1 >= len(words):
            raise bad_usage(f"option {word} needs a value")
        options.append((word, words[at + 1]))
        at += 2
    return options, words[at:]


def weight_label(word: str) -> int:
    """The label of -wLABEL; 0 where there is none."""
    return integer_of(word[2:])


def say_now(text: str) -> None:
    """Prints lines at once."""
    print(text, flush=True)


def say_nothing(text: str) -> None:
    """Prints nothing: -q."""


def write_lines(path: str, lines: Iterable[bytes]) -> None:
    """Writes a model file as a whole."""
    try:
        with write_atomically(path) as output:
            for part in lines:
                output.write(part)
    except OutputError as error:
        raise Refused(": ".join([f"can't save model to file {path}", error.message])) from None
