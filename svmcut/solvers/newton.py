# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method on the smoothed hinge, certified as one fractional cut.

    problem      min_w  1/2 |w|^2 + C sum_i v_i max(0, 1 - y_i w.x_i),   v = 1 without weights
    smoothed     z_i = 1 - y_i w.x_i,  u_i = clip(z_i / delta + 1/2, 0, 1):
                 loss = delta u^2 / 2 + max(0, z - delta / 2);  gradient w - C sum v_i u_i y_i x_i;
                 Hessian I + (C / delta) sum over the band 0 < u_i < 1 of v_i x_i x_i'
    update       w <- w + t p, p the Newton direction, t an exact line search on cached scores; delta falls as w settles
    certificate  u is a cut:  P - D = C sum v_i (max(z_i, 0) - u_i z_i)  +  1/2 |gradient|^2
                                      smoothing                             unfinished minimisation

The fastest of the trainers here where features are few; delta falls once the first part of the gap is the larger one,
so neither part is ever much finer than the other. With many rows w starts from a sample of them: a sample of n / 8 rows
costs an eighth and leaves one or two steps to do.

References
----------
Chapelle, Training a support vector machine in the primal, Neural Computation 2007 (Newton with a smooth hinge).
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from svmcut import states
from svmcut._native import newton as native
from svmcut._native import sparse
from svmcut.cutting.oracle import Normals
from svmcut.records import record
from svmcut.risks.protocol import Linearization
from svmcut.solvers.protocol import Problem, Progress, Solver, State
from svmcut.solvers.second_order import BAND, FINAL, NewtonPoint, SecondOrderRun, sample_of

DENSE_DIM = 1024  # up to here the Hessian is formed and factorised


