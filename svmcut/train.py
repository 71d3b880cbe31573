# SPDX-License-Identifier: BSD-3-Clause
"""From options to a model: Config -> Problem -> Solver -> Model. No algorithm inside."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from svmcut import units
from svmcut.data import Examples
from svmcut.errors import DataError, MemoryLimitError, TrainingError, UsageError
from svmcut.kernels import Kernel
from svmcut.models import LinearModel
from svmcut.risks import make_risk
from svmcut.risks.squared import SquaredRisk
from svmcut.solvers.protocol import Problem, Progress, StoppingRule
from svmcut.spaces.linear import LinearSpace

# name -> module and class; a solver is imported when it is chosen
SOLVERS = {"cutting-plane": ("svmcut.solvers.cutting_plane", "CuttingPlane")}


@dataclass(frozen=True, slots=True)
class Config:
    """What to train; one field an option, in the options' units.

    Attributes
    ----------
    task : {"classification", "rank"}
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
    model : LinearModel
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
    """

    model: LinearModel
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


def available_memory() -> float | None:
    """Megabytes this process may still use: the system's, or less where a control group or a limit says so."""
    import os
    import resource

    bounds = []
    try:
        bounds.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        with open("/proc/meminfo", encoding="ascii") as lines:
            bounds[0] = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, ValueError, StopIteration):
        pass
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        try:
            with open(limit, encoding="ascii") as top, open(used, encoding="ascii") as now:
                bounds.append(int(top.read()) - int(now.read()))
        except (OSError, ValueError):
            continue
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    if soft != resource.RLIM_INFINITY:
        bounds.append(soft)
    return min(bounds) / 1e6 if bounds else None


def set_up(examples: Examples, config: Config) -> Objective:
    """Binds the risk to the labels and converts C and epsilon.

    Raises
    ------
    UsageError
        For a combination of options no loss can honour.
    DataError, TrainingError
        For labels or queries the loss cannot use.
    """
    n = len(examples)
    if (config.cost is None) == (config.example_cost is None):
        raise UsageError("exactly one of -c (the original's C) and --example-cost is required")
    if config.task == "rank":
        return _set_up_rank(examples, config)
    hinge = config.loss == "error-rate" and config.rescaling == "margin" and config.slack_norm == 1
    if config.example_cost is not None and not hinge:
        raise UsageError(
            f"--example-cost weighs one example's loss, but loss '{config.loss}' with these options is no sum over "
            "examples; give C with -c"
        )
    risk = make_risk(config.loss, p=config.p, rescaling=config.rescaling, slack_norm=config.slack_norm)
    if config.slack_norm == 2:
        risk = SquaredRisk(risk)
    with _named(examples):
        bound = risk.bind(examples.y, examples.qid, examples.cost, config.threads)
    if not hinge:
        return Objective(bound, config.cost, config.cost, 1.0, config.epsilon)
    if config.cost is not None:
        c, C = config.cost, units.example_cost_from_perf(config.cost, n)
    else:
        c, C = units.perf_cost_from_example(config.example_cost, n), config.example_cost
    return Objective(bound, C, c, units.PERCENT / n, config.epsilon)


def _set_up_rank(examples: Examples, config: Config) -> Objective:
    check_queries(examples)
    with _named(examples):
        bound = make_risk(config.loss).bind(examples.y, examples.qid, examples.cost, config.threads)
    c = config.cost
    if c is None:
        c = units.mean_cost_from_sum(config.example_cost, bound.n_queries)
    epsilon = config.epsilon
    if config.loss == "swapped-pairs":
        epsilon *= bound.n_pairs / bound.n_queries
    return Objective(bound, c, c, 1.0, epsilon, bound.n_queries)


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


@contextmanager
def _named(examples: Examples) -> Iterator[None]:
    """Puts the file's name before what a risk says of its labels."""
    try:
        yield
    except TrainingError as error:
        raise TrainingError(f"{examples.source.path}: {error}") from None


def make_solver(name: str):
    """The solver of that name, imported now."""
    module, cls = SOLVERS[name]
    return getattr(importlib.import_module(module), cls)()


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
    X, columns = examples.X.compact()
    check_memory(examples.source.path, X.n_features, config.max_memory)
    objective = set_up(examples, config)
    warnings = label_warnings(examples) if config.task == "classification" else rank_warnings(objective.risk)
    space = LinearSpace(X, config.bias, config.threads)
    rule = StoppingRule(objective.c * objective.epsilon, config.gap)
    problem = Problem(objective.risk, space, objective.C, rule)
    name = "cutting-plane" if config.solver == "auto" else config.solver
    solver = make_solver(name)

    start = time.perf_counter()
    progress, stopped_by = None, None
    try:
        for progress in solver.steps(problem):
            if observe is not None:
                observe(progress, objective)
            late = config.time_limit is not None and time.perf_counter() - start >= config.time_limit
            if late or (config.max_iterations is not None and progress.iteration >= config.max_iterations):
                stopped_by = "limit"
                break
    except KeyboardInterrupt:
        if progress is None:
            raise
        stopped_by = "interrupt"
    if progress is None or not np.isfinite(progress.primal):
        raise TrainingError(f"{examples.source.path}: training met values that are not finite; scale the features")
    converged = rule.met(progress.primal, progress.dual)
    w = progress.solution()
    weights, constant = space.split(w)
    # the originals state one more than the number of their features, the constant one among them
    highest = examples.X.n_features + (config.bias != 0) + 1
    model = LinearModel(weights, 0.0 - constant, columns, config.kernel, highest, progress.cuts)
    return Outcome(
        model=model,
        objective=objective,
        progress=progress,
        solver=name,
        converged=converged,
        stopped_by=None if converged else stopped_by or "rounding",
        seconds=time.perf_counter() - start,
        longest_cut=solver.bundle.largest_norm,
        norm=float(np.sqrt(space.dot(w, w))),
        multipliers=objective.c * solver.bundle.beta[1:],
        warnings=warnings,
    )
