# SPDX-License-Identifier: BSD-3-Clause
"""Training of label sets: the part of svmcut.training that knows them. No algorithm inside."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from svmcut.data import MultilabelExamples
from svmcut.errors import MemoryLimitError
from svmcut.machine import available_memory
from svmcut.models import MultilabelModel
from svmcut.risks.multilabel import LabelRisk
from svmcut.solvers.auto import choose_labels
from svmcut.spaces.multilabel import LabelSpace
from svmcut.structured.multilabel import LabelSets
from svmcut.train_structured import StructuredTrainer
from svmcut.training import Config


class MultilabelTrainer(StructuredTrainer):
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

    examples: MultilabelExamples
    model: LabelSets
    _task = "multilabel"

    def __init__(self, examples: MultilabelExamples, config: Config, pairs: bool = True):
        examples = examples.checked()
        self.examples, self.config = examples, config
        X, self._columns = examples.X.compact()
        check_memory(examples, X.n_features, pairs, config.max_memory)
        self.model = LabelSets(replace(examples, X=X), config.bias, pairs, config.threads)
        self.warnings: list[str] = []
        if not len(examples.names):
            self.warnings.append(f"no example of {examples.source.path} has a label; the model will predict none")
        self._began = time.perf_counter()
        self._start = None

    def _choose(self, C: float) -> str:
        return choose_labels(self.model.n_labels, self.model.pairs)

    def _cuts(self):
        model, threads = self.model, self.config.threads
        n_pairs = model.dim - model.n_rows * model.n_labels
        space = LabelSpace(model.examples.X, model.n_labels, n_pairs, model.bias, threads)
        return LabelRisk(self.examples.gold(), model.pairs, threads), space

    def _restore(self, kept, w) -> None:
        if self.model.bias:
            self.model.split(kept)[0][-1] = self.model.split(w)[0][-1]

    def _model(self, w, cuts: int) -> MultilabelModel:
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
