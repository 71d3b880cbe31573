# SPDX-License-Identifier: BSD-3-Clause
"""Cutting planes with sampled cuts, constant time in the number of rows.

    problem      min_f  P(f) = 1/2 |f|^2 + C sum_i v_i max(0, 1 - y_i f(x_i))   over the functions of a kernel
    lower model  as in cutting planes, over cuts of r rows drawn from all n: no set of violated rows is ever formed. A
                 row is drawn as often as its weight v_i says
    stop         p samples in a row violated by at most epsilon
    certificate  none; even the primal is an estimate from the last sample

Yu and Joachims, Training structural SVMs with kernels using sampled cuts, KDD 2008: Algorithm 2. Round t costs r times
the points of the active cuts in kernel values: one block gives the scores of the sample and the products of its cut.
The value of p is not legible in the copies of the paper that circulate; the default is ours.

Deviations: equal draws are merged; a sample that is not violated is not added as a cut.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from svmcut import states
from svmcut.cutting.bundle import BundleSolution, Cut, CutBundle
from svmcut.qp import make_qp
from svmcut.solvers.protocol import Problem, Progress, Run, Solver, Start, State, kept
from svmcut.spaces.protocol import Elements

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.risks.sampling import HingeSampler


class Points:
    """sum_p coef_p K(points_p, .); points increase, each once."""

    __slots__ = ("coef", "points")

    def __init__(self, points: NDArray, coef: NDArray):
        self.points, self.coef = points, coef


class SampleSpace(Elements):
    """Sparse expansions whose products are read from one block of kernel values, that of the last sample.

    Parameters
    ----------
    rows : KernelRows
    """

    def __init__(self, rows):
        self._rows = rows
        self._sample = self._union = np.zeros(0, np.int64)
        self._block = np.zeros((0, 0), np.float32)
        self._last: Points | None = None
        self._pull = np.zeros(0)

    def kinds(self) -> states.Kinds:
        element = states.expansion(Points, self._rows.n)
        return states.Kinds(element, element, states.anything, states.anything)

    def look(self, sample: NDArray, elements: list[Points]) -> None:
        """Evaluates the sample (increasing, each once) against the points of all elements and against itself."""
        parts = [element.points for element in elements]
        self._sample, self._union = sample, np.unique(np.concatenate([sample, *parts]))
        self._block = self._rows.block_between(sample, self._union)
        self._last = None

    def scores(self, element: Points) -> NDArray[np.float64]:
        """The element at the sample; float32 products, as exact as the kernel values."""
        dense = np.zeros(len(self._union), np.float32)
        dense[np.searchsorted(self._union, element.points)] = element.coef
        return (self._block @ dense).astype(np.float64)

    def dot(self, a: Points, b: Points) -> float:
        """b must stand on points of the sample; its scores at all points are kept for the next product."""
        if b is not self._last:
            weights = np.zeros(len(self._sample), np.float32)
            weights[np.searchsorted(self._sample, b.points)] = b.coef
            self._last, self._pull = b, (weights @ self._block).astype(np.float64)
        return float(a.coef @ self._pull[np.searchsorted(self._union, a.points)])

    def combine(self, weights, elements) -> Points:
        if not len(elements):
            return Points(np.zeros(0, np.int64), np.zeros(0))
        points, place = np.unique(np.concatenate([element.points for element in elements]), return_inverse=True)
        values = np.concatenate([weight * element.coef for weight, element in zip(weights, elements, strict=True)])
        return Points(points, np.bincount(place, values, len(points)))


class SampledBundle(CutBundle):
    """A bundle that takes |w|^2 from its Gram matrix, since nobody asks it for a certificate."""

    def solution(self, C: float) -> BundleSolution:
        k = len(self._elements)
        used = [t for t in range(1, k) if self.beta[t] > 0]
        w = self.space.combine(-C * self.beta[used], [self._elements[t] for t in used])
        pull = self._H[:k, :k] @ self.beta
        squared = max(0.0, float(C * C * (self.beta @ pull)))
        slack = max(0.0, float(np.max(self._b[:k] - C * pull)))
        return BundleSolution(w, C * float(self._b[:k] @ self.beta) - 0.5 * squared, slack, squared)


class ConstantCutsRun(Run):
    """A step after every sample; primal is the estimate from it, dual nan, gap C times its violation."""

    def __init__(self, solver: ConstantCuts, problem: Problem, start: Start | None, state: State | None):
        super().__init__(solver, problem, start, state)
        self._rng, space, qp = np.random.default_rng(solver.seed), problem.space, make_qp(problem.qp)
        if state is None:
            self.bundle, self._w = SampledBundle(space, qp), Points(np.zeros(0, np.int64), np.zeros(0))
            self._squared, self._slack, self._calm, self._iteration = 0.0, 0.0, 0, 0
            return
        states.checked(state, states.fields(
            rng=states.generator, w=space.kinds().element,
            numbers=states.row(states.real(0), states.real(0), states.count(0, solver.p - 1), states.COUNT),
        ))  # fmt: skip
        self.bundle, self._w = SampledBundle.restored(space, qp, state["bundle"]), state["w"]
        self._rng.bit_generator.state = state["rng"]
        self._squared, self._slack, self._calm, self._iteration = state["numbers"]

    def state(self) -> State:
        return {
            "bundle": self.bundle.state(), "rng": self._drawn_from, "w": self._w,
            "numbers": (self._squared, self._slack, self._calm, self._iteration - 1),
        }  # fmt: skip

    def __iter__(self) -> Iterator[Progress]:
        solver, problem, bundle, rng, started = (
            self._solver, self._problem, self.bundle, self._rng, time.perf_counter()
        )  # fmt: skip
        space, C = problem.space, problem.C
        while True:
            self._drawn_from = rng.bit_generator.state  # a run that goes on from here draws this sample once more
            self._iteration += 1
            drawn = solver.sampler.points(rng, solver.r)
            sample, place = np.unique(drawn, return_inverse=True)
            space.look(sample, bundle.elements())
            draw = solver.sampler.bootstrap(space.scores(self._w)[place], drawn)
            primal, violation = 0.5 * self._squared + C * draw.value, draw.value - self._slack
            target = problem.stop.target(primal)
            yield Progress(
                self._iteration, 0.0, primal, math.nan, C * violation, time.perf_counter() - started, kept(self._w),
                len(bundle), bundle.support, self._slack, draw.value,
                watched=bundle.room(C, 0.5 * self._squared + C * self._slack),
            )  # fmt: skip
            if C * violation <= target:
                self._calm += 1
                if self._calm == solver.p:
                    return
                continue
            self._calm = 0
            bundle.add(Cut(Points(draw.points, draw.coef), draw.offset, draw.value))
            self._w, _, self._slack, self._squared = bundle.solve(C, 0.1 * target / C)
            bundle.prune(solver.max_idle)


@dataclass(frozen=True)
class ConstantCuts(Solver):
    """The constant-time algorithm; the space of its problems is a SampleSpace.

    Parameters
    ----------
    sampler : HingeSampler
    r : int
        Draws for a cut.
    p : int
        See the head of this file.
    seed : int
    max_idle : int
        Solutions a cut may stay without a multiplier.
    """

    run = ConstantCutsRun
    patience: ClassVar[int | None] = 200
    sampler: HingeSampler
    r: int
    p: int
    seed: int
    max_idle: int = 20
