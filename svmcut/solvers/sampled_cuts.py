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
from typing import TYPE_CHECKING, Any

import numpy as np

from svmcut import states
from svmcut.cutting.bundle import Cut, CutBundle
from svmcut.qp import make_qp
from svmcut.risks.sampling import Draw
from svmcut.solvers.protocol import Problem, Progress, kept
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


class SampledCuts:
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

    Attributes
    ----------
    bundle : CutBundle
    violation : float
        Of the last iterate: R - slack, in the unit of the risk.
    full : bool
        Whether the run ended because its memory was full.
    """

    name = "sampled-cuts"
    patience = 200

    def __init__(
        self, sampler: Sampler, r: int, seed: int, max_idle: int = 20, memory: float = math.inf, redraws: int = 50,
        trace: bool = False,
    ):  # fmt: skip
        self._sampler, self._r, self._seed = sampler, r, seed
        self._max_idle, self._memory, self._redraws, self._trace = max_idle, memory, redraws, trace

    def steps(self, problem: Problem, start=None, state: dict[str, Any] | None = None) -> Iterator[Progress]:
        """Yields after every cut; ends when no exact cut is violated by more than the stopping rule allows.

        Progress.gap is C times the violation, and its dual is nan.
        """
        space, C = problem.space, problem.C
        started, rng = time.perf_counter(), np.random.default_rng(self._seed)
        self.bundle = bundle = CutBundle(space, make_qp(problem.qp))
        self.full = False
        w, squared, slack, best = space.zero(), 0.0, 0.0, math.inf
        iteration, best_w, best_risk = 1, w, math.inf
        if state is not None:
            element, normal = space.kinds().element, None
            if self._trace:
                exact = states.expansion(Draw, space.dim, offset=states.REAL, value=states.REAL)
                scores = states.either(states.reals(space.dim), states.array(np.float32, space.dim))
                normal = states.expansion(SampledElement, space.dim, scores=scores, exact=exact)
            states.checked(state, states.fields(
                rng=states.generator, w=element, best_w=element,
                numbers=states.row(*4 * (states.real(infinite=True),), states.count(1)),
            ))  # fmt: skip
            self.bundle = bundle = CutBundle.restored(space, make_qp(problem.qp), state["bundle"], normal)
            rng.bit_generator.state = state["rng"]
            w, best_w = state["w"], state["best_w"]
            squared, slack, best, best_risk, iteration = state["numbers"]

        def snapshot() -> dict[str, Any]:
            return {
                "bundle": bundle.state(), "rng": rng.bit_generator.state, "w": w, "best_w": best_w,
                "numbers": (squared, slack, best, best_risk, iteration),
            }  # fmt: skip

        self.state = snapshot
        while True:
            violated = self._sampler.violations(space.scores(w))
            primal = 0.5 * squared + C * violated.value
            if primal < best:
                best, best_w, best_risk = primal, w, violated.value
            self.violation = violated.value - slack
            target = problem.stop.target(best)
            yield Progress(
                iteration, 2.0 * iteration, best, math.nan, C * self.violation, time.perf_counter() - started,
                kept(best_w), len(bundle), bundle.support, slack, best_risk,
                watched=bundle.room(C, 0.5 * squared + C * slack),
            )  # fmt: skip
            if C * self.violation <= target:
                return
            cut = self._draw(rng, violated, slack + target / C)
            element = space.expansion(cut.points, cut.coef)
            if self._trace:
                element = SampledElement(element, violated.everything())
            bundle.add(Cut(element, cut.offset, cut.value))
            model = bundle.solve(C, 0.1 * target / C)
            w, squared, slack = model.w, model.squared_norm, model.slack
            bundle.prune(self._max_idle)
            if self._stored(space.dim) > self._memory:
                bundle.prune(1)
                self.full = self._stored(space.dim) > self._memory
                if self.full:
                    return
            iteration += 1

    def dual_point(self, C: float, n: int) -> tuple[float, NDArray[np.float64]]:
        """The exact cuts with their samples' multipliers, (offset, coef): C R(s) >= offset - coef.s for every s."""
        offset, coef = 0.0, np.zeros(n)
        for beta, element in zip(self.bundle.beta[1:], self.bundle.elements(), strict=True):
            offset += C * beta * element.exact.offset
            coef[element.exact.points] -= C * beta * element.exact.coef
        return offset, coef

    def _stored(self, n: int) -> float:
        return 4e-6 * n * len(self.bundle)

    def _draw(self, rng: np.random.Generator, violated: Violations, level: float) -> Draw:
        """A cut violated beyond `level`, from a sample where one is found."""
        if violated.size <= self._r:
            return violated.everything()
        for harder in (False, True):
            for _ in range(self._redraws):
                draw = violated.sample(rng, self._r, harder)
                if draw.value > level:
                    return draw
        return violated.worst(self._r)
