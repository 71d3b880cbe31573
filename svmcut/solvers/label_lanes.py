# SPDX-License-Identifier: BSD-3-Clause
"""Labels by the thousand, each against the rest: dual coordinate descent of 64 machines in step,
block after block of labels, of which the weights that are kept stay in memory alone.

    problem      min_W  sum_k [1/2 |W_k|^2 + C sum_i v_i max(0, 1 - y_ik W_k.x_i)]
    its dual     of every machine, box constrained; csrc/labels/wide_cd.cc
    certificate  the sums over machines, and those of each sixteen; P afresh at the weights as they
                 are kept, in single precision
    pruning      weights below a threshold become 0, and the constant is fitted to what is left; P
                 is formed afresh there, so that the gap is that of the model as it is kept

Machines of a group of 64 meet the rows in the same order; groups know nothing of one another, and
which labels share one is a matter of the data alone: neither blocks nor threads change a byte.
Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML 2008; pruning as in Babbar and Schoelkopf, WSDM
2017 (DiSMEC), whose threshold is one for all labels.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmcut._native import wide_cd
from svmcut.solvers.descent import squared_norms
from svmcut.solvers.protocol import Interrupted, Progress, Run, Solver, Start, StoppingRule
from svmcut.spaces.linear import LinearSpace
from svmcut.spec import schemas
from svmcut.spec.catalog import AUTO_PRUNE
from svmcut.spec.records import record
from svmcut.spec.states import Form, State

#: Nonzeros that are read between two steps, once for sixteen machines.
ENTRIES = 100_000_000
#: Thresholds from which "auto" chooses one for every label.
LADDER = 1e-4 * 10 ** (np.arange(16) / 5)
#: Part of the gap that training leaves to pruning by "auto".
LEFT = 0.5


class Pieces(NamedTuple):
    """Weights by feature of some labels: of feature j those from indptr[j] to indptr[j + 1].

    Attributes
    ----------
    indptr : (dim + 1,) int64
    places : (m,) int32
        Places of the labels.
    values : (m,) float32
    """

    indptr: NDArray[np.int64]
    places: NDArray[np.int32]
    values: NDArray[np.float32]


def piece_of(W: NDArray[np.float32], places: NDArray[np.int32]) -> Pieces:
    """The weights other than 0 of W (groups, dim, 64), whose lanes are labels at these places."""
    groups, dim, lanes = W.shape
    flat = W.transpose(1, 0, 2).reshape(dim, groups * lanes)[:, : len(places)]
    there = flat != 0
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(there, axis=1))]).astype(np.int64)
    return Pieces(indptr, np.broadcast_to(places, flat.shape)[there], flat[there])


def joined(pieces: list[Pieces], dim: int) -> Pieces:
    """All of them by feature; those of a feature in the order of the pieces."""
    if len(pieces) == 1:
        return pieces[0]
    counts = np.zeros(dim, np.int64)
    for piece in pieces:
        counts += np.diff(piece.indptr)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    places, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.float32)
    front = indptr[:-1].copy()
    for piece in pieces:
        own = np.diff(piece.indptr)
        at = np.repeat(front - piece.indptr[:-1], own)
        at += np.arange(len(at))
        places[at], values[at] = piece.places, piece.values
        front += own
    return Pieces(indptr, places, values)


#: Bounds (K + 1,) int64 and rows (m,) int32: label k is on at rows[bounds[k] : bounds[k + 1]].
Lists = tuple[NDArray[np.int64], NDArray[np.int32]]


@record
class LanesProblem:
    """Labels against the rest.

    Attributes
    ----------
    space : LinearSpace
        The rows, with the constant feature.
    indptr, rows : (K + 1,) int64, (m,) int32
        Label k is on at rows[indptr[k] : indptr[k + 1]].
    order : (K,) int32
        The labels in the order in which they are trained; 64 neighbours are a group.
    weights : (n,) float64 or None
    C : float
    stop : StoppingRule
    """

    space: LinearSpace
    indptr: NDArray[np.int64]
    rows: NDArray[np.int32]
    order: NDArray[np.int32]
    weights: NDArray[np.float64] | None
    C: float
    stop: StoppingRule

    @property
    def n_labels(self) -> int:
        return len(self.order)

    def losses(self) -> NDArray[np.float64]:
        """(K,) the loss of every label at w = 0."""
        n = self.space.X.n_rows
        one = float(n if self.weights is None else self.weights.sum())
        return np.full(self.n_labels, one)

    def descent(
        self, space: LinearSpace, lists: Lists, weights: NDArray | None, seed: int, part: float
    ) -> Any:
        """Machines on the rows of a space, which end at that part of the gap."""
        stop, (indptr, rows) = self.stop, lists
        return wide_cd.Descent(
            space.rows,
            indptr,
            rows,
            squared_norms(space),
            space.bias,
            self.C,
            seed,
            weights,
            False,
            part * stop.absolute / self.n_labels if stop.relative is None else 0.0,
            part * (stop.relative or 0.0),
        )


class LanesRun(Run):
    """The steps of all machines, counted on, with the sums over them; those that are to come stand
    at w = 0.

    Attributes
    ----------
    unit : str
        What the machines are called where it is told how many are over.
    trained : (K,) float64
        Primal of every machine before its weights were pruned.
    pieces : list of Pieces
        The weights of the labels of the blocks that are over.
    """

    unit: ClassVar[str] = "labels"

    def __init__(self, solver: LabelLanes, problem: LanesProblem, start: Start | None):
        super().__init__(solver, problem, start)
        K, zero = problem.n_labels, problem.losses()
        self._found = np.column_stack([problem.C * zero, zero, np.zeros(K)])
        self.trained = problem.C * zero
        self.pieces: list[Any] = []
        self.constants = np.zeros(K, np.float32)
        self._next, self._iteration, self._entries = 0, 0, 0
        self._block: Any = None

    def form(self) -> Form:
        K, features = self._problem.n_labels, self._problem.space.X.n_features
        piece = schemas.row(
            schemas.array(np.int64, features + 1, low=0),
            schemas.array(np.int32, None, low=0, high=K - 1),
            schemas.array(np.float32, None),
        )
        return {
            "_found": schemas.reals(K, 3),
            "trained": schemas.reals(K),
            "constants": schemas.array(np.float32, K),
            "_next": schemas.count(0, K),
            "_iteration": schemas.COUNT,
            "_entries": schemas.COUNT,
        } | {"_saved": schemas.many(piece)}

    @property
    def _saved(self) -> list[tuple[NDArray, ...]]:
        return [tuple(piece) for piece in self.pieces]

    @_saved.setter
    def _saved(self, pieces: list[tuple[NDArray, ...]]) -> None:
        self.pieces = [Pieces(*piece) for piece in pieces]

    def state(self) -> State:
        return super().state() | {"block": self._block and self._block.state()}

    def restore(self, state: State) -> None:
        super().restore(state)
        fits = all(len(piece.places) == len(piece.values) for piece in self.pieces)
        schemas.require(fits, "saved", "as many places as values")
        if state["block"] is not None:
            schemas.require(self._next < self._problem.n_labels, "block and next", "labels left")
            self._block = self._begin()
            self._block.restore(state["block"])

    def __iter__(self) -> Iterator[Progress]:
        self._began = time.perf_counter()
        if self._resumed and self._block is None:  # the step after which the state was taken
            self._resumed = False
            yield self._progress()
            if self._met():
                return
        while self._next < self._problem.n_labels:
            yield from self._train()
            if self._met():
                return

    def _met(self) -> bool:
        primal, _, dual = self._found.sum(axis=0)
        return self._problem.stop.met(float(primal), float(dual))

    def _labels(self) -> NDArray[np.int32]:
        """The labels of the block at `next`."""
        return self._problem.order[self._next : self._next + self._solver.block]

    def _begin(self) -> Any:
        """The machines of the block at `next`."""
        problem, solver, labels = self._problem, self._solver, self._labels()
        spans = [problem.rows[problem.indptr[k] : problem.indptr[k + 1]] for k in labels]
        indptr = np.concatenate([[0], np.cumsum([len(span) for span in spans])])
        lists = indptr, np.concatenate(spans)
        return problem.descent(problem.space, lists, problem.weights, solver.seed, self._part)

    @property
    def _part(self) -> float:
        """Of the gap that training may leave."""
        return LEFT if self._solver.prune == AUTO_PRUNE else 1.0

    def _train(self) -> Iterator[Progress]:
        """A block, until each of its machines is over; then what is kept of it."""
        labels, resumed, self._resumed = self._labels(), self._resumed, False
        block = self._block = self._block or self._begin()
        while True:
            if not resumed:
                epochs, entries = block.counts()
                self._iteration += 1
                more = max(1, min(ENTRIES * epochs // max(1, entries), max(4, epochs)))
                try:
                    block.run(epochs + more, self._problem.space.threads)
                except KeyboardInterrupt:
                    self._take(labels)
                    raise Interrupted(self._progress()) from None
                self._take(labels)
            resumed = False
            open_ = (block.found()[:, 3] == wide_cd.OPEN).any()
            if not open_:
                self._keep(labels)
            yield self._progress()
            if not open_:
                return

    def _take(self, labels: NDArray[np.int32]) -> None:
        self._found[labels] = self._block.found()[:, :3]
        self.trained[labels] = self._found[labels, 0]

    def _keep(self, labels: NDArray[np.int32]) -> None:
        """Prunes the weights of a block that is over, and keeps them."""
        self._keep_part(self._block, labels, labels)
        self._entries += self._block.counts()[1]
        self._next, self._block = self._next + len(labels), None

    def _keep_part(self, block: Any, labels: NDArray[np.int32], places: NDArray[np.int32]) -> None:
        """Prunes the weights of machines, and adds a piece of labels at these places."""
        W, n = block.weights_of_groups(), len(labels)
        self.trained[labels], risk = self._at(block, W, n)
        primal = self.trained[labels]
        if self._solver.prune:
            W, primal, risk = self._pruned(block, W, labels)
        self._found[labels, 0], self._found[labels, 1] = primal, risk
        self.constants[labels] = 0
        if self._problem.space.bias:
            self.constants[labels] = W[:, -1, :].ravel()[:n]
        self.pieces.append(piece_of(self._features(W), places))

    def _features(self, W: NDArray) -> NDArray:
        """The weights of features, without the constant's."""
        return W[:, : W.shape[1] - (self._problem.space.bias != 0)]

    def _at(self, block: Any, W: NDArray, n: int, refit: bool = False) -> tuple[NDArray, NDArray]:
        """Primal values and losses of machines at weights W, whose constants are fitted to the
        others first with `refit`."""
        threads = self._problem.space.threads
        risk = block.refit(W, threads) if refit else block.risks(W, threads)
        squares = np.einsum("gjl,gjl->gl", W, W, dtype=np.float64).ravel()[:n]
        return 0.5 * squares + self._problem.C * risk, risk

    def _cut(self, W: NDArray, below: NDArray[np.float64]) -> NDArray:
        """W without the weights below those of the lanes (groups, 64), but for the constant's."""
        kept = W.copy()
        features = self._features(kept)
        features[np.abs(features) < below[:, None, :].astype(np.float32)] = 0
        return kept

    def _pruned(
        self, block: Any, W: NDArray, labels: NDArray[np.int32]
    ) -> tuple[NDArray, NDArray, NDArray]:
        """The weights that are kept, their primal values and losses."""
        n, shape = len(labels), (W.shape[0], W.shape[2])
        if self._solver.prune != AUTO_PRUNE:
            kept = self._cut(W, np.full(shape, self._solver.prune))
            return kept, *self._at(block, kept, n, True)
        # bisection over the ladder: low is allowed, high is not known to be
        stop, dual = self._problem.stop, self._found[labels, 2]
        low, high = np.full(n, -1), np.full(n, len(LADDER))
        while (high - low > 1).any():
            middle = (low + high) // 2
            primal, _ = self._at(block, self._cut(W, self._thresholds(middle, shape)), n, True)
            target = stop.absolute / self._problem.n_labels
            if stop.relative is not None:
                target = stop.relative * np.abs(primal)
            allowed = primal - dual <= target
            low, high = np.where(allowed, middle, low), np.where(allowed, high, middle)
        kept = self._cut(W, self._thresholds(low, shape))
        return kept, *self._at(block, kept, n, True)

    @staticmethod
    def _thresholds(steps: NDArray, shape: tuple[int, int]) -> NDArray[np.float64]:
        """(groups, 64) those of the ladder at these steps, 0 at step -1."""
        out = np.zeros(shape).ravel()
        out[: len(steps)] = np.concatenate([LADDER, [0.0]])[steps]
        return out.reshape(shape)

    def weights(self) -> tuple[Any, NDArray[np.float32]]:
        """All that is kept, and what is known of the block that is not over; the weights of the
        constant feature."""
        features = self._problem.space.X.n_features
        pieces, constants = list(self.pieces), self.constants.copy()
        if self._block is not None:
            W, labels = self._block.weights_of_groups(), self._labels()
            if self._problem.space.bias:
                constants[labels] = W[:, -1, :].ravel()[: len(labels)]
            pieces.append(piece_of(self._features(W), labels))
        return joined(pieces, features), constants

    def _progress(self) -> Progress:
        primal, risk, dual = map(float, self._found.sum(axis=0))
        entries = self._entries + (self._block.counts()[1] if self._block is not None else 0)
        space, K = self._problem.space, self._problem.n_labels
        passes = wide_cd.LANES / 4 * entries / max(1, space.X.nnz * K)
        return Progress(
            self._iteration,
            passes,
            primal,
            dual,
            primal - dual,
            time.perf_counter() - self._began,
            self.weights,
            0,
            0,
            risk,
            risk,
            extra={f"{self.unit}_over": self._next, self.unit: K},
        )


@record
class LabelLanes(Solver):
    """Dual coordinate descent of labels in step.

    Parameters
    ----------
    block : int
        Labels that are trained at once, a multiple of 64.
    prune : float or "auto"
        Weights below become 0; "auto" for the most of every label that the gap allows.
    seed : int
        Of the order of the rows.
    """

    run = LanesRun
    patience: ClassVar[int | None] = None  # every machine is watched on its own
    block: int = wide_cd.LANES
    prune: float | str = 0.0
    seed: int = 0
