# SPDX-License-Identifier: BSD-3-Clause
"""Cutting planes with sampled cuts, linear time in the number of rows.

    problem      min_f  P(f) = 1/2 |f|^2 + C R(f(x_1), ..., f(x_n))   over the functions of a kernel
    lower model  M, as in cutting planes, over cuts of r draws from violated terms
    update       w = -C sum_t beta_t a_t minimises M; v, the best function, goes to the minimum of P
                 on the line from v to w; the next cut is drawn from I(u), the terms violated at u =
                 (1 - mu) v + mu w. Scores at all rows are look-ups in the rows stored with the
                 cuts, so R and the search are exact
    stop         P(v) - M(w) <= C epsilon
    certificate  none: the model of sampled cuts is no lower bound, it has been seen above the
                 minimum; the exact cuts they stand for give one with the same multipliers, for the
                 kernel values of one evaluation

Yu and Joachims, Training structural SVMs with kernels using sampled cuts, KDD 2008: Algorithm 3,
steadied as in Franc and Sonnenburg, ICML 2008. A cut costs n r kernel values. Inactive cuts go
after 20 rounds, as in the experiments of the former.

The theorems of the paper stay. P(u) >= P(v) >= M(w), and with |.|^2/2 the exact cut at u is a
parabola below P on the line: so the cut is violated at w by (P(v) - M(w))/C + (1 - mu) |w - v|^2/(2
C) or more, hence by epsilon until the run ends. Its samples are unbiased at w too, and are drawn
until one is violated there by more than epsilon: the model rises as much, and rounds are as few, as
without the line. Where P(v) - M(w) <= C epsilon, P(v) is above the minimum by no more than that and
what the model is above it.

Deviations: equal draws are merged; where |I| <= r the exact cut is taken, and where 50 samples are
not violated enough.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np

from svmcut.base.records import record
from svmcut.base.typing import TYPE_CHECKING, ClassVar
from svmcut.cutting.bundle import BundleSolution, Cut, CutBundle
from svmcut.qp import make_qp
from svmcut.risks.sampling import Draw
from svmcut.solvers.protocol import Problem, Progress, Run, Solver, Start, kept
from svmcut.spaces.kernel import Expansion
from svmcut.spec import schemas
from svmcut.spec.schemas import Form, State

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.cutting.oracle import Point
    from svmcut.risks.sampling import Sampler, Violations


class SampledElement(Expansion):
    """The normal of a sampled cut, with the exact cut it stands for."""

    __slots__ = ("exact",)

    def __init__(self, sampled: Expansion, exact: Draw):
        super().__init__(sampled.points, sampled.coef, sampled.scores)
        self.exact = exact


class SampledCutsRun(Run):
    """A step after every cut; ends when the best function is no higher above the model than the
    stopping rule allows.

    Progress.gap is that height, and its dual is nan.

    Attributes
    ----------
    full : bool
        Whether the run ended because its memory was full.
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
        solver = self._solver
        problem = self._problem
        bundle = self.bundle
        started = time.perf_counter()
        space, C = problem.space, problem.C
        while True:
            best, (w, _, slack, squared) = self._best, self._model
            primal, lower = self._primal(best), 0.5 * squared + C * slack
            target = problem.stop.target(primal)
            yield Progress(
                self._iteration,
                2.0 * self._iteration,
                primal,
                math.nan,
                primal - lower,
                time.perf_counter() - started,
                kept(best.w),
                len(bundle),
                bundle.support,
                slack,
                best.risk,
            )
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
            if self._stored(space.dim) > solver.memory:
                bundle.prune(1)
                self.full = self._stored(space.dim) > solver.memory
                if self.full:
                    return
            self._iteration += 1

    def _search(self) -> None:
        """The best function moves towards the minimum of the model where that lowers the primal."""
        C, best, (w, _, slack, squared) = self._problem.C, self._best, self._model
        gap = self._primal(best) - 0.5 * squared - C * slack
        t = self._oracle.line(best, w, squared).minimum(C, gap)
        if t > 0:
            moved = self._oracle.at(self._problem.space.blend(1 - t, best.w, t, w))
            self._best = min(best, moved, key=self._primal)

    def dual_point(self, C: float, n: int) -> tuple[float, NDArray[np.float64]]:
        """The exact cuts with their samples' multipliers, (offset, coef): C R(s) >= offset - coef.s
        for every s."""
        offset, coef = 0.0, np.zeros(n)
        for beta, element in zip(self.bundle.beta[1:], self.bundle.elements(), strict=True):
            offset += C * beta * element.exact.offset
            coef[element.exact.points] -= C * beta * element.exact.coef
        return offset, coef

    def _stored(self, n: int) -> float:
        return 4e-6 * n * len(self.bundle)

    def _draw(self, best: Expansion, w: Expansion, level: float) -> tuple[Draw, Violations]:
        """A cut that is violated beyond `level` at w, and the terms it is of."""
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
    mu : float
        Where between the best function (0) and the minimum of the model (1) the next cut is drawn.
    redraws : int
        Samples tried before the exact cut is taken.
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
    mu: float = 0.3
    redraws: int = 50
    trace: bool = False
