# SPDX-License-Identifier: BSD-3-Clause
"""Files at URLs: https:// is read here, s3://, gs://, abfs://, hdfs://, memory:// and others are
opened by fsspec.

A file is read in blocks, in order. A written file is completed on this machine before it is sent,
so that a run that ends early sends nothing. ``file://`` is a path of this machine.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os

from svmcut.base.errors import FILE_CHANGED, SvmcutError, UsageError
from svmcut.base.messages import join_names
from svmcut.base.patterns import pattern
from svmcut.base.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Schemes have at least two letters: one is a drive of Windows.
_SCHEME = pattern(r"([A-Za-z][A-Za-z0-9+.-]+)(::|://)")
_LOCAL = "file://"
#: Python packages by scheme; others need fsspec alone or name their package.
PACKAGES = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "az": "adlfs",
    "adl": "adlfs",
    "http": "aiohttp",
    "https": "aiohttp",
    "hdfs": "pyarrow",
    "webhdfs": "requests",
    "sftp": "paramiko",
    "ssh": "paramiko",
    "smb": "smbprotocol",
    "hf": "huggingface_hub",
    "oci": "ocifs",
    "dropbox": "dropboxdrivefs",
}
_BUCKETS = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oci"})
_READ_ONLY = frozenset({"http", "https", "git", "github", "zip", "tar", "data"})
#: Properties, in addition to the size, that differ after a file has changed.
_STAMPS = (
    "ETag",
    "etag",
    "VersionId",
    "generation",
    "md5Hash",
    "content_md5",
    "sha",
    "LastModified",
    "Last-Modified",
    "last_modified",
    "updated",
    "mtime",
    "modified",
    "created",
)


def is_url(path: str) -> bool:
    """Return whether a name is a URL of a file that is not simply a path of this machine."""
    return ":" in path and _SCHEME.match(path) is not None and not path.startswith(_LOCAL)


def local_path(path: str) -> str:
    """Return the path of a ``file://`` URL; other names are returned unchanged."""
    return path.removeprefix(_LOCAL).removeprefix("localhost") if path.startswith(_LOCAL) else path


def open_file(path: str, buffered: bool = True) -> Any:
    """Open a file of this machine or of a URL for reading bytes.

    Raises OSError, and UsageError for an unknown scheme.
    """
    if not is_url(path):
        return open(local_path(path), "rb", buffering=-1 if buffered else 0)
    raw = _open_web_file(path) if _is_web(path) else _RemoteFile(*_open_system(path))
    return io.BufferedReader(raw) if buffered else raw


def is_file(path: str) -> bool:
    """Return whether a file can be read more than once; a URL is assumed to be one."""
    return is_url(path) or os.path.isfile(local_path(path))


def file_size(path: str) -> int | None:
    """Return the bytes of a file; None if unknown."""
    with contextlib.suppress(OSError, SvmcutError):
        if not is_url(path):
            return os.path.getsize(local_path(path))
        if _is_web(path):
            with _open_web_file(path) as file:
                return file.size
        system, name = _open_system(path)
        with _as_os_errors():
            return system.size(name)
    return None


def has_file(path: str) -> bool:
    """Return whether a file exists; False if unknown."""
    if not is_url(path):
        return os.path.exists(local_path(path))
    if _is_web(path):
        with contextlib.suppress(OSError), _open_web_file(path):
            return True
        return False
    system, name = _open_system(path)
    with contextlib.suppress(OSError), _as_os_errors():
        return bool(system.isfile(name))
    return False


def match_urls(pattern: str) -> list[str]:
    """Return the URLs of the files that fit a pattern, in the order of their names; raise OSError
    or UsageError."""
    system, name = _open_system(pattern)
    with _as_os_errors():
        system.invalidate_cache()
        there = system.glob(name, detail=True)
        files = [one for one, about in there.items() if about["type"] == "file"]
        return sorted(map(system.unstrip_protocol, files))


def is_pattern(url: str) -> bool:
    """Return whether a URL has wildcards; in one of http a question mark is none."""
    return any(sign in url for sign in ("*[" if url.startswith("http") else "*?["))


def check_writable(url: str) -> None:
    """Check before the work starts that a URL can be written, as far as this is visible; raise
    OSError or UsageError if not."""
    scheme = _scheme(url)
    if scheme in _READ_ONLY:
        raise OSError(f"{scheme}:// is read only; write to a file or to a store of objects")
    system, name = _open_system(url)
    if not name.strip("/") or name.endswith("/"):
        raise OSError("is no file name")
    above = name.split("/")[0] if scheme in _BUCKETS else system._parent(name)
    with _as_os_errors():
        if scheme == "memory" or not above.strip("/"):
            return
        with contextlib.suppress(PermissionError):  # who may write need not be let look
            if not system.exists(above):
                raise OSError(f"there is no {'bucket' if scheme in _BUCKETS else 'folder'} {above}")


