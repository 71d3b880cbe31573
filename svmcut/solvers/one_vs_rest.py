# SPDX-License-Identifier: BSD-3-Clause
"""One class or label against the rest: K problems of two classes on the same rows, with the sum of
their certificates.

    problem      min_W  sum_k [1/2 |W_k|^2 + sum_i C_i l(y_ik W_k.x_i)],   y_ik = 1 where k is
                 right, else -1

Every machine ends at a K-th of an absolute target, or at the relative one, so that their sums meet
it. The run ends where the sums do.

Dual coordinate descent for the hinge loss trains machines side by side (csrc/labels/label_cd.cc): a
row is read once for a group of them, groups are shared out among threads, and no machine depends on
another. Machines that prove slow go on one after the other from where they are; those of other
solvers are trained so from the start.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from svmcut._native import label_cd
from svmcut.base.records import record, replace
from svmcut.base.typing import Any, ClassVar, NamedTuple
from svmcut.cutting.bundle import CutBundle
from svmcut.qp import make_qp
from svmcut.risks.weights import boxes
from svmcut.solvers.auto import can_newton_follow
from svmcut.solvers.compose import Watched
from svmcut.solvers.descent import squared_norms
from svmcut.solvers.dual_cd import DualCd
from svmcut.solvers.protocol import (
    Interrupted,
    Problem,
    Progress,
    Run,
    Solver,
    Start,
    StoppingRule,
)
from svmcut.spaces.linear import LinearSpace
from svmcut.spec import schemas
from svmcut.spec.schemas import Form, State

#: Most multipliers of machines side by side in memory, and nonzeros that are read for a step.
ALPHAS, ENTRIES = 1 << 25, 200_000_000
#: Rounding of a gap in float64, as a part of the primal.
ROUNDING = 1e-13


def lanes_of(K: int) -> int:
    """Return the number of machines of a group, of K in all."""
    return label_cd.LANES[label_cd.LANES[0] * 2 < K]


def machines_at_once(n: int, lanes: int) -> int:
    """Return the number of machines of a wave: whole groups whose multipliers fit in ALPHAS."""
    return max(2, ALPHAS // (n * lanes)) * lanes


def looks_until(looks: int, entries: int) -> int:
    """Return the number of looks at which the next step ends, after so many looks and nonzeros
    read."""
    return looks + min(max(1, ENTRIES * looks // max(1, entries)), max(1, looks))


class OneVsRestRun(Run):
    """The steps of all machines, counted on, with the sums over them; machines that have not begun
    are at w = 0. The problem has OneVsRestRisk and LabelSpace without pairs."""

    def __init__(self, solver: OneVsRest, problem: Problem, start: Start | None):
        super().__init__(solver, problem, start)
        risk, space = problem.risk, problem.space
        self._K = K = risk.n_classes
        self._space = LinearSpace(space.X, space.bias, space.threads)
        stop = StoppingRule(problem.stop.absolute / K, problem.stop.relative)
        self._binary = replace(problem, risk=None, space=self._space, stop=stop)
        self._W, n = np.zeros((self._space.dim, K)), space.X.n_rows
        zero = risk.machine(0).linearize(np.zeros(n)).value
        #: Primal, risk and dual of every machine; iterations, passes, cuts and support of the
        #: finished ones.
        self._found = np.zeros((K, 3))
        self._found[:, 0], self._found[:, 1] = problem.C * zero, zero
        self._counts: tuple[int, float, int, int] = (0, 0.0, 0, 0)
        # a wave of machines side by side, the first machine of the next wave, and those that are
        # trained alone, from these fractions
        self._side_by_side = isinstance(solver.machine, DualCd)
        self._wave: Any = None
        self._next = 0 if self._side_by_side else K
        self._left: list[int] = [] if self._side_by_side else list(range(K))
        self._fractions: list[Any] = [None] * len(self._left)
        self._run: Watched | None = None

    def form(self) -> Form:
        K, count, n = self._K, schemas.COUNT, self._space.X.n_rows
        return {
            "_W": schemas.weights(self._space.dim, K),
            "_found": schemas.reals(K, 3),
            "_counts": schemas.row(count, schemas.REAL, count, count),
            "_next": schemas.count(0, K),
            "_left": schemas.many(schemas.count(0, K - 1), 0, K),
            "_fractions": schemas.many(schemas.maybe(schemas.reals(n, low=0, high=1))),
        }

    def state(self) -> State:
        parts = {"wave": self._wave, "machine": self._run}
        return super().state() | {name: part and part.state() for name, part in parts.items()}

    def restore(self, state: State) -> None:
        super().restore(state)
        one_each = len(self._left) == len(self._fractions)
        schemas.require(one_each, "left and fractions", "one each")
        if state["wave"] is not None:
            schemas.require(self._next < self._K, "wave and next", "machines that are not over")
            self._wave = self._begin_wave()
            self._wave.restore(state["wave"])
        if state["machine"] is not None:
            schemas.require(bool(self._left), "machine and left", "one that is not over")
            self._run = self._machine(None, state["machine"])

    def __iter__(self) -> Iterator[Progress]:
        self._began = time.perf_counter()
        while self._next < self._K:
            yield from self._train_wave()
            if self._is_met():
                return
        while self._left:
            yield from self._train_alone(self._left[0])
            if self._is_met():
                return

    def radii(self) -> NDArray[np.float64]:
        """Return how far every machine can be from its optimum, (K,): sqrt(2 gap)."""
        gaps = self._found[:, 0] - self._found[:, 2]
        return np.sqrt(2 * np.maximum(gaps + ROUNDING * np.abs(self._found[:, 0]), 0.0))

    def _is_met(self) -> bool:
        primal, _, dual = self._found.sum(axis=0).tolist()
        return self._problem.stop.met(primal, dual)

    def _labels(self) -> range:
        """Return the machines of the wave at `next`."""
        most = machines_at_once(self._space.X.n_rows, self._lanes)
        return range(self._next, min(self._K, self._next + most))

    @property
    def _lanes(self) -> int:
        return lanes_of(self._K)

    def _until(self, looks: int, entries: int) -> int:
        """Return the looks at which the next step of a wave ends; see looks_until."""
        return looks_until(looks, entries)

    def _begin_wave(self) -> Any:
        problem, space, stop, labels = self._problem, self._space, self._binary.stop, self._labels()
        leaves = can_newton_follow(space.X.n_rows, space.dim)
        patience = self._solver.machine.max_epochs if leaves else math.inf
        return label_cd.Descent(
            space.rows,
            problem.risk.positive[:, labels.start : labels.stop],
            squared_norms(space),
            space.bias,
            problem.C,
            self._W[:, labels.start : labels.stop],
            self._lanes,
            self._solver.machine.seed,
            problem.risk.weights,
            stop.absolute if stop.relative is None else 0.0,
            stop.relative or 0.0,
            self._lanes * patience,  # an epoch of all costs little more
        )

    def _train_wave(self) -> Iterator[Progress]:
        """Yield the steps of machines side by side, until each is finished or proves slow."""
        labels, resumed, self._resumed = self._labels(), self._resumed, False
        own = slice(labels.start, labels.stop)
        wave = self._wave = self._wave or self._begin_wave()
        while True:
            looks, entries = wave.counts()
            if not resumed:
                self._counts = (self._counts[0] + 1, *self._counts[1:])
                try:
                    wave.run(self._until(looks, entries), self._space.threads)
                except KeyboardInterrupt:
                    self._found[own] = wave.standing()[:, :3]
                    raise Interrupted(self._progress(wave)) from None
                self._found[own] = wave.standing()[:, :3]
            resumed = False
            yield self._progress(wave)
            ends = wave.standing()[:, 3]
            if self._is_met() or (ends != label_cd.OPEN).all():
                break
        slow = np.flatnonzero(ends == label_cd.SLOW).tolist()
        C = boxes(self._problem.C, self._problem.risk.weights)
        self._left += [labels[place] for place in slow]
        self._fractions += [np.minimum(wave.alphas(place) / C, 1.0) for place in slow]
        iteration, passes, cuts, support = self._counts
        self._counts = iteration, passes + self._passes(wave), cuts, support
        self._next, self._wave = labels.stop, None

    def _passes(self, wave: Any) -> float:
        """Return the passes of all machines of a wave."""
        looks, entries = wave.counts()
        return self._lanes * entries / max(1, self._space.X.nnz) + 2.0 * looks * len(self._labels())

    def _progress(self, wave: Any) -> Progress:
        iteration, passes, cuts, support = self._counts
        W = (
            self._W
        )  # shared with the wave: a copy of all classes a step would cost more than the step
        return self._sum_progress(
            iteration, passes + self._passes(wave), cuts, support, self._found, lambda: W.ravel()
        )

    def _machine(self, start: Start | None, state: State | None) -> Watched:
        """Return the run of the first machine that is left."""
        problem = replace(self._binary, risk=self._problem.risk.machine(self._left[0]))
        return Watched(self._solver.machine, problem, start, state)

    def _train_alone(self, k: int) -> Iterator[Progress]:
        """Yield the steps of one machine by its solver, from where it is."""
        if self._run is None:
            start, fractions = None, self._fractions[0]
            if fractions is not None:
                bundle = CutBundle(self._space, make_qp(self._binary.qp))
                start = Start(bundle, (np.ascontiguousarray(self._W[:, k]),), fractions)
            self._run = self._machine(start, None)
        try:
            for progress in self._run:
                yield self._add_machine(k, progress)
        except Interrupted as signal:
            raise Interrupted(self._add_machine(k, signal.progress)) from None
        summed = self._add_machine(k, progress)
        self._W[:, k] = progress.solution()  # in place: a copy of all costs more than a machine
        dual = max(float(self._found[k, 2]), progress.dual)
        self._found[k] = progress.primal, progress.risk, dual
        self._counts = summed.iteration, summed.passes * self._K, summed.cuts, summed.support
        self._left = self._left[1:]
        self._fractions = self._fractions[1:]
        self._run = None

    def _add_machine(self, k: int, p: Progress) -> Progress:
        """Return the sums with this step of a machine."""
        W, sums = self._W, self._found.copy()
        sums[k] = p.primal, p.risk, max(float(sums[k, 2]), p.dual)

        def solution():
            columns = W.copy()
            columns[:, k] = p.solution()
            return columns.ravel()

        iteration, passes, cuts, support = self._counts
        counts = iteration + p.iteration, passes + p.passes, cuts + p.cuts, support + p.support
        return self._sum_progress(*counts, sums, solution)

    def _sum_progress(
        self, iteration: int, passes: float, cuts: int, support: int, sums: Any, solution: Any
    ) -> Progress:
        primal, risk, dual = sums.sum(axis=0).tolist()
        state = iteration, passes / self._K, primal, dual, solution
        return Progress.since(self._began, *state, cuts, support, risk, risk)


@record
class OneVsRest(Solver):
    """A machine for every class or label."""

    run = OneVsRestRun
    patience: ClassVar[int | None] = None  # every machine is watched on its own
    #: Of two classes, certified.
    machine: Solver


class Piece(NamedTuple):
    """The result of training a group of k machines."""

    #: (looks + 1, 1 + 3 k) After every look side by side the nonzeros that were read, and primal,
    #: risk and dual of the machines.
    trace: NDArray[np.float64]
    #: (dim, k) The best weights when they were no longer side by side, and at the end.
    before: NDArray[np.float64]
    W: NDArray[np.float64]
    #: (k, 3) Primal, risk and dual at the end.
    found: NDArray[np.float64]
    #: (k, 5) 1, iterations, passes, cuts and support of a machine that went on alone; else 0.
    alone: NDArray[np.float64]

    @property
    def looks(self) -> int:
        """The number of looks side by side."""
        return len(self.trace) - 1

    def at(self, look: int) -> tuple[float, NDArray[np.float64]]:
        """Return the nonzeros read and the (k, 3) found after that look, or after the last one."""
        row = self.trace[min(look, self.looks)]
        return float(row[0]), row[1:].reshape(-1, 3)


def check_piece(piece: dict[str, Any], dim: int, k: int) -> None:
    """Raise StateError for fields that are no Piece of k machines."""
    known = schemas.fields(
        trace=schemas.reals(None, 1 + 3 * k),
        before=schemas.reals(dim, k),
        W=schemas.reals(dim, k),
        found=schemas.reals(k, 3),
        alone=schemas.reals(k, 5),
    )
    schemas.checked(piece, known, "piece")
    schemas.require(len(piece["trace"]) > 0, "trace", "a row at least")


def waves_of(solver: OneVsRest, n: int, K: int) -> list[list[range]]:
    """Return the groups of K machines on n rows, by wave; one wave of single machines where they
    are trained one after the other."""
    if not isinstance(solver.machine, DualCd):
        return [[range(k, k + 1) for k in range(K)]]
    lanes, waves = lanes_of(K), []
    most = machines_at_once(n, lanes)
    for first in range(0, K, most):
        count = min(most, K - first)
        groups = math.ceil(count / lanes)
        ends = [first + g * count // groups for g in range(groups + 1)]
        waves.append([range(a, b) for a, b in pairwise(ends)])
    return waves


class GroupRun(OneVsRestRun):
    """Machines against the rest in groups that are trained anywhere, each to its own end, and
    joined to the steps of one run: the looks of every group are replayed, so that all end where the
    sums of that run meet its target.

    A group has as many machines as one run trains side by side (svmcut.solvers.one_vs_rest), or one
    where the solver trains one after the other. A run that ends within a wave leaves its machines
    as they are at that look; groups that had gone on are trained once more, up to there.
    """

    def __init__(self, solver: GroupSolver, problem: Problem, start: Start | None):
        super().__init__(solver, problem, start)  # type: ignore[arg-type]
        self._binary = replace(self._binary, stop=problem.stop)
        self._trace: list[NDArray[np.float64]] = [np.append(0.0, self._found)]
        self._alone = np.zeros((self._K, 5))
        self._before = self._W

    @property
    def _lanes(self) -> int:
        return self._solver.lanes  # type: ignore[no-any-return]

    def _until(self, looks: int, entries: int) -> int:
        return looks + 1

    def _is_met(self) -> bool:
        return False

    def __iter__(self) -> Iterator[Progress]:
        self._began = time.perf_counter()
        if self._side_by_side:
            for progress in self._train_wave():
                self._trace.append(np.append(float(self._wave.counts()[1]), self._found))
                yield progress
        self._before = self._W.copy()
        while self._left:
            k, was = self._left[0], np.array(self._counts)
            yield from self._train_alone(k)
            self._alone[k] = 1, *(np.array(self._counts) - was)

    def so_far(self, looks: int) -> NDArray[np.float64]:
        """Return the weights (dim, k) after so many looks side by side."""
        self._began = time.perf_counter()
        for _ in self._train_wave():
            if self._wave.counts()[0] >= looks:
                break
        return self._W

    def piece(self) -> Piece:
        """Return the result."""
        return Piece(np.array(self._trace), self._before, self._W, self._found, self._alone)


@record
class GroupSolver(Solver):
    """A group of machines."""

    run = GroupRun
    patience: ClassVar[int | None] = None  # every machine is watched on its own
    #: A certified solver of two classes.
    machine: Solver
    #: Machines that go side by side where all are trained.
    lanes: int = label_cd.LANES[0]

    def of_group(self, problem: Problem, space: Any, labels: range) -> Problem:
        """Return the problem of some of the machines, on the space of their scores; each ends
        where it does among all."""
        stop = replace(problem.stop, absolute=problem.stop.absolute / problem.risk.n_classes)
        return replace(problem, risk=problem.risk.only(labels), space=space, stop=stop)


class JoinedRun:
    """A run of all machines, brought to where pieces that were trained elsewhere take it.

    The run is a OneVsRestRun that has taken no step. Pieces are numbered in the order of the groups
    of `waves_of`; machines of missing ones stay at w = 0. `again` gives the weights of group k
    after so many looks.
    """

    def __init__(
        self,
        run: Any,
        waves: list[list[range]],
        pieces: Mapping[int, Piece],
        again: Callable[[int, int], NDArray],
    ):
        self._run, self._waves, self._pieces, self._again = run, waves, pieces, again
        self._counts = np.zeros(4)
        self._machines = [labels for wave in waves for labels in wave]

    def take(self) -> Progress:
        """Take all steps; return the last one."""
        run, whole = self._run, len(self._pieces) == len(self._machines)
        run._began, first = time.perf_counter(), 0
        for wave in self._waves if run._side_by_side else ():
            numbers = range(first, first + len(wave))
            first += len(wave)
            self._take_wave([k for k in numbers if k in self._pieces], whole)
            if whole and run._is_met():
                return self._sum_progress()
        for k, labels in enumerate(self._machines):
            for place, label in enumerate(labels):
                piece = self._pieces.get(k)
                if piece is not None and piece.alone[place, 0]:
                    run._W[:, label] = piece.W[:, place]
                    run._found[label] = piece.found[place]
                    self._counts += piece.alone[place, 1:]
                    if whole and run._is_met():
                        return self._sum_progress()
        return self._sum_progress()

    def _take_wave(self, numbers: list[int], whole: bool) -> None:
        """Take the steps of a wave, up to the one with which the whole run ends."""
        run, look = self._run, 0
        pieces = {k: self._pieces[k] for k in numbers}
        while True:
            looks = max((min(look, piece.looks) for piece in pieces.values()), default=0)
            entries = sum(piece.at(look)[0] for piece in pieces.values())
            look = looks_until(looks, int(entries))
            self._counts[0] += 1
            for k, piece in pieces.items():
                run._found[self._slice(k)] = piece.at(look)[1]
            over = all(piece.looks <= look for piece in pieces.values())
            if over or (whole and run._is_met()):
                break
        entries = sum(piece.at(look)[0] for piece in pieces.values())
        for k, piece in pieces.items():
            done = piece.looks <= look
            run._W[:, self._slice(k)] = piece.before if done else self._again(k, look)
        looks = max((min(look, piece.looks) for piece in pieces.values()), default=0)
        count = sum(len(self._machines[k]) for k in numbers)
        nnz = max(1, run._space.X.nnz)
        self._counts[1] += run._lanes * entries / nnz + 2.0 * looks * count

    def _slice(self, k: int) -> slice:
        return slice(self._machines[k].start, self._machines[k].stop)

    def _sum_progress(self) -> Progress:
        run = self._run
        iteration, passes, cuts, support = self._counts
        W = run._W
        counts = int(iteration), float(passes), int(cuts), int(support)
        return run._sum_progress(*counts, run._found, lambda: W.ravel())
