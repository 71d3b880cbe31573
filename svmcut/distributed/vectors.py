# SPDX-License-Identifier: BSD-3-Clause
"""The last few vectors of a run, by name, as parts keep them and as whoever asks names them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Moves after which the scores of a point are formed from its w again: a part that is lost is
#: brought to where it was by a pass for every move. Of long vectors fewer are kept, and none from
#: LARGE_DIM numbers on.
MOST_MOVES, LARGE_DIM = 24, 1_000_000


def most_moves(dim: int) -> int:
    """Of a point with so many numbers."""
    return min(MOST_MOVES, 8 * LARGE_DIM // dim) if dim < LARGE_DIM else 0


class UnknownVector(LookupError):
    """A vector that a part was never told, or has let go."""


def kept_last(vectors: OrderedDict[Any, Any], length: Callable[[Any], int] = len) -> None:
    """Lets go of all but the last few: those of a point with its moves, of targets, and what is
    looked at beside."""
    if not vectors:
        return
    moves = most_moves(length(next(reversed(vectors.values()))))
    while len(vectors) > (moves + 8 if moves else 4):
        vectors.popitem(last=False)


class Told:
    """Vectors that a part was told."""

    def __init__(self) -> None:
        self._vectors: OrderedDict[str, NDArray] = OrderedDict()

    def of(self, names: Sequence[Sequence[str]], new: Mapping[str, NDArray]) -> list[list[NDArray]]:
        """The vectors of these names, of new ones or of those before.

        Raises
        ------
        UnknownVector
        """
        self._vectors |= new
        try:
            for name in (name for some in names for name in some):
                self._vectors.move_to_end(name)
        except KeyError as error:
            raise UnknownVector(*error.args) from None
        vectors = [[self._vectors[name] for name in some] for some in names]
        kept_last(self._vectors)
        return vectors
