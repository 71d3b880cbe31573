# SPDX-License-Identifier: BSD-3-Clause
"""Training with kernels: the same interface as train.Trainer, models that are sums over support vectors."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from svmcut import units
from svmcut.data import Examples
from svmcut.errors import MemoryLimitError, TrainingError
from svmcut.models import KernelModel
from svmcut.outcomes import one_cost_is_required
from svmcut.parameters import KKT_TOLERANCE
from svmcut.solvers.protocol import Progress, Start, StoppingRule, Watch
from svmcut.solvers.smo import KernelProblem, Smo, SmoRun
from svmcut.training import Config, Objective, Outcome, follow, label_warnings, late

#: Rows up to which the digits of a model file are always looked at in full; beyond, some rows are looked at first.
SCREENED = 2000


class KernelTrainer:
    """Trains a kernel machine for one C after the other; each solution starts from the last.

    Parameters
    ----------
    examples : Examples
    config : Config
        epsilon is the tolerance of the KKT conditions, KKT_TOLERANCE where it is None.

    Notes
    -----
    "auto" is smo without bias, the objective of svm_perf; smo by name has an unregularised bias unless free_bias is
    False, the objective of LIBSVM and svm_light.
    """

    risk = None

    def __init__(self, examples: Examples, config: Config):
        examples = examples.checked()
        self.examples, self.config = examples, config
        self._X, self._columns = examples.X.compact()
        self._y = np.where(examples.y > 0, 1.0, -1.0)
        self.warnings = label_warnings(examples)
        self._name = "smo" if config.solver == "auto" else config.solver
        free_bias = config.solver != "auto" if config.free_bias is None else config.free_bias
        self._solver = Smo(free_bias, config.cache_mb, config.threads, config.max_iterations)
        self._run: SmoRun | None = None
        self._began = time.perf_counter()

    def objective(self, cost: float | None, example_cost: float | None) -> Objective:
        """C as the weight of one example's loss, and in svm_perf's unit; exactly one of the two is given.

        Raises
        ------
        UsageError
        """
        n, epsilon = len(self.examples), self.config.epsilon
        epsilon = KKT_TOLERANCE if epsilon is None else epsilon
        if cost is not None and example_cost is None:
            return Objective(None, units.example_cost_from_perf(cost, n), cost, units.PERCENT / n, epsilon)
        if example_cost is not None and cost is None:
            return Objective(
                None, example_cost, units.perf_cost_from_example(example_cost, n), units.PERCENT / n, epsilon
            )
        raise one_cost_is_required()

    def fit(
        self,
        cost: float | None,
        example_cost: float | None,
        observe: Callable[[Progress, Objective], None] | None = None,
        state: dict[str, Any] | None = None,
    ) -> Outcome:
        """Trains to the stopping rule, a limit or an interrupt; primal and dual are those of the model in every case.

        Raises
        ------
        UsageError, TrainingError, MemoryLimitError
        """
        config, path = self.config, self.examples.source.path
        objective = self.objective(cost, example_cost)
        problem = KernelProblem(self._X, self._y, config.kernel, objective.C, objective.epsilon, config.gap)
        began = time.perf_counter()
        try:
            self._run = run = self._solver.start(problem, Start(run=self._run), state and state["solver"])
            self._watch = Watch.of(self._solver, state and state["watch"])
            progress, stopped_by = follow(run, config, self._began, objective, observe, self._watch)
            if stopped_by is not None:
                progress = run.settle()
        except MemoryError as error:
            raise MemoryLimitError(f"{path}: {error}") from None
        if progress is None or not np.isfinite(progress.primal):
            raise TrainingError(f"{path}: kernel values are not finite; scale the features")
        expansion = progress.solution()
        outcome = Outcome(
            model=self._model(expansion),
            objective=objective,
            progress=progress,
            solver=self._name,
            seconds=0.0,
            longest_cut=0.0,
            norm=float(np.sqrt(max(0.0, 2 * (progress.primal - objective.C * progress.risk)))),
            multipliers=expansion.beta,
            kernel_evaluations=progress.evaluations,
        )
        if not config.kernel.is_definite and progress.gap < 0:
            outcome.certificate = progress.primal, np.nan
        rule = self._rule(objective)
        outcome.primal_of_file = self._primal_of_file(outcome, rule)
        outcome.seconds = time.perf_counter() - began
        return outcome.judge(rule, stopped_by)

    def _rule(self, objective: Objective) -> StoppingRule:
        """--gap, or the gap that the tolerance of the KKT conditions allows where they hold; none where they do not."""
        if self.config.gap is not None:
            return StoppingRule(0.0, self.config.gap)
        holds = self._run is not None and self._run.violation() <= objective.epsilon
        return StoppingRule(objective.C * objective.epsilon * 2 * len(self._y) if holds else -np.inf)

    def _primal_of_file(self, outcome: Outcome, rule: StoppingRule) -> float | None:
        """The primal of the model as a reader of its file gets it; None where no digit can matter."""
        from svmcut.files.rounding import change_in_file, model_read_back

        model, C = outcome.model, outcome.objective.C
        assert isinstance(model, KernelModel)
        kept = model_read_back(model)
        change, offset = change_in_file(model, kept)
        most = C * len(self._y) * (change + offset) + change * float(np.abs(model.alpha).sum())
        room = 0.01 * abs(rule.target(outcome.primal))
        if most <= room or (len(self._y) > SCREENED and self._typical_change(model, kept) * C <= room):
            return None
        threads = self.config.threads
        with np.errstate(over="ignore", invalid="ignore"):
            s = kept.kernel.expansion(self._X, kept.support, kept.alpha, kept.b, threads)
            own = kept.kernel.expansion(kept.support, kept.support, kept.alpha, 0.0, threads)
            return float(0.5 * (kept.alpha @ own) + C * np.maximum(0.0, 1.0 - self._y * s).sum())

    def _typical_change(self, model: KernelModel, kept: KernelModel) -> float:
        """Eight times the change of the losses if each were that of the worst of some SCREENED / 8 rows."""
        rows = self._X.take(np.arange(0, len(self._y), 8 * len(self._y) // SCREENED + 1))
        a, b = (each.kernel.expansion(rows, each.support, each.alpha, each.b, self.config.threads)
                for each in (model, kept))  # fmt: skip
        with np.errstate(invalid="ignore", over="ignore"):
            return float(8 * len(self._y) * np.max(np.abs(a - b)))

    def late(self) -> bool:
        """As Trainer.late."""
        return late(self.config, self._began)

    def target(self, objective: Objective, primal: float) -> float:
        """As Trainer.target."""
        return math.nan if self.config.gap is None else self.config.gap * primal

    def state(self) -> dict[str, Any]:
        """As Trainer.state."""
        return {"solver": self._run and self._run.state(), "watch": self._watch and self._watch.state()}

    def _model(self, expansion) -> KernelModel:
        rows = np.flatnonzero(expansion.beta)
        return KernelModel(
            self.config.kernel, self._X.take(rows), expansion.beta[rows], 0.0 - expansion.b, self._columns,
            self.examples.X.n_features, len(self.examples),
        )  # fmt: skip
