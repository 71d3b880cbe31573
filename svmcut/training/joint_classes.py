# SPDX-License-Identifier: BSD-3-Clause
"""Training of classes by functions of a kernel, all at once after Crammer and Singer.

    min  1/2 sum_k |f_k|^2 + C sum_i v_i max_k ([k != y_i] + f_k(x_i) - f_y(x_i)),        y = y_i

by dual ascent over blocks of rows, or as svmcut.training.emissions on sequences of one token,
without transitions.
"""

from __future__ import annotations

import numpy as np

from svmcut.data.examples import Examples, Sequences
from svmcut.data.labels import distinct
from svmcut.models import JointKernelModel
from svmcut.resources import planned_memory
from svmcut.risks.chain import ChainRisk, SequenceSum
from svmcut.risks.chain_scaled import SquaredSequences
from svmcut.risks.class_costs import ClassCostRisk, TokenCostRisk, squared_differences
from svmcut.risks.multiclass import CrammerSingerRisk
from svmcut.risks.weights import total
from svmcut.solvers.class_blocks import ClassBlocks
from svmcut.solvers.protocol import Problem
from svmcut.spaces.kernel_chain import CachedRows
from svmcut.spaces.kernel_classes import ClassFunctions
from svmcut.spec.catalog import CUTTING_PLANE, JOINT
from svmcut.spec.parameters import Settings
from svmcut.spec.records import replace
from svmcut.training.checks import check_class_numbers, checked_weights, class_warnings
from svmcut.training.emissions import BUDGET, FunctionsPlan
from svmcut.training.gate import Part, Reading
from svmcut.training.multiclass import classes_of, unit_of, units_of
from svmcut.training.outcome import Objective, Outcome
from svmcut.training.settings import SMO_ROWS
from svmcut.training.stage import Ended, Stage
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Support vectors that the gate writes and reads back where the digits of the file cannot matter.
_SAMPLED = 100
#: Tables of alphas or scores that dual ascent holds at its looks.
_TABLES = 12
#: No score that a reader forms differs from that of training by more than this part of the sizes it
#: adds up.
_SUMMED = 1e-12


