#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the commands that README.md and the pages of docs/ show, and holds what is printed there
against their output.

A ```console block has commands behind "$ " and their output below; indented lines with a command of
svmcut, and ```python blocks, are run too. Those of a page run one after the other, Python with the
same names, in a folder of their own beside data/. A line "..." stands for any lines; decimal
numbers may differ in their last digits. --write puts today's numbers into the pages (make docs).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    "README.md",
    *sorted(
        str(path.relative_to(ROOT))
        for path in (ROOT / "docs").rglob("*.md")
        if path.name != "extending.md"  # whose steps are parts of files
    ),
)
COMMAND = re.compile(r"    svmcut (learn|rank|classify|inspect|scale) ")
#: Its Python needs a scheduler of Dask; tests/cli/test_cluster*.py run the like.
NEEDS_MORE = "docs/clusters.md"
DECIMAL = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")
SECONDS = re.compile(r"\d+\.\d+ s\b")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


class Shown(NamedTuple):
    """A command of a page and the numbers of the lines that show its output; None where none is
    shown."""

    command: str
    lines: range | None


def shown(page: list[str]) -> list[Shown]:
    """The commands of a page, in its order."""
    found: list[Shown] = []
    fence, command, start = None, None, 0
    for number, line in enumerate(page):
        ends = line.startswith("```")
        if fence is None:
            if COMMAND.match(line):
                found.append(Shown(line.strip(), None))
            fence = line[3:].strip() if ends else None
        elif ends or (fence == "console" and line.startswith("$ ")):
            if command:
                found.append(Shown(command, range(start, number)))
            command, start = (None, 0) if ends else (line[2:], number + 1)
            fence = None if ends else fence
    return found


def scripts(page: str) -> list[str]:
    """The Python of a page."""
    return re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def run(command: str) -> list[str]:
    """Lines a command prints; svmcut's own in this process.

    Raises
    ------
    RuntimeError
        When it ends with another status than 0.
    """
    words = shlex.split(command)
    if words[0] == "svmcut" and not {">", "|"} & set(words):
        from svmcut.cli.start import main

        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = main(words[1:])
        text = out.getvalue()
    else:
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        done = subprocess.run(
            command, shell=True, capture_output=True, text=True, env=os.environ | {"PATH": path}
        )
        status, text = done.returncode, done.stdout
    if status:
        raise RuntimeError(f"{command}: ended with {status}")
    return text.splitlines()


def near(expected: str, actual: str) -> bool:
    """Whether two lines are the same up to seconds and the last digits of decimal numbers."""
    expected, actual = SECONDS.sub("# s", expected), SECONDS.sub("# s", actual)
    if DECIMAL.sub("#", expected.rstrip()) != DECIMAL.sub("#", actual.rstrip()):
        return False
    pairs = zip(DECIMAL.findall(expected), DECIMAL.findall(actual))
    return all(
        abs(float(a) - float(b)) <= max(2 * last_digit(a), 1e-3 * abs(float(a)), 1e-4)
        for a, b in pairs
    )


def last_digit(number: str) -> float:
    """What one more in the last digit of a number is worth."""
    mantissa, _, exponent = number.partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def same_shape(expected: str, actual: str) -> bool:
    """Whether two lines differ in numbers alone."""
    return NUMBER.sub("#", expected).split() == NUMBER.sub("#", actual).split()


def matched(expected: list[str], actual: list[str], same=near) -> list[str] | None:
    """The actual lines that stand where the expected ones do, "..." kept; None where they do not
    fit."""
    parts = [[]]
    for line in expected:
        if line == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    result: list[str] = []
    at = 0
    for number, part in enumerate(parts):
        last = len(actual) - len(part)
        first = max(at, last) if number == len(parts) - 1 else at
        if number == 0:
            last = min(last, 0)
        places = [
            k for k in range(first, last + 1) if all(map(same, part, actual[k : k + len(part)]))
        ]
        if not places:
            return None
        result += ["..."] * (number > 0) + actual[places[0] : places[0] + len(part)]
        at = places[0] + len(part)
    return result


def replay(name: str, write: bool = False) -> list[str]:
    """Runs the commands of a page; what does not fit, as messages with the place in front."""
    page = (ROOT / name).read_text(encoding="utf-8").splitlines()
    commands, faults, new = shown(page), [], list(page)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("data").symlink_to(ROOT / "data", target_is_directory=True)
        for command, lines in commands:
            actual = run(command)
            if lines is None:
                continue
            expected = page[lines.start : lines.stop]
            fits = matched(expected, actual)
            renewed = matched(expected, actual, same_shape) if write else fits
            if renewed is None:
                printed = "\n".join(f"    {line}" for line in actual)
                faults.append(
                    f"{name}:{lines.start}: $ {command}\nprints something else than "
                    f"shown:\n{printed}"
                )
            elif write and fits is None:
                new[lines.start : lines.stop] = renewed
        names: dict[str, Any] = {}
        for script in scripts("\n".join(page)) if name != NEEDS_MORE else ():
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(script, name, "exec"), names)
    if new != page:
        (ROOT / name).write_text("\n".join(new) + "\n", encoding="utf-8", newline="\n")
        print(name)
    return faults


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put today's numbers into the pages")
    parser.add_argument("pages", nargs="*", default=PAGES, help="paths from the project's folder")
    arguments = parser.parse_args()
    messages = [message for name in arguments.pages for message in replay(name, arguments.write)]
    sys.exit("\n".join(messages) or None)
