# SPDX-License-Identifier: BSD-3-Clause
"""Training of chains: the part of svmcut.training that knows sequences. No algorithm inside."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from svmcut.checks import check_counting, check_memory
from svmcut.data import Examples, Sequences
from svmcut.errors import UsageError
from svmcut.models import ChainModel, ChainShape
from svmcut.refusals import check_beam, variant
from svmcut.risks.chain import ChainRisk, SequenceSum
from svmcut.risks.chain_scaled import SquaredSequences, slack_rescaled, squared, zero_one
from svmcut.solvers.auto import choose_chain
from svmcut.solvers.protocol import Run, Start
from svmcut.spaces.chain import ChainSpace
from svmcut.structured.chain import ChainSequences
from svmcut.train_structured import StructuredTrainer
from svmcut.training import Config

LARGEST_INDEX = 2**31 - 2


@dataclass(frozen=True, slots=True)
class ChainOrders:
    """svm_hmm's --t, --e and --b: orders of transitions and emissions, and the width of the beam (0: exact)."""

    transition: int = 1
    emission: int = 0
    beam: int = 0


def check_variant(config: Config, beam: int) -> None:
    """Refuses solvers of the plain structured hinge and beams where another risk is asked for.

    Raises
    ------
    UsageError
    """
    other = variant(config)
    if other and config.solver not in ("auto", "cutting-plane"):
        raise UsageError(
            f"solver '{config.solver}' does not train with {other}; leave out parameter 'solver' or give "
            "solver='cutting-plane'"
        )
    check_beam(beam, other)


class SequenceTrainer(StructuredTrainer):
    """Trains a chain on one set of sequences, for one C after the other.

    Parameters
    ----------
    examples : Examples
        The tokens as rows.
    sequences : Sequences
        The same tokens.
    config : Config
        loss "zero-one", or any other name for the number of wrong tags; p and bias are not read.
    orders : ChainOrders

    Raises
    ------
    UsageError
        When a model file could not number its weights, or for a solver or beam that cannot honour the loss, rescaling
        or slack norm.
    MemoryLimitError
    """

    model: ChainSequences
    _task = "sequence"

    def __init__(self, examples: Examples, sequences: Sequences, config: Config, orders: ChainOrders):
        examples = examples.checked()
        self.examples, self.config = examples, config
        check_variant(config, orders.beam)
        path, n_tags = examples.source.path, int(sequences.tags.max()) + 1
        features = examples.X.n_features
        if index_limit(ChainShape(n_tags, features, orders.transition, orders.emission)) > LARGEST_INDEX:
            raise UsageError(
                f"{path}: {n_tags} tags, {features} features and these orders give weights above number "
                f"{LARGEST_INDEX} of a model file; lower parameter 'transitions' or parameter 'emissions', or number "
                "features and tags without gaps"
            )
        X, self._columns = examples.X.compact()
        sequences = Sequences(X, sequences.indptr, sequences.tags, sequences.source)
        shape = ChainShape(n_tags, X.n_features, orders.transition, orders.emission)
        check_memory(path, shape.dim, config.max_memory)
        self.model = ChainSequences(sequences, shape, config.threads, orders.beam)
        self._check_counting()
        self.warnings: list[str] = []
        self._began = time.perf_counter()
        self._start: Start | None = None
        self._last_C = 0.0

    def _choose(self, C: float) -> str:
        shape = self.model.shape
        if variant(self.config):
            return "cutting-plane"
        return choose_chain(shape.n_tags, (shape.transition_order, shape.emission_order) == (1, 0))

    def _cuts(self):
        config, model = self.config, self.model
        scores = model.chains.n_tokens * model.shape.node_size
        check_memory(self.examples.source.path, scores, config.max_memory)
        return self._risk(), ChainSpace(model.sequences.X, model.chains, config.threads)

    def _model(self, w, cuts: int) -> ChainModel:
        loss = 0 if self.config.loss == "zero-one" else 1
        return ChainModel(w, self.model.shape, self.config.kernel, self._columns, self.examples.X.n_features, loss)

    def _next_start(self, name: str, run: Run, w) -> Start | None:
        """The cuts and the solution of cutting planes; the others start afresh."""
        return Start(run.bundle, (w,)) if name == "cutting-plane" else None

    def _risk(self) -> SequenceSum:
        config, chains, threads = self.config, self.model.chains, self.config.threads
        longest = int(np.diff(self.model.parts).max())
        if config.loss == "zero-one":
            risk = zero_one(chains, threads)
            return SquaredSequences(risk) if config.slack_norm == 2 else risk
        if config.slack_norm == 2:
            return squared(chains, longest, config.rescaling, threads)
        if config.rescaling == "slack":
            return slack_rescaled(chains, longest, threads)
        return ChainRisk(chains, self.model.beam, threads)

    def _check_counting(self) -> None:
        """Refuses states of the longest sequences, one a thread, that do not fit."""
        config, shape, option = self.config, self.model.shape, variant(self.config)
        if option is None:
            return
        lengths = np.sort(np.diff(self.model.parts))[::-1][: config.threads]
        states = shape.n_tags ** max(0, shape.transition_order - 1) * shape.stride
        counts = 2.0 * lengths if config.loss == "zero-one" else 0.5 * lengths * (lengths + 3.0)
        check_counting(self.examples.source.path, counts * states, lengths, option, config.max_memory)

    def _scaled_start(self, C: float) -> Start | None:
        if self._start is None:
            return None
        (w,) = self._start.points
        return self._start._replace(points=(w, C / self._last_C * w))


def index_limit(shape: ChainShape) -> int:
    """One more than the largest index of a weight in a model file of svm_hmm."""
    K, D = shape.n_tags, shape.n_features
    transitions = sum(K ** (order + 1) for order in range(shape.transition_order + 1))
    return transitions + 1 + D * (K * (K + 1 if shape.emission_order else 1) + 1) + 1
