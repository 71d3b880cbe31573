# SPDX-License-Identifier: BSD-3-Clause
"""Which worker gets which parts, which parts are asked together, and who adds: no Dask here, and no
rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from svmcut.typing import Any


def homes(n: int, workers: Mapping[str, int]) -> list[str]:
    """A worker for each of n parts: neighbours on one, as many as it has threads for.

    workers : threads by address, of one worker at least.
    """
    slots = [address for address, threads in workers.items() for _ in range(max(1, threads))]
    return [slots[index * len(slots) // n] for index in range(n)]


def groups(home: Sequence[str], workers: Mapping[str, int]) -> list[tuple[int, int]]:
    """First part and end of neighbours that are asked together.

    They are the leaves of one node of the tree, on one worker, and no more than leave work for all
    its threads.
    """
    counts = {address: home.count(address) for address in home}
    neighbours, start, n = [], 0, len(home)
    while start < n:
        most, size = counts[home[start]] // max(1, workers.get(home[start], 1)), 1
        while (
            start % (2 * size) == 0
            and 2 * size <= max(1, most)
            and start + size < n
            and set(home[start : start + 2 * size]) == {home[start]}
        ):
            size *= 2
        neighbours.append((start, min(n, start + size)))
        start += size
    return neighbours


def transfers(home: Sequence[str], workers: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """Parts of the fullest workers, and the emptiest ones, which are to have them."""
    held: dict[str, list[int]] = {address: [] for address in workers}
    for index, address in enumerate(home):
        if address in held:
            held[address].append(index)

    def load(address: str, more: int = 0) -> float:
        return (len(held[address]) + more) / max(1, workers[address])

    while held:
        full, empty = max(held, key=load), min(held, key=load)
        if load(empty, 1) > load(full, -1):
            return
        index = held[full].pop()
        held[empty].append(index)
        yield index, empty


def added(
    nodes: Mapping[tuple[int, int], Any], n: int, most: int, add: Callable[[Any, Any], Any]
) -> dict:
    """Nodes over the same n leaves, about `most` of them, made of these by adding neighbours.

    Parameters
    ----------
    nodes : mapping
        By level and place, as svmcut.distributed.rows.node_of gives them.
    """
    level = max(0, (n - 1).bit_length() - (most.bit_length() - 1))

    def at(level: int, index: int) -> Any:
        if (level, index) in nodes:
            return nodes[level, index]
        first = at(level - 1, 2 * index)
        return (
            add(first, at(level - 1, 2 * index + 1))
            if (2 * index + 1) << (level - 1) < n
            else first
        )

    kept = {node: value for node, value in nodes.items() if node[0] >= level}
    covered = {index << of >> level for of, index in kept} | {
        place
        for of, index in kept
        for place in range(index << (of - level), (index + 1) << (of - level))
    }
    places = range(-(-n // (1 << level)))
    return kept | {(level, place): at(level, place) for place in places if place not in covered}
