# SPDX-License-Identifier: BSD-3-Clause
"""1-slack cutting planes.

    problem      min_w  P(w) = 1/2 |w|^2 + C R(A w),   R convex, R >= 0
    lower model  min_w  1/2 |w|^2 + C max_t (b_t + a_t.w)   over the cuts made so far; its dual is the small QP
    update       a cut at the query point, which joins the bundle
    certificate  P(best w) - D(beta), from a feasible beta

Algorithm 1 and 2 of Joachims, KDD 2006, differ in the risk alone. Without line search the query is the minimiser of the
lower model, as printed there; the newest constraint is violated by at most epsilon exactly when the gap is at most C
epsilon. With line search (the default; Franc and Sonnenburg, ICML 2008) the best point v moves to the minimum of P on
the line towards a minimiser of the model, and the query lies a little beyond it. That minimiser is of the model with
(mu/2) |w - v|^2 added (the proximal bundle method): where C is large the model alone has its minimum far from v for
long, and cuts are spent on places that do not matter. mu follows the line search; the bound is the better of two. Where
the gap has not fallen for a while, all cuts near v are known and the model alone says where to look.

    iterations                                           C      mu = 0     mu
    ranking, 60,000 rows of 136 features, 4 % gap        10         44     21
                                                       1000        347     38
    MQ2008, svm_rank's epsilon 0.01                      10         19     14
                                                       1000         50     33
    hinge, 523,000 rows of 54 features, gap 1e-3          1        100     55
    a9a, gap 1e-3                                         1         81     57
                                                        100        309    125
    hinge, 100,000 rows of 47,000 features, gap 1e-3      1         48     42

Deviations from the paper: the best iterate is returned, not the last; the QP is solved no finer than the gap deserves;
cuts that were idle for `max_idle` solutions are dropped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from svmcut.cutting.bundle import CutBundle
from svmcut.cutting.line_search import ScoreLine, line_minimum
from svmcut.cutting.oracle import RiskOracle
from svmcut.qp.checked import CheckedSimplexQp
from svmcut.risks.protocol import Linearization
from svmcut.solvers.protocol import Problem, Progress, Stall, Start, kept

TINY = 1e-300
NULL_STEPS = 8  # iterations without a smaller gap after which the query is that of the model alone, which cannot stall
FIRST_STEP = 0.3  # of line searches where each evaluation decodes: most minima are nearer than the model's
REFRESH = 50  # iterations for which scores and cuts are updated before they are formed afresh


class Iterate(NamedTuple):
    """A w with all that is known there.

    Attributes
    ----------
    scores, cut : (n,) float64, Linearization
        A w and R linearised there.
    squared, primal : float
        |w|^2 and 1/2 |w|^2 + C R.
    age : int
        How often the scores were carried along a line since they were formed from w.
    """

    w: Any
    scores: Any
    cut: Any
    squared: float
    primal: float
    age: int = 0


def _evaluate(problem: Problem, w, scores, cut=None, age: int = 0) -> Iterate:
    cut = cut or problem.risk.linearize(scores)
    squared = problem.space.dot(w, w)
    return Iterate(w, scores, cut, squared, 0.5 * squared + problem.C * cut.value, age)


def _verified(problem: Problem, point: Iterate) -> Iterate:
    """The point with scores from its w; the primal changes where that is more than rounding."""
    fresh = _evaluate(problem, point.w, problem.space.scores(point.w))
    same = abs(fresh.primal - point.primal) <= 1e-13 * fresh.primal
    return fresh._replace(primal=point.primal) if same else fresh


def _next_mu(mu: float, t: float, promised: float) -> float:
    """The weight of (mu/2) |w - v|^2 after a step of length t, 1 being the model's minimiser.

    promised is the fall from P(v) to the model's value there, as a part of the gap: where it is small the model is
    right as far as mu lets it see, and what is left of the gap lies beyond. Where the step is short the model is not.
    """
    if t > 0.9 or promised < 0.3:
        return max(0.5 * mu, 1e-3)
    return 2 * mu if t < 0.1 else mu


def _direction(problem: Problem, best: Iterate, model) -> tuple[float, float]:
    """w.d and d.d of the direction d from the best point to the model's minimiser."""
    cross = problem.space.dot(best.w, model.w)
    return cross - best.squared, model.squared_norm - 2 * cross + best.squared


def _search(
    problem: Problem, best: Iterate, model, scores, gap: float, overshoot: float
) -> tuple[Iterate, float, Linearization]:
    """The minimum of P on the line from the best point through the model's minimiser, or the best point; the step; the
    query point's linearization. scores, those of the minimiser, are used up."""
    best, t = _line_step(problem, best, model, scores, 0.1 * gap)
    scores *= overshoot
    scores += (1 - overshoot) * best.scores
    return best, t, problem.risk.linearize(scores)


def _search_along(
    problem: Problem, best: Iterate, model, scores, gap: float, overshoot: float
) -> tuple[Iterate, float, Linearization]:
    """As _search, where the risk knows its values on a line: of all scores on it, those of the new best point alone are
    formed, in place; they take more memory than all else. A closer minimum costs little here and saves cuts."""
    wd, dd = _direction(problem, best, model)
    rates = scores - best.scores  # a space may know the scores of an element: they are not to be changed
    line = problem.risk.along(best.scores, rates, best.cut)
    found = line_minimum(line, best.squared, wd, dd, problem.C, 0.03 * gap, first=FIRST_STEP)
    if found.t <= 0:
        return best, 0.0, line.at(overshoot)[2]
    w = problem.space.blend(1 - found.t, best.w, found.t, model.w)
    moved = _evaluate(problem, w, rates, found.known, best.age + 1)
    if moved.primal >= best.primal:
        return best, 0.0, line.at(overshoot)[2]
    query = line.at(found.t + overshoot * (1 - found.t))[2]
    rates *= found.t
    rates += best.scores
    return moved, found.t, query