def may_follow(space) -> bool:
    """Whether features are few enough to go on with where coordinate descent is slow."""
    return space.dim <= max(DENSE_DIM, space.X.n_rows // 10)


class Smoothed(NamedTuple):
    """The smoothed hinge at given scores; coef = -v y u, share = sum v u, excess = sum v (max(z, 0) - u z)."""

    coef: np.ndarray
    hinge: float
    share: float
    excess: float
    band: int


def smooth(signs, s, delta: float, threads: int = 1, out=None, weights=None) -> Smoothed:
    """Losses, coefficients and gap of the smoothed hinge at scores s; O(n). out: room for coef."""
    coef = np.empty(len(s)) if out is None else out
    _, hinge, share, excess, band = native.smooth_hinge(signs, s, delta, coef, threads, weights)
    return Smoothed(coef, hinge, share, excess, band)


def line_step(
    signs, s, e, wd: float, dd: float, C: float, delta: float, slope: float, threads: int = 1, weights=None
) -> float:
    """A t > 0 near the minimum of the smoothed primal along scores s + t e, and not above its value at 0.

    Safeguarded Newton on the slope, which is piecewise linear and rises. It ends relative to the slope at 0 and to
    nothing else: a tolerance on the gradient stalls on badly scaled directions. Short of the minimum a small slope will
    do. Beyond it the rise since `low`, at most here (t - low), must be small against the fall before it.
    """
    low, high, t = 0.0, math.inf, 1.0
    tolerance = 0.3  # a full step is welcome: once the band has settled it ends at the minimum
    for _ in range(60):
        rise, curvature = native.smooth_slope(signs, s, e, t, delta, threads, weights)
        here = wd + t * dd + C * rise
        if here <= 0:
            if -here <= tolerance * -slope:
                break
        elif here <= 1e-3 * -slope or here * (t - low) <= 0.05 * -slope * low:
            break
        tolerance = 0.05
        low, high = (t, high) if here < 0 else (low, t)
        t -= here / (dd + C * curvature)
        if not low < t < high:
            t = 0.5 * (low + high) if high < math.inf else 2 * low
    return t


class Descent(NewtonPoint):
    """The point of a minimisation: w, its scores s, delta, and the smoothed primal's gradient there.

    Parameters
    ----------
    space, risk, C
        Of the problem, or of a sample of its rows with C so much larger.
    """

    def __init__(self, space, risk, C: float, w, delta: float):
        self._begin(space, risk, C, delta)
        self.w, self.s = w, space.scores(w)
        self.passes = 1.0
        self.look()

    def _begin(self, space, risk, C: float, delta: float) -> None:
        self.space, self.signs, self.weights, self.C, self.delta = space, risk.signs, risk.weights, C, delta
        self._normals = Normals(space, refresh=20)
        n = len(self.signs)
        self._room, self._rows = (np.empty(n), np.empty(n)), np.empty(n + 1, np.int32)

    @classmethod
    def restored(cls, problem: Problem, state: dict[str, Any]) -> Self:
        """The descent whose `state` this is."""
        kinds, real, n = problem.space.kinds(), states.REAL, len(problem.risk.signs)
        at = states.instance(
            Smoothed, coef=kinds.coef, hinge=real, share=real, excess=real, band=states.count(0, n)
        )  # fmt: skip
        states.checked(state, states.fields(
            w=kinds.element, s=kinds.scores, a=kinds.element, at=at,
            numbers=states.row(states.real(1e-300), real, real, real),
        ), "descent")  # fmt: skip
        descent = cls.__new__(cls)
        descent.w, descent.s, descent.a, descent.at = (state[name] for name in ("w", "s", "a", "at"))
        delta, descent.passes, descent.smoothing, descent.unfinished = state["numbers"]
        descent._begin(problem.space, problem.risk, problem.C, delta)
        descent._normals.restore(state["normals"])
        descent.gradient = descent.space.blend(1.0, descent.w, descent.C, descent.a)
        return descent

    def state(self) -> State:
        """The point with what the last look found there; later steps do not change it."""
        coef = self.at.coef.copy()  # its room is used again, and the normals keep it too
        return {
            "w": self.w, "s": self.s, "a": self.a, "at": self.at._replace(coef=coef),
            "normals": {**self._normals.state(), "coef": coef},
            "numbers": (self.delta, self.passes, self.smoothing, self.unfinished),
        }  # fmt: skip

    def look(self) -> None:
        """Gradient and gap at w and delta; one pass, over the band's rows alone where only delta changed."""
        self._room = self._room[::-1]  # the normals keep the last coefficients
        self.at = smooth(self.signs, self.s, self.delta, self.space.threads, self._room[0], self.weights)
        self.a = self._normals.of(self.at.coef)
        self.gradient = self.space.blend(1.0, self.w, self.C, self.a)
        self.smoothing = self.C * self.at.excess
        self.unfinished = 0.5 * self.space.dot(self.gradient, self.gradient)
        self.passes += 1

    @property
    def primal(self) -> float:
        return 0.5 * self.space.dot(self.w, self.w) + self.C * self.at.hinge

    @property
    def tangent(self) -> Linearization:
        return Linearization(self.at.hinge, self.at.coef, self.at.share)

    def advance(self, target: float) -> bool:
        """As NewtonPoint.advance; a step is always tried."""
        if not self.lower(target):
            self.step()
        self.look()
        return True

    def step(self) -> None:
        """One Newton step with line search."""
        p = self._direction()
        slope = self.space.dot(self.gradient, p)
        e = self.space.scores(p)
        self.passes += 1
        wd, dd = self.space.dot(self.w, p), self.space.dot(p, p)
        t = line_step(self.signs, self.s, e, wd, dd, self.C, self.delta, slope, self.space.threads, self.weights)
        self.w = self.space.blend(1.0, self.w, t, p)
        self.s, s = np.empty(len(e)), self.s
        sparse.blend(1.0, s, t, e, self.s, self.space.threads)

    def _direction(self):
        space, scale = self.space, self.C / self.delta
        rows = self._rows[: native.band_rows(self.at.coef, self._rows, self.weights)]
        if space.dim <= DENSE_DIM:
            H, p = np.empty((space.dim, space.dim)), -self.gradient
            native.band_gram(space.rows, rows, space.bias, H, space.threads, weights=self.weights)
            self.passes += len(rows) / len(self.signs)
            if native.solve_shifted(H, scale, p):
                return p
        return self._conjugate_gradients(rows, scale, self.weights)[0]


def sampled_start(problem: Problem, w, delta: float):
    """(w, delta) of a sample's minimum with C scaled up, itself started from a smaller sample; or what was given where
    the rows are few. The sample goes down to the delta all rows will need: its gap is relative to its primal."""
    part = sample_of(problem)
    if part is None:
        return w, delta
    w, delta = sampled_start(part, w, delta)
    descent = Descent(part.space, part.risk, part.C, w, delta)
    for _ in range(40):
        target = FINAL * part.stop.target(descent.primal)
        if descent.smoothing <= 1.05 * target and descent.unfinished <= descent.smoothing:
            break
        lowered = descent.lower(target)
        if lowered and descent.at.band < BAND * part.space.dim:
            break
        if lowered:
            descent.look()
        descent.step()
        descent.look()
    return descent.w, descent.delta


class NewtonRun(SecondOrderRun):
    """The smoothed hinge, whose state keeps what the last look found."""

    patience = 30
    descent: ClassVar[type[Descent]] = Descent

    def _descent_state(self) -> State:
        return self._descent.state()

    def _descend(self, saved: State | None) -> Generator[Progress, None, bool]:
        problem = self._problem
        if saved is None:
            w, delta = (self.w, 1.0) if self._warm else self._sampled(problem, self.w, 1.0)
            descent = self.descent(problem.space, problem.risk, problem.C, w, delta)
        else:
            descent = self.descent.restored(problem, saved)
        return (yield from self._rounds(descent, saved))

    def _sampled(self, problem: Problem, w, delta: float):
        """(w, delta) to begin with."""
        return sampled_start(problem, w, delta)


@record
class Newton(Solver):
    """Newton's method on the smoothed hinge."""

    run = NewtonRun
