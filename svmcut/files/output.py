# SPDX-License-Identifier: BSD-3-Clause
"""Writing files so that a killed run leaves the old file or the new one, and the check that no
output is another file of the run.

A regular file is written under another name in its folder, synced and renamed over the target. A
pipe, a device or a terminal has no old content and is written in place; so is ``-``, standard
output.

Temporary files are named ``.svmcut-PID-HOST-RANDOM``; those of killed runs are removed by the next
run in the folder. A process id is valid on one system only, and folders are shared: HOST identifies
the host and its process ids. A file is removed at once if the mark is this system's and the process
does not exist; after a week if the mark is another's or missing, as in older versions, and no
process here has that id. It must be a regular file of this user.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import stat
import time
import zlib

from svmcut.base.errors import OutputError, UsageError
from svmcut.base.patterns import pattern
from svmcut.base.typing import TYPE_CHECKING, NamedTuple
from svmcut.files import remote
from svmcut.files.remote import is_url, local_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_NAME = pattern(r"\.svmcut-([0-9a-f]{1,8})-(?:([0-9a-f]{8})-)?[0-9a-f]{12}")
#: Seconds after which a file of another system belongs to no running process.
_MAX_AGE = 7 * 86400.0


@functools.cache
def host_mark() -> str:
    """Return eight digits that identify this host and its process ids."""
    known = [os.uname().nodename if hasattr(os, "uname") else ""]
    with contextlib.suppress(OSError), open("/etc/machine-id", "rb") as file:
        known.append(file.read(64).hex())
    with contextlib.suppress(OSError):
        space = os.stat("/proc/self/ns/pid")
        known.append(f"{space.st_dev} {space.st_ino}")
    return f"{zlib.crc32(repr(known).encode()):08x}"


def remove_leftovers(folder: str) -> None:
    """Remove files of ended processes from a folder; failures are left to another run."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError), os.scandir(folder or ".") as entries:
        for entry in entries:
            if not entry.name.startswith(".svmcut-"):
                continue
            match = _NAME.fullmatch(entry.name)
            if match is not None and _is_leftover(entry, int(match[1], 16), match[2]):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)


def _is_leftover(entry: os.DirEntry, process: int, mark: str | None) -> bool:
    if not _is_gone(process):
        return False
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:  # it has just been removed
        return False
    own = stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid()
    return own and (mark == host_mark() or time.time() - status.st_mtime > _MAX_AGE)


def _is_gone(process: int) -> bool:
    """Return whether no process has this id, which must be one: 0 is a group's."""
    if process < 1:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # another user's
        return False
    return False


#: Names of open descriptors: the standard ones, and folders of numbers.
_STREAMS, _DESCRIPTORS = ("/dev/stdin", "/dev/stdout", "/dev/stderr"), ("/dev/fd", "/proc/self/fd")
_BUFFER_BYTES = 1 << 20
#: Largest relative error of a number stored with eight digits in a model file: float32, %.8g,
#: float32.
KEPT = 2.0**-24 * 2 + 5e-8
#: Folders already cleared of files of killed runs.
_cleared: set[str] = set()


