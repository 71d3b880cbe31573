# SPDX-License-Identifier: BSD-3-Clause
"""Dual coordinate descent for the hinge loss, certified as one fractional cut.

    problem      min_w  1/2 |w|^2 + sum_i C_i max(0, 1 - y_i w.x_i),   C_i = C v_i, C without
                 weights
    its dual     max    sum alpha - 1/2 |w|^2,   0 <= alpha_i <= C_i,   w = sum_i alpha_i y_i x_i
    update       one alpha at a time to its optimum, in random order (csrc/linear/dual_cd.cc)
    certificate  c_i = alpha_i / C_i is a cut; P on the line from the best point so far to the best
                 multiple of w

The fastest of the solvers here on sparse rows with many features. Hsieh, Chang, Lin, Keerthi and
Sundararajan, ICML 2008, Algorithm 3.

Deviations from the paper: the constant feature has its own weight and X is not copied; the run ends
at a duality gap and not at a projected gradient; the exact gap is computed when the sum of the gaps
of single steps says that it is due. Newton's method goes on from the point reached where features
are few and the epochs to come are predicted to cost more than it does: with a thousand dense
features, a few hundred epochs. Steps on the Gram matrix go on, if allowed, where rows are few and
so ill-conditioned that the epochs to come cost more (gram_smo.py, benchmarks/ill_conditioned.py);
cutting planes go on where the descent stalls.
"""

from __future__ import annotations

import math
from collections.abc import Generator

import numpy as np
from numpy.typing import NDArray

from svmcut._native import dual_cd
from svmcut._native.losses import LOGISTIC
from svmcut.base.records import record
from svmcut.risks.losses import MAX_LOGIT, logits
from svmcut.risks.protocol import LossRisk
from svmcut.risks.weights import boxes, total
from svmcut.solvers.auto import (
    DENSE_DIM,
    EPOCHS,
    LOGISTIC_EPOCH,
    MAX_PASSES,
    can_newton_follow,
    epoch_seconds,
    gram_seconds,
    newton_step,
)
from svmcut.solvers.descent import DescentRun, hinge_cut, squared_norms
from svmcut.solvers.protocol import Problem, Progress, Solver, Start
from svmcut.spec import schemas
from svmcut.spec.schemas import Form, State


