# SPDX-License-Identifier: BSD-3-Clause
"""Training of weights of features, for every loss of examples and of queries."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from svmcut.base.records import replace
from svmcut.base.resources import planned_memory
from svmcut.base.typing import Any
from svmcut.cutting.bundle import CutBundle
from svmcut.data.examples import Examples
from svmcut.files.output import KEPT
from svmcut.models import LinearModel
from svmcut.qp import make_qp
from svmcut.risks.free_bias import FreeBias
from svmcut.risks.protocol import LossRisk, SignedRisk
from svmcut.solvers.protocol import Problem, Start
from svmcut.spaces.rows import RowSpace
from svmcut.spec.catalog import AUTO, SOLVERS, TASKS
from svmcut.spec.entries import DUAL_CD
from svmcut.spec.parameters import Settings
from svmcut.training.certificate import in_columns, is_close, sample_nonzeros, weights_reading
from svmcut.training.driver import Ended, Plan, Stage, make_solver
from svmcut.training.gate import Part
from svmcut.training.outcome import Objective, Outcome
from svmcut.training.settings import CUTTING_PLANE, kernel_of
from svmcut.training.vectors import BoundRows, Vectors

#: Weights from which on a pass over the rows is sooner done than writing and reading a model.
MANY_WEIGHTS = 100_000


def plan_examples(examples: Examples, settings: Settings) -> Linear:
    """The plan of examples in memory."""
    return Linear(Vectors(examples, settings), settings)


class Linear(Plan):
    """One stage, which starts from the solution of the C before."""

    def __init__(self, vectors: BoundRows, settings: Settings):
        super().__init__(settings, vectors.path, vectors.units, vectors.warnings)
        self.vectors = vectors
        named = SOLVERS.get(settings.solver)
        cuts = not settings.of_scores if named is None else named.losses is None
        self.bias = settings.bias or 0.0
        self.initial = None
        if settings.initial is not None:
            from svmcut.training.checks import read_initial

            self.initial = read_initial(settings)
        self.space = vectors.space(cuts and self.initial is None)
        #: The solver's start, if known before training.
        self.start: Start | None = None

    def next(self, objective: Objective, handed: dict[str, Any] | None) -> Stage:
        """The solver of that name; of "auto" cutting planes, but for sums of losses the fastest
        certified trainer."""
        name, space = self.settings.solver, self.space
        several = self.settings.of_scores and len(TASKS[self.settings.task].auto) > 1
        if name == AUTO and self.settings.keep_multipliers:
            name = DUAL_CD
        elif name == AUTO and several:
            name = self._fastest(objective.C)
        elif name == AUTO:
            name = CUTTING_PLANE
        problem = self.vectors.problem(space, objective.C, self.stop(objective))
        solver = make_solver(name, self.settings)
        if self.settings.solver == AUTO and several:
            from svmcut.solvers.dual_cd import DualCd

            if isinstance(solver, DualCd):
                solver = replace(solver, gram_mb=planned_memory(self.settings.max_memory))
        if self.settings.keep_multipliers:  # Newton's method has none to go on with
            stays = {"stays": True} if hasattr(solver, "stays") else {"max_epochs": math.inf}
            solver = replace(solver, **stays)
        return Stage(name, solver, problem, objective, warm=True, start=self._start())

    def _fastest(self, C: float) -> str:
        """The solver that "auto" stands for, for a sum of losses."""
        from svmcut.solvers.auto import NEWTON, choose, distinct_rows

        if self.initial is not None:
            return NEWTON
        X, dim = self.space.X, self.space.dim
        mean = C * (self.vectors.units.samples / X.n_rows)
        name = choose(X.n_rows, dim, X.nnz, mean)
        hinge = self.settings.loss == TASKS[self.settings.task].loss
        if name == NEWTON and hinge and hasattr(X, "indptr"):
            return choose(distinct_rows(X), dim, X.nnz, mean)
        return name

    def _start(self) -> Start | None:
        """The weights of an old model."""
        if self.initial is None:
            return self.start
        return self.start_at(self.weights_of(self.initial))

    def start_at(self, w: NDArray, fractions: NDArray | None = None) -> Start:
        """A start at this point, and at these multipliers of the rows."""
        return Start(CutBundle(self.space, make_qp(self.settings.qp)), (w,), fractions)

    def weights_of(self, model: LinearModel) -> NDArray[np.float64]:
        """The weights of a model, of features that the data still have."""
        columns, w = self.vectors.columns, self.space.zero()
        own = np.arange(len(model.w)) if model.columns is None else model.columns
        places = (
            own if columns is None else np.minimum(np.searchsorted(columns, own), len(columns) - 1)
        )
        known = own < self.vectors.X.n_features if columns is None else columns[places] == own
        w[places[known]] = model.w[known]
        if self.bias:
            w[-1] = (0.0 - model.b) / self.bias
        return w

    def finish(self, objective: Objective, handed: dict[str, Any] | None, ended: Ended) -> Outcome:
        """The weights, with their primal as a reader of the model file gets it."""
        problem = ended.stage.problem
        if ended.stopped_by is not None:
            from svmcut.training.fallback import improve_stopped

            ended = ended._replace(progress=improve_stopped(problem, ended.progress))
        w = ended.progress.solution()
        outcome = ended.outcome(
            ended.stage.name, self.model(w, ended.progress.cuts), self.space.dot(w, w)
        )
        if ended.run.bundle is not None and not (problem.l1 or self.settings.original):
            below = ended.run.bundle.solution(problem.C)
            outcome.below = below.w, below.lower
            apart = self.space.blend(1.0, w, -1.0, below.w)
            outcome.apart = (
                outcome.primal - below.lower,
                math.sqrt(max(0.0, self.space.dot(apart, apart))),
            )
        if self.settings.keep_multipliers:
            known, n = ended.run.fractions, self.space.n_rows
            outcome.fractions = np.zeros(n) if known is None else known.copy()
        return self.judge(outcome, problem, w, ended.stopped_by)

    def judge(
        self, outcome: Outcome, problem: Problem, w: NDArray, stopped_by: str | None
    ) -> Outcome:
        """The outcome whose model has these weights, with the verdict of the gate."""
        model: Any = outcome.model
        original = self.settings.original
        outcome.details |= self.vectors.details()
        if problem.l1:
            outcome.details["features_used"] = int(np.count_nonzero(self.space.split(w)[0]))
        rise = self.vectors.sensitivity(self.space, w)
        if isinstance(problem.risk, FreeBias):
            rise += problem.risk.bias_sensitivity(model.b)
        if isinstance(self.space, RowSpace):
            problem = replace(problem, space=self.space.features)
        reading = weights_reading(
            self._weights, problem, outcome, rise, original, lambda: self._part(model)
        )
        if isinstance(problem.risk, FreeBias):
            reading = reading._replace(value=lambda kept: self._at_own_bias(kept, problem))
        elif len(model.w) > MANY_WEIGHTS:
            reading = reading._replace(tighter_change_bound=self._change_bound(problem, model))
        return outcome.judge(problem.stop, stopped_by, reading=reading)

    def _at_own_bias(self, model: Any, problem: Problem) -> float:
        """The primal of a model whose bias is free, at the one it has."""
        w = self._weights(model)
        s = problem.space.scores(w) - model.b
        return problem.penalty(w) + problem.C * problem.risk.risk.linearize(s).value

    def _change_bound(self, problem: Problem, model: Any) -> Callable[[], float] | None:
        """See `Reading.tighter_change_bound`; for R a sum over rows in memory of a loss of one
        score each."""
        vectors = self.vectors
        if not (isinstance(vectors, Vectors) and isinstance(problem.risk, SignedRisk | LossRisk)):
            return None

        def change() -> float:
            w = self._weights(model)
            rise = vectors.row_sensitivity(problem.space, w, KEPT)
            return float(problem.C * rise + 2 * KEPT * problem.penalty(w))

        return change

    def _weights(self, model: Any) -> NDArray[np.float64]:
        """The weights of the features trained on, then that of the constant feature, a model's
        threshold."""
        w = in_columns(model.w, model.columns, self.vectors.columns, self.vectors.X.n_features)
        return np.append(w, (0.0 - model.b) / self.bias) if self.bias else w

    def _part(self, model: Any) -> Part:
        """Some of the weights of a model."""
        places = sample_nonzeros(model.w)
        columns = places.astype(np.int32) if model.columns is None else model.columns[places]
        part = replace(model, w=model.w[places], columns=columns)

        def holds(kept: Any) -> bool:
            return is_close(
                in_columns(kept.w, kept.columns, columns, len(columns)), part.w
            ) and is_close(kept.b, part.b)

        return Part(part, holds)

    def model(self, w, cuts: int) -> LinearModel:
        """The model of weights in the plan's space."""
        weights, constant = self.space.split(w)
        risk = getattr(self.vectors, "risk", None)
        if isinstance(risk, FreeBias):
            constant = risk.bias(self.space.scores(w))
        # the originals state one more than the number of their features, the constant one among
        # them
        highest = self.vectors.examples.X.n_features + (self.bias != 0) + 1
        return LinearModel(
            weights, 0.0 - constant, self.vectors.columns, kernel_of(self.settings), highest, cuts
        )
