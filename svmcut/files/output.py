# SPDX-License-Identifier: BSD-3-Clause
"""Writing files so that a killed run leaves the old file or the new one.

A regular file is written under another name in its folder, synced and renamed over the target. A
pipe, a device or a terminal has no such thing as an old content and is written in place; so is
``-``, standard output.

Temporary files of runs that were killed: ``.svmcut-PID-HOME-RANDOM``, which the next run in the
folder removes.

A process id says something on one system alone, and folders are shared: HOME is a mark of the host
and its process ids. A file goes at once where the mark is this system's and the process is gone;
after a week where it is another's or there is none, as older versions wrote, and no process here
has that id. It must be this user's, and a regular file.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import stat
import time
import zlib

from svmcut.base.errors import OutputError
from svmcut.base.patterns import pattern
from svmcut.base.typing import TYPE_CHECKING
from svmcut.files import remote

if TYPE_CHECKING:
    from collections.abc import Iterator


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
    """Return whether no process has this id; ids below 1 are those of groups."""
    if process < 1:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # another user's
        return False
    return False


#: Names of open descriptors: of the standard ones, and folders of numbers.
_STREAMS, _DESCRIPTORS = ("/dev/stdin", "/dev/stdout", "/dev/stderr"), ("/dev/fd", "/proc/self/fd")
_BUFFER_BYTES = 1 << 20
#: A number that a model file states in eight digits comes back with at most this relative error: to
#: float32, to %.8g, to float32.
KEPT = 2.0**-24 * 2 + 5e-8
#: Folders that were looked through for what killed runs left.
_cleared: set[str] = set()


class Output:
    """A file being written. Its failures are OutputError; a closed pipe stays BrokenPipeError,
    which is no failure."""

    def __init__(self, path: str, descriptor: int):
        self._path = path
        self._file = io.BufferedWriter(io.FileIO(descriptor, "wb"), _BUFFER_BYTES)

    def write(self, data: bytes | memoryview) -> None:
        """Append data.

        Raises
        ------
        OutputError
            When the system refuses (disk full, quota, device error).
        BrokenPipeError
            When the reader of a pipe is gone.
        """
        with _named(self._path):
            self._file.write(data)

    def _finish(self, sync: bool) -> None:
        with _named(self._path):
            self._file.flush()
            if sync:
                os.fsync(self._file.fileno())
            self._file.close()

    def _abandon(self) -> None:
        # Below its buffer: a flush may fail once more on a full disk, or wait for the reader of a
        # pipe after a signal.
        with contextlib.suppress(OSError):
            self._file.raw.close()


@contextlib.contextmanager
def write_atomically(path: str) -> Iterator[Output]:
    """A context manager that yields an Output and puts it at ``path`` when the block ends without
    an exception.

    Parameters
    ----------
    path : str
        Symbolic links are followed: what the link points to is replaced. Mode and owner of an
        existing file are kept; a new file gets what the umask leaves. A target that is no regular
        file is written in place, as it comes; ``-`` is standard output. What goes to a URL is sent
        when it is complete.

    Raises
    ------
    OutputError
        When the target cannot be written. The old content stands and no temporary file is left, as
        it is after any exception of the block.
    """
    check_writable(path)
    if remote.is_url(path):
        with _sent(path) as sent:
            yield sent
        return
    output = temporary = None
    try:
        with _named(path):
            target, old = _resolve(path)
            if descriptor_of(path) is not None or (
                old is not None and not stat.S_ISREG(old.st_mode)
            ):
                output = Output(path, _open_in_place(path, target))
            else:
                # Named before it exists: a signal may end the run between any two steps.
                temporary = _name_beside(target)
                output = Output(path, _create(temporary, old))
        yield output
        output._finish(sync=temporary is not None)
        if temporary is not None:
            with _named(path):
                os.replace(temporary, target)
                temporary = None
                _sync_folder(os.path.dirname(target))
    finally:
        if output is not None:
            output._abandon()
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


@contextlib.contextmanager
def _sent(url: str) -> Iterator[Output]:
    """An Output whose content goes to a URL at the end."""
    import tempfile

    with _named(url):
        descriptor, name = tempfile.mkstemp(prefix="svmcut-")
    output = Output(url, descriptor)
    try:
        yield output
        output._finish(sync=False)
        with _named(url):
            remote.put(name, url)
    finally:
        output._abandon()
        with contextlib.suppress(OSError):
            os.unlink(name)


def check_writable(path: str) -> None:
    """Find out before the work starts whether ``path`` can be written; nothing is created or
    changed.

    Raises
    ------
    OutputError
        For an empty name, a directory, a folder that is missing or read-only, a file without write
        permission, a name the file system does not take.
    """
    with _named(path):
        if remote.is_url(path):
            remote.check_writable(path)
            return
        if not path:
            raise OutputError(path, "an empty file name cannot be written")
        descriptor = descriptor_of(path)
        if descriptor is not None:
            if not _is_written(descriptor):
                raise OutputError(path, "is not open for writing")
            return
        target, old = _resolve(path)
        if old is not None and stat.S_ISDIR(old.st_mode):
            raise OutputError(path, "is a directory; expected a file name")
        if old is not None and not os.access(target, os.W_OK):
            raise OutputError(path, "no permission to write this file")
        if old is not None and not stat.S_ISREG(old.st_mode):
            return
        folder = os.path.dirname(target)
        if not stat.S_ISDIR(os.stat(folder).st_mode):
            raise OutputError(path, f"{folder} is not a directory")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise OutputError(path, f"no permission to write in {folder}")


@contextlib.contextmanager
def _named(path: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(path, f"cannot be written: {error.strerror or error}") from error


def _resolve(path: str) -> tuple[str, os.stat_result | None]:
    """The file a name leads to through symbolic links, and its status; None where it does not exist
    yet."""
    target = os.path.realpath(remote.located(path))
    try:
        return target, os.stat(target)
    except FileNotFoundError:
        if path.endswith(os.sep):
            raise OutputError(path, "is no file name: it ends in a separator") from None
        return target, None


def descriptor_of(path: str) -> int | None:
    """The open descriptor an output's name such as ``-`` or /dev/stdout stands for.

    Reopening it would lose its place in the file.
    """
    if path == "-":
        return 1
    if path in _STREAMS:
        return _STREAMS.index(path)
    folder, _, number = path.rpartition("/")
    return int(number) if folder in _DESCRIPTORS and number.isdecimal() else None


def _is_written(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:  # no such system call, and no such names either
        return True
    return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY


def _open_in_place(path: str, target: str) -> int:
    descriptor = descriptor_of(path)
    return os.open(target, os.O_WRONLY) if descriptor is None else os.dup(descriptor)


def _name_beside(target: str) -> str:
    """A name nobody has in the folder of the target; short, as the target's may be as long as the
    system allows.

    What killed runs left in the folder is removed, once a process.
    """
    folder = os.path.dirname(target)
    if folder not in _cleared:
        _cleared.add(folder)
        clear(folder)
    while True:
        name = os.path.join(folder, f".svmcut-{os.getpid():x}-{home()}-{os.urandom(6).hex()}")
        if not os.path.lexists(name):
            return name


def _create(name: str, old: os.stat_result | None) -> int:
    descriptor = os.open(
        name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666
    )
    if old is not None:
        # Owner first: changing it clears set-id bits. Both are best effort; a file system may have
        # neither.
        with contextlib.suppress(OSError, AttributeError):
            if (old.st_uid, old.st_gid) != (os.getuid(), os.getgid()):
                os.fchown(descriptor, old.st_uid, old.st_gid)
        with contextlib.suppress(OSError, AttributeError):
            os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
    return descriptor


def _sync_folder(folder: str) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