class DualCdRun(DescentRun):
    """The descent of the hinge: its multipliers have a box, and the cut at 0 may be the optimum."""

    def __init__(self, solver: DualCd, problem: Problem, start: Start | None):
        super().__init__(solver, problem, start)
        n = len(self._alpha)
        self._newton = can_newton_follow(n, problem.space.dim)
        self._gram, self._slow = False, 0
        self._boxes = boxes(problem.C, problem.risk.weights)
        self._total = total(problem.risk.weights, n)

    def _multipliers(self, most: NDArray | None) -> schemas.Check:
        return schemas.below(np.ones(len(self._alpha)) if most is None else most, 0.0)

    def form(self) -> Form:
        return super().form() | {"_gram": schemas.flag, "_slow": schemas.COUNT}

    def _successor(self) -> Solver:
        if self._gram:
            from svmcut.solvers.gram_smo import GramSmo

            return GramSmo()
        if not self._newton:
            return super()._successor()
        from svmcut.solvers.newton import Newton

        return Newton()

    def _should_hand_over(self, epochs: float) -> bool:
        """Tell whether, two looks in a row, the epochs to come cost more than the solver that would
        take over: Newton's method, where features are few, or steps on the Gram matrix."""
        space = self._problem.space
        n, nnz = space.X.n_rows, space.X.nnz
        if self._newton:
            least, self._foreseen = min(epochs, self._foreseen), epochs
            return least > self._solver.max_epochs * max(1.0, newton_step(n, space.dim, nnz))
        most = gram_seconds(n, nnz, self._solver.gram_mb)
        if most == math.inf:
            return False
        self._slow = self._slow + 1 if epoch_seconds(n, nnz) * epochs > most else 0
        self._gram = self._slow >= 2
        return self._gram

    def _descend(self, saved: State | None) -> Generator[Progress, None, bool]:
        problem, alpha, w = self._problem, self._alpha, self._w
        space = problem.space
        C = problem.C
        signs = problem.risk.signs
        rows = problem.space.rows
        n = len(alpha)
        v = problem.risk.weights
        norms = squared_norms(space)
        fresh = saved is None
        if fresh and self.fractions is not None and self._iteration == 1:
            np.multiply(self.fractions, self._boxes, out=alpha)
            np.copyto(w, space.adjoint(signs * alpha))
        elif fresh and (self.fractions is not None or self.lower == 0):
            # The cut at 0 is c = 1. Where C is so small that its multiplier is C, it is a better
            # start than 0, or the end already.
            coef, resumed = -signs if v is None else -(v * signs), self.fractions is not None
            a = space.adjoint(coef)
            if not resumed:
                self.cut(a, float(self._total), float(self._total), coef)
            self._looks += 1
            if self.bundle.beta[-1] == 1.0:
                np.multiply(a, -C, out=w)
                alpha[:] = self._boxes
                self._looks += 1
                if not resumed:
                    self.fractions = np.ones(n)
                    self.search(w, space.scores(w))
                    is_met = self.is_met()
                    yield self.progress()
                    if is_met:
                        return False
        descent = dual_cd.Descent(rows, signs, norms, space.bias, alpha, w, self._solver.seed, v)
        return (yield from self._run_epochs(descent, saved))

    def _cut(self) -> tuple[NDArray[np.float64], float]:
        # that of a row without weight is 0
        self.fractions = np.divide(
            self._alpha, self._boxes, out=np.zeros_like(self._alpha), where=self._boxes > 0
        )
        np.minimum(self.fractions, 1.0, out=self.fractions)
        return hinge_cut(self.fractions, self._problem.risk.signs, self._problem.risk.weights)


@record
class DualCd(Solver):
    """Dual coordinate descent."""

    run = DualCdRun
    #: Seed of the order of the visits.
    seed: int = 0
    #: Epochs of all rows the run may be predicted to need yet where Newton's method could go on
    #: (few features), where a step of that costs no more than an epoch; else so many times that.
    max_epochs: float = EPOCHS
    #: Megabytes that the Gram matrix may take where steps on it go on; 0 for never.
    gram_mb: float = 0.0


#: Newton's method gets so many times the passes predicted where curvatures jump.
TRIAL = 4.0


