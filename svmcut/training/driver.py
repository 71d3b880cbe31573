# SPDX-License-Identifier: BSD-3-Clause
"""Plans, which are lists of stages, each a solver on a problem, and the one driver that runs them:
limits, signals, warm starts along a path of C, resumed runs, outcomes."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable

from svmcut._native.interrupt import deadline, watched_signals
from svmcut.base.errors import TrainingError
from svmcut.base.records import fields, replace
from svmcut.base.resources import INIT, QP, one_blas_thread, timed_part
from svmcut.base.typing import Any, NamedTuple
from svmcut.solvers.compose import Watched
from svmcut.solvers.protocol import Progress, Solver, Start, State, StoppingRule
from svmcut.spec import schemas
from svmcut.spec.catalog import load, plan_of, solver_class
from svmcut.spec.parameters import Settings
from svmcut.spec.refusals import check
from svmcut.training.outcome import Objective, Outcome, Units
from svmcut.training.settings import resolve_settings


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


Observe = Callable[[Progress, Objective], None] | None
Cost = float | None


class Driver:
    """Trains by a plan, for one C after the other; where the plan has it so, each solution starts
    from the last."""

    def __init__(self, plan: Plan):
        self.plan, self.settings, self.warnings = plan, plan.settings, plan.warnings
        #: What the log says of the data.
        self.notes: list[str] = []
        #: Fields of a model that the task alone knows.
        self.task_fields: dict[str, Any] = {}
        #: Keys of the report that it has of the data.
        self.counts: dict[str, Any] = {}
        self._began = time.perf_counter()
        #: C of the last fit and what the next one starts from, which may be another driver's on the
        #: same data.
        self.warm: tuple[float, Start] | None = None
        #: True if Ctrl-C came in a fit, which may have met its target just then.
        self.interrupted = False

    @one_blas_thread()
    def fit(
        self, cost: Cost, example_cost: Cost, observe: Observe = None, state: State | None = None
    ) -> Outcome:
        """Trains to the stopping rule, a limit or an interrupt; the best model so far is returned
        in every case.

        The costs are those of Settings, in place of the ones there; `observe` is called with every
        Progress and the objective. `state` is what `state` gave in a fit of another driver on the
        same examples and settings: this fit goes on from there and ends in the same bytes. Raises
        UsageError, TrainingError and MemoryLimitError.
        """
        plan, began = self.plan, time.perf_counter()
        objective = plan.units.objective(cost, example_cost)
        reached: Any = None
        if state is not None:
            reached = schemas.checked(state, schemas.fields(found=schemas.anything))["found"]
            plan.check_found(reached)
        while not isinstance(reached, Outcome):
            try:
                self._found, self._stage = reached, plan.next(objective, reached)
                reached = plan.finish(objective, reached, self._run(self._stage, observe, state))
            except Exception as error:
                explained = plan.failure(error)
                if explained is error:
                    raise
                raise explained from None
            state = None
        reached.model = replace(reached.model, **self.task_fields)
        reached.seconds = time.perf_counter() - began
        return reached

    def state(self) -> State:
        """The state of the present fit; to be called by its observer."""
        return {
            "stage": self._stage.name,
            "found": self._found,
            **self._present.state(),
        }

    def tell(self, progress: Progress) -> str:
        """The text that the progress bar shows first, before the gap."""
        return ""

    def underfit_warnings(self, outcome: Outcome) -> list[str]:
        """See Units.underfit_warnings."""
        return self.plan.units.underfit_warnings(outcome, self.settings.slack_norm)

    @property
    def run(self) -> Any:
        """The run of the last stage."""
        return self._present.run

    def is_late(self) -> bool:
        """Decide if the time for all fits is over."""
        left = self._time_left()
        return left is not None and left <= 0

    def _time_left(self) -> float | None:
        """Seconds that are left for all fits; None without a limit."""
        limit = self.settings.time_limit
        return None if limit is None else self._began + limit - time.perf_counter()

    def _run(self, stage: Stage, observe: Observe, state: State | None) -> Ended:
        """Runs a stage to its end."""
        C, start = stage.problem.C, stage.start if state is None else None
        if state is not None:
            schemas.checked(state, schemas.fields(stage=schemas.text(stage.name)))
        elif stage.warm and self.warm is not None:
            # w and the box dual scale alike, so both the point and its multiple count
            last_C, start = self.warm
            (w,) = start.points
            start = start._replace(points=(w, stage.problem.space.blend(C / last_C, w, 0.0, w)))
        self._present = followed = Watched(stage.solver, stage.problem, start, state)
        progress, stopped_by = self._follow(followed, stage.objective, observe)
        run = followed.run
        self.plan.check_finite(progress.primal)
        if stage.warm:
            self.warm = C, Start(run.bundle, (progress.solution(),), run.fractions)
        return Ended(stage, run, progress, stopped_by or run.ended_by)

    @timed_part(QP)
    def _follow(
        self, followed: Watched, objective: Objective, observe: Observe
    ) -> tuple[Progress, str | None]:
        """The last Progress of a run, and "limit", "interrupt" or "rounding" (no progress) if one
        of them ended it. Raises KeyboardInterrupt before the first Progress."""
        most, ended, over = self.settings.max_iterations, None, None
        try:
            with watched_signals(), contextlib.ExitStack() as stack:
                for progress in followed:
                    if over is not None:
                        over.ends_python = False
                    if observe is not None:
                        observe(progress, objective)
                    if self.is_late() or (most is not None and progress.iteration >= most):
                        ended = "limit"
                        break
                    if over is None:  # a step to keep: from here on the time ends others midway
                        over = stack.enter_context(deadline(self._time_left()))
                    over.ends_python = True
                else:
                    ended = "rounding" if followed.idle else None
        except KeyboardInterrupt:
            if over is not None and over.passed:
                ended = "limit"
            else:
                self.interrupted, ended = True, "interrupt"
            if followed.last is None:
                raise
        assert followed.last is not None
        return followed.last, ended


@one_blas_thread()
@timed_part(INIT)
def make_driver(settings: Settings, data: Any, time_limit: float | None = None) -> Driver:
    """The driver of the plan that these settings ask for, on data as the task reads them.

    The settings are refused as `svmcut.spec.refusals.check` does. `time_limit` is in seconds for
    all fits, in place of that of the settings; 0 where they were over before. Raises UsageError for
    settings that no run can honour, DataError or TrainingError for labels or queries the loss
    cannot use, and MemoryLimitError.
    """
    check(settings)
    if isinstance(settings.gamma, str):
        from svmcut.models.kernels import resolve_gamma

        settings = replace(settings, gamma=resolve_gamma(settings.gamma, data.X))
    settings = resolve_settings(settings, data.X.n_rows, time_limit)
    plan = load(plan_of(settings.task, settings.has_kernel, settings.solver, settings.multiclass))
    return Driver(plan(data, settings))
