# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method on a sum of losses of one score each, certified by the tangent at every point.

    problem      min_w  1/2 |w|^2 + C sum_i v_i l(y_i, w.x_i)
    update       w <- w + t p, p the Newton direction of the Hessian I + C sum v_i l_i'' x_i x_i', t a line search on
                 cached scores
    certificate  the tangent at w is a cut:   P - D = 1/2 |gradient|^2

A loss with corners, the epsilon-insensitive one, is smoothed over a width delta, which falls as w settles: slopes g of
the smoothed loss give a cut of the loss itself, and P - D has a second part, C sum v (l - h(g) + g f), the smoothing's
work (svmcut/solvers/newton.py does the same for the hinge).

The squared hinge has no second derivative where y f = 1; there the generalised Hessian stands in (Keerthi and DeCoste,
JMLR 2005). The direction is that of Cholesky's factors where features are few and otherwise of conjugate gradients
(Lin, Weng and Keerthi, JMLR 2008), whose trust region the line search replaces; where a thousand features have many
nonzeros, factors are made once the products of a step have cost half as much as they do. The squared hinge's curvature
is 2 or 0: a step changes the Hessian by the rows that came and went. With many rows w starts from a sample.

The slopes g + l'' e that a step along e foresees make a second cut: a gradient of 0 but for what the solution of the
equations leaves. Where C is large, 1/2 |gradient|^2 at the new point is far above what is left of the primal.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from svmcut import states
from svmcut._native import newton as native
from svmcut._native.losses import SQUARED_HINGE
from svmcut.records import record
from svmcut.risks.protocol import Linearization, LossRisk
from svmcut.solvers.protocol import Problem, Progress, Solver, State
from svmcut.solvers.second_order import BAND, FINAL, NewtonPoint, SecondOrderRun, sample_of

FACTORED_DIM = 1024  # up to here the Hessian may be formed and factorised
FULL_DIM = 128  # up to here it is, however many nonzeros a row has
FEW_NONZEROS = 80  # of a row on average: its outer product costs less than some twenty products with it
FACTOR = 0.01  # half the time of the factors by dim^3, by that of a product by its nonzeros
CG_STEPS = 200


class Descent(NewtonPoint):
    """The point of a minimisation: w, its scores s, value, tangent, curvatures and gradient there.

    delta is the width of the smoothing, 0 for a loss without corners; `before` the Hessian of the last step and its
    curvatures, where the next one changes it.
    """

    def __init__(
        self, problem: Problem, w, delta: float, s=None, passes: float = 0.0, factored: bool = False, before=None
    ):
        self.problem, self.space, self.risk, self.C = problem, problem.space, problem.risk, problem.C
        n, dim = self.space.X.n_rows, self.space.dim
        self._curvature = np.empty(n)
        self.factored = factored or dim <= FULL_DIM or (dim <= FACTORED_DIM and self.space.X.nnz <= FEW_NONZEROS * n)
        self.w, self.delta, self.passes, self.ahead, self.before = w, delta, passes, None, before
        if s is None:
            s = self.space.scores(w)
            self.passes += 1
        self._look(s)

    def _look(self, s) -> None:
        self.s = s
        self.known = known = self.risk.bent(s, self._curvature, self.delta)
        self.a = self.space.adjoint(known.coef)
        self.gradient = self.w + self.C * self.a
        self.unfinished = 0.5 * self.space.dot(self.gradient, self.gradient)
        self.smoothing = self.C * (known.value - known.offset - self.space.dot(known.coef, s)) if self.delta else 0.0
        self.passes += 1

    @property
    def primal(self) -> float:
        return 0.5 * self.space.dot(self.w, self.w) + self.C * self.known.value

    @property
    def band(self) -> int:
        """Rows with a curvature."""
        return int(np.count_nonzero(self._curvature))

    def lower(self, target: float) -> bool:
        """As NewtonPoint.lower, and looks at the point again."""
        lowered = super().lower(target)
        if lowered:
            self._look(self.s)
        return lowered

    @property
    def tangent(self) -> Linearization:
        return self.known

    def advance(self, target: float) -> bool:
        return self.lower(target) or self.step()

    def step(self) -> bool:
        """One Newton step with line search; False where there is none that helps."""
        space, w = self.space, self.w
        p = self._direction()
        e = space.scores(p)
        self.passes += 1
        t = self.risk.smooth_minimum(self.s, e, space.dot(w, p), space.dot(p, p), self.C, self.delta)
        if not t > 0:
            return False
        # the slopes that the Newton equations foresee: what their solution leaves is the gradient there
        self.ahead = self.risk.nearest_cut(self.known.coef + self._curvature * e)
        self.w = space.blend(1.0, w, t, p)
        self._look(space.blend(1.0, self.s, t, e))
        return True

    def _direction(self):
        space, bent = self.space, self._curvature
        rows = np.flatnonzero(bent).astype(np.int32)
        if not self.factored:
            most = self._worth(len(rows))
            p, products = self._conjugate_gradients(rows, self.C, bent, steps=most)
            self.factored = products == most and space.dim <= FACTORED_DIM
            if not self.factored:
                return p
        H, p = self._hessian(rows), -self.gradient
        return p if native.solve_shifted(H, self.C, p) else self._conjugate_gradients(rows, self.C, bent)[0]

    def _hessian(self, rows):
        """sum l_i'' x_i x_i', the caller's to change; of the squared hinge the last one and what few rows change."""
        space, bent, changed, curvature, H = self.space, self._curvature, rows, self._curvature, None
        if self.before is not None:
            H, known = self.before
            changed, curvature = np.flatnonzero(bent != known).astype(np.int32), bent - known
            if 2 * len(changed) > len(rows):
                H, changed, curvature = None, rows, bent
        out = np.empty((space.dim, space.dim))
        native.band_gram(space.rows, changed, space.bias, out, space.threads, curvature)
        self.passes += len(changed) / max(1, len(bent))
        if H is not None:
            out += H
        if self.risk.number == SQUARED_HINGE:
            self.before = out.copy(), bent.copy()
        return out

    def _worth(self, rows: int) -> int:
        """The products with the Hessian of so many rows that cost half of what its factors do, if it may have some."""
        dim, nonzeros = self.space.dim, self.space.X.nnz / max(1, self.space.n_rows)
        if dim > FACTORED_DIM:
            return CG_STEPS
        return 1 + int(nonzeros / 6 + FACTOR * dim**3 / max(1.0, rows * nonzeros))


