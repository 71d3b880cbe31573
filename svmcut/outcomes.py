# SPDX-License-Identifier: BSD-3-Clause
"""What was minimised, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from svmcut import states, units
from svmcut.errors import UsageError
from svmcut.models import ChainModel, Model
from svmcut.models.checked import check_model
from svmcut.parameters import EPSILON
from svmcut.solvers.protocol import Progress, StoppingRule, Unsaved

#: A dual value above the primal by more than this part of it is a mistake in the program, not rounding.
SLIP = 1e-9
#: Ends of training that are its aim and claim no certificate.
ENDS = ("epochs", "span", "samples")
#: Ends before the aim.
STOPS = ("limit", "interrupt", "rounding", "basis", "file", "mistake")
#: What a run says whose sampled cuts ended before their stopping rule was met.
FULL = "the cuts filled their memory; raise parameter 'max_memory' or parameter 'sample_size'"


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
    """C per sample of cost, (c/n) times the sum of the samples' losses, or of example_cost; exactly one is given.

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
    raise one_cost_is_required()


def one_cost_is_required() -> UsageError:
    """The refusal of both costs, or of none."""
    return UsageError("exactly one of parameter 'cost' (the original's C) and parameter 'example_cost' is required")


@dataclass(slots=True)
class Outcome:
    """A trained model, its certificate and how the run went.

    Attributes
    ----------
    model : Model
    objective : Objective
    progress : Progress
        The last one.
    solver : str
        The solver that ran.
    converged : bool
        Whether the certificate of the model, as its file has it, meets the stopping rule; see `judge`.
    stopped_by : str or None
        Where it does not: "limit", "interrupt", "rounding"; "basis" where the span of the basis leaves no smaller gap,
        "file" where the digits of the model file do not; "mistake" where the certificate cannot be. "epochs", "span"
        and "samples" where training did what it was asked for, which was no gap of the full problem.
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
    primal_of_file : float or None
        Primal of the model as it is read back, where the rounding of its file may matter.
    kernel_evaluations : int or None
    details : dict
        What else the report says of this solver.
    """

    model: Model | ChainModel
    objective: Objective
    progress: Progress
    solver: str
    seconds: float
    longest_cut: float
    norm: float
    multipliers: Any
    converged: bool = False
    stopped_by: str | None = None
    warnings: list[str] = field(default_factory=list)
    certificate: tuple[float, float] | None = None
    primal_of_file: float | None = None
    kernel_evaluations: int | None = None
    details: dict[str, Any] = field(default_factory=dict)

    def __reduce__(self):
        own = self.portable()
        return Outcome, tuple(getattr(own, item.name) for item in fields(own))

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
        stopped_by = states.maybe(states.text(*STOPS, *ENDS))
        states.checked(self, states.fields(
            multipliers=states.reals(None), warnings=states.many(states.text()), certificate=states.maybe(numbers),
            stopped_by=stopped_by, solver=states.text(),
        ), "outcome")  # fmt: skip
        return self

    def judge(self, rule: StoppingRule, stopped_by: str | None, otherwise: str = "rounding") -> Outcome:
        """Sets `converged` and `stopped_by` from the one certificate of the model; the place where that is decided.

        Parameters
        ----------
        rule : StoppingRule
        stopped_by : str or None
            What ended the solver before its own rule was met.
        otherwise : str
            Why training ended where the certificate misses the rule and nothing ended it before.
        """
        primal, dual, file = self.primal, self.dual, self.primal_of_file
        self.converged, self.stopped_by = rule.met(primal, dual), None
        if dual > primal + SLIP * abs(primal):
            self.converged, self.stopped_by = False, "mistake"
            self.warnings.append(
                f"the dual value {dual:.9g} is above the primal value {primal:.9g}: an error of svmcut, and no "
                "certificate; please report it"
            )
        elif not self.converged:
            self.stopped_by = stopped_by or otherwise
        elif file is not None and not rule.met(file, dual):
            self.converged, self.stopped_by = False, "file"
        return self

    @property
    def done(self) -> bool:
        """Whether training did what it was asked for."""
        return self.converged or self.stopped_by in ENDS

    @property
    def primal(self) -> float:
        return self.certificate[0] if self.certificate else self.progress.primal

    @property
    def dual(self) -> float:
        return self.certificate[1] if self.certificate else self.progress.dual

    @property
    def gap(self) -> float:
        return self.primal - self.dual


def primal_of_file(w, problem: Any, outcome: Outcome, reach: float, restore: Any = None) -> float | None:
    """1/2 |w|^2 + C R(A w) of weights as a reader of the model file gets them; None where no digit can matter.

    Parameters
    ----------
    w : (d,) float64
    problem : Problem
    outcome : Outcome
        Its norm and primal count.
    reach : float
        No change d of w changes R by more than |d| times this; inf where that is not known.
    restore : callable or None
        Called with the weights read back, to set those again that the file holds in another way.
    """
    from svmcut.files.rounding import KEPT, read_back

    most = KEPT * outcome.norm * (problem.C * reach + outcome.norm)
    if most <= 0.01 * problem.stop.target(outcome.primal):
        return None
    kept = read_back(w).astype(np.float64)
    if restore is not None:
        restore(kept)
    with np.errstate(over="ignore", invalid="ignore"):
        value = problem.risk.linearize(problem.space.scores(kept)).value
    return float(0.5 * problem.space.dot(kept, kept) + problem.C * value)
