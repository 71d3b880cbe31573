# SPDX-License-Identifier: BSD-3-Clause
"""The stochastic batch perceptron and its rivals: expansions over the training points, step by
step."""

from __future__ import annotations

import math

import numpy as np

from svmcut.data.examples import Examples
from svmcut.errors import TrainingError, UsageError
from svmcut.risks.weights import boxes, total
from svmcut.solvers.expansion import ExpansionProblem
from svmcut.spec import schemas
from svmcut.spec.catalog import SOLVERS
from svmcut.spec.parameters import Settings
from svmcut.training.outcome import Objective, Outcome
from svmcut.training.stage import Ended, make_solver
from svmcut.training.two_stages import Chosen
from svmcut.typing import Any


class StepPlan(Chosen):
    """Steps over the points that are not held out.

    Training ends after its epochs or with the error on the points held out, and the polish by the
    stopping rule.

    Raises
    ------
    UsageError, TrainingError
        When nothing is left to train on or to hold out, or a free bias meets one class.
    """

    key = "stochastic"

    def __init__(self, examples: Examples, settings: Settings):
        super().__init__(examples, settings)
        s, n = settings, self.room.X.n_rows
        self._y = np.ascontiguousarray(self.room.vectors.risk.signs, np.float64)
        self._held = np.zeros(n, bool)
        if s.hold_out:
            count = int(s.hold_out * n)
            if not 0 < count < n:
                raise UsageError("{hold_out=} of {} examples leaves one part empty", s.hold_out, n)
            self._held[np.random.default_rng(s.seed).permutation(n)[:count]] = True
        trained = self._y[~self._held]
        if s.free_bias and abs(trained.sum()) == len(trained):
            raise TrainingError(
                "{}: solver '{}' with its free bias needs "
                "labels of both signs; add {free_bias=False}",
                self.path,
                s.solver,
            )

    def check(self, handed: Any) -> None:
        details = schemas.fields(
            steps=schemas.COUNT, epochs=schemas.REAL, kernel_evaluations=schemas.COUNT
        )
        known = {"details": details, "evaluations": schemas.COUNT}
        schemas.checked(handed, schemas.expansion(dict, self.room.X.n_rows, **known), "found")

    def first(self, objective: Objective) -> tuple[Any, ExpansionProblem]:
        s, room = self.settings, self.room
        own: dict[str, Any] = {"bound": s.certify} if self._has_level else {}
        solver = make_solver(s.solver, s, max_steps=s.max_iterations, **own)
        weights = room.vectors.risk.weights
        return solver, ExpansionProblem(
            room.X, self._y, room.kernel, objective.C, self._held, s.gap, s.threads, weights
        )

    @property
    def _has_level(self) -> bool:
        """Whether the solver is the stochastic batch perceptron, which raises a level and follows
        its mean slack."""
        return "nu" in SOLVERS[self.settings.solver].takes

    def stopped_by(self, ended: Ended) -> str | None:
        over = ended.run.best.step >= ended.run.total and self.settings.max_iterations is None
        return None if over and ended.stopped_by == "limit" else ended.stopped_by

    def handover(self, objective: Objective, ended: Ended) -> dict[str, Any]:
        run, progress, beta = ended.run, ended.progress, ended.run.solution().beta
        details = {
            "steps": progress.iteration,
            "epochs": progress.passes,
            "best_step": run.best.step,
            "kernel_evaluations": progress.evaluations,
        }
        if self._held.any():
            details |= {"held_out": int(self._held.sum()), "held_out_error": run.best.error}
        if self._has_level:
            details["nu"] = run.found_nu
        dual = self._bound(run, objective.C, details) if self.settings.certify else math.nan
        rows = np.flatnonzero(beta)
        return {
            "points": rows,
            "coef": beta[rows],
            "details": details,
            "dual": dual,
            "evaluations": progress.evaluations,
        }

    def bare(self, objective: Objective, handed: dict[str, Any], ended: Ended) -> Outcome:
        """The best function met, its exact primal and the bound."""
        best, f, held = ended.run.best, ended.run.solution(), bool(self._held.any())
        model = self.room.machine(f.beta, f.b)
        squared = 2 * (best.primal - objective.C * best.risk)
        outcome = ended.outcome(
            self.settings.solver, model, squared, longest_cut=0.0, multipliers=f.beta
        )
        if self.settings.certify:
            primal = best.primal if held else self.room.primal(model, objective.C)
            outcome.certificate = self.room.bracket(primal, handed["dual"])
        stop = self.stop(objective)
        # the primal is that of the rows that are not held out, which the room does not know
        reading = None if held else self.room.reading(outcome, stop)
        outcome.judge(stop, self.stopped_by(ended), "epochs", reading)
        return outcome if held else self.room.least(outcome, bool(self.settings.free_bias))

    def _bound(self, run, C: float, details: dict[str, Any]) -> float:
        """A dual bound of the problem over the points trained on, which is one of the problem over
        all."""
        y, v = self._y, self.room.vectors.risk.weights
        if not self._has_level:
            return self.room.bound(np.clip(run.solution().beta * y, 0.0, boxes(C, v)), C)
        p = run.distribution()
        if p is None:
            return math.nan
        coef, most = p * y, float((p if v is None else p / v).max())
        trained = total(None if v is None else v[~self._held], len(y) - int(self._held.sum()))
        squared = self.room.squared(coef)
        details["level_bound"] = math.sqrt(squared) + run.found_nu * trained * most
        return self.room.dual_bound(1.0, coef, C / most, squared)
