# SPDX-License-Identifier: BSD-3-Clause
"""Training on a budget: bsca and bsgd, then exact training in the span of the centres they leave."""

from __future__ import annotations

import dataclasses
import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from svmcut import states
from svmcut.catalog import solver_class
from svmcut.data import Csr, Examples
from svmcut.errors import MemoryLimitError, TrainingError
from svmcut.models import KernelModel
from svmcut.models.checked import check_model
from svmcut.solvers.smo import KernelProblem
from svmcut.span_train import SpanTrainer
from svmcut.training import Outcome, Trainer

if TYPE_CHECKING:
    from collections.abc import Callable

    from svmcut.solvers.budget import BudgetedSolver
    from svmcut.solvers.protocol import Progress
    from svmcut.training import Objective

#: Megabytes of features in the polish; more rows than that allows are represented by a sample.
POLISH_MB = 200.0


class BudgetTrainer(SpanTrainer):
    """Trains a kernel machine whose support vectors are at most a budget and need not be training points.

    Parameters
    ----------
    examples : Examples
    config : Config
    solver : {"bsca", "bsgd"}

    Raises
    ------
    MemoryLimitError
        When the centres do not fit.
    """

    exact_work = 2e7  # the steps knew float32 values only

    def _make_space(self):
        super()._make_space()
        need = 5e-6 * (min(self.config.reduced.budget, len(self.examples)) + 1) * self.X.n_features
        if need > self._memory():
            raise MemoryLimitError(
                f"{self.examples.source.path}: {self.config.reduced.budget} centres of {self.X.n_features} features "
                f"need about {need:,.0f} MB and {self._memory():,.0f} MB are available; lower parameter 'budget'"
            )

    def fit(
        self,
        cost: float | None,
        example_cost: float | None,
        observe: Callable[[Progress, Objective], None] | None = None,
        state: dict[str, Any] | None = None,
    ) -> Outcome:
        """As Trainer.fit; training ends after the epochs that were asked for, and the polish by Trainer's rule."""
        objective = self.objective(cost, example_cost)
        began = time.perf_counter()
        self._found: dict[str, Any] | None = None
        self._polisher: SpanTrainer | None = None
        if state is None or state["found"] is None:
            outcome = self._fit_budget(objective, observe, state)
        else:
            kinds = states.fields(model=states.anything, details=states.anything, evaluations=states.COUNT)
            model = states.checked(state["found"], kinds, "found")["model"]
            states.checked(model, states.instance(KernelModel), "found.model")
            check_model(model, self.examples.X.n_features)
            states.require(model.support.n_features == self.X.n_features, "found.model and the examples", "their width")
            outcome = self._polished(state["found"], objective, observe, state)
        outcome.seconds = time.perf_counter() - began
        return outcome

    def state(self) -> dict[str, Any]:
        """As Trainer.state; beside it the centres, once they are found."""
        return {**Trainer.state(self._polisher or self), "found": self._found}

    def _fit_budget(self, objective: Objective, observe, state: dict[str, Any] | None) -> Outcome:
        """The steps on a budget, and the polish unless the options say otherwise."""
        solver = self._make_solver()
        signs = np.ascontiguousarray(self._signs, np.float64)
        problem = KernelProblem(self.X, signs, self.config.kernel, objective.C)
        try:
            progress, stopped_by = self._run(solver, problem, objective, observe, None, state)
        except MemoryError as error:
            raise MemoryLimitError(f"{self.examples.source.path}: {error}") from None
        centres, run = progress.solution(), self._solver
        used = centres.beta != 0
        Z, beta = Csr.from_dense(centres.Z[used]), centres.beta[used]
        if not (np.isfinite(beta).all() and np.isfinite(Z.data).all()):
            raise TrainingError(f"{self.examples.source.path}: kernel values are not finite; scale the features")
        model = KernelModel(
            self.config.kernel, Z, beta, 0.0, self._columns, self.examples.X.n_features, len(self.examples)
        )
        counts = run.counts()
        details = {
            "centres": len(beta), "epochs": progress.passes, "steps": progress.iteration, "moves": counts["moves"],
            "maintained": counts["maintained"], "dropped": counts["removed"], **run.judged(),
        }  # fmt: skip
        found = {"model": model, "details": details, "evaluations": counts["evaluations"]}
        if self.config.reduced.polish and stopped_by is None and len(beta):
            return self._polished(found, objective, observe)
        outcome = self._bare(model, objective, progress, run)
        outcome.primal_of_file = self._file(model, outcome.primal, objective)
        return self._with_found(outcome.judge(self._rule(objective), stopped_by, "epochs"), found)

    def _make_solver(self) -> BudgetedSolver:
        config, reduced = self.config, self.config.reduced
        return solver_class(self.solver)(
            reduced.budget, reduced.epochs_for(self.solver), reduced.maintenance_for(config.kernel),
            reduced.sampling, config.seed, config.threads, reduced.hold_out, max_steps=config.max_iterations,
        )  # fmt: skip

    def _bare(self, model: KernelModel, objective: Objective, progress: Progress, run) -> Outcome:
        """The best f as it is, its exact primal, and the bound that alpha gives where one may be computed."""
        squared, risk = self._parts(model, objective)
        primal, dual = 0.5 * squared + objective.C * risk, progress.dual
        alpha = run.alpha()
        if alpha is not None and self._certifies():
            most = objective.C / max(float(alpha.max()), 1e-300)
            _, dual = self._bracket(primal, self._dual(float(alpha.sum()), alpha * self._signs, most))
        progress = progress._replace(primal=primal, dual=dual, gap=primal - dual, risk=risk)
        return Outcome(model, objective, progress, self.solver, 0.0, 0.0, math.sqrt(max(0.0, squared)), np.zeros(0))

    def _polished(self, found: dict[str, Any], objective: Objective, observe, state=None) -> Outcome:
        """Exact training in the span of the centres, on all rows or on as many as POLISH_MB allows."""
        self._found, model = found, found["model"]
        n, Z = len(self.examples), model.support
        m = max(10 * Z.n_rows, int(POLISH_MB / (4e-6 * Z.n_rows)))
        if n <= m:
            return self._with_found(self._fit_in_span(Z, objective, observe, state), found)
        rows = np.sort(np.random.default_rng(self.config.seed).choice(n, m, replace=False))
        examples = Examples(self.X.take(rows), self.examples.y[rows], None, None, self.examples.source)
        reduced = dataclasses.replace(self.config.reduced, certify=False)
        trainer = SpanTrainer(examples, dataclasses.replace(self.config, reduced=reduced), self.solver)
        trainer._began, self._polisher = self._began, trainer
        outcome = trainer._fit_in_span(Z, trainer.objective(None, objective.C * n / m), observe, state)
        self._extra_evaluations += trainer._evaluations()
        outcome.objective = objective
        spanned = outcome.model
        assert isinstance(spanned, KernelModel)
        polished = dataclasses.replace(spanned, columns=self._columns, highest_index=model.highest_index, n_documents=n)
        primals = [self._primal(choice, objective) for choice in (polished, model)]
        outcome.model = polished if primals[0] <= primals[1] else model
        outcome.certificate = (min(primals), math.nan)
        outcome.details["basis"]["rows"] = m
        self._judged(outcome, outcome.stopped_by if outcome.stopped_by in ("limit", "interrupt") else None, True)
        return self._with_found(outcome, found)

    def _parts(self, model: KernelModel, objective: Objective) -> tuple[float, float]:
        """|f|^2 and the sum of the losses."""
        squared = float(model.alpha @ self._expand(model.support, model.support, model.alpha))
        return squared, objective.risk.linearize(self._expand(self.X, model.support, model.alpha)).value

    def _with_found(self, outcome: Outcome, found: dict[str, Any]) -> Outcome:
        """The outcome with what is known of the steps; no kernel value may be computed after this."""
        outcome.details["budget"] = found["details"]
        outcome.kernel_evaluations = found["evaluations"] + self._evaluations()
        return outcome