def sampled_start(problem: Problem, w, delta: float):
    """(w, delta) of a sample's minimum with C scaled up, itself started from a smaller sample; or what was given where
    the rows are few."""
    part = sample_of(problem)
    if part is None:
        return w, delta
    descent = Descent(part, *sampled_start(part, w, delta))
    for _ in range(40):
        target = part.stop.target(descent.primal)
        if descent.unfinished <= target and descent.smoothing <= 1.05 * FINAL * target:
            break
        lowered = descent.lower(FINAL * target)
        if (lowered and descent.band < BAND * part.space.dim) or not descent.step():
            break
    return descent.w, descent.delta


class LossNewtonRun(SecondOrderRun):
    """Any loss of one score."""

    serves = ("a loss of one score", LossRisk)
    patience = 10

    def _descent_state(self) -> State:
        descent = self._descent
        return {"w": descent.w, "s": descent.s, "delta": descent.delta, "passes": descent.passes, "going": self._going,
                "factored": descent.factored, "before": descent.before}  # fmt: skip

    def _descend(self, saved: State | None) -> Generator[Progress, None, bool]:
        problem = self._problem
        if saved is None:
            n, risk = problem.space.X.n_rows, problem.risk
            # of the size of the losses at 0; they may be 0 themselves
            delta = 0.0 if risk.smooth else risk.linearize(np.zeros(n)).value / n or 1.0
            start = (self.w, delta) if self._warm else sampled_start(problem, self.w, delta)
            descent = Descent(problem, *start)
        else:
            kinds, dim, n = problem.space.kinds(), problem.space.dim, problem.space.n_rows
            states.checked(saved, states.fields(
                w=kinds.element, s=kinds.scores, delta=states.real(0), passes=states.REAL, going=states.flag,
                factored=states.flag, before=states.maybe(states.row(states.reals(dim, dim), states.reals(n, low=0))),
            ), "descent")  # fmt: skip
            descent = Descent(problem, saved["w"], saved["delta"], saved["s"], saved["passes"] - 1, saved["factored"],
                              saved["before"])  # fmt: skip
            self._going = saved["going"]
        return (yield from self._rounds(descent, saved))


@record
class LossNewton(Solver):
    """Newton's method on a sum of losses."""

    run = LossNewtonRun
