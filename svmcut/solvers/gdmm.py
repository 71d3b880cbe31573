# SPDX-License-Identifier: BSD-3-Clause
"""Greedy direction method of multipliers for structured outputs.

    problem      min_w  P(w) = 1/2 |w|^2 + C sum_n H_n(w),   H_n relaxed to the local polytope
    its dual     min G(alpha) over a shifted simplex for every factor, subject to M_jf alpha_f = alpha_j: pairs agree
                 with the nodes they join
    update       augmented Lagrangian with weight rho; a factor at a time is moved to its minimum over the few states in
                 use and the one its maximisation oracle names; multipliers follow the residual
    certificate  pairs are repaired to agree with their nodes, which makes a feasible dual point; P by the argmax of the
                 model (Viterbi; the roof dual)

No structured argmax is called between looks at the gap, and a look is due when the passes have grown by a fifth.

Yen, Huang, Zhong, Zhang, Dhillon and Ravikumar, NIPS 2016, Algorithms 1 and 4, section 3.2.

Deviations from the paper: the sign of the loss in equation (10) (the printed one learns nothing); eta = 1; the best model
by P is returned, not the last; a bound that is valid while factors disagree.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from svmcut._native import multilabel, sparse
from svmcut.solvers.protocol import Progress, Stall
from svmcut.structured.multilabel import LabelSets
from svmcut.structured.protocol import StructuredProblem

NODE_PASSES = 10  # before pairs enter: while nodes alone are far off, pairs answer errors that would go anyway
RHO = 0.3  # of the mean length of an example


class LabelFactors:
    """The state of a run on label sets.

    Attributes
    ----------
    W, v : (rows, K), (K, K) float64
        The iterate.
    active : int
        Pair factors in use, as of the last look.
    """

    def __init__(self, model: LabelSets, C: float, seed: int, rho: float | None = None):
        self.model, self.C, self.passes = model, C, 0
        self.W, self.v = np.zeros((model.n_rows, model.n_labels)), np.zeros((model.n_labels, model.n_labels))
        squares = np.empty(model.n_samples)
        sparse.row_norms(model.rows, squares)
        if rho is None:
            rho = RHO * float(np.sqrt(np.mean(squares) + model.bias**2)) or RHO
        self._descent = multilabel.Gdmm(model.rows, model.sets, self.W, self.v, model.bias, C, rho, seed)
        self.active = 0

    def run(self) -> None:
        """One pass over the samples."""
        self._descent.run(self.model.pairs and self.passes >= NODE_PASSES)
        self.passes += 1

    def look(self) -> tuple[float, list]:
        """A lower bound of P, and candidates (P, W, v)."""
        repaired, linear, self.active, residual = self._descent.repair()
        squared = float(np.vdot(self.W, self.W))
        quadratic = squared + (0.5 * float(np.vdot(repaired, repaired)) if self.model.pairs else 0.0)
        # alpha scaled down is feasible too: the best multiple
        scale = min(1.0, linear / quadratic) if quadratic > 0 else 1.0
        lower = scale * linear - 0.5 * scale**2 * quadratic
        if not self.model.pairs:
            return lower, [(self.model.primal(self.W, None, self.C), self.W, None)]
        # While factors disagree their weights are far from any use, and their argmax is dear.
        scatter = residual / (self.C * self.model.n_samples)
        weights = [None] if scatter > 0.03 or not self.active else [self.v]
        if self.active and scatter < 1e-3:
            weights.append(repaired)
        return lower, [(self.model.primal(self.W, v, self.C), self.W, v) for v in weights]


class Gdmm:
    """Greedy direction method of multipliers over a StructuredProblem.

    Parameters
    ----------
    seed : int
        Of the order of the visits.
    rho : float or None
        Weight of the disagreement of factors; None for a share of the mean length of an example.
    """

    name = "gdmm"

    def __init__(self, seed: int = 0, rho: float | None = None):
        self.seed, self.rho = seed, rho

    def steps(self, problem: StructuredProblem, start=None) -> Iterator[Progress]:
        """Yields after every look at the gap; iteration counts the passes."""
        model, stop, began = problem.model, problem.stop, time.perf_counter()
        run = LabelFactors(model, problem.C, self.seed, self.rho)
        best = np.zeros(model.dim)
        primal, lower = model.primal(*model.split(best), problem.C), 0.0
        stall, due = Stall(40), 0
        while True:
            ends = stop.met(primal, lower) or stall.update(primal - lower)
            yield Progress(
                max(1, run.passes), float(run.passes), primal, lower, primal - lower, time.perf_counter() - began,
                lambda w=best: w, support=run.active,
            )  # fmt: skip
            if ends:
                return
            due = max(run.passes + 1, int(1.2 * run.passes))
            while run.passes < due:
                run.run()
            bound, found = run.look()
            lower = max(lower, bound)
            value, W, v = min(found, key=lambda candidate: candidate[0])
            if value < primal:
                primal, best = value, model.join(W, v)
