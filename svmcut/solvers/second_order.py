# SPDX-License-Identifier: BSD-3-Clause
"""What Newton's methods share: the width of a smoothing, conjugate gradients, the sample to start from, their runs."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from svmcut import states
from svmcut._native import newton as native
from svmcut.records import replace
from svmcut.risks.protocol import Linearization
from svmcut.risks.weights import total
from svmcut.solvers.fractional import FractionalRun
from svmcut.solvers.protocol import Problem, Progress, Solver, Stall, Start, State

if TYPE_CHECKING:
    from numpy.typing import NDArray

SAMPLE_EVERY = 8  # rows of one sampled row
SAMPLE_ROWS = 4000  # no sample is smaller
FINAL = 0.8  # of the target is left to the smoothing
SHRINK = 0.35  # of delta is left at least, in one go
BAND = 10  # rows with a curvature a feature of a sample, or its Hessian says little about all rows


class NewtonPoint:
    """The point of a minimisation, its gradient, and what it took to get there.

    Attributes
    ----------
    s : (n,) float64
        Scores of w.
    a
        Normal of the tangent.
    delta : float
        Width of the smoothing.
    smoothing, unfinished : float
        Parts of the gap: the smoothing's work, and 1/2 |gradient|^2.
    passes : float
    ahead : ((n,) float64, float) or None
        Coefficients and offset of the cut that the last step foresaw for its end.
    """

    space: Any
    w: Any
    s: Any
    a: Any
    gradient: Any
    delta: float
    smoothing: float
    unfinished: float
    passes: float
    ahead: tuple[NDArray, float] | None = None

    def lower(self, target: float) -> bool:
        """Lowers delta towards the one that leaves a gap of `target`, if the gap is mostly its work; True if it did."""
        if self.smoothing <= 1.05 * target or self.unfinished > self.smoothing:
            return False
        self.delta *= max(SHRINK, math.sqrt(target / self.smoothing))
        return True

    @property
    def tangent(self) -> Linearization:
        """The risk's value at w, and the cut with normal a."""
        raise NotImplementedError

    def advance(self, target: float) -> bool:
        """Lowers delta or takes a step, and looks at the point; False where neither helps."""
        raise NotImplementedError

    def _conjugate_gradients(self, rows, scale: float, curvatures, tol: float = 0.1, steps: int = 100):
        """(p, products) of (I + scale X'BX) p = -gradient to a residual of tol |gradient|, or as far as so many steps
        lead; B the curvatures of rows, None for 1."""
        space = self.space
        p, r = space.zero(), -self.gradient
        q, rr = r.copy(), space.dot(r, r)
        enough = tol * tol * rr
        products = 0
        while products < steps:
            products += 1
            Hq = space.zero()
            native.band_product(space.rows, rows, space.bias, q, Hq, space.threads, curvatures)
            self.passes += 2 * len(rows) / space.X.n_rows
            Hq *= scale
            Hq += q
            t = rr / space.dot(q, Hq)
            p += t * q
            r -= t * Hq
            before, rr = rr, space.dot(r, r)
            if not rr > enough:
                break
            q *= rr / before
            q += r
        return p, products


def sample_of(problem: Problem, least: int | None = None, each: int = 20) -> Problem | None:
    """The problem of one row of every SAMPLE_EVERY, with C scaled up by the weight of all; None where these are fewer
    than `least` (SAMPLE_ROWS), or than `each` for every feature."""
    space, n = problem.space, problem.space.n_rows
    count = n // SAMPLE_EVERY
    if count < max(SAMPLE_ROWS if least is None else least, each * space.dim):
        return None
    # one row of every SAMPLE_EVERY, at a place that follows no period of the file
    k = np.arange(count, dtype=np.uint64)
    place = (k * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(61)
    rows = (k * np.uint64(SAMPLE_EVERY) + place % np.uint64(SAMPLE_EVERY)).astype(np.int64)
    risk = problem.risk.take(rows)
    C = problem.C * total(problem.risk.weights, n) / total(risk.weights, count)
    return replace(problem, risk=risk, space=space.take(rows), C=C)


class SecondOrderRun(FractionalRun):
    """A step after every gradient. It begins at the point of the start, where that has some."""

    patience: ClassVar[int]

    def __init__(self, solver: Solver, problem: Problem, start: Start | None, state: State | None):
        super().__init__(solver, problem, start, state)
        self._going = True
        self._warm, self._stall = start is not None and bool(start.points), Stall(self.patience)
        if state is not None:
            states.checked(state, states.fields(warm=states.flag))
            self._warm = state["warm"]
            self._stall.restore(state["stall"])

    def state(self) -> State:
        return {**super().state(), "warm": self._warm, "stall": self._stall.state()}

    def _rounds(self, descent: Any, saved: State | None) -> Generator[Progress, None, bool]:
        """Steps until the gap is met, or another solver should go on, which is True."""
        self._descent, self._stage = descent, "descent"
        while True:
            if saved is None:
                known = descent.tangent
                self.offer(descent.w, descent.s, known.value)
                self.cut(descent.a, known.offset, self.risk, known.coef)
                if descent.ahead is not None:
                    (coef, offset), descent.ahead = descent.ahead, None
                    self.cut(self._problem.space.adjoint(coef), offset, self.risk, coef)
                    descent.passes += 1
                self.passes = descent.passes
            met = self.met()
            yield self.progress(again=saved is not None)
            saved = None
            if met:
                return False
            if not self._going or self._stall.update(self.gap):
                return True
            self._going = descent.advance(FINAL * self.target)
