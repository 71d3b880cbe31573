# SPDX-License-Identifier: BSD-3-Clause
"""The files of a checkpoint: FILE, the generation before it in FILE.1, and FILE.lock while a run
holds them.

(I1) A file is overwritten or moved only where it begins as checkpoints do. (I2) Only what a run
wrote, or went on from, is removed by it. (I3) Symbolic links are followed, and never replaced or
removed. Of a URL nothing is locked: a store of objects has no locks.
"""

from __future__ import annotations

import contextlib
import os
import stat

from svmcut.errors import CheckpointError, OutputError, UsageError
from svmcut.files import remote
from svmcut.files.output import descriptor_of
from svmcut.messages import Message
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC = b"svmcut checkpoint 1\n"
_LOCK_MAGIC = b"svmcut lock 1\n"
#: Bytes at the end of a checkpoint that no other has.
_CHECKSUM = 32


def newest(path: str) -> str:
    """The file behind the name of a checkpoint."""
    path = remote.located(path)
    return os.path.realpath(path) if os.path.islink(path) else path


def previous(path: str) -> str:
    """The file of the generation before."""
    return newest(newest(path) + ".1")


def lock_of(path: str) -> str:
    """The file that is locked while a run holds the checkpoint."""
    return newest(newest(path) + ".lock")


def check_ours(path: str) -> None:
    """Refuses a checkpoint's name under which something else stands.

    Raises
    ------
    CheckpointError
        When FILE is an open descriptor, when FILE or FILE.1 is there and is no regular file or does
        not begin as checkpoints do, when FILE.lock is there and is no lock of ours.
    """
    another = Message("name another file with {checkpoint}")
    if descriptor_of(path) is not None:
        raise CheckpointError(path, Message("is no regular file; {}", another))
    for name, magic in (
        (newest(path), MAGIC),
        (previous(path), MAGIC),
        (lock_of(path), _LOCK_MAGIC),
    ):
        try:
            if remote.is_url(name):
                if magic is not MAGIC:
                    continue
            elif not stat.S_ISREG(os.stat(name).st_mode):
                raise CheckpointError(name, Message("is no regular file; {}", another))
            with remote.open_file(name) as file:
                start = file.read(len(magic))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise CheckpointError(name, f"cannot be read: {error.strerror or error}") from error
        # A run killed between making its lock and writing into it leaves an empty one, which is
        # locked and removed too.
        if start != magic and (start or magic is MAGIC):
            what = "checkpoint" if magic is MAGIC else "lock"
            raise CheckpointError(
                name, Message("is no {} of svmcut; remove it or {}", what, another)
            )


def make_room(path: str) -> None:
    """What is FILE becomes FILE.1.

    Raises
    ------
    OutputError
    """
    try:
        if remote.is_url(path):
            remote.copy(path, previous(path))
        else:
            os.replace(newest(path), previous(path))
    except FileNotFoundError:
        pass
    except OSError as error:
        raise OutputError(
            path, f"cannot be kept as {previous(path)}: {error.strerror or error}"
        ) from error


class Generations:
    """What a run may remove of a checkpoint's files.

    Parameters
    ----------
    path : str
        FILE.
    """

    def __init__(self, path: str):
        self._path = path
        self._mine: set[tuple[Any, ...]] = set()

    def __bool__(self) -> bool:
        return bool(self._mine)

    def own_all(self) -> None:
        """What is there now is this run's: it goes on from it."""
        self._mine = set(self._there().values())

    def own_newest(self) -> None:
        """This run has just written FILE, and moved what was FILE to FILE.1."""
        there = self._there()
        self._mine = {identity for identity in there.values() if identity in self._mine}
        self._mine.update(
            identity for name, identity in there.items() if name == newest(self._path)
        )

    def remove(self) -> None:
        """Removes what is this run's."""
        for name, identity in self._there().items():
            if identity in self._mine:
                with contextlib.suppress(OSError):
                    (remote.remove if remote.is_url(name) else os.unlink)(name)
        self._mine.clear()

    def _there(self) -> dict[str, tuple[Any, ...]]:
        identities: dict[str, tuple[Any, ...]] = {}
        for name in (newest(self._path), previous(self._path)):
            with contextlib.suppress(OSError):
                if remote.is_url(name):  # a copy has the checksum too
                    identities[name] = (remote.last_bytes(name, _CHECKSUM),)
                else:
                    status = os.stat(name)
                    identities[name] = status.st_dev, status.st_ino
        return identities


@contextlib.contextmanager
def hold(path: str) -> Iterator[str | None]:
    """Keeps the checkpoint for one run at a time, by a lock on FILE.lock, which is removed in the
    end.

    Yields
    ------
    str or None
        A warning where the file system has no locks.

    Raises
    ------
    UsageError
        When another run holds it.
    """
    if remote.is_url(path):
        yield None
        return
    name, descriptor, warning = lock_of(path), None, None
    try:
        descriptor = _lock(name)
    except BlockingIOError:
        raise UsageError(
            "the checkpoint {!r} is in use by another run; wait for its end or name another "
            "file with {checkpoint}",
            path,
        ) from None
    except (OSError, ImportError) as error:
        reason = getattr(error, "strerror", None) or error
        warning = Message(
            "{}: cannot be locked: {}; another run with this checkpoint would not be noticed",
            name,
            reason,
        )
    try:
        yield warning
    finally:
        if descriptor is not None:
            with contextlib.suppress(OSError):
                os.unlink(name)
            os.close(descriptor)


def _lock(name: str) -> int:
    """A descriptor of the locked file; once it is closed, or the process has ended, the lock is
    free again."""
    import fcntl

    while True:
        made = not os.path.exists(name)
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_there(name, descriptor):
                with contextlib.suppress(OSError):  # a full disk; an empty file is as good a lock
                    os.write(descriptor, _LOCK_MAGIC)
                return descriptor
        except BaseException as error:
            os.close(descriptor)
            if made and isinstance(error, OSError) and not isinstance(error, BlockingIOError):
                os.unlink(name)
            raise
        os.close(descriptor)  # its last holder has removed it since it was opened


def _is_there(name: str, descriptor: int) -> bool:
    """Whether the file of the descriptor still has this name."""
    try:
        return os.path.samestat(os.stat(name), os.fstat(descriptor))
    except FileNotFoundError:
        return False
