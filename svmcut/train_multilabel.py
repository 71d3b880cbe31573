# SPDX-License-Identifier: BSD-3-Clause
"""Training of label sets: the part of svmcut.train that knows them. No algorithm inside."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from svmcut.data import MultilabelExamples
from svmcut.errors import MemoryLimitError
from svmcut.machine import available_memory
from svmcut.models import MultilabelModel
from svmcut.outcomes import objective_of_sum
from svmcut.risks.multilabel import LabelRisk
from svmcut.solvers.auto import choose_labels
from svmcut.solvers.protocol import Problem, Progress, StoppingRule
from svmcut.spaces.multilabel import LabelSpace
from svmcut.structured.multilabel import LabelSets
from svmcut.structured.protocol import StructuredProblem
from svmcut.train import Config, Objective, Outcome, Trainer, make_solver

SOLVERS = {
    "gdmm": ("svmcut.solvers.gdmm", "Gdmm"),
    "soft-bcfw": ("svmcut.solvers.soft_bcfw", "SoftBcfw"),
    "bcfw": ("svmcut.solvers.label_blocks", "LabelBcfw"),
    "ssg": ("svmcut.solvers.label_blocks", "LabelSsg"),
    "cutting-plane": ("svmcut.solvers.cutting_plane", "CuttingPlane"),
}


class MultilabelTrainer(Trainer):
    """Trains weights of labels and of their pairs on one set of examples, for one C after the other.

    Parameters
    ----------
    examples : MultilabelExamples
    config : Config
        loss, p, rescaling and slack_norm are not read.
    pairs : bool
        Whether pairs of labels have weights; without, every label is a support vector machine of its own.

    Raises
    ------
    MemoryLimitError
    """

    def __init__(self, examples: MultilabelExamples, config: Config, pairs: bool = True):
        self.examples, self.config = examples, config
        X, self._columns = examples.X.compact()
        check_memory(examples, X.n_features, pairs, config.max_memory)
        self.model = LabelSets(replace(examples, X=X), config.bias, pairs, config.threads)
        self.warnings: list[str] = []
        if not len(examples.names):
            self.warnings.append(f"no example of {examples.source.path} has a label; the model will predict none")
        self._began = time.perf_counter()

    def objective(self, cost: float | None, example_cost: float | None) -> Objective:
        """C per example of -c, (c/n) times the sum of wrong labels, or of --example-cost; exactly one is given.

        Raises
        ------
        UsageError
            For both or none.
        """
        return objective_of_sum(cost, example_cost, self.model.n_samples, self.config.epsilon)

    def fit(
        self,
        cost: float | None,
        example_cost: float | None,
        observe: Callable[[Progress, Objective], None] | None = None,
        state: dict[str, Any] | None = None,
    ) -> Outcome:
        """As Trainer.fit."""
        config, model = self.config, self.model
        objective = self.objective(cost, example_cost)
        rule = StoppingRule(objective.c * objective.epsilon, config.gap)
        name = choose_labels(model.n_labels, model.pairs) if config.solver == "auto" else config.solver
        solver = make_solver(name, config.seed, SOLVERS)
        began = time.perf_counter()
        problem = StructuredProblem(model, objective.C, rule)
        if name == "cutting-plane":
            n_pairs = model.dim - model.n_rows * model.n_labels
            risk = LabelRisk(self.examples.gold(), model.pairs, config.threads)
            space = LabelSpace(model.examples.X, model.n_labels, n_pairs, model.bias, config.threads)
            problem = Problem(risk, space, objective.C, rule)
        progress, stopped_by = self._run(solver, problem, objective, observe, None, state)
        converged = rule.met(progress.primal, progress.dual)
        w = progress.solution()
        return Outcome(
            model=self._label_model(w),
            objective=objective,
            progress=progress,
            solver=name,
            converged=converged,
            stopped_by=None if converged else stopped_by or "rounding",
            seconds=time.perf_counter() - began,
            longest_cut=float("nan"),
            norm=float(np.sqrt(w @ w)),
            multipliers=np.zeros(0),
        )

    def _label_model(self, w) -> MultilabelModel:
        W, v = self.model.split(w)
        constant = np.zeros(self.model.n_labels)
        if self.model.bias:
            W, constant = W[:-1], self.model.bias * W[-1]
        first, second = np.nonzero(np.triu(v, 1)) if v is not None else (np.zeros(0, int), np.zeros(0, int))
        weights = v[first, second] if v is not None else np.zeros(0)
        return MultilabelModel(
            W, constant, first.astype(np.int32), second.astype(np.int32), weights, self.examples.names, self._columns
        )


def check_memory(examples: MultilabelExamples, n_features: int, pairs: bool, limit_mb: float | None) -> None:
    """Refuses a set whose weights would not fit.

    Raises
    ------
    MemoryLimitError
        When a few copies of the weights and one number a label and example need more than the limit, or than the
        machine has.
    """
    K = len(examples.names)
    need = 8e-6 * K * (4 * n_features + len(examples) + pairs * 4 * K)
    available = limit_mb if limit_mb is not None else available_memory()
    if available is not None and need > available:
        raise MemoryLimitError(
            f"{examples.source.path}: training {K} labels on {n_features} features and {len(examples)} examples needs "
            f"about {need:,.0f} MB and {available:,.0f} MB are available"
        )
