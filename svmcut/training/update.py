# SPDX-License-Identifier: BSD-3-Clause
"""Bounds of the optimum of changed rows by an earlier training, and training until labels are
decided.

    the earlier one   w, and multipliers alpha_i = c_i C v_i of its rows
    the new rows      v = sum c_i C v_i y_i x_i over those that are still there, and over the added
                      ones with c of a few rounds of descent on them alone
    for any point p   1/2 |p - w*|^2 + 1/2 |v - w*|^2 <= P(p) - D
    so                |w* - (p + v)/2| <= r,   r^2 = P(p) - D - |p - v|^2/4

P and D are of the new problem, from its rows: the bound holds whatever w and c are, and is close
where few rows changed. p is the point between w and v with the smallest r, which is convex along
that line: half of |p|^2 and |p - v|^2/4 have the curvatures 1 and 1/2. Another C is no other case,
as c are parts of it. Okumura, Suzuki and Takeuchi (KDD 2015) bound the optimum of changed rows so.

The model is (p + v)/2 on features. With a kernel it is v, which has no row that was taken out, and
w* is within r + |p - v|/2 of it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from svmcut._native import dual_cd
from svmcut._native.losses import LOGISTIC
from svmcut.base.errors import TrainingError, UsageError
from svmcut.base.records import replace
from svmcut.base.typing import Any, NamedTuple
from svmcut.data.changes import Change, row_keys
from svmcut.data.examples import Csr, Examples
from svmcut.data.labels import SIGNS, label_text
from svmcut.models import KernelModel
from svmcut.models.bounds import decided_labels, lengths, limits, reach
from svmcut.risks.losses import MAX_LOGIT, logits
from svmcut.risks.protocol import LossRisk
from svmcut.risks.weights import boxes
from svmcut.solvers.descent import hinge_cut, squared_norms
from svmcut.solvers.protocol import Progress, Solution, State, constant
from svmcut.spaces.linear import LinearSpace
from svmcut.spec import schemas
from svmcut.spec.catalog import AUTO, TASKS
from svmcut.spec.entries import DUAL_CD, SMO
from svmcut.spec.kinds import number
from svmcut.spec.parameters import Settings
from svmcut.training.certificate import check_decidable, slope_bound, with_certificate
from svmcut.training.driver import Cost, Driver, Observe
from svmcut.training.gate import BOUNDED, judge_by_proof, sum_rounding
from svmcut.training.linear import Linear
from svmcut.training.outcome import Objective, Outcome
from svmcut.training.settings import kernel_of
from svmcut.training.smo import SmoPlan

#: Rounds of descent on the added rows; rows added to a kernel machine that have a multiplier before
#: any training.
MAX_ROUNDS, MAX_ADDED_ROWS = 10, 1000


class Earlier(NamedTuple):
    """The earlier training."""

    #: A LinearModel or KernelModel, whose certificate and task fields are ignored.
    model: Any
    #: (n,) multipliers of the present rows as fractions of C.
    parts: NDArray[np.float64]
    #: (n,) marks the rows that are new.
    added: NDArray[np.bool_]
    #: Rows that were added, each equal one counted.
    n_added: int
    #: Rows that were removed, each equal one counted.
    n_removed: int

    @classmethod
    def from_model(cls, model: Any, where: str, change: Change, now: Examples) -> Earlier:
        """The knowledge of a model with multipliers about the rows `now`, which have no weight of
        0; `change` leads to them from the rows it was trained on, and `where` names it in messages.

        Raises UsageError if it was trained on others.
        """
        _, keys, parts = model.multipliers
        known, place = np.unique(keys, return_inverse=True)
        sums = np.bincount(place, parts, len(known))
        there = row_keys(change.before.X, change.before.y)
        there = there[np.isin(there, known)]
        counts = np.bincount(np.searchsorted(known, there), minlength=len(known))
        if missing := int((counts == 0).sum()):
            raise UsageError(
                "{}: {} of the {} rows that have a multiplier in this model are not in {}; give "
                "the rows that it was trained on",
                where,
                missing,
                len(known),
                change.before.source.path,
            )
        own = row_keys(now.X, now.y)
        places = np.searchsorted(known, own)
        same = np.append(known, 0)[places] == own
        same &= places < len(known)
        shares = np.append(sums / counts, 0.0)[np.where(same, places, len(known))]
        n_added = 0 if change.added is None else len(change.added)
        return cls(model, shares, change.fresh(now), n_added, len(change.removed))


def inherit_parameters(model: Any, where: str, given: Collection[str]) -> dict[str, Any]:
    """The parameters that a model was trained with and that are not given, for training it anew on
    other rows. Raises UsageError if the model has no multipliers."""
    if getattr(model, "multipliers", None) is None:
        raise UsageError(
            "{}: the model keeps no multipliers of its rows; train it with {keep_multipliers}",
            where,
        )
    parameters: dict[str, Any] = {"example_cost": model.multipliers[0]}
    if "cost" in given:
        del parameters["example_cost"]
    if model.loss is not None:
        parameters["loss"] = model.loss
    if isinstance(model, KernelModel):
        parameters |= {"kernel": model.kernel.name, **model.kernel.parameters, "free_bias": False}
    elif model.certificate is not None:
        parameters["bias"] = model.certificate[2]
    elif "bias" not in given:
        raise UsageError(
            "{}: no certificate in the model that is valid names its constant feature; give {bias}",
            where,
        )
    return {name: value for name, value in parameters.items() if name not in given}


def check_earlier(model: Any, where: str, settings: Settings, labels: Any) -> None:
    """Refuses, as a UsageError, a model of another problem than that of the rows there are now,
    with their resolved settings and their classes."""
    usual = TASKS[settings.task].loss
    if (model.loss or usual) != settings.loss:
        raise UsageError(
            "{}: the model was trained for loss '{}'; give {loss=} or leave it out",
            where,
            model.loss or usual,
            model.loss or usual,
        )
    kernel = settings.has_kernel and settings.kernel != "linear"
    if isinstance(model, KernelModel) != kernel or (
        kernel and not model.kernel.is_same(kernel_of(settings))
    ):
        raise UsageError(
            "{}: the model was trained with another kernel; leave out {kernel} and its parameters",
            where,
        )
    if (model.labels or SIGNS) != (labels or SIGNS):
        theirs, ours = (
            " and ".join(map(label_text, each or SIGNS)) for each in (model.labels, labels)
        )
        raise UsageError(
            "{}: a model of the classes {}, but those of the rows are {}; give rows of these "
            "classes",
            where,
            theirs,
            ours,
        )


class UpdatingDriver(Driver):
    """Bounds the optimum of changed rows by what was trained before, and then, if `trains` asks for
    it, trains where the bound does not meet the stopping rule.

    `driver` is just made, of the rows there are now, and not to be used any more.
    """

    def __init__(self, driver: Driver, earlier: Earlier, trains: bool):
        super().__init__(driver.plan)
        self.task_fields, self.counts, self.notes = driver.task_fields, driver.counts, driver.notes
        self._earlier, self._trains = earlier, trains

    def bound_optimum(self, cost: float | None, example_cost: float | None) -> Outcome:
        """Bound the optimum before any training, and tell the plan where training would start."""
        began, plan, earlier = time.perf_counter(), self.plan, self._earlier
        objective = plan.units.objective(cost, example_cost)
        bound: Any = _bound_kernel if isinstance(plan, SmoPlan) else _bound_linear
        outcome = bound(plan, objective, earlier)
        outcome.model = replace(outcome.model, **self.task_fields)
        outcome.seconds = time.perf_counter() - began
        return self.add_row_counts(outcome)

    def add_row_counts(self, outcome: Outcome) -> Outcome:
        """The outcome, which says how many rows changed."""
        outcome.details |= {
            "rows_added": self._earlier.n_added,
            "rows_removed": self._earlier.n_removed,
        }
        return outcome

    def fit(
        self, cost: Cost, example_cost: Cost, observe: Observe = None, state: State | None = None
    ) -> Outcome:
        """See Driver.fit; `stopped_by` is "bounded" if nothing was trained."""
        outcome = self.bound_optimum(cost, example_cost)
        if state is None and (outcome.converged or not self._trains):
            return outcome
        return self.add_row_counts(super().fit(cost, example_cost, observe, state))

    def count_unchanged(self, model: Any, X: Csr) -> int:
        """The number of rows of X with a label proven to be that of the exact optimum and of the
        earlier model."""
        sure = decided_labels(model, model.scores(X), reach(model, X))
        assert sure is not None
        same = (model.scores(X) > 0) == (self._earlier.model.scores(X) > 0)
        return int((sure & same).sum())


def _bound_linear(plan: Linear, objective: Objective, earlier: Earlier) -> Outcome:
    """The middle of the ball of a machine on features."""
    space, vectors, C = plan.space, plan.vectors, objective.C
    problem = vectors.problem(space, C, plan.stop(objective))
    w = plan.weights_of(earlier.model)
    s = space.scores(w)
    best: Any = None
    for parts in _candidates(problem, earlier):
        coef, offset = _cut(problem.risk, parts)
        v = space.blend(-C, space.adjoint(coef), 0.0, w)
        step, rates = space.blend(1.0, v, -1.0, w), space.scores(v) - s
        dd = space.dot(step, step)
        line = _Line(0.5 * space.dot(w, w), space.dot(w, step), dd, s, rates)
        t, squared = line.best(problem.risk, C, C * offset - 0.5 * space.dot(v, v))
        if best is None or squared < best[0]:
            best = squared, t, parts, step, rates, C * offset - 0.5 * space.dot(v, v)
    squared, t, parts, step, rates, dual = best
    slack = _rounding_slack(plan, problem, w, step)
    middle = space.blend(1.0, w, 0.5 * (1 + t), step)
    scores = s + 0.5 * (1 + t) * rates
    risk = problem.risk.linearize(scores).value
    primal = 0.5 * space.dot(middle, middle) + C * risk
    progress = Progress(0, 0.0, primal, dual, primal - dual, 0.0, constant(middle), risk=risk)
    model, norm = plan.model(middle, 0), math.sqrt(space.dot(middle, middle))
    outcome = Outcome(model, objective, progress, _solver_name(plan), norm, math.nan)
    outcome.apart = abs(squared) + slack, 0.0
    outcome.fractions = parts if plan.settings.keep_multipliers else None
    plan.start = plan.start_at(middle, parts)
    return plan.judge(outcome, problem, middle, BOUNDED)


def _rounding_slack(plan: Linear, problem: Any, w: NDArray, step: NDArray) -> float:
    """A bound on the rounding of values on the line from w."""
    space, C = problem.space, problem.C
    longest = math.sqrt(space.dot(w, w)) + math.sqrt(space.dot(step, step))
    rise, size = plan.vectors.sensitivity(space, w), math.sqrt(space.dot(w, w))
    each = rise / size if size > 0 and rise < math.inf else slope_bound(problem, w)
    return 2 * sum_rounding(longest * (longest + C * each), max(space.n_rows, space.dim))


class _Line(NamedTuple):
    """The points w + t (v - w)."""

    half: float  # 1/2 |w|^2
    wd: float  # w.(v - w)
    dd: float  # |v - w|^2
    s: Any  # scores of w
    rates: Any  # and by how much they rise to those of v

    def best(self, risk: Any, C: float, dual: float) -> tuple[float, float]:
        """The t of the smallest ball, and its squared radius."""
        wd, dd = self.wd, self.dd
        least = risk.line_minimum(self.s, self.rates, wd + 0.5 * dd, 0.5 * dd, C) if dd > 0 else 0.0
        balls = []
        for t in {0.0, min(1.0, float(least))}:
            value = risk.linearize(self.s + t * self.rates).value
            gap = self.half + t * wd + 0.5 * t * t * dd + C * value - dual
            balls.append((gap - 0.25 * (1 - t) ** 2 * dd, t))
        squared, t = min(balls)
        return t, squared


def _cut(risk: Any, parts: NDArray) -> tuple[NDArray, float]:
    """Coefficients and offset of the cut that multipliers are."""
    if isinstance(risk, LossRisk):
        return risk.dual_cut(parts, logits(parts) if risk.number == LOGISTIC else None)
    return hinge_cut(parts, risk.signs, risk.weights)


def _candidates(problem: Any, earlier: Earlier) -> list[NDArray[np.float64]]:
    """Multipliers to choose from: those of the earlier training in their boxes, and of added rows
    what a descent on them alone gives, and twice that."""
    space, risk, C = problem.space, problem.risk, problem.C
    bounded = not isinstance(risk, LossRisk) or risk.number == LOGISTIC
    parts = np.clip(earlier.parts, 0.0, 1.0) if bounded else np.maximum(earlier.parts, 0.0)
    rows = np.flatnonzero(earlier.added)
    if not len(rows):
        return [parts]
    parts[rows] = 0.0
    coef, _ = _cut(risk, parts)
    w = np.multiply(space.adjoint(coef), -C)
    some, bound = LinearSpace(space.X.take(rows), space.bias, space.threads), risk.take(rows)
    alpha, n = np.zeros(len(rows)), len(rows)
    more: list[Any] = []
    if isinstance(risk, LossRisk):
        logit = np.full(n, -MAX_LOGIT) if risk.number == LOGISTIC else None
        more = [bound.number, bound.tube, logit]
    labels = bound.targets if isinstance(risk, LossRisk) else bound.signs
    known = some.rows, labels, squared_norms(some), some.bias, alpha, w, 0, bound.weights
    dual_cd.Descent(*known, *more).run(C, MAX_ROUNDS, 0.0)
    box = boxes(C, bound.weights)
    own = np.divide(alpha, box, out=np.zeros(n), where=box > 0)
    candidates = []
    for factor in (1.0, 2.0):
        each = parts.copy()
        each[rows] = np.minimum(factor * own, 1.0) if bounded else factor * own
        candidates.append(each)
    return candidates


def _bound_kernel(plan: SmoPlan, objective: Objective, earlier: Earlier) -> Outcome:
    """The dual vector of a kernel machine, or the middle of its ball where every row is there."""
    room, C = plan.room, objective.C
    risk = room.vectors.risk
    most, old = boxes(C, risk.weights), replace(earlier.model, threshold=None)
    beta = before = np.minimum(earlier.parts, 1.0) * most * risk.signs
    if earlier.added.any():
        beta = before + _descend_added(plan, before, most, np.flatnonzero(earlier.added))
    dual_machine, steepness = room.machine(beta, 0.0), C * room.vectors.steepness
    own = room.rounding(dual_machine, steepness)
    vv, sv = room.evaluate(dual_machine)
    dual = float(np.abs(beta).sum()) - 0.5 * vv

    def from_point(model: Any) -> tuple[float, float, float]:
        """t, the radius of its ball, and |p - v|, on the line from a model's w."""
        ww, s = room.evaluate(model)
        wv = float(beta @ s)
        slack = (
            room.rounding(model, steepness) + own + sum_rounding(ww + 2 * abs(wv) + vv, len(beta))
        )
        dd = max(0.0, ww - 2 * wv + vv)
        line = _Line(0.5 * ww, wv - ww, dd, s, sv - s)
        t, squared = line.best(risk, C, dual)
        return t, math.sqrt(abs(squared) + slack), (1 - t) * math.sqrt(dd + slack)

    _, radius, apart = from_point(old)
    chosen, radius = beta, radius + 0.5 * apart
    if earlier.added.any():
        t, near, _ = from_point(room.machine(before, 0.0))
        if near < radius:
            chosen, radius = before + 0.5 * (1 + t) * (beta - before), near
    squared, s = (vv, sv) if chosen is beta else room.evaluate(room.machine(chosen, 0.0))
    value = risk.linearize(s).value
    primal = 0.5 * squared + C * value
    known = (primal, dual, primal - dual, 0.0, constant(Solution(chosen, 0.0)))
    progress = Progress(0, 0.0, *known, support=int(np.count_nonzero(chosen)), risk=value)
    model, norm = room.machine(chosen, 0.0), math.sqrt(max(0.0, squared))
    outcome = Outcome(model, objective, progress, SMO, norm, 0.0, np.abs(chosen))
    if chosen is beta:
        radius = min(radius, math.sqrt(max(0.0, primal - dual)))
    outcome.apart = radius**2, 0.0
    if plan.settings.keep_multipliers:
        outcome.fractions = np.divide(np.abs(beta), most, out=np.zeros(len(beta)), where=most > 0)
    plan.start_coefficients = beta
    rule = plan.stop(objective)
    if rule.relative is None:
        rule = replace(rule, absolute=0.0)
    return outcome.judge(rule, BOUNDED, reading=room.reading(outcome, rule))


