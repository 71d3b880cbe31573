# SPDX-License-Identifier: BSD-3-Clause
"""What trainers of chains and of label sets share: the unit of C, and solvers of a StructuredProblem."""

from __future__ import annotations

import math
from typing import Any

from svmcut.outcomes import Outcome, objective_of_sum, primal_of_file
from svmcut.solvers.protocol import Problem, Run, Start
from svmcut.solvers.relay import Relay
from svmcut.structured.protocol import StructuredModel, StructuredProblem
from svmcut.training import Objective, Trainer


class StructuredTrainer(Trainer):
    """Trains on one set of samples, sequences or label sets, for one C after the other.

    Attributes
    ----------
    examples : Examples or MultilabelExamples
    model : StructuredModel
        A subclass makes it.
    """

    examples: Any
    model: StructuredModel

    def objective(self, cost: float | None, example_cost: float | None) -> Objective:
        """C per sample of cost, (c/n) times the sum of the losses, or of example_cost; exactly one is given.

        Raises
        ------
        UsageError
            For both or none.
        """
        return objective_of_sum(cost, example_cost, self.model.n_samples, self.config.epsilon)

    def _problem(self, name: str, objective: Objective) -> Problem | StructuredProblem:
        rule = self._rule(objective)
        if name == "cutting-plane":
            risk, space = self._cuts()
            return Problem(risk, space, objective.C, rule, self.config.qp)
        return StructuredProblem(self.model, objective.C, rule, self.config.qp)

    def _named_solver(self, name: str, objective: Objective):
        solver: Any = super()._named_solver(name, objective)
        if name == "cutting-plane":
            return solver
        return Relay(solver, lambda: self._problem("cutting-plane", objective))

    def _cuts(self) -> tuple[Any, Any]:
        """The risk and the space of cutting planes."""
        raise NotImplementedError

    def _primal_of_file(self, w, problem, outcome: Outcome) -> float | None:
        if not isinstance(problem, Problem):
            problem = Problem(*self._cuts(), problem.C, problem.stop)
        return primal_of_file(w, problem, outcome, math.inf, lambda kept: self._restore(kept, w))

    def _restore(self, kept, w) -> None:
        """Sets the weights again that a model file keeps with all digits."""

    def _next_start(self, name: str, run: Run, w) -> Start | None:
        """None: every C starts afresh, unless a subclass says otherwise."""
        return None

    def _squared_norm(self, w) -> float:
        return float(w @ w)
