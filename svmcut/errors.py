# SPDX-License-Identifier: BSD-3-Clause
"""Every failure a user may meet, with the exit status it leads to.

Messages are in compiler style, ``FILE:LINE:COLUMN: what is wrong; what is expected``, so that editors jump to it. The
command line prints ``str(error)`` on stderr and exits with ``error.exit_status``; no traceback reaches a user.
"""

from __future__ import annotations

from typing import Any

from svmcut.messages import Message, plain, quoted


class SvmcutError(Exception):
    """Base of all failures that are reported as one message.

    Parameters
    ----------
    message : str
        Speaks of parameters as svmcut.refusals says, never of options; names of files are `quoted`.
    original : str or None
        What the executables with the originals' names say in its place, where it names parameters that they lack.

    Attributes
    ----------
    exit_status : int
        1 for bad data, models and failed training; 2 for usage.
    marked : str
        The message for another one that holds it.
    """

    exit_status = 1

    def __init__(self, message: str = "", original: str | None = None):
        self.marked = getattr(message, "marked", message)
        super().__init__(plain(self.marked))
        self.original = Message(self.marked if original is None else original)

    def add(self, text: str) -> None:
        """Adds to the end of the message, behind a semicolon."""
        SvmcutError.__init__(self, f"{self.marked}; {text}", f"{self.original.marked}; {text}")


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
        self.path, self.line, self.column, self._said = path, line, column, (message, hint)
        self.message = Message(message + hint)
        place = ":".join(str(part) for part in (quoted(path), line, column) if part is not None)
        super().__init__(f"{place}: {message}{hint}", f"{place}: {message}")

    def __reduce__(self):
        message, hint = self._said
        return type(self), (self.path, message, self.line, self.column, hint)


class DataError(FileError, ValueError):
    """An example file is refused."""


class NoExamples(DataError):
    """An example file has no rows."""

    def __init__(self, path: str, message: str = "no examples", *place: Any):
        super().__init__(path, message, *place)


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
