# SPDX-License-Identifier: BSD-3-Clause
"""Dual coordinate descent for thousands of labels, each against the rest: 64 machines together,
block after block of labels, of which only the weights that remain after pruning stay in memory.

    problem      min_W  sum_k [1/2 |W_k|^2 + C sum_i v_i max(0, 1 - y_ik W_k.x_i)]
    its dual     of every machine, box constrained; csrc/labels/wide_cd.cc
    certificate  the sums over machines, and those of each sixteen; P is computed afresh at the
                 final weights in single precision
    pruning      weights below a threshold become 0, and the constant is fitted to the others; P is
                 computed afresh there, so that the gap is that of the model

Machines of a group of 64 meet the rows in the same order. Groups are independent, and the data
alone decide which labels share one: neither blocks nor threads change a byte.
Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML 2008; pruning as in Babbar and Schoelkopf, WSDM
2017 (DiSMEC), whose threshold is one for all labels.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut._native import wide_cd
from svmcut.base.records import record
from svmcut.base.typing import Any, ClassVar, NamedTuple
from svmcut.solvers.descent import squared_norms
from svmcut.solvers.protocol import Interrupted, Progress, Run, Solver, Start, StoppingRule
from svmcut.spaces.linear import LinearSpace
from svmcut.spec import schemas
from svmcut.spec.catalog import AUTO_PRUNE
from svmcut.spec.schemas import Form, State

#: Nonzeros that are read for a step, once for sixteen machines.
ENTRIES = 100_000_000
#: Thresholds from which "auto" chooses one for every label.
LADDER = 1e-4 * 10 ** (np.arange(16) / 5)
#: Part of the gap that training may leave where "auto" prunes afterwards.
TRAINING_SHARE = 0.5


class Pieces(NamedTuple):
    """Weights of some labels by feature: those of feature j from indptr[j] to indptr[j + 1]."""

    #: (dim + 1,)
    indptr: NDArray[np.int64]
    #: (m,) Places of the labels.
    places: NDArray[np.int32]
    #: (m,)
    values: NDArray[np.float32]


def piece_of(W: NDArray[np.float32], places: NDArray[np.int32]) -> Pieces:
    """Return the weights other than 0 of W (groups, dim, 64), whose lanes are labels at these
    places."""
    groups, dim, lanes = W.shape
    flat = W.transpose(1, 0, 2).reshape(dim, groups * lanes)[:, : len(places)]
    there = flat != 0
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(there, axis=1))]).astype(np.int64)
    return Pieces(indptr, np.broadcast_to(places, flat.shape)[there], flat[there])


def join_pieces(pieces: list[Pieces], dim: int) -> Pieces:
    """Join pieces by feature; the weights of a feature stand in the order of the pieces."""
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
    """Labels against the rest."""

    #: The rows, with the constant feature.
    space: LinearSpace
    #: (K + 1,), (m,) int32 Label k is on at rows[indptr[k] : indptr[k + 1]].
    indptr: NDArray[np.int64]
    rows: NDArray[np.int32]
    #: (K,) The labels in the order in which they are trained; 64 neighbours are a group.
    order: NDArray[np.int32]
    #: (n,)
    weights: NDArray[np.float64] | None
    C: float
    stop: StoppingRule

    @property
    def n_labels(self) -> int:
        return len(self.order)

    def losses(self) -> NDArray[np.float64]:
        """Return the loss of every label at w = 0, (K,)."""
        n = self.space.X.n_rows
        one = float(n if self.weights is None else self.weights.sum())
        return np.full(self.n_labels, one)

    def descent(
        self, space: LinearSpace, lists: Lists, weights: NDArray | None, seed: int, part: float
    ) -> Any:
        """Return machines on the rows of a space, which end at that part of the gap."""
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


class BlockResult(NamedTuple):
    """The values of the machines of a block, one after the other."""

    #: (m, 3) Primal values, losses and duals.
    values: NDArray[np.float64]
    #: (m,) Primal values before weights were pruned.
    trained: NDArray[np.float64]
    #: Nonzeros read, once for sixteen machines.
    entries: int
    #: (m,) Weights of the constant feature, once the block is over.
    constants: NDArray[np.float32]
    #: The pruned weights; None of a block that is not finished.
    pieces: list[Any] | None


class Block:
    """The machines of a block that are trained side by side: descents on rows of their own."""

    def __init__(self, descents: list[Any]):
        self.descents = descents

    def standing(self) -> NDArray[np.float64]:
        """Return the `standing` of all descents, one after the other."""
        return np.concatenate([descent.standing() for descent in self.descents])

    @property
    def is_over(self) -> bool:
        """True once every machine is finished."""
        return not (self.standing()[:, 3] == wide_cd.OPEN).any()

    def counts(self) -> tuple[int, int]:
        """Return the most epochs of a descent, and the nonzeros read by all."""
        epochs, entries = zip(*(descent.counts() for descent in self.descents), strict=True)
        return max(epochs), sum(entries)

    def advance(self, threads: int) -> None:
        """Take a step of about ENTRIES nonzeros."""
        epochs, entries = self.counts()
        more = max(1, min(ENTRIES * epochs // max(1, entries), max(4, epochs)))
        wide_cd.run_all(self.descents, epochs + more, threads)

    def best_weights(self) -> list[NDArray[np.float32]]:
        """Return the `weights_of_groups` of every descent."""
        return [descent.weights_of_groups() for descent in self.descents]

    def result(self) -> BlockResult:
        """Return the values of machines that are not finished."""
        standing = self.standing()[:, :3]
        none = np.zeros(0, np.float32)
        return BlockResult(standing, standing[:, 0], self.counts()[1], none, None)

    def state(self) -> list[Any]:
        """Return the state of every descent."""
        return [descent.state() for descent in self.descents]

    def restore(self, states: Any) -> None:
        """Go on from a `state`; raises StateError."""
        count = len(self.descents)
        schemas.checked(states, schemas.many(schemas.anything, count, count), "block")
        for descent, state in zip(self.descents, states, strict=True):
            descent.restore(state)


class LanesRun(Run):
    """The steps of all machines, counted on, with the sums over them; machines that have not begun
    are at w = 0."""

    #: The name of the machines in counts of finished ones.
    unit: ClassVar[str] = "labels"

    def __init__(self, solver: LabelLanes, problem: LanesProblem, start: Start | None):
        super().__init__(solver, problem, start)
        zero = problem.losses()
        self._zero = np.column_stack([problem.C * zero, zero, np.zeros(problem.n_labels)])
        self._ends = self._bounds()
        #: The number of blocks.
        self.blocks = len(self._ends) - 1
        #: The results of blocks that have begun.
        self.results: dict[int, BlockResult] = {}
        #: The machines of unfinished blocks, objects with `state` and `best_weights`.
        self.going: dict[int, Any] = {}
        self._iteration = 0

    def _bounds(self) -> NDArray[np.int64]:
        """Return the places in `order` where blocks begin and where the last ends, (blocks +
        1,)."""
        K, block = self._problem.n_labels, self._solver.block
        return np.append(np.arange(0, K, block), K)

    def _piece_form(self) -> schemas.Check:
        K, features = self._problem.n_labels, self._problem.space.X.n_features
        return schemas.row(
            schemas.array(np.int64, features + 1, low=0),
            schemas.array(np.int32, None, low=0, high=K - 1),
            schemas.array(np.float32, None),
        )

    def form(self) -> Form:
        one = schemas.row(
            schemas.count(0, self.blocks - 1),
            schemas.reals(None, 3),
            schemas.reals(None),
            schemas.COUNT,
            schemas.array(np.float32, None),
            schemas.maybe(schemas.many(self._piece_form())),
        )
        return {"_iteration": schemas.COUNT, "_saved": schemas.many(one)}

    #: The class of the pieces of a result.
    piece: ClassVar[Any] = Pieces

    @property
    def _saved(self) -> list[tuple[Any, ...]]:
        return [
            (b, *known[:4], None if known.pieces is None else [*map(tuple, known.pieces)])
            for b, known in self.results.items()
        ]

    @_saved.setter
    def _saved(self, saved: list[tuple[Any, ...]]) -> None:
        for b, values, trained, entries, constants, pieces in saved:
            made = None if pieces is None else [self.piece(*piece) for piece in pieces]
            self.results[b] = BlockResult(values, trained, entries, constants, made)

    def state(self) -> State:
        return super().state() | {"going": [(b, block.state()) for b, block in self.going.items()]}

    def restore(self, state: State) -> None:
        super().restore(state)
        for b, known in self.results.items():
            sizes = {len(known.values), len(known.trained), len(self.labels(b))}
            if known.pieces is not None:
                sizes.add(len(known.constants))
                fits = all(len(piece.places) == len(piece.values) for piece in known.pieces)
                schemas.require(fits, "saved", "as many places as values")
            schemas.require(len(sizes) == 1, "saved", "one number for each label of a block")
        one = schemas.row(schemas.count(0, self.blocks - 1), schemas.anything)
        schemas.checked(state, schemas.fields(going=schemas.many(one)), self.called)
        for b, saved in state["going"]:
            schemas.require(b in self.results and not self.is_over(b), "going", "blocks not over")
            self.going[b] = self._begin(b)
            self.going[b].restore(saved)

    def is_over(self, b: int) -> bool:
        """Tell whether a block is finished."""
        return b in self.results and self.results[b].pieces is not None

    def __iter__(self) -> Iterator[Progress]:
        self._began = time.perf_counter()
        if self._resumed:  # the step after which the state was taken
            self._resumed = False
            yield self.progress()
        if self._solver.crew is not None:
            yield from self._solver.crew(self)
            return
        for b in range(self.blocks):
            while not self.is_over(b):
                yield self._step(b)

    def labels(self, b: int) -> NDArray[np.int32]:
        """Return the labels of a block."""
        return self._problem.order[self._ends[b] : self._ends[b + 1]]

    def _begin(self, b: int) -> Block:
        """Return the machines of a block."""
        problem, labels = self._problem, self.labels(b)
        spans = [problem.rows[problem.indptr[k] : problem.indptr[k + 1]] for k in labels]
        indptr = np.concatenate([[0], np.cumsum([len(span) for span in spans])])
        lists, seed = (indptr, np.concatenate(spans)), self._solver.seed
        return Block([problem.descent(problem.space, lists, problem.weights, seed, self._part)])

    @property
    def _part(self) -> float:
        """The part of the gap that training may leave."""
        return TRAINING_SHARE if self._solver.prune == AUTO_PRUNE else 1.0

    def _step(self, b: int) -> Progress:
        """Advance a block; of a finished one only the result stays."""
        if b not in self.going:
            self.going[b] = self._begin(b)
        block = self.going[b]
        try:
            self.take_step(b, self._advance(b, block), block)
        except KeyboardInterrupt:
            self.results[b] = block.result()
            raise Interrupted(self.progress()) from None
        return self.progress()

    def _advance(self, b: int, block: Block) -> BlockResult:
        block.advance(self._problem.space.threads)
        return self._finish(b, block) if block.is_over else block.result()

    def take_step(self, b: int, known: BlockResult, block: Any) -> None:
        """Record a step of a block, with its machines where they go on."""
        self._iteration += 1
        if known.pieces is None:
            self.going[b] = block
        self.results[b] = known
        if known.pieces is not None:
            self.going.pop(b, None)

    def train_block(
        self, b: int, state: Any, goes_on: Callable[[], bool]
    ) -> tuple[BlockResult, Any]:
        """Train a block alone, from a state of its machines or from 0, until it is finished or may
        not go on; return its result and its state then."""
        block = self._begin(b)
        if state is not None:
            block.restore(state)
        while True:
            known = self._advance(b, block)
            if known.pieces is not None:
                return known, None
            if not goes_on():
                return known, block.state()

    def _finish(self, b: int, block: Block) -> BlockResult:
        """Return the result of a finished block, its weights pruned."""
        parts: list[tuple[NDArray, ...]] = []
        pieces = []
        for place, descent in enumerate(block.descents):
            W, ends = descent.weights_of_groups(), descent.standing()[:, :3]
            n = len(ends)
            trained, risk = self._evaluate(descent, W, n)
            primal = trained
            if self._solver.prune:
                W, primal, risk = self._prune(descent, W, ends[:, 2])
            parts.append((np.column_stack([primal, risk, ends[:, 2]]), trained, self._tail(W, n)))
            pieces.append(self._piece(b, place, W))
        values, trained, constants = map(np.concatenate, zip(*parts, strict=True))
        return BlockResult(values, trained, block.counts()[1], constants, pieces)

    def _piece(self, b: int, place: int, W: NDArray) -> Any:
        """Return the weights of features of a descent of a block."""
        return piece_of(self._features(W), self.labels(b))

    def _empty_pieces(self, b: int) -> list[Any]:
        """Return the pieces of a block that has not begun."""
        return []

    def _tail(self, W: NDArray, n: int) -> NDArray[np.float32]:
        """Return the weights of the constant feature, (n,)."""
        return W[:, -1, :].ravel()[:n] if self._problem.space.bias else np.zeros(n, np.float32)

    def _features(self, W: NDArray) -> NDArray:
        """Return the weights without those of the constant feature."""
        return W[:, : W.shape[1] - (self._problem.space.bias != 0)]

    def _evaluate(
        self, block: Any, W: NDArray, n: int, refit: bool = False
    ) -> tuple[NDArray, NDArray]:
        """Return primal values and losses of machines at weights W, whose constants are fitted
        first with `refit`."""
        threads = self._problem.space.threads
        risk = block.refit(W, threads) if refit else block.risks(W, threads)
        squares = np.einsum("gjl,gjl->gl", W, W, dtype=np.float64).ravel()[:n]
        return 0.5 * squares + self._problem.C * risk, risk

    def _cut(self, W: NDArray, below: NDArray[np.float64]) -> NDArray:
        """Return W without the weights of features below the thresholds of lanes (groups, 64)."""
        kept = W.copy()
        features = self._features(kept)
        features[np.abs(features) < below[:, None, :].astype(np.float32)] = 0
        return kept

    def _prune(
        self, block: Any, W: NDArray, dual: NDArray[np.float64]
    ) -> tuple[NDArray, NDArray, NDArray]:
        """Return the pruned weights, their primal values and losses."""
        n, shape = len(dual), (W.shape[0], W.shape[2])
        if self._solver.prune != AUTO_PRUNE:
            kept = self._cut(W, np.full(shape, self._solver.prune))
            return kept, *self._evaluate(block, kept, n, True)
        # bisection over the ladder: low is allowed, high has not been tried or is not
        stop = self._problem.stop
        low, high = np.full(n, -1), np.full(n, len(LADDER))
        while (high - low > 1).any():
            middle = (low + high) // 2
            primal, _ = self._evaluate(
                block, self._cut(W, self._thresholds(middle, shape)), n, True
            )
            target = stop.absolute / self._problem.n_labels
            if stop.relative is not None:
                target = stop.relative * np.abs(primal)
            allowed = primal - dual <= target
            low, high = np.where(allowed, middle, low), np.where(allowed, high, middle)
        kept = self._cut(W, self._thresholds(low, shape))
        return kept, *self._evaluate(block, kept, n, True)

    @staticmethod
    def _thresholds(steps: NDArray, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Return the thresholds of the ladder at these steps, (groups, 64), 0 at step -1."""
        out = np.zeros(shape).ravel()
        out[: len(steps)] = np.concatenate([LADDER, [0.0]])[steps]
        return out.reshape(shape)

    def _weights(self) -> tuple[list[Any], NDArray[np.float32]]:
        """Return the pieces of all blocks, and the weights of the constant feature."""
        pieces, constants = [], np.zeros(self._problem.n_labels, np.float32)
        for b in range(self.blocks):
            labels = self.labels(b)
            if self.is_over(b):
                constants[labels] = self.results[b].constants
                pieces += self.results[b].pieces or []
            elif b in self.going:
                best_weights, at = self.going[b].best_weights(), 0
                for place, W in enumerate(best_weights):
                    piece = self._piece(b, place, W)
                    n = self._count(b, place)
                    constants[labels[at : at + n]] = self._tail(W, n)
                    pieces.append(piece)
                    at += n
            else:
                pieces += self._empty_pieces(b)
        return pieces, constants

    def _count(self, b: int, place: int) -> int:
        """Return the number of machines of a descent of a block."""
        return len(self.labels(b))

    def weights(self) -> tuple[Any, NDArray[np.float32]]:
        """Return the weights of all labels, those of blocks that have not begun being 0, and those
        of the constant feature."""
        pieces, constants = self._weights()
        return join_pieces(pieces, self._problem.space.X.n_features), constants

    @property
    def solver_and_problem(self) -> tuple[LabelLanes, LanesProblem]:
        """The solver and the problem."""
        return self._solver, self._problem

    @property
    def trained(self) -> NDArray[np.float64]:
        """The primal of every machine before its weights were pruned, (K,)."""
        primal = self._zero[:, 0].copy()
        for b, known in self.results.items():
            primal[self.labels(b)] = known.trained
        return primal

    def progress(self) -> Progress:
        """Return the progress of all machines."""
        sums, entries, over = self._zero.copy(), 0, 0
        for b, known in self.results.items():
            sums[self.labels(b)] = known.values
            entries += known.entries
            over += len(known.values) if known.pieces is not None else 0
        primal, risk, dual = map(float, sums.sum(axis=0))
        space, K = self._problem.space, self._problem.n_labels
        passes = wide_cd.LANES / 4 * entries / max(1, space.X.nnz * K)
        state = max(1, self._iteration), passes, primal, dual, self.weights
        extra = {f"{self.unit}_over": over, self.unit: K}
        return Progress.since(self._began, *state, 0, 0, risk, risk, extra=extra)


@record
class LabelLanes(Solver):
    """Dual coordinate descent of many labels, 64 together."""

    run: ClassVar[type[LanesRun]] = LanesRun
    patience: ClassVar[int | None] = None  # every machine is watched on its own
    #: Labels that are trained at once, a multiple of 64.
    block: int = wide_cd.LANES
    #: Weights below become 0; "auto" prunes as much of every label as the gap allows.
    prune: float | str = 0.0
    #: Seed of the order of the rows.
    seed: int = 0
    #: A function that yields the steps of a run whose blocks are trained elsewhere.
    crew: Callable[[LanesRun], Iterator[Progress]] | None = None
