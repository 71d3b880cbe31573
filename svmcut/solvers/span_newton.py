# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method on the smoothed hinge in the span of a few points, as svmcut/solvers/newton.py on features.

The features are dense and few beside the rows, so the Hessian is always formed: from float32 products, unless their
rounding would show beside the identity. It is no part of the certificate, which is of scores and normals in float64.
Where steps lead no further, cutting planes go on from the cuts and the best point.

A step costs some four passes, so delta falls as soon as a step gains no more than what the smoothing costs: the norm of
the gradient, a part of the gap, takes twice the steps to say so. A sample costs less still; all rows begin with a delta
somewhat above its last.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from svmcut import states
from svmcut._native import newton as native
from svmcut.records import record
from svmcut.solvers.newton import Descent, NewtonRun
from svmcut.solvers.protocol import Problem, Solver, State
from svmcut.solvers.second_order import FINAL, sample_of
from svmcut.spaces.subspace import Subspace, Traced

ROUNDED = 0.1  # of the identity may be the rounding of a Hessian of float32 products
SHRINK = 0.2  # of delta is left at least, in one go
GAINED = 4.0  # times the smoothing's work a step may gain before delta falls
SAMPLED = (1000, 4)  # rows of the smallest sample, and rows a feature
ENOUGH = 30.0  # times the target a step gains that ends the work on a sample
LIFT = 3.0  # all rows begin with so many times the sample's delta


class SpanDescent(Descent):
    """The point of a minimisation in a span.

    Attributes
    ----------
    gain : float
        What the last step promised.
    """

    gain = math.inf

    @classmethod
    def restored(cls, problem: Problem, state: dict[str, Any]) -> Self:
        states.checked(state, states.fields(gain=states.real(infinite=True)), "descent")
        descent = super().restored(problem, state)
        descent.gain = state["gain"]
        return descent

    def state(self) -> State:
        return {**super().state(), "gain": self.gain}

    def lower(self, target: float) -> bool:
        if self.smoothing <= 1.05 * target or self.gain > GAINED * self.smoothing:
            return False
        self.delta *= max(SHRINK, math.sqrt(target / self.smoothing))
        return True

    def _direction(self) -> Traced:
        space, scale, g = self.space, self.C / self.delta, self.gradient.w
        rows = self._rows[: native.band_rows(self.at.coef, self._rows, self.weights)]
        self.passes += len(rows) / len(self.signs)
        H = scale * space.gram(rows, self.weights, ROUNDED / scale)
        H.flat[:: len(H) + 1] += 1.0
        p = np.linalg.solve(H, -g)
        if not p @ g < 0:
            p = -g
        self.gain = -0.5 * float(p @ g)
        return Traced(p, None)


class SpanNewtonRun(NewtonRun):
    """The smoothed hinge over a Subspace."""

    spaces = ("the span of a basis", Subspace)
    descent = SpanDescent

    def _sampled(self, problem: Problem, w, delta: float):
        part = sample_of(problem, *SAMPLED)
        if part is None:
            return w, delta
        descent = SpanDescent(part.space, part.risk, part.C, Traced(w.w, None), delta)
        for _ in range(40):
            target = FINAL * part.stop.target(descent.primal)
            if descent.smoothing <= 1.05 * target and descent.gain <= ENOUGH * target:
                break
            descent.advance(target)
        return descent.w, min(delta, LIFT * descent.delta)


@record
class SpanNewton(Solver):
    """Newton's method on the smoothed hinge of functions in a span."""

    run = SpanNewtonRun
