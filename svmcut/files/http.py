# SPDX-License-Identifier: BSD-3-Clause
"""Files of web servers, read in order or at any place.

All reads belong to one version of the file: every answer must be of the state of the first, and as
long as announced. Every wait has a limit.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import http.client
import io
import os
import urllib.error
import urllib.parse
import urllib.request

from svmcut._version import __version__
from svmcut.base.errors import FILE_CHANGED
from svmcut.base.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Seconds without a byte after which a read fails.
TIMEOUT = 60.0
#: Bytes up to which skipping by reading is faster than a new request.
_MAX_SKIPPED = 1 << 18


class HttpFile(io.RawIOBase):
    """A file at a URL, as a raw stream.

    Reading raises OSError: FileNotFoundError if the file does not exist, others for a file that
    ends early or changes, and for a server that does not answer in time.
    """

    def __init__(self, url: str):
        super().__init__()
        parts = urllib.parse.urlsplit(url)
        user, at, host = parts.netloc.rpartition("@")
        self._headers = {"User-Agent": f"svmcut/{__version__}", "Accept-Encoding": "identity"}
        if at:
            key = urllib.parse.unquote_to_bytes(user if ":" in user else f"{user}:")
            self._headers["Authorization"] = f"Basic {base64.b64encode(key).decode()}"
        path = urllib.parse.quote(parts.path, safe="/%:@!$&'()*+,;=~")
        query = urllib.parse.quote(parts.query, safe="/%:@!$&'()*+,;=~?")
        self._url = urllib.parse.urlunsplit((parts.scheme, host, path, query, ""))
        self._place = self._at = 0  # of the next read, and of the answer that is open
        #: Bytes, as the server announces them; None if it does not.
        self.size: int | None = None
        #: ETag and Last-Modified, if the server sends them.
        self.stamps: dict[str, str] = {}
        try:
            self._answer = self._request(0)
        except BaseException:
            self.close()
            raise
        self._seekable = self._answer.headers.get("Accept-Ranges", "").lower() == "bytes"

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._seekable and self.size is not None

    def tell(self) -> int:
        return self._place

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_CUR:
            place += self._place
        elif whence == io.SEEK_END:
            if self.size is None:
                raise OSError("the server does not say how long the file is")
            place += self.size
        self._place = max(0, place)
        return self._place

    def readinto(self, view: Any) -> int:
        view = memoryview(view).cast("B")
        if self.size is not None:
            view = view[: max(0, self.size - self._place)]
        if not len(view):
            return 0
        self._go_to(self._place)
        with _explain_failures():
            count = self._answer.readinto(view)
        self._at += count
        self._place += count
        if not count and self.size is not None:
            raise OSError(f"the server closed after {self._at:,} bytes of {self.size:,}: not whole")
        return count

    def close(self) -> None:
        if not self.closed and hasattr(self, "_answer"):
            with contextlib.suppress(Exception):
                self._answer.close()
        super().close()

    def check_unchanged(self) -> None:
        """Raise OSError if the server now has the file in another state."""
        if self.stamps:
            self._request(0, "HEAD").close()

    def _go_to(self, place: int) -> None:
        """Continue the open answer, or a new one, at a place."""
        if 0 <= place - self._at <= _MAX_SKIPPED:
            with _explain_failures():
                while self._at < place:
                    skipped = len(self._answer.read(place - self._at))
                    self._at += skipped
                    if not skipped:
                        break
        if self._at != place:
            self._answer.close()
            self._answer = self._request(place)
            self._at = place

    def _request(self, place: int, method: str = "GET") -> Any:
        headers = dict(self._headers)
        if place:
            headers["Range"] = f"bytes={place}-"
        request = urllib.request.Request(self._url, headers=headers, method=method)
        with _explain_failures():
            answer = urllib.request.urlopen(request, timeout=TIMEOUT)
        size = _full_size(answer, place)
        stamps = {
            key: answer.headers[key] for key in ("ETag", "Last-Modified") if key in answer.headers
        }
        if place and answer.status != 206:
            answer.close()
            raise OSError("the server sends no part of the file, only all of it")
        if not self.stamps and self.size is None:
            self.size, self.stamps = size, stamps
        elif stamps != self.stamps or (size is not None and size != self.size):
            answer.close()
            raise OSError(FILE_CHANGED)
        return answer


def _full_size(answer: Any, place: int) -> int | None:
    """Return the size of the whole file that an answer announces."""
    total = answer.headers.get("Content-Range", "").rpartition("/")[2]
    if total.isdecimal():
        return int(total)
    length = answer.headers.get("Content-Length", "")
    return int(length) + place if length.isdecimal() else None


@contextlib.contextmanager
def _explain_failures() -> Iterator[None]:
    """Turn failures of the network into an OSError that explains them."""
    try:
        yield
    except TimeoutError:
        raise _timeout_error() from None
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in (404, 410):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)) from None
        kind = PermissionError if error.code in (401, 403) else OSError
        raise kind(f"the server answers {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        reason = error.reason
        if isinstance(reason, TimeoutError):
            raise _timeout_error() from None
        raise OSError(str(getattr(reason, "strerror", None) or reason)) from None
    except http.client.IncompleteRead:
        raise OSError("the server closed before the end; the file is not whole") from None
    except http.client.HTTPException as error:
        raise OSError(f"no answer of a web server: {type(error).__name__}") from None


def _timeout_error() -> OSError:
    return OSError(f"time-out: the server has sent nothing for {TIMEOUT:g} seconds")
