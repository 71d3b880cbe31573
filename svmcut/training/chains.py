# SPDX-License-Identifier: BSD-3-Clause
"""Training of chains on features."""

from __future__ import annotations

import numpy as np

from svmcut.data.examples import Sequences
from svmcut.errors import UsageError
from svmcut.models import ChainModel, ChainShape
from svmcut.risks.chain import ChainRisk, SequenceSum
from svmcut.risks.chain_scaled import SquaredSequences, slack_rescaled, square_slack, zero_one
from svmcut.solvers.auto import choose_chain
from svmcut.spaces.chain import ChainSpace
from svmcut.spec.catalog import losses
from svmcut.spec.parameters import Settings
from svmcut.spec.trainers import variant
from svmcut.structured.chain import ChainSequences
from svmcut.training.certificate import in_columns
from svmcut.training.checks import (
    LARGEST_INDEX,
    check_counting,
    check_memory,
    check_parts,
    checked_weights,
)
from svmcut.training.settings import CUTTING_PLANE, kernel_of
from svmcut.training.structured import Structured
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.training.outcome import Objective, Outcome
    from svmcut.training.stage import Ended


class Chains(Structured):
    """Chains over the tokens of sequences.

    Raises
    ------
    UsageError
        When a model file could not number its weights.
    MemoryLimitError
    """

    warm = True

    def __init__(self, sequences: Sequences, settings: Settings):
        self._examples, s = sequences.tokens().checked(), settings
        self._loss = losses(s.task)[s.loss or ""].number or 0  # 0 for sequences with any wrong tag
        path = sequences.source.path
        n_tags = int(sequences.tags.max()) + 1
        features = self._examples.X.n_features
        if index_limit(ChainShape(n_tags, features, s.transitions, s.emissions)) > LARGEST_INDEX:
            raise UsageError(
                "{}: {} tags, {} features and these orders give weights above number {} of a "
                "model file; lower "
                "{transitions} or {emissions}, or number features and tags without gaps",
                path,
                n_tags,
                features,
                LARGEST_INDEX,
            )
        check_parts(path, s.parts, n_tags, "tags")
        names = sequences.names  # hashes are spread over all columns
        hashed = names is not None and names.hash_bits > 0
        X, self._columns = self._examples.X.compact(always=hashed)
        weights = checked_weights(sequences)
        known = sequences.source, weights, names
        sequences = Sequences(X, sequences.indptr, sequences.tags, *known)
        shape = ChainShape(n_tags, X.n_features, s.transitions, s.emissions)
        check_memory(path, shape.dim, s.max_memory)
        super().__init__(s, path, ChainSequences(sequences, shape, s.threads, s.beam), [])
        self._check_counting()

    def choose(self) -> str:
        shape = self.model.shape
        if variant(self.settings):
            return CUTTING_PLANE
        first_order = (shape.transition_order, shape.emission_order) == (1, 0)
        return choose_chain(shape.n_tags, self.model.parts[-1] / self.model.n_samples, first_order)

    def cuts(self) -> tuple[SequenceSum, ChainSpace]:
        model, s = self.model, self.settings
        check_memory(self.path, model.chains.n_tokens * model.shape.node_size, s.max_memory)
        return self._risk(), ChainSpace(model.sequences.X, model.chains, s.threads)

    def made(self, w) -> ChainModel:
        kernel, highest = kernel_of(self.settings), self._examples.X.n_features
        return ChainModel(w, self.model.shape, kernel, self._columns, highest, self._loss)

    def finish(self, objective: Objective, handed: dict[str, Any] | None, ended: Ended) -> Outcome:
        """As Structured.finish; with `quick` the model has probabilities."""
        outcome = super().finish(objective, handed, ended)
        if self.settings.quick and ended.run.is_whole:
            from svmcut.training.temperature import temper

            temper(outcome, ended.run, self.path, self.settings.threads)
        return outcome

    def weights(self, model: ChainModel) -> NDArray[np.float64]:
        """Those of a model in the columns of training."""
        shape, own = model.shape, self.model.shape
        emissions = model.w[: shape.n_features * shape.node_size].reshape(
            shape.n_features, shape.node_size
        )
        placed = in_columns(emissions, model.columns, self._columns, own.n_features)
        return np.concatenate([placed.ravel(), model.w[emissions.size :]])

    def _risk(self) -> SequenceSum:
        s = self.settings
        chains = self.model.chains
        threads = self.settings.threads
        v = self.model.weights
        longest = int(np.diff(self.model.parts).max())
        if self._loss == 0:
            risk = zero_one(chains, threads, v)
            return SquaredSequences(risk) if s.slack_norm == 2 else risk
        if s.slack_norm == 2:
            return square_slack(chains, longest, s.rescaling, threads, v)
        if s.rescaling == "slack":
            return slack_rescaled(chains, longest, threads, v)
        return ChainRisk(chains, self.model.beam, threads, v)

    def _check_counting(self) -> None:
        """Refuses states of the longest sequences, one a thread, that do not fit."""
        s, shape, option = self.settings, self.model.shape, variant(self.settings)
        if option is None:
            return
        lengths = np.sort(np.diff(self.model.parts))[::-1][: s.threads]
        states = shape.n_tags ** max(0, shape.transition_order - 1) * shape.stride
        counts = 2.0 * lengths if self._loss == 0 else 0.5 * lengths * (lengths + 3.0)
        check_counting(self.path, counts * states, lengths, option, s.max_memory)


def index_limit(shape: ChainShape) -> int:
    """One more than the largest index of a weight in a model file of svm_hmm."""
    K, D = shape.n_tags, shape.n_features
    transitions = sum(K ** (order + 1) for order in range(shape.transition_order + 1))
    return transitions + 1 + D * (K * (K + 1 if shape.emission_order else 1) + 1) + 1
