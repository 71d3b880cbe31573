# SPDX-License-Identifier: BSD-3-Clause
"""From options to a model: Config -> Problem -> Solver -> Model. No algorithm inside."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from svmcut import units
from svmcut.data import Examples
from svmcut.errors import DataError, MemoryLimitError, TrainingError, UsageError
from svmcut.kernels import Kernel
from svmcut.machine import available_memory
from svmcut.models import ChainModel, LinearModel
from svmcut.risks import make_risk
from svmcut.risks.squared import SquaredRisk
from svmcut.solvers.protocol import Problem, Progress, Start, StoppingRule
from svmcut.spaces.linear import LinearSpace

# name -> module and class; a solver is imported when it is chosen
SOLVERS = {
    "cutting-plane": ("svmcut.solvers.cutting_plane", "CuttingPlane"),
    "dual-cd": ("svmcut.solvers.dual_cd", "DualCd"),
    "newton": ("svmcut.solvers.newton", "Newton"),
    "bcfw": ("svmcut.solvers.bcfw", "Bcfw"),
    "ssg": ("svmcut.solvers.ssg", "Ssg"),
    "gdmm": ("svmcut.solvers.gdmm", "Gdmm"),
}


@dataclass(frozen=True, slots=True)
class Config:
    """What to train; one field an option, in the options' units.

    Attributes
    ----------
    task : {"classification", "rank", "sequence"}
    loss : str
        A name of svmcut.risks.RISKS.
    cost : float or None
        C in the unit of svm_perf or svm_rank; exactly one of cost and example_cost is given.
    example_cost : float or None
        Weight of one example's loss (classification), of one query's (rank).
    p : float
        k of the losses at k, as a fraction of the positives.
    epsilon : float
        Stop at gap <= c epsilon, with c in the unit of cost.
    gap : float or None
        Stop at this relative gap instead of epsilon.
    bias : float
        Value of the constant feature, 0 for none.
    kernel : Kernel
        Linear; its other parameters go into the model file.
    max_iterations, time_limit : int, float or None
        End training with the best model so far; seconds.
    """

    task: str = "classification"
    loss: str = "error-rate"
    cost: float | None = None
    example_cost: float | None = None
    p: float = 0.0
    rescaling: str = "margin"
    slack_norm: int = 1
    epsilon: float = 0.1
    gap: float | None = None
    bias: float = 1.0
    kernel: Kernel = field(default_factory=Kernel)
    solver: str = "auto"
    max_iterations: int | None = None
    time_limit: float | None = None
    max_memory: float | None = None
    threads: int = 1
    seed: int = 0


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


@dataclass(slots=True)
class Outcome:
    """A trained model, its certificate and how the run went.

    Attributes
    ----------
    model : LinearModel or ChainModel
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
    """

    model: LinearModel | ChainModel
    objective: Objective
    progress: Progress
    solver: str
    converged: bool
    stopped_by: str | None
    seconds: float
    longest_cut: float
    norm: float
    multipliers: Any


def label_warnings(examples: Examples) -> list[str]:
    """What a user should know about the labels of a classification set."""
    positive = int(np.count_nonzero(examples.y > 0))
    if 0 < positive < len(examples):
        return []
    sign, empty = ("positive", "negative") if positive else ("negative", "positive")
    return [
        f"all {len(examples)} labels of {examples.source.path} are {sign} (a label is positive if it is above 0) and "
        f"none is {empty}; the model will predict a constant"
    ]


def rank_warnings(bound) -> list[str]:
    """What a user should know about the queries of a ranking set."""
    if bound.n_pairs:
        return []
    return ["no query has two rows with different labels; there is nothing to rank and all weights will be 0"]


def check_memory(path: str, n_features: int, limit_mb: float | None) -> None:
    """Refuses a set whose weight vectors would not fit.

    Raises
    ------
    MemoryLimitError
        When a dozen vectors of one float64 a feature need more than the limit, or than the machine has.
    """
    need = 12 * 8 * n_features / 1e6
    available = limit_mb if limit_mb is not None else available_memory()
    if available is not None and need > available:
        raise MemoryLimitError(
            f"{path}: training on {n_features} features needs about {need:,.0f} MB for weight vectors and "
            f"{available:,.0f} MB are available"
        )


class Trainer:
    """Trains on one set of examples, for one C after the other; each solution starts from the last.

    Parameters
    ----------
    examples : Examples
    config : Config
        Its C is the first one.

    Raises
    ------
    UsageError
        For a combination of options no loss can honour.
    DataError, TrainingError
        For labels or queries the loss cannot use.
    MemoryLimitError
    """

    def __init__(self, examples: Examples, config: Config):
        self.examples, self.config = examples, config
        path = examples.source.path
        X, self._columns = examples.X.compact()
        check_memory(path, X.n_features, config.max_memory)
        self._is_sum = config.task == "rank" or (
            config.loss == "error-rate" and config.rescaling == "margin" and config.slack_norm == 1
        )
        risk = make_risk(config.loss, p=config.p, rescaling=config.rescaling, slack_norm=config.slack_norm)
        if config.slack_norm == 2:
            risk = SquaredRisk(risk)
        if config.task == "rank":
            check_queries(examples)
        try:
            self.risk = risk.bind(examples.y, examples.qid, examples.cost, config.threads)
        except TrainingError as error:
            raise TrainingError(f"{path}: {error}") from None
        self.space = LinearSpace(X, config.bias, config.threads)
        self.warnings = rank_warnings(self.risk) if config.task == "rank" else label_warnings(examples)
        self._began = time.perf_counter()
        self._start: Start | None = None
        self._last_C = 0.0

    def objective(self, cost: float | None, example_cost: float | None) -> Objective:
        """C and epsilon converted to the unit of the risk; exactly one of the costs is given.

        Raises
        ------
        UsageError
            For both or none, or for an example's cost with a loss that is no sum over examples.
        """
        if (cost is None) == (example_cost is None):
            raise UsageError("exactly one of -c (the original's C) and --example-cost is required")
        if example_cost is not None and not self._is_sum:
            raise UsageError(
                f"--example-cost weighs one example's loss, but loss '{self.config.loss}' with these options is no "
                "sum over examples; give C with -c"
            )
        epsilon, n = self.config.epsilon, len(self.examples)
        if self.config.task == "rank":
            queries = self.risk.n_queries
            c = cost if cost is not None else units.mean_cost_from_sum(example_cost, queries)
            if self.config.loss == "swapped-pairs":
                epsilon *= self.risk.n_pairs / queries
            return Objective(self.risk, c, c, 1.0, epsilon, queries)
        if not self._is_sum:
            return Objective(self.risk, cost, cost, 1.0, epsilon)
        if cost is not None:
            return Objective(self.risk, units.example_cost_from_perf(cost, n), cost, units.PERCENT / n, epsilon)
        c = units.perf_cost_from_example(example_cost, n)
        return Objective(self.risk, example_cost, c, units.PERCENT / n, epsilon)

    def fit(
        self,
        cost: float | None,
        example_cost: float | None,
        observe: Callable[[Progress, Objective], None] | None = None,
    ) -> Outcome:
        """Trains to the stopping rule, a limit or an interrupt; the best model so far is returned in every case.

        Parameters
        ----------
        cost, example_cost : float or None
            As in Config, in place of the ones there.
        observe : callable
            Called with every Progress and the objective.

        Raises
        ------
        UsageError, TrainingError
        """
        config, space = self.config, self.space
        objective = self.objective(cost, example_cost)
        rule = StoppingRule(objective.c * objective.epsilon, config.gap)
        problem = Problem(objective.risk, space, objective.C, rule)
        name = self._choose(objective.C) if config.solver == "auto" else config.solver
        solver = make_solver(name, config.seed)

        began = time.perf_counter()
        progress, stopped_by = self._run(solver.steps(problem, self._scaled_start(objective.C)), objective, observe)
        converged = rule.met(progress.primal, progress.dual)
        w = progress.solution()
        self._start = Start(solver.bundle, (w,), getattr(solver, "fractions", None))
        self._last_C = objective.C
        return Outcome(
            model=self._model(w, progress.cuts),
            objective=objective,
            progress=progress,
            solver=name,
            converged=converged,
            stopped_by=None if converged else stopped_by or "rounding",
            seconds=time.perf_counter() - began,
            longest_cut=solver.bundle.largest_norm,
            norm=float(np.sqrt(space.dot(w, w))),
            multipliers=objective.c * solver.bundle.beta[1:],
        )

    def _run(self, steps, objective: Objective, observe) -> tuple[Progress, str | None]:
        """The last progress of a solver and what stopped it before its own end: "limit", "interrupt" or None."""
        config, progress, stopped_by = self.config, None, None
        try:
            for progress in steps:
                if observe is not None:
                    observe(progress, objective)
                late = config.time_limit is not None and time.perf_counter() - self._began >= config.time_limit
                if late or (config.max_iterations is not None and progress.iteration >= config.max_iterations):
                    stopped_by = "limit"
                    break
        except KeyboardInterrupt:
            if progress is None:
                raise
            stopped_by = "interrupt"
        if progress is None or not np.isfinite(progress.primal):
            path = self.examples.source.path
            raise TrainingError(f"{path}: training met values that are not finite; scale the features")
        return progress, stopped_by

    def _choose(self, C: float) -> str:
        """The solver of ``auto``: cutting planes, but for the plain hinge the fastest certified trainer."""
        if self.config.task == "rank" or not self._is_sum:
            return "cutting-plane"
        from svmcut.solvers.auto import choose

        return choose(self.space.X.n_rows, self.space.dim, self.space.X.nnz, C)

    def _scaled_start(self, C: float) -> Start | None:
        """The last solution for a new C: w and the box dual scale alike, so both the point and its multiple count."""
        if self._start is None:
            return None
        (w,) = self._start.points
        return self._start._replace(points=(w, self.space.blend(C / self._last_C, w, 0.0, w)))

    def _model(self, w, cuts: int) -> LinearModel:
        weights, constant = self.space.split(w)
        # the originals state one more than the number of their features, the constant one among them
        highest = self.examples.X.n_features + (self.config.bias != 0) + 1
        return LinearModel(weights, 0.0 - constant, self._columns, self.config.kernel, highest, cuts)


def check_queries(examples: Examples) -> None:
    """Refuses queries that are not in increasing order, with the line.

    Raises
    ------
    DataError
    """
    qid = examples.qid
    if qid is None:
        return
    path, line_of = examples.source.path, examples.source.line_of
    falls = np.flatnonzero(qid[1:] < qid[:-1])
    if len(falls):
        row = int(falls[0]) + 1
        raise DataError(path, f"qid {qid[row]} follows {qid[row - 1]}; qids must not decrease", line_of(row))
    if qid[0] < 0:
        raise DataError(path, f"qid {qid[0]} is negative; expected 0 or more", line_of(0))


def make_solver(name: str, seed: int = 0, table: dict[str, tuple[str, str]] = SOLVERS):
    """The solver of that name in a table, imported now; the seed goes to those that draw at random."""
    module, cls = table[name]
    solver = getattr(importlib.import_module(module), cls)()
    if hasattr(solver, "seed"):
        solver.seed = seed
    return solver


def train(examples: Examples, config: Config, observe: Callable[[Progress, Objective], None] | None = None) -> Outcome:
    """Trains to the stopping rule, a limit or an interrupt; the best model so far is returned in every case.

    Parameters
    ----------
    observe : callable
        Called with every Progress and the objective.

    Raises
    ------
    UsageError, DataError, TrainingError, MemoryLimitError
    """
    return Trainer(examples, config).fit(config.cost, config.example_cost, observe)