def _descend_added(plan: SmoPlan, beta: NDArray, most: Any, rows: NDArray) -> NDArray[np.float64]:
    """(n,) coefficients of the added rows: descent on them alone, where they are few."""
    room, coef = plan.room, np.zeros(len(beta))
    if len(rows) > MAX_ADDED_ROWS:
        return coef
    X, y = room.X.take(rows), room.vectors.risk.signs[rows]
    K, box = room.rows_of(X).gram(True), np.broadcast_to(most, len(beta))[rows]
    used = np.flatnonzero(beta)
    f = room.kernel.expansion(X, room.X.take(used), beta[used], 0.0, plan.settings.threads)
    own = np.zeros(len(rows))
    for _ in range(MAX_ROUNDS):
        for i in range(len(rows)):
            step = (1 - y[i] * f[i]) / max(K[i, i], 1e-300)
            change = min(max(own[i] + step, 0.0), box[i]) - own[i]
            if change:
                own[i] += change
                f += change * y[i] * K[i]
    coef[rows] = own * y
    return coef


def _solver_name(plan: Linear) -> str:
    """The solver that would train."""
    return DUAL_CD if plan.settings.solver == AUTO else plan.settings.solver


#: Share that is decided where nothing is said.
FRACTION = 0.99
#: Relative gap of the first round, and the least that is asked for.
FIRST_GAP, MIN_GAP = 1e-2, 1e-15
#: What is aimed at of the gap that the scores ask for; of the last gap, at most and at least.
SAFETY, MAX_GAP_RATIO, MIN_GAP_RATIO = 0.8, 0.5, 1e-3


