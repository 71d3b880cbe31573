# SPDX-License-Identifier: BSD-3-Clause
"""Training of chains whose emissions are functions of a kernel.

    min  1/2 sum_k |f_k|^2 + 1/2 |V|^2 + C sum_n v_n H_n

over one function of the kernel a tag and the transitions V; v_n and H_n as in svmcut.risks.chain. The cutting planes
are those of every other plan: exact ones on a stored kernel matrix, or sampled ones (Yu and Joachims, KDD 2008) on rows
as they are needed. The exact cuts behind the sampled ones give those a lower bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from svmcut._native.kernels import KernelRows
from svmcut.catalog import AUTO, SOLVERS
from svmcut.data import Sequences
from svmcut.errors import MemoryLimitError, UsageError
from svmcut.labellings import Labellings
from svmcut.machine import planned_memory
from svmcut.messages import quoted
from svmcut.models import ChainShape, KernelChainModel, check_lattice
from svmcut.parameters import Settings
from svmcut.risks.chain import ChainRisk, SequenceSum
from svmcut.risks.chain_sampling import ChainSampler
from svmcut.solvers.protocol import Problem
from svmcut.solvers.sampled_cuts import SampledCuts
from svmcut.spaces.kernel_chain import CachedRows, KernelChainSpace
from svmcut.training.certificate import scaled_bound
from svmcut.training.checks import LARGEST_INDEX, checked_weights
from svmcut.training.outcome import FULL, Objective, Outcome
from svmcut.training.room import kernel_warnings
from svmcut.training.settings import CUTTING_PLANE, SAMPLED_CUTS, kernel_of
from svmcut.training.stage import Ended, Plan, Stage, make_solver
from svmcut.training.structured import units_of_structures

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Megabytes that "auto" lets the kernel matrix and the exact cuts take.
BUDGET = 4000.0
#: Cuts whose scores are planned for, and vectors of scores beside them.
_CUTS, _VECTORS = 200, 12
#: Tokens up to which the certificate of sampled cuts is of kernel values in float64.
EXACT_TOKENS = 2000
#: Rows of kernel values at a time where they are computed in float64.
_ROWS = 4096


class Emissions(Plan):
    """One stage; exact cuts start from the solution of the C before.

    Raises
    ------
    UsageError
        When a model file could not number its weights.
    MemoryLimitError
        When what the solver stores does not fit.

    Attributes
    ----------
    objects : (str, str)
        What has a row of scores, and what a column, in the words of messages.
    """

    objects = "tokens", "tags"

    def __init__(self, sequences: Sequences, settings: Settings, one_class: bool = False):
        examples = sequences.tokens().checked()
        self._examples, self._kernel = examples, kernel_of(settings)
        path, K, order = examples.source.path, int(sequences.tags.max()) + 1, settings.transitions
        if max(K + examples.X.n_features, 2 * K ** (order + 1)) > LARGEST_INDEX:
            raise UsageError(
                f"{quoted(path)}: {K} tags and {examples.X.n_features} features at this order give weights above "
                f"number {LARGEST_INDEX} of a model file; lower parameter 'transitions', or number features and tags "
                "without gaps"
            )
        v = checked_weights(sequences)
        units = units_of_structures(settings, len(sequences), v)
        super().__init__(settings, path, units, kernel_warnings(self._kernel))
        lengths = np.diff(sequences.indptr)
        self._tokens = float((lengths if v is None else v * lengths).sum())
        self._X, self._columns = examples.X.compact()
        self._shape = ChainShape(K, self._X.n_features, order)
        self.solver = self._affordable(len(examples))
        check_lattice(self._shape, sequences.indptr)
        self._labellings = Labellings(sequences, K, self._shape.stride, order)
        self._risk: SequenceSum = ChainRisk(self._labellings.chains, settings.beam, settings.threads, v)
        rows = KernelRows(self._X, self._kernel, settings.threads)
        self._drawn = SOLVERS[self.solver].drawn
        if self._drawn:
            self.space = KernelChainSpace(CachedRows(rows, settings.cache_size), self._labellings)
        else:
            self.space = KernelChainSpace(rows, self._labellings, stored=True)

    def next(self, objective: Objective, found: dict[str, Any] | None) -> Stage:
        s = self.settings
        problem = Problem(self._risk, self.space, objective.C, self.stop(objective), s.qp)
        if not self._drawn:
            return Stage(self.solver, make_solver(self.solver, s.seed, s.task), problem, objective, warm=True)
        sampler = ChainSampler(self._labellings, s.threads, self._risk.weights)
        memory = planned_memory(s.max_memory) / 2
        solver = SampledCuts(sampler, s.sample_size, s.seed, memory=memory, trace=bool(s.certify))
        return Stage(self.solver, solver, problem, objective)

    def finish(self, objective: Objective, found: dict[str, Any] | None, ended: Ended) -> Outcome:
        """The functions, with a certificate of the sampled cuts, or as a reader of the model file gets them."""
        w, stop, run = ended.progress.solution(), ended.stage.problem.stop, ended.run
        outcome, otherwise = ended.outcome(self.solver, self._model(w), self.space.dot(w, w)), "rounding"
        if self._drawn:
            otherwise = "limit" if run.full else "samples"
            outcome.warnings += [FULL] if run.full else []
            if self.settings.certify:
                primal, exact = ended.progress.primal, len(self._examples) <= EXACT_TOKENS
                if exact:
                    primal = self._primal(w.coefficients(), objective.C)
                outcome.certificate = (primal, self._dual(run.dual_point(objective.C, self.space.dim), exact))
        elif self._digits_matter(outcome, objective, stop.target(outcome.primal)):
            outcome.primal_of_file = self._primal_of_file(w, outcome.model, objective.C)
        outcome.kernel_evaluations = self.space.rows.evaluations
        return outcome.judge(stop, ended.stopped_by, otherwise)

    def _digits_matter(self, outcome: Outcome, objective: Objective, target: float) -> bool:
        """Whether the rounding of the model file may."""
        from svmcut.files.rounding import KEPT

        model = outcome.model
        assert isinstance(model, KernelChainModel)
        if self._kernel.name != "rbf":
            return True
        weights = np.abs(model.alpha).sum(axis=0), np.abs(model.transitions)
        change = KEPT * sum(part.max(initial=0.0) for part in weights)
        return not 2 * self._tokens * objective.C * change + KEPT * outcome.norm**2 <= 0.01 * target

    def _primal_of_file(self, w: Any, model: Any, C: float) -> float:
        """The primal of the model as a reader of the file gets it."""
        from svmcut.files.rounding import read_back

        return self._primal(read_back(w.coefficients()).astype(np.float64), C)

    def _primal(self, coef: NDArray, C: float) -> float:
        """1/2 |f|^2 + C sum_n v_n H_n of coefficients of scores, kernel values in float64."""
        squared, s = self._in_float64(coef)
        return 0.5 * squared + C * self._risk.linearize(s).value

    def _in_float64(self, coef: NDArray) -> tuple[float, NDArray[np.float64]]:
        """|f|^2 and the scores of coefficients of scores, with kernel values in float64."""
        from svmcut.spaces.subspace import kernel_matrix

        n, stride, threads = len(self._examples), self._shape.stride, self.settings.threads
        alpha, transitions = coef[: n * stride].reshape(n, stride), coef[n * stride :]
        used = np.flatnonzero(alpha.any(axis=1))
        support, alpha, s = self._X.take(used), alpha[used], np.zeros(self.space.dim)
        nodes = s[: n * stride].reshape(n, stride)
        for start in range(0, n, _ROWS):
            rows = self._X.rows(start, min(start + _ROWS, n))
            nodes[start : start + rows.n_rows] = kernel_matrix(self._kernel, rows, support, threads) @ alpha
        s[n * stride :] = transitions
        return float((alpha * nodes[used]).sum()) + float(transitions @ transitions), s

    def _dual(self, point: tuple[float, NDArray], exact: bool) -> float:
        """The bound of a combination of exact cuts."""
        offset, coef = point
        if exact:
            return scaled_bound(offset, self._in_float64(coef)[0])
        points = np.flatnonzero(coef)
        element = self.space.expansion(points, coef[points])
        return scaled_bound(offset, self.space.dot(element, element))

    def _model(self, w) -> Any:
        """The tokens whose weights are not all 0, each once."""
        n, stride = len(self._examples), self._shape.stride
        coef = w.coefficients()
        alpha = coef[: n * stride].reshape(n, stride)[:, : self._shape.n_tags]
        used = np.flatnonzero(alpha.any(axis=1))
        return KernelChainModel(
            self._kernel, self._X.take(used), alpha[used], coef[n * stride :].copy(), self._shape, self._columns,
            self._examples.X.n_features,
        )  # fmt: skip

    def _affordable(self, n: int) -> str:
        """The solver, once it is known that what it stores fits."""
        s, shape, memory = self.settings, self._shape, planned_memory(self.settings.max_memory)
        rows, columns = self.objects
        size = 1e-6 * (n * shape.stride + shape.transitions)
        needs = {
            CUTTING_PLANE: 4e-6 * n * n + 4 * _CUTS * size + 8 * _VECTORS * size,
            SAMPLED_CUTS: 8 * _VECTORS * size + min(s.cache_size, 4e-6 * n * n),
        }
        name = s.solver
        if name == AUTO:
            name = CUTTING_PLANE if needs[CUTTING_PLANE] <= min(BUDGET, memory) else SAMPLED_CUTS
        if needs[name] > memory:
            refusal = (
                f"{quoted(self.path)}: {name} with the {self._kernel.name} kernel on {n} {rows} of {shape.n_tags} "
                f"{columns} needs about {needs[name]:,.0f} MB and {memory:,.0f} MB are available"
            )
            remedy = f"lower parameter 'cache_size', or use fewer {rows}"
            if needs[SAMPLED_CUTS] <= memory:
                remedy = f"use solver='{SAMPLED_CUTS}' or fewer {rows}"
            raise MemoryLimitError(f"{refusal}; {remedy}", original=f"{refusal}; use fewer {rows}")
        return name