def send(path: str, url: str) -> None:
    """Send a file of this machine; raise OSError if that fails."""
    system, name = _open_system(url)
    with _as_os_errors():
        system.put_file(path, name)


def copy(url: str, target: str) -> None:
    """Copy a file within its file system; raise OSError, which is FileNotFoundError if it does not
    exist."""
    (system, name), (_, other) = _open_system(url), _open_system(target)
    with _as_os_errors():
        if not system.isfile(name):
            raise FileNotFoundError(name)
        system.cp_file(name, other)


def remove(url: str) -> None:
    """Remove a file; raise OSError if that fails."""
    system, name = _open_system(url)
    with _as_os_errors():
        system.rm_file(name)


def last_bytes(url: str, count: int) -> bytes:
    """Return the end of a file; raise OSError if that fails."""
    with open_file(url) as file, _as_os_errors():
        file.seek(0, io.SEEK_END)
        file.seek(max(0, file.tell() - count))
        return file.read()


def read_state(url: str) -> list[str]:
    """Return size, and entity tag, version or time: values that differ after the file has changed.

    Raises OSError, also if the file system gives nothing but the size.
    """
    if _is_web(url):
        with _open_web_file(url) as file:
            size, *stamps = [f"size={file.size}", *map("=".join, file.stamps.items())]
    else:
        size, *stamps = _stat_remote(*_open_system(url))
    if not stamps:
        raise OSError("the server says neither a version nor a time of this file")
    return [size, *stamps]


def _stat_remote(system: Any, name: str) -> list[str]:
    """Return the size, and the properties that mark a version."""
    with _as_os_errors():
        system.invalidate_cache()
        about = system.info(name)
    stamps = [f"{key}={about[key]}" for key in _STAMPS if about.get(key) not in (None, "")]
    return [f"size={about.get('size')}", *stamps]


class _RemoteFile(io.RawIOBase):
    """A file of fsspec with system errors, of one version and complete."""

    def __init__(self, system: Any, name: str):
        super().__init__()
        self._there = system, name
        self._before = _stat_remote(system, name)
        with _as_os_errors():
            self._file = system.open(name, "rb")
        self.size = getattr(self._file, "size", None)

    def check_unchanged(self) -> None:
        if _stat_remote(*self._there) != self._before:
            raise OSError(FILE_CHANGED)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._file.seekable())

    def readinto(self, view: Any) -> int:
        view = memoryview(view).cast("B")
        with _as_os_errors():
            data = self._file.read(len(view))
            if not data and len(view) and self.size and (at := self._file.tell()) < self.size:
                raise OSError(f"the file ends after {at:,} bytes of {self.size:,}")
        view[: len(data)] = data
        return len(data)

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        with _as_os_errors():
            return self._file.seek(place, whence)

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        if not self.closed:
            with contextlib.suppress(Exception):
                self._file.close()
        super().close()


def _is_web(url: str) -> bool:
    return url[:8].lower().startswith(("http://", "https://"))


def _open_web_file(url: str) -> Any:
    from svmcut.files.http import HttpFile

    return HttpFile(url)


def _scheme(url: str) -> str:
    match = _SCHEME.match(url)
    assert match is not None
    return match[1].lower()


def _open_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL and the name in it."""
    scheme = _scheme(url)
    package = PACKAGES.get(scheme)
    try:
        from fsspec.core import url_to_fs
        from fsspec.registry import get_filesystem_class
    except ImportError:
        line = f"pip install {' '.join(['fsspec', *([package] if package else [])])}"
        raise UsageError(
            "{}: URLs are opened with fsspec, which is not here; install it with: {}", url, line
        ) from None
    try:
        get_filesystem_class(scheme)
    except ImportError as error:
        told = f"pip install {package}" if package else " ".join(str(error).split())
        raise UsageError(
            "{}: {}:// needs a Python package that is not here; install it with: {}",
            url,
            scheme,
            told,
        ) from None
    except ValueError:
        raise UsageError(
            "{}: '{}' is no kind of URL that is known; expected one of {}",
            url,
            scheme,
            join_names(["file", "s3", "gs", "abfs", "hdfs", "http", "https"], "or"),
        ) from None
    with _as_os_errors():
        return url_to_fs(url)


@contextlib.contextmanager
def _as_os_errors() -> Iterator[None]:
    """Turn every failure of a file system into an OSError of one line."""
    try:
        yield
    except SvmcutError:
        raise
    except FileNotFoundError as error:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)) from error
    except Exception as error:
        text = " ".join(str(getattr(error, "strerror", None) or error).split())
        kind = PermissionError if isinstance(error, PermissionError) else OSError
        raise kind(text or type(error).__name__) from error
