# SPDX-License-Identifier: BSD-3-Clause
"""A tree of labels: every child of a node is a machine on the rows of that node, those that have a
label below it; the machines of a node are 64 at most and are trained in step.

    problem      the sum over nodes and their children m of
                 min_w  1/2 |w_m|^2 + C sum over rows i of the node v_i max(0, 1 - y_im w_m.x_i),
                 y_im = 1 where row i has a label below m
    certificate  as of svmcut.solvers.label_lanes: the sums over machines

A row has few labels, and is a row of the nodes above them alone: that is what a tree saves.
Prabhu, Kag, Harsola, Agrawal and Varma, WWW 2018 (Parabel); Jasinska et al., ICML 2016, for the
trees of probabilities that Parabel's is one of.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmcut._native import wide_cd
from svmcut.data.label_clusters import in_use
from svmcut.solvers.label_lanes import LabelLanes, LanesProblem, LanesRun, piece_of
from svmcut.spaces.linear import LinearSpace
from svmcut.spec import schemas
from svmcut.spec.records import record
from svmcut.spec.states import Form


class NodePieces(NamedTuple):
    """Weights of the machines of a node, by those features that its rows have.

    Attributes
    ----------
    columns : (d,) int32
        The features, increasing.
    indptr, places, values
        As of Pieces; places count the machines of the node.
    """

    columns: NDArray[np.int32]
    indptr: NDArray[np.int64]
    places: NDArray[np.int32]
    values: NDArray[np.float32]


@record
class TreeProblem(LanesProblem):
    """Machines of all nodes; as of LanesProblem, whose labels they are.

    Attributes
    ----------
    first : (J + 1,) int64
        Node j has the machines first[j] to first[j + 1].
    parents : (J,) int64
        The machine whose rows are those of each node; -1 for all rows.
    """

    first: NDArray[np.int64]
    parents: NDArray[np.int64]

    def rows_of(self, node: int) -> NDArray[np.int32] | None:
        """The rows of a node, increasing; None for all."""
        machine = self.parents[node]
        if machine < 0:
            return None
        return self.rows[self.indptr[machine] : self.indptr[machine + 1]]

    def losses(self) -> NDArray[np.float64]:
        """(M,) the loss of every machine at w = 0."""
        ones = np.ones(self.space.X.n_rows) if self.weights is None else self.weights
        sums = np.concatenate([[0.0], np.cumsum(ones[self.rows])])
        below = np.append(np.diff(sums[self.indptr]), ones.sum())
        return np.repeat(below[self.parents], np.diff(self.first))


class Side:
    """Machines of several nodes that are trained side by side."""

    def __init__(self, descents: list[Any]):
        self.descents = descents

    def found(self) -> NDArray[np.float64]:
        """As of wide_cd.Descent, one node behind the other."""
        return np.concatenate([descent.found() for descent in self.descents])

    def counts(self) -> tuple[int, int]:
        """Most epochs of a node; nonzeros read by all."""
        epochs, entries = zip(*(descent.counts() for descent in self.descents), strict=True)
        return max(epochs), sum(entries)

    def run(self, epochs: int, threads: int) -> None:
        """As of wide_cd.Descent."""
        wide_cd.run_all(self.descents, epochs, threads)

    def state(self) -> list[Any]:
        """That of every node."""
        return [descent.state() for descent in self.descents]

    def restore(self, states: Any) -> None:
        """Goes on from a `state`; raises StateError."""
        count = len(self.descents)
        schemas.checked(states, schemas.many(schemas.anything, count, count), "block")
        for descent, state in zip(self.descents, states, strict=True):
            descent.restore(state)


class TreeRun(LanesRun):
    """Nodes, level after level, as many at once as a block has groups of 64.

    Attributes
    ----------
    pieces : list of NodePieces
        Of the nodes that are over.
    """

    unit = "machines"

    def form(self) -> Form:
        features = self._problem.space.X.n_features
        piece = schemas.row(
            schemas.array(np.int32, None, low=0, high=features - 1, rising=True),
            schemas.array(np.int64, None, low=0),
            schemas.array(np.int32, None, low=0, high=wide_cd.LANES - 1),
            schemas.array(np.float32, None),
        )
        return super().form() | {"_saved": schemas.many(piece)}

    @property
    def _saved(self) -> list[tuple[NDArray, ...]]:
        return [tuple(piece) for piece in self.pieces]

    @_saved.setter
    def _saved(self, pieces: list[tuple[NDArray, ...]]) -> None:
        self.pieces = [NodePieces(*piece) for piece in pieces]

    def restore(self, state: Any) -> None:
        super().restore(state)
        first = self._problem.first
        over = len(self.pieces) < len(first) and first[len(self.pieces)] == self._next
        schemas.require(over, "saved", "a piece of every node that is over")
        for piece in self.pieces:
            fits = len(piece.indptr) == len(piece.columns) + 1 and piece.indptr[0] == 0
            fits = fits and bool((np.diff(piece.indptr) >= 0).all())
            fits = fits and piece.indptr[-1] == len(piece.places)
            schemas.require(fits, "saved", "bounds of its weights")

    def _nodes(self) -> range:
        """Those of the block at `next`."""
        start, first = len(self.pieces), self._problem.first
        if not start:
            return range(1)  # all others have fewer rows
        return range(start, min(len(first) - 1, start + self._solver.block // wide_cd.LANES))

    def _labels(self) -> NDArray[np.int32]:
        nodes, first = self._nodes(), self._problem.first
        return self._problem.order[first[nodes.start] : first[nodes.stop]]

    def _begin(self) -> Side:
        """The machines of the nodes at `next`."""
        return Side([self._machines(node) for node in self._nodes()])

    def _machines(self, node: int) -> Any:
        problem, rows = self._problem, self._problem.rows_of(node)
        start, stop = problem.first[node], problem.first[node + 1]
        span = slice(problem.indptr[start], problem.indptr[stop])
        bounds, own = problem.indptr[start : stop + 1] - span.start, problem.rows[span]
        space, weights = problem.space, problem.weights
        if rows is not None:
            own = np.searchsorted(rows, own).astype(np.int32)
            weights = None if weights is None else weights[rows]
            X, _ = in_use(space.X.take(rows))
            space = LinearSpace(X, space.bias, space.threads)
        return problem.descent(space, (bounds, own), weights, self._solver.seed, self._part)

    def _keep(self, labels: NDArray[np.int32]) -> None:
        """Prunes the weights of nodes that are over, and keeps them."""
        for node, descent in zip(self._nodes(), self._block.descents, strict=True):
            own = self._problem.order[self._problem.first[node] : self._problem.first[node + 1]]
            self._keep_part(descent, own, np.arange(len(own), dtype=np.int32))
            self.pieces[-1] = NodePieces(self._columns(node), *self.pieces[-1])
        self._entries += self._block.counts()[1]
        self._next, self._block = self._next + len(labels), None

    def _columns(self, node: int) -> NDArray[np.int32]:
        """The features of the rows of a node."""
        rows, X = self._problem.rows_of(node), self._problem.space.X
        if rows is None:
            return np.arange(X.n_features, dtype=np.int32)
        return in_use(X.take(rows))[1]

    def weights(self) -> tuple[list[NodePieces], NDArray[np.float32]]:
        """Of every node what is kept, what is known, or nothing; the weights of the constant
        feature."""
        pieces, constants, first = list(self.pieces), self.constants.copy(), self._problem.first
        for node, descent in zip(self._nodes(), self._block.descents if self._block else []):
            W, own = descent.weights_of_groups(), slice(first[node], first[node + 1])
            places = np.arange(own.stop - own.start, dtype=np.int32)
            if self._problem.space.bias:
                constants[own] = W[:, -1, :].ravel()[: len(places)]
            pieces.append(NodePieces(self._columns(node), *piece_of(self._features(W), places)))
        none = np.zeros(0, np.int32)
        left = len(first) - 1 - len(pieces)
        empty = NodePieces(none, np.zeros(1, np.int64), none, np.zeros(0, np.float32))
        return pieces + left * [empty], constants


@record
class LabelTreeLanes(LabelLanes):
    """Dual coordinate descent of the machines of a tree of labels; as LabelLanes, `block` / 64
    nodes at once."""

    run = TreeRun
