# SPDX-License-Identifier: BSD-3-Clause
"""The hinge under an elastic-net penalty: dual coordinate descent, then the method of multipliers.

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

Centres that are the optimum of the dual leave no difference to the hinge, whatever `steep` is: it
need not grow until parabolas are as narrow as rounding, as it would about 1/2.

References
----------
Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML 2008 (dual coordinate descent); Rockafellar,
Mathematics of Operations Research 1, 1976 (the method of multipliers, and how closely a step is to
be made); Li, Sun and Toh, SIAM J. Optimization 28, 2018 (Newton steps in it, for sparse models).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from svmcut._native import penalty as native
from svmcut._native.losses import SQUARED_HINGE
from svmcut.base.errors import TrainingError
from svmcut.base.records import record
from svmcut.base.typing import Any
from svmcut.risks.free_bias import find_root
from svmcut.risks.hinge import BoundHinge
from svmcut.solvers.cdn import CdnRun
from svmcut.solvers.descent import squared_norms
from svmcut.solvers.protocol import Problem, Solver, Start
from svmcut.spec import schemas
from svmcut.spec.schemas import Form

#: Epochs before the first look, their growth from look to look, and the most that may be predicted.
EPOCHS, MORE, MAX_EPOCHS = 10, 1.3, 2000
#: The largest `steep` at first, its growth, and its largest value.
FIRST_STEEP, GROWTH, MAX_STEEP = 0.5, 2.0, 1e9
IDLE_GROWTH = 20.0  # growth of `steep` where a step did not move w
SLOW = 0.6  # `steep` grows where more of the gap is left from one move of the centres to the next
STEP_TOLERANCE = 0.1  # part of the gap that a step may leave
INNER = 0.5  # part of that which a working set may leave
FLAT = 1e-15  # slope of a bias, as a part of all costs
HALVINGS = 60  # for the size of `steep`


class HingeCdnRun(CdnRun):
    """A look at all columns after some epochs, and before every working set."""

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
                growth = IDLE_GROWTH if self._idle else GROWTH
                self._steep = min(growth * self._steep, MAX_STEEP)
            self._centres, self._before = self._u, gap
        how = {"centres": self._centres, "tube": self._steep, "loss": SQUARED_HINGE}
        best, before, self._w = self._w, self._ahead, self._ahead
        chosen = self._working_set(v[: len(self._alive)])
        self._walk(chosen, INNER * STEP_TOLERANCE * gap, self._shift, y=self._loss.signs, **how)
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
