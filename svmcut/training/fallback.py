# SPDX-License-Identifier: BSD-3-Clause
"""The model of a stopped run: no worse than the best multiple of its own w, nor than the best
constant.

    multiple     the t >= 0 with the smallest P(t w), each with the best bias if that is free
    constant     w = 0, or for a regularised bias the best weight of the constant feature alone

P is convex in t, so a search over the powers of t finds the minimum. Runs that met their rule are
left alone: their result is proven.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from svmcut.base.typing import Any, NamedTuple
from svmcut.risks.protocol import LineRisk
from svmcut.solvers.protocol import Problem, Progress, constant
from svmcut.spaces.linear import LinearSpace
from svmcut.spaces.rows import RowSpace

Losses = Callable[[NDArray[np.float64]], tuple[float, float]]


#: A primal above another by no more than this part of it is as good.
RELATIVE_TOLERANCE = 1e-6
#: Powers of e between which t is sought, the part of t it is points to, and most values looked at.
LOG_RANGE, LOG_TOLERANCE, MAX_EVALUATIONS = (-80.0, 10.0), 1e-7, 120


def best_multiple(value: Callable[[float], float]) -> tuple[float, float]:
    """t >= 0 and the value there, which is convex in t, near its minimum; golden sections of the
    logarithm of t, from t = 1 on."""
    golden = 0.5 * (math.sqrt(5.0) - 1)
    at: dict[float, float] = {}

    def of(power: float) -> float:
        if power not in at:
            height = value(math.exp(power))
            at[power] = height if math.isfinite(height) else math.inf
        return at[power]

    low, high, width = -1.0, 1.0, 2.0
    while low > LOG_RANGE[0] and (of(low) < of(0.5 * (low + high)) or math.isinf(of(low))):
        width *= 2
        low, high = max(low - width, LOG_RANGE[0]), 0.5 * (low + high)
    while of(high) < of(0.5 * (low + high)) and high < LOG_RANGE[1]:
        low, high = 0.5 * (low + high), min(high + 1.0, LOG_RANGE[1])
    a, b = high - golden * (high - low), low + golden * (high - low)
    for _ in range(MAX_EVALUATIONS):
        if high - low <= LOG_TOLERANCE:
            break
        if of(a) <= of(b):
            high, b = b, a
            a = high - golden * (high - low)
        else:
            low, a = a, b
            b = low + golden * (high - low)
    best = min((*at, 0.0), key=of)
    at_zero = value(0.0)
    return (math.exp(best), of(best)) if of(best) < at_zero else (0.0, at_zero)


class Multiple(NamedTuple):
    """A multiple t of a function, the best bias beside it, and its primal."""

    t: float
    b: float
    primal: float


def best_function(squared: float, s: NDArray[np.float64], losses: Losses) -> Multiple:
    """The best multiple of a function with |f|^2 = `squared` and the scores `s` (n,) without bias;
    t = 0 is the best constant. `losses` gives C R and the best bias at such scores."""
    square = 0.5 * max(0.0, squared)
    t, primal = best_multiple(lambda t: t * t * square + losses(t * s)[0])
    return Multiple(t, losses(t * s)[1], primal)


def losses_of(
    risk: Any, C: float, has_free_bias: bool, rounded: Callable[[float], float] = float
) -> Losses:
    """Make C R and the best bias, or 0, of scores without one.

    rounded: a bias as the file of the model has it, of which C R is.
    """
    if not has_free_bias:
        return lambda s: (C * risk.linearize(s).value, 0.0)
    from svmcut.risks.free_bias import FreeBias

    bias = FreeBias(risk).bias

    def losses(s: NDArray[np.float64]) -> tuple[float, float]:
        b = rounded(bias(s))
        return C * risk.linearize(s + b).value, b

    return losses


def improve_stopped(problem: Any, progress: Progress) -> Progress:
    """The last step of a stopped run on features, at the best multiple of its point or the best
    constant where one of them has a lower primal by more than RELATIVE_TOLERANCE of it."""
    space = getattr(problem, "space", None)
    if not isinstance(problem, Problem) or not isinstance(space, LinearSpace | RowSpace):
        return progress
    w, most = progress.solution(), (1 - RELATIVE_TOLERANCE) * progress.primal
    points = [_along(problem, w, progress.gap)]
    if space.bias and len(w) == space.X.n_features + 1:
        for sign in (1.0, -1.0):
            unit = space.zero()
            unit[-1] = sign
            points.append(_along(problem, unit, progress.gap))
    best, primal, risk = min(points, key=_primal)
    if not primal < most:
        return progress
    gap = primal - progress.dual
    return progress._replace(primal=primal, gap=gap, risk=risk, solution=constant(best))


def _primal(point: tuple[Any, float, float]) -> float:
    return point[1]


def _along(problem: Problem, w: Any, gap: float) -> tuple[Any, float, float]:
    """The best multiple of w, its primal and its risk."""
    space, C, risk = problem.space, problem.C, problem.risk
    if isinstance(risk, LineRisk):  # whose scores may take more memory than all else
        oracle = problem.oracle(False)
        line = oracle.line(oracle.at(space.zero()), w, space.dot(w, w))
        point = line.point(line.minimum(C, gap))
        return point.w, 0.5 * point.squared + C * point.risk, point.risk
    s, square = space.scores(w), 0.5 * problem.l2 * space.dot(w, w)
    straight = problem.penalty(w) - square

    def value(t: float) -> float:
        return t * straight + t * t * square + C * float(risk.linearize(t * s).value)

    t, primal = best_multiple(value)
    return space.blend(t, w, 0.0, w), primal, risk.linearize(t * s).value
