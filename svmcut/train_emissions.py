# SPDX-License-Identifier: BSD-3-Clause
"""Training of chains whose emissions are functions of a kernel. No algorithm inside.

    min  1/2 sum_k |f_k|^2 + 1/2 |V|^2 + C sum_n H_n

over one function of the kernel a tag and the transitions V; H_n as in svmcut.risks.chain. The cutting planes are those
of every other trainer: exact ones on a stored kernel matrix, or sampled ones (Yu and Joachims, KDD 2008) on rows as
they are needed. The exact cuts behind the sampled ones give those a lower bound.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from svmcut._native.kernels import KernelRows
from svmcut.data import Examples, Sequences
from svmcut.errors import MemoryLimitError, UsageError
from svmcut.labellings import Labellings
from svmcut.machine import planned_memory
from svmcut.models import ChainShape, KernelChainModel, check_lattice
from svmcut.outcomes import FULL, objective_of_sum
from svmcut.refusals import variant
from svmcut.risks.chain import ChainRisk
from svmcut.risks.chain_sampling import ChainSampler
from svmcut.solvers.protocol import Problem, Progress, Start
from svmcut.solvers.sampled_cuts import SampledCuts
from svmcut.spaces.kernel_chain import CachedRows, KernelChainSpace
from svmcut.train_sequences import LARGEST_INDEX
from svmcut.training import Config, Objective, Outcome, Trainer

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Tokens up to which a dual bound of sampled cuts is computed unless the options say otherwise.
CERTIFIED_TOKENS = 50_000
#: Megabytes that "auto" lets the kernel matrix and the exact cuts take.
BUDGET = 4000.0
#: Cuts whose scores are planned for, and vectors of scores beside them.
_CUTS, _VECTORS = 200, 12
#: Tokens up to which the certificate of sampled cuts is of kernel values in float64.
EXACT_TOKENS = 2000
#: Rows of kernel values at a time where they are computed in float64.
_ROWS = 4096


class EmissionTrainer(Trainer):
    """Trains chains with a kernel, for one C after the other.

    Parameters
    ----------
    examples : Examples
        The tokens as rows.
    sequences : Sequences
        The same tokens.
    config : Config
        solver is "auto", "cutting-plane" or "sampled-cuts"; of reduced, sample_size and certify are read.
    transition_order, beam : int
        As in train_sequences.ChainOrders. The emission order is 0.

    Raises
    ------
    UsageError
        When a model file could not number its weights, or for another loss, rescaling or slack norm.
    MemoryLimitError
        When what the solver stores does not fit.
    """

    def __init__(
        self, examples: Examples, sequences: Sequences, config: Config, transition_order: int = 1, beam: int = 0
    ):
        examples = examples.checked()
        self.examples, self.config, self._beam = examples, config, beam
        if variant(config):
            raise UsageError(f"{variant(config)} does not go with a kernel in this version; leave one of them out")
        path, K = examples.source.path, int(sequences.tags.max()) + 1
        if max(K + examples.X.n_features, 2 * K ** (transition_order + 1)) > LARGEST_INDEX:
            raise UsageError(
                f"{path}: {K} tags and {examples.X.n_features} features at this order give weights above number "
                f"{LARGEST_INDEX} of a model file; lower parameter 'transitions', or number features and tags without "
                "gaps"
            )
        self.X, self._columns = examples.X.compact()
        self.shape = ChainShape(K, self.X.n_features, transition_order)
        self._n_sequences = len(sequences)
        self.solver = self._affordable(len(examples))
        check_lattice(self.shape, sequences.indptr)
        self._labellings = Labellings(sequences, K, self.shape.stride, transition_order)
        self.warnings: list[str] = []
        if config.kernel.name == "sigmoid":
            self.warnings.append(
                "the sigmoid kernel need not be positive semidefinite; where it is not, primal, dual and gap bound "
                "nothing"
            )
        rows = KernelRows(self.X, config.kernel, config.threads)
        if self.solver == "cutting-plane":
            self.space = KernelChainSpace(rows, self._labellings, stored=True)
        else:
            self.space = KernelChainSpace(CachedRows(rows, config.cache_mb), self._labellings)
        self._began = time.perf_counter()
        self._start: Start | None = None
        self._last_C = 0.0

    def objective(self, cost: float | None, example_cost: float | None) -> Objective:
        """As SequenceTrainer.objective."""
        return objective_of_sum(cost, example_cost, self._n_sequences, self.config.epsilon)

    def fit(
        self,
        cost: float | None,
        example_cost: float | None,
        observe: Callable[[Progress, Objective], None] | None = None,
        state: dict[str, Any] | None = None,
    ) -> Outcome:
        """As Trainer.fit."""
        began = time.perf_counter()
        if self.solver == "cutting-plane":
            outcome = super().fit(cost, example_cost, observe, state)
        else:
            outcome = self._fit_sampled(self.objective(cost, example_cost), observe, state)
        outcome.seconds = time.perf_counter() - began
        outcome.kernel_evaluations = self.space.rows.evaluations
        return outcome

    def _choose(self, C: float) -> str:
        return self.solver

    def _problem(self, name: str, objective: Objective) -> Problem:
        risk = ChainRisk(self._labellings.chains, self._beam, self.config.threads)
        return Problem(risk, self.space, objective.C, self._rule(objective), self.config.qp)

    def _fit_sampled(self, objective: Objective, observe, state) -> Outcome:
        config = self.config
        certify = config.reduced.certify
        certify = len(self.examples) < CERTIFIED_TOKENS if certify is None else certify
        solver = SampledCuts(
            ChainSampler(self._labellings, config.threads), config.reduced.sample_size, config.seed,
            memory=planned_memory(config.max_memory) / 2, trace=certify,
        )  # fmt: skip
        problem = Problem(None, self.space, objective.C, self._rule(objective), self.config.qp)
        progress, stopped_by = self._run(solver, problem, objective, observe, None, state)
        w, run = progress.solution(), self._solver
        outcome = Outcome(
            model=self._model(w, progress.cuts),
            objective=objective,
            progress=progress,
            solver=self.solver,
            seconds=0.0,
            longest_cut=run.bundle.largest_norm,
            norm=math.sqrt(max(0.0, self._squared_norm(w))),
            multipliers=objective.c * run.bundle.beta[1:],
        )
        if certify:
            primal, exact = progress.primal, len(self.examples) <= EXACT_TOKENS
            if exact:
                primal = self._primal_of(w.coefficients(), objective.C)
            offset, coef = run.dual_point(objective.C, self.space.dim)
            outcome.certificate = (primal, self._dual(offset, coef, exact))
        if run.full:
            outcome.warnings.append(FULL)
        return outcome.judge(problem.stop, stopped_by, "limit" if run.full else "samples")

    def _primal_of_file(self, w, problem, outcome: Outcome) -> float | None:
        """As Trainer's, with kernel values in float64; None where no digit of the weights can matter."""
        from svmcut.files.rounding import KEPT, read_back

        config, model, n = self.config, outcome.model, len(self.examples)
        assert isinstance(model, KernelChainModel)
        if config.kernel.name == "rbf":
            weights = np.abs(model.alpha).sum(axis=0), np.abs(model.transitions)
            change = KEPT * sum(part.max(initial=0.0) for part in weights)
            if 2 * n * problem.C * change + KEPT * outcome.norm**2 <= 0.01 * problem.stop.target(outcome.primal):
                return None
        return self._primal_of(read_back(w.coefficients()).astype(np.float64), problem.C)

    def _primal_of(self, coef: NDArray, C: float) -> float:
        """1/2 |f|^2 + C sum_n H_n of coefficients of scores, kernel values in float64."""
        squared, s = self._in_float64(coef)
        risk = ChainRisk(self._labellings.chains, self._beam, self.config.threads)
        return 0.5 * squared + C * risk.linearize(s).value

    def _in_float64(self, coef: NDArray) -> tuple[float, NDArray[np.float64]]:
        """|f|^2 and the scores of coefficients of scores, with kernel values in float64."""
        from svmcut.spaces.subspace import kernel_matrix

        n, stride, config = len(self.examples), self.shape.stride, self.config
        alpha, transitions = coef[: n * stride].reshape(n, stride), coef[n * stride :]
        used = np.flatnonzero(alpha.any(axis=1))
        support, alpha, s = self.X.take(used), alpha[used], np.zeros(self.space.dim)
        nodes = s[: n * stride].reshape(n, stride)
        for start in range(0, n, _ROWS):
            rows = self.X.rows(start, min(start + _ROWS, n))
            nodes[start : start + rows.n_rows] = kernel_matrix(config.kernel, rows, support, config.threads) @ alpha
        s[n * stride :] = transitions
        return float((alpha * nodes[used]).sum()) + float(transitions @ transitions), s

    def _dual(self, offset: float, coef, exact: bool) -> float:
        """A lower bound from a combination of exact cuts: the most that theta times it gives, theta in [0, 1].

        C R(s) >= theta (offset - coef.s) for every s; see span_train.SpanTrainer.
        """
        points = np.flatnonzero(coef)
        if offset <= 0 or not len(points):
            return max(0.0, offset)
        if exact:
            squared = max(0.0, self._in_float64(coef)[0])
        else:
            element = self.space.expansion(points, coef[points])
            squared = max(0.0, self.space.dot(element, element))
        theta = min(1.0, offset / squared) if squared > 0 else 1.0
        return theta * offset - 0.5 * theta * theta * squared

    def _model(self, w, cuts: int) -> KernelChainModel:
        """The tokens whose weights are not all 0, each once."""
        n, stride = len(self.examples), self.shape.stride
        coef = w.coefficients()
        alpha = coef[: n * stride].reshape(n, stride)[:, : self.shape.n_tags]
        used = np.flatnonzero(alpha.any(axis=1))
        transitions = coef[n * stride :].copy()
        return KernelChainModel(
            self.config.kernel, self.X.take(used), alpha[used], transitions, self.shape, self._columns,
            self.examples.X.n_features,
        )  # fmt: skip

    def _affordable(self, n: int) -> str:
        """The solver, once it is known that what it stores fits."""
        config, path, memory = self.config, self.examples.source.path, planned_memory(self.config.max_memory)
        size = 1e-6 * (n * self.shape.stride + self.shape.transitions)
        exact = 4e-6 * n * n + 4 * _CUTS * size + 8 * _VECTORS * size
        sampled = 8 * _VECTORS * size + min(config.cache_mb, 4e-6 * n * n)
        name = config.solver
        if name == "auto":
            name = "cutting-plane" if exact <= min(BUDGET, memory) else "sampled-cuts"
        need = exact if name == "cutting-plane" else sampled
        if need > memory:
            refusal = (
                f"{path}: {name} with the {config.kernel.name} kernel on {n} tokens of {self.shape.n_tags} tags needs "
                f"about {need:,.0f} MB and {memory:,.0f} MB are available"
            )
            remedy = "lower parameter 'cache_size', or use fewer tokens"
            if sampled <= memory:
                remedy = "use solver='sampled-cuts' or fewer tokens"
            raise MemoryLimitError(f"{refusal}; {remedy}", original=f"{refusal}; use fewer tokens")
        return name
