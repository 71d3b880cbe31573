# SPDX-License-Identifier: BSD-3-Clause
"""Lists of files, named by a pattern or one by one."""

from __future__ import annotations

import os
from collections.abc import Sequence

from svmcut.base.errors import DataError, UsageError
from svmcut.files import remote
from svmcut.files.remote import local_path


def list_files(paths: str | os.PathLike | Sequence[str | os.PathLike]) -> tuple[str, list[str]]:
    """Return a name for all files in messages, and their absolute paths or URLs in the order of
    their names, or as listed.

    Raises UsageError for standard input and for a file that is named twice, DataError if no file
    fits a pattern.
    """
    if not isinstance(paths, str | os.PathLike):
        named = [os.fspath(path) for path in paths]
        if not named:
            raise UsageError("no file is named; expected one at least")
        names = named
        name = named[0] if len(named) == 1 else f"{named[0]} to {named[-1]}"
    else:
        name = os.fspath(paths)
        names = _match(name) if is_pattern(name) else [name]
        if not names:
            raise DataError(name, "no file fits this pattern")
    if "-" in names:
        raise UsageError("standard input is read once and by one process; name files")
    files = [path if remote.is_url(path) else os.path.abspath(local_path(path)) for path in names]
    if len(set(files)) < len(files):
        twice = next(path for path in files if files.count(path) > 1)
        raise UsageError("{} is named twice; every file is a part of the rows", twice)
    return name, files


def _match(pattern: str) -> list[str]:
    """Return the files that fit a pattern, in the order of their names."""
    if not remote.is_url(pattern):
        from glob import glob

        return sorted(glob(local_path(pattern)))
    try:
        return remote.match_urls(pattern)
    except OSError as error:
        raise DataError(pattern, error.strerror or str(error)) from None


def is_pattern(path: str) -> bool:
    """Return whether a name is a pattern and not the name of a file."""
    if remote.is_url(path):
        return remote.is_pattern(path)
    path = local_path(path)
    return any(sign in path for sign in "*?[") and not os.path.exists(path)
