# SPDX-License-Identifier: BSD-3-Clause
"""Training by the stochastic batch perceptron and its rivals: models, certificates, the polish on demand."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from svmcut import states
from svmcut._native.expansion import NoLevel
from svmcut.catalog import solver_class
from svmcut.data import Examples
from svmcut.errors import MemoryLimitError, TrainingError, UsageError
from svmcut.models import KernelModel
from svmcut.solvers.expansion import ExpansionProblem
from svmcut.solvers.protocol import Progress
from svmcut.span_train import SpanTrainer
from svmcut.training import Config, Objective, Outcome


class StochasticTrainer(SpanTrainer):
    """Trains expansions over the training points step by step.

    As SpanTrainer, with these differences: the loss is the sum of the hinge losses, sbp has a free bias unless the
    options say otherwise, and training ends after its epochs or with the error on the points held out.

    Parameters
    ----------
    examples : Examples
    config : Config
    solver : {"sbp", "pegasos", "sdca", "perceptron"}
    """

    def __init__(self, examples: Examples, config: Config, solver: str):
        super().__init__(examples, config, solver)
        self._free_bias = solver == "sbp" and config.free_bias is not False
        self._y = np.where(examples.y > 0, 1.0, -1.0)
        held = config.reduced.hold_out
        self._held = np.zeros(len(examples), bool)
        if held:
            count = int(held * len(examples))
            if not 0 < count < len(examples):
                raise UsageError(f"hold_out={held:g} of {len(examples)} examples leaves one part empty")
            self._held[np.random.default_rng(config.seed).permutation(len(examples))[:count]] = True
        trained = self._y[~self._held]
        if self._free_bias and abs(trained.sum()) == len(trained):
            raise TrainingError(f"{examples.source.path}: solver 'sbp' with its free bias needs labels of both signs; "
                                "add free_bias=False")  # fmt: skip

    def fit(
        self,
        cost: float | None,
        example_cost: float | None,
        observe: Callable[[Progress, Objective], None] | None = None,
        state: dict[str, Any] | None = None,
    ) -> Outcome:
        """As Trainer.fit.

        Raises
        ------
        UsageError, TrainingError, MemoryLimitError
        """
        objective = self.objective(cost, example_cost)
        began = time.perf_counter()
        self._basis, self._extra_evaluations = None, 0
        self._found: dict[str, Any] | None = None
        if state is None or state["found"] is None:
            outcome = self._fit_steps(objective, observe, state)
        else:
            details = states.fields(steps=states.COUNT, epochs=states.REAL, kernel_evaluations=states.COUNT)
            states.checked(state["found"], states.expansion(dict, len(self.examples), details=details), "found")
            outcome = self._polished(state["found"], objective, observe, state)
        outcome.seconds = time.perf_counter() - began
        outcome.kernel_evaluations = outcome.details["stochastic"]["kernel_evaluations"] + self._evaluations()
        return outcome

    def state(self) -> dict[str, Any]:
        """As Trainer.state; beside it the points of the steps, once they are found."""
        return {**super().state(), "found": self._found}

    def _fit_steps(self, objective: Objective, observe, state: dict[str, Any] | None) -> Outcome:
        """The steps, and the polish where it is asked for."""
        config, path = self.config, self.examples.source.path
        problem = ExpansionProblem(self.X, self._y, config.kernel, objective.C, self._held, config.gap, config.threads)
        solver = self._make_solver()
        try:
            progress, stopped_by = self._run(solver, problem, objective, observe, None, state)
        except NoLevel:
            raise TrainingError(f"{path}: kernel values are not finite; scale the features") from None
        except MemoryError as error:
            raise MemoryLimitError(f"{path}: {error}") from None
        run = self._solver
        if stopped_by == "limit" and run.best.step >= run.total and config.max_iterations is None:
            stopped_by = None
        best, solution = run.best, run.solution()
        rows = np.flatnonzero(solution.beta)
        model = KernelModel(
            config.kernel, self.X.take(rows), solution.beta[rows], 0.0 - solution.b, self._columns,
            self.examples.X.n_features, len(self.examples),
        )  # fmt: skip
        outcome = Outcome(
            model=model,
            objective=objective,
            progress=progress,
            solver=self.solver,
            seconds=0.0,
            longest_cut=0.0,
            norm=math.sqrt(max(0.0, 2 * (best.primal - objective.C * best.risk))),
            multipliers=solution.beta,
        )
        details = {"steps": progress.iteration, "epochs": progress.passes, "best_step": best.step,
                   "kernel_evaluations": progress.evaluations}  # fmt: skip
        if self._held.any():
            details |= {"held_out": int(self._held.sum()), "held_out_error": best.error}
        if self.solver == "sbp":
            details["nu"] = run.found_nu
        if self._certifies():
            primal = best.primal if self._held.any() else self._primal(model, objective)
            outcome.certificate = self._bracket(primal, self._bound(run, objective, details))
        if config.reduced.polish and stopped_by is None and len(rows):
            return self._polished({"points": rows, "coef": solution.beta[rows], "details": details}, objective, observe)
        outcome.details["stochastic"] = details
        if not self._held.any():
            outcome.primal_of_file = self._file(model, outcome.primal, objective)
        return outcome.judge(self._rule(objective), stopped_by, "epochs")

    def _polished(self, found: dict[str, Any], objective: Objective, observe, state=None) -> Outcome:
        """Exact training in the span of the points with the largest coefficients."""
        self._found = found
        points = self._heaviest(found["points"], found["coef"])
        outcome = self._fit_in_span(points, objective, observe, state)
        outcome.details["stochastic"] = found["details"]
        return outcome

    def _make_solver(self):
        config, reduced = self.config, self.config.reduced
        cls = solver_class(self.solver)
        common = (reduced.epochs_for(self.solver), config.seed, config.max_iterations)
        if self.solver == "sbp":
            return cls(*common, reduced.nu, self._free_bias, reduced.average, self._certifies())
        return cls(*common, reduced.sampling)

    def _bound(self, run, objective: Objective, details: dict) -> float:
        """A dual bound of the problem over the points trained on, which is one of the problem over all."""
        C, y = objective.C, self._y
        if self.solver == "sbp":
            p = run.distribution()
            if p is None:
                return math.nan
            volume, most = run.found_nu * (len(y) - int(self._held.sum())), float(p.max())
            dual = self._dual(1.0, p * y, C / most)
            details["level_bound"] = math.sqrt(self._last_squared) + volume * most
            return dual
        box = np.clip(run.solution().beta * y, 0.0, C)
        return self._dual(float(box.sum()), box * y, C / max(float(box.max()), 1e-300))
