# SPDX-License-Identifier: BSD-3-Clause
"""Cutting planes with a kernel: the space they work in, and what their numbers say of the full problem."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from svmcut._native.kernels import KernelRows
from svmcut.errors import DataError, MemoryLimitError, TrainingError, UsageError
from svmcut.machine import available_memory
from svmcut.models import KernelModel, renumber
from svmcut.solvers.cutting_plane import CuttingPlane
from svmcut.solvers.protocol import Problem, Start
from svmcut.spaces.kernel import KernelSpace
from svmcut.train import Config, Outcome, Trainer

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from svmcut.data import Csr, Examples
    from svmcut.solvers.protocol import Progress
    from svmcut.train import Objective

#: Rows up to which a dual bound of the full problem is computed unless the options say otherwise.
CERTIFIED_ROWS = 50_000
#: Megabytes for stored kernel values and features; half of them for the Gram matrix.
_BUDGET = 4000.0
#: Work (kernel values times 8 + nonzeros of a row) up to which they are computed in float64, about 20 s of one CPU.
_EXACT = 1_000_000_000


class KernelCutTrainer(Trainer):
    """Trains expansions over the training points, or over a basis of them, by cutting planes.

    As Trainer, with these differences: there is no constant feature, and models are KernelModels.

    Parameters
    ----------
    examples : Examples
    config : Config
    solver : {"cutting-plane", "subspace", "sampled-cuts", "constant-cuts"}
    """

    def __init__(self, examples: Examples, config: Config, solver: str):
        self.solver = solver
        super().__init__(examples, config)
        if config.kernel.name == "sigmoid":
            self.warnings = [*self.warnings, "the sigmoid kernel need not be positive semidefinite; where it is not, "
                             "primal, dual and gap bound nothing"]  # fmt: skip

    def _make_space(self):
        if self.config.bias:
            raise UsageError("a kernel goes without the constant feature; give --b 0")
        self._extra_evaluations = 0
        self._rows = self._rows_of(self.X)
        self._basis = None
        if self.solver == "cutting-plane":
            return KernelSpace(self._rows, self._budget() / 2)
        if self.solver == "subspace":
            return self._span(self._basis_points())
        return None

    def fit(
        self,
        cost: float | None,
        example_cost: float | None,
        observe: Callable[[Progress, Objective], None] | None = None,
        state: dict[str, Any] | None = None,
    ) -> Outcome:
        """As Trainer.fit."""
        objective = self.objective(cost, example_cost)
        began = time.perf_counter()
        self._sampled = None
        if self.space is not None:
            outcome = self._fit_exactly(objective, observe, self.space, state)
        else:
            outcome = self._fit_sampled(objective, observe, state)
        outcome.seconds = time.perf_counter() - began
        outcome.kernel_evaluations = self._rows.evaluations + self._extra_evaluations
        return outcome

    def state(self) -> dict[str, Any]:
        """As Trainer.state; beside it the points of the sampled cuts, once they are found."""
        return {**super().state(), "sampled": self._sampled}

    def _fit_sampled(self, objective: Objective, observe, state: dict[str, Any] | None) -> Outcome:
        """Sampled cuts, then exact training in the span of the points they chose, unless the options say otherwise."""
        config, reduced = self.config, self.config.reduced
        if state is not None and state["sampled"] is not None:
            return self._polished(state["sampled"], objective, observe, state)
        try:
            sampler = self.risk.sampler()
        except ValueError as error:
            raise TrainingError(f"{self.examples.source.path}: {error}; use --solver subspace") from None
        before = self._rows.evaluations
        if self.solver == "sampled-cuts":
            from svmcut.solvers.sampled_cuts import SampledCuts

            space = KernelSpace(self._rows, 0.0, np.float32)
            solver = SampledCuts(
                sampler, reduced.sample_size, config.seed, memory=self._memory() / 2, trace=self._certifies()
            )
        else:
            from svmcut.solvers.constant_cuts import ConstantCuts, SampleSpace

            space = SampleSpace(self._rows)
            solver = ConstantCuts(sampler, reduced.sample_size, reduced.patience, config.seed)
        problem = Problem(objective.risk, space, objective.C, self._rule(objective))
        progress, stopped_by = self._run(solver, problem, objective, observe, None, state)
        full = getattr(solver, "full", False)
        w = progress.solution()
        cuts = {"cuts": progress.cuts, "rounds": progress.iteration, "points": len(w.points), "primal": progress.primal,
                "kernel_evaluations": self._rows.evaluations - before}  # fmt: skip
        if self.solver == "constant-cuts":
            s = self._rows.accumulate(w.points, w.coef)
            cuts["primal"] = 0.5 * float(w.coef @ s[w.points]) + objective.C * self.risk.linearize(s).value
        if reduced.polish and stopped_by is None and len(w.points):
            self._sampled = {"points": w.points, "coef": w.coef, "cuts": cuts, "full": full}
            return self._polished(self._sampled, objective, observe)
        outcome = self._bare(w, objective, progress, solver)
        outcome.converged = stopped_by is None and not full
        outcome.stopped_by = None if outcome.converged else stopped_by or "limit"
        return _with_sampled(outcome, cuts, full)

    def _bare(self, w, objective: Objective, progress: Progress, solver) -> Outcome:
        """The function of the sampled cuts, with a bound from the exact cuts or, for the hinge, its clipped self."""
        self._basis, C, bundle = None, objective.C, solver.bundle
        model = self._kernel_model(w, progress.cuts)
        primal, dual = progress.primal, math.nan
        if self._certifies():
            primal = self._primal(model, objective)
        if self._certifies() and self.solver == "sampled-cuts":
            dual = self._dual(*solver.dual_point(C, len(self.examples)))
        elif self._certifies():
            box = np.zeros(len(self.examples))
            box[w.points] = np.clip(w.coef * self.risk.signs[w.points], 0.0, C)
            dual = self._dual(float(box.sum()), box * self.risk.signs, C / max(float(box.max()), 1e-300))
        squared = float(w.coef @ self._rows.accumulate(w.points, w.coef)[w.points]) if len(w.points) else 0.0
        return Outcome(
            model, objective, progress._replace(primal=primal, dual=dual, gap=primal - dual), self.solver, True, None,
            0.0, bundle.largest_norm, math.sqrt(max(0.0, squared)), objective.c * bundle.beta[1:],
        )  # fmt: skip

    def _polished(self, sampled: dict[str, Any], objective: Objective, observe, state=None) -> Outcome:
        """Exact training in the span of the points with the largest coefficients."""
        self._sampled, k, cuts = sampled, self.config.reduced.basis, sampled["cuts"]
        heavy = np.argsort(-np.abs(sampled["coef"]), kind="stable")[: max(20 * k, 2000)]
        self._start = None
        span = self._span(self._pivoted(np.sort(sampled["points"][heavy])))
        outcome = self._fit_exactly(objective, observe, span, state)
        if not outcome.primal <= cuts["primal"]:
            outcome.warnings.append(
                f"the sampled cuts alone reached {cuts['primal']:.6g}, less than the polish in the span of "
                f"{len(self._basis)} points; raise --basis"
            )
        return _with_sampled(outcome, cuts, sampled["full"])

    def _fit_exactly(self, objective: Objective, observe, space, state: dict[str, Any] | None = None) -> Outcome:
        """Cutting planes in the full space or in a span, with the certificate of the full problem."""
        solver = CuttingPlane()
        problem = Problem(objective.risk, space, objective.C, self._rule(objective))
        start = None if state else self._scaled_start(objective.C, space)
        progress, stopped_by = self._run(solver, problem, objective, observe, start, state)
        converged = problem.stop.met(progress.primal, progress.dual)
        w = progress.solution()
        self._start, self._last_C = Start(solver.bundle, (w,)), objective.C
        outcome = Outcome(
            model=self._kernel_model(w, progress.cuts),
            objective=objective,
            progress=progress,
            solver=self.solver,
            converged=converged,
            stopped_by=None if converged else stopped_by or "rounding",
            seconds=0.0,
            longest_cut=solver.bundle.largest_norm,
            norm=math.sqrt(max(0.0, space.dot(w, w))),
            multipliers=objective.c * solver.bundle.beta[1:],
        )
        if self._certifies():
            model = solver.bundle.solve(objective.C, 1e-3 * problem.stop.target(progress.primal) / objective.C)
            dual = self._dual(model.lower + 0.5 * model.squared_norm, model.w.coefficients())
            outcome.certificate = self._bracket(self._primal(outcome.model, objective), dual)
        elif self._basis is not None:
            outcome.certificate = (progress.primal, math.nan)
        if self._basis is not None:
            outcome.details["basis"] = {"vectors": len(self._basis), "dual": progress.dual, "gap": progress.gap}
        return outcome

    def _scaled_start(self, C: float, space=None) -> Start | None:
        if self._start is None:
            return None
        (w,) = self._start.points
        return self._start._replace(points=(w, space.blend(C / self._last_C, w, 0.0, w)))

    def _basis_points(self):
        """The rows the options name as candidates of a basis, at most `basis` of them."""
        reduced, n = self.config.reduced, len(self.examples)
        if reduced.basis_file:
            from svmcut.files.examples import read_examples

            return renumber(read_examples(reduced.basis_file, threads=self.config.threads).X, self._columns)
        from svmcut.spaces.subspace import even_rows

        if reduced.basis_method == 1:
            return self.X.take(even_rows(n, reduced.basis))
        # the factor of all rows costs n k^2; twenty candidates a vector lose little
        m = n if reduced.basis_method == 2 else min(n, max(20 * reduced.basis, 2000))
        return self._pivoted(even_rows(n, m))

    def _span(self, points):
        """The subspace spanned by these points, which becomes the basis of the models."""
        from svmcut.spaces.subspace import Basis, Subspace

        n, config = len(self.examples), self.config
        need, memory = 4e-6 * n * min(points.n_rows, config.reduced.basis), self._memory()
        if need > memory:
            raise MemoryLimitError(
                f"{self.examples.source.path}: {points.n_rows} features of {n} rows need about {need:,.0f} MB and "
                f"{memory:,.0f} MB are available; lower --basis"
            )
        self._basis = Basis(config.kernel, points, config.threads)
        if not len(self._basis):
            raise DataError(self.examples.source.path, "every row is zero in the feature space of the kernel")
        exact = self._is_small(n * len(self._basis))
        F = self._basis.features(self.X, None if exact else self._rows, self._budget() / 3)
        self._extra_evaluations += points.n_rows**2 + exact * n * len(self._basis)
        return Subspace(F, trace=self._certifies())

    def _budget(self) -> float:
        """Megabytes that decide how numbers are stored; the same on every machine that has as much, as models are."""
        return min(_BUDGET, self._memory())

    def _memory(self) -> float:
        """Megabytes there are, or may be used."""
        limit = self.config.max_memory
        available = available_memory()
        return min(limit or math.inf, 0.8 * available if available is not None else 4000.0)

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
        s = self._expand(self.X, model.support, model.alpha)
        return 0.5 * squared + objective.C * objective.risk.linearize(s).value

    def _expand(self, X: Csr, Z: Csr, alpha: NDArray) -> NDArray[np.float64]:
        """sum_k alpha_k K(z_k, .) at the rows of X, kernel values in float64 where they are not too many."""
        if self._is_small(X.n_rows * Z.n_rows):
            self._extra_evaluations += X.n_rows * Z.n_rows
            return self.config.kernel.expansion(X, Z, alpha, 0.0, self.config.threads)
        rows = self._rows if X is self.X else self._rows_of(X)
        if rows is not self._rows:
            self._extra_evaluations += X.n_rows * Z.n_rows
        return rows.accumulate_foreign(Z, alpha)

    def _is_small(self, values: int) -> bool:
        return values * (8 + self.X.nnz / max(self.X.n_rows, 1)) <= _EXACT

    def _rows_of(self, X: Csr) -> KernelRows:
        return KernelRows(X, self.config.kernel, self.config.threads)

    def _pivoted(self, candidates: NDArray) -> Csr:
        """At most --basis of these rows, by incomplete Cholesky factorisation."""
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
            return 0.0
        Z = self.X.take(points)
        squared = max(0.0, float(coef[points] @ self._expand(Z, Z, coef[points])))
        theta = min(most, offset / squared) if squared > 0 else most
        return theta * offset - 0.5 * theta * theta * squared

    def _bracket(self, primal: float, dual: float) -> tuple[float, float]:
        """Both, or no dual where it lies above the primal: the kernel is not positive semidefinite then."""
        return primal, dual if dual <= primal * (1 + 1e-6) else math.nan


def _with_sampled(outcome: Outcome, cuts: dict[str, Any], full: bool) -> Outcome:
    outcome.details["sampled"] = cuts
    if full:
        outcome.warnings.append("the cuts filled their memory; raise --max-memory or --sample-size")
    return outcome
