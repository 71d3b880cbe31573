# SPDX-License-Identifier: BSD-3-Clause
"""Command lines: of the benchmarks themselves, and of svmcut as they time it."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable
from pathlib import Path

SVMCUT = str(Path(sys.executable).parent / "svmcut")


def make_parser(text: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help is a module's docstring as it stands."""
    return argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def make_recorder(text: str | None) -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    """Return a parser of "record CSV ..." and "draw FIGURE CSV", and that of its "record"."""
    parser = make_parser(text)
    commands = parser.add_subparsers(dest="what", required=True)
    record = commands.add_parser("record")
    record.add_argument("target", type=Path, metavar="CSV")
    draw = commands.add_parser("draw")
    draw.add_argument("target", type=Path, metavar="FIGURE", help="an .svg file")
    draw.add_argument("file", type=Path, metavar="CSV")
    return parser, record


def read_record(path: Path, columns: tuple[str, ...], program: str) -> list[list[str]]:
    """Return the rows of a file that a program's "record" wrote, without its head."""
    with path.open(newline="", encoding="ascii") as stream:
        head, *lines = csv.reader(stream)
    if tuple(head) != columns:
        raise SystemExit(f"{path}:1: its columns are not those of {program}; record the file anew")
    return lines


def write_made_set(text: str | None, rows: int, write: Callable[[str, int, int], None]) -> None:
    """Run a program that makes a set: write gets the path, the number of rows and the seed."""
    parser = make_parser(text)
    parser.add_argument("output")
    parser.add_argument("--rows", type=int, default=rows)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    write(arguments.output, arguments.rows, arguments.seed)


def learn(task: str, *words: object) -> list[str]:
    """Return the command line of a quiet `svmcut learn` on one thread."""
    quiet = ("learn", "-v", "0", "--threads", "1", "--task", task)
    return [SVMCUT, *quiet, *map(str, words)]