class DecidingDriver(Driver):
    """Trains as the driver it takes over from, in rounds of smaller gaps, until the labels of a
    `fraction` in (0, 1] of the rows X are proven to be those of the exact optimum; `path` names the
    rows in messages. The driver is just made, and not to be used any more.

    A ball of radius r decides the label of x where |f(x)| > r |x|, and r^2 is proportional to the
    gap (svmcut.training.certificate). So the scores of any model say which gap would decide a given
    share, if they were those of the optimum; they nearly are. Training goes in rounds, each to the
    gap that the scores of the last one ask for, from the solution of the last one where the plan
    has it so.

    Raises UsageError where no gap proves labels (svmcut.training.certificate.check_decidable), and
    TrainingError where there is no row.
    """

    def __init__(self, driver: Driver, X: Csr, fraction: float, path: str):
        check_decidable(driver.settings, "until_decided")
        super().__init__(driver.plan)
        self._updating = driver if isinstance(driver, UpdatingDriver) else None
        self.task_fields, self.counts, self.notes = driver.task_fields, driver.counts, driver.notes
        if not X.n_rows:
            raise TrainingError("{}: no row has a label to decide; give some", path)
        self._X, self._wanted = X, math.ceil(fraction * X.n_rows)
        self._gap, self._limits = FIRST_GAP, np.zeros(0)

    def fit(
        self, cost: Cost, example_cost: Cost, observe: Observe = None, state: State | None = None
    ) -> Outcome:
        """See Driver.fit. `converged` says if the labels are decided; the details ``decided``,
        ``decided_fraction`` and ``decided_rounds`` count them and the rounds."""
        self._gap, rounds, seconds = FIRST_GAP, 0, 0.0
        if state is not None:
            known = schemas.fields(round=schemas.COUNT, round_gap=schemas.real(0, 1))
            schemas.checked(state, known)
            self._gap, rounds = state["round_gap"], state["round"]
        elif self._updating is not None:
            outcome = self._updating.bound_optimum(cost, example_cost)
            gap, count = self._count_decided(outcome)
            if count >= self._wanted:
                return self._add_counts(judge_by_proof(outcome, True), count, 0)
            self._gap = gap
        while True:
            self._round, rounds = rounds, rounds + 1
            self.plan.settings = replace(self.plan.settings, gap=self._gap)
            outcome, state = super().fit(cost, example_cost, observe, state), None
            seconds += outcome.seconds
            gap, count = self._count_decided(outcome)
            reached, over = count >= self._wanted, gap < MIN_GAP or self.is_late()
            if not (reached or over) and (outcome.converged or outcome.stopped_by == "file"):
                self._gap = gap
                continue
            judge_by_proof(outcome, reached, "rounding" if gap < MIN_GAP else "limit")
            outcome.seconds = seconds
            return self._add_counts(outcome, count, rounds)

    def _add_counts(self, outcome: Outcome, count: int, rounds: int) -> Outcome:
        """The outcome, which says how many labels are decided."""
        n, updating = self._X.n_rows, self._updating
        shares = {"decided": count, "decided_fraction": count / n, "decided_rounds": rounds}
        outcome.details |= shares
        if updating is not None:
            updating.add_row_counts(outcome)
            model = with_certificate(outcome.model, outcome, self.settings)
            if model.certificate is not None:
                outcome.details["unchanged"] = updating.count_unchanged(model, self._X)
        return outcome

    def state(self) -> State:
        return super().state() | {"round": self._round, "round_gap": self._gap}

    def tell(self, progress: Progress) -> str:
        """About how many labels the gap of a Progress decides, by the scores of the last round."""
        if not len(self._limits):
            return ""
        decided = float((self._limits > math.sqrt(2 * max(0.0, progress.gap))).mean())
        return f"about {100 * decided:.1f} % decided"

    def _count_decided(self, outcome: Outcome) -> tuple[float, int]:
        """The relative gap that the scores of a model ask for, and how many labels are decided."""
        model: Any = with_certificate(outcome.model, outcome, self.settings)
        if model.certificate is None:
            return 0.0, 0
        gap, radius = model.certificate[:2]
        radii = self._decision_radii(model)
        count = int((radii > radius).sum())
        if not radius > 0:
            return 0.0, count
        self._limits = radii * (math.sqrt(2 * gap) / radius)
        n = len(radii)
        needed = float(np.partition(radii, n - self._wanted)[n - self._wanted])
        asked = SAFETY * (needed / radius) ** 2 * gap / abs(outcome.written)
        return min(max(asked, MIN_GAP_RATIO * self._gap), MAX_GAP_RATIO * self._gap), count

    def _decision_radii(self, model: Any) -> NDArray[np.float64]:
        """(n,) the radius below which each label is decided."""
        scores = model.scores(self._X, self.settings.threads)
        return limits(model, scores, lengths(model, self._X))


def check_fraction(until: Any, fraction: Any) -> float:
    """The share of labels to decide. Raises UsageError if it is no share, or there are no labels to
    decide."""
    if fraction is None:
        return FRACTION
    if until is None:
        raise UsageError("{fraction} is a share of labels to decide; add {until_decided}")
    try:
        return number(0, 1, above=True).take(fraction)
    except ValueError:
        raise UsageError(
            "{fraction=} is no share; expected a number above 0 and at most 1", fraction
        ) from None
