# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method on a linear hinge machine with a free bias, to a tolerance of the KKT conditions.

    problem      min_{w,b}  1/2 |w|^2 + sum_i C_i max(0, 1 - y_i (w.x_i + b)),   b free, or 0;  C_i
                 = C v_i
    smoothed     u_i = clip(z_i / delta + 1/2, 0, 1), z_i = 1 - y_i (w.x_i + b)
    update       that of svmcut/solvers/newton.py; delta falls to the tolerance, each level from the
                 last one's end
    dual         beta_i = C_i u_i y_i is feasible: at the best b, sum beta = 0; w = X'beta
    stop         v = y - X w: highest v that may rise - lowest that may fall <= tolerance, as
                 solvers/smo.py

At the smoothed minimum a point strictly inside its box has its margin within delta / 2 of 1, and a
point at a bound lies beyond: delta is the violation of the KKT conditions, whatever n is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut.base.typing import NamedTuple
from svmcut.risks.free_bias import FreeBias
from svmcut.risks.hinge import BoundHinge
from svmcut.risks.weights import boxes
from svmcut.solvers.newton import Descent
from svmcut.solvers.protocol import Problem, Solution, StoppingRule
from svmcut.solvers.smo import KernelProblem
from svmcut.spaces.linear import LinearSpace

#: The first delta, at which every row has a curvature at 0; the next level as a part of a level;
#: the
#: last one as a part of the tolerance.
FIRST, LEVEL, LAST = 4.0, 0.25, 0.9
MAX_STEPS = 60  # Newton steps at a level


class MarginStep(NamedTuple):
    """A solution and its scores, the violation of its KKT conditions, and steps so far."""

    solution: Solution
    scores: NDArray[np.float64]
    violation: float
    steps: int


class SmoothedMargin:
    """A minimisation with labels and the linear kernel, to be iterated once; its last step meets
    the tolerance of the problem, or rounding forbids it. Threads change no byte of the result."""

    def __init__(self, problem: KernelProblem, free_bias: bool, threads: int = 1):
        self._space = LinearSpace(problem.X, 0.0, threads)
        self._y, self._C, self._weights = problem.y, problem.C, problem.weights
        self._free, self._tolerance = free_bias, problem.tolerance
        self._risk = BoundHinge(problem.y, threads, problem.weights)

    def __iter__(self) -> Iterator[MarginStep]:
        space, last, steps, least, futile = self._space, LAST * self._tolerance, 0, np.inf, 0
        risk = FreeBias(self._risk) if self._free else self._risk
        descent = Descent(
            Problem(risk, space, self._C, StoppingRule(0.0)), space.zero(), max(FIRST, last)
        )
        while descent.delta > 1e-3 * last:
            final = descent.delta <= last
            for _ in range(MAX_STEPS):
                if final:
                    step = self._certify(descent.at.coef, steps)
                    yield step
                    futile = 0 if step.violation < 0.9 * least else futile + 1
                    if step.violation <= self._tolerance or futile > MAX_STEPS:
                        return
                    least = min(least, step.violation)
                size = 0.5 * space.dot(descent.w, descent.w) + self._C
                if not descent.step():
                    break
                steps += 1
                if not final and 2 * descent.gain <= 1e-4 * descent.delta * size:
                    break
            descent.smooth_over(0.5 * descent.delta if final else max(LEVEL * descent.delta, last))

    def _certify(self, coef, steps: int) -> MarginStep:
        """Return the dual solution -C coef with its violation of the KKT conditions."""
        most = np.broadcast_to(boxes(self._C, self._weights), len(coef))
        parts = -coef * self._y
        full = parts >= (1.0 - 1e-12) * (1.0 if self._weights is None else self._weights)
        alpha = np.where(full, most, np.minimum(self._C * parts, most))
        beta = alpha * self._y
        s = self._space.scores(self._space.adjoint(beta))
        v = self._y - s
        high, low = extremes(beta, v, self._y, most)
        if self._free:
            violation, b = max(0.0, high - low), bias_of(beta, v, self._y, most)
        else:
            violation, b = max(0.0, high, -low), 0.0
        return MarginStep(Solution(beta, b), s + b, violation, steps)


def extremes(beta: NDArray, v: NDArray, y: NDArray, most: NDArray) -> tuple[float, float]:
    """Return the highest v whose beta may rise and the lowest whose beta may fall; infinite if
    none."""
    alpha = beta * y
    below, above = alpha < most, alpha > 0
    rising, falling = np.where(y > 0, below, above), np.where(y > 0, above, below)
    return float(v[rising].max(initial=-np.inf)), float(v[falling].min(initial=np.inf))


def bias_of(beta: NDArray, v: NDArray, y: NDArray, most: NDArray) -> float:
    """Return the mean v of points strictly between their bounds, else the middle of the
    extremes."""
    between = (beta != 0) & (np.abs(beta) < most)
    if between.any():
        return float(v[between].mean())
    ends = [end for end in extremes(beta, v, y, most) if np.isfinite(end)]
    return float(sum(ends) / len(ends)) if ends else 0.0