class LossCdRun(DescentRun):
    """Dual coordinate descent for sums of losses of one score each, certified by the cut of its
    alpha.

        problem      min_w  1/2 |w|^2 + C sum_i v_i l(y_i, w.x_i)
        its dual     max    sum_i C v_i h(alpha_i / (C v_i)) - 1/2 |w|^2      (csrc/linear/losses.h)
        update       one alpha at a time to its optimum, in random order (csrc/linear/dual_cd.cc)
        certificate  alpha / (C v) is a cut; P on the line from the best point so far to the best
                     multiple of w

    The method of svmcut/solvers/dual_cd.py for losses other than the hinge. Where the gap falls too
    slowly Newton's method goes on from the point reached (for a loss with corners only where
    features are few); where that stalls, cutting planes do. Beyond a thousand features a step of
    Newton's method is a conjugate gradient run of some fifty passes, and two looks in a row must
    predict more than a few of them cost. The curvature of a squared loss jumps, and where C is
    large that method may need a hundred times as many steps as on a smooth loss: there it gets
    TRIAL times the passes predicted, and then the descent goes on from its own alpha. Work is
    counted in passes, never in time, so a run takes the same course everywhere.

    References
    ----------
    Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML 2008, Algorithm 3 (squared hinge); Yu, Huang
    and Lin, Machine Learning 2011 (logistic); Ho and Lin, JMLR 2012, Algorithm 4
    (epsilon-insensitive).
    """

    serves = ("a loss of one score", LossRisk)

    def __init__(self, solver: LossCd, problem: Problem, start: Start | None):
        super().__init__(solver, problem, start)
        space, risk, n = problem.space, problem.risk, len(self._alpha)
        self._logit = np.full(n, -MAX_LOGIT) if risk.number == LOGISTIC else None
        self._boxes = np.full(n, problem.C) if risk.weights is None else problem.C * risk.weights
        self._newton = (
            can_newton_follow(n, space.dim) or not risk.initial_width()
        ) and not solver.stays
        self._trial = math.inf
        self._foreseen = 0.0  # one look says nothing yet

    def _multipliers(self, most: NDArray | None) -> schemas.Check:
        return self._problem.risk.box(len(self._alpha), 1.0 if most is None else float(most.max()))

    def form(self) -> Form:
        return super().form() | {"_trial": schemas.real(infinite=True)}

    def _descent_form(self) -> Form:
        logit = {} if self._logit is None else {"_logit": schemas.reals(len(self._logit))}
        return super()._descent_form() | logit

    def _successor(self) -> Solver:
        if not self._newton:
            return super()._successor()
        from svmcut.solvers.newton import Newton

        if self._trial == math.inf:
            return Newton()
        return Newton(self._trial, LossCd(self._solver.seed, stays=True))

    def _should_hand_over(self, epochs: float) -> bool:
        """Tell whether the predicted epochs cost too much, with many features at two looks in a
        row: a gap that stands still once may fall the more afterwards."""
        if self._problem.space.dim <= DENSE_DIM:
            return super()._should_hand_over(epochs)
        least, self._foreseen = min(epochs, self._foreseen), epochs
        least *= 1.0 if self._logit is None else LOGISTIC_EPOCH
        if self._problem.risk.has_two_curvatures:
            self._trial = TRIAL * least
        return self._newton and least > MAX_PASSES

    def _begin(self) -> None:
        """Set alpha, its logits and its w."""
        problem, n = self._problem, len(self._alpha)
        space, risk = problem.space, problem.risk
        if self.fractions is None:
            # The tangent at 0. Where C is so small that its multiplier is C, it is a better start
            # than 0.
            known = risk.linearize(np.zeros(n))
            a = space.adjoint(known.coef)
            self.cut(a, known.offset, known.value, known.coef)
            self._looks += 2
            if self.bundle.beta[-1] < 1.0:
                return
            self.fractions = risk.fractions(known.coef)
        np.multiply(self.fractions, self._boxes, out=self._alpha)
        if self._logit is not None:
            self._logit[:] = logits(self.fractions)
        coef, _ = risk.dual_cut(self.fractions, self._logit)
        np.multiply(space.adjoint(coef), -problem.C, out=self._w)

    def _descend(self, saved: State | None) -> Generator[Progress, None, bool]:
        problem, risk = self._problem, self._problem.risk
        space = problem.space
        if saved is None:
            self._begin()
        descent = dual_cd.Descent(
            space.rows,
            risk.targets,
            squared_norms(space),
            space.bias,
            self._alpha,
            self._w,
            self._solver.seed,
            risk.weights,
            risk.number,
            risk.tube,
            self._logit,
        )
        return (yield from self._run_epochs(descent, saved))

    def _cut(self) -> tuple[NDArray[np.float64], float]:
        self.fractions = np.divide(
            self._alpha, self._boxes, out=np.zeros_like(self._alpha), where=self._boxes > 0
        )
        return self._problem.risk.dual_cut(self.fractions, self._logit)


@record
class LossCd(Solver):
    """Dual coordinate descent."""

    run = LossCdRun
    #: As of DualCd.
    seed: int = 0
    #: Epochs of all rows the run may be predicted to need yet where Newton's method could go on and
    #: features are at most a thousand.
    max_epochs: float = EPOCHS
    #: Whether Newton's method is not to go on: it was tried.
    stays: bool = False