class Output:
    """A file being written. Failures are OutputError; a closed pipe stays BrokenPipeError, which is
    no failure."""

    def __init__(self, path: str, descriptor: int):
        self._path = path
        self._file = io.BufferedWriter(io.FileIO(descriptor, "wb"), _BUFFER_BYTES)

    def write(self, data: bytes | memoryview) -> None:
        """Append data.

        Raises OutputError if the system refuses (disk full, quota, device error), BrokenPipeError
        if the reader of a pipe has closed it.
        """
        with _as_output_error(self._path):
            self._file.write(data)

    def _finish(self, sync: bool) -> None:
        with _as_output_error(self._path):
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
    """Yield an Output and put it at `path` when the block ends without an exception.

    Symbolic links are followed: the file a link points to is replaced. Mode and owner of an
    existing file are kept; a new file gets those of the umask. A target that is no regular file is
    written in place, as data comes; ``-`` is standard output. Data for a URL is sent when it is
    complete. Raises OutputError if the target cannot be written. After it, as after any exception
    of the block, the old content stands and no temporary file is left.
    """
    check_writable(path)
    if remote.is_url(path):
        with _send_to_url(path) as sent:
            yield sent
        return
    output = temporary = None
    try:
        with _as_output_error(path):
            target, old = _resolve(path)
            if descriptor_of(path) is not None or (
                old is not None and not stat.S_ISREG(old.st_mode)
            ):
                output = Output(path, _open_in_place(path, target))
            else:
                # Named before it exists: a signal may end the run between any two steps.
                temporary = _temporary_name(target)
                output = Output(path, _create_file(temporary, old))
        yield output
        output._finish(sync=temporary is not None)
        if temporary is not None:
            with _as_output_error(path):
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
def _send_to_url(url: str) -> Iterator[Output]:
    """Yield an Output whose content is sent to a URL at the end."""
    import tempfile

    with _as_output_error(url):
        descriptor, name = tempfile.mkstemp(prefix="svmcut-")
    output = Output(url, descriptor)
    try:
        yield output
        output._finish(sync=False)
        with _as_output_error(url):
            remote.send(name, url)
    finally:
        output._abandon()
        with contextlib.suppress(OSError):
            os.unlink(name)


def check_writable(path: str) -> None:
    """Check before the work starts that `path` can be written; nothing is created or changed.

    Raises OutputError for an empty name, a directory, a folder that is missing or read-only, a file
    without write permission, and a name that the file system refuses.
    """
    with _as_output_error(path):
        if remote.is_url(path):
            remote.check_writable(path)
            return
        if not path:
            raise OutputError(path, "an empty file name cannot be written")
        descriptor = descriptor_of(path)
        if descriptor is not None:
            if not _is_writable(descriptor):
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
def _as_output_error(path: str) -> Iterator[None]:
    """Turn system errors of the block into OutputError."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(path, f"cannot be written: {error.strerror or error}") from error


def _resolve(path: str) -> tuple[str, os.stat_result | None]:
    """Return the file a name leads to through symbolic links, and its status; None if it does not
    exist."""
    target = os.path.realpath(remote.local_path(path))
    try:
        return target, os.stat(target)
    except FileNotFoundError:
        if path.endswith(os.sep):
            raise OutputError(path, "is no file name: it ends in a separator") from None
        return target, None


def descriptor_of(path: str) -> int | None:
    """Return the open descriptor that a name such as ``-`` or /dev/stdout stands for; None for
    others.

    Reopening it would lose its place in the file.
    """
    if path == "-":
        return 1
    if path in _STREAMS:
        return _STREAMS.index(path)
    folder, _, number = path.rpartition("/")
    return int(number) if folder in _DESCRIPTORS and number.isdecimal() else None


def _is_writable(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:  # no such system call, and no such names either
        return True
    return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY


def _open_in_place(path: str, target: str) -> int:
    descriptor = descriptor_of(path)
    return os.open(target, os.O_WRONLY) if descriptor is None else os.dup(descriptor)


def _temporary_name(target: str) -> str:
    """Return an unused name in the folder of the target; short, as the target's may be as long as
    the system allows.

    Files of killed runs in the folder are removed, once per process.
    """
    folder = os.path.dirname(target)
    if folder not in _cleared:
        _cleared.add(folder)
        remove_leftovers(folder)
    while True:
        name = os.path.join(folder, f".svmcut-{os.getpid():x}-{host_mark()}-{os.urandom(6).hex()}")
        if not os.path.lexists(name):
            return name


def _create_file(name: str, old: os.stat_result | None) -> int:
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


class File(NamedTuple):
    """A file of a run: the option or argument that names it, as messages say it, and its path."""

    option: str
    path: str

    def __str__(self) -> str:
        return self.option if self in _STANDARD_STREAMS else f"{self.option} {self.path!r}"


#: The files of a run's messages.
_STANDARD_STREAMS = (File("standard output", "/dev/stdout"), File("standard error", "/dev/stderr"))


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
    for file in (*_STANDARD_STREAMS, *outputs):
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
