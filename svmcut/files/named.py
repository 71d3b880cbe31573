# SPDX-License-Identifier: BSD-3-Clause
"""Examples by name: of a file, or of all that fit a pattern. What only the latter need is imported
for them alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svmcut.files.examples import read_examples
from svmcut.files.patterns import files_of, is_pattern

if TYPE_CHECKING:
    from svmcut.data.examples import Examples


def read_named(path: str, cache: str | None = None, **how: Any) -> Examples:
    """The examples of a file, or of all files that fit a pattern; see
    `svmcut.files.cache.read_files`."""
    if cache is None and not is_pattern(path):
        return read_examples(path, **how)
    from svmcut.files.cache import read_files

    name, paths = files_of(path)
    return read_files(name, paths, cache=cache, **how)
