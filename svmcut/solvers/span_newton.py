# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method in the span of a few points, as svmcut/solvers/newton.py on features.

The features are dense and few against the rows, so the Hessian is always formed: from float32
products, unless their rounding would matter against the identity. The certificate does not depend
on it, being one of scores and normals in float64. Where steps lead no further, cutting planes go on
from the cuts and the best point.

A step costs some four passes, so delta falls as soon as a step gains no more than the smoothing
costs: the norm of the gradient, a part of the gap, would take twice the steps to say so. A sample
costs less still; all rows begin with a delta somewhat above its last.
"""

from __future__ import annotations

import numpy as np

from svmcut.base.records import record
from svmcut.base.typing import Any
from svmcut.risks.smoothed import Smoothed
from svmcut.solvers.curvature import border
from svmcut.solvers.newton import Descent, Newton, NewtonRun
from svmcut.solvers.protocol import Problem
from svmcut.spaces.subspace import Subspace, Traced
from svmcut.spec.schemas import Form, Kept

ROUNDING = 0.1  # rounding of a Hessian of float32 products, at most, as a part of the identity
MAX_GAIN = 4.0  # delta falls once a step gains at most so many times the smoothing's part
SAMPLE_GAIN = 30.0  # a sample is done once a step gains at most so many times the target
LIFT = 3.0  # all rows begin with so many times the sample's delta


class SpanCurvature(Kept):
    """The equations of a step in a span; see Curvature."""

    def __init__(self, space: Subspace):
        self._space, self.passes = space, 0.0

    def form(self) -> Form:
        return {}

    def direction(self, at: Smoothed, C: float, gradient: Traced) -> Traced:
        """Return (I + C A'BA)^-1 (-gradient), or -gradient where rounding makes that no descent."""
        space, scale, g = self._space, C / at.width, gradient.w
        self.passes = len(at.rows) / space.n_rows
        H, free = scale * space.gram(at.rows, at.bends, ROUNDING / scale), border(space, at)
        if free:
            mean, total = free
            H -= np.multiply.outer(scale * total * mean.w, mean.w)
        H.flat[:: len(H) + 1] += 1.0
        try:
            p = np.linalg.solve(H, -g)
        except np.linalg.LinAlgError:  # at a C or features that leave nothing of the ones
            return Traced(-g, None)
        return Traced(p if p @ g < 0 else -g, None)


class SpanDescent(Descent):
    """The point of a minimisation in a span."""

    SHRINK, SAMPLE, FEWEST = 0.2, (1000, 4), 0

    def _equations(self) -> Any:
        return SpanCurvature(self.space)

    def _is_settled(self) -> bool:
        return self.gain <= MAX_GAIN * self.smoothing

    def _is_sample_done(self, target: float) -> bool:
        return self.gain <= SAMPLE_GAIN * target

    @classmethod
    def sample_start(cls, problem: Problem, w: Traced, delta: float) -> tuple[Traced, float]:
        bare = Traced(w.w, None)  # the rows that w comes from are no rows of a sample
        start, last = super().sample_start(problem, bare, delta)
        return (w, delta) if start is bare else (start, min(delta, LIFT * last))


class SpanNewtonRun(NewtonRun):
    """Newton's method over a Subspace."""

    spaces = ("the span of a basis", Subspace)
    descent = SpanDescent


@record
class SpanNewton(Newton):
    """Newton's method on a sum of losses of functions in a span."""

    run = SpanNewtonRun
