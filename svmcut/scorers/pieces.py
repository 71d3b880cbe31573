# SPDX-License-Identifier: BSD-3-Clause
"""Pieces of programs, which stand in a file of their language beside this one: each behind a line
of three signs, a blank and its name."""

from __future__ import annotations

import re
from pathlib import Path


def read_pieces(name: str) -> dict[str, str]:
    """The pieces of a file by their names."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    _, *parts = re.split(r"^(?://|#)@ (.*)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))
