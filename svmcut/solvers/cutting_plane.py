# SPDX-License-Identifier: BSD-3-Clause
"""1-slack cutting planes.

    problem      min_w  P(w) = 1/2 |w|^2 + C R(A w),   R convex, R >= 0
    lower model  min_w  1/2 |w|^2 + C max_t (b_t + a_t.w)   over the cuts made so far; its dual is
    the small QP
    update       a cut at the query point, which joins the bundle
    certificate  P(best w) - D(beta), from a feasible beta

Algorithm 1 and 2 of Joachims, KDD 2006, differ in the risk alone. Without line search the query is
the minimiser of the lower model, as printed there; the newest constraint is violated by at most
epsilon exactly when the gap is at most C epsilon. With line search (the default; Franc and
Sonnenburg, ICML 2008) the best point v moves to the minimum of P on the line towards a minimiser of
the model, and the query lies a little beyond it. That minimiser is of the model with (mu/2) |w -
v|^2 added (the proximal bundle method): where C is large the model alone has its minimum far from v
for long, and cuts are spent on places that do not matter. mu follows the line search; the bound is
the better of two. Where the gap has not fallen for a while, all cuts near v are known and the model
alone says where to look.

    iterations                                           C      mu = 0     mu
    ranking, 60,000 rows of 136 features, 4 % gap        10         44     21
                                                       1000        347     38
    MQ2008, svm_rank's epsilon 0.01                      10         19     14
                                                       1000         50     33
    hinge, 523,000 rows of 54 features, gap 1e-3          1        100     55
    a9a, gap 1e-3                                         1         81     57
                                                        100        309    125
    hinge, 100,000 rows of 47,000 features, gap 1e-3      1         48     42

Deviations from the paper: the best iterate is returned, not the last; the QP is solved no finer
than the gap deserves; cuts that were idle for `max_idle` solutions are dropped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from svmcut.base.records import record
from svmcut.base.typing import NamedTuple
from svmcut.cutting.bundle import Cut, CutBundle
from svmcut.cutting.oracle import REFRESH, Line, Oracle, Point
from svmcut.qp import make_qp
from svmcut.solvers.protocol import CuttingProblem, Progress, Run, Solver, Stall, Start, constant
from svmcut.spaces.rows import RowSpace
from svmcut.spec import schemas
from svmcut.spec.schemas import OWN, Form

TINY = 1e-300
#: Iterations without a smaller gap after which the query is that of the model alone, which cannot
#: stall.
NULL_STEPS = 8
#: The dual of few rows is solved as a whole after SOON iterations, else after one for every
#: WHOLE_ROWS rows, at least MIN_WHOLE.
SOON, WHOLE_ROWS, MIN_WHOLE = 3, 3, 40
#: Iterations without a smaller gap, and in all, that end a run whose whole dual was solved.
AFTER_WHOLE, MAX_AFTER = 40, 100


class Iterate(NamedTuple):
    """A point and its primal value 1/2 |w|^2 + C R."""

    point: Point
    primal: float


def _evaluate(point: Point, C: float) -> Iterate:
    return Iterate(point, 0.5 * point.squared + C * point.risk)


def _verify(oracle: Oracle, C: float, best: Iterate) -> Iterate:
    """Evaluate a point afresh; its primal changes only where the difference is more than
    rounding."""
    fresh = _evaluate(oracle.at(best.point.w), C)
    same = abs(fresh.primal - best.primal) <= 1e-13 * fresh.primal
    return fresh._replace(primal=best.primal) if same else fresh


def _next_mu(mu: float, t: float, promised: float) -> float:
    """Return the weight of (mu/2) |w - v|^2 after a step of length t, the model's minimiser at 1.

    promised is the fall from P(v) to the model's value there, as a part of the gap: where it is
    small the model is right near v, and the rest of the gap lies further away. Where the step is
    short the model is wrong.
    """
    if t > 0.9 or promised < 0.3:
        return max(0.5 * mu, 1e-3)
    return 2 * mu if t < 0.1 else mu


def _step(line: Line, best: Iterate, C: float, gap: float) -> tuple[Iterate, float]:
    """Return the minimum of P on the line and its place there; the best point and 0 where P does
    not fall."""
    t = line.minimum(C, gap)
    if t > 0:
        moved = _evaluate(line.point(t), C)
        if moved.primal < best.primal:
            return moved, t
    return best, 0.0


class CuttingPlaneRun(Run):
    """A step after every cut; ends when the stopping rule is met or rounding forbids progress."""

    def __init__(self, solver: CuttingPlane, problem: CuttingProblem, start: Start | None):
        super().__init__(solver, problem, start)
        self._start = start
        self._oracle, self._stall = problem.oracle(solver.line_search), Stall()
        space, qp = self._oracle.space, make_qp(problem.qp)
        self._ends, self._mu = False, solver.mu if solver.line_search else 0.0
        rows = getattr(getattr(space, "X", None), "n_rows", 0)
        self._whole_at = SOON if solver.soon else max(MIN_WHOLE, rows // WHOLE_ROWS)
        self._iteration, self._lower, self._slack, self._passes = 1, 0.0, 0.0, 1.0
        self._best: Iterate
        self._cut: Cut
        self.bundle = start.bundle if start else CutBundle(space, qp)

    def form(self) -> Form:
        kinds, real = self._oracle.space.kinds(), schemas.REAL
        best = schemas.instance(Iterate, point=self._oracle.form(), primal=real)
        coef = schemas.maybe(kinds.coef)
        cut = schemas.instance(Cut, a=kinds.element, b=real, risk=real, coef=coef)
        parts = dict.fromkeys(("bundle", "_oracle", "_stall"), OWN)
        reals = dict.fromkeys(("_lower", "_slack", "_passes"), real)
        counts = {"_iteration": schemas.count(1), "_mu": schemas.real(0)}
        return parts | {"_best": best, "_cut": cut, "_ends": schemas.flag} | reals | counts

    def __iter__(self) -> Iterator[Progress]:
        solver, oracle, bundle, stall = self._solver, self._oracle, self.bundle, self._stall
        C, stop, started = self._problem.C, self._problem.stop, time.perf_counter()
        first_mu = solver.mu if solver.line_search else 0.0
        if not self._resumed:
            self._begin()
        while True:
            if not self._resumed:
                self._judge()
            self._resumed = False
            best = self._best
            state = self._iteration, self._passes, best.primal, self._lower, constant(best.point.w)
            cuts = len(bundle), bundle.support, self._slack
            yield Progress.since(started, *state, *cuts, best.point.risk)
            if self._ends:
                return
            bundle.add(self._cut)
            tol = 0.1 * max(best.primal - self._lower, stop.target(best.primal)) / C
            if self._mu and stall.since < NULL_STEPS:
                bound, self._slack = bundle.bound(C, tol)
                model = bundle.solve_near(C, best.point.w, self._mu, tol)
                self._lower = max(self._lower, bound, model.lower)
            else:
                model, self._mu = bundle.solve(C, tol), first_mu
                self._lower, self._slack = max(self._lower, model.lower), model.slack
            if solver.max_idle:
                bundle.prune(solver.max_idle)
            self._passes += 2
            self._iteration += 1
            if solver.line_search:
                gap = best.primal - self._lower
                promised = (best.primal - 0.5 * model.squared_norm - C * model.slack) / max(
                    gap, TINY
                )
                line = oracle.line(best.point, model.w, model.squared_norm)
                self._best, t = _step(line, best, C, gap)
                self._cut = line.cut(t, solver.overshoot)
                self._mu = self._mu and _next_mu(self._mu, t, promised)
            else:
                reached = _evaluate(oracle.at(model.w), C)
                self._cut = oracle.cut(reached.point)
                self._best = min(best, reached, key=_primal)
            if self._iteration == self._whole_at:
                self._take_whole()

    def _take_whole(self) -> None:
        """Replace the next cut by that of the whole dual where rows are few, and move to its
        point."""
        if not self._solver.line_search or not self._is_few:
            return
        from svmcut.solvers.few_rows import solve_whole

        space, C, whole = self._oracle.space, self._problem.C, solve_whole(self._problem)
        if whole is None:
            return
        a = space.adjoint(whole.coef)
        v = space.blend(-C, a, 0.0, a)
        points = [v] if isinstance(space, RowSpace) else [v, whole.w]
        for w in points:
            best, gap = self._best, self._best.primal - self._lower
            reached = _evaluate(self._oracle.at(w), C)
            line = self._oracle.line(best.point, w, reached.point.squared)
            self._best = min(_step(line, best, C, gap)[0], reached, key=_primal)
        self._cut = Cut(a, whole.offset, self._best.point.risk, whole.coef)
        self._lower = max(self._lower, C * whole.offset - 0.5 * space.dot(v, v))
        self._stall.since, self._passes = 0, self._passes + 2 * len(points) + 1

    @property
    def _is_few(self) -> bool:
        """True where the whole dual is quickly solved."""
        from svmcut.solvers.few_rows import is_few

        return is_few(self._problem)

    def _begin(self) -> None:
        """Set the first point, its cut, lower bound, slack and passes."""
        oracle, C, start = self._oracle, self._problem.C, self._start
        best = _evaluate(oracle.at(oracle.space.zero()), C)
        if start:
            model = self.bundle.solve(C, 0.01 * self._problem.stop.target(best.primal) / C)
            self._lower, self._slack = max(0.0, model.lower), model.slack
            for w in (*start.points, model.w):
                best = min(best, _evaluate(oracle.at(w), C), key=_primal)
                self._passes += 1
        self._best, self._cut = best, oracle.cut(best.point)

    def _judge(self) -> None:
        """Set `_ends`, at a best point whose scores are formed afresh where they were carried for
        long."""
        stop, stall = self._problem.stop, self._stall
        self._ends = stop.met(self._best.primal, self._lower) or stall.has_stalled(
            self._best.primal - self._lower
        )
        after = self._iteration - self._whole_at
        if after > 0 and (stall.since >= AFTER_WHOLE or after >= MAX_AFTER):
            self._ends = self._ends or self._is_few
        if self._best.point.age and (self._ends or self._best.point.age >= REFRESH):
            self._best = _verify(self._oracle, self._problem.C, self._best)
            self._passes += 1
            self._ends = stop.met(self._best.primal, self._lower) or stall.is_over


def _primal(iterate: Iterate) -> float:
    return iterate.primal


@record
class CuttingPlane(Solver):
    """Cutting planes over any risk and any space."""

    run = CuttingPlaneRun
    #: False for the algorithm as printed in the paper.
    line_search: bool = True
    #: Solutions a cut may stay without a multiplier; 0 keeps all.
    max_idle: int = 50
    #: The query lies at (1 - overshoot) best + overshoot minimiser.
    overshoot: float = 0.1
    #: Whether the dual of few rows is solved as a whole after SOON iterations.
    soon: bool = False
    #: Of the first model, see the head of the module; 0 for none at all. Without line search there
    #: is none.
    mu: float = 1.0
