# SPDX-License-Identifier: BSD-3-Clause
"""Nu machines by sequential minimal optimisation, in LIBSVM's scale.

    nu-SVC     P = 1/2 |w|^2 - nu V rho + sum_i v_i max(0, rho - y_i (f_i + b)),  V = sum v
    one-class  P = 1/2 |w|^2 - nu V rho + sum_i v_i max(0, rho - f_i)
    nu-SVR     P = 1/2 |w|^2 + C (nu V tube + sum_i v_i max(0, |y_i - f_i - b| - tube))

All are, with a side s_i = +-1 a point, the points of nu-SVR twice, once on either side,

    problem      min_w  P = 1/2 |w|^2 + sum over sides of  min_r sum C_i max(0, r + s_i v_i) - m r,
    v = p - f,   p = 0, or the targets
    dual         max_beta   D = beta.p - 1/2 beta'K beta,   0 <= beta_i s_i <= C_i,  sum of |beta|
    over a side = m:  nu V / 2 of nu-SVC, nu V of one class, C nu V / 2 of nu-SVR
    update       as smo.py, both of a pair on the side that violates its rule most
    start        beta at its bound by row until the sums are reached
    certificate  P - D with the exact r of both sides: the quantiles of -s v of mass m

rho = (r+ + r-) / 2 and b = (r- - r+) / 2; of nu-SVR the tube is -rho; one class has r+ = rho alone.

Schoelkopf, Smola, Williamson and Bartlett, Neural Computation 12, 2000; Chang and Lin, Neural
Computation 13, 2001.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut._native.kernels import KernelRows
from svmcut._native.smo import Smo as NativeSmo
from svmcut.base.records import record
from svmcut.base.typing import Any
from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.risks.weights import boxes
from svmcut.solvers.protocol import Progress
from svmcut.solvers.smo import Smo, SmoRun, residual

#: Sums of weights that differ by this part are equal.
EQUAL = 1e-12
#: |w|^2 / 2 counts as 0 at this part of the largest sum of its terms.
ZERO = 1e-10
#: rho counts as 0 at this part of its largest value.
NO_MARGIN = 1e-12


@record
class NuProblem:
    """The least P over w and the r of both sides."""

    #: (n, d), n >= 1.
    X: Csr
    #: (n,) p: v at w = 0.
    y: NDArray[np.float64]
    #: (n,) in {-1, +1}
    sides: NDArray[np.float64]
    #: m / C of the sides +1 and -1; 0 of a side without points.
    masses: tuple[float, float]
    #: The fields of KernelProblem.
    kernel: Kernel
    C: float = 1.0
    tolerance: float = 1e-3
    gap: float | None = None
    weights: NDArray[np.float64] | None = None
    shared: tuple[NDArray, NDArray[np.int64]] | None = None
    given: bool = False

    @property
    def apart(self) -> bool:
        """True where there are two sides."""
        return self.masses[1] > 0

    def levels(self, v: NDArray[np.float64]) -> tuple[float, float]:
        """Return the exact best rho and b where p - w.phi = v."""
        levels = [
            self._level(-side * v, self.sides == side, mass)
            for side, mass in zip((1.0, -1.0), self.masses, strict=True)
            if mass > 0
        ]
        if len(levels) == 1:
            return levels[0], 0.0
        return 0.5 * (levels[0] + levels[1]), 0.5 * (levels[1] - levels[0])

    def _level(self, z: NDArray, points: NDArray, mass: float) -> float:
        """Return the number with so much weight of z below it, halfway between two where many
        are."""
        z = z[points]
        if self.weights is None:
            place = min(max(math.ceil(mass * (1 - EQUAL)), 1), len(z)) - 1
            many = place + 1 < len(z) and abs(place + 1 - mass) <= EQUAL * mass
            parted = np.partition(z, [place, place + 1] if many else place)
        else:
            order = np.argsort(z, kind="stable")
            parted, sums = z[order], np.cumsum(self.weights[points][order])
            place = min(int(np.searchsorted(sums, mass * (1 - EQUAL))), len(z) - 1)
            many = place + 1 < len(z) and abs(float(sums[place]) - mass) <= EQUAL * mass
        level = float(parted[place])
        return 0.5 * (level + float(parted[place + 1])) if many else level

    def risk(self, r: NDArray[np.float64]) -> float:
        """Return (P - 1/2 |w|^2) / C at the best rho and b, where p - f - b = r for any b."""
        rho, b = self.levels(r)
        excess = np.maximum(0.0, rho + self.sides * (r - b))
        losses = float((excess if self.weights is None else self.weights * excess).sum())
        plus, minus = self.masses
        return losses - rho * (plus + minus) - b * (minus - plus)

    def dual(self, beta: NDArray[np.float64], v: NDArray[np.float64]) -> float:
        """Return D where v = p - K beta."""
        return 0.5 * float(beta @ (self.y + v))

    def best(self, K: NDArray[np.float64], free_bias: bool) -> NDArray[np.float64] | None:
        """Return beta of the greatest D, as near as rounding allows; K as of KernelProblem."""
        from svmcut.qp.box import maximise_in_box, signed_values

        top = np.array(np.broadcast_to(boxes(self.C, self.weights), len(self.y)))
        masses = [(side, self.C * mass) for side, mass in zip((1.0, -1.0), self.masses) if mass > 0]
        sums = np.array([self.sides == side for side, _ in masses], np.float64)
        Q = signed_values(K, self.sides)
        x = maximise_in_box(
            Q, self.sides * self.y, top, sums, np.array([mass for _, mass in masses])
        )
        return self.sides * x

    def unit(self, free_bias: bool) -> float:
        """Return the size of a violation at the start: the change by a coefficient, or the spread
        of targets."""
        spread = float(np.std(self.y))
        if spread > 0:
            return spread
        if self.given and self.shared is not None:
            values, places = self.shared
            own = values[places, places]
        else:
            own = KernelRows(self.X, self.kernel, 1).diagonal
        return max(self.C * float(np.mean(np.abs(own))), 1e-300)

    def start(self) -> NDArray[np.float64]:
        """Return beta (n,) of the wanted sums: at its bound row by row, the last one in part."""
        v, beta = self.weights, np.zeros_like(self.y)
        v = np.ones(len(self.y)) if v is None else v
        for side, mass in zip((1.0, -1.0), self.masses, strict=True):
            points = np.flatnonzero(self.sides == side)
            begins = np.cumsum(v[points]) - v[points]
            beta[points] = side * self.C * np.clip(mass - begins, 0.0, v[points])
        return beta


class NuRun(SmoRun):
    """A SmoRun that begins at coefficients of the wanted sums."""

    _problem: NuProblem

    def __iter__(self) -> Iterator[Progress]:
        if not self._resumed and self._native.support == 0:
            self._begin()
        yield from super().__iter__()

    def _begin(self) -> None:
        problem, native = self._problem, self._native
        beta = problem.start()
        v = residual(problem, beta, self._solver.threads)
        native.restore(self._solver.native_state(problem, beta, v))
        native.make_whole()

    def _is_met(self, progress: Progress) -> bool:
        """Tell whether the rule is met, or only rounding is left of w, whose margin is 0."""
        problem = self._problem
        if super()._is_met(progress):
            return True
        mass = problem.C * sum(problem.masses)
        return not problem.y.any() and -progress.dual <= ZERO * self._unit * mass * mass

    @property
    def has_margin(self) -> bool:
        """True where rho is above 0 by more than rounding."""
        problem = self._problem
        largest = self._unit * problem.C * sum(problem.masses)
        return self.levels()[0] > NO_MARGIN * largest

    def levels(self) -> tuple[float, float]:
        """Return rho and b of the present solution; exact where every point is active."""
        return self._problem.levels(self._native.solution()[1])

    def _edges(self) -> tuple[float, float]:
        rho, b = self.levels()
        return b, rho

    def _bias(self, beta: NDArray[np.float64], v: NDArray[np.float64]) -> float:
        return self._problem.levels(v)[1]


@record
class NuSmo(Smo):
    """SMO of a NuProblem; see Smo."""

    run = NuRun

    def native(self, problem: Any, cache_mb: float) -> NativeSmo:
        """Return the compiled side of a run."""
        how = {"linear": problem.y, "apart": problem.apart}
        return self.make_native(problem, problem.sides, True, cache_mb, **how)
