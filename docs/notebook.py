#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the notebooks of examples/, without Jupyter, and holds what they show to what they print.

python docs/notebook.py            # names the cells that print something else
python docs/notebook.py --write    # and stores what they print today
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def notebooks() -> list[Path]:
    """All of them."""
    return sorted((ROOT / "examples").rglob("*.ipynb"))


def run_cell(source: str, names: dict[str, Any]) -> str:
    """What a cell prints, and the value of its last expression behind it."""
    tree, printed = ast.parse(source), io.StringIO()
    shown = None
    with contextlib.redirect_stdout(printed):
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            shown = ast.Expression(tree.body.pop().value)
        exec(compile(tree, "<cell>", "exec"), names)
        value = None if shown is None else eval(compile(shown, "<cell>", "eval"), names)
        if value is not None:
            print(repr(value))
    return printed.getvalue()


def run(path: Path) -> tuple[dict[str, Any], list[tuple[dict[str, Any], str]]]:
    """The notebook, and each cell of code with what it prints, in a folder beside data/."""
    book = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    told, before = [], Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(ROOT / "data", Path(folder) / "data")
        os.chdir(folder)
        try:
            for cell in book["cells"]:
                if cell["cell_type"] == "code":
                    told.append((cell, run_cell("".join(cell["source"]), names)))
        finally:
            os.chdir(before)
    return book, told


def stored(cell: dict[str, Any]) -> str:
    """What a cell shows."""
    return "".join(line for output in cell["outputs"] for line in output["text"])


def write(path: Path) -> None:
    """Stores what the cells print."""
    book, told = run(path)
    for count, (cell, text) in enumerate(told, 1):
        lines = text.splitlines(keepends=True)
        cell["execution_count"] = count
        cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": lines}] * bool(lines)
    path.write_text(json.dumps(book, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    for path in notebooks():
        if "--write" in sys.argv[1:]:
            write(path)
            continue
        for cell, text in run(path)[1]:
            if text != stored(cell):
                print(f"{path.name}: {cell['id']} prints\n{text}")


if __name__ == "__main__":
    main()
