# SPDX-License-Identifier: BSD-3-Clause
"""Every failure a user may meet, with the exit status it leads to.

Messages are in compiler style, ``FILE:LINE:COLUMN: what is wrong; what is expected``, so that
editors jump to it. The command line prints ``str(error)`` on stderr and exits with
``error.exit_status``; no traceback reaches a user.
"""

from __future__ import annotations

from svmcut.base.messages import Message, hide_secrets
from svmcut.base.typing import Any

#: The message for a file that changes while it is read.
FILE_CHANGED = "the file changed while it was read"


class SvmcutError(Exception):
    """The base of all failures that are reported as one message.

    `message` is a template of svmcut.base.messages.Message that `values` fill, or a message.
    `original` is what the programs with the originals' names print instead, if the message names
    parameters that they lack.
    """

    #: 1 for bad data, models and failed training; 2 for wrong usage.
    exit_status = 1

    def __init__(self, message: str = "", *values: Any, original: str | None = None):
        #: The whole message; what `str` gives.
        self.sentence = message if isinstance(message, Message) else Message(message, *values)
        self.original: str = self.sentence if original is None else original
        super().__init__(self.sentence)

    def add(self, more: str) -> None:
        """Append more to the message."""
        self.original = Message("{}; {}", self.original, more)
        self.sentence = Message("{}; {}", self.sentence, more)
        self.args = (self.sentence,)


class UsageError(SvmcutError, ValueError):
    """A parameter, a value or a combination of them that no run can honour."""

    exit_status = 2


class FileError(SvmcutError):
    """A file or its text violates the format.

    `path` is the file as the user named it; `message` says what is wrong and what is expected,
    where a plain str stays as it is. `line` and `column` count from 1 and are None if the fault has
    no place, as with a missing file. `hint` follows the message except under the originals' names:
    a remedy that they lack.
    """

    def __init__(
        self,
        path: str,
        message: str,
        line: int | None = None,
        column: int | None = None,
        hint: str = "",
    ):
        shown = hide_secrets(path)
        place = ":".join(str(part) for part in (shown, line, column) if part is not None)
        self.path, self.line, self.column, self._said = path, line, column, (message, hint)
        self.message = Message("{}{}", message, hint)
        super().__init__(
            "{}: {}{}", place, message, hint, original=Message("{}: {}", place, message)
        )

    def __reduce__(self):
        message, hint = self._said
        return type(self), (self.path, message, self.line, self.column, hint)


class DataError(FileError, ValueError):
    """An example file that is refused."""


class NoExamples(DataError):
    """An example file without rows."""

    def __init__(self, path: str, message: str = "no examples", *place: Any):
        super().__init__(path, message, *place)


class ModelError(FileError, ValueError):
    """A model file that is refused."""


class OutputError(FileError):
    """A file that cannot be written; whatever stood there before still stands."""


class CheckpointError(FileError):
    """A checkpoint that is damaged or belongs to another run."""


class TrainingError(SvmcutError, ValueError):
    """Training cannot start or continue with this data (for example: a measure that needs both
    classes)."""


class ClusterError(SvmcutError, RuntimeError):
    """A scheduler or its workers cannot be reached, or were lost."""


class MemoryLimitError(SvmcutError, MemoryError):
    """A step needs more memory than is available; the message gives both."""