def _line_step(problem: Problem, best: Iterate, model, scores, tol: float) -> tuple[Iterate, float]:
    risk, space = problem.risk, problem.space
    wd, dd = _direction(problem, best, model)
    rates = scores - best.scores
    if hasattr(risk, "line_minimum"):
        t, moved_s, cut = risk.line_minimum(best.scores, rates, wd, dd, problem.C), None, None
    else:
        line = ScoreLine(risk, best.scores, rates, best.cut)
        found = line_minimum(line, best.squared, wd, dd, problem.C, tol)
        t, (moved_s, cut) = found.t, found.known
    if t <= 0:
        return best, 0.0
    if moved_s is None:
        rates *= t
        rates += best.scores
        moved_s = rates
    moved = _evaluate(problem, space.blend(1 - t, best.w, t, model.w), moved_s, cut, best.age + 1)
    return (moved, t) if moved.primal < best.primal else (best, 0.0)


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
    mu : float
        Of the first model, see the head of the module; 0 for none at all. Without line search there is none.
    qp : SimplexQp or None
        None for OSQP with the exact solver behind it.
    """

    name = "cutting-plane"

    def __init__(self, line_search: bool = True, max_idle: int = 50, overshoot: float = 0.1, mu: float = 1.0, qp=None):
        self.line_search, self.max_idle, self.overshoot = line_search, max_idle, overshoot
        self.mu = mu if line_search else 0.0
        self._qp = qp or CheckedSimplexQp()

    def steps(
        self, problem: Problem, start: Start | None = None, state: dict[str, Any] | None = None
    ) -> Iterator[Progress]:
        """Yields after every cut; ends when the stopping rule is met or rounding forbids progress.

        Parameters
        ----------
        start : Start or None
            Cuts and points of an earlier run (another C, another solver); None begins at w = 0.
        state : dict or None
            What `state` gave in a run on the same problem: this one goes on from there to the same bytes.
        """
        space, C, stop = problem.space, problem.C, problem.stop
        started = time.perf_counter()
        along = hasattr(problem.risk, "along")
        search, refresh = _search_along if along else _search, REFRESH if self.line_search and not along else 1
        oracle = RiskOracle(problem.risk, space, refresh=refresh)
        stall = Stall()
        if state is None:
            self.bundle = bundle = start.bundle if start else CutBundle(space, self._qp)
            best, cut, lower, slack, passes = self._first(problem, start, bundle, oracle)
            iteration, mu, ends = 1, self.mu, False
        else:
            self.bundle = bundle = CutBundle.restored(space, self._qp, state["bundle"])
            oracle.restore(state["oracle"])
            stall.restore(state["stall"])
            best, cut, ends = state["best"], state["cut"], state["ends"]
            lower, slack, passes, iteration, mu = state["numbers"]

        def snapshot() -> dict[str, Any]:
            return {
                "bundle": bundle.state(), "oracle": oracle.state(), "stall": stall.state(), "best": best, "cut": cut,
                "ends": ends, "numbers": (lower, slack, passes, iteration, mu),
            }  # fmt: skip

        self.state = snapshot
        while True:
            if state is None:
                ends = stop.met(best.primal, lower) or stall.update(best.primal - lower)
                if best.age and (ends or best.age >= REFRESH):
                    best = _verified(problem, best)
                    passes += 1
                    ends = stop.met(best.primal, lower) or stall.over
            state = None
            yield Progress(
                iteration, passes, best.primal, lower, best.primal - lower, time.perf_counter() - started,
                kept(best.w), len(bundle), bundle.support, slack, best.cut.value,
            )  # fmt: skip
            if ends:
                return
            bundle.add(cut)
            tol = 0.1 * max(best.primal - lower, stop.target(best.primal)) / C
            model = bundle.solve(C, tol)
            lower, slack = max(lower, model.lower), model.slack
            if stall.since >= NULL_STEPS:
                mu = self.mu
            elif mu:
                model = bundle.solve_near(C, best.w, mu, tol)
                lower = max(lower, model.lower)
            if self.max_idle:
                bundle.prune(self.max_idle)
            scores = space.scores(model.w)
            passes += 2
            iteration += 1
            if self.line_search:
                promised = (best.primal - 0.5 * model.squared_norm - C * model.slack) / max(best.primal - lower, TINY)
                best, t, query = search(problem, best, model, scores, best.primal - lower, self.overshoot)
                mu = mu and _next_mu(mu, t, promised)
                cut = oracle.cut_of(query)
            else:
                cut = oracle.cut_at(scores)
                value = 0.5 * model.squared_norm + C * cut.risk
                if value < best.primal:
                    best = Iterate(model.w, scores, Linearization(cut.risk, None, cut.b), model.squared_norm, value)

    def _first(self, problem: Problem, start: Start | None, bundle: CutBundle, oracle: RiskOracle):
        """The first point, its cut, lower bound, slack and passes."""
        space, C, stop = problem.space, problem.C, problem.stop
        best = _evaluate(problem, space.zero(), space.scores(space.zero()))
        lower, slack, passes = 0.0, 0.0, 0.0
        if start:
            model = bundle.solve(C, 0.01 * stop.target(best.primal) / C)
            lower, slack = max(0.0, model.lower), model.slack
            for w in (*start.points, model.w):
                best = min(best, _evaluate(problem, w, space.scores(w)), key=lambda point: point.primal)
                passes += 1
        return best, oracle.cut_at(best.scores), lower, slack, passes + 1
