# SPDX-License-Identifier: BSD-3-Clause
"""Cutting planes with sampled cuts, constant time in the number of rows.

    problem      min_f  P(f) = 1/2 |f|^2 + C sum_i max(0, 1 - y_i f(x_i))   over the functions of a kernel
    lower model  as in cutting planes, over cuts of r rows drawn from all n: no set of violated rows is ever formed
    stop         p samples in a row violated by at most epsilon
    certificate  none; even the primal is an estimate from the last sample

Yu and Joachims, Training structural SVMs with kernels using sampled cuts, KDD 2008: Algorithm 2. Round t costs r times
the points of the active cuts in kernel values: one block gives the scores of the sample and the products of its cut.
The value of p is not legible in the copies of the paper that circulate; `patience` is ours.

Deviations: equal draws are merged; a sample that is not violated is not added as a cut.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from svmcut import states
from svmcut.cutting.bundle import BundleSolution, Cut, CutBundle
from svmcut.qp import make_qp
from svmcut.solvers.protocol import Problem, Progress, kept

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.risks.sampling import HingeSampler


class Points:
    """sum_p coef_p K(points_p, .); points increase, each once."""

    __slots__ = ("coef", "points")

    def __init__(self, points: NDArray, coef: NDArray):
        self.points, self.coef = points, coef


class SampleSpace:
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
        """What a state may hold of this space."""
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


class ConstantCuts:
    """The constant-time algorithm.

    Parameters
    ----------
    sampler : HingeSampler
    r : int
        Draws for a cut.
    patience : int
        p.
    seed : int
    max_idle : int
        Solutions a cut may stay without a multiplier.
    """

    name = "constant-cuts"
    patience = 200

    def __init__(self, sampler: HingeSampler, r: int, patience: int, seed: int, max_idle: int = 20):
        self._sampler, self._r, self._patience, self._seed = sampler, r, patience, seed
        self._max_idle = max_idle

    def steps(self, problem: Problem, start=None, state: dict[str, Any] | None = None) -> Iterator[Progress]:
        """Yields after every sample; primal is the estimate from it, dual nan, gap C times its violation.

        The space of the problem is a SampleSpace.
        """
        space, C, n = problem.space, problem.C, len(self._sampler.signs)
        started, rng = time.perf_counter(), np.random.default_rng(self._seed)
        self.bundle = bundle = SampledBundle(space, make_qp(problem.qp))
        w, squared, slack, calm, iteration = Points(np.zeros(0, np.int64), np.zeros(0)), 0.0, 0.0, 0, 0
        if state is not None:
            states.checked(state, states.fields(
                rng=states.generator, w=space.kinds().element,
                numbers=states.row(states.real(0), states.real(0), states.count(0, self._patience - 1), states.COUNT),
            ))  # fmt: skip
            self.bundle = bundle = SampledBundle.restored(space, make_qp(problem.qp), state["bundle"])
            rng.bit_generator.state = state["rng"]
            w = state["w"]
            squared, slack, calm, iteration = state["numbers"]

        def snapshot() -> dict[str, Any]:
            return {
                "bundle": bundle.state(), "rng": drawn_from, "w": w, "numbers": (squared, slack, calm, iteration - 1)
            }  # fmt: skip

        self.state = snapshot
        while True:
            drawn_from = rng.bit_generator.state  # a run that goes on from here draws this sample once more
            iteration += 1
            drawn = rng.integers(n, size=self._r)
            sample, place = np.unique(drawn, return_inverse=True)
            space.look(sample, bundle.elements())
            draw = self._sampler.bootstrap(space.scores(w)[place], drawn)
            primal, violation = 0.5 * squared + C * draw.value, draw.value - slack
            target = problem.stop.target(primal)
            yield Progress(
                iteration, 0.0, primal, math.nan, C * violation, time.perf_counter() - started, kept(w),
                len(bundle), bundle.support, slack, draw.value, watched=bundle.room(C, 0.5 * squared + C * slack),
            )  # fmt: skip
            if C * violation <= target:
                calm += 1
                if calm == self._patience:
                    return
                continue
            calm = 0
            bundle.add(Cut(Points(draw.points, draw.coef), draw.offset, draw.value))
            model = bundle.solve(C, 0.1 * target / C)
            w, squared, slack = model.w, model.squared_norm, model.slack
            bundle.prune(self._max_idle)
