# SPDX-License-Identifier: BSD-3-Clause
"""Dual coordinate descent for the hinge loss, certified as one fractional cut.

    problem      min_w  1/2 |w|^2 + C sum_i max(0, 1 - y_i w.x_i)
    its dual     max    sum alpha - 1/2 |w|^2,   0 <= alpha <= C,   w = sum_i alpha_i y_i x_i
    update       one alpha at a time to its optimum, in random order (csrc/dual_cd.cc)
    certificate  c = alpha / C is a cut; P at w and on the line to it from the best point so far

The fastest of the trainers here on sparse rows with many features. Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML
2008, Algorithm 3.

Deviations from the paper: the constant feature has its own weight and X is not copied; the run ends at a duality gap
and not at a projected gradient; the exact gap is computed when the sum of the gaps met on the way says that it is due.
Where the gap falls too slowly and features are few, Newton's method goes on from the point reached; where it stalls,
cutting planes do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from svmcut._native import dual_cd, sparse
from svmcut.solvers.cutting_plane import CuttingPlane
from svmcut.solvers.fractional import FractionalCuts, check_needs
from svmcut.solvers.newton import DENSE_DIM, Newton
from svmcut.solvers.protocol import Problem, Progress, Stall, Start


class DualCd:
    """Dual coordinate descent.

    Parameters
    ----------
    seed : int
        Of the order of the visits.
    max_epochs : int
        Epochs of all rows the run may be predicted to need yet where Newton's method could go on (few features).
    """

    # After a run, fractions holds alpha / C, (n,) float64: with Start it is where the next run begins, at any C.

    name = "dual-cd"
    needs = frozenset({"hinge", "linear"})

    def __init__(self, seed: int = 0, max_epochs: float = 15):
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
        self.bundle, self.fractions = run.bundle, None
        met = run.met()
        yield run.progress()
        if met:
            return

        rows, n = space.rows, len(signs)
        norms = np.empty(n)
        sparse.row_norms(rows, norms)
        norms += space.bias**2
        alpha, w, looks = np.zeros(n), space.zero(), 0
        if start is not None and start.fractions is not None:
            np.multiply(start.fractions, C, out=alpha)
            np.copyto(w, space.adjoint(signs * alpha))
        elif run.lower == 0:
            # The cut at 0 is c = 1. Where C is so small that its multiplier is C, it is a better start than 0, or the
            # end already.
            a = space.adjoint(-signs)
            run.cut(a, float(n), float(n), -signs)
            looks += 1
            if run.bundle.beta[-1] == 1.0:
                np.multiply(a, -C, out=w)
                alpha.fill(C)
                self.fractions = np.ones(n)
                run.search(w, space.scores(w))
                looks += 1
                met = run.met()
                yield run.progress()
                if met:
                    return
        descent = dual_cd.Descent(rows, signs, norms, space.bias, alpha, w, self.seed)
        # The estimate adds gaps of many moments and knows no search of the line: its last ratio to the gap says when
        # to look.
        ratio, stall = 1.0, Stall(60)
        few = space.dim <= max(DENSE_DIM, n // 10)
        block = min(max(10, 200_000 // (space.X.nnz + 10 * n)), 200)  # epochs that cost more than a look does
        while True:
            epochs, gap = descent.epochs, run.gap
            descent.run(C, max(block, epochs // 5), run.target / ratio)
            self.fractions = np.minimum(alpha / C, 1.0)
            coef = self.fractions * signs
            np.negative(coef, out=coef)
            a = space.adjoint(coef)
            np.multiply(a, -C, out=w)
            s = space.scores(w)
            looks += 2
            run.passes = looks + descent.entries / max(1, space.X.nnz)
            run.search(w, s)
            run.cut(a, float(np.sum(self.fractions)), run.risk, coef)
            met = run.met()
            yield run.progress()
            if met:
                return
            since = descent.epochs - epochs
            if few and epochs and self._too_slow(gap / run.gap, since, descent.active / n, run):
                break
            if stall.update(run.gap):
                break
            ratio = min(max(run.gap / descent.gap, 0.3), 1.5) if descent.gap > 0 else 1.0
            descent.wake(C, s)
        yield from run.hand_over(Newton() if few else CuttingPlane())

    def _too_slow(self, fall: float, epochs: int, share: float, run: FractionalCuts) -> bool:
        """Whether a gap that fell to 1 / fall of itself in so many epochs, of that share of the rows, needs more than
        max_epochs of all rows yet."""
        if not fall > 1 or run.target <= 0:
            return True
        return share * epochs * math.log(run.gap / run.target) / math.log(fall) > self.max_epochs
