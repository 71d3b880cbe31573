# SPDX-License-Identifier: BSD-3-Clause
"""Machines against the rest in groups that are trained anywhere, each to its own end, and joined to
the steps of one run: the looks of every group are replayed, so that all end where the sums of that
run meet its target.

A group has as many machines as one run trains side by side (svmcut.solvers.one_vs_rest), or one
where the solver trains one after the other. A run that ends within a wave leaves its machines as
they are at that look; groups that had gone on are trained once more, up to there.
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
from svmcut.solvers.dual_cd import DualCd
from svmcut.solvers.one_vs_rest import (
    OneVsRest,
    OneVsRestRun,
    lanes_of,
    looks_until,
    machines_at_once,
)
from svmcut.solvers.protocol import Problem, Progress, Solver, Start
from svmcut.spec import schemas


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
    """A group of machines, each trained to its own end. Checkpoints do not save it."""

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
