# SPDX-License-Identifier: BSD-3-Clause
"""Coordinate descent Newton for sums of losses without corners under an l1 or elastic-net penalty.

    problem      min_w  P(w) = l1 |w|_1 + l2/2 |w|^2 + C sum_i v_i l(y_i, w.x_i), or the minimum of
                 the sum over a free bias
    its dual     max    C sum_i v_i h(g_i) - sum_j ((|v_j| - l1)+)^2 / (2 l2),  v = C X'(v g);
                 without l2 g is to have |v_j| <= l1
    update       Newton steps over a working set of columns, each model solved by coordinate
                 descent (csrc/linear/penalty.cc)
    certificate  g = -l'(f), times the best theta that has |v_j| <= l1; the best bound so far is
                 kept
    screening    sum_i (g_i - g*_i)^2 C v_i <= r^2, r^2 = gap / least curvature of -h, so column j
                 has weight 0 at the optimum, and is out for good, where
                 |v_j| + r N_j < l1,  N_j^2 = C sum_i v_i x_ij^2 (less the mean, with a free bias)

v and the gap of the screening are those of the same g. The working set holds the weights that are
not 0 and as many columns again, those nearest to |v_j| = l1 in units of N_j. A gap falls as the
root of P - P* where l2 = 0.

References
----------
Yuan, Chang, Hsieh and Lin, JMLR 2010 (coordinate descent Newton); Yuan, Ho and Lin, JMLR 2012
(Newton steps over coordinates); Ndiaye, Fercoq, Gramfort and Salmon, JMLR 2017 (safe screening);
Massias, Gramfort and Salmon, ICML 2018 (working sets).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut._native import penalty as native
from svmcut._native.losses import LOGISTIC, SQUARED_HINGE
from svmcut.base.errors import TrainingError
from svmcut.base.records import record
from svmcut.base.typing import Any, ClassVar, NamedTuple
from svmcut.risks.free_bias import FreeBias, find_root
from svmcut.risks.hinge import BoundHinge
from svmcut.risks.protocol import LossRisk
from svmcut.solvers.descent import squared_norms
from svmcut.solvers.few_rows import MAX_NUMBERS, MAX_ROWS, dense_rows
from svmcut.solvers.protocol import Problem, Progress, Run, Solver, Start, constant
from svmcut.spaces.linear import LinearSpace
from svmcut.spec import schemas
from svmcut.spec.schemas import Form

MIN_SET, GROWTH = 300, 2  # columns of a working set, at least and for each with a weight
LIKELY = 4  # times the columns of a working set are copied with it
INNER = 0.3  # gap of a working set, as a part of the wanted gap
PART = 0.5  # part of the violation of slopes that a working set may leave
#: Entries of columns read before the first look: PASSES times all of them, so that a look at all
#: columns, their screening and a working set take a small part of the time; at least, and at most.
#: Each look doubles them: steps that begin anew lose the curvature along which they went.
PASSES, MIN_ENTRIES, MAX_ENTRIES = 12, 2_000_000, 200_000_000
UNEVEN = 1e-6  # sum of slopes that a free bias may leave, as a part of their size
FACE_ITERATIONS, FACE_STEPS = 2, 20  # looks before steps over the weights alone, and most of them
FACE_RIDGE = 1e-10  # part of the scaled diagonal that is added to it
BISECTIONS = 60  # for a theta of the logistic loss
BOUND_TOLERANCE = 0.01  # distance from the best bound, as a part of the wanted gap


class Bound(NamedTuple):
    """A feasible point of the dual."""

    value: float
    #: v of the point is theta times that of the tangent's.
    theta: float


class CdnRun(Run):
    """A look at all columns that are not screened before every working set.

    The problem has a loss of one score without corners, or FreeBias of one, and a linear space.
    """

    serves = "a loss without corners"

    def __init__(self, solver: Solver, problem: Problem, start: Start | None):
        super().__init__(solver, problem, start)
        risk, space = problem.risk, problem.space
        self._free = isinstance(risk, FreeBias)
        self._loss: Any = risk.risk if isinstance(risk, FreeBias) else risk
        if not (self._is_served(risk) and isinstance(space, LinearSpace)):
            raise TrainingError("this solver needs {} and features", self.serves)
        n, v = space.n_rows, self._loss.weights
        self._costs = problem.C * (np.ones(n) if v is None else v)
        self._columns: Any = space.columns
        self._norms = np.sqrt(self._columns.squares(self._costs, self._free))
        if self._free:
            self._means = space.adjoint(np.ones(n))[: space.X.n_features] / max(1, n)
        self._w = space.zero()
        self._alive = np.arange(space.X.n_features, dtype=np.int32)
        self._lower, self._iteration, self._passes = 0.0, 0, 0.0
        self._primal = self._value(self._w)
        self._points = start.points if start else ()
        self._began = time.perf_counter()

    def _is_served(self, risk: Any) -> bool:
        return isinstance(self._loss, LossRisk) and not risk.initial_width()

    def form(self) -> Form:
        d = self._problem.space.X.n_features
        return {
            "_w": self._problem.space.kinds().element,
            "_alive": schemas.array(np.int32, None, low=0, high=d - 1, rising=True),
            "_lower": schemas.REAL,
            "_iteration": schemas.COUNT,
            "_passes": schemas.REAL,
        }

    def __iter__(self) -> Iterator[Progress]:
        resumed, self._resumed = self._resumed, False
        if not resumed:
            self._begin()
        while True:
            v = self._look(again=resumed)
            yield self._progress()
            resumed = False
            if self._problem.stop.met(self._primal, self._lower):
                return
            self._improve(v)

    def _begin(self) -> None:
        """Choose the best of the points of the start and of 0."""
        values = [self._value(w) for w in self._points]
        if values and min(values) < self._value(self._w):
            self._w = np.array(self._points[int(np.argmin(values))])
        self._points = ()

    def _value(self, w) -> float:
        return self._problem.penalty(w) + self._problem.C * self._problem.value(w)

    def _support(self) -> NDArray[np.int32]:
        """Return the features whose weights are not 0."""
        return np.flatnonzero(self._w[: self._columns.n_features]).astype(np.int32)

    def _scores(self, support: NDArray[np.int32]) -> NDArray[np.float64]:
        bias = self._problem.space.bias
        return self._columns.scores(support, self._w, bias * self._w[-1] if bias else 0.0)

    def _slopes(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return X_j.u of the columns that are left, from the rows, which copies no column."""
        v: NDArray[np.float64] = self._problem.space.adjoint(u)[self._alive]
        if self._free:  # u may sum up to rounding, which columns far from 0 would make large
            v -= self._means[self._alive] * float(u.sum())
        return v

    def _excess(self, u: NDArray[np.float64], scores: NDArray[np.float64]) -> float:
        """Return by how much a dual value can be too large as u does not sum up to 0: the sum times
        the bias of centred columns, which is the mean score, taken twice as that of the optimum is
        not known."""
        return 2.0 * abs(float(u.sum()) * float(scores.mean()))

    def _look(self, again: bool) -> NDArray[np.float64]:
        """Compute primal and dual at w, screen columns; return v of those that stay."""
        problem, space = self._problem, self._problem.space
        C, l1 = problem.C, problem.l1
        self._s = self._scores(self._support())
        known = problem.risk.linearize(self._s)
        self._risk = known.value
        self._primal = problem.penalty(self._w) + C * known.value
        u = -C * known.coef
        v = self._slopes(u)
        slope = space.bias * float(u.sum()) if space.bias else 0.0
        # labels of one sign leave slopes of rounding alone, which theta would make large
        even = not self._free or abs(float(u.sum())) <= UNEVEN * float(np.abs(u).sum())
        bound = self._bound(known, v, slope) if even else Bound(0.0, 0.0)
        if self._free:
            excess = self._excess(u, self._s + problem.risk.bias(self._s))
            bound = bound._replace(value=bound.value - excess)
        self._iteration += not again
        self._lower = max(self._lower, bound.value)
        if l1:
            v = self._screen(v, bound)
        return v

    def _bound(self, known, v, slope: float) -> Bound:
        """Return the bound of the best multiple of the tangent's slopes, feasible without l2."""
        l1, l2 = self._problem.l1, self._problem.l2
        most = max(float(np.abs(v).max(initial=0.0)), abs(slope))
        if l2:
            over = np.maximum(np.abs(np.append(v, slope)) - l1, 0.0)
            return Bound(
                self._problem.C * known.offset - float(np.sum(over * over)) / (2 * l2), 1.0
            )
        return self._best_multiple(known, l1 / most if most > 0 else math.inf)

    def _best_multiple(self, known, limit: float) -> Bound:
        """Return the largest C sum v h(theta g) of a theta up to a limit."""
        C, loss = self._problem.C, self._loss
        if loss.number != LOGISTIC:  # theta a - theta^2 b
            v = 1.0 if loss.weights is None else np.where(loss.weights > 0, loss.weights, 1.0)
            b = 0.25 * float(np.sum(known.coef**2 / v))
            a = known.offset + b
            theta = min(limit, max(0.0, a / (2 * b)) if b > 0 else 1.0)
            return Bound(C * theta * (a - theta * b), theta)
        u = loss.fractions(known.coef)
        limit = min(limit, 1.0 / max(float(u.max(initial=0.0)), 1e-300))

        def parts(theta: float) -> tuple[Any, Any, Any]:
            part = np.minimum(theta * u, 1.0)
            with np.errstate(divide="ignore"):
                return part, np.log(np.maximum(part, 1e-300)), np.maximum(np.log1p(-part), -1e3)

        def slope(theta: float) -> float:
            _, log, rest = parts(theta)
            return float(np.sum(loss.apply_weights(u) * (rest - log)))

        theta, low, rise = limit, 0.0, slope(limit)
        enough = BOUND_TOLERANCE * self._problem.stop.target(self._primal)
        for _ in range(BISECTIONS if rise < 0 else 0):
            theta = 0.5 * (low + limit)
            rise = slope(theta)
            if C * abs(rise) * (limit - low) <= enough:
                break
            low, limit = (theta, limit) if rise > 0 else (low, theta)
        part, log, rest = parts(theta)
        worth = -part * log - (1 - part) * rest
        return Bound(C * float(np.sum(loss.apply_weights(worth))), theta)

    def _screen(self, v, bound: Bound) -> NDArray[np.float64]:
        """Remove columns without a weight at the optimum; return v of the others."""
        gap = max(0.0, self._primal - bound.value) + 1e-12 * abs(self._primal)
        radius = math.sqrt(gap / 2 if self._loss.number == LOGISTIC else 4 * gap)
        whole = len(self._alive) == len(self._norms)
        norms = self._norms if whole else self._norms[self._alive]
        stays = bound.theta * np.abs(v) + radius * norms >= self._problem.l1 * (1 - 1e-9)
        left = np.flatnonzero(stays)
        if len(left) == len(v):
            return v
        self._alive, v = self._alive[left], v[left]
        weights = self._w[self._alive]
        if np.count_nonzero(weights) < len(self._support()):
            self._w[: self._columns.n_features] = 0.0
            self._w[self._alive] = weights
            self._s = self._scores(self._support())
        return v

    def _working_set(self, v) -> NDArray[np.int32]:
        """Return columns with a weight and those nearest to one, increasing."""
        support, size = self._support(), len(self._alive)
        missing = int(np.count_nonzero(np.abs(v) > self._problem.l1))
        most = max(MIN_SET, GROWTH * len(support), len(support) + missing)
        if not self._problem.l1 or most >= size:
            return self._alive
        norms = self._norms[self._alive]
        near = (self._problem.l1 - np.abs(v)) / np.where(norms > 0, norms, 1e-300)
        near[np.searchsorted(self._alive, support)] = -math.inf
        chosen = self._alive[np.sort(np.argpartition(near, most)[:most])]
        if not self._columns.has(chosen):
            more = min(LIKELY * most, size - 1)
            self._columns.keep(self._alive[np.argpartition(near, more)[:more]])
        return chosen

    def _improve(self, v) -> None:
        """Take Newton steps over a working set."""
        problem, loss = self._problem, self._loss
        b = problem.risk.bias(self._s) if self._free else 0.0
        enough = INNER * problem.stop.target(self._primal)
        how = {"loss": loss.number, "y": loss.targets, "tube": loss.tube}
        self._walk(self._working_set(v), enough, b, **how)

        if self._iteration > FACE_ITERATIONS and self._is_few:
            self._take_face_steps()

    @property
    def _is_few(self) -> bool:
        """True where a dense Newton step costs little."""
        X = self._problem.space.X
        return X.n_rows <= MAX_ROWS and X.n_rows * X.n_features <= MAX_NUMBERS

    def _take_face_steps(self) -> None:
        """Take Newton steps over the weights that are not 0 while P falls: coordinates crawl where
        columns say much the same, as those far from 0 do."""
        w, here, rows = self._w, self._value(self._w), dense_rows(self._problem.space)
        for _ in range(FACE_STEPS):
            at = np.flatnonzero(w)
            if not len(at):
                break
            d, before, t = self._face_direction(rows[:, at], rows @ w, w[at]), here, 1.0
            walls = np.where(d * w[at] < 0, -w[at] / d, math.inf)
            for t in (1.0, min(1.0, float(walls.min())), *0.25 ** np.arange(1, 6)):
                trial = w.copy()
                trial[at] = np.where(t >= walls, 0.0, w[at] + t * d)
                if (value := self._value(trial)) < here:
                    w, here = trial, value
                    break
            if not here < before - INNER * 0.01 * self._problem.stop.target(before):
                break
        self._w = w

    def _face_direction(self, B: NDArray, s: NDArray, w: NDArray) -> NDArray[np.float64]:
        """Return the Newton step over the columns B (n, k) of weights w (k,), whose signs stay."""
        problem, C, l1, l2 = self._problem, self._problem.C, self._problem.l1, self._problem.l2
        at = problem.risk.smooth(s, 0.0)
        g = C * (B.T @ at.coef) + l1 * np.sign(w) + l2 * w
        bends = np.zeros(len(s))
        bends[at.rows] = 1.0 if at.bends is None else at.bends[at.rows]
        if at.shares is not None:
            B = B - at.shares @ B
        tall = np.vstack(
            [np.sqrt(C / at.width * bends)[:, None] * B, math.sqrt(l2) * np.eye(len(w))]
        )
        norms = np.sqrt(np.square(tall).sum(axis=0))
        scales = 1.0 / np.where(norms > 0, norms, 1.0)
        ridge = math.sqrt(FACE_RIDGE) * np.eye(len(w))
        R: Any = np.linalg.qr(np.vstack([tall * scales, ridge]), mode="r")
        step: NDArray[np.float64] = -scales * np.linalg.solve(R, np.linalg.solve(R.T, scales * g))
        return step

    def _walk(self, chosen: NDArray[np.int32], enough: float, b: float, **how: Any) -> None:
        """Take Newton steps over these columns from w and a free bias; how: facts of the losses."""
        problem, w = self._problem, self._w.copy()
        if self._free:
            w, self._s = np.append(w, b), self._s + b
        _, _, entries, _ = native.newton(
            self._columns,
            costs=self._costs,
            chosen=chosen,
            w=w,
            s=self._s,
            enough=enough,
            part=PART,
            most=self._most(),
            l1=problem.l1,
            l2=problem.l2,
            bias=problem.space.bias,
            free=self._free,
            **how,
        )
        self._w = w[:-1].copy() if self._free else w
        self._passes += entries / max(1, problem.space.X.nnz) + 1

    def _most(self) -> int:
        """Return how many entries of columns are read before the next look."""
        first = max(PASSES * self._problem.space.X.nnz, MIN_ENTRIES)
        doublings = min(self._iteration, FACE_ITERATIONS if self._is_few else 20)
        return min(first << doublings, MAX_ENTRIES)

    def _progress(self) -> Progress:
        state = self._iteration, self._passes, self._primal, self._lower, constant(self._w)
        return Progress.since(self._began, *state, support=len(self._support()), risk=self._risk)


