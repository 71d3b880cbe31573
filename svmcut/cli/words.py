# SPDX-License-Identifier: BSD-3-Clause
"""Messages of the library in the words of the command line: options in the place of parameters."""

from __future__ import annotations

from functools import partial

from svmcut.messages import Message, Parameter, in_python
from svmcut.typing import Any


def in_options(message: str, original: bool = False) -> str:
    """A message that names options; under an original's name those of one letter."""
    if not isinstance(message, Message):
        return message
    from svmcut.cli.options import options
    from svmcut.cli.table_rows import ROWS
    from svmcut.spec.catalog import TASKS

    known = {option.field: option for task in TASKS for option in options(task)}
    known |= {option.field: option for option in ROWS}
    return message.worded(partial(_flag, known, original))


def _flag(known: dict[str, Any], original: bool, parameter: Parameter) -> str:
    from svmcut.spec.kinds import FLAG

    name, value = parameter
    if name not in known:
        return in_python(parameter)
    option = known[name]
    if option.kind is FLAG:
        return option.flags[0].split("/")[parameter.texts(False) == "False"]
    spelt = option.letter if original and option.letter else option.flags[0]
    return spelt if value is None else f"{spelt} {parameter.texts(False)}"
