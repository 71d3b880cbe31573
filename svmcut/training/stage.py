# SPDX-License-Identifier: BSD-3-Clause
"""Plans, which are lists of stages, and stages, each a solver on a problem; a driver runs them."""

from __future__ import annotations

import math

from svmcut.base.errors import TrainingError
from svmcut.base.records import fields
from svmcut.base.typing import Any, NamedTuple
from svmcut.solvers.protocol import Progress, Solver, Start, StoppingRule
from svmcut.spec import schemas
from svmcut.spec.catalog import solver_class
from svmcut.spec.parameters import Settings
from svmcut.training.outcome import Objective, Outcome, Units


def make_solver(name: str, settings: Settings, task: str | None = None, **own: Any) -> Any:
    """The solver of that name for the loss and the task of settings, or another task, imported now.

    It takes those of its parameters that settings have by the same name, None being its own
    default, and `own`.
    """
    kind: Any = solver_class(name, task or settings.task, settings.loss)
    given = {field.name: getattr(settings, field.name, None) for field in fields(kind)}
    return kind(**{key: value for key, value in given.items() if value is not None} | own)


class Stage(NamedTuple):
    """One run of a plan."""

    #: Of the solver; another one if a plan runs it twice.
    name: str
    solver: Solver
    problem: Any
    #: For the examples of the problem, which may be a part of all.
    objective: Objective
    #: True if it starts from the solution of the C before and passes its own on.
    warm: bool = False
    #: Its start otherwise.
    start: Start | None = None


class Ended(NamedTuple):
    """A stage that is over: the run, its last Progress, and "limit", "interrupt", "cap" or
    "rounding" where one ended it."""

    stage: Stage
    run: Any
    progress: Progress
    stopped_by: str | None

    def outcome(self, solver: str, model, squared: float, **known: Any) -> Outcome:
        """The outcome of this run with its model, not yet judged. `squared` is |w|^2; other fields
        of Outcome are given by name, the longest cut and multipliers are otherwise those of the
        bundle."""
        objective, bundle = self.stage.objective, self.run.bundle
        if bundle is not None:
            known = {
                "longest_cut": bundle.largest_norm,
                "multipliers": objective.c * bundle.beta[1:],
                **known,
            }
        known.setdefault("longest_cut", self.run.longest_cut)
        return Outcome(
            model, objective, self.progress, solver, math.sqrt(max(0.0, squared)), **known
        )


class Plan:
    """A way of training on data that are given, one stage after the other.

    A row of the catalog names what makes a plan of (data, settings): what the task reads, and
    settings as `svmcut.training.settings.resolve_settings` leaves them. `path` names the data in
    messages, and `warnings` are what a user should know of them.
    """

    #: What training met where a value is not finite.
    infinite_message = "training met values that are not finite"

    def __init__(self, settings: Settings, path: str, units: Units, warnings: list[str]):
        self.settings, self.path, self.units, self.warnings = settings, path, units, warnings

    def stop(self, objective: Objective) -> StoppingRule:
        """The rule that ends training, as far as it is known before."""
        return StoppingRule(objective.c * objective.epsilon, self.settings.gap)

    def next(self, objective: Objective, handed: dict[str, Any] | None) -> Stage:
        """The stage that comes after the one that found this; the first one after None."""
        raise NotImplementedError

    def finish(
        self, objective: Objective, handed: dict[str, Any] | None, ended: Ended
    ) -> dict[str, Any] | Outcome:
        """The judged outcome, or where another stage follows what that needs to know, as plain
        values."""
        raise NotImplementedError

    def check_found(self, handed: Any) -> None:
        """Refuses what no stage of this plan leaves to another, as a StateError."""
        schemas.require(handed is None, "found", "nothing")

    def check_finite(self, primal: float) -> None:
        """Refuses a value that is not, as a TrainingError."""
        if not math.isfinite(primal):
            raise TrainingError("{}: {}; scale the features", self.path, self.infinite_message)

    def failure(self, error: Exception) -> Exception:
        """The error for a user after a failure of a stage."""
        return error
