# SPDX-License-Identifier: BSD-3-Clause
"""Cutting planes with sampled cuts, linear time in the number of rows.

    problem      min_f  P(f) = 1/2 |f|^2 + C R(f(x_1), ..., f(x_n))   over the functions of a kernel
    lower model  M, as in cutting planes, over cuts of r draws from violated terms
    update       w = -C sum_t beta_t a_t minimises M; v, the best function, goes to the minimum of P
                 on the line from v to w; the next cut is drawn from I(u), the terms violated at u =
                 (1 - mu) v + mu w. Scores at all rows are look-ups in the rows stored with the
                 cuts, so R and the search are exact
    stop         P(v) - M(w) <= C epsilon
    certificate  none: the model of sampled cuts is no lower bound and may exceed the minimum; the
                 exact cuts behind them give a bound with the same multipliers, for the kernel
                 values of one evaluation

Yu and Joachims, Training structural SVMs with kernels using sampled cuts, KDD 2008: Algorithm 3,
steadied as in Franc and Sonnenburg, ICML 2008. A cut costs n r kernel values. Inactive cuts go
after 20 rounds, as in the experiments of the former.

The theorems of the paper still hold. P(u) >= P(v) >= M(w), and with |.|^2/2 the exact cut at u is a
parabola below P on the line: so the cut is violated at w by (P(v) - M(w))/C + (1 - mu) |w - v|^2/(2
C) or more, hence by epsilon until the run ends. Its samples are unbiased at w too, and are drawn
until one is violated there by more than epsilon: the model rises as much, and rounds are as few, as
without the line. Where P(v) - M(w) <= C epsilon, P(v) is above the minimum by no more than that
plus the height of the model above it.

Deviations: equal draws are merged; where |I| <= r the exact cut is taken, and where 50 samples are
not violated enough.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut.base.records import record
from svmcut.base.typing import ClassVar
from svmcut.cutting.bundle import BundleSolution, Cut, CutBundle
from svmcut.cutting.oracle import Point
from svmcut.qp import make_qp
from svmcut.risks.sampling import Draw, Sampler, Violations
from svmcut.solvers.protocol import Problem, Progress, Run, Solver, Start, constant
from svmcut.spaces.kernel import Expansion
from svmcut.spec import schemas
from svmcut.spec.schemas import Form, State


class SampledElement(Expansion):
    """The normal of a sampled cut, with the exact cut behind it."""

    __slots__ = ("exact",)

    def __init__(self, sampled: Expansion, exact: Draw):
        super().__init__(sampled.points, sampled.coef, sampled.scores)
        self.exact = exact


class SampledCutsRun(Run):
    """A step after every cut; ends when the best function is no higher above the model than the
    stopping rule allows. Progress.gap is that height, and its dual is nan; `full` is True of a run
    that ended because its memory was full.
    """

    def __init__(self, solver: SampledCuts, problem: Problem, start: Start | None):
        super().__init__(solver, problem, start)
        self._rng = np.random.default_rng(solver.seed)
        space = problem.space
        qp = make_qp(problem.qp)
        self._oracle, self.full = problem.oracle(carry=False), False
        self.bundle, self._iteration = CutBundle(space, qp), 1
        self._model = BundleSolution(space.zero(), 0.0, 0.0, 0.0)
        self._best = self._oracle.at(space.zero())

    def form(self) -> Form:
        real, above = schemas.REAL, schemas.real(0)
        model = schemas.row(self._problem.space.kinds().element, real, above, above)
        return {"_rng": schemas.generator, "_model": model, "_iteration": schemas.count(1)}

    def state(self) -> State:
        return super().state() | {"bundle": self.bundle.state(), "best": self._best.w}

    def restore(self, state: State) -> None:
        space, normal = self._problem.space, None
        if self._solver.trace:
            exact = schemas.expansion(Draw, space.dim, offset=schemas.REAL, value=schemas.REAL)
            scores = schemas.either(schemas.reals(space.dim), schemas.array(np.float32, space.dim))
            normal = schemas.expansion(SampledElement, space.dim, scores=scores, exact=exact)
        super().restore(state)
        schemas.checked(state, schemas.fields(best=space.kinds().element))
        self.bundle.restore(state["bundle"], normal)
        self._best = self._oracle.at(state["best"])

    def _primal(self, point: Point) -> float:
        return 0.5 * point.squared + self._problem.C * point.risk

    def __iter__(self) -> Iterator[Progress]:
        solver, problem, bundle = self._solver, self._problem, self.bundle
        space, C, started = problem.space, problem.C, time.perf_counter()
        while True:
            best, (w, _, slack, squared) = self._best, self._model
            primal, lower = self._primal(best), 0.5 * squared + C * slack
            target = problem.stop.target(primal)
            seconds, cuts = time.perf_counter() - started, (len(bundle), bundle.support)
            state = (
                self._iteration,
                2.0 * self._iteration,
                primal,
                math.nan,
                primal - lower,
                seconds,
            )
            yield Progress(*state, constant(best.w), *cuts, slack, best.risk)
            if primal - lower <= target:
                return
            cut, violated = self._draw(best.w, w, slack + target / C)
            element = space.expansion(cut.points, cut.coef)
            if solver.trace:
                element = SampledElement(element, violated.everything())
            bundle.add(Cut(element, cut.offset, cut.value))
            self._model = bundle.solve(C, 0.1 * target / C)
            self._search()
            bundle.prune(solver.max_idle)
            if self._stored_megabytes(space.dim) > solver.memory:
                bundle.prune(1)
                self.full = self._stored_megabytes(space.dim) > solver.memory
                if self.full:
                    return
            self._iteration += 1

    def _search(self) -> None:
        """Move the best function towards the minimum of the model where that lowers the primal."""
        C, best, (w, _, slack, squared) = self._problem.C, self._best, self._model
        gap = self._primal(best) - 0.5 * squared - C * slack
        t = self._oracle.line(best, w, squared).minimum(C, gap)
        if t > 0:
            moved = self._oracle.at(self._problem.space.blend(1 - t, best.w, t, w))
            self._best = min(best, moved, key=self._primal)

    def dual_point(self, C: float, n: int) -> tuple[float, NDArray[np.float64]]:
        """Return the exact cuts with their samples' multipliers, (offset, coef): C R(s) >= offset
        - coef.s for every s."""
        offset, coef = 0.0, np.zeros(n)
        for beta, element in zip(self.bundle.beta[1:], self.bundle.elements(), strict=True):
            offset += C * beta * element.exact.offset
            coef[element.exact.points] -= C * beta * element.exact.coef
        return offset, coef

    def _stored_megabytes(self, n: int) -> float:
        return 4e-6 * n * len(self.bundle)

    def _draw(self, best: Expansion, w: Expansion, level: float) -> tuple[Draw, Violations]:
        """Draw a cut that is violated beyond `level` at w; return it and the violated terms."""
        solver, space = self._solver, self._problem.space
        s = space.scores(w)
        violated = solver.sampler.violations((1 - solver.mu) * space.scores(best) + solver.mu * s)
        if violated.size > solver.r:
            for _ in range(solver.redraws):
                draw = violated.sample(self._rng, solver.r)
                if draw.offset + draw.coef @ s[draw.points] > level:
                    return draw, violated
        return violated.everything(), violated


@record
class SampledCuts(Solver):
    """The linear-time algorithm."""

    run = SampledCutsRun
    patience: ClassVar[int | None] = 200
    #: The risk of the problem as a sum whose terms may be drawn.
    sampler: Sampler
    #: Draws for a cut.
    r: int
    seed: int
    #: Solutions that a cut may stay without a multiplier.
    max_idle: int = 20
    #: Megabytes that the rows stored with the cuts may take.
    memory: float = math.inf
    #: The place of the next cut between the best function (0) and the minimum of the model (1).
    mu: float = 0.3
    #: Samples that are tried before the exact cut is taken.
    redraws: int = 50
    #: Whether the exact cuts are kept, at no kernel values, for `dual_point`.
    trace: bool = False
