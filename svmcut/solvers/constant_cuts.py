# SPDX-License-Identifier: BSD-3-Clause
"""Cutting planes with sampled cuts, constant time in the number of rows.

    problem      min_f  P(f) = 1/2 |f|^2 + C sum_i v_i max(0, 1 - y_i f(x_i))   over the functions
                 of a kernel
    lower model  M, as in cutting planes, over cuts of r rows drawn from all n, so that no set of
                 violated rows is formed. A row is drawn as often as its weight v_i says
    update       w minimises M; v, the best function, goes to the minimum of P_H on the line from v
                 to w, P_H being P with the mean loss of H, 4 r rows drawn once, of which no cut is
                 made; the next cut is of a fresh sample at u = (1 - mu) v + mu w
    stop         P_H(v) - M(w) <= C epsilon, or p samples in a row that lower P_H(v) by at most C
                 epsilon: their cuts are violated at w by no more than epsilon, or make a model
                 whose minimum does not help v
    certificate  none; even the primal, P_H(v), is an estimate: the mean loss of v on H is off by B
                 sqrt(log(2 T/delta)/(2 |H|)) at most, with probability 1 - delta, for T rounds and
                 losses up to B

Yu and Joachims, Training structural SVMs with kernels using sampled cuts, KDD 2008: Algorithm 2,
steadied as in Franc and Sonnenburg, ICML 2008. A round costs r times the points of the cuts in
kernel values: one block gives the scores of the sample and the products of its cut; a cut has its
scores on H from another. w depends on the rows whose scores are known, so neither v nor its primal
may be chosen by them. The value of p is not legible in the copies of the paper that circulate; the
default is ours.

Deviations: equal draws are merged; a sample that is not violated is not added as a cut. v is kept
as a combination of the cuts, and cuts go once they are idle in w and weigh less than 0.0001 in v.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from svmcut._native import sparse
from svmcut.base.records import record
from svmcut.base.typing import ClassVar
from svmcut.cutting.bundle import Cut, CutBundle
from svmcut.qp import make_qp
from svmcut.risks.hinge import BoundHinge
from svmcut.risks.sampling import HingeSampler
from svmcut.solvers.protocol import Problem, Progress, Run, Solver, Start
from svmcut.spaces.protocol import Elements
from svmcut.spec import schemas
from svmcut.spec.schemas import OWN, Form, State

#: Rows of H by draws of a cut.
_HELD = 4
#: Share of v below which an idle cut goes.
_MIN_SHARE = 1e-4


class Points:
    """sum_p coef_p K(points_p, .); points increase, each once. scores: at the rows of H."""

    __slots__ = ("coef", "points", "scores")

    def __init__(self, points: NDArray, coef: NDArray, scores: NDArray):
        self.points, self.coef, self.scores = points, coef, scores


class SampleSpace(Elements):
    """Sparse expansions over KernelRows whose products are read from one block of kernel values,
    that of the last sample."""

    def __init__(self, rows):
        self._rows = rows
        self._sample = self._held = np.zeros(0, np.int64)
        self._elements: list[Points] = []
        self._block = np.zeros((0, 0), np.float32)

    def hold(self, held: NDArray) -> None:
        """Have elements keep their scores at these rows from here on."""
        self._held = held

    def kinds(self) -> schemas.Kinds:
        element = schemas.expansion(Points, self._rows.n, scores=schemas.reals(len(self._held)))
        return schemas.Kinds(element, element, schemas.anything, schemas.anything)

    def look(self, sample: NDArray, elements: list[Points]) -> None:
        """Evaluate the sample (increasing, each once) against the points of these elements and
        itself."""
        self._sample, self._elements = sample, elements
        self._block = self._rows.block_between(
            sample, np.concatenate([*(e.points for e in elements), sample])
        )

    def scores(self, weights: NDArray) -> NDArray[np.float64]:
        """Return sums of the elements with weights (k, elements), (k, sample); float32 products,
        as exact as kernel values."""
        coef = np.concatenate([*(e.coef for e in self._elements), np.zeros(len(self._sample))])
        lengths = [len(e.points) for e in self._elements] + [len(self._sample)]
        dense = (coef * np.repeat(np.pad(weights, ((0, 0), (0, 1))), lengths, axis=1)).astype(
            np.float32
        )
        return (dense @ self._block.T).astype(np.float64)

    def element(self, points: NDArray, coef: NDArray) -> Points:
        """Return the element with these coefficients at rows of the sample."""
        scores = coef.astype(np.float32) @ self._rows.block_between(points, self._held)
        return Points(points, coef, scores.astype(np.float64))

    def dot(self, a: Points, b: Points) -> float:
        return float(
            a.coef @ (self._rows.block_between(a.points, b.points).astype(np.float64) @ b.coef)
        )

    def dots(self, elements, a: Points) -> NDArray[np.float64]:
        """Return the dot products of a, on points of the sample, with the elements looked at and,
        last, with itself."""
        dense = np.zeros(len(self._sample), np.float32)
        dense[np.searchsorted(self._sample, a.points)] = a.coef
        pull = (dense @ self._block).astype(np.float64)
        ends = np.cumsum([len(e.points) for e in self._elements], dtype=np.int64)
        parts = [
            e.coef @ pull[end - len(e.points) : end]
            for e, end in zip(self._elements, ends, strict=True)
        ]
        return np.array([*parts, dense.astype(np.float64) @ pull[len(pull) - len(dense) :]])

    def combine(self, weights, elements) -> Points:
        scores = np.empty(len(self._held))
        sparse.combine(
            np.asarray(weights, np.float64), [element.scores for element in elements], scores
        )
        if not len(elements):
            return Points(np.zeros(0, np.int64), np.zeros(0), scores)
        points, place = np.unique(
            np.concatenate([element.points for element in elements]), return_inverse=True
        )
        values = np.concatenate(
            [weight * element.coef for weight, element in zip(weights, elements, strict=True)]
        )
        return Points(points, np.bincount(place, values, len(points)), scores)


class SampledBundle(CutBundle):
    """A bundle whose numbers all come from its Gram matrix, as it needs no certificate."""

    @property
    def best(self) -> NDArray[np.float64]:
        """The multipliers of v, (k,), as beta are of w; v = -C sum_t best_t a_t."""
        return self._near

    def minimise(self, C: float, tol: float) -> tuple[float, float]:
        """Minimise the lower model; return slack and |w|^2 there."""
        self._maximise_dual(C, tol)
        k = len(self._elements)
        slack = max(0.0, float(np.max(self._b[:k] - C * (self._H[:k, :k] @ self.beta))))
        return slack, self.product(C, self.beta, self.beta)

    def product(self, C: float, one: NDArray, other: NDArray) -> float:
        """Return the dot product of the functions with these multipliers."""
        k = len(self._elements)
        return float(C * C * (one @ (self._H[:k, :k] @ other)))

    def held_scores(self, C: float, multipliers: NDArray) -> NDArray[np.float64]:
        """Return the scores at the rows of H of the function with these multipliers."""
        return self.space.combine(*self._terms(C, multipliers)).scores

    def move(self, t: float) -> None:
        """Move v to (1 - t) v + t w."""
        self._near = (1 - t) * self._near + t * self.beta

    def prune(self, max_idle: int) -> int:
        """Drop idle cuts as CutBundle.prune does, except those that v needs."""
        weighty = self.best >= _MIN_SHARE
        self._idle[weighty] = np.minimum(self._idle[weighty], max_idle - 1)
        dropped = super().prune(max_idle)
        self._near[0] += 1.0 - float(self._near.sum())  # the flat plane takes what the others leave
        return dropped


class ConstantCutsRun(Run):
    """A step after every sample; primal is P_H(v), dual nan, gap the height above the model."""

    def __init__(self, solver: ConstantCuts, problem: Problem, start: Start | None):
        super().__init__(solver, problem, start)
        self._rng = np.random.default_rng(solver.seed)
        space = problem.space
        qp = make_qp(problem.qp)
        held, weights = solver.sampler.merge_draws(
            solver.sampler.points(self._rng, _HELD * solver.r)
        )
        self._risk = BoundHinge(solver.sampler.signs[held], weights=weights)
        space.hold(held)
        self.bundle = SampledBundle(space, qp)
        self._squared, self._slack, self._calm, self._iteration = 0.0, 0.0, 0, 0

    def restore(self, state: State) -> None:
        super().restore(state)
        self._iteration -= 1  # its last step is reported again

    def form(self) -> Form:
        return {
            "bundle": OWN,
            "_rng": schemas.generator,
            "_squared": schemas.real(0),
            "_slack": schemas.real(0),
            "_calm": schemas.count(0, self._solver.p),
            "_iteration": schemas.count(1),
        }

    def __iter__(self) -> Iterator[Progress]:
        solver, problem, bundle = self._solver, self._problem, self.bundle
        started, C, (primal, risk) = time.perf_counter(), problem.C, self._primal()
        while True:
            self._iteration += 1
            gap = primal - 0.5 * self._squared - C * self._slack
            target = problem.stop.target(primal)
            solution = partial(bundle.space.combine, -C * bundle.best[1:], bundle.elements())
            seconds, cuts = time.perf_counter() - started, (len(bundle), bundle.support)
            state = self._iteration, 0.0, primal, math.nan, gap, seconds, solution
            yield Progress(*state, *cuts, self._slack, risk)
            if gap <= target or self._calm == solver.p:
                return
            self._step(target)
            before, (primal, risk) = primal, self._primal()
            self._calm = self._calm + 1 if before - primal <= target else 0

    def _primal(self) -> tuple[float, float]:
        """Return P_H(v), and R there."""
        bundle, C = self.bundle, self._problem.C
        risk = self._risk.linearize(bundle.held_scores(C, bundle.best)).value
        return 0.5 * bundle.product(C, bundle.best, bundle.best) + C * risk, risk

    def _step(self, target: float) -> None:
        """Draw a sample; where its cut is violated at w, minimise the model with it and search the
        line to the minimum."""
        solver, bundle, C, space = self._solver, self.bundle, self._problem.C, self._problem.space
        drawn = solver.sampler.points(self._rng, solver.r)
        sample, place = np.unique(drawn, return_inverse=True)
        space.look(sample, bundle.elements())
        u = (1 - solver.mu) * bundle.best + solver.mu * bundle.beta
        at_u, at_w = space.scores(-C * np.array([u, bundle.beta])[:, 1:])
        draw = solver.sampler.bootstrap(at_u[place], drawn)
        at_w = at_w[np.searchsorted(sample, draw.points)]
        if C * (draw.offset + float(draw.coef @ at_w) - self._slack) <= target:
            return
        bundle.add(Cut(space.element(draw.points, draw.coef), draw.offset, draw.value))
        self._slack, self._squared = bundle.minimise(C, 0.1 * target / C)
        best, w = bundle.best, bundle.beta
        s = bundle.held_scores(C, best)
        cross = bundle.product(C, best, w)
        squared = bundle.product(C, best, best)
        rates = bundle.held_scores(C, w) - s
        t = self._risk.line_minimum(
            s, rates, cross - squared, self._squared - 2 * cross + squared, C
        )
        bundle.move(min(t, 1.0))
        bundle.prune(solver.max_idle)


@record
class ConstantCuts(Solver):
    """The constant-time algorithm; the space of its problems is a SampleSpace."""

    run = ConstantCutsRun
    patience: ClassVar[int | None] = 200
    sampler: HingeSampler
    #: Draws for a cut.
    r: int
    #: Samples without gain that end a run; see the head of this file.
    p: int
    seed: int
    #: Solutions that a cut may stay without a multiplier.
    max_idle: int = 20
    #: The place of the next cut between v (0) and w (1).
    mu: float = 0.3
