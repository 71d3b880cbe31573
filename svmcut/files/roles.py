# SPDX-License-Identifier: BSD-3-Clause
"""The roles of the files of one run, and the check that no output is another of its files."""

from __future__ import annotations

import os
import stat

from svmcut.base.errors import UsageError
from svmcut.base.typing import TYPE_CHECKING, NamedTuple
from svmcut.files.output import check_writable, descriptor_of
from svmcut.files.remote import is_url, local_path

if TYPE_CHECKING:
    from collections.abc import Iterable


class File(NamedTuple):
    """A file of a run: the option or argument that names it, as messages say it, and its path."""

    option: str
    path: str

    def __str__(self) -> str:
        return self.option if self in _STREAMS else f"{self.option} {self.path!r}"


#: The files of a run's messages.
_STREAMS = (File("standard output", "/dev/stdout"), File("standard error", "/dev/stderr"))


def check_roles(inputs: Iterable[File], outputs: Iterable[File]) -> None:
    """Refuse outputs that are inputs or other outputs, and those that cannot be written; nothing is
    read or changed.

    ``-`` is standard input and standard output. Raises UsageError if an output is the file of
    another role, by whatever name: another path, a link, the target of a redirection of the shell.
    Two inputs may be one file. A target that is no regular file (/dev/null, a pipe) may have any
    number of roles, and so may one that is written in order through an open descriptor. Raises
    OutputError as `check_writable`.
    """
    outputs = list(outputs)
    holders: dict[object, tuple[File, bool]] = {}
    for file in inputs:
        descriptor = 0 if file.path == "-" else descriptor_of(file.path)
        holders.setdefault(_identity(file.path, descriptor), (file, False))
    for file in (*_STREAMS, *outputs):
        descriptor = descriptor_of(file.path)
        identity, as_it_comes = _identity(file.path, descriptor), descriptor is not None
        other, shared = holders.setdefault(identity, (file, as_it_comes))
        if identity is not None and other is not file and not (shared and as_it_comes):
            raise UsageError(
                "{} and {} are the same file; give the output a name of its own", other, file
            )
    for file in outputs:
        check_writable(file.path)


def _identity(path: str, descriptor: int | None) -> object:
    """Return an identity that is equal for names of one file: device and inode, or folder and name
    of a missing file.

    It is None for a target that is no regular file, and a URL itself.
    """
    if is_url(path):
        return path
    path = local_path(path)
    try:
        status = os.stat(path) if descriptor is None else os.fstat(descriptor)
        return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None
    except OSError:
        if descriptor is not None:
            return None
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    try:
        status = os.stat(folder)
    except OSError:
        return target
    return status.st_dev, status.st_ino, name
