# SPDX-License-Identifier: BSD-3-Clause
"""Training of chains on features.

What training of chains and of label sets shares: the unit of C, solvers of a StructuredProblem,
weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import UsageError
from svmcut.base.typing import Any, ClassVar
from svmcut.data.examples import Sequences
from svmcut.models import ChainModel, ChainShape
from svmcut.risks.chain import (
    ChainRisk,
    SequenceSum,
    SquaredSequences,
    slack_rescaled,
    square_slack,
    zero_one,
)
from svmcut.risks.weights import total
from svmcut.solvers.auto import choose_chain
from svmcut.solvers.protocol import Problem
from svmcut.solvers.quick import LONGEST, Quick
from svmcut.solvers.relay import Relay
from svmcut.spaces.structures import ChainSpace
from svmcut.spec.catalog import AUTO, SOLVERS, losses
from svmcut.spec.parameters import Settings
from svmcut.spec.trainers import variant
from svmcut.structured.chain import ChainSequences
from svmcut.structured.protocol import StructuredProblem
from svmcut.training.certificate import in_columns, weights_reading
from svmcut.training.checks import (
    LARGEST_INDEX,
    check_counting,
    check_memory,
    check_parts,
    checked_weights,
)
from svmcut.training.driver import Ended, Plan, Stage, make_solver
from svmcut.training.gate import Part
from svmcut.training.outcome import Objective, Outcome, Units
from svmcut.training.settings import CUTTING_PLANE, kernel_of


def units_of_structures(settings: Settings, n: int, weights: NDArray | None) -> Units:
    """C per structure, the original's (c/n) times the sum of their losses, n the sum of their
    weights."""
    loss, epsilon = settings.loss or "", settings.epsilon or 0.0
    return Units(loss, epsilon, total(weights, n), is_sum=True, structures=n)


class Structured(Plan):
    """One stage: cutting planes, or a solver of passes over structures that cutting planes relieve.

    A subclass has choose(), the solver that "auto" stands for; cuts(), risk and space of cutting
    planes, and `warm`, whether they start from the C before; make_model(w), the model of weights,
    and weights(model), the weights of one.
    """

    warm: ClassVar[bool]
    choose: Callable[[], str]
    cuts: Callable[[], tuple[Any, Any]]
    make_model: Callable[[Any], Any]
    weights: Callable[[Any], NDArray]

    def __init__(self, settings: Settings, path: str, model: Any, warnings: list[str]):
        super().__init__(
            settings, path, units_of_structures(settings, model.n_samples, model.weights), warnings
        )
        self.model = model

    def sensitivity(self, w, problem: Problem) -> float:
        """See svmcut.training.certificate.weights_reading; unknown for structures."""
        return math.inf

    def part(self, model: Any) -> Part:
        """Some of the weights of a model, where their rise is known."""
        raise NotImplementedError

    def next(self, objective: Objective, handed: dict[str, Any] | None) -> Stage:
        """The solver of that name, or the one that "auto" stands for."""
        s = self.settings
        name = self.choose() if s.solver == AUTO else s.solver
        solver = Quick(s.seed) if s.quick else make_solver(name, s)
        if SOLVERS[name].losses is None:
            return Stage(name, solver, self._cuts(objective), objective, self.warm)
        problem = StructuredProblem(self.model, objective.C, self.stop(objective), s.qp)
        if s.quick:
            if self.model.in_pieces(LONGEST).n_samples < 2:
                raise UsageError(
                    "{}: of 1 sequence {quick} can hold out none; leave it out", self.path
                )
            return Stage(name, solver, problem, objective)
        return Stage(name, Relay(solver, lambda: self._cuts(objective)), problem, objective)

    def finish(self, objective: Objective, handed: dict[str, Any] | None, ended: Ended) -> Outcome:
        """The weights, with their primal as a reader of the model file gets it."""
        problem = ended.stage.problem
        if ended.stopped_by is not None:
            from svmcut.training.fallback import improve_stopped

            known = problem if isinstance(problem, Problem) else self._cuts(objective)
            ended = ended._replace(progress=improve_stopped(known, ended.progress))
        w = ended.progress.solution()
        outcome = ended.outcome(ended.stage.name, self.make_model(w), float(w @ w))
        if self.settings.quick:
            outcome.details["quick"] = ended.run.counts()
            if not problem.stop.met(outcome.primal, outcome.dual):  # no digit of the file matters
                return outcome.judge(problem.stop, ended.stopped_by, "held-out")
        if not isinstance(problem, Problem):
            problem = self._cuts(objective)
        model, original = outcome.model, self.settings.original
        rise = self.sensitivity(w, problem)
        reading = weights_reading(
            self.weights, problem, outcome, rise, original, lambda: self.part(model)
        )
        if rise == math.inf:  # scores of labellings are not those of rows
            reading = reading._replace(sums=None)
        return outcome.judge(problem.stop, ended.stopped_by, reading=reading)

    def _cuts(self, objective: Objective) -> Problem:
        risk, space = self.cuts()
        return Problem(risk, space, objective.C, self.stop(objective), self.settings.qp)


class Chains(Structured):
    """Chains over the tokens of sequences. Raises UsageError when a model file could not number its
    weights, and MemoryLimitError."""

    warm = True

    def __init__(self, sequences: Sequences, settings: Settings):
        self._examples, s = sequences.tokens().validate(), settings
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

    def make_model(self, w) -> ChainModel:
        kernel, highest = kernel_of(self.settings), self._examples.X.n_features
        return ChainModel(w, self.model.shape, kernel, self._columns, highest, self._loss)

    def finish(self, objective: Objective, handed: dict[str, Any] | None, ended: Ended) -> Outcome:
        """See Structured.finish; with `quick` the model has probabilities."""
        outcome = super().finish(objective, handed, ended)
        if self.settings.quick and ended.run.is_whole:
            from svmcut.training.calibration import calibrate_quick

            calibrate_quick(outcome, ended.run, self.path, self.settings.threads)
        return outcome

    def weights(self, model: ChainModel) -> NDArray[np.float64]:
        """The weights of a model in the columns of training."""
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
