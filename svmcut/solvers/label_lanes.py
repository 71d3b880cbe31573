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


class Known(NamedTuple):
    """What is known of the machines of a block, one behind the other.

    Attributes
    ----------
    values : (m, 3) float64
        Primal values, losses and duals.
    trained : (m,) float64
        Primal values before weights were pruned.
    entries : int
        Nonzeros read, once for sixteen machines.
    constants : (m,) float32
        Weights of the constant feature, once the block is over.
    pieces : list of Pieces or None
        The weights that are kept; None of a block that is not over.
    """

    values: NDArray[np.float64]
    trained: NDArray[np.float64]
    entries: int
    constants: NDArray[np.float32]
    pieces: list[Any] | None


class Side:
    """Machines of a block, which are trained side by side: descents of rows of their own."""

    def __init__(self, descents: list[Any]):
        self.descents = descents

    def standing(self) -> NDArray[np.float64]:
        """As of wide_cd.Descent, one descent behind the other."""
        return np.concatenate([descent.standing() for descent in self.descents])

    @property
    def is_over(self) -> bool:
        """Whether every machine is."""
        return not (self.standing()[:, 3] == wide_cd.OPEN).any()

    def counts(self) -> tuple[int, int]:
        """Most epochs of a descent; nonzeros read by all."""
        epochs, entries = zip(*(descent.counts() for descent in self.descents), strict=True)
        return max(epochs), sum(entries)

    def advance(self, threads: int) -> None:
        """A step: ENTRIES nonzeros or so."""
        epochs, entries = self.counts()
        more = max(1, min(ENTRIES * epochs // max(1, entries), max(4, epochs)))
        wide_cd.run_all(self.descents, epochs + more, threads)

    def bests(self) -> list[NDArray[np.float32]]:
        """As `weights_of_groups` of every descent."""
        return [descent.weights_of_groups() for descent in self.descents]

    def known(self) -> Known:
        """Of machines that go on."""
        standing = self.standing()[:, :3]
        none = np.zeros(0, np.float32)
        return Known(standing, standing[:, 0], self.counts()[1], none, None)

    def state(self) -> list[Any]:
        """That of every descent."""
        return [descent.state() for descent in self.descents]

    def restore(self, states: Any) -> None:
        """Goes on from a `state`; raises StateError."""
        count = len(self.descents)
        schemas.checked(states, schemas.many(schemas.anything, count, count), "block")
        for descent, state in zip(self.descents, states, strict=True):
            descent.restore(state)


class LanesRun(Run):
    """The steps of all machines, counted on, with the sums over them; those that are to come stand
    at w = 0.

    Attributes
    ----------
    unit : str
        What the machines are called where it is told how many are over.
    blocks : int
        How many there are.
    known : dict of int to Known
        What is known of those that have begun.
    going : dict of int to Side
        The machines of those that are not over: `state` and `bests` of each are asked for.
    """

    unit: ClassVar[str] = "labels"

    def __init__(self, solver: LabelLanes, problem: LanesProblem, start: Start | None):
        super().__init__(solver, problem, start)
        zero = problem.losses()
        self._zero = np.column_stack([problem.C * zero, zero, np.zeros(problem.n_labels)])
        self._ends = self._bounds()
        self.blocks = len(self._ends) - 1
        self.known: dict[int, Known] = {}
        self.going: dict[int, Any] = {}
        self._iteration = 0

    def _bounds(self) -> NDArray[np.int64]:
        """(blocks + 1,) places in `order` where blocks begin, and where the last ends."""
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

    #: What pieces are made of again.
    piece: ClassVar[Any] = Pieces

    @property
    def _saved(self) -> list[tuple[Any, ...]]:
        return [
            (b, *known[:4], None if known.pieces is None else [*map(tuple, known.pieces)])
            for b, known in self.known.items()
        ]

    @_saved.setter
    def _saved(self, saved: list[tuple[Any, ...]]) -> None:
        for b, values, trained, entries, constants, pieces in saved:
            made = None if pieces is None else [self.piece(*piece) for piece in pieces]
            self.known[b] = Known(values, trained, entries, constants, made)

    def state(self) -> State:
        return super().state() | {"going": [(b, block.state()) for b, block in self.going.items()]}

    def restore(self, state: State) -> None:
        super().restore(state)
        for b, known in self.known.items():
            sizes = {len(known.values), len(known.trained), len(self.labels(b))}
            if known.pieces is not None:
                sizes.add(len(known.constants))
                fits = all(len(piece.places) == len(piece.values) for piece in known.pieces)
                schemas.require(fits, "saved", "as many places as values")
            schemas.require(len(sizes) == 1, "saved", "one number for each label of a block")
        one = schemas.row(schemas.count(0, self.blocks - 1), schemas.anything)
        schemas.checked(state, schemas.fields(going=schemas.many(one)), self.called)
        for b, saved in state["going"]:
            schemas.require(b in self.known and not self.is_over(b), "going", "blocks not over")
            self.going[b] = self._begin(b)
            self.going[b].restore(saved)

    def is_over(self, b: int) -> bool:
        """Whether a block is."""
        return b in self.known and self.known[b].pieces is not None

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
        """Those of a block."""
        return self._problem.order[self._ends[b] : self._ends[b + 1]]

    def _begin(self, b: int) -> Side:
        """The machines of a block."""
        problem, labels = self._problem, self.labels(b)
        spans = [problem.rows[problem.indptr[k] : problem.indptr[k + 1]] for k in labels]
        indptr = np.concatenate([[0], np.cumsum([len(span) for span in spans])])
        lists, seed = (indptr, np.concatenate(spans)), self._solver.seed
        return Side([problem.descent(problem.space, lists, problem.weights, seed, self._part)])

    @property
    def _part(self) -> float:
        """Of the gap that training may leave."""
        return LEFT if self._solver.prune == AUTO_PRUNE else 1.0

    def _step(self, b: int) -> Progress:
        """A block goes on; where it is over then, what is kept of it stays alone."""
        if b not in self.going:
            self.going[b] = self._begin(b)
        block = self.going[b]
        try:
            self.took(b, self._advanced(b, block), block)
        except KeyboardInterrupt:
            self.known[b] = block.known()
            raise Interrupted(self.progress()) from None
        return self.progress()

    def _advanced(self, b: int, block: Side) -> Known:
        block.advance(self._problem.space.threads)
        return self._kept(b, block) if block.is_over else block.known()

    def took(self, b: int, known: Known, block: Any) -> None:
        """Counts a step of a block, whose machines are these where they go on."""
        self._iteration += 1
        if known.pieces is None:
            self.going[b] = block
        self.known[b] = known
        if known.pieces is not None:
            self.going.pop(b, None)

    def stretch(self, b: int, state: Any, goes_on: Callable[[], bool]) -> tuple[Known, Any]:
        """A block alone, from the state of its machines or their beginning: what is known of it
        once it is over or is not to go on, and its state then."""
        block = self._begin(b)
        if state is not None:
            block.restore(state)
        while True:
            known = self._advanced(b, block)
            if known.pieces is not None:
                return known, None
            if not goes_on():
                return known, block.state()

    def _kept(self, b: int, block: Side) -> Known:
        """Prunes the weights of a block that is over."""
        parts: list[tuple[NDArray, ...]] = []
        pieces = []
        for place, descent in enumerate(block.descents):
            W, ends = descent.weights_of_groups(), descent.standing()[:, :3]
            n = len(ends)
            trained, risk = self._at(descent, W, n)
            primal = trained
            if self._solver.prune:
                W, primal, risk = self._pruned(descent, W, ends[:, 2])
            parts.append((np.column_stack([primal, risk, ends[:, 2]]), trained, self._tail(W, n)))
            pieces.append(self._piece(b, place, W))
        values, trained, constants = map(np.concatenate, zip(*parts, strict=True))
        return Known(values, trained, block.counts()[1], constants, pieces)

    def _piece(self, b: int, place: int, W: NDArray) -> Any:
        """The weights of features of a descent of a block."""
        return piece_of(self._features(W), self.labels(b))

    def _unknown(self, b: int) -> list[Any]:
        """The pieces of a block that has not begun."""
        return []

    def _tail(self, W: NDArray, n: int) -> NDArray[np.float32]:
        """(n,) the weights of the constant feature."""
        return W[:, -1, :].ravel()[:n] if self._problem.space.bias else np.zeros(n, np.float32)

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
        self, block: Any, W: NDArray, dual: NDArray[np.float64]
    ) -> tuple[NDArray, NDArray, NDArray]:
        """The weights that are kept, their primal values and losses."""
        n, shape = len(dual), (W.shape[0], W.shape[2])
        if self._solver.prune != AUTO_PRUNE:
            kept = self._cut(W, np.full(shape, self._solver.prune))
            return kept, *self._at(block, kept, n, True)
        # bisection over the ladder: low is allowed, high is not known to be
        stop = self._problem.stop
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

    def _weights(self) -> tuple[list[Any], NDArray[np.float32]]:
        """The pieces of all blocks, and the weights of the constant feature."""
        pieces, constants = [], np.zeros(self._problem.n_labels, np.float32)
        for b in range(self.blocks):
            labels = self.labels(b)
            if self.is_over(b):
                constants[labels] = self.known[b].constants
                pieces += self.known[b].pieces or []
            elif b in self.going:
                bests, at = self.going[b].bests(), 0
                for place, W in enumerate(bests):
                    piece = self._piece(b, place, W)
                    n = self._count(b, place)
                    constants[labels[at : at + n]] = self._tail(W, n)
                    pieces.append(piece)
                    at += n
            else:
                pieces += self._unknown(b)
        return pieces, constants

    def _count(self, b: int, place: int) -> int:
        """How many machines a descent of a block has."""
        return len(self.labels(b))

    def weights(self) -> tuple[Any, NDArray[np.float32]]:
        """All that is kept, and what is known of blocks that are not over; the weights of the
        constant feature."""
        pieces, constants = self._weights()
        return joined(pieces, self._problem.space.X.n_features), constants

    @property
    def asked(self) -> tuple[LabelLanes, LanesProblem]:
        """The solver and the problem."""
        return self._solver, self._problem

    @property
    def trained(self) -> NDArray[np.float64]:
        """(K,) primal of every machine before its weights were pruned."""
        primal = self._zero[:, 0].copy()
        for b, known in self.known.items():
            primal[self.labels(b)] = known.trained
        return primal

    def progress(self) -> Progress:
        """Where all machines stand."""
        sums, entries, over = self._zero.copy(), 0, 0
        for b, known in self.known.items():
            sums[self.labels(b)] = known.values
            entries += known.entries
            over += len(known.values) if known.pieces is not None else 0
        primal, risk, dual = map(float, sums.sum(axis=0))
        space, K = self._problem.space, self._problem.n_labels
        passes = wide_cd.LANES / 4 * entries / max(1, space.X.nnz * K)
        return Progress(
            max(1, self._iteration),
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
            extra={f"{self.unit}_over": over, self.unit: K},
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
    crew : callable or None
        Gives the steps of a run whose blocks are trained elsewhere.
    """

    run: ClassVar[type[LanesRun]] = LanesRun
    patience: ClassVar[int | None] = None  # every machine is watched on its own
    block: int = wide_cd.LANES
    prune: float | str = 0.0
    seed: int = 0
    crew: Callable[[LanesRun], Iterator[Progress]] | None = None
