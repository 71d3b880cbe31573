# SPDX-License-Identifier: BSD-3-Clause
"""Temporary files of runs that were killed: ``.svmcut-PID-HOME-RANDOM``, which the next run in the
folder removes.

A process id says something on one system alone, and folders are shared: HOME is a mark of the host
and its process ids. A file goes at once where the mark is this system's and the process is gone;
after a week where it is another's or there is none, as older versions wrote, and no process here
has that id. It must be this user's, and a regular file.
"""

from __future__ import annotations

import contextlib
import functools
import os
import stat
import time
import zlib

from svmcut.patterns import pattern

_NAME = pattern(r"\.svmcut-([0-9a-f]{1,8})-(?:([0-9a-f]{8})-)?[0-9a-f]{12}")
#: Seconds after which a file of another system is no running process's.
_OLD = 7 * 86400.0


@functools.cache
def home() -> str:
    """Eight digits that stand for this host and its space of process ids."""
    known = [os.uname().nodename if hasattr(os, "uname") else ""]
    with contextlib.suppress(OSError), open("/etc/machine-id", "rb") as file:
        known.append(file.read(64).hex())
    with contextlib.suppress(OSError):
        space = os.stat("/proc/self/ns/pid")
        known.append(f"{space.st_dev} {space.st_ino}")
    return f"{zlib.crc32(repr(known).encode()):08x}"


def clear(folder: str) -> None:
    """Removes from a folder what processes left that are gone; whatever fails, another run may
    do."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError), os.scandir(folder or ".") as entries:
        for entry in entries:
            if not entry.name.startswith(".svmcut-"):
                continue
            match = _NAME.fullmatch(entry.name)
            if match is not None and _is_left(entry, int(match[1], 16), match[2]):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)


def _is_left(entry: os.DirEntry, process: int, mark: str | None) -> bool:
    if not _is_gone(process):
        return False
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:  # it has just been removed
        return False
    own = stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid()
    return own and (mark == home() or time.time() - status.st_mtime > _OLD)


def _is_gone(process: int) -> bool:
    """Whether no process has this id, which must be one: 0 is a group's."""
    if process < 1:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # another user's
        return False
    return False
