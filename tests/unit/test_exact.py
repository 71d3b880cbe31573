# SPDX-License-Identifier: BSD-3-Clause
"""Sums of signed rows: exact in any order where they are said to be, so a normal made of the one
before has no other bytes; vectors that parts are told."""

import math
from collections import OrderedDict

import numpy as np
import pytest

from svmcut.cutting.oracle import Normals
from svmcut.data.examples import Csr
from svmcut.distributed.parts import MOST_MOVES, Told, UnknownVector, are_sums_exact, kept_last
from svmcut.distributed.rows import fold_nodes, merge_nodes, node_of, tree_sum
from svmcut.spaces.linear import LinearSpace


def rows(rng, n=300, d=7, least=1e-3):
    values = (
        np.exp(rng.uniform(np.log(least), 0, (n, d)))
        * rng.choice([-1, 1], (n, d))
        * (rng.random((n, d)) < 0.6)
    )
    return Csr.from_dense(values.astype(np.float32))


@pytest.mark.parametrize("bias", [0.0, 1.0, 0.25])
def test_normals_of_changes_have_the_bytes_of_new_ones(rng, bias):
    X = rows(rng)
    assert are_sums_exact(X, bias)
    space = LinearSpace(X, bias)
    carried, coef, changed = Normals(space, 10**9), rng.choice([-1.0, 0.0, 1.0], X.n_rows), 0
    for _ in range(60):
        some = rng.random(X.n_rows) < 0.1
        coef = np.where(some, rng.choice([-1.0, 0.0, 1.0], X.n_rows), coef)
        assert carried.of(coef).tobytes() == space.adjoint(coef).tobytes()
        changed = max(changed, carried.state()["age"])
    assert changed > 50
    order = rng.permutation(X.n_rows)
    assert (
        LinearSpace(X.take(order), bias).adjoint(coef[order]).tobytes()
        == space.adjoint(coef).tobytes()
    )


def test_sums_that_round_are_said_to(rng):
    wide = rows(rng, least=1e-12)
    assert not are_sums_exact(wide, 1.0) and not are_sums_exact(rows(rng), 0.1)
    orders = (rng.permutation(wide.n_rows) for _ in range(20))
    assert (
        len(
            {
                LinearSpace(wide.take(order)).adjoint(np.ones(wide.n_rows)).tobytes()
                for order in orders
            }
        )
        > 1
    )
    edge = np.full(
        (2**11, 1), 2.0**10, np.float32
    )  # all sums below 2^21; the first value's spacing is 2^-31
    for first, exact in ((2.0**-9, True), (2.0**-10, False)):
        edge[0] = first
        assert are_sums_exact(Csr.from_dense(edge), 0.0) is exact
        assert exact == (math.fsum(edge[:, 0].tolist()) <= 2.0**53 * float(np.spacing(edge[0, 0])))
    assert are_sums_exact(Csr.from_dense(np.zeros((3, 2), np.float32)), 0.0)


def test_neighbours_are_added_before_they_are_sent(rng):
    for _ in range(100):
        n = int(rng.integers(1, 20))
        leaves = [np.array([x]) for x in rng.normal(size=n) * 10.0 ** rng.integers(-8, 8, n)]
        whole, mine = tree_sum(leaves).tobytes(), rng.random(n) < 0.7
        nodes = {node_of(k, k + 1, n): leaf for k, leaf in enumerate(leaves)}
        sides = [
            merge_nodes({node: value for node, value in nodes.items() if mine[node[1]] == side})
            for side in (0, 1)
        ]
        assert fold_nodes(sides[0] | sides[1], n).tobytes() == whole
    assert list(merge_nodes({(0, k): np.ones(1) for k in range(8)})) == [(3, 0)]


def test_vectors_are_known_as_long_as_those_who_ask_know_them(rng):
    told, mine, sent = Told(), OrderedDict(), 0
    for _ in range(300):
        names = [f"w{k}" for k in rng.choice(60, rng.integers(1, MOST_MOVES), replace=False)]
        new = {name: np.array([float(name[1:])]) for name in names if name not in mine}
        sent += len(new)
        for name in names:
            mine.setdefault(name, new.get(name))
            mine.move_to_end(name)
        kept_last(mine, lambda _: 1)
        found = told.of([names], new)
        assert [w[0] for w in found[0]] == [float(name[1:]) for name in names]
    assert 60 < sent < 3600
    with pytest.raises(UnknownVector):
        told.of([["another"]], {})
