# SPDX-License-Identifier: BSD-3-Clause
"""Cutting planes with sampled cuts, linear time in the number of rows.

    problem      min_f  P(f) = 1/2 |f|^2 + C R(f(x_1), ..., f(x_n))   over the functions of a kernel
    lower model  as in cutting planes, over cuts of r draws from the violated terms I
    update       f = -C sum_t beta_t a_t;  its scores at all rows by look-up in the rows stored with the cuts
    stop         the exact violation: R(f) <= slack of the lower model + epsilon
    certificate  none: the model of sampled cuts is no lower bound, it has been seen above the minimum; the exact cuts
                 they stand for give one with the same multipliers, for the kernel values of one evaluation

Yu and Joachims, Training structural SVMs with kernels using sampled cuts, KDD 2008: Algorithm 3. A cut costs n r kernel
values. Inactive cuts go after 20 rounds, as in the paper's experiments.

Deviations: equal draws are merged; where |I| <= r the exact cut is taken; a sample that is not violated enough is
drawn again at most 50 times, then from the half of I with the larger losses, then the worst term stands for all; the
answer is the iterate with the smallest objective, which is known exactly in every round.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from svmcut import states
from svmcut.cutting.bundle import Cut, CutBundle
from svmcut.qp import make_qp
from svmcut.risks.sampling import Draw
from svmcut.solvers.protocol import Problem, Progress, Run, Solver, Start, State, kept
from svmcut.spaces.kernel import Expansion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.risks.sampling import Sampler, Violations


class SampledElement(Expansion):
    """The normal of a sampled cut, with the exact cut it stands for."""

    __slots__ = ("exact",)

    def __init__(self, sampled: Expansion, exact: Draw):
        super().__init__(sampled.points, sampled.coef, sampled.scores)
        self.exact = exact


class SampledCutsRun(Run):
    """A step after every cut; ends when no exact cut is violated by more than the stopping rule allows.

    Progress.gap is C times the violation, and its dual is nan.

    Attributes
    ----------
    violation : float
        Of the last iterate: R - slack, in the unit of the risk.
    full : bool
        Whether the run ended because its memory was full.
    """

    def __init__(self, solver: SampledCuts, problem: Problem, start: Start | None, state: State | None):
        super().__init__(solver, problem, start, state)
        self._rng, space, qp = np.random.default_rng(solver.seed), problem.space, make_qp(problem.qp)
        self.full, self.violation = False, math.inf
        if state is None:
            self.bundle = CutBundle(space, qp)
            self._w = self._best_w = space.zero()
            self._squared, self._slack, self._best, self._best_risk, self._iteration = 0.0, 0.0, math.inf, math.inf, 1
            return
        element, normal = space.kinds().element, None
        if solver.trace:
            exact = states.expansion(Draw, space.dim, offset=states.REAL, value=states.REAL)
            scores = states.either(states.reals(space.dim), states.array(np.float32, space.dim))
            normal = states.expansion(SampledElement, space.dim, scores=scores, exact=exact)
        states.checked(state, states.fields(
            rng=states.generator, w=element, best_w=element,
            numbers=states.row(*4 * (states.real(infinite=True),), states.count(1)),
        ))  # fmt: skip
        self.bundle = CutBundle.restored(space, qp, state["bundle"], normal)
        self._rng.bit_generator.state = state["rng"]
        self._w, self._best_w = state["w"], state["best_w"]
        self._squared, self._slack, self._best, self._best_risk, self._iteration = state["numbers"]

    def state(self) -> State:
        return {
            "bundle": self.bundle.state(), "rng": self._rng.bit_generator.state, "w": self._w, "best_w": self._best_w,
            "numbers": (self._squared, self._slack, self._best, self._best_risk, self._iteration),
        }  # fmt: skip

    def __iter__(self) -> Iterator[Progress]:
        solver, problem, bundle, started = self._solver, self._problem, self.bundle, time.perf_counter()
        space, C = problem.space, problem.C
        while True:
            violated = solver.sampler.violations(space.scores(self._w))
            primal = 0.5 * self._squared + C * violated.value
            if primal < self._best:
                self._best, self._best_w, self._best_risk = primal, self._w, violated.value
            self.violation = violated.value - self._slack
            target = problem.stop.target(self._best)
            yield Progress(
                self._iteration, 2.0 * self._iteration, self._best, math.nan, C * self.violation,
                time.perf_counter() - started, kept(self._best_w), len(bundle), bundle.support, self._slack,
                self._best_risk, watched=bundle.room(C, 0.5 * self._squared + C * self._slack),
            )  # fmt: skip
            if C * self.violation <= target:
                return
            cut = self._draw(violated, self._slack + target / C)
            element = space.expansion(cut.points, cut.coef)
            if solver.trace:
                element = SampledElement(element, violated.everything())
            bundle.add(Cut(element, cut.offset, cut.value))
            self._w, _, self._slack, self._squared = bundle.solve(C, 0.1 * target / C)
            bundle.prune(solver.max_idle)
            if self._stored(space.dim) > solver.memory:
                bundle.prune(1)
                self.full = self._stored(space.dim) > solver.memory
                if self.full:
                    return
            self._iteration += 1

    def dual_point(self, C: float, n: int) -> tuple[float, NDArray[np.float64]]:
        """The exact cuts with their samples' multipliers, (offset, coef): C R(s) >= offset - coef.s for every s."""
        offset, coef = 0.0, np.zeros(n)
        for beta, element in zip(self.bundle.beta[1:], self.bundle.elements(), strict=True):
            offset += C * beta * element.exact.offset
            coef[element.exact.points] -= C * beta * element.exact.coef
        return offset, coef

    def _stored(self, n: int) -> float:
        return 4e-6 * n * len(self.bundle)

    def _draw(self, violated: Violations, level: float) -> Draw:
        """A cut violated beyond `level`, from a sample where one is found."""
        solver = self._solver
        if violated.size <= solver.r:
            return violated.everything()
        for harder in (False, True):
            for _ in range(solver.redraws):
                draw = violated.sample(self._rng, solver.r, harder)
                if draw.value > level:
                    return draw
        return violated.worst(solver.r)


@dataclass(frozen=True)
class SampledCuts(Solver):
    """The linear-time algorithm.

    Parameters
    ----------
    sampler : Sampler
        The risk of the problem as a sum whose terms may be drawn.
    r : int
        Draws for a cut.
    seed : int
    max_idle : int
        Solutions a cut may stay without a multiplier.
    memory : float
        Megabytes the rows stored with the cuts may take.
    redraws : int
        Samples tried before they are taken from the harder half.
    trace : bool
        Keeps the exact cuts, which cost no kernel values, so that `dual_point` can answer.
    """

    run = SampledCutsRun
    patience: ClassVar[int | None] = 200
    sampler: Sampler
    r: int
    seed: int
    max_idle: int = 20
    memory: float = math.inf
    redraws: int = 50
    trace: bool = False
