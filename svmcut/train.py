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
from svmcut.errors import MemoryLimitError, TrainingError, UsageError
from svmcut.models import LinearModel
from svmcut.solvers.protocol import Problem, Progress, StoppingRule
from svmcut.spaces.linear import LinearSpace

# name -> module and class; a solver is imported when it is chosen
SOLVERS = {"cutting-plane": ("svmcut.solvers.cutting_plane", "CuttingPlane")}


@dataclass(frozen=True, slots=True)
class Config:
    """What to train; one field an option, in the options' units.

    Attributes
    ----------
    cost : float or None
        svm_perf's c; exactly one of cost and example_cost is given.
    example_cost : float or None
        Weight of one example's loss.
    epsilon : float
        Stop at gap <= c epsilon, with c in the unit of cost.
    gap : float or None
        Stop at this relative gap instead of epsilon.
    bias : float
        Value of the constant feature, 0 for none.
    time_limit : float or None
        Seconds of training; max_iterations likewise ends training with the best model so far.
    """

    loss: str = "error-rate"
    cost: float | None = None
    example_cost: float | None = None
    epsilon: float = 0.1
    gap: float | None = None
    bias: float = 1.0
    solver: str = "auto"
    max_iterations: int | None = None
    time_limit: float | None = None
    max_memory: float | None = None
    threads: int = 1


@dataclass(slots=True)
class Outcome:
    """A trained model, its certificate and how the run went.

    Attributes
    ----------
    model : LinearModel
    progress : Progress
        The last one; primal, dual and gap certify the model.
    solver : str
        The solver that ran.
    c, example_cost : float
        C in the original's unit and as the weight of one example.
    converged : bool
        Whether the stopping rule was met.
    stopped_by : str or None
        "limit", "interrupt" or "rounding" where it was not.
    warnings : list of str
    """

    model: Any
    progress: Progress
    solver: str
    c: float
    example_cost: float
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


def costs(config: Config, n: int) -> tuple[float, float]:
    """(c in the original's unit, weight of one example) from whichever the user gave."""
    if (config.cost is None) == (config.example_cost is None):
        raise UsageError("exactly one of -c (the original's C) and --example-cost is required")
    if config.cost is not None:
        return config.cost, units.example_cost_from_perf(config.cost, n)
    assert config.example_cost is not None
    return units.perf_cost_from_example(config.example_cost, n), config.example_cost


def make_solver(name: str):
    """The solver of that name, imported now."""
    module, cls = SOLVERS[name]
    return getattr(importlib.import_module(module), cls)()


def train(examples: Examples, config: Config, observe: Callable[[Progress], None] | None = None) -> Outcome:
    """Trains to the stopping rule, a limit or an interrupt; the best model so far is returned in every case.

    Parameters
    ----------
    observe : callable
        Called with every Progress.

    Raises
    ------
    UsageError, TrainingError, MemoryLimitError
    """
    from svmcut.risks.hinge import HingeRisk

    X, columns = examples.X.compact()
    check_memory(examples.source.path, X.n_features, config.max_memory)
    warnings = label_warnings(examples)
    c, example_cost = costs(config, len(examples))
    risk = HingeRisk().bind(examples.y, examples.qid, examples.cost, config.threads)
    space = LinearSpace(X, config.bias, config.threads)
    problem = Problem(risk, space, example_cost, StoppingRule(c * config.epsilon, config.gap))
    name = "cutting-plane" if config.solver == "auto" else config.solver
    solver = make_solver(name)

    start = time.perf_counter()
    progress, stopped_by = None, None
    try:
        for progress in solver.steps(problem):
            if observe is not None:
                observe(progress)
            if config.max_iterations is not None and progress.iteration >= config.max_iterations:
                stopped_by = "limit"
            if config.time_limit is not None and time.perf_counter() - start >= config.time_limit:
                stopped_by = "limit"
            if stopped_by:
                break
    except KeyboardInterrupt:
        if progress is None:
            raise
        stopped_by = "interrupt"
    if progress is None or not np.isfinite(progress.primal):
        raise TrainingError(f"{examples.source.path}: training met values that are not finite; scale the features")
    converged = problem.stop.met(progress.primal, progress.dual)
    if not converged and stopped_by is None:
        stopped_by = "rounding"
    w = progress.solution()
    weights, constant = space.split(w)
    # svm_perf states one more than the number of its features, the constant one among them
    highest = examples.X.n_features + (config.bias != 0) + 1
    model = LinearModel(weights, -constant, columns, highest_index=highest, n_documents=progress.cuts)
    return Outcome(
        model, progress, name, c, example_cost, converged, None if converged else stopped_by,
        time.perf_counter() - start, solver.bundle.largest_norm, float(np.sqrt(space.dot(w, w))),
        example_cost * solver.bundle.beta[1:], warnings,
    )  # fmt: skip
