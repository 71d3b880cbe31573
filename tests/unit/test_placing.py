# SPDX-License-Identifier: BSD-3-Clause
"""Parts on workers: spread evenly, asked in groups of the tree, moved where a worker has too
few."""

import numpy as np

from svmcut.distributed.connection import add_neighbours, groups, homes, transfers
from svmcut.distributed.rows import fold_nodes, node_of, tree_sum


def workers_of(rng):
    return {f"w{k}": int(rng.integers(1, 4)) for k in range(rng.integers(1, 5))}


def test_parts_are_spread_by_threads(rng):
    assert homes(8, {"a": 1, "b": 1}) == ["a"] * 4 + ["b"] * 4
    assert homes(8, {"a": 3, "b": 1}) == ["a"] * 6 + ["b"] * 2
    assert homes(1, {"a": 1, "b": 1}) == ["a"]
    for _ in range(50):
        n, workers = int(rng.integers(1, 40)), workers_of(rng)
        found = homes(n, workers)
        assert found == sorted(found)
        loads = [found.count(address) / threads for address, threads in workers.items()]
        assert max(loads) - min(loads) <= 1


def test_groups_are_nodes_on_one_worker(rng):
    assert groups(["a"] * 4 + ["b"] * 4, {"a": 1, "b": 1}) == [(0, 4), (4, 8)]
    assert groups(["a"] * 4 + ["b"] * 4, {"a": 2, "b": 1}) == [(0, 2), (2, 4), (4, 8)]
    assert groups(["a", "b", "b", "b"], {"a": 1, "b": 1}) == [(0, 1), (1, 2), (2, 4)]
    assert groups(["a"] * 5, {"a": 1}) == [(0, 4), (4, 5)]
    for _ in range(200):
        n, workers = int(rng.integers(1, 40)), workers_of(rng)
        home = [str(name) for name in rng.choice(list(workers), n)]
        found = groups(home, workers)
        assert [start for start, _ in found] == [0, *(stop for _, stop in found[:-1])] and found[
            -1
        ][1] == n
        assert all(len({*home[start:stop]}) == 1 for start, stop in found)
        leaves = [np.array([x]) for x in rng.normal(size=n) * 10.0 ** rng.integers(-8, 8, n)]
        nodes = {node_of(start, stop, n): tree_sum(leaves[start:stop]) for start, stop in found}
        fewer = add_neighbours(nodes, n, 4, lambda a, b: a + b)
        assert (
            fold_nodes(fewer, n).tobytes()
            == fold_nodes(nodes, n).tobytes()
            == tree_sum(leaves).tobytes()
        )
        assert len(fewer) <= max(8, 2 * len(workers))


def test_parts_move_until_loads_are_even(rng):
    assert [*transfers(["a"] * 8, {"a": 1, "b": 1})] == [(7, "b"), (6, "b"), (5, "b"), (4, "b")]
    assert [*transfers(["a"] * 4 + ["b"] * 4, {"a": 1, "b": 1})] == []
    assert [*transfers(["gone", "a"], {})] == []
    for _ in range(100):
        n, workers = int(rng.integers(1, 40)), workers_of(rng)
        home = [str(name) for name in rng.choice(list(workers), n)]
        for index, address in transfers(home, workers):
            assert home[index] != address
            home[index] = address
        loads = [home.count(address) / threads for address, threads in workers.items()]
        assert max(loads) - min(loads) <= 1
