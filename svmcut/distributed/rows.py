# SPDX-License-Identifier: BSD-3-Clause
"""The one call through which rows in parts are seen, and the tree by which their answers add up.

    leaves       the answers of the parts, in the order of their files
    level k      adds neighbours (0, 1), (2, 3), ..; a last one without neighbour goes up as it is

So neither the number of processes nor their speed changes a sum.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

from numpy.typing import NDArray

from svmcut.base.errors import NoExamples
from svmcut.base.typing import Any, Protocol
from svmcut.distributed.parts import Bound, Found, Part, Place, Reading, Sizes, kept_last

Task = Callable[..., Any]


class Rows(Protocol):
    """All parts.

    Attributes
    ----------
    rounds : int
        How often they were asked.
    warnings : list of str
        What a user should know of where they are.
    """

    rounds: int
    warnings: list[str]

    def each(self, task: Task, jobs: Sequence[tuple]) -> list[Any]:
        """task(*job) of every job, before rows are read."""
        ...

    def load(self, paths: Sequence[str], reading: Reading) -> list[Found | None]:
        """Reads every file into a part; one without rows is None, and no part."""
        ...

    def bind(self, bounds: Sequence[Bound]) -> list[Sizes]:
        """Binds every part."""
        ...

    def sum(
        self, task: Task, places: Sequence[Any], *numbers: float, each: Sequence[Any] | None = None
    ) -> NDArray:
        """The sum of task(part, *places, *numbers, *each) over the parts, each being one more
        argument a part.

        Places are points of the oracle, `Carried`, and come to the parts as `Place`.
        """
        ...

    def gather(self, task: Task, places: Sequence[Any], *numbers: float) -> list[Any]:
        """The answers, in the order of the parts."""
        ...

    def details(self) -> dict[str, Any]:
        """Facts for a report."""
        ...


def tree_sum(values: Sequence[NDArray]) -> NDArray:
    """Values added as the head of the module says; those that are sums may change."""
    values = list(values)
    while len(values) > 1:
        pairs = [a + b for a, b in zip(values[::2], values[1::2], strict=False)]
        values = pairs + values[2 * len(pairs) :]
    return values[0]


def node_of(start: int, stop: int, n: int) -> tuple[int, int]:
    """Level and place in the tree of n leaves of the node over leaves start to stop, 2^level of
    them but at the end."""
    level = (stop - start - 1).bit_length()
    return level, start >> level


def merge_nodes(nodes: dict[tuple[int, int], NDArray]) -> dict[tuple[int, int], NDArray]:
    """The same with neighbours added; what is a sum may change."""
    sums = dict(nodes)
    for level, index in sorted(nodes):
        while index % 2 and (level, index - 1) in sums:
            sums[level + 1, index // 2] = sums.pop((level, index - 1)) + sums.pop((level, index))
            level, index = level + 1, index // 2
    return sums


def fold_nodes(nodes: dict[tuple[int, int], NDArray], n: int) -> NDArray:
    """The root of the tree of n leaves from nodes that cover them; what is a sum may change."""

    def at(level: int, index: int) -> NDArray:
        if (level, index) in nodes:
            return nodes[level, index]
        first = at(level - 1, 2 * index)
        return first + at(level - 1, 2 * index + 1) if (2 * index + 1) << (level - 1) < n else first

    return at((n - 1).bit_length(), 0)


class Names:
    """Names of vectors; a vector keeps its name while it is one of the last few that were asked
    for. made: called with the name and the vector of a new one; its result is kept with the
    name."""

    def __init__(self, made: Callable[[str, Any], Any] = lambda name, w: w):
        self._made, self._count = made, 0
        self._kept: OrderedDict[int, tuple[Any, str, Any]] = OrderedDict()

    def of(self, w: Any) -> tuple[str, Any]:
        """The name of a vector, which does not change any more, and what stands for it."""
        if id(w) not in self._kept:
            self._count += 1
            name = f"w{self._count}"
            self._kept[id(w)] = w, name, self._made(name, w)
            kept_last(self._kept, lambda kept: len(kept[0]))
        self._kept.move_to_end(id(w))
        return self._kept[id(w)][1:]

    def place(self, place: Any) -> Place:
        """A Carried point as a part takes it."""
        named = [self.of(w) for w in (place.base, *(w for _, w in place.moves))]
        steps = tuple(t for t, _ in place.moves)
        return Place(tuple(name for name, _ in named), steps, [kept for _, kept in named])


def part_of(path: Any, reading: Reading, bound: Bound | None = None) -> Part | None:
    """A part; None of a file without rows, unless it had some when it was bound."""
    try:
        return Part(path, reading, bound)
    except NoExamples:
        if bound is None:
            return None
        raise


class SerialRows:
    """Parts in this process, asked one after the other; each computes with as many threads as it
    reads with."""

    def __init__(self):
        self.rounds = 0
        self.warnings: list[str] = []
        self._parts: list[Part] = []
        self._names = Names()

    def each(self, task: Task, jobs: Sequence[tuple]) -> list[Any]:
        return [task(*job) for job in jobs]

    def load(self, paths: Sequence[str], reading: Reading) -> list[Found | None]:
        parts = [part_of(path, reading) for path in paths]
        self._parts = [part for part in parts if part is not None]
        return [None if part is None else part.facts() for part in parts]

    def bind(self, bounds: Sequence[Bound]) -> list[Sizes]:
        return [part.bind(bound).sizes() for part, bound in zip(self._parts, bounds, strict=True)]

    def sum(
        self, task: Task, places: Sequence[Any], *numbers: float, each: Sequence[Any] | None = None
    ) -> NDArray:
        return tree_sum(self._ask(task, places, numbers, each))

    def gather(self, task: Task, places: Sequence[Any], *numbers: float) -> list[Any]:
        return self._ask(task, places, numbers, None)

    def _ask(
        self, task: Task, places: Sequence[Any], numbers, each: Sequence[Any] | None
    ) -> list[NDArray]:
        self.rounds += 1
        where = [self._names.place(place) for place in places]
        own = [()] * len(self._parts) if each is None else [(item,) for item in each]
        return [
            task(part, *where, *numbers, *more) for part, more in zip(self._parts, own, strict=True)
        ]

    def details(self) -> dict[str, Any]:
        return {"partitions": len(self._parts), "rounds": self.rounds}
