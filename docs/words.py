#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Words of README.md and docs/, today or at a commit: docs/words.py [COMMIT]."""

from __future__ import annotations

import argparse
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Between these lines a page is made of the help texts.
MADE = re.compile(
    r"<!-- Written by `make docs`.*?<!-- End of what `make docs` writes. -->", re.DOTALL
)


def git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def pages(commit: str | None) -> dict[str, str]:
    """The text of README.md, CONTRIBUTING.md and the pages of docs/ and man/ by path."""
    wanted = ("README.md", "CONTRIBUTING.md", "docs", "man")
    if commit:
        paths = git("ls-tree", "-r", "--name-only", commit, "--", *wanted).splitlines()
        return {path: git("show", f"{commit}:{path}") for path in paths if kind(path)}
    paths = git("ls-files", "--", *wanted).splitlines()
    return {path: (ROOT / path).read_text(encoding="utf-8") for path in paths if kind(path)}


def kind(path: str) -> str:
    """Which row of the table counts a file; empty for what is no text to read."""
    name = path.rsplit("/", 1)[-1]
    if path.startswith("man/"):
        return "man pages, made of the help"
    if not path.endswith(".md"):
        return ""
    if name == "messages.md":
        return "docs/messages.md, made by a benchmark"
    if name.startswith("benchmarks") or name in ("board.md", "figures.md"):
        return "pages of benchmarks"
    return path if path.isupper() or "/" not in path else "pages written by hand"


def counts(texts: dict[str, str]) -> dict[str, int]:
    """Words by kind of page; a word is what stands between blanks."""
    found: dict[str, int] = {}
    for path, text in texts.items():
        made = len(" ".join(MADE.findall(text)).split())
        for row, number in (
            (kind(path), len(text.split()) - made),
            ("options, made of the help", made),
        ):
            found[row] = found.get(row, 0) + number
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", nargs="?", help="a commit; without it the files as they are")
    parser.add_argument("--pages", action="store_true", help="each file too")
    arguments = parser.parse_args()
    texts = pages(arguments.commit)
    if arguments.pages:
        for path, text in texts.items():
            print(f"{len(text.split()):7,}  {path}")
    rows = counts(texts)
    for row, number in [*sorted(rows.items()), ("all", sum(rows.values()))]:
        print(f"{number:7,}  {row}")
