# SPDX-License-Identifier: BSD-3-Clause
"""The stochastic batch perceptron.

    problem      max over |w| <= 1, and over b where the bias is free, of f(w) = the water level:
                 the largest min_i y_i (w.phi(x_i) + b) + xi_i over xi >= 0 with sum v_i xi_i <= V
                 nu, V = sum v_i
    update       j from the points under water by their weights (with a free bias: from those of a
                 fair coin's class), w <- w + eta_t y_j phi(x_j), eta_t = eta_0 / sqrt(t), eta_0^2
                 max K(x, x) = 1; back to the unit ball
    result       wbar / gamma and b / gamma, wbar an average of the iterates, gamma and b its water
                 level
    certificate  for any distribution p (with mass 1/2 on each class where the bias is free), with Q
                 the Gram matrix times the labels: f <= sqrt(p'Qp) + V nu max p / v, and alpha =
                 theta p, 0 <= alpha <= C v, is a point of the dual of 1/2 |w|^2 + C sum of weighted
                 hinge losses. Training evaluates both at the mean of the p drawn from. v is 1
                 without weights

Cotter, Shalev-Shwartz and Srebro, The kernelized stochastic batch perceptron, ICML 2012: Algorithm
1, Sections 3.3 and 3.6. n kernel values a step.

nu and C name the same trade-off: w / gamma is best for C along its ray where C gamma sum_covered
v_i c_i = |w|^2, c the responses of w; the left side grows with the water, so C gives nu by a search
for this volume.

Deviations: the sums of the average begin anew at T/2, T/4, T/8, .. steps ("suffix"), so that the
result is the average of the last half, also at an early end; nu from C follows the average at these
steps and stays the same from T/2 on; the result is the best of several looks.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from svmcut._native.expansion import NoLevel, water_level
from svmcut._native.expansion import Sbp as NativeSbp
from svmcut.base.records import record
from svmcut.solvers.expansion import ExpansionRun, Look, StepSolver
from svmcut.spec import schemas
from svmcut.spec.schemas import Form


class SbpRun(ExpansionRun):
    """The looks of the stochastic batch perceptron."""

    def form(self) -> Form:
        return super().form() | {"_volume": schemas.real(0)}

    def _open(self) -> None:
        problem = self._problem
        largest = float(np.max(problem.expansion.diagonal[: problem.trained]))
        if not largest < math.inf:
            raise NoLevel("a kernel value is not finite")
        first_step = 1 / math.sqrt(largest) if largest > 0 else 1.0
        seed, bound, nu = self._solver.seed, self._solver.bound, self._solver.nu
        self._native = native = NativeSbp(
            problem.expansion,
            self._solver.free_bias,
            first_step,
            seed,
            bound,
            problem.trained_weights,
        )
        self._volume = native.volume = problem.total * (0.5 / first_step if nu is None else nu)
        self._restarts = {self.total >> k for k in range(1, self.total.bit_length())}

    def _steps_done(self) -> int:
        return self._native.steps

    def _next_look(self, done: int) -> int:
        due = super()._next_look(done)
        return min([due, *(step for step in self._restarts if step > done)])

    def _look(self) -> Look:
        native, problem = self._native, self._problem
        native.flush()
        a = native.arrays["sum"] / native.averaged
        c = native.arrays["response_sum"] / native.averaged
        squared = float(a @ c)
        level, bias, _ = self._water(c[: problem.trained], native.volume)
        rank = -level
        if self._solver.nu is None or not level > 0:
            volume, level, bias = self._along(c[: problem.trained], squared)
            if self._solver.nu is None:
                self._volume = volume
        scale = 1 / level if level > 0 else 0.0
        look = self._judge(native.steps, a, c, bias, scale)
        return look if self._solver.nu is None else look._replace(rank=rank)

    def _after_look(self) -> None:
        native = self._native
        if native.steps in self._restarts:
            if self._solver.nu is None:
                native.volume = self._volume
            if self._solver.average == "suffix":
                native.restart()

    def _along(self, c, squared: float) -> tuple[float, float, float]:
        """Return volume, level and bias of the multiple of w that is best for C, to a thousandth;
        the level is infinite where that multiple is 0."""
        problem = self._problem

        def surplus(volume: float) -> float:
            level, _, covered = self._water(c, volume)
            under = (2 if self._solver.free_bias else 1) * covered
            return problem.C * level * (under * level - volume) - squared if level > 0 else -1.0

        low = high = max(self._volume, 1e-12 * problem.total)
        while surplus(high) < 0:
            low, high = high, 4 * high
            if high > 1e12 * problem.total * max(1.0, float(np.abs(c).max())):
                return self._volume, math.inf, 0.0
        for _ in range(100):
            if low < 1e-14 * problem.total or surplus(low) < 0:
                break
            low, high = low / 4, low
        while high > 1.001 * low:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if surplus(middle) >= 0 else (middle, high)
        level, bias, _ = self._water(c, high)
        return high, level, bias

    def _water(self, c, volume: float) -> tuple[float, float, float]:
        """Return level, bias and covered weight of these responses."""
        problem = self._problem
        free = self._solver.free_bias
        return water_level(c, problem.positives, volume, free, problem.trained_weights)

    @property
    def found_nu(self) -> float:
        """nu as given, or its last value."""
        return self._native.volume / self._problem.total

    def distribution(self):
        """Return the mean of the distributions that points were drawn from since the last restart,
        by row (n,), of mass 1, 1/2 on each class with a free bias; None where there is none."""
        mass = self._native.arrays.get("mass")
        if mass is None:
            return None
        problem, p = self._problem, np.zeros(len(self._problem.y))
        ends = [0, *([problem.positives] * self._solver.free_bias), problem.trained]
        parts = [mass[first:last] for first, last in itertools.pairwise(ends)]
        if not all(part.sum() > 0 for part in parts):
            return None
        mean = np.concatenate([part / part.sum() for part in parts]) / len(parts)
        p[problem.order[: problem.trained]] = mean
        return p


@record
class Sbp(StepSolver):
    """The stochastic batch perceptron; see the head of this file."""

    run = SbpRun
    #: Mean slack at |w| = 1; None to follow C.
    nu: float | None = None
    free_bias: bool = True
    #: One of "suffix", "full".
    average: str = "suffix"
    #: Whether the distributions drawn from are summed, for the certificate.
    bound: bool = True
