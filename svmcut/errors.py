# SPDX-License-Identifier: BSD-3-Clause
"""Every failure a user may meet, with the exit status it leads to.

Messages are in compiler style, ``FILE:LINE:COLUMN: what is wrong; what is expected``, so that editors jump to it. The
command line prints ``str(error)`` on stderr and exits with ``error.exit_status``; no traceback reaches a user.
"""

from __future__ import annotations

import re
from collections.abc import Callable


class SvmcutError(Exception):
    """Base of all failures that are reported as one message.

    Parameters
    ----------
    message : str
        Speaks of parameters as svmcut.refusals says, never of options.
    original : str or None
        What the executables with the originals' names say in its place, where it names parameters that they lack.

    Attributes
    ----------
    exit_status : int
        1 for bad data, models and failed training; 2 for usage.
    """

    exit_status = 1

    def __init__(self, message: str = "", original: str | None = None):
        super().__init__(message)
        self.original = message if original is None else original


class UsageError(SvmcutError, ValueError):
    """A parameter, a value or a combination of them that no run can honour."""

    exit_status = 2


class FileError(SvmcutError):
    """A file or its text is not what the format demands.

    Parameters
    ----------
    path : str
        The file as the user named it.
    message : str
        What is wrong and what is expected.
    line, column : int or None
        1-based place; None where the fault has none (a missing file).
    hint : str
        What follows the message but under the originals' names: a remedy that they lack.
    """

    def __init__(
        self, path: str, message: str, line: int | None = None, column: int | None = None, hint: str = ""
    ):  # fmt: skip
        self.path, self.message, self.line, self.column = path, message + hint, line, column
        place = ":".join(str(part) for part in (path, line, column) if part is not None)
        super().__init__(f"{place}: {message}{hint}", f"{place}: {message}")

    def __reduce__(self):
        return type(self), (self.path, self.message, self.line, self.column)


class DataError(FileError, ValueError):
    """An example file is refused."""


class ModelError(FileError, ValueError):
    """A model file is refused."""


class OutputError(FileError):
    """A file cannot be written; whatever stood there before still stands."""


class CheckpointError(FileError):
    """A checkpoint is damaged, or of another run."""


class TrainingError(SvmcutError, ValueError):
    """Training cannot start or go on with this data (for example: a measure that needs both classes)."""


class ClusterError(SvmcutError, RuntimeError):
    """A scheduler or its workers cannot be reached, or were lost."""


class MemoryLimitError(SvmcutError, MemoryError):
    """The memory a step needs is more than there is; says both."""


_SPELLING = (
    r"parameter '(\w+)'|\b([a-z_0-9]+)=('[\w-]+'(?:(?:, | or )'[\w-]+')*|True|False|-?[\d.]+(?:e[+-]?\d+)?(?: or \d+)?)"
)


def in_words(message: str, flag: Callable[[str, str | None], str | None]) -> str:
    """A message in which flag(name, value or None) stands for a parameter, unless that is None."""

    def put(match: re.Match) -> str:
        name, value = match[1] or match[2], match[3]
        return flag(name, None if value is None else value.replace("'", "")) or match[0]

    return re.sub(_SPELLING, put, message)
