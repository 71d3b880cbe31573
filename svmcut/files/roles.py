# SPDX-License-Identifier: BSD-3-Clause
"""Roles of the files of one run, and the check that nothing it writes is any other of them."""

from __future__ import annotations

import os
import stat

from svmcut.base.errors import UsageError
from svmcut.base.typing import TYPE_CHECKING, NamedTuple
from svmcut.files.output import check_writable, descriptor_of
from svmcut.files.remote import is_url, located

if TYPE_CHECKING:
    from collections.abc import Iterable


class File(NamedTuple):
    """A file of a run: the option or argument that names it, as messages say it, and its path."""

    option: str
    path: str

    def __str__(self) -> str:
        return self.option if self in _STREAMS else f"{self.option} {self.path!r}"


#: Where a run says what it does.
_STREAMS = (File("standard output", "/dev/stdout"), File("standard error", "/dev/stderr"))


def check_roles(inputs: Iterable[File], outputs: Iterable[File]) -> None:
    """Refuses outputs that are inputs or other outputs, and those that cannot be written; nothing
    is read or changed.

    Parameters
    ----------
    inputs, outputs : iterable of File
        ``-`` is standard input and standard output.

    Raises
    ------
    UsageError
        When an output is the file of another role, by whatever name: another path, a link, what the
        shell has standard input or output redirected to. Two inputs may be one file. What is no
        regular file (/dev/null, a pipe) may have any number of roles, and so may what is written as
        it comes through an open descriptor.
    OutputError
        As check_writable.
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
    """Equal for names of one file: device and inode, or folder and name where it is not yet there.

    None for what is no regular file; a URL is its own.
    """
    if is_url(path):
        return path
    path = located(path)
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
