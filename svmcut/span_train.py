# SPDX-License-Identifier: BSD-3-Clause
"""Exact training in the span of given points, the polish of every trainer that only chooses points, and its numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from svmcut._native.kernels import KernelRows
from svmcut.errors import DataError, MemoryLimitError, UsageError
from svmcut.machine import planned_memory
from svmcut.models import KernelModel
from svmcut.outcomes import SLIP
from svmcut.risks.protocol import SignedRisk
from svmcut.solvers.cutting_plane import CuttingPlane
from svmcut.solvers.protocol import Problem, Run, Solver, Start, StoppingRule
from svmcut.training import Config, Outcome, Trainer

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from svmcut.data import Csr, Examples
    from svmcut.solvers.protocol import Progress
    from svmcut.spaces.subspace import Basis
    from svmcut.training import Objective

#: Rows up to which a dual bound of the full problem is computed unless the options say otherwise.
CERTIFIED_ROWS = 50_000
#: Megabytes for stored kernel values and features; half of them for the Gram matrix.
_BUDGET = 4000.0
#: Rows scored at once where no kernel rows are laid out.
_BLOCK = 1 << 16


class SpanTrainer(Trainer):
    """Trains in the span of points in the feature space of a kernel.

    As Trainer, with these differences: there is no constant feature, and models are KernelModels.

    Parameters
    ----------
    examples : Examples
    config : Config
    solver : str
        The name its models are reported under.

    Attributes
    ----------
    exact_work : float
        Work (kernel values times 8 + nonzeros of a row) up to which the features of a span are computed in float64.
    """

    exact_work = 1e9  # about 20 s of one CPU

    def __init__(self, examples: Examples, config: Config, solver: str):
        self.solver, self._last_squared = solver, math.nan
        super().__init__(examples, config)
        if config.kernel.name == "sigmoid":
            self.warnings = [*self.warnings, "the sigmoid kernel need not be positive semidefinite; where it is not, "
                             "primal, dual and gap bound nothing"]  # fmt: skip

    def _make_space(self):
        if self.config.bias:
            raise UsageError("a kernel goes without the constant feature; give bias=0")
        self._extra_evaluations = 0
        self._basis: Basis | None = None

    @cached_property
    def _rows(self) -> KernelRows:
        """Kernel rows of the training set, laid out when they are first needed."""
        return self._rows_of(self.X)

    @property
    def _signs(self) -> NDArray[np.float64]:
        """(n,) labels of a risk that is a sum over the examples; any other is refused."""
        if not isinstance(self.risk, SignedRisk):
            raise UsageError(
                f"solver '{self.solver}' trains for error-rate only; use solver='cutting-plane' or 'subspace'"
            )
        return self.risk.signs

    def _evaluations(self) -> int:
        """Kernel values computed so far."""
        return self._extra_evaluations + (self._rows.evaluations if "_rows" in self.__dict__ else 0)

    def _fit_in_span(self, points: Csr, objective: Objective, observe, state: dict[str, Any] | None = None) -> Outcome:
        """Exact training over the functions these points span."""
        self._start = None
        return self._fit_exactly(objective, observe, self._span(points), state)

    def _fit_exactly(self, objective: Objective, observe, space, state: dict[str, Any] | None = None) -> Outcome:
        """Cutting planes in the full space or in a span, with the certificate of the full problem."""
        problem = Problem(objective.risk, space, objective.C, self._rule(objective), self.config.qp)
        start = None if state else self._scaled_start(objective.C, space)

        def certify(progress: Progress) -> tuple[float, float]:
            model = run.bundle.solve(objective.C, 1e-3 * problem.stop.target(progress.primal) / objective.C)
            dual = self._dual(model.lower + 0.5 * model.squared_norm, model.w.coefficients())
            found = self._kernel_model(progress.solution(), progress.cuts)
            return self._bracket(self._primal(found, objective), dual)

        run = Certified(CuttingPlane(), certify if self._certifies() else None)
        progress, stopped_by = self._run(run, problem, objective, observe, start, state)
        w = progress.solution()
        self._start, self._last_C = Start(run.bundle, (w,)), objective.C
        found = self._kernel_model(w, progress.cuts)
        outcome = Outcome(
            model=found,
            objective=objective,
            progress=progress,
            solver=self.solver,
            seconds=0.0,
            longest_cut=run.bundle.largest_norm,
            norm=math.sqrt(max(0.0, space.dot(w, w))),
            multipliers=objective.c * run.bundle.beta[1:],
        )
        if self._certifies():
            outcome.certificate = run.certificate(progress)
        elif self._basis is not None:
            outcome.certificate = (progress.primal, math.nan)
        if self._basis is not None:
            outcome.details["basis"] = {"vectors": len(self._basis), "dual": progress.dual, "gap": progress.gap}
        return self._judged(outcome, stopped_by, problem.stop.met(progress.primal, progress.dual))

    def _judged(self, outcome: Outcome, stopped_by: str | None, in_span: bool) -> Outcome:
        """The verdict; in_span: whether the rule is met for the problem the solver knew.

        --gap speaks of the full problem, so a span that cannot meet it is a reason to end; -e is the rule within it.
        """
        if in_span and "basis" in outcome.details:
            otherwise = "basis" if self.config.gap is not None and not math.isnan(outcome.dual) else "span"
        else:
            otherwise = "rounding"
        objective, model = outcome.objective, outcome.model
        assert isinstance(model, KernelModel)
        outcome.primal_of_file = self._file(model, outcome.primal, objective)
        return outcome.judge(self._rule(objective), stopped_by, otherwise)

    def _file(self, model: KernelModel, primal: float, objective: Objective) -> float | None:
        """The primal of the model as a reader of its file gets it; None where no digit can matter."""
        from svmcut.files.rounding import change_in_file, model_read_back

        kept, target = model_read_back(model), self._rule(objective).target(primal)
        change, offset = change_in_file(model, kept)
        most = objective.C * self._steepness() * (change + offset) + change * float(np.abs(model.alpha).sum())
        return None if most <= 0.01 * target else self._primal(kept, objective)

    def _steepness(self) -> float:
        """No change of all scores by at most d changes the risk by more than this times d; inf where not known."""
        return float(len(self.examples)) if self._is_sum and self._queries is None else math.inf

    def _scaled_start(self, C: float, space=None) -> Start | None:
        if self._start is None:
            return None
        (w,) = self._start.points
        return self._start._replace(points=(w, space.blend(C / self._last_C, w, 0.0, w)))

    def _span(self, points):
        """The subspace spanned by these points, which becomes the basis of the models."""
        from svmcut.spaces.subspace import Basis, Subspace

        n, config = len(self.examples), self.config
        need, memory = 4e-6 * n * min(points.n_rows, config.reduced.basis), self._memory()
        if need > memory:
            refusal = (
                f"{self.examples.source.path}: {points.n_rows} features of {n} rows need about {need:,.0f} MB and "
                f"{memory:,.0f} MB are available"
            )
            raise MemoryLimitError(f"{refusal}; lower parameter 'basis'")
        self._basis = Basis(config.kernel, points, config.threads)
        if not len(self._basis):
            raise DataError(self.examples.source.path, "every row is zero in the feature space of the kernel")
        exact = self._is_small(n * len(self._basis))
        F = self._basis.features(self.X, None if exact else self._rows, self._budget() / 3)
        self._extra_evaluations += points.n_rows**2 + exact * n * len(self._basis)
        return Subspace(F, self._certifies(), config.threads)

    def _budget(self) -> float:
        """Megabytes that decide how numbers are stored; the same on every machine that has as much, as models are."""
        return min(_BUDGET, self._memory())

    def _memory(self) -> float:
        """Megabytes there are, or may be used."""
        return planned_memory(self.config.max_memory)

    def _certifies(self) -> bool:
        certify = self.config.reduced.certify
        return len(self.examples) < CERTIFIED_ROWS if certify is None else certify

    def _kernel_model(self, w, cuts: int) -> KernelModel:
        config, d = self.config, self.examples.X.n_features
        if self._basis is not None:
            known = self._basis.Z, self._basis.to_alpha @ w.w
            return KernelModel(config.kernel, *known, 0.0, self._columns, d, cuts)
        used = w.coef != 0
        # the originals state one more than the number of features where training points are the support vectors
        return KernelModel(config.kernel, self.X.take(w.points[used]), w.coef[used], 0.0, self._columns, d + 1, cuts)

    def _primal(self, model: KernelModel, objective: Objective) -> float:
        """1/2 |f|^2 + C R(f) of a model."""
        squared = float(model.alpha @ self._expand(model.support, model.support, model.alpha))
        s = self._expand(self.X, model.support, model.alpha) - model.b
        return 0.5 * squared + objective.C * objective.risk.linearize(s).value

    def _expand(self, X: Csr, Z: Csr, alpha: NDArray) -> NDArray[np.float64]:
        """sum_k alpha_k K(z_k, .) at the rows of X, in float64."""
        values = X.n_rows * Z.n_rows
        if X is not self.X or "_rows" not in self.__dict__ or self._is_small(values):
            self._extra_evaluations += values
        if self._is_small(values):
            return self.config.kernel.expansion(X, Z, alpha, 0.0, self.config.threads)
        if X is self.X and "_rows" in self.__dict__:
            return self._rows.accumulate_foreign(Z, alpha, exact=True)
        blocks = [X.rows(start, min(start + _BLOCK, X.n_rows)) for start in range(0, X.n_rows, _BLOCK)]
        return np.concatenate([self._rows_of(block).accumulate_foreign(Z, alpha, exact=True) for block in blocks])

    def _is_small(self, values: int) -> bool:
        return values * (8 + self.X.nnz / max(self.X.n_rows, 1)) <= self.exact_work

    def _rows_of(self, X: Csr) -> KernelRows:
        return KernelRows(X, self.config.kernel, self.config.threads)

    def _heaviest(self, points: NDArray, coef: NDArray) -> Csr:
        """At most `basis` of these rows, chosen from those with the largest coefficients."""
        heavy = np.argsort(-np.abs(coef), kind="stable")[: max(20 * self.config.reduced.basis, 2000)]
        return self._pivoted(np.sort(points[heavy]))

    def _pivoted(self, candidates: NDArray) -> Csr:
        """At most `basis` of these rows, by incomplete Cholesky factorisation."""
        from svmcut.spaces.subspace import pivoted_rows

        rows = self._rows_of(self.X.take(candidates))
        chosen = pivoted_rows(rows, self.config.reduced.basis)
        self._extra_evaluations += rows.evaluations
        return self.X.take(candidates[chosen])

    def _dual(self, offset: float, coef: NDArray, most: float = 1.0) -> float:
        """A lower bound of the full problem from a combination of its cuts.

        C R(s) >= offset - coef.s for every s, whatever point the cuts were made at; times theta it holds too, for
        theta up to 1 (the rest of beta goes to the flat plane) or `most`. theta maximises the bound
        theta offset - theta^2 coef'K coef / 2.
        """
        points = np.flatnonzero(coef)
        if offset <= 0 or not len(points):
            return max(0.0, most * offset)
        Z = self.X.take(points)
        squared = self._last_squared = max(0.0, float(coef[points] @ self._expand(Z, Z, coef[points])))
        theta = min(most, offset / squared) if squared > 0 else most
        return theta * offset - 0.5 * theta * theta * squared

    def _bracket(self, primal: float, dual: float) -> tuple[float, float]:
        """Both, or no dual where it lies above the primal because the kernel is not positive semidefinite.

        A bound above the primal by rounding alone is lowered to it, and holds all the more.
        """
        if dual <= primal * (1 + SLIP):
            return primal, min(primal, dual)
        return primal, dual if self.config.kernel.is_definite else math.nan


class Certified(Run):
    """A solver that ends where the certificate of the full problem meets the rule, or what it can do is done.

    Where the solver's own numbers meet the rule and the certificate does not, it goes on to a closer target, as long as
    what else makes up the certified gap (the part outside a span, kernel values in float32) leaves room for one.

    Parameters
    ----------
    solver : CuttingPlane
    certify : callable or None
        Primal and dual of the full problem at a Progress of this solver; None leaves the solver alone.
    """

    patience: ClassVar[int | None] = CuttingPlane.patience

    def __init__(self, solver: Solver, certify: Callable[[Progress], tuple[float, float]] | None):
        self._solver, self._certify = solver, certify
        self._found: tuple[Progress | None, tuple[float, float]] = None, (math.nan, math.nan)

    def start(self, problem: Problem, start: Start | None = None, state: dict[str, Any] | None = None) -> Certified:
        """As that of the solver; the run is this object itself."""
        self._problem = problem
        self._within = problem.stop if state is None else StoppingRule(*state["within"])
        self._begin(start, state and state["solver"])
        return self

    def _begin(self, start: Start | None, state: dict[str, Any] | None) -> None:
        self._run = self._solver.start(replace(self._problem, stop=self._within), start, state)
        self.bundle = self._run.bundle

    def __iter__(self):
        problem = self._problem
        while True:
            for progress in self._run:
                yield progress
            if self._certify is None or not self._within.met(progress.primal, progress.dual):
                return
            primal, dual = self.certificate(progress)
            target = problem.stop.target(primal)
            closer = 0.5 * (target - (primal - dual - progress.gap))
            if problem.stop.met(primal, dual) or not 1e-3 * target < closer < 0.9 * progress.gap:
                return
            self._within = StoppingRule(closer)
            self._begin(None, {**self._run.state(), "ends": False})

    def certificate(self, progress: Progress) -> tuple[float, float]:
        """Primal and dual of the full problem, computed once."""
        if self._found[0] is not progress:
            assert self._certify is not None
            self._found = progress, self._certify(progress)
        return self._found[1]

    def state(self) -> dict[str, Any]:
        return {"within": (self._within.absolute, self._within.relative), "solver": self._run.state()}
