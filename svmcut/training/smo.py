# SPDX-License-Identifier: BSD-3-Clause
"""Training on kernel values by sequential minimal optimization.

Training of nu machines: of two classes, of one, and of numbers, on kernel values.

Models are LIBSVM's: of two classes the function of the problem over rho, whose margin is 1, which
is the machine of C = 1 / rho; of one class f - rho, at least 0 inside; of numbers f + b.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from svmcut._native.smo import EXACT_POINTS
from svmcut.base.errors import TrainingError
from svmcut.base.records import replace
from svmcut.base.typing import Any
from svmcut.data.examples import Csr, Examples
from svmcut.formats.rounding import read_back
from svmcut.models import KernelModel
from svmcut.risks.weights import boxes, total
from svmcut.solvers.nu import NuProblem, NuSmo
from svmcut.solvers.protocol import Start, StoppingRule
from svmcut.solvers.smo import KernelProblem, Smo
from svmcut.spec.entries import NUMBERS, ONE_CLASS
from svmcut.spec.parameters import Settings
from svmcut.training.checks import check_nu, read_initial
from svmcut.training.driver import Ended, Plan, Stage
from svmcut.training.gate import Reading, primal_of_file
from svmcut.training.given import GivenRoom, room_of
from svmcut.training.kernel_plan import KernelPlan, KernelRoom
from svmcut.training.outcome import Objective, Outcome
from svmcut.training.vectors import Vectors


class SmoPlan(KernelPlan):
    """One stage; the solver starts from its last solution. epsilon is the tolerance of the KKT
    conditions.

    "auto" is smo without bias, the objective of svm_perf; smo by name has an unregularised bias
    unless free_bias is False, the objective of LIBSVM and svm_light.
    """

    infinite_message = "kernel values are not finite"

    exact_work = 2e7  # the steps keep v of their own; what is left to expand is the file
    weights = False

    def __init__(self, examples: Examples, settings: Settings):
        super().__init__(examples, settings)
        s = settings
        self._last: Any = None
        self.start_coefficients: NDArray | None = None  # coefficients to begin with
        self._solver = Smo(bool(s.free_bias), s.cache_size, s.threads, s.max_iterations)
        self.initial = None if s.initial is None else read_initial(s, self.room.kernel)

    def _room(self, vectors: Vectors, settings: Settings) -> KernelRoom:
        return room_of(vectors, settings, self.exact_work)

    def stop(self, objective: Objective) -> StoppingRule:
        """A relative gap; without, the gap is a consequence of the KKT conditions."""
        return StoppingRule(math.nan, self.settings.gap)

    def next(self, objective: Objective, handed: dict[str, Any] | None) -> Stage:
        room = self.room
        risk, epsilon = room.vectors.risk, objective.epsilon
        rule = {"tolerance": epsilon, "gap": self.settings.gap, "shared": self.shared}
        if isinstance(room, GivenRoom):
            rule |= {"shared": room.tile_values(), "given": True}
        problem = KernelProblem.of(risk, room.X, room.kernel, objective.C, **rule)
        if self.initial is not None and self._last is None:
            beta = coefficients(
                self.initial, room.X, room.vectors.columns, problem, self._solver.free_bias
            )
            self.start_coefficients = beta
        if self.start_coefficients is not None and self._last is None:
            state = self._solver.state_at(problem, self.start_coefficients)
            self._last = self._solver.start(problem, None, state)
        return Stage(
            self.settings.solver, self._solver, problem, objective, start=Start(run=self._last)
        )

    def finish(self, objective: Objective, handed: dict[str, Any] | None, ended: Ended) -> Outcome:
        """The machine; primal and dual are those of the model in every case."""
        room, run, progress = self.room, ended.run, ended.progress
        self._last = run
        if ended.stopped_by is not None:
            progress = run.settle()
            self.check_finite(progress.primal)
        f = progress.solution()
        squared = 2 * (progress.primal - objective.C * progress.risk)
        known = {
            "longest_cut": 0.0,
            "multipliers": f.beta,
            "kernel_evaluations": progress.evaluations,
        }
        ended = ended._replace(progress=progress)
        outcome = ended.outcome(ended.stage.name, room.machine(f.beta, f.b), squared, **known)
        room.lower(outcome, f.beta, boxes(objective.C, room.vectors.risk.weights))
        if self.settings.keep_multipliers:
            most = np.broadcast_to(boxes(objective.C, room.vectors.risk.weights), len(f.beta))
            share = np.zeros(len(most))
            outcome.fractions = np.divide(np.abs(f.beta), most, out=share, where=most > 0)
        outcome.apart = outcome.gap, 0.0  # the coefficients are those of the dual value
        rule = self.stop(objective)
        if (
            rule.relative is None
        ):  # the gap that the tolerance of the KKT conditions allows where they hold
            holds = run.violation() <= objective.epsilon
            rule = StoppingRule(
                objective.C * objective.epsilon * 2 * room.vectors.units.samples
                if holds
                else -math.inf
            )
        otherwise = "float32" if room.X.n_rows > EXACT_POINTS else "rounding"
        outcome.judge(rule, ended.stopped_by, otherwise, room.reading(outcome, rule, screened=True))
        return room.improve(outcome, self._solver.free_bias)


#: |w|^2 below this part of what its terms could add up to is nothing but rounding.
ROUNDING_NORM = 1e-9


def plan_machine(examples: Examples, settings: Settings) -> Plan:
    """The plan of smo: of a nu machine, or of C."""
    if settings.is_nu:
        return NuPlan(examples, settings)

    return SmoPlan(examples, settings)


class NuPlan(KernelPlan):
    """One stage; of numbers the solver starts from the solution of the C before."""

    infinite_message = "kernel values are not finite"
    exact_work = 2e7
    weights = False

    def __init__(self, examples: Examples, settings: Settings):
        super().__init__(examples, settings)
        self._last: Any = None
        assert settings.nu is not None
        self._nu, self._labels = settings.nu, settings.labels
        self._solver = NuSmo(True, settings.cache_size, settings.threads, settings.max_iterations)
        risk, n = self.room.vectors.risk, len(examples)
        self._v = np.ones(n) if risk.weights is None else risk.weights
        self._mass = self._nu * total(risk.weights, n)
        if self._of_classes:
            plus, minus = (float(self._v[risk.signs == side].sum()) for side in (1.0, -1.0))
            check_nu(self.path, self._nu, plus, minus)
        self._doubled: Csr | None = None

    @property
    def _of_classes(self) -> bool:
        return self._labels not in (NUMBERS, ONE_CLASS)

    def _room(self, vectors: Vectors, settings: Settings) -> KernelRoom:
        return room_of(vectors, settings, self.exact_work)

    def stop(self, objective: Objective) -> StoppingRule:
        """A relative gap; without, the gap is a consequence of the KKT conditions."""
        return StoppingRule(math.nan, self.settings.gap)

    def next(self, objective: Objective, handed: dict[str, Any] | None) -> Stage:
        objective = self._unit_objective(objective)
        problem = self._problem(objective.C, objective.epsilon)
        return Stage(
            self.settings.solver, self._solver, problem, objective, start=Start(run=self._last)
        )

    def _unit_objective(self, objective: Objective) -> Objective:
        """The objective at C = 1, in whose place nu stands, but of numbers."""
        return objective if self._labels == NUMBERS else replace(objective, C=1.0)

    def _problem(self, C: float, epsilon: float) -> NuProblem:
        room, n = self.room, self.room.X.n_rows
        risk, known = room.vectors.risk, self.shared
        how: dict[str, Any] = {"tolerance": epsilon, "gap": self.settings.gap, "shared": known}
        if isinstance(room, GivenRoom):
            how |= {"shared": room.tile_values(), "given": True}
        if self._labels == ONE_CLASS:
            return NuProblem(
                room.X,
                np.zeros(n),
                np.ones(n),
                (self._mass, 0.0),
                room.kernel,
                C,
                weights=risk.weights,
                **how,
            )
        half = (0.5 * self._mass, 0.5 * self._mass)
        if self._of_classes:
            return NuProblem(
                room.X, np.zeros(n), risk.signs, half, room.kernel, C, weights=risk.weights, **how
            )
        if self._doubled is None:
            self._doubled = room.X.take(np.tile(np.arange(n), 2))
        if isinstance(room, GivenRoom):
            how["shared"] = room.tile_values(2)
        v = None if risk.weights is None else np.tile(risk.weights, 2)
        y, sides = np.tile(risk.targets, 2).astype(np.float64), np.repeat([1.0, -1.0], n)
        return NuProblem(self._doubled, y, sides, half, room.kernel, C, weights=v, **how)

    def finish(self, objective: Objective, handed: dict[str, Any] | None, ended: Ended) -> Outcome:
        """The machine; primal and dual are those of the problem, in LIBSVM's scale."""
        objective = self._unit_objective(objective)
        room, run, progress, n = self.room, ended.run, ended.progress, self.room.X.n_rows
        self._last = run if self._labels == NUMBERS else None
        if ended.stopped_by is not None:
            progress = run.settle()
            self.check_finite(progress.primal)
        f, (rho, b) = progress.solution(), run.levels()
        beta, C = f.beta.reshape(-1, n).sum(axis=0), objective.C
        small = room.is_small(n * int(np.count_nonzero(beta)))
        if self._labels == NUMBERS and small:  # both sides of a row may cancel
            v = room.vectors.risk.targets - room.evaluate(room.machine(beta, 0.0))[1]
            rho, b = ended.stage.problem.levels(np.tile(v, 2))
        squared = 2 * (progress.primal - C * progress.risk)
        scale, sides = 1.0, ended.stage.problem.sides
        if self._labels != NUMBERS and ended.stopped_by in (None, "rounding"):
            self._check_margin(rho, squared, f.beta)
        if self._of_classes and rho > 0:
            scale = rho
        b = -rho if self._labels == ONE_CLASS else b / scale
        bound = boxes(C, ended.stage.problem.weights)
        details = {
            "nu": self._nu,
            ("tube" if self._labels == NUMBERS else "rho"): (
                max(0.0, -rho) if self._labels == NUMBERS else rho
            ),
            "at_bound": int((sides * f.beta >= bound).sum()),
        }
        outcome = ended._replace(progress=progress).outcome(
            ended.stage.name,
            room.machine(beta / scale, b),
            squared / scale**2,
            longest_cut=0.0,
            multipliers=beta / scale,
            kernel_evaluations=progress.evaluations,
            details=details,
        )
        return self._judge(outcome, ended, rho, scale)

    def _check_margin(self, rho: float, squared: float, beta: NDArray) -> None:
        """Refuses a machine of classes whose reduced hulls meet, or of a hull that has the origin:
        its w is 0, and its margin too."""
        points = np.flatnonzero(beta)
        own = np.sqrt(np.abs(self.room.diagonal(points % self.room.X.n_rows)))
        if rho > 0 and squared > ROUNDING_NORM * float(np.abs(beta[points]) @ own) ** 2:
            return
        if not self._of_classes:
            raise TrainingError(
                "{}: the origin is inside, so that rho is 0 and the model would be too; raise "
                "{nu=} or use {kernel=rbf}",
                self.path,
                self._nu,
            )
        raise TrainingError(
            "{}: {nu=} leaves no margin: rho is 0, for some mean of {:.3g} % of the rows of one "
            "class is one of the other; raise {nu} or use {kernel=rbf}",
            self.path,
            self._nu,
            100 * self._nu,
        )

    def _judge(self, outcome: Outcome, ended: Ended, rho: float, scale: float) -> Outcome:
        room, run, C = self.room, ended.run, outcome.objective.C
        model: Any = outcome.model
        beta = ended.progress.solution().beta
        least = 0.0 if self._labels == NUMBERS else -math.inf  # of P
        room.lower(outcome, beta, boxes(C, ended.stage.problem.weights), least)
        rule = self.stop(outcome.objective)
        if rule.relative is None:
            holds = run.violation() <= outcome.objective.epsilon
            most = C * outcome.objective.epsilon * 2 * room.vectors.units.samples
            rule = StoppingRule(most if holds else -math.inf)
        otherwise = "float32" if room.X.n_rows > EXACT_POINTS else "rounding"
        weight = C * room.vectors.units.samples * scale
        value = self._primal(C, rho, scale)
        if room.is_small(room.X.n_rows * model.support.n_rows):
            outcome.certificate = self._exact(outcome, value(model), beta)
        reading = room.reading_of(outcome, value, weight)
        outcome.judge(rule, ended.stopped_by, otherwise, reading)
        if self._labels != NUMBERS:
            return outcome
        problem, targets = ended.stage.problem, room.vectors.risk.targets

        def losses(s: NDArray[np.float64]) -> tuple[float, float]:
            v = np.tile(targets - s, 2)
            return C * problem.risk(v), problem.levels(v)[1]

        outcome = room.improve(outcome, losses=losses)
        best: Any = outcome.model
        if best is not model:
            v = targets - room.evaluate(best)[1]
            rho, _ = problem.levels(np.tile(v, 2))
            outcome.details |= {"tube": max(0.0, -rho), "at_bound": 0}
            if outcome.primal_of_file is not None:  # the best threshold has more digits
                outcome.primal_of_file = primal_of_file(outcome.model, self.in_file(outcome))
        return outcome

    def in_file(self, outcome: Outcome) -> Reading:
        """The reading of an outcome's model for the gate."""
        rho = outcome.details["rho"] if self._of_classes else -outcome.details["tube"]
        scale = rho if self._of_classes and rho > 0 else 1.0
        value = self._primal(outcome.objective.C, rho, scale)
        return self.room.reading_of(outcome, value, math.inf)

    def _exact(self, outcome: Outcome, primal: float, beta: NDArray) -> tuple[float, float]:
        """The primal of the model itself, and the dual, which may be above it by rounding alone."""
        dual, y = outcome.dual, self.room.vectors.examples.y
        most = float(np.abs(y).max(initial=0.0)) if self._labels == NUMBERS else 0.0
        rounding = 1e-9 * abs(primal) + 1e-12 * float(np.abs(beta).sum()) * most
        return primal, primal if primal < dual <= primal + rounding else dual

    def _primal(self, C: float, rho: float, scale: float) -> Callable[[Any], float]:
        """P of a model that was read back, at this rho."""
        room, v, y = self.room, self._v, self.room.vectors.examples.y

        def value(read: Any) -> float:
            squared, s = room.evaluate(read)
            if self._labels == ONE_CLASS:
                return 0.5 * squared - self._mass * read.b + float(v @ np.maximum(0.0, -s))
            if self._labels == NUMBERS:
                losses = float(v @ np.maximum(0.0, np.abs(y - s) + min(0.0, rho)))
                return 0.5 * squared + C * (self._mass * max(0.0, -rho) + losses)
            margins = room.vectors.risk.signs * s
            losses = scale * float(v @ np.maximum(0.0, rho / scale - margins))
            return 0.5 * scale**2 * squared - self._mass * rho + losses

        return value


