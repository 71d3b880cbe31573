# SPDX-License-Identifier: BSD-3-Clause
"""Every failure a user may meet, with the exit status it leads to.

Messages are in compiler style, ``FILE:LINE:COLUMN: what is wrong; what is expected``, so that
editors jump to it. The command line prints ``str(error)`` on stderr and exits with
``error.exit_status``; no traceback reaches a user.
"""

from __future__ import annotations

from svmcut.base.messages import Message, without_secrets
from svmcut.base.typing import Any

#: Of a file that is not what it was at the start.
CHANGED = "the file changed while it was read"


class SvmcutError(Exception):
    """Base of all failures that are reported as one message.

    Parameters
    ----------
    message : str
        A template of svmcut.base.messages.Message, or a message.
    *values
        What fills the template.
    original : str or None
        What the executables with the originals' names say in its place, where it names parameters
        that they lack.

    Attributes
    ----------
    sentence : Message
        All there is to say; what `str` gives.
    exit_status : int
        1 for bad data, models and failed training; 2 for usage.
    marked : str
        The message for another one that holds it.
    """

    exit_status = 1

    def __init__(self, message: str = "", *values: Any, original: str | None = None):
        self.sentence = message if isinstance(message, Message) else Message(message, *values)
        self.original: str = self.sentence if original is None else original
        super().__init__(self.sentence)

    def add(self, more: str) -> None:
        """Puts more behind the sentence."""
        self.original = Message("{}; {}", self.original, more)
        self.sentence = Message("{}; {}", self.sentence, more)
        self.args = (self.sentence,)


class UsageError(SvmcutError, ValueError):
    """A parameter, a value or a combination of them that no run can honour."""

    exit_status = 2


class FileError(SvmcutError):
    """A file or its text is not what the format demands.

    Parameters
    ----------
    path : str
        The file as the user named it.
    message : str or Message
        What is wrong and what is expected; a str stands as it is.
    line, column : int or None
        1-based place; None where the fault has none (a missing file).
    hint : str
        What follows the message but under the originals' names: a remedy that they lack.
    """

    def __init__(
        self,
        path: str,
        message: str,
        line: int | None = None,
        column: int | None = None,
        hint: str = "",
    ):
        shown = without_secrets(path)
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
    """Training cannot start or go on with this data (for example: a measure that needs both
    classes)."""


class ClusterError(SvmcutError, RuntimeError):
    """A scheduler or its workers cannot be reached, or were lost."""


class MemoryLimitError(SvmcutError, MemoryError):
    """The memory a step needs is more than there is; says both."""
