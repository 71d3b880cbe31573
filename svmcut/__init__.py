# SPDX-License-Identifier: BSD-3-Clause
"""svmcut: certified training of support vector machines, from the command line and from Python.

Nothing is imported here beyond the version: a run pays only for what it uses. Other names are imported when asked for.
"""

from typing import TYPE_CHECKING, Any

from svmcut._version import __version__

if TYPE_CHECKING:
    from svmcut.api import train

__all__ = ["__version__", "train"]


def __getattr__(name: str) -> Any:
    if name != "train":
        raise AttributeError(f"module 'svmcut' has no attribute {name!r}")
    from svmcut.api import train

    return train