class JointPlan(FunctionsPlan):
    """One stage, as of FunctionsPlan, which raises what that does."""

    objects = "examples", "classes"

    def __init__(self, examples: Examples, settings: Settings):
        rows, s, path, n = examples.checked(), settings, examples.source.path, len(examples)
        self.names, classes = classes_of(rows, s.original)
        K, places, v = len(self.names), classes.astype(np.int32), checked_weights(rows)
        check_class_numbers(path, K, rows.X.n_features)
        tokens = Sequences(rows.X, np.arange(n + 1), places, rows.source, v)
        _, _, self._written, self._loss = unit_of(s)
        super().__init__(tokens, s, units_of(s, total(v, n), n))
        self.warnings = class_warnings(path, n, self.names) + self.warnings
        if not s.is_usual:
            self._risk = self._costed(places)
        if self.solver == JOINT[0]:
            self._classes = CrammerSingerRisk(places, K, s.threads, tokens.weights)
            self.space = ClassFunctions(self._cached(), K)

    def _costed(self, places: NDArray[np.int32]) -> SequenceSum:
        """The risk where it is not the plain one of a loss of 1 for every mistake."""
        s, v = self.settings, self._risk.weights
        risk: SequenceSum = ChainRisk(self._labellings.chains, 0, s.threads, v)
        if self._loss is not None:
            costs = ClassCostRisk(
                places, squared_differences(self.names, places), s.rescaling, s.slack_norm
            )
            risk = TokenCostRisk(self._labellings.chains, costs, v)
        return risk if s.slack_norm == 1 else SquaredSequences(risk)

    def next(self, objective: Objective, handed: dict[str, Any] | None) -> Stage:
        if self.solver != JOINT[0]:
            return super().next(objective, handed)
        problem = Problem(
            self._classes, self.space, objective.C, self.stop(objective), self.settings.qp
        )
        return Stage(self.solver, ClassBlocks(), problem, objective, warm=True)

    def finish(self, objective: Objective, handed: dict[str, Any] | None, ended: Ended) -> Outcome:
        if self.solver == JOINT[0] and (
            ended.stopped_by is not None or ended.run.bundle is not None
        ):
            ended = ended._replace(progress=ended.run.settled(ended.progress))
        outcome = super().finish(objective, handed, ended)
        outcome.multipliers = self.units.original * outcome.multipliers
        return outcome

    def reading(self, outcome: Outcome, objective: Objective) -> Reading:
        """The programs with the originals' names write eight digits; svmcut's files have them all,
        so that rounding is that of sums."""
        model: Any = outcome.model
        original = self.settings.original
        largest = float(np.max(np.abs(self._values.diagonal), initial=0.0))
        size = np.abs(model.alpha).sum() / self._written * largest
        change = _SUMMED * size * (2 * objective.C * self._tokens + size)
        return Reading(
            lambda kept: self._value(kept, objective.C),
            np.inf if original else float(change),
            lambda: self._part(model),
            original,
            coarse=original,
        )

    def _value(self, model: Any, C: float) -> float:
        kept, threads = replace(model, alpha=model.alpha / self._written), self.settings.threads
        decisions = type(kept).printed if self.settings.original else type(kept).decisions
        s = np.zeros((len(self._examples), self._shape.stride))
        s[:, : len(self.names)] = decisions(kept, self._examples.X, threads)
        own = decisions(replace(kept, columns=None), kept.support, threads)
        classes = np.repeat(np.arange(len(kept.b)), np.diff(kept.starts))
        return (
            0.5 * float(kept.alpha @ own[kept.places, classes])
            + C * self._risk.linearize(s.ravel()).value
        )

    def _part(self, model: Any) -> Part:
        """Some of the support vectors, by their scores at some of the rows."""
        m, n = model.support.n_rows, len(self._examples)
        used, rows = (
            distinct(np.linspace(0, count - 1, min(count, _SAMPLED)).astype(np.int64))
            for count in (m, n)
        )
        alpha = np.zeros((m, len(self.names)))
        alpha[model.places, np.repeat(np.arange(len(model.b)), np.diff(model.starts))] = model.alpha
        part, X = self._of(alpha[used], used, model.support), self._examples.X.take(rows)
        expected, size = part.decisions(X), float(np.abs(part.alpha).sum())

        def holds(kept: Any) -> bool:
            largest = float(np.max(np.abs(expected), initial=0.0))
            return bool(
                np.allclose(kept.decisions(X), expected, rtol=0, atol=1e-9 * max(largest, size))
            )

        return Part(part, holds)

    def _model(self, w: Any) -> JointKernelModel:
        """The rows whose coefficients are not all 0, each once."""
        alpha: NDArray[np.float64] = w.coefficients().reshape(len(self._examples), -1)[
            :, : len(self.names)
        ]
        used = np.flatnonzero(alpha.any(axis=1))
        return self._of(self._written * alpha[used], used, self._X)

    def _needs(self, n: int) -> dict[str, float]:
        needs, size = super()._needs(n), 1e-6 * n * self._shape.n_tags
        return needs | {JOINT[0]: 8 * _TABLES * size + min(self.settings.cache_size, 8e-6 * n * n)}

    def _preferred(self, n: int, needs: dict[str, float], memory: float) -> str:
        if not self.settings.is_usual:
            return CUTTING_PLANE
        if n <= SMO_ROWS and self._kernel.is_definite and needs[JOINT[0]] <= memory:
            return JOINT[0]
        return super()._preferred(n, needs, memory)

    def _cached(self) -> CachedRows:
        """All kernel values where the memory is there, else those used last."""
        n, memory = self._values.n, planned_memory(self.settings.max_memory)
        room = min(BUDGET, memory) / 2
        return CachedRows(
            self._values, room if 8e-6 * n * n <= room else self.settings.cache_size, True
        )

    def _of(self, alpha: NDArray, used: NDArray, X: Any) -> JointKernelModel:
        K = len(self.names)
        classes, places = np.nonzero(alpha.T)
        starts = np.searchsorted(classes, np.arange(K + 1)).astype(np.int64)
        return JointKernelModel(
            self._kernel,
            X.take(used),
            starts,
            places.astype(np.int32),
            alpha[places, classes],
            np.zeros(K),
            self.names,
            False,
            self._columns,
            self._examples.X.n_features,
            len(self._examples),
            self._loss,
        )