def coefficients(
    model: KernelModel, X: Csr, columns: NDArray | None, problem: KernelProblem, free_bias: bool
) -> NDArray[np.float64]:
    """(n,) coefficients that the rows X have in the model, in their boxes, and of sum 0 where the
    bias is free; `columns` has the features their columns stand for, None for all.

    Equal rows share theirs; of two classes a row takes none of the other class. Rows are compared
    by the eight digits that a model file has of a feature.
    """
    places: dict[bytes, list[int]] = {}
    for row, key in enumerate(_keys(X, columns)):
        places.setdefault(key, []).append(row)
    two, beta = problem.tube is None, np.zeros(X.n_rows)
    for key, alpha in zip(_keys(model.support, model.columns), model.alpha.tolist(), strict=True):
        rows = [row for row in places.get(key, ()) if not two or problem.y[row] * alpha > 0]
        for row in rows:
            beta[row] += alpha / len(rows)
    most = boxes(problem.C, problem.weights)
    np.clip(beta, -most, most, out=beta)
    above, below = beta[beta > 0].sum(), -beta[beta < 0].sum()
    if free_bias and above != below:
        beta[beta > 0 if above > below else beta < 0] *= min(above, below) / max(above, below)
    return beta


def _keys(X: Csr, columns: NDArray | None) -> list[bytes]:
    """A key of every row of a matrix, equal for equal rows."""
    own = X.indices[X.stored] if columns is None else columns[X.indices[X.stored]]
    values, bounds = read_back(X.data[X.stored]), (X.indptr - X.indptr[0]).tolist()
    kept = values != 0
    texts = np.empty(len(values), [("column", np.int64), ("value", np.float32)])
    texts["column"], texts["value"] = own, values
    return [texts[a:b][kept[a:b]].tobytes() for a, b in pairwise(bounds)]
