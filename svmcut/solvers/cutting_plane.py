# SPDX-License-Identifier: BSD-3-Clause
"""1-slack cutting planes.

    problem      min_w  P(w) = 1/2 |w|^2 + C R(A w),   R convex, R >= 0
    lower model  min_w  1/2 |w|^2 + C max_t (b_t + a_t.w)   over the cuts made so far; its dual is the small QP
    update       a cut at the query point, which joins the bundle
    certificate  P(best w) - D(beta), from a feasible beta

Algorithm 1 and 2 of Joachims, KDD 2006, differ in the risk alone. Without line search the query is the minimiser of the
lower model, as printed there; the newest constraint is violated by at most epsilon exactly when the gap is at most C
epsilon. With line search (the default; Franc and Sonnenburg, ICML 2008) the best point moves to the minimum of P on the
segment's line towards the model's minimiser, and the query lies a little beyond it: a third to a half fewer cuts.

Deviations from the paper: the best iterate is returned, not the last; the QP is solved no finer than the gap deserves;
cuts that were idle for `max_idle` solutions are dropped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from svmcut.cutting.bundle import CutBundle
from svmcut.cutting.line_search import line_minimum
from svmcut.cutting.oracle import RiskOracle
from svmcut.qp.checked import CheckedSimplexQp
from svmcut.solvers.protocol import Problem, Progress, Stall, Start


class CuttingPlane:
    """Cutting planes over any risk and any space.

    Parameters
    ----------
    line_search : bool
        False for the algorithm as printed in the paper.
    max_idle : int
        Solutions a cut may stay without a multiplier; 0 keeps all.
    overshoot : float
        The query lies at (1 - overshoot) best + overshoot minimiser.
    qp : SimplexQp or None
        None for OSQP with the exact solver behind it.
    """

    name = "cutting-plane"

    def __init__(self, line_search: bool = True, max_idle: int = 50, overshoot: float = 0.1, qp=None):
        self.line_search, self.max_idle, self.overshoot = line_search, max_idle, overshoot
        self._qp = qp or CheckedSimplexQp()

    def steps(self, problem: Problem, start: Start | None = None) -> Iterator[Progress]:
        """Yields after every cut; ends when the stopping rule is met or rounding forbids progress.

        Parameters
        ----------
        start : Start or None
            Cuts and points of an earlier run (another C, another solver); None begins at w = 0.
        """
        space, risk, C, stop = problem.space, problem.risk, problem.C, problem.stop
        started = time.perf_counter()
        self.bundle = bundle = start.bundle if start else CutBundle(space, self._qp)
        oracle = RiskOracle(risk, space, refresh=50 if self.line_search else 1)
        stall = Stall()

        best_w = space.zero()
        best_s = space.scores(best_w)
        best_risk, squared = risk.linearize(best_s).value, 0.0
        primal, lower, slack, passes = C * best_risk, 0.0, 0.0, 0.0
        if start:
            model = bundle.solve(C, 0.01 * stop.target(primal) / C)
            lower, slack = max(0.0, model.lower), model.slack
            for w in (*start.points, model.w):
                s = space.scores(w)
                value, norm = risk.linearize(s).value, space.dot(w, w)
                passes += 1
                if 0.5 * norm + C * value < primal:
                    primal = 0.5 * norm + C * value
                    best_w, best_s, best_risk, squared = w, s, value, norm
        iteration = 1
        cut = None
        while True:
            w, risk_here = best_w, best_risk
            yield Progress(
                iteration, passes, primal, lower, primal - lower, time.perf_counter() - started,
                lambda w=w: w, len(bundle), bundle.support, slack, risk_here,
            )  # fmt: skip
            if stop.met(primal, lower) or stall.update(primal - lower):
                return
            if cut is None:
                cut = oracle.cut_at(best_s)
                passes += 1
            bundle.add(cut)
            tol = 0.1 * max(primal - lower, stop.target(primal)) / C
            model = bundle.solve(C, tol)
            lower, slack = max(lower, model.lower), model.slack
            if self.max_idle:
                bundle.prune(self.max_idle)
            scores = space.scores(model.w)
            passes += 2
            iteration += 1

            if not self.line_search:
                cut = oracle.cut_at(scores)
                value = 0.5 * model.squared_norm + C * cut.risk
                if value < primal:
                    primal, best_w, best_risk = value, model.w, cut.risk
                continue

            cross = space.dot(best_w, model.w)
            wd, dd = cross - squared, model.squared_norm - 2 * cross + squared
            rates = scores - best_s
            if hasattr(risk, "line_minimum"):
                t = risk.line_minimum(best_s, rates, wd, dd, C)
            else:
                t = line_minimum(risk, best_s, rates, squared, wd, dd, C, 0.1 * (primal - lower)).t
            if t > 0:
                moved_s = best_s + t * rates
                moved_risk = risk.linearize(moved_s).value
                moved_w = space.blend(1 - t, best_w, t, model.w)
                moved_squared = space.dot(moved_w, moved_w)
                value = 0.5 * moved_squared + C * moved_risk
                if value < primal:
                    primal, best_w, best_s, best_risk, squared = value, moved_w, moved_s, moved_risk, moved_squared
            cut = oracle.cut_at((1 - self.overshoot) * best_s + self.overshoot * scores)
