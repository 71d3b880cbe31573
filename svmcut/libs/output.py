# SPDX-License-Identifier: BSD-3-Clause
"""What the programs print of training, and their model files."""

from __future__ import annotations

from collections.abc import Iterable

from svmcut.errors import OutputError
from svmcut.files.output import write_atomically
from svmcut.libs.words import Refused


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
