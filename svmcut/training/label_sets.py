# SPDX-License-Identifier: BSD-3-Clause
"""Training of label sets: weights of labels and of their pairs."""

from __future__ import annotations

import numpy as np

from svmcut.data.examples import MultilabelExamples
from svmcut.messages import Message
from svmcut.models import MultilabelModel
from svmcut.risks.hinge import HingeRisk
from svmcut.risks.multilabel import LabelRisk
from svmcut.risks.one_vs_rest import OneVsRestRisk
from svmcut.solvers.auto import DUAL_CD, choose_labels
from svmcut.solvers.one_vs_rest import OneVsRest, OneVsRestRun
from svmcut.solvers.protocol import Problem
from svmcut.spaces.multilabel import LabelSpace
from svmcut.spec.catalog import AUTO, SOLVERS
from svmcut.spec.parameters import Settings
from svmcut.spec.records import replace
from svmcut.structured.multilabel import LabelSets
from svmcut.training.certificate import in_columns, part_of_features, rise_of_scores
from svmcut.training.checks import check_label_memory, check_parts, checked_weights
from svmcut.training.gate import Part
from svmcut.training.outcome import Objective
from svmcut.training.stage import Stage, make_solver
from svmcut.training.structured import Structured
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.training.outcome import Outcome
    from svmcut.training.stage import Ended


class LabelSetPlan(Structured):
    """Label sets; without pairs of labels, every label is a support vector machine of its own.

    Raises
    ------
    MemoryLimitError
    """

    warm = False

    def __init__(self, examples: MultilabelExamples, settings: Settings):
        self._examples, s = examples.checked(), settings
        path, pairs = examples.source.path, s.pairs == "all"
        X, self._columns = self._examples.X.compact()
        check_parts(path, s.parts, len(examples.names), "labels")
        check_label_memory(examples, X.n_features, pairs, s.max_memory)
        none = Message("no example of {} has a label; the model will predict none", path)
        warnings: list[str] = [] if len(examples.names) else [none]
        rows = replace(self._examples, X=X, weights=checked_weights(examples))
        model = LabelSets(rows, s.bias or 0.0, pairs, s.threads)
        super().__init__(s, path, model, warnings)

    def choose(self) -> str:
        return choose_labels(self.model.n_labels)

    def next(self, objective: Objective, handed: dict[str, Any] | None) -> Stage:
        """Without pairs labels are machines of their own, by a solver of two classes."""
        s, model = self.settings, self.model
        name = DUAL_CD if s.solver == AUTO and not model.pairs else s.solver
        if name == AUTO or s.task not in SOLVERS[name].binary or not model.n_labels:
            return super().next(objective, handed)
        risk = OneVsRestRisk(HingeRisk(), self._examples.gold(), s.threads, model.weights)
        space = LabelSpace(model.examples.X, model.n_labels, 0, model.bias, s.threads)
        problem = Problem(risk, space, objective.C, self.stop(objective), s.qp)
        return Stage(name, OneVsRest(make_solver(name, s)), problem, objective)

    def cuts(self) -> tuple[LabelRisk, LabelSpace]:
        model, threads = self.model, self.settings.threads
        n_pairs = model.dim - model.n_rows * model.n_labels
        space = LabelSpace(model.examples.X, model.n_labels, n_pairs, model.bias, threads)
        return LabelRisk(self._examples.gold(), model.pairs, threads, model.weights), space

    def made(self, w) -> MultilabelModel:
        W, v = self.model.split(w)
        constant = np.zeros(self.model.n_labels)
        if self.model.bias:
            W, constant = W[:-1], self.model.bias * W[-1]
        first, second = (
            np.nonzero(np.triu(v, 1)) if v is not None else (np.zeros(0, int), np.zeros(0, int))
        )
        weights = v[first, second] if v is not None else np.zeros(0)
        return MultilabelModel(
            W,
            constant,
            first.astype(np.int32),
            second.astype(np.int32),
            weights,
            self._examples.names,
            self._columns,
            counts=np.bincount(self._examples.labels, minlength=len(self._examples.names)),
            n_rows=len(self._examples),
        )

    def weights(self, model: MultilabelModel) -> NDArray[np.float64]:
        """Those of a model in the columns of training."""
        own, v = self.model, None
        W = in_columns(model.W, model.columns, self._columns, own.examples.X.n_features)
        if own.bias:
            W = np.vstack([W, model.constant / own.bias])
        if own.pairs:
            v = np.zeros((own.n_labels, own.n_labels))
            v[model.first, model.second] = model.v
        return own.join(W, v)

    def part(self, model: MultilabelModel) -> Part:
        """The weights of some features."""
        return part_of_features(model, self.model.n_labels)

    def rise(self, w, problem: Problem) -> float:
        """Known where labels are machines of their own."""
        if not isinstance(problem.risk, OneVsRestRisk):
            return super().rise(w, problem)
        return problem.risk.steepest * rise_of_scores(
            problem.space, w, self.model.n_labels, self.model.weights, True
        )

    def finish(self, objective: Objective, handed: dict[str, Any] | None, ended: Ended) -> Outcome:
        """As Structured.finish; a model without the weights of pairs that it was to have says
        so."""
        outcome = super().finish(objective, handed, ended)
        if isinstance(ended.run, OneVsRestRun):
            outcome.radii = ended.run.radii()
        v = self.model.split(ended.progress.solution())[1]
        if v is not None and len(v) > 1 and not v.any():
            outcome.warnings.append(
                Message(
                    "the best model met has no weights of pairs; lower {gap}, give more time, or "
                    "{pairs=none} for a "
                    "run without them"
                )
            )
        return outcome
