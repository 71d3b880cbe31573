# SPDX-License-Identifier: BSD-3-Clause
"""What training of chains and of label sets shares: the unit of C, solvers of a StructuredProblem,
weights."""

from __future__ import annotations

import math
from collections.abc import Callable

from svmcut.errors import UsageError
from svmcut.risks.weights import total
from svmcut.solvers.protocol import Problem
from svmcut.solvers.quick import LONGEST, Quick
from svmcut.solvers.relay import Relay
from svmcut.spec.catalog import AUTO, SOLVERS
from svmcut.spec.parameters import Settings
from svmcut.structured.protocol import StructuredProblem
from svmcut.training.certificate import weights_reading
from svmcut.training.outcome import Objective, Outcome, Units
from svmcut.training.stage import Ended, Plan, Stage, make_solver
from svmcut.typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.training.gate import Part


def units_of_structures(settings: Settings, n: int, weights: NDArray | None) -> Units:
    """C per structure, the original's (c/n) times the sum of their losses, n the sum of their
    weights."""
    loss, epsilon = settings.loss or "", settings.epsilon or 0.0
    return Units(loss, epsilon, total(weights, n), summed=True, structures=n)


class Structured(Plan):
    """One stage: cutting planes, or a solver of passes over structures that cutting planes relieve.

    Parameters
    ----------
    path, warnings
        As of Plan.
    model : StructuredModel

    Notes
    -----
    What differs beside the methods here: choose(), the solver that "auto" stands for; cuts(), risk
    and space of cutting planes, and warm, whether they start from the C before; made(w), the model
    of weights, and weights(model), the weights of one.
    """

    warm: ClassVar[bool]
    choose: Callable[[], str]
    cuts: Callable[[], tuple[Any, Any]]
    made: Callable[[Any], Any]
    weights: Callable[[Any], NDArray]

    def __init__(self, settings: Settings, path: str, model: Any, warnings: list[str]):
        super().__init__(
            settings, path, units_of_structures(settings, model.n_samples, model.weights), warnings
        )
        self.model = model

    def rise(self, w, problem: Problem) -> float:
        """As svmcut.training.certificate.weights_reading takes it."""
        return math.inf

    def part(self, model: Any) -> Part:
        """Some of the weights of a model, where their rise is known."""
        raise NotImplementedError

    def next(self, objective: Objective, handed: dict[str, Any] | None) -> Stage:
        """The solver of that name, or the one that "auto" stands for."""
        s = self.settings
        name = self.choose() if s.solver == AUTO else s.solver
        solver = Quick(s.seed) if s.quick else make_solver(name, s)
        if SOLVERS[name].losses is None:
            return Stage(name, solver, self._cuts(objective), objective, self.warm)
        problem = StructuredProblem(self.model, objective.C, self.stop(objective), s.qp)
        if s.quick:
            if self.model.in_pieces(LONGEST).n_samples < 2:
                raise UsageError(
                    "{}: of 1 sequence {quick} can hold out none; leave it out", self.path
                )
            return Stage(name, solver, problem, objective)
        return Stage(name, Relay(solver, lambda: self._cuts(objective)), problem, objective)

    def finish(self, objective: Objective, handed: dict[str, Any] | None, ended: Ended) -> Outcome:
        """The weights, with their primal as a reader of the model file gets it."""
        problem = ended.stage.problem
        if ended.stopped_by is not None:
            from svmcut.training.least import settled

            known = problem if isinstance(problem, Problem) else self._cuts(objective)
            ended = ended._replace(progress=settled(known, ended.progress))
        w = ended.progress.solution()
        outcome = ended.outcome(ended.stage.name, self.made(w), float(w @ w))
        if self.settings.quick:
            outcome.details["quick"] = ended.run.counts()
            if not problem.stop.met(outcome.primal, outcome.dual):  # no digit of the file matters
                return outcome.judge(problem.stop, ended.stopped_by, "held-out")
        if not isinstance(problem, Problem):
            problem = self._cuts(objective)
        model, original = outcome.model, self.settings.original
        rise = self.rise(w, problem)
        reading = weights_reading(
            self.weights, problem, outcome, rise, original, lambda: self.part(model)
        )
        if rise == math.inf:  # scores of labellings are not those of rows
            reading = reading._replace(sums=None)
        return outcome.judge(problem.stop, ended.stopped_by, reading=reading)

    def _cuts(self, objective: Objective) -> Problem:
        risk, space = self.cuts()
        return Problem(risk, space, objective.C, self.stop(objective), self.settings.qp)
