# SPDX-License-Identifier: BSD-3-Clause
"""The short road to the parts: one message to every worker that has some, and one back, without
tasks of the scheduler.

A round of tasks makes eight steps between processes for each, this one four in all, and a vector
that workers know is not sent again. Nothing is computed again on this road: where a worker is gone,
or has a part no more, it is `Lost`, and the round goes by tasks, to the same bytes.
"""

from __future__ import annotations

import numpy as np

from svmcut.distributed import work
from svmcut.errors import SvmcutError
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from svmcut.distributed.parts import Place

#: Bytes of vectors a round up to which the scheduler passes them on; above, workers give them to
#: each other.
MOST_PASSED = 100e6


class Lost(Exception):
    """A worker did not answer, or not with what it was to have."""


class Sent:
    """A vector with its name and what is sent for it, the task it is where it went by tasks, and
    whether workers were told it directly."""

    def __init__(self, name: str, way: Any):
        self.name, self.way, self.told = name, way, False
        self.task: Any = None


class Direct:
    """Questions to workers that have parts.

    Parameters
    ----------
    client : dask.distributed.Client

    Attributes
    ----------
    moved : int
        Bytes of vectors sent and of answers.
    """

    def __init__(self, client: Any):
        self._client, self.moved = client, 0

    def sums(
        self,
        asked: Mapping[str, list],
        task: Callable[..., NDArray],
        places: Sequence[Place],
        numbers: tuple,
    ) -> dict[tuple[int, int], NDArray] | None:
        """Nodes of the tree that cover the parts; None where this is not the road for so much.

        Parameters
        ----------
        asked : mapping
            Of addresses of workers: nodes of the tree with the keys of their parts.

        Raises
        ------
        Lost
        """
        vectors = [vector for place in places for vector in place.vectors]
        if (
            not asked
            or len(asked) * bytes_of([vector.way for vector in vectors[-1:]]) > MOST_PASSED
        ):
            return None
        by_name = [(place.names, place.steps) for place in places]
        for again in (False, True):
            new = {vector.name: vector.way for vector in vectors if again or not vector.told}
            self.moved += len(asked) * bytes_of(list(new.values()))
            told = self._client.run(
                work.sums,
                task,
                asked,
                by_name,
                new,
                numbers,
                workers=list(asked),
                on_error="return",
            )
            for vector in vectors:
                vector.told = True
            for answer in told.values():
                if isinstance(answer, SvmcutError):
                    raise answer
            if all(isinstance(answer, dict) for answer in told.values()):
                nodes = {node: value for answer in told.values() for node, value in answer.items()}
                self.moved += bytes_of(list(nodes.values()))
                return nodes
            if any(isinstance(answer, Exception) for answer in told.values()):
                break
        raise Lost


def bytes_of(answer: Any) -> int:
    """Of the arrays in an answer."""
    if isinstance(answer, list | tuple):
        return sum(map(bytes_of, answer))
    return answer.nbytes if isinstance(answer, np.ndarray) else 0
