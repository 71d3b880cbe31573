# SPDX-License-Identifier: BSD-3-Clause
"""Dual coordinate descent for the classes of Crammer and Singer, a row at a time.

    problem      min_W  1/2 |W|^2 + sum_i C_i max_k ([k != y_i] + W_k.x_i - W_y.x_i),   C_i = C v_i
    its dual     max    sum_i alpha_iy - 1/2 |W|^2,   alpha_ik <= C_i [k = y_i],   sum_k alpha_ik =
    0,
                        W_k = sum_i alpha_ik x_i
    update       a row's alphas to their optimum, in random order (csrc/multiclass/multiclass_cd.cc)
    certificate  P at the best W found on lines between its multiples, less D at alpha, whose W is
                 formed afresh before a run ends: D rises to its maximum long before P of alpha's
                 own W falls to it

Keerthi, Sundararajan, Chang, Hsieh and Lin, KDD 2008, section 3. Along a path of C a run starts at
the last alphas, scaled as is best for D. Where the descent leads no further, cutting planes go on
from its alpha, which is one cut.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut._native import multiclass, sparse
from svmcut.base.records import record
from svmcut.cutting.bundle import Cut, CutBundle
from svmcut.qp import make_qp
from svmcut.risks.weights import boxes, total
from svmcut.solvers.compose import Continuation
from svmcut.solvers.cutting_plane import CuttingPlane
from svmcut.solvers.descent import squared_norms
from svmcut.solvers.few_classes import is_few, solve_classes
from svmcut.solvers.few_rows import dense_rows
from svmcut.solvers.protocol import (
    Interrupted,
    Problem,
    Progress,
    Run,
    Solver,
    Stall,
    Start,
    constant,
)
from svmcut.spec import schemas
from svmcut.spec.schemas import OWN, Form

MAX_EPOCHS = 20_000
#: Epochs after which few rows are solved as a whole.
WHOLE_EPOCHS = 1000
#: First guess of the gap of the best point, as a part of the estimated gap.
FIRST_RATIO = 0.7
#: The line is searched once the gap is at most so many targets.
SEARCHED = 20
TINY = 1e-300
LARGEST_DIM = 250_000  # of W: the cuts of more need much more memory than the descent


class MulticlassCdRun(Run):
    """A step after every look at the gap. The problem has CrammerSingerRisk and LabelSpace without
    pairs."""

    def __init__(self, solver: MulticlassCd, problem: Problem, start: Start | None):
        super().__init__(solver, problem, start)
        risk, space = problem.risk, problem.space
        n, K = self._shape = len(risk.y), risk.n_classes
        self._rows, self._boxes = np.arange(n), boxes(problem.C, risk.weights)
        self._alpha, self._w = np.zeros((n, K)), space.zero()
        self._value = total(risk.weights, n) * float(K > 1)
        self.best = space.zero()
        self.primal = problem.C * self._value
        self.lower = 0.0
        self._now = 0.0
        self._s, self._squared = np.zeros(n * K), 0.0
        self._rooms: list[NDArray[np.float64]] = []
        self._other: NDArray[np.float64] | None = None
        self._iteration, self._looks, self._ratio, self._stall = 0, 0, FIRST_RATIO, Stall(60)
        self._then, self._took_whole = Continuation(), False
        norms = squared_norms(space)
        W = self._w.reshape(-1, K)
        self._native = multiclass.Descent(
            space.rows, risk.y, norms, space.bias, self._alpha, W, solver.seed, risk.weights
        )
        if start is not None and start.fractions is not None:
            self._begin(start.fractions)
        self.fractions = None
        self._parts: NDArray[np.float64] | None = None

    def _begin(self, fractions) -> None:
        """Set alpha = t fractions, with the t from 0 to C that is best for the dual."""
        space = self._problem.space
        w = space.adjoint(fractions.ravel())
        gain = float(fractions[self._rows, self._problem.risk.y].sum())
        squared = space.dot(w, w)
        t = min(self._problem.C, gain / squared) if squared > 0 else self._problem.C
        np.multiply(fractions, t, out=self._alpha)
        np.multiply(w, t, out=self._w)

    def form(self) -> Form:
        kinds, real, bound = self._problem.space.kinds(), schemas.REAL, np.zeros(self._shape)
        bound[self._rows, self._problem.risk.y] = self._boxes
        reals = ("primal", "lower", "_now", "_squared", "_ratio", "_value")
        return {
            "_alpha": schemas.below(bound),
            "_w": kinds.element,
            "best": kinds.element,
            "_s": kinds.scores,
            "_native": OWN,
            "_stall": OWN,
            "_then": OWN,
            "_took_whole": schemas.flag,
            **dict.fromkeys(("_iteration", "_looks"), schemas.COUNT),
            **dict.fromkeys(reals, real),
        }

    def __iter__(self) -> Iterator[Progress]:
        problem, descent, resumed = self._problem, self._native, self._resumed
        self._resumed, began = False, time.perf_counter()
        if not self._then.has_begun:
            scores = self._scores(self._w).reshape(self._shape) if resumed else self._look()
            n, K = self._shape
            # epochs that cost more than a look does
            block = min(max(10, 200_000 // (problem.space.X.nnz * K + 10 * n)), 200)
            while True:
                self._iteration += not resumed
                resumed = False
                progress = self._progress(began)
                yield progress
                if problem.stop.met(self.primal, self.lower):
                    self._rooms, self._other = [], None
                    return
                if (
                    self._stall.has_stalled(self.primal - self.lower)
                    or descent.epochs >= MAX_EPOCHS
                ):
                    break
                if descent.epochs >= WHOLE_EPOCHS and not self._took_whole and self._is_few:
                    scores = self._take_whole()
                    continue
                descent.wake(problem.C, scores)
                enough, share = self._aim()
                try:
                    descent.run(
                        problem.C,
                        max(block, descent.epochs // 3),
                        enough,
                        share=share,
                        dual=self._now,
                    )
                except KeyboardInterrupt:
                    self._look(last=True)
                    self._iteration += 1
                    raise Interrupted(self._progress(began)) from None
                scores = self._look()
                gap = self.primal - self.lower
                if 0 < gap <= SEARCHED * problem.stop.target(self.primal) and descent.gap > 0:
                    self._ratio = min(max(gap / descent.gap, 0.1), 1.5)
            if problem.space.dim > LARGEST_DIM:
                self.ended_by = "cap" if descent.epochs >= MAX_EPOCHS else None
                return
            self._then.begin_after(progress)
        self.fractions = None
        yield from self._then.steps(self, CuttingPlane(), problem, self._cuts)

    def below(self) -> tuple[NDArray[np.float64], float] | None:
        """Return W of alpha, formed afresh, and its dual value; None where cutting planes went
        on."""
        if self._then.has_begun:
            return None
        v = self._problem.space.adjoint(self._alpha.ravel())
        gain = float(self._alpha[self._rows, self._problem.risk.y].sum())
        return v, gain - 0.5 * self._problem.space.dot(v, v)

    @property
    def _is_few(self) -> bool:
        """True where the whole problem is quickly solved."""
        return is_few(self._shape[0], self._w.size // self._shape[1], self._shape[1])

    def _take_whole(self) -> NDArray[np.float64]:
        """Go to the solution of the whole problem, as near as rounding allows; return the scores
        of W, as `_look` does."""
        space, K = self._problem.space, self._shape[1]
        rows = dense_rows(space)
        tops = np.broadcast_to(self._boxes, len(rows))
        alpha, W = solve_classes(rows, self._problem.risk.y, tops, K)
        self._took_whole = True
        v = space.adjoint(alpha.ravel())
        value = float(alpha[self._rows, self._problem.risk.y].sum()) - 0.5 * space.dot(v, v)
        if value > self._now:
            np.copyto(self._alpha, alpha)
            np.copyto(self._w, v)
        if np.isfinite(W).all():
            self._offer(W.ravel(), self._scores(W.ravel(), self._s).copy())
        return self._look()

    def _cuts(self) -> Start:
        """Return the best point, and alpha as one cut."""
        problem = self._problem
        coef = (self._alpha / -problem.C).ravel()
        bundle = CutBundle(problem.space, make_qp(problem.qp))
        offset = float(self._alpha[self._rows, problem.risk.y].sum()) / problem.C
        bundle.add(Cut(problem.space.adjoint(coef), offset, self._value, coef))
        return Start(bundle, (self.best,))

    def _aim(self) -> tuple[float, float]:
        """Return the estimated gap at which the run may end: a number, and a multiple of the dual
        value."""
        absolute, relative = self._problem.stop.absolute, self._problem.stop.relative
        if relative is None:
            return absolute / self._ratio, 0.0
        # the primal is the sum of the dual and the gap
        return 0.0, relative / (self._ratio * max(1 - relative, TINY))

    def _scores(self, w, *used: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores of w, in an array other than these."""
        room = self._room(self._s, *used)
        if not w.any():
            room[:] = 0.0
            return room
        self._looks += 1
        self._problem.space.scores(w, room)
        return room

    def _room(self, *used: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return an array (n K,) of the run other than these; a new one only where needed."""
        for room in self._rooms:
            if not any(room is each for each in used):
                return room
        self._rooms.append(np.empty(self._s.shape))
        return self._rooms[-1]

    def _look(self, last: bool = False):
        """Take in W as a point and alpha as a bound; return the scores of W. last: none follows."""
        problem, space = self._problem, self._problem.space
        scores, squared = self._scores(self._w), space.dot(self._w, self._w)
        gain = float(self._alpha[self._rows, problem.risk.y].sum())
        self._now = gain - 0.5 * squared
        self._search(scores, squared, last)
        if problem.stop.met(self.primal, max(self._now, self.lower)):  # steps add up rounding
            space.adjoint(self._alpha.ravel(), self._w)
            self._looks += 1
            self._now = gain - 0.5 * space.dot(self._w, self._w)
            self._offer(self.best, self._scores(self.best, scores), again=True)
        self.lower = max(self.lower, self._now)
        self._parts = self.fractions = np.divide(self._alpha, problem.C, out=self._parts)
        return scores.reshape(self._shape)

    def _search(self, s, squared: float, last: bool) -> None:
        """Move the best point to W, whose scores are s; near the end of the run, and last, to the
        best on the line from it to the best multiple of W."""
        problem, risk, C = self._problem, self._problem.risk, self._problem.C
        before = self.best
        primal = self._offer(self._w, s)
        far = primal - max(self._now, self.lower) > SEARCHED * problem.stop.target(primal)
        if far and not last:
            return
        scale = risk.line_minimum(None, s, 0.0, squared, C)
        rates = np.multiply(s, scale, out=self._room(self._s, s))
        rates -= self._s
        cross = scale * problem.space.dot(self.best, self._w)
        wd, dd = cross - self._squared, scale * scale * squared - 2 * cross + self._squared
        t = risk.line_minimum(self._s, rates, wd, dd, C)
        if t > 0:
            fresh = self.best is not before  # a copy of W then, which no step has reported yet
            room = self.best if fresh else self._spare()
            sparse.blend(1 - t, self.best, t * scale, self._w, room)
            sparse.blend(1.0, self._s, t, rates, rates)
            self._offer(room, rates)
            if fresh and self._s is not rates:
                np.copyto(room, self._w)

    def _spare(self) -> NDArray[np.float64]:
        """Return the memory of the best point before this one."""
        if self._other is None:
            self._other = np.empty(len(self.best))
        return self._other

    def _offer(self, w, s, again: bool = False) -> float:
        """Take w with its scores as the best point if it is, or again by fresh scores; return its
        primal."""
        squared, value = self._problem.space.dot(w, w), self._problem.risk.value(s)
        primal = 0.5 * squared + self._problem.C * value
        if again or primal < self.primal:
            if w is self._w:
                w = self._spare()
                np.copyto(w, self._w)
            if w is not self.best:  # the reported point stays as it is until the next step
                self.best, self._other = w, self.best
            self._s = s
            self._squared = squared
            self.primal = primal
            self._value = value
        return primal

    def _progress(self, began: float) -> Progress:
        size = max(1, self._problem.space.X.nnz * self._shape[1])
        passes = self._looks + self._native.entries / size
        support = int(np.count_nonzero(self._alpha[self._rows, self._problem.risk.y]))
        state = self._iteration, passes, self.primal, self.lower, constant(self.best)
        return Progress.since(began, *state, 0, support, self._value, self._value)


@record
class MulticlassCd(Solver):
    """Dual coordinate descent over all classes."""

    run = MulticlassCdRun
    #: Seed of the order of the visits.
    seed: int = 0
