# SPDX-License-Identifier: BSD-3-Clause
"""Training of chains: the part of svmcut.train that knows sequences. No algorithm inside."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmcut.checks import check_counting, check_memory
from svmcut.data import Examples, Sequences
from svmcut.errors import UsageError
from svmcut.models import ChainModel, ChainShape
from svmcut.outcomes import objective_of_sum
from svmcut.risks.chain import ChainRisk, SequenceSum
from svmcut.risks.chain_scaled import SquaredSequences, slack_rescaled, squared, zero_one
from svmcut.solvers.auto import choose_chain
from svmcut.solvers.protocol import Problem, Progress, Start, StoppingRule
from svmcut.spaces.chain import ChainSpace
from svmcut.structured.chain import ChainSequences
from svmcut.structured.protocol import StructuredProblem
from svmcut.train import Config, Objective, Outcome, Trainer, make_solver

LARGEST_INDEX = 2**31 - 2


@dataclass(frozen=True, slots=True)
class ChainOrders:
    """svm_hmm's --t, --e and --b: orders of transitions and emissions, and the width of the beam (0: exact)."""

    transition: int = 1
    emission: int = 0
    beam: int = 0


def scaled_by(options) -> str | None:
    """The option that makes another risk of the structured hinge with one loss a wrong tag; None where there is none.

    Parameters
    ----------
    options : Config or LearnOptions
        loss "zero-one", or any other name for the number of wrong tags.
    """
    if options.loss == "zero-one":
        return "-l zero-one"
    if options.rescaling == "slack":
        return "-o slack"
    return "-p 2" if options.slack_norm == 2 else None


def check_scaled(options, beam: int) -> None:
    """Refuses trainers of the plain structured hinge and beams where another risk is asked for.

    Raises
    ------
    UsageError
    """
    option = scaled_by(options)
    if option and options.solver not in ("auto", "cutting-plane"):
        raise UsageError(
            f"solver '{options.solver}' does not train with {option}; leave out --solver or give --solver cutting-plane"
        )
    if beam and option:
        raise UsageError(
            f"--b {beam} keeps a part of the states, but {option} needs them all; leave out --b or {option}"
        )


class SequenceTrainer(Trainer):
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

    def __init__(self, examples: Examples, sequences: Sequences, config: Config, orders: ChainOrders):
        self.examples, self.config = examples, config
        check_scaled(config, orders.beam)
        path, n_tags = examples.source.path, int(sequences.tags.max()) + 1
        features = examples.X.n_features
        if index_limit(ChainShape(n_tags, features, orders.transition, orders.emission)) > LARGEST_INDEX:
            raise UsageError(
                f"{path}: {n_tags} tags, {features} features and these orders give weights above number "
                f"{LARGEST_INDEX} of a model file; lower --t or --e, or number features and tags without gaps"
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

    def objective(self, cost: float | None, example_cost: float | None) -> Objective:
        """C per sequence of svm_hmm's -c or of --example-cost; exactly one is given.

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
        name = config.solver
        if name == "auto" and scaled_by(config):
            name = "cutting-plane"
        elif name == "auto":
            orders = (model.shape.transition_order, model.shape.emission_order)
            name = choose_chain(model.shape.n_tags, orders == (1, 0))
        solver = make_solver(name, config.seed)
        problem = StructuredProblem(model, objective.C, rule)
        if name == "cutting-plane":
            check_memory(self.examples.source.path, model.chains.n_tokens * model.shape.node_size, config.max_memory)
            space = ChainSpace(model.sequences.X, model.chains, config.threads)
            problem = Problem(self._risk(), space, objective.C, rule)
        began = time.perf_counter()
        start = None if state else self._scaled_start(objective.C)
        progress, stopped_by = self._run(solver, problem, objective, observe, start, state)
        converged = rule.met(progress.primal, progress.dual)
        w = progress.solution()
        bundle = getattr(solver, "bundle", None)
        if name == "cutting-plane":
            self._start = Start(bundle, (w,))
        self._last_C = objective.C
        loss = 0 if config.loss == "zero-one" else 1
        return Outcome(
            model=ChainModel(w, model.shape, config.kernel, self._columns, self.examples.X.n_features, loss),
            objective=objective,
            progress=progress,
            solver=name,
            converged=converged,
            stopped_by=None if converged else stopped_by or "rounding",
            seconds=time.perf_counter() - began,
            longest_cut=solver.longest_cut if bundle is None else bundle.largest_norm,
            norm=float(np.sqrt(w @ w)),
            multipliers=np.zeros(0) if bundle is None else objective.c * bundle.beta[1:],
        )

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
        config, shape, option = self.config, self.model.shape, scaled_by(self.config)
        if option is None:
            return
        lengths = np.sort(np.diff(self.model.parts))[::-1][: config.threads]
        states = shape.n_tags ** max(0, shape.transition_order - 1) * shape.stride
        counts = 2.0 * lengths if option == "-l zero-one" else 0.5 * lengths * (lengths + 3.0)
        check_counting(self.examples.source.path, counts * states, lengths, option, config.max_memory)

    def _scaled_start(self, C: float) -> Start | None:
        """The cuts of the last C, where cutting planes made some, and its solution with its multiple."""
        if self._start is None:
            return None
        (w,) = self._start.points
        return self._start._replace(points=(w, C / self._last_C * w))


def index_limit(shape: ChainShape) -> int:
    """One more than the largest index of a weight in a model file of svm_hmm."""
    K, D = shape.n_tags, shape.n_features
    transitions = sum(K ** (order + 1) for order in range(shape.transition_order + 1))
    return transitions + 1 + D * (K * (K + 1 if shape.emission_order else 1) + 1) + 1
