# SPDX-License-Identifier: BSD-3-Clause
"""Messages of the library in the words of the command line: options in the place of parameters."""

from __future__ import annotations

from svmcut.catalog import TASKS, load
from svmcut.refusals import in_words

SWITCHES = ("polish", "certify", "free_bias", "progress", "resume")


def in_options(message: str, original: bool = False) -> str:
    """A message that names options; under an original's name those of one letter."""
    flags = {option.field: option.flags for task in TASKS.values() for option in load(task.options)}

    def flag(name: str, value: str | None) -> str | None:
        if name in SWITCHES:
            return f"--{'no-' if value == 'False' else ''}{name.replace('_', '-')}"
        if name not in flags:
            return None
        known = min(flags[name], key=len) if original else flags[name][0]
        return known if value is None else f"{known} {value}"

    return in_words(message, flag)
