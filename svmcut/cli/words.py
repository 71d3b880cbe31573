# SPDX-License-Identifier: BSD-3-Clause
"""Messages of the library in the words of the command line: options in the place of parameters."""

from __future__ import annotations

from svmcut.catalog import TASKS
from svmcut.cli.options import options
from svmcut.errors import SvmcutError
from svmcut.kinds import FLAG
from svmcut.messages import in_words


def in_options(message: str | SvmcutError, original: bool = False) -> str:
    """A message that names options; under an original's name those of one letter."""
    known = {option.field: option for task in TASKS for option in options(task)}

    def flag(name: str, value: str | None) -> str | None:
        if name not in known:
            return None
        option = known[name]
        if option.kind is FLAG:
            return option.flags[0].split("/")[value == "False"]
        spelt = min(option.flags, key=len) if original else option.flags[0]
        return spelt if value is None else f"{spelt} {value}"

    return in_words(message, flag)
