# SPDX-License-Identifier: BSD-3-Clause
"""Training of chains whose emissions are functions of a kernel.

    min  1/2 sum_k |f_k|^2 + 1/2 |V|^2 + C sum_n v_n H_n

over one function of the kernel a tag and the transitions V; v_n and H_n as in svmcut.risks.chain.
The cutting planes are those of every other plan: exact ones on a stored kernel matrix, or sampled
ones (Yu and Joachims, KDD 2008) on rows as they are needed. The exact cuts behind the sampled ones
give those a lower bound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcut._native.kernels import KernelRows
from svmcut.base.errors import MemoryLimitError, UsageError
from svmcut.base.messages import Message
from svmcut.base.records import replace
from svmcut.base.resources import planned_memory
from svmcut.base.typing import Any
from svmcut.data.examples import Sequences
from svmcut.data.labellings import Labellings
from svmcut.models import ChainShape, KernelChainModel, check_lattice
from svmcut.risks.chain import ChainRisk, SequenceSum
from svmcut.risks.sampling import ChainSampler
from svmcut.solvers.protocol import Problem, Progress
from svmcut.solvers.sampled_cuts import SampledCuts
from svmcut.spaces.kernel import KernelSpace, rounding_bound
from svmcut.spaces.kernel_chain import CachedRows, KernelChainSpace
from svmcut.spec.catalog import AUTO, CUTTING_PLANE, SAMPLED_CUTS, SOLVERS
from svmcut.spec.parameters import Settings
from svmcut.training.certificate import Certified, CertifiedRun, Certify, scaled_bound
from svmcut.training.chains import units_of_structures
from svmcut.training.checks import LARGEST_INDEX, checked_weights
from svmcut.training.driver import Ended, Plan, Stage, make_solver
from svmcut.training.fallback import RELATIVE_TOLERANCE
from svmcut.training.gate import Reading
from svmcut.training.kernel_plan import kernel_warnings
from svmcut.training.outcome import FULL, Objective, Outcome, Units
from svmcut.training.settings import kernel_of

#: Megabytes that "auto" lets the kernel matrix and the exact cuts take.
BUDGET = 4000.0
#: Cuts whose scores are planned for, and vectors of scores beside them.
_CUTS, _VECTORS = 200, 12
#: Tokens up to which cutting planes are exact, and the certificate of sampled cuts is of kernel
#: values in float64.
EXACT_TOKENS = 2000
#: Rows of kernel values at a time where they are computed anew in float64.
_ROWS = 256


class FunctionsPlan(Plan):
    """Functions of a kernel that score the labels of tokens, and their transitions of an order, in
    one stage; exact cuts start from the solution of the C before. `beam` states are kept a token.

    Raises UsageError when a model file could not number its weights, and MemoryLimitError when what
    the solver stores does not fit.
    """

    #: What has a row of scores, and what a column, in the words of messages.
    objects = "tokens", "tags"

    def __init__(
        self, sequences: Sequences, settings: Settings, units: Units, order: int = 0, beam: int = 0
    ):
        examples = sequences.tokens().validate()
        self._examples, self._kernel = examples, kernel_of(settings)
        path, K = examples.source.path, int(sequences.tags.max()) + 1
        if max(K + examples.X.n_features, 2 * K ** (order + 1)) > LARGEST_INDEX:
            raise UsageError(
                "{}: {} tags and {} features at this order give weights above number {} of a "
                "model file; lower "
                "{transitions}, or number features and tags without gaps",
                path,
                K,
                examples.X.n_features,
                LARGEST_INDEX,
            )
        v = checked_weights(sequences)
        super().__init__(settings, path, units, kernel_warnings(self._kernel))
        lengths = np.diff(sequences.indptr)
        self._tokens = float((lengths if v is None else v * lengths).sum())
        self._X, self._columns = examples.X.compact()
        self._shape = ChainShape(K, self._X.n_features, order)
        self.solver = self._affordable(len(examples))
        check_lattice(self._shape, sequences.indptr)
        self._labellings = Labellings(sequences, K, self._shape.stride, order)
        self._risk: SequenceSum = ChainRisk(self._labellings.chains, beam, settings.threads, v)
        self._values = rows = KernelRows(self._X, self._kernel, settings.threads)
        self._drawn = SOLVERS[self.solver].drawn
        self.space: KernelSpace
        if self._drawn:
            self.space = KernelChainSpace(CachedRows(rows, settings.cache_size), self._labellings)
        else:
            exact = len(examples) <= EXACT_TOKENS
            self.space = KernelChainSpace(rows, self._labellings, stored=True, exact=exact)

    def next(self, objective: Objective, handed: dict[str, Any] | None) -> Stage:
        s = self.settings
        problem = Problem(self._risk, self.space, objective.C, self.stop(objective), s.qp)
        if not self._drawn:
            cuts = Certified(self._certifier(problem), make_solver(self.solver, s))
            return Stage(self.solver, cuts, problem, objective, warm=True)
        sampler = ChainSampler(self._labellings, s.threads, self._risk.weights)
        memory = planned_memory(s.max_memory) / 2
        solver = SampledCuts(sampler, s.sample_size, s.seed, memory=memory, trace=bool(s.certify))
        return Stage(self.solver, solver, problem, objective)

    def finish(self, objective: Objective, handed: dict[str, Any] | None, ended: Ended) -> Outcome:
        """The functions, with the certificate of the full problem in float64 where that is
        affordable."""
        w, stop, run = ended.progress.solution(), ended.stage.problem.stop, ended.run
        outcome = ended.outcome(self.solver, self._model(w), self.space.dot(w, w))
        otherwise = "rounding"
        if self._drawn:
            otherwise = "limit" if run.full else "samples"
            outcome.warnings += [FULL] if run.full else []
            if self.settings.certify:
                primal, exact = ended.progress.primal, len(self._examples) <= EXACT_TOKENS
                if exact:
                    primal = self._primal(w.coefficients(), objective.C)
                outcome.certificate = (
                    primal,
                    self._dual(run.dual_point(objective.C, self.space.dim), exact),
                )
        elif isinstance(run, CertifiedRun):
            otherwise = "rounding" if len(self._examples) <= EXACT_TOKENS else "float32"
            outcome.certificate = run.certificate(ended.progress)
        outcome.kernel_evaluations = self.space.rows.evaluations
        outcome.judge(stop, ended.stopped_by, otherwise, reading=self.reading(outcome, objective))
        return self._fall_back(outcome, objective.C)

    def _fall_back(self, outcome: Outcome, C: float) -> Outcome:
        """A judged outcome, or that of w = 0 where the digits of the file leave a higher primal."""
        if outcome.primal_of_file is None or self.settings.original:
            return outcome
        at_zero = C * self._risk.linearize(np.zeros(self._labellings.dim)).value
        if outcome.written <= at_zero * (1 + RELATIVE_TOLERANCE):
            return outcome
        zero, remedy = self._model(self.space.zero()), "scale the features or lower C"
        return outcome.give_way(zero, at_zero, outcome.dual, remedy)

    def _certifier(self, problem: Problem) -> Certify:
        """The certificate of a Progress from its coefficients and those of the cuts, kernel values
        in float64."""
        C = problem.C

        def certify(run: Any, progress: Progress) -> tuple[float, float]:
            primal = self._primal(progress.solution().coefficients(), C)
            model = run.bundle.solve(C, 1e-3 * problem.stop.target(primal) / C)
            return primal, self._dual(
                (model.lower + 0.5 * model.squared_norm, model.w.coefficients()), True
            )

        return certify

    def reading(self, outcome: Outcome, objective: Objective) -> Reading | None:
        """The model's reading for the gate; None where sampled cuts claim no gap."""
        if self._drawn and not self.settings.certify:
            return None
        return Reading(lambda kept: self._value(kept, objective.C), original=self.settings.original)

    def _value(self, model: KernelChainModel, C: float) -> float:
        """1/2 |f|^2 + C sum_n v_n H_n of a model that was read back, as its reader scores
        tokens."""
        threads = self.settings.threads
        K = self._shape.n_tags
        n = len(self._examples)
        stride = self._shape.stride
        s, V = np.zeros(self.space.dim), model.transitions
        s[: n * stride].reshape(n, stride)[:, :K] = model.node_scores(self._examples.X, threads)[
            :, :K
        ]
        s[n * stride :] = V
        own = replace(model, columns=None).node_scores(model.support, threads)[:, :K]
        return (
            0.5 * (float(np.vdot(model.alpha, own)) + float(V @ V))
            + C * self._risk.linearize(s).value
        )

    def _primal(self, coef: NDArray, C: float) -> float:
        """1/2 |f|^2 + C sum_n v_n H_n of coefficients of scores, kernel values in float64."""
        squared, s = self._in_float64(coef)
        return 0.5 * squared + C * self._risk.linearize(s).value

    def _in_float64(self, coef: NDArray) -> tuple[float, NDArray[np.float64]]:
        """|f|^2 and the scores of coefficients of scores, with kernel values in float64."""
        n, stride = len(self._examples), self._shape.stride
        alpha, transitions = coef[: n * stride].reshape(n, stride), coef[n * stride :]
        used = np.flatnonzero(alpha.any(axis=1))
        s = np.zeros(self.space.dim)
        nodes = s[: n * stride].reshape(n, stride)
        for start in range(0, len(used), _ROWS):
            rows = used[start : start + _ROWS]
            nodes += self._values.block_double(rows).T @ alpha[rows]
        s[n * stride :] = transitions
        return float((alpha[used] * nodes[used]).sum()) + float(transitions @ transitions), s

    def _dual(self, point: tuple[float, NDArray], exact: bool) -> float:
        """The bound of a combination of exact cuts."""
        offset, coef = point
        if exact:
            n, stride = len(self._examples), self._shape.stride
            may_be_off = rounding_bound(self._values, coef[: n * stride].reshape(n, stride))
            return scaled_bound(offset, self._in_float64(coef)[0] + may_be_off)
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
            self._kernel,
            self._X.take(used),
            alpha[used],
            coef[n * stride :].copy(),
            self._shape,
            self._columns,
            self._examples.X.n_features,
        )

    def _needs(self, n: int) -> dict[str, float]:
        """Megabytes of every solver that may run."""
        shape, values = self._shape, 8 if n <= EXACT_TOKENS else 4
        size = 1e-6 * (n * shape.stride + shape.transitions)
        return {
            CUTTING_PLANE: 1e-6 * values * n * n + values * _CUTS * size + 8 * _VECTORS * size,
            SAMPLED_CUTS: 8 * _VECTORS * size + min(self.settings.cache_size, 4e-6 * n * n),
        }

    def _prefer(self, n: int, needs: dict[str, float], memory: float) -> str:
        """The solver that "auto" stands for."""
        return CUTTING_PLANE if needs[CUTTING_PLANE] <= min(BUDGET, memory) else SAMPLED_CUTS

    def _affordable(self, n: int) -> str:
        """The solver, once it is known that what it stores fits."""
        s, memory, needs = self.settings, planned_memory(self.settings.max_memory), self._needs(n)
        rows, columns = self.objects
        name = self._prefer(n, needs, memory) if s.solver == AUTO else s.solver
        if needs[name] > memory:
            refusal = (
                f"{self.path}: {name} with the {self._kernel.name} kernel on {n} {rows} of "
                f"{self._shape.n_tags} {columns} needs about {needs[name]:,.0f} MB and "
                f"{memory:,.0f} MB are available"
            )
            remedy = Message("lower {cache_size}, or use fewer {}", rows)
            if needs[SAMPLED_CUTS] <= memory:
                remedy = Message("use {solver=} or fewer {}", SAMPLED_CUTS, rows)
            raise MemoryLimitError(
                "{}; {}", refusal, remedy, original=f"{refusal}; use fewer {rows}"
            )
        return name


class Emissions(FunctionsPlan):
    """Tags of sequences."""

    def __init__(self, sequences: Sequences, settings: Settings):
        units = units_of_structures(settings, len(sequences), checked_weights(sequences))
        super().__init__(sequences, settings, units, settings.transitions, settings.beam)
