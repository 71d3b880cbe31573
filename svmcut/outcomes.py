# SPDX-License-Identifier: BSD-3-Clause
"""What was minimised, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from svmcut import states, units
from svmcut.checked_models import check_model
from svmcut.errors import UsageError
from svmcut.models import ChainModel, Model
from svmcut.solvers.protocol import Progress, Unsaved

#: The originals' default, where an objective is trained to a gap of c epsilon.
EPSILON = 0.1


@dataclass(frozen=True, slots=True)
class Objective:
    """1/2 |w|^2 + C R(A w), and what its numbers are in the original's units.

    Attributes
    ----------
    risk : BoundRisk
    C : float
        In the unit of the risk.
    c : float
        In the unit of the original's -c.
    unit : float
        The original's loss in units of the risk: loss = unit * risk and C = unit * c.
    epsilon : float
        In the unit of the original's loss; gap <= c epsilon ends training.
    structures : int
        What the original averages over: 1 sample, or the number of queries.
    """

    risk: Any
    C: float
    c: float
    unit: float
    epsilon: float
    structures: int = 1


def objective_of_sum(cost: float | None, example_cost: float | None, n: int, epsilon: float | None) -> Objective:
    """C per sample of -c, (c/n) times the sum of the samples' losses, or of --example-cost; exactly one is given.

    epsilon None stands for EPSILON.

    Raises
    ------
    UsageError
        For both or none.
    """
    epsilon = EPSILON if epsilon is None else epsilon
    if cost is not None and example_cost is None:
        return Objective(None, units.sum_cost_from_mean(cost, n), cost, 1.0 / n, epsilon, n)
    if example_cost is not None and cost is None:
        return Objective(None, example_cost, units.mean_cost_from_sum(example_cost, n), 1.0 / n, epsilon, n)
    raise UsageError("exactly one of -c (times the mean loss) and --example-cost is required")


@dataclass(slots=True)
class Outcome:
    """A trained model, its certificate and how the run went.

    Attributes
    ----------
    model : Model
    objective : Objective
    progress : Progress
        The last one; primal, dual and gap certify the model.
    solver : str
        The solver that ran.
    converged : bool
        Whether the stopping rule was met.
    stopped_by : str or None
        "limit", "interrupt" or "rounding" where it was not.
    seconds : float
        Of training.
    longest_cut, norm : float
        Length of the longest cut normal, in the unit of the risk, and of w with the weight of the constant feature.
    multipliers : (cuts,) float64
        Of the final cuts, for C in the unit of the original.
    warnings : list of str
        What a user should know of this run; the trainer's own `warnings` are those of the data.
    certificate : (float, float) or None
        Primal of the model and a dual bound (nan for none) of the full problem, where the solver's own are those of
        another: the span of a basis, sampled cuts, kernel values in float32.
    kernel_evaluations : int or None
    details : dict
        What else the report says of this solver.
    """

    model: Model | ChainModel
    objective: Objective
    progress: Progress
    solver: str
    converged: bool
    stopped_by: str | None
    seconds: float
    longest_cut: float
    norm: float
    multipliers: Any
    warnings: list[str] = field(default_factory=list)
    certificate: tuple[float, float] | None = None
    kernel_evaluations: int | None = None
    details: dict[str, Any] = field(default_factory=dict)

    def portable(self) -> Outcome:
        """This without the risk and the solver's callables, as a checkpoint keeps it."""
        return replace(
            self, objective=replace(self.objective, risk=None), progress=self.progress._replace(solution=Unsaved())
        )

    def checked(self) -> Outcome:
        """This, where a checkpoint may hold it.

        Raises
        ------
        StateError
        """
        check_model(self.model)
        numbers = states.row(states.ANY_REAL, states.ANY_REAL)
        stopped_by = states.maybe(states.text("limit", "interrupt", "rounding"))
        states.checked(self, states.fields(
            multipliers=states.reals(None), warnings=states.many(states.text()), certificate=states.maybe(numbers),
            stopped_by=stopped_by, solver=states.text(),
        ), "outcome")  # fmt: skip
        return self

    @property
    def primal(self) -> float:
        return self.certificate[0] if self.certificate else self.progress.primal

    @property
    def dual(self) -> float:
        return self.certificate[1] if self.certificate else self.progress.dual

    @property
    def gap(self) -> float:
        return self.primal - self.dual
