# SPDX-License-Identifier: BSD-3-Clause
"""Dual coordinate descent for the hinge loss, certified as one fractional cut.

    problem      min_w  1/2 |w|^2 + C sum_i max(0, 1 - y_i w.x_i)
    its dual     max    sum alpha - 1/2 |w|^2,   0 <= alpha <= C,   w = sum_i alpha_i y_i x_i
    update       one alpha at a time to its optimum, in random order (csrc/dual_cd.cc)
    certificate  c = alpha / C is a cut; P at w and on the line to it from the best point so far

The fastest of the trainers here on sparse rows with many features. Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML
2008, Algorithm 3.

Deviations from the paper: the constant feature has its own weight and X is not copied; the run ends at a duality gap and
not at a projected gradient; the exact gap is computed when the sum of the gaps met on the way says that it is due. Where
the gap falls too slowly (few features, large C), Newton's method or cutting planes go on from the point reached.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from svmcut._native import dual_cd, sparse
from svmcut.solvers.cutting_plane import CuttingPlane
from svmcut.solvers.fractional import FractionalCuts, check_needs
from svmcut.solvers.newton import DENSE_DIM, Newton
from svmcut.solvers.protocol import Problem, Progress, Start


class DualCd:
    """Dual coordinate descent.

    Parameters
    ----------
    seed : int
        Of the order of the visits.
    max_epochs : int
        Epochs the run may be predicted to need in all before another solver goes on.
    """

    name = "dual-cd"
    needs = frozenset({"hinge", "linear"})

    def __init__(self, seed: int = 0, max_epochs: int = 300):
        self.seed, self.max_epochs = seed, max_epochs

    def steps(self, problem: Problem, start: Start | None = None) -> Iterator[Progress]:
        """Yields after every exact look at the gap.

        Parameters
        ----------
        start : Start or None
            Its fractions, where it has some, are alpha / C of an earlier run.
        """
        check_needs(self, problem)
        space, C, signs = problem.space, problem.C, problem.risk.signs
        run = FractionalCuts(problem, start)
        self.bundle = run.bundle
        met = run.met()
        yield run.progress()
        if met:
            return

        rows, n = space.rows, len(signs)
        norms = np.empty(n)
        sparse.row_norms(rows, norms)
        norms += space.bias**2
        alpha, w = np.zeros(n), space.zero()
        if start is not None and start.fractions is not None:
            np.multiply(start.fractions, C, out=alpha)
            np.multiply(space.adjoint(signs * alpha), 1.0, out=w)
        descent = dual_cd.Descent(rows, signs, norms, space.bias, alpha, w, self.seed)
        # The estimate is a few epochs old where it is too high, and knows no line search; its last ratio to the gap says how far.
        ratio, before = 1.0, (0, run.gap)
        while True:
            descent.run(C, 10, run.target / ratio)
            self.fractions = np.minimum(alpha / C, 1.0)
            coef = self.fractions * signs
            np.negative(coef, out=coef)
            a = space.adjoint(coef)
            np.multiply(a, -C, out=w)
            s = space.scores(w)
            run.passes = descent.entries / max(1, space.X.nnz) + 2
            run.search(w, s)
            run.cut(a, float(np.sum(self.fractions)), run.risk)
            met = run.met()
            yield run.progress()
            if met:
                return
            if descent.moved == 0 or self._too_slow(descent.epochs, run, before):
                break
            ratio = min(max(run.gap / descent.gap, 0.2), 2.0) if descent.gap > 0 else 1.0
            before = (descent.epochs, run.gap)
            descent.wake(C, s)
        few = space.dim <= DENSE_DIM
        yield from run.hand_over(Newton() if few else CuttingPlane())

    def _too_slow(self, epochs: int, run: FractionalCuts, before: tuple[int, float]) -> bool:
        """Whether the gap's fall since `before` (epochs, gap) predicts more than max_epochs in all."""
        rate = math.log(before[1] / run.gap) / (epochs - before[0])
        left = math.log(run.gap / run.target) if run.target > 0 else math.inf
        return epochs + (left / rate if rate > 0 else math.inf) > self.max_epochs and epochs > 30
