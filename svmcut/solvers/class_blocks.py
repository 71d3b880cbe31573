# SPDX-License-Identifier: BSD-3-Clause
"""Dual ascent for the classes of Crammer and Singer over kernel values, a block of rows at a time.

    problem      min_f  1/2 sum_k |f_k|^2 + sum_i C_i max_k (L(y_i, k) + f_k(x_i) - f_y(x_i)),   C_i
                 = C v_i
    its dual     max    D = - sum_ik alpha_ik L(y_i, k) - 1/2 sum_k alpha_k' K alpha_k,   alpha_ik
    <= C_i [k = y_i],
                        sum_k alpha_ik = 0,   f_k = sum_i alpha_ik K(x_i, .)
    update       the rows whose own best steps gain most are a block, half of it those that were new
                 in the last one; their alphas go to the optimum of the block, row after row
                 exactly, on its own square of kernel values (csrc/multiclass/class_blocks.cc), and
                 the scores of all rows follow
    certificate  P at the best f found on lines between its multiples, less D at alpha, both from
                 scores formed anew before a claim

Crammer and Singer, JMLR 2, 2001; Keerthi, Sundararajan, Chang, Hsieh and Lin, KDD 2008, section 3.
Blocks are those of Joachims, Making large-scale SVM learning practical, 1999. Kernel values and
scores are float64 throughout. Along a path of C a run starts at the last alphas, scaled as is best
for D. With ill-conditioned kernel values few rows are solved as a whole after WHOLE_STEPS a row,
and after MAX_STEPS cutting planes go on from alpha, which is one cut.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut._native import multiclass
from svmcut.base.records import record
from svmcut.base.typing import ClassVar, NamedTuple
from svmcut.cutting.bundle import Cut, CutBundle
from svmcut.qp import make_qp
from svmcut.risks.weights import boxes
from svmcut.solvers.compose import Continuation
from svmcut.solvers.cutting_plane import CuttingPlane
from svmcut.solvers.few_classes import is_few, solve_classes
from svmcut.solvers.protocol import Interrupted, Problem, Progress, Run, Solver, Start
from svmcut.spaces.kernel import Expansion
from svmcut.spec import schemas
from svmcut.spec.schemas import OWN, Form, State

#: The line is searched once the gap is at most so many targets.
SEARCHED = 20
#: A block is done once its gap has fallen to this part, or after so many visits of each row.
PART, SWEEPS = 0.1, 100
#: Fewest blocks between two looks.
BLOCKS = 5
#: Steps a row after which cutting planes go on where they can.
MAX_STEPS = 5000
#: Steps a row, or blocks, after which few rows are solved as a whole.
WHOLE_STEPS, WHOLE_BLOCKS = 500, 1000
LARGEST_DIM = 250_000  # of scores: the cuts of more need much more memory than the ascent


class Best(NamedTuple):
    """The best f: (n, K) alpha and scores, |f|^2, its primal and its risk."""

    alpha: NDArray[np.float64]
    s: NDArray[np.float64]
    squared: float
    primal: float
    risk: float


class ClassBlocksRun(Run):
    """A step after every look at the gap, and now and then in between. The problem has
    CrammerSingerRisk and ClassFunctions."""

    def __init__(self, solver: ClassBlocks, problem: Problem, start: Start | None):
        super().__init__(solver, problem, start)
        risk = problem.risk
        n, K = self._shape = len(risk.y), risk.n_classes
        self._boxes = np.ascontiguousarray(np.broadcast_to(boxes(problem.C, risk.weights), n))
        self._losses = getattr(risk, "losses", None)
        self._alpha, self._s = np.zeros((n, K)), np.zeros((K, n))
        self._native = self._blocks_of(self._alpha, self._s)
        value = risk.linearize(np.zeros(n * K)).value
        self._best = Best(np.zeros((n, K)), np.zeros((n, K)), 0.0, problem.C * value, value)
        self._lower, self._blocks, self._looked, self._due, self._stuck = 0.0, 0, 0, 0, False
        self._took_whole = False
        self._newest, self._before = np.zeros(0, np.int64), 0
        self._then = Continuation()
        if start is not None and start.fractions is not None:
            self._begin(start.fractions)
        self.fractions = None

    def _blocks_of(self, alpha: NDArray, s: NDArray) -> multiclass.Blocks:
        problem = self._problem
        threads, diagonal = problem.space.rows.threads, problem.space.rows.diagonal
        return multiclass.Blocks(
            problem.risk.y, self._boxes, diagonal, alpha, s, threads, self._losses
        )

    def _begin(self, fractions: NDArray) -> None:
        """Set alpha = t fractions, with the t from 0 to C that is best for the dual."""
        s = self._problem.space.compute_scores(fractions)
        gain, squared = self._gain(fractions), float(np.vdot(fractions, s.T))
        t = min(self._problem.C, max(0.0, gain) / squared) if squared > 0 else self._problem.C
        np.multiply(fractions, t, out=self._alpha)
        np.minimum(self._alpha, self._bound(), out=self._alpha)
        np.multiply(s, t, out=self._s)

    def _bound(self) -> NDArray[np.float64]:
        """Return the upper bounds of alpha, (n, K)."""
        bound = np.zeros(self._shape)
        bound[np.arange(len(bound)), self._problem.risk.y] = self._boxes
        return bound

    def form(self) -> Form:
        real, table = schemas.REAL, schemas.reals(*self._shape)
        counts = dict.fromkeys(("_blocks", "_looked", "_due", "_before"), schemas.COUNT)
        return counts | {
            "_alpha": schemas.below(self._bound()),
            "_s": schemas.reals(*self._shape[::-1]),
            "_best": schemas.row(table, table, real, real, real),
            "_lower": real,
            **dict.fromkeys(("_stuck", "_took_whole"), schemas.flag),
            "_newest": schemas.rows(len(self._boxes)),
            "_then": OWN,
        }

    def state(self) -> State:
        return super().state() | {"before": self._before + self._native.steps}

    def __iter__(self) -> Iterator[Progress]:
        if not self._then.has_begun:
            yield from self._ascend()
            if not self._then.has_begun:
                return
        self.fractions = None
        yield from self._then.steps(self, CuttingPlane(), self._problem, self._cuts)

    def _ascend(self) -> Iterator[Progress]:
        began, said, stop = time.perf_counter(), time.perf_counter(), self._problem.stop
        n, K = self._shape
        few = self._losses is None and is_few(n, n, K)
        most = MAX_STEPS * n if self._problem.space.dim <= LARGEST_DIM else np.inf
        try:
            if not self._resumed:
                self._look()
            yield self._progress(began)
            while not (
                self._looked == self._blocks
                and (self._stuck or stop.met(self._best.primal, self._lower))
            ):
                steps = self._native.steps + self._before if self._looked == self._blocks else 0
                slow = steps > WHOLE_STEPS * n or (steps and self._blocks > WHOLE_BLOCKS)
                if few and slow and not self._took_whole:
                    self._take_whole()
                    yield self._progress(began)
                    continue
                if steps > most:
                    self._settle()
                    self._then.begin_after(self._progress(began))
                    return
                moved = self._step()
                if not moved or self._blocks >= self._due:
                    self._look(again=not moved)
                elif time.perf_counter() - said < self._solver.seconds_between:
                    continue
                yield self._progress(began)
                said = time.perf_counter()
        except KeyboardInterrupt:
            raise Interrupted(self._progress(began)._replace(report=True)) from None

    def _take_whole(self) -> None:
        """Go to the solution of the whole problem, as near as rounding allows, if it is better."""
        n, K = self._shape
        values, places = self._problem.space.rows.look_up(np.arange(n))
        sizes, vectors = np.linalg.eigh(values[places])
        features = vectors * np.sqrt(np.maximum(sizes, 0.0))
        alpha = solve_classes(features, self._problem.risk.y, self._boxes, K).alpha
        s = self._problem.space.compute_scores(alpha)
        if self._gain(alpha) - 0.5 * float(np.vdot(alpha, s.T)) > self._dual():
            self._alpha[:], self._s[:] = alpha, s
        self._took_whole = True
        self._look()

    def _cuts(self) -> Start:
        """Return the best f, and alpha as one cut."""
        problem, C = self._problem, self._problem.C
        coef = (self._alpha / -C).ravel()
        bundle = CutBundle(problem.space, make_qp(problem.qp))
        bundle.add(
            Cut(problem.space.adjoint(coef), self._gain(self._alpha) / C, self._best.risk, coef)
        )
        return Start(bundle, (self._element(self._best),))

    def _step(self) -> int:
        """Take the next block; return its rows, 0 where none gains or the gap seems to be met."""
        problem, native = self._problem, self._native
        gain, gap = native.gains()
        if self._blocks > self._looked and problem.stop.met(
            self._lower + max(0.0, float(gap.sum())), self._lower
        ):
            return 0
        most = min(self._solver.block, len(gain))
        again = self._newest[gain[self._newest] > 0][: most // 2]
        gain[again] = 0.0
        new = np.argpartition(-gain, most - len(again) - 1)[: most - len(again)]
        self._newest = new = np.sort(new[gain[new] > 0])
        rows = np.sort(np.concatenate([again, new]))
        if len(rows):
            values, places = problem.space.rows.look_up(rows)
            native.ascend(rows, values, places, PART, SWEEPS)
            self._blocks += 1
        return len(rows)

    def _gain(self, alpha: NDArray) -> float:
        """Return the linear part of the dual value."""
        y = self._problem.risk.y
        if self._losses is None:
            return float(alpha[np.arange(len(y)), y].sum())
        return -float(np.vdot(alpha, self._losses[y]))

    def _dual(self) -> float:
        return self._gain(self._alpha) - 0.5 * float(np.vdot(self._alpha, self._s.T))

    def _look(self, again: bool = False) -> None:
        """Take in alpha as a bound and as a point; again: from scores formed anew, as before a run
        ends."""
        stop, dual = self._problem.stop, self._dual()
        self._search(dual)
        if again or stop.met(self._best.primal, max(dual, self._lower)):
            self._settle()
        else:
            self._lower = max(self._lower, dual)
        self._looked, self._due = self._blocks, self._blocks + max(BLOCKS, self._blocks // 20)
        self._stuck = again and not self._native.gains()[0].any()
        self.fractions = self._alpha / self._problem.C

    def _settle(self) -> None:
        """Form the scores of alpha and of the best f anew from kernel values."""
        self._s[:] = self._problem.space.compute_scores(self._alpha)
        self._lower = max(0.0, self._dual() - 0.5 * self._problem.space.rounding_bound(self._alpha))
        best = self._best
        self._best = self._point(
            best.alpha, np.ascontiguousarray(self._problem.space.compute_scores(best.alpha).T)
        )
        own = self._point(self._alpha, np.ascontiguousarray(self._s.T))
        if own.primal < self._best.primal:
            self._best = own._replace(alpha=self._alpha.copy())

    def settle(self, progress: Progress) -> Progress:
        """Return the last step with its certificate from scores formed anew."""
        if self._then.run is not None:
            problem, C, w = self._problem, self._problem.C, progress.solution()
            model = self._then.run.bundle.solve(C, 1e-3 * problem.stop.target(progress.primal) / C)
            alpha, coef = (each.coefficients().reshape(self._shape) for each in (w, model.w))
            point = self._point(alpha, np.ascontiguousarray(problem.space.compute_scores(alpha).T))
            squared = float(
                np.vdot(coef, problem.space.compute_scores(coef).T)
            ) + problem.space.rounding_bound(coef)
            lower = max(self._lower, model.lower + 0.5 * model.squared_norm - 0.5 * squared)
            return progress._replace(primal=point.primal, dual=lower, gap=point.primal - lower)
        self._settle()
        return self._progress(time.perf_counter())._replace(seconds=progress.seconds)

    def _point(self, alpha: NDArray, s: NDArray) -> Best:
        squared, value = float(np.vdot(alpha, s)), self._problem.risk.linearize(s.ravel()).value
        return Best(alpha, s, squared, 0.5 * squared + self._problem.C * value, value)

    def _search(self, dual: float) -> None:
        """Move the best f to that of alpha where it is better; near the end of the run, to the best
        on the line from it to the best multiple of alpha's."""
        C, risk, best = self._problem.C, self._problem.risk, self._best
        own = self._point(self._alpha, np.ascontiguousarray(self._s.T))
        if own.primal < best.primal:
            self._best = best = own._replace(alpha=self._alpha.copy())
        if own.primal - max(dual, self._lower) > SEARCHED * self._problem.stop.target(own.primal):
            return
        scale = risk.line_minimum(np.zeros(own.s.size), own.s.ravel(), 0.0, own.squared, C)
        rates, cross = scale * own.s - best.s, scale * float(np.vdot(best.alpha, own.s))
        wd, dd = cross - best.squared, scale * scale * own.squared - 2 * cross + best.squared
        t = risk.line_minimum(best.s.ravel(), rates.ravel(), wd, dd, C)
        if t > 0:
            point = self._point((1 - t) * best.alpha + t * scale * self._alpha, best.s + t * rates)
            if point.primal < best.primal:
                self._best = point

    def _element(self, best: Best) -> Expansion:
        points = np.flatnonzero(best.alpha)
        return Expansion(points, best.alpha.ravel()[points], best.s.ravel().copy())

    def _progress(self, began: float) -> Progress:
        best, rows = self._best, self._problem.space.rows
        support = int(np.count_nonzero(self._alpha.any(axis=1)))
        passes, looked = rows.evaluations / max(1, rows.n) ** 2, self._looked == self._blocks
        state = self._blocks + 1, passes, best.primal, self._lower, lambda: self._element(best)
        counts = 0, support, best.risk, best.risk, rows.evaluations
        return Progress.since(began, *state, *counts, report=looked)


@record
class ClassBlocks(Solver):
    """Dual ascent over blocks of rows."""

    run = ClassBlocksRun
    patience: ClassVar[int | None] = 2000
    #: Rows of a block.
    block: int = 128
    #: Seconds after which a step reports that time has passed.
    seconds_between: float = 0.5
