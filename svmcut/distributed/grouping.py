# SPDX-License-Identifier: BSD-3-Clause
"""Small files that are neighbours as one part: a part costs some tasks, and a little every round.

The groups hang on the files alone, so the sums and the model do too.
"""

from __future__ import annotations

from svmcut.files.remote import size_of
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Files up to which each is a part.
FEW = 64
#: Bytes of a group, and a share of all bytes: so many parts there are at least.
MOST_BYTES, LEAST_PARTS = 16_000_000, 32


def grouped(paths: Sequence[Any]) -> list[Any]:
    """The parts of many files: a name, or a tuple of those that follow each other.

    Blocks, few files, and files whose sizes are not known here stay as they are.
    """
    if len(paths) <= FEW or not isinstance(paths[0], str):
        return list(paths)
    sizes = [size_of(path) for path in paths]
    known = [size for size in sizes if size is not None]
    if len(known) < len(paths):
        return list(paths)
    most, groups, held = min(MOST_BYTES, sum(known) / LEAST_PARTS), list[list[Any]](), 0.0
    for path, size in zip(paths, known, strict=True):
        if not groups or held + size > most:
            groups.append([])
            held = 0.0
        groups[-1].append(path)
        held += size
    return [tuple(group) if len(group) > 1 else group[0] for group in groups]


def name_of(path: Any) -> str:
    """What messages call a part."""
    if isinstance(path, dict):
        return path["name"]
    if hasattr(path, "encoding"):
        return path.name
    return path if isinstance(path, str) else f"{path[0]} to {path[-1]}"
