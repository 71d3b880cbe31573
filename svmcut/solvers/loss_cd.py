# SPDX-License-Identifier: BSD-3-Clause
"""Dual coordinate descent for sums of losses of one score each, certified by the cut of its alpha.

    problem      min_w  1/2 |w|^2 + C sum_i v_i l(y_i, w.x_i)
    its dual     max    sum_i C v_i h(alpha_i / (C v_i)) - 1/2 |w|^2      (csrc/linear/losses.h)
    update       one alpha at a time to its optimum, in random order (csrc/linear/dual_cd.cc)
    certificate  alpha / (C v) is a cut; P at w and on the line to it from the best point so far

What svmcut/solvers/dual_cd.py does for the hinge, whose box this has not. Where the gap falls too slowly Newton's
method goes on from the point reached, of a loss with corners where features are few; where that stalls, cutting planes
do.

References
----------
Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML 2008, Algorithm 3 (squared hinge); Yu, Huang and Lin, Machine Learning
2011 (logistic); Ho and Lin, JMLR 2012, Algorithm 4 (epsilon-insensitive).
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from svmcut import states
from svmcut._native import dual_cd, sparse
from svmcut._native.losses import LOGISTIC
from svmcut.risks.protocol import LossRisk
from svmcut.solvers.fractional import FractionalRun
from svmcut.solvers.loss_newton import FACTORED_DIM, LossNewton
from svmcut.solvers.protocol import Interrupted, Problem, Progress, Solver, Stall, Start, State

#: Logit of an alpha that is as good as 0, and of one as good as C.
FAR = 30.0


class LossCdRun(FractionalRun):
    """A step after every exact look at the gap. It begins at the fractions of the start, where that has some."""

    serves = ("a loss of one score", LossRisk)

    def __init__(self, solver: LossCd, problem: Problem, start: Start | None, state: State | None):
        super().__init__(solver, problem, start, state)
        space, risk, n = problem.space, problem.risk, problem.space.X.n_rows
        self.fractions = None if start is None else start.fractions
        if state is not None:
            states.checked(state, states.fields(fractions=states.maybe(risk.box(n))))
            self.fractions = state["fractions"]
        self._alpha, self._w, self._looks = np.zeros(n), space.zero(), 0
        self._logit = np.full(n, -FAR) if risk.number == LOGISTIC else None
        self._box = np.full(n, problem.C) if risk.weights is None else problem.C * risk.weights
        self._newton = risk.smooth or space.dim <= max(FACTORED_DIM, n // 10)  # could go on
        # The estimate adds gaps of many moments and knows no search of the line: its last ratio to the gap says when
        # to look.
        self._ratio, self._stall, self._last = 1.0, Stall(60), (0, math.inf)

    def state(self) -> State:
        return {**super().state(), "fractions": self.fractions}

    def _descent_state(self) -> State:
        return {
            "alpha": self._alpha.copy(), "logit": None if self._logit is None else self._logit.copy(),
            "w": self._w.copy(), "looks": self._looks, "native": self._native.save(),
            "numbers": (self._ratio, *self._last), "stall": self._stall.state(),
        }  # fmt: skip

    def _successor(self) -> Solver:
        return LossNewton() if self._newton else super()._successor()

    def _begin(self, saved: State | None) -> None:
        """Sets alpha, its logits and its w."""
        problem, n = self._problem, len(self._alpha)
        space, risk = problem.space, problem.risk
        if saved is not None:
            numbers = states.row(states.real(0), states.COUNT, states.REAL)
            logit = states.anything if self._logit is None else states.reals(n)
            states.checked(saved, states.fields(
                alpha=risk.box(n, float(self._box.max())), logit=logit, w=space.kinds().element, looks=states.COUNT,
                numbers=numbers, native=states.row(states.array(np.int32, 2 * n), states.anything),
            ), "descent")  # fmt: skip
            np.copyto(self._alpha, saved["alpha"])
            np.copyto(self._w, saved["w"])
            if self._logit is not None:
                np.copyto(self._logit, saved["logit"])
            self._looks = saved["looks"]
            return
        if self.fractions is None:
            # The tangent at 0. Where C is so small that its multiplier is C, it is a better start than 0.
            known = risk.linearize(np.zeros(n))
            a = space.adjoint(known.coef)
            self.cut(a, known.offset, known.value, known.coef)
            self._looks += 2
            if self.bundle.beta[-1] < 1.0:
                return
            self.fractions = risk.fractions(known.coef)
        np.multiply(self.fractions, self._box, out=self._alpha)
        if self._logit is not None:
            with np.errstate(divide="ignore"):
                np.clip(np.log(self.fractions) - np.log1p(-self.fractions), -FAR, FAR, out=self._logit)
        coef, _ = risk.dual_cut(self.fractions, self._logit)
        np.multiply(space.adjoint(coef), -problem.C, out=self._w)

    def _descend(self, saved: State | None) -> Generator[Progress, None, bool]:
        problem, risk = self._problem, self._problem.risk
        space, C, n = problem.space, problem.C, len(self._alpha)
        norms = np.empty(n)
        sparse.row_norms(space.rows, norms, space.threads)
        norms += space.bias**2
        self._begin(saved)
        self._native = descent = dual_cd.Descent(
            space.rows, risk.targets, norms, space.bias, self._alpha, self._w, self._solver.seed, risk.weights,
            risk.number, risk.tube, self._logit,
        )  # fmt: skip
        block = min(max(10, 200_000 // (space.X.nnz + 10 * n)), 200)  # epochs that cost more than a look does
        if saved is not None:
            descent.load(*saved["native"])
            self._ratio, *last = saved["numbers"]
            self._last = tuple(last)
            self._stall.restore(saved["stall"])
        self._stage = "descent"
        while True:
            if saved is None:
                self._last = descent.epochs, self.gap
                try:
                    descent.run(C, max(block, descent.epochs // 5), self.target / self._ratio)
                except KeyboardInterrupt:
                    self._look()
                    raise Interrupted(self.progress()) from None
                s = self._look()
            else:
                s = space.scores(self._w)
            met = self.met()
            yield self.progress(again=saved is not None)
            saved = None
            if met:
                return False
            epochs, gap = self._last
            if self._newton and epochs and self._too_slow(gap / self.gap, descent.epochs - epochs, descent.active / n):
                return True
            if self._stall.update(self.gap):
                return True
            self._ratio = min(max(self.gap / descent.gap, 0.3), 1.5) if descent.gap > 0 else 1.0
            descent.wake(C, s)

    def _look(self):
        """Takes alpha in as a cut and as a point; the scores of its w."""
        space, C, risk = self._problem.space, self._problem.C, self._problem.risk
        self.fractions = np.divide(self._alpha, self._box, out=np.zeros_like(self._alpha), where=self._box > 0)
        coef, offset = risk.dual_cut(self.fractions, self._logit)
        a = space.adjoint(coef)
        np.multiply(a, -C, out=self._w)
        s = space.scores(self._w)
        self._looks += 2
        self.passes = self._looks + self._native.entries / max(1, space.X.nnz)
        self.search(self._w, s)
        self.cut(a, offset, self.risk, coef)
        return s

    def _too_slow(self, fall: float, epochs: int, share: float) -> bool:
        """Whether a gap that fell to 1 / fall of itself in so many epochs, of that share of the rows, needs more than
        max_epochs of all rows yet."""
        if not fall > 1 or self.target <= 0:
            return True
        return share * epochs * math.log(self.gap / self.target) / math.log(fall) > self._solver.max_epochs


@dataclass(frozen=True)
class LossCd(Solver):
    """Dual coordinate descent.

    Parameters
    ----------
    seed : int
        Of the order of the visits.
    max_epochs : float
        Epochs of all rows the run may be predicted to need yet where Newton's method could go on.
    """

    run = LossCdRun
    seed: int = 0
    max_epochs: float = 15
