# SPDX-License-Identifier: BSD-3-Clause
"""From options to a model: Config -> Problem -> Solver -> Model. No algorithm inside."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from svmcut import units
from svmcut._native.interrupt import watched_signals
from svmcut.catalog import AUTO, SOLVERS, TRAINERS, load, solver_class
from svmcut.checks import check_memory, check_queries, label_warnings, rank_warnings
from svmcut.config import Config
from svmcut.data import Examples
from svmcut.errors import TrainingError, UsageError
from svmcut.kernel_options import choose_kernel_solver
from svmcut.models import LinearModel, Model
from svmcut.outcomes import Objective, Outcome, one_cost_is_required, primal_of_file
from svmcut.parameters import EPSILON
from svmcut.refusals import check, refuse_example_cost
from svmcut.risks import make_risk
from svmcut.risks.protocol import QueryRisk
from svmcut.risks.squared import SquaredRisk
from svmcut.solvers.protocol import Interrupted, Problem, Progress, Run, Solver, Start, StoppingRule, Watch
from svmcut.spaces.rows import RowSpace, linear_space

if TYPE_CHECKING:
    from svmcut.solvers.expansion import ExpansionProblem
    from svmcut.solvers.smo import KernelProblem
    from svmcut.structured.protocol import StructuredProblem

    AnyProblem: TypeAlias = Problem | StructuredProblem | ExpansionProblem | KernelProblem


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

    _task = "classification"

    def __init__(self, examples: Examples, config: Config):
        examples = examples.checked()
        self.examples, self.config = examples, config
        self.X, self._columns = examples.X.compact()
        check_memory(examples.source.path, self.X.n_features, config.max_memory)
        self._is_sum = config.task == "rank" or (
            config.loss == "error-rate" and config.rescaling == "margin" and config.slack_norm == 1
        )
        variant, slack_norm, one_class = config.rescaling, config.slack_norm, config.one_class
        risk = make_risk(config.loss, p=config.p, rescaling=variant, slack_norm=slack_norm, one_class=one_class)
        if config.slack_norm == 2 and config.task != "rank":  # a ranking risk squares the slack of every query
            risk = SquaredRisk(risk)
        if config.task == "rank":
            check_queries(examples)
        try:
            self.risk = risk.bind(examples.y, examples.qid, examples.cost, config.threads)
        except TrainingError as error:
            raise TrainingError(f"{examples.source.path}: {error}") from None
        self._queries: QueryRisk | None = None
        if config.task == "rank":
            if not isinstance(self.risk, QueryRisk):
                raise UsageError(f"loss '{config.loss}' does not rank; use swapped-pairs, swapped-fraction or pairs")
            self._queries = self.risk
        self.space = self._make_space()
        self.warnings = label_warnings(examples) if self._queries is None else rank_warnings(self._queries)
        self._began = time.perf_counter()
        self._start: Start | None = None
        self._last_C = 0.0

    def _make_space(self):
        solver = self.config.solver
        cuts = solver == "cutting-plane" or (solver == "auto" and not self._hinge)
        return linear_space(self.X, self.config.bias, self.config.threads, cuts)

    def objective(self, cost: float | None, example_cost: float | None) -> Objective:
        """C and epsilon converted to the unit of the risk; exactly one of the costs is given.

        Raises
        ------
        UsageError
            For both or none, or for an example's cost with a loss that is no sum over examples.
        """
        risk, n, epsilon = self.risk, len(self.examples), self.config.epsilon
        epsilon = EPSILON if epsilon is None else epsilon
        if self._queries is not None and self.config.loss == "swapped-pairs":
            epsilon *= self._queries.n_pairs / self._queries.n_queries
        if cost is not None and example_cost is None:
            if self._queries is not None:
                return Objective(risk, cost, cost, 1.0, epsilon, self._queries.n_queries)
            if not self._is_sum:
                return Objective(risk, cost, cost, 1.0, epsilon)
            return Objective(risk, units.example_cost_from_perf(cost, n), cost, units.PERCENT / n, epsilon)
        if example_cost is None or cost is not None:
            raise one_cost_is_required()
        if self._queries is not None:
            c = units.mean_cost_from_sum(example_cost, self._queries.n_queries)
            return Objective(risk, c, c, 1.0, epsilon, self._queries.n_queries)
        if not self._is_sum:
            raise refuse_example_cost(self.config.loss)
        c = units.perf_cost_from_example(example_cost, n)
        return Objective(risk, example_cost, c, units.PERCENT / n, epsilon)

    def fit(
        self,
        cost: float | None,
        example_cost: float | None,
        observe: Callable[[Progress, Objective], None] | None = None,
        state: dict[str, Any] | None = None,
    ) -> Outcome:
        """Trains to the stopping rule, a limit or an interrupt; the best model so far is returned in every case.

        Parameters
        ----------
        cost, example_cost : float or None
            As in Config, in place of the ones there.
        observe : callable
            Called with every Progress and the objective.
        state : dict or None
            What `state` gave in a fit of another trainer on the same examples and configuration: this fit goes on from
            there and ends in the same bytes.

        Raises
        ------
        UsageError, TrainingError
        """
        config = self.config
        objective = self.objective(cost, example_cost)
        name = self._choose(objective.C) if config.solver == AUTO else config.solver
        problem = self._problem(name, objective)
        solver = self._named_solver(name, objective)
        began = time.perf_counter()
        start = None if state else self._scaled_start(objective.C)
        progress, stopped_by = self._run(solver, problem, objective, observe, start, state)
        w, run = progress.solution(), self._solver
        self._start, self._last_C = self._next_start(name, run, w), objective.C
        bundle = run.bundle
        outcome = Outcome(
            model=self._model(w, progress.cuts),
            objective=objective,
            progress=progress,
            solver=name,
            seconds=0.0,
            longest_cut=run.longest_cut if bundle is None else bundle.largest_norm,
            norm=math.sqrt(max(0.0, self._squared_norm(w))),
            multipliers=np.zeros(0) if bundle is None else objective.c * bundle.beta[1:],
        )
        outcome.primal_of_file = self._primal_of_file(w, problem, outcome)
        outcome.seconds = time.perf_counter() - began
        return outcome.judge(problem.stop, stopped_by)

    def _primal_of_file(self, w, problem: AnyProblem, outcome: Outcome) -> float | None:
        """The primal of the weights as a reader of the model file gets them; None where no digit can matter."""
        n, data = len(self.examples), self.X.data
        reach = math.inf  # no change d of w changes the risk by more than |d| times this
        if self._is_sum and self._queries is None:
            with np.errstate(over="ignore"):
                reach = math.sqrt(n * (float(np.dot(data, data)) + n * self.config.bias**2))

        def restore(kept) -> None:  # the file has the weight of the constant feature as a threshold
            kept[-1] = float(f"{bias * float(w[-1]):.8g}") / bias

        bias = self.config.bias
        if isinstance(self.space, RowSpace) and isinstance(problem, Problem):
            w, problem = self.space.weights(w), replace(problem, space=self.space.features)
        return primal_of_file(w, problem, outcome, reach, restore if bias else None)

    def _named_solver(self, name: str, objective: Objective):
        return make_solver(name, self.config.seed, self._task)

    def _problem(self, name: str, objective: Objective):
        """What the solver of that name takes."""
        return Problem(objective.risk, self.space, objective.C, self._rule(objective), self.config.qp)

    def _next_start(self, name: str, run: Run, w) -> Start | None:
        """What the next C starts from."""
        return Start(run.bundle, (w,), run.fractions)

    def _squared_norm(self, w) -> float:
        return self.space.dot(w, w)

    @property
    def _hinge(self) -> bool:
        """Whether this is the plain hinge, which other trainers than cutting planes know."""
        return self._is_sum and self._queries is None

    def _choose(self, C: float) -> str:
        """The solver of ``auto``: cutting planes, but for the plain hinge the fastest certified trainer."""
        if not self._hinge:
            return "cutting-plane"
        from svmcut.solvers.auto import choose

        return choose(self.space.X.n_rows, self.space.dim, self.space.X.nnz, C)

    def _rule(self, objective: Objective) -> StoppingRule:
        return StoppingRule(objective.c * objective.epsilon, self.config.gap)

    def late(self) -> bool:
        """Whether the time for all fits is over."""
        return late(self.config, self._began)

    def target(self, objective: Objective, primal: float) -> float:
        """The gap at which the present fit ends; nan where it ends by another rule."""
        return self._rule(objective).target(primal)

    def state(self) -> dict[str, Any]:
        """Where the present fit stands; to be called from its observer."""
        return {"solver": self._solver.state(), "watch": self._watch and self._watch.state()}

    def _run(
        self, solver: Solver, problem: AnyProblem, objective: Objective, observe, start: Start | None = None, state=None
    ) -> tuple[Progress, str | None]:
        """The last Progress, and "limit", "interrupt" or "rounding" where one of them ended the run."""
        self._watch = Watch.of(solver, state and state["watch"])
        self._solver: Any = solver.start(problem, start, state and state["solver"])
        progress, stopped_by = follow(self._solver, self.config, self._began, objective, observe, self._watch)
        if progress is None or not np.isfinite(progress.primal):
            path = self.examples.source.path
            raise TrainingError(f"{path}: training met values that are not finite; scale the features")
        return progress, stopped_by

    def _scaled_start(self, C: float) -> Start | None:
        """The last solution for a new C: w and the box dual scale alike, so both the point and its multiple count."""
        if self._start is None:
            return None
        (w,) = self._start.points
        return self._start._replace(points=(w, self.space.blend(C / self._last_C, w, 0.0, w)))

    def _model(self, w, cuts: int) -> Model:
        weights, constant = self.space.split(w)
        # the originals state one more than the number of their features, the constant one among them
        highest = self.examples.X.n_features + (self.config.bias != 0) + 1
        return LinearModel(weights, 0.0 - constant, self._columns, self.config.kernel, highest, cuts)


def follow(
    steps, config: Config, began: float, objective: Objective, observe, watch: Watch | None = None
) -> tuple[Progress | None, str | None]:
    """The last Progress of a solver, and "limit", "interrupt" or "rounding" (no progress) where one of them ended it.

    Raises
    ------
    KeyboardInterrupt
        Before the first Progress, when there is nothing to keep.
    """
    progress, stopped_by = None, None
    try:
        with watched_signals():
            for progress in steps:
                over = watch is not None and watch.update(progress)
                if observe is not None:
                    observe(progress, objective)
                most = config.max_iterations
                if late(config, began) or (most is not None and progress.iteration >= most):
                    stopped_by = "limit"
                    break
                if over:
                    stopped_by = "rounding"
                    break
    except KeyboardInterrupt as signal:
        if isinstance(signal, Interrupted):
            progress = signal.progress
        if progress is None:
            raise
        stopped_by = "interrupt"
    return progress, stopped_by


def late(config: Config, began: float) -> bool:
    """Whether the time limit of training that began then is over."""
    return config.time_limit is not None and time.perf_counter() - began >= config.time_limit


def make_solver(name: str, seed: int = 0, task: str = "classification"):
    """The solver of that name for a task, imported now; the seed goes to those that draw at random."""
    cls = solver_class(name, task)
    return cls(seed=seed) if any(field.name == "seed" for field in fields(cls)) else cls()


def make_trainer(examples: Examples, config: Config):
    """The trainer for the kernel and solver of the configuration; what it raises is what Trainer raises."""
    settings = config.settings()
    check(settings)
    if not settings.has_kernel:
        return Trainer(examples, config)
    hinge = config.loss == "error-rate" and settings.is_plain
    name = choose_kernel_solver(config.solver, len(examples), hinge, config.free_bias)
    trainer, named = load(TRAINERS[SOLVERS[name].plan]), () if name == "smo" else (name,)
    return trainer(examples, config, *named)


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
    return make_trainer(examples, config).fit(config.cost, config.example_cost, observe)
