#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs/terminal.svg, the picture of a terminal in README.md: commands that are run, and what they
print (make docs)."""

from __future__ import annotations

import contextlib
import tempfile
from html import escape
from pathlib import Path

from replay import ROOT, SECONDS, run

TARGET = ROOT / "docs" / "terminal.svg"
COMMANDS = (
    "svmcut learn --gap 0.001 --report learn.json data/text.train model",
    "svmcut classify data/text.test model scores",
    "svmcut inspect --top 3 --report learn.json model | tail -n 7",
)
PROMPT = "$ "
WIDTH, HEIGHT, EDGE, BAR = (
    7.8,
    18,
    16,
    30,
)  # of a character, of a line, around the text, of the bar above; pixels
STYLE = "font: 13px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; white-space: pre"


def printed() -> list[str]:
    """The lines of the terminal."""
    lines = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("data").symlink_to(ROOT / "data", target_is_directory=True)
        for command in COMMANDS:
            lines += [PROMPT + command, *run(command), ""]
    return lines[:-1]


def picture(lines: list[str]) -> str:
    """The lines in a window; every line has its length, so that any font is one of even width."""
    width = round(max(map(len, lines)) * WIDTH) + 2 * EDGE
    height = BAR + HEIGHT * len(lines) + EDGE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}">',
        f"<title>{escape(lines[0].removeprefix(PROMPT))} and what it prints</title>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#1e272c"/>',
        *(
            f'<circle cx="{EDGE + 4 + 18 * k}" cy="16" r="5" fill="{fill}"/>'
            for k, fill in enumerate(("#e57373", "#ffb74d", "#81c784"))
        ),
        f'<g style="{STYLE}" fill="#eceff1">',
    ]
    for number, line in enumerate(lines):
        if line:
            shown = escape(line)
            if line.startswith(PROMPT):
                shown = f'<tspan fill="#4db6ac">{PROMPT}</tspan>{shown.removeprefix(PROMPT)}'
            place = (
                f'x="{EDGE}" y="{BAR + HEIGHT * number + 14}" textLength="{len(line) * WIDTH:.1f}"'
            )
            parts.append(
                f'<text xml:space="preserve" {place} lengthAdjust="spacingAndGlyphs">{shown}</text>'
            )
    return "\n".join([*parts, "</g>", "</svg>", ""])


if __name__ == "__main__":
    drawn, before = picture(printed()), TARGET.read_text(encoding="utf-8")
    if SECONDS.sub("s", drawn) != SECONDS.sub("s", before):  # seconds alone are no change
        TARGET.write_text(drawn, encoding="utf-8", newline="\n")
        print(TARGET.relative_to(ROOT))
