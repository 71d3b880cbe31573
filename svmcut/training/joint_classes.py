# SPDX-License-Identifier: BSD-3-Clause
"""Training of classes by functions of a kernel, all at once after Crammer and Singer.

    min  1/2 sum_k |f_k|^2 + C sum_i v_i max_k ([k != y_i] + f_k(x_i) - f_y(x_i)),        y = y_i

which is svmcut.training.emissions on sequences of one token, without transitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from svmcut.catalog import CUTTING_PLANE, TASKS
from svmcut.data import Examples, Sequences
from svmcut.files.rounding import expansion_read_back
from svmcut.models import JointKernelModel
from svmcut.parameters import Settings
from svmcut.records import replace
from svmcut.risks.chain import ChainRisk, SequenceSum
from svmcut.risks.chain_scaled import SquaredSequences
from svmcut.risks.class_costs import ClassCostRisk, TokenCostRisk, squared_differences
from svmcut.risks.weights import total
from svmcut.training.checks import check_class_numbers, checked_weights, class_warnings
from svmcut.training.emissions import Emissions
from svmcut.training.multiclass import unit_of
from svmcut.training.outcome import Objective, Outcome, class_units
from svmcut.training.stage import Ended

if TYPE_CHECKING:
    from numpy.typing import NDArray


class JointPlan(Emissions):
    """One stage, as of Emissions, which raises what those do."""

    objects = "examples", "classes"

    def __init__(self, examples: Examples, settings: Settings, original: bool = False):
        rows, s, path, n = examples.checked(), settings, examples.source.path, len(examples)
        self.names = np.unique(rows.y)
        if original:  # svm_multiclass's classes are 1 to the largest, with rows or without
            self.names = np.arange(1.0, self.names[-1] + 1)
        K, places = len(self.names), np.searchsorted(self.names, rows.y).astype(np.int32)
        check_class_numbers(path, K, rows.X.n_features)
        tokens = Sequences(rows.X, np.arange(n + 1), places, rows.source, checked_weights(rows))
        solver = s.solver if s.is_usual else CUTTING_PLANE
        as_tags = {"task": "sequence", "loss": TASKS["sequence"].loss, "transitions": 0, "emissions": 0, "beam": 0}
        super().__init__(tokens, replace(s, solver=solver, **as_tags))
        self.settings, self.warnings = s, class_warnings(path, len(places), self.names) + self.warnings
        margin, scale, self._written, self._loss = unit_of(s)
        self.units = class_units(s.loss or "", s.epsilon or 0.0, total(tokens.weights, n), n, margin, scale)
        if not s.is_usual:
            self._risk = self._costed(places)

    def _costed(self, places: NDArray[np.int32]) -> SequenceSum:
        """The risk where it is not the plain one of a loss of 1 for every mistake."""
        s, v = self.settings, self._risk.weights
        risk: SequenceSum = ChainRisk(self._labellings.chains, 0, s.threads, v)
        if self._loss is not None:
            costs = ClassCostRisk(places, squared_differences(self.names, places), s.rescaling, s.slack_norm)
            risk = TokenCostRisk(self._labellings.chains, costs, v)
        return risk if s.slack_norm == 1 else SquaredSequences(risk)

    def finish(self, objective: Objective, found: dict[str, Any] | None, ended: Ended) -> Outcome:
        outcome = super().finish(objective, found, ended)
        outcome.multipliers = self.units.original * outcome.multipliers
        return outcome

    def _digits_matter(self, outcome: Outcome, objective: Objective, target: float) -> bool:
        return True

    def _primal_of_file(self, w: Any, model: Any, C: float) -> float:
        kernel, support = expansion_read_back(model.kernel, model.support)
        kept = replace(model, kernel=kernel, support=support, columns=None, alpha=model.alpha / self._written)
        threads, s = self.settings.threads, np.zeros((self._X.n_rows, self._shape.stride))
        s[:, : len(self.names)] = kept.decisions(self._X, threads)
        own, classes = kept.decisions(kept.support, threads), np.repeat(np.arange(len(kept.b)), np.diff(kept.starts))
        return 0.5 * float(kept.alpha @ own[kept.places, classes]) + C * self._risk.linearize(s.ravel()).value

    def _model(self, w: Any) -> JointKernelModel:
        """The rows whose coefficients are not all 0, each once."""
        K = len(self.names)
        alpha: NDArray[np.float64] = w.coefficients().reshape(len(self._examples), -1)[:, :K]
        used = np.flatnonzero(alpha.any(axis=1))
        classes, places = np.nonzero(alpha[used].T)
        starts = np.searchsorted(classes, np.arange(K + 1)).astype(np.int64)
        weights = self._written * alpha[used][places, classes]
        return JointKernelModel(
            self._kernel, self._X.take(used), starts, places.astype(np.int32), weights, np.zeros(K), self.names, False,
            self._columns, self._examples.X.n_features, len(self._examples), self._loss,
        )  # fmt: skip
