# SPDX-License-Identifier: BSD-3-Clause
"""Dual coordinate descent for a tree of labels: every child of a node is a machine on the rows that
have a label below that node; a node has at most 64 machines, which are trained together.

    problem      the sum over nodes and their children m of
                 min_w  1/2 |w_m|^2 + C sum over rows i of the node v_i max(0, 1 - y_im w_m.x_i),
                 y_im = 1 where row i has a label below m
    certificate  as of svmcut.solvers.label_lanes: the sums over machines

A row has few labels and belongs only to the nodes above them, which is what a tree saves. Prabhu,
Kag, Harsola, Agrawal and Varma, WWW 2018 (Parabel); Jasinska et al., ICML 2016 (trees of
probabilities, of which Parabel is one).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native import wide_cd
from svmcut.base.records import record
from svmcut.base.typing import Any, NamedTuple
from svmcut.data.label_clusters import use_columns
from svmcut.solvers.label_lanes import Block, LabelLanes, LanesProblem, LanesRun, piece_of
from svmcut.solvers.protocol import Start
from svmcut.spaces.linear import LinearSpace
from svmcut.spec import schemas


class NodePieces(NamedTuple):
    """Weights of the machines of a node, by the features that its rows have."""

    #: (d,) The features, increasing.
    columns: NDArray[np.int32]
    #: As of Pieces; places count the machines of the node.
    indptr: NDArray[np.int64]
    places: NDArray[np.int32]
    values: NDArray[np.float32]


@record
class TreeProblem(LanesProblem):
    """Machines of all nodes, in place of the labels of LanesProblem."""

    #: (J + 1,) Node j has the machines first[j] to first[j + 1].
    first: NDArray[np.int64]
    #: (J,) The machine whose rows are those of each node; -1 for all rows.
    parents: NDArray[np.int64]

    def rows_of(self, node: int) -> NDArray[np.int32] | None:
        """Return the rows of a node, increasing; None for all."""
        machine = self.parents[node]
        if machine < 0:
            return None
        return self.rows[self.indptr[machine] : self.indptr[machine + 1]]

    def losses(self) -> NDArray[np.float64]:
        """Return the loss of every machine at w = 0, (M,)."""
        ones = np.ones(self.space.X.n_rows) if self.weights is None else self.weights
        sums = np.concatenate([[0.0], np.cumsum(ones[self.rows])])
        below = np.append(np.diff(sums[self.indptr]), ones.sum())
        return np.repeat(below[self.parents], np.diff(self.first))


class TreeRun(LanesRun):
    """The nodes, level after level, as many at once as a block has groups of 64; pieces are
    NodePieces."""

    unit = "machines"
    piece = NodePieces

    def __init__(self, solver: LabelLanes, problem: LanesProblem, start: Start | None):
        super().__init__(solver, problem, start)
        self._used: dict[int, NDArray[np.int32]] = {}  # features of nodes that have begun

    def _bounds(self) -> NDArray[np.int64]:
        nodes, step = len(self._problem.first) - 1, self._solver.block // wide_cd.LANES
        # the root alone: all others have fewer rows
        self._node_ends = np.concatenate([[0], np.arange(1, nodes, step), [nodes]])
        return self._problem.first[self._node_ends]

    def _piece_form(self) -> schemas.Check:
        features = self._problem.space.X.n_features
        return schemas.row(
            schemas.array(np.int32, None, low=0, high=features - 1, rising=True),
            schemas.array(np.int64, None, low=0),
            schemas.array(np.int32, None, low=0, high=wide_cd.LANES - 1),
            schemas.array(np.float32, None),
        )

    def restore(self, state: Any) -> None:
        super().restore(state)
        for b, known in self.results.items():
            pieces = known.pieces or []
            whole = known.pieces is None or len(pieces) == len(self._nodes(b))
            schemas.require(whole, "saved", "a piece of every node that is over")
            for piece in pieces:
                fits = len(piece.indptr) == len(piece.columns) + 1 and piece.indptr[0] == 0
                fits = fits and bool((np.diff(piece.indptr) >= 0).all())
                fits = fits and piece.indptr[-1] == len(piece.places)
                schemas.require(fits, "saved", "bounds of its weights")

    def _nodes(self, b: int) -> range:
        """Return the nodes of a block."""
        return range(int(self._node_ends[b]), int(self._node_ends[b + 1]))

    def _begin(self, b: int) -> Block:
        """Return the machines of the nodes of a block."""
        return Block([self._machines(node) for node in self._nodes(b)])

    def _machines(self, node: int) -> Any:
        problem, rows = self._problem, self._problem.rows_of(node)
        start, stop = problem.first[node], problem.first[node + 1]
        span = slice(problem.indptr[start], problem.indptr[stop])
        bounds, own = problem.indptr[start : stop + 1] - span.start, problem.rows[span]
        space, weights = problem.space, problem.weights
        if rows is not None:
            own = np.searchsorted(rows, own).astype(np.int32)
            weights = None if weights is None else weights[rows]
            X, columns = use_columns(space.X.take(rows))
            space = LinearSpace(X, space.bias, space.threads)
            self._used[node] = columns
        return problem.descent(space, (bounds, own), weights, self._solver.seed, self._part)

    def _columns(self, node: int) -> NDArray[np.int32]:
        """Return the features of the rows of a node."""
        rows, X = self._problem.rows_of(node), self._problem.space.X
        if rows is None:
            return np.arange(X.n_features, dtype=np.int32)
        if node not in self._used:  # trained elsewhere
            self._used[node] = use_columns(X.take(rows))[1]
        return self._used[node]

    def _count(self, b: int, place: int) -> int:
        node = self._nodes(b)[place]
        return int(self._problem.first[node + 1] - self._problem.first[node])

    def _piece(self, b: int, place: int, W: NDArray) -> NodePieces:
        own = np.arange(self._count(b, place), dtype=np.int32)
        columns = self._columns(self._nodes(b)[place])
        return NodePieces(columns, *piece_of(self._features(W), own))

    def _empty_pieces(self, b: int) -> list[NodePieces]:
        none = np.zeros(0, np.int32)
        empty = NodePieces(none, np.zeros(1, np.int64), none, np.zeros(0, np.float32))
        return len(self._nodes(b)) * [empty]

    def weights(self) -> tuple[list[NodePieces], NDArray[np.float32]]:
        """Return the pieces of every node, empty before it has begun, and the weights of the
        constant feature."""
        return self._weights()


@record
class LabelTreeLanes(LabelLanes):
    """Dual coordinate descent for a tree of labels, `block` / 64 nodes at once."""

    run = TreeRun