@record
class Cdn(Solver):
    """Newton steps over coordinates."""

    run = CdnRun
    patience: ClassVar[int | None] = 20


#: Epochs before the first look, their growth from look to look, and the most that may be predicted.
EPOCHS, MORE, MAX_EPOCHS = 10, 1.3, 2000
#: The largest `steep` at first, its growth, and its largest value.
FIRST_STEEP, STEEP_GROWTH, MAX_STEEP = 0.5, 2.0, 1e9
IDLE_GROWTH = 20.0  # growth of `steep` where a step did not move w
SLOW = 0.6  # `steep` grows where more of the gap is left from one move of the centres to the next
STEP_TOLERANCE = 0.1  # part of the gap that a step may leave
INNER_SHARE = 0.5  # part of that which a working set may leave
FLAT = 1e-15  # slope of a bias, as a part of all costs
HALVINGS = 60  # for the size of `steep`


class HingeCdnRun(CdnRun):
    """The hinge under an elastic-net penalty: dual coordinate descent, then the method of
    multipliers.

        problem      min_w  P(w) = l1 |w|_1 + l2/2 |w|^2 + C sum_i v_i max(0, 1 - y_i w.x_i), or the
                     minimum of the sum over a free bias; l2 > 0
        its dual     max    sum alpha - sum_j ((|v_j| - l1)+)^2 / (2 l2),  v = X'(y alpha),
                     0 <= alpha_i <= C v_i
        descent      one alpha at a time, w_j = soft(v_j, l1) / l2 (csrc/linear/soft_descent.cc)
        step         where that is slow, or a bias is free: the hinge as the greatest
                     u z - (u - q)^2 / (2 steep) of u in [0, 1], z = 1 - y f, about centres q, a
                     parabola between lines, for the Newton steps of cdn.py
        update       q <- u = clip(q + steep z), once the sum of these is minimised closely enough
        certificate  alpha, or C v u

    Centres that are the optimum of the dual leave no difference to the hinge, whatever `steep` is:
    it need not grow until parabolas are as narrow as rounding, as it would about 1/2.

    References
    ----------
    Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML 2008 (dual coordinate descent); Rockafellar,
    Mathematics of Operations Research 1, 1976 (the method of multipliers, and how closely a step is
    to be made); Li, Sun and Toh, SIAM J. Optimization 28, 2018 (Newton steps in it, for sparse
    models).
    """

    serves = "the hinge loss"

    def __init__(self, solver: Solver, problem: Problem, start: Start | None):
        super().__init__(solver, problem, start)
        if not problem.l2 > 0:
            raise TrainingError("this solver needs a square in the penalty")
        n = problem.space.n_rows
        self._descends, self._slow, self._epochs = not self._free, 0, 0
        self._alpha = np.zeros(n)
        self._ahead = self._w.copy()  # what the steps move; _w is the best of it
        self._centres, self._steep, self._idle = np.zeros(n), 0.0, False
        self._before = math.inf  # the gap at the last look, later when the centres moved last
        self._u, self._left, self._shift = self._centres, 0.0, 0.0
        self._squares = squared_norms(problem.space)

    def _is_served(self, risk: Any) -> bool:
        return isinstance(self._loss, BoundHinge)

    def form(self) -> Form:
        shares = schemas.below(np.ones(len(self._costs)), 0.0)
        return super().form() | {
            "_ahead": self._problem.space.kinds().element,
            "_primal": schemas.REAL,
            "_risk": schemas.REAL,
            "_descends": schemas.flag,
            "_slow": schemas.COUNT,
            "_epochs": schemas.COUNT,
            "_alpha": schemas.below(self._costs, 0.0),
            "_centres": shares,
            "_steep": schemas.real(0),
            "_before": schemas.real(infinite=True),
            "_idle": schemas.flag,
        }

    def _begin(self) -> None:
        super()._begin()
        self._ahead, self._risk = self._w, self._problem.value(self._w)
        self._primal = self._problem.penalty(self._w) + self._problem.C * self._risk
        if not self._descends:
            self._steep = min(FIRST_STEEP, self._part())

    def _look(self, again: bool) -> NDArray[np.float64]:
        """Compute primal and dual at w; return the columns' v."""
        self._iteration += not again
        return self._look_at_alpha() if self._descends else self._look_at_centres()

    def _take(self, penalty: float) -> None:
        """Evaluate the point ahead, and take it where it is the best."""
        used = np.flatnonzero(self._ahead[: self._columns.n_features]).astype(np.int32)
        bias = self._problem.space.bias
        self._s = self._columns.scores(used, self._ahead, bias * self._ahead[-1] if bias else 0.0)
        risk = self._problem.risk.linearize(self._s).value
        primal = penalty + self._problem.C * risk
        if primal <= self._primal:
            self._primal, self._w, self._risk = primal, self._ahead, risk

    def _of(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return X'(y alpha), with that of the constant feature."""
        space, slopes = self._problem.space, self._loss.signs * alpha
        v = self._slopes(slopes)
        return np.append(v, space.bias * float(slopes.sum())) if space.bias else v

    def _look_at_alpha(self) -> NDArray[np.float64]:
        l1, l2 = self._problem.l1, self._problem.l2
        self._v = self._of(self._alpha)
        over = np.maximum(np.abs(self._v) - l1, 0.0)
        self._ahead = np.copysign(over, self._v) / l2
        self._take(self._problem.penalty(self._ahead))
        self._lower = max(self._lower, float(self._alpha.sum()) - float(over @ over) / (2 * l2))
        return self._v

    def _is_slow(self) -> bool:
        """Tell whether two looks in a row predict too many epochs."""
        gap, target = self._primal - self._lower, self._problem.stop.target(self._primal)
        fall, self._before = self._before / gap if gap > 0 else math.inf, gap
        done = self._epochs * (1 - 1 / MORE)
        slow = (
            not fall > 1
            or target <= 0
            or done * math.log(gap / target) > MAX_EPOCHS * math.log(fall)
        )
        self._slow = self._slow + 1 if slow else 0
        return self._slow >= 2 and self._epochs > 5 * EPOCHS

    def _hand_over(self) -> None:
        """Begin the steps about centres at alpha."""
        self._descends, self._left, self._before = False, math.inf, math.inf
        self._centres = np.divide(
            self._alpha, self._costs, out=np.zeros_like(self._alpha), where=self._costs > 0
        )
        np.minimum(self._centres, 1.0, out=self._centres)
        self._steep = min(FIRST_STEEP, self._part())

    def _look_at_centres(self) -> NDArray[np.float64]:
        problem, costs, signs = self._problem, self._costs, self._loss.signs
        penalty = problem.penalty(self._ahead)
        self._take(penalty)
        self._shift = self._best_shift() if self._free else 0.0
        z = 1.0 - signs * (self._s + self._shift)
        self._u = np.clip(self._centres + self._steep * z, 0.0, 1.0)
        v = self._of(costs * self._u)
        over = np.maximum(np.abs(v) - problem.l1, 0.0)
        worth = float(costs @ self._u) - float(over @ over) / (2 * problem.l2)
        excess = self._excess(signs * costs * self._u, self._s + self._shift) if self._free else 0.0
        self._lower = max(self._lower, worth - excess)
        # what is left of the step: the parabolas' share is in both of its values
        self._left = penalty + float(costs @ (self._u * z)) - worth
        return v

    def _part(self) -> float:
        """Return the t in [0, 1] that is best for the dual at t u, where u is 1 or balanced by
        class."""
        signs, costs, u = self._loss.signs, self._costs, np.ones(len(self._costs))
        up, down = (float(costs[signs == side].sum()) for side in (1.0, -1.0))
        if self._free and min(up, down) > 0:
            u = np.where(signs > 0, min(1.0, down / up), min(1.0, up / down))
        v, worth, low, high = np.abs(self._of(costs * u)), float(costs @ u), 0.0, 1.0
        for _ in range(HALVINGS):
            t = math.sqrt(low * high) if low else 0.1 * high
            over = np.maximum(t * v - self._problem.l1, 0.0)
            rises = worth * self._problem.l2 > float(v @ over)
            low, high = (t, high) if rises else (low, t)
        return high

    def _best_shift(self) -> float:
        """Return the free bias that is best about the centres."""
        signs, costs = self._loss.signs, self._costs

        def rate(b: float) -> tuple[float, float]:
            wanted = self._centres + self._steep * (1.0 - signs * (self._s + b))
            within = (wanted > 0.0) & (wanted < 1.0)
            slope = -float(costs @ (signs * np.clip(wanted, 0.0, 1.0)))
            return slope, self._steep * float(costs[within].sum())

        return find_root(rate, FLAT * float(costs.sum()))

    def _improve(self, v: NDArray[np.float64]) -> None:
        if self._descends and self._is_slow():
            self._hand_over()
        if self._descends:
            self._descend()
            return
        gap = self._primal - self._lower
        if self._left <= STEP_TOLERANCE * gap or self._idle:
            if gap > SLOW * self._before:
                growth = IDLE_GROWTH if self._idle else STEEP_GROWTH
                self._steep = min(growth * self._steep, MAX_STEEP)
            self._centres, self._before = self._u, gap
        how = {"centres": self._centres, "tube": self._steep, "loss": SQUARED_HINGE}
        best, before, self._w = self._w, self._ahead, self._ahead
        chosen = self._working_set(v[: len(self._alive)])
        self._walk(
            chosen, INNER_SHARE * STEP_TOLERANCE * gap, self._shift, y=self._loss.signs, **how
        )
        self._ahead, self._w = self._w, best
        self._idle = bool(np.array_equal(before, self._ahead))

    def _descend(self) -> None:
        """Make more epochs of the dual, a part of those so far."""
        problem, space = self._problem, self._problem.space
        self._alpha = self._alpha.copy()  # a checkpoint may hold the old one
        count = max(EPOCHS, math.ceil((MORE - 1) * self._epochs))
        entries = native.descend(
            space.rows,
            self._loss.signs,
            self._costs,
            self._squares,
            self._alpha,
            self._v,
            l1=problem.l1,
            l2=problem.l2,
            bias=space.bias,
            seed=self._epochs,
            epochs=count,
            enough=problem.stop.target(self._primal),
        )
        self._epochs += count
        self._passes += entries / max(1, space.X.nnz) + 2


@record
class HingeCdn(Solver):
    """Dual coordinate descent under a penalty that makes weights 0, and Newton steps over
    coordinates behind it."""

    run = HingeCdnRun
    patience = 60
