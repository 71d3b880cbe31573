# SPDX-License-Identifier: BSD-3-Clause
"""Long vectors, which go to the workers by files in a folder that all of them see."""

from __future__ import annotations

import contextlib
import io
import os
import weakref

import numpy as np

from svmcut.errors import ClusterError, UsageError
from svmcut.files.output import write_atomically
from svmcut.messages import Message
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Bytes above which a vector is long: messages of Dask are meant to be smaller.
LARGE = 10_000_000


class InFile:
    """A vector in a file, which is removed with this. Pickled, it is the file's name, and arrives
    as the vector."""

    def __init__(self, path: str, w: NDArray):
        self.path, head = path, io.BytesIO()
        np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(w))
        with write_atomically(path) as output:
            output.write(head.getvalue())
            output.write(w.view(np.uint8).data)
        weakref.finalize(self, _removed, path)

    def __reduce__(self) -> Any:
        return read, (self.path,)


def read(path: str) -> NDArray[np.float64]:
    """The vector of a file.

    Raises
    ------
    ClusterError
    """
    try:
        return np.load(path)
    except OSError as error:
        text = error.strerror or str(error)
        raise ClusterError(
            "a worker cannot read {}: {}; all workers must see that folder", path, text
        ) from None


def _removed(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


class Folder:
    """Where long vectors are written; None for nowhere.

    Raises
    ------
    UsageError
        Where there is no such folder.
    """

    def __init__(self, path: str | None, run: str):
        if path is not None and not os.path.isdir(path):
            raise UsageError("{!r} is no folder; {work_dir} is one that all workers see", path)
        self._path, self._run = path and os.path.abspath(path), run

    def way(self, name: str, w: NDArray) -> Any:
        """What is sent for a vector: itself, or its file."""
        if self._path is None or w.nbytes <= LARGE:
            return w
        return InFile(os.path.join(self._path, f"svmcut-{self._run}-{name}.npy"), w)

    def warnings(self, features: int) -> list[str]:
        """What there is to say of vectors of so many features."""
        if self._path is not None or 8 * features <= LARGE:
            return []
        where = Message("name a folder that all of them see with {work_dir}")
        return [
            Message(
                "{:.0f} MB of weights go to the workers by messages; {}", 8e-06 * features, where
            )
        ]
