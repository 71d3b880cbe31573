# SPDX-License-Identifier: BSD-3-Clause
"""The one driver of training: stages, limits, signals, warm starts along a path of C, resumed runs,
outcomes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

from svmcut._native.interrupt import deadline, watched_signals
from svmcut.base.records import replace
from svmcut.base.resources import INIT, QP, one_blas_thread, timed_part
from svmcut.base.typing import Any
from svmcut.solvers.compose import Watched
from svmcut.solvers.protocol import Progress, Start, State
from svmcut.spec import schemas
from svmcut.spec.catalog import load, plan_of
from svmcut.spec.parameters import Settings
from svmcut.spec.refusals import check
from svmcut.training.outcome import Objective, Outcome
from svmcut.training.settings import resolve_settings
from svmcut.training.stage import Ended, Plan, Stage

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
