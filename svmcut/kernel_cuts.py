# SPDX-License-Identifier: BSD-3-Clause
"""Cutting planes with a kernel, and sampled ones: the space they work in and the certificate of their models."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from svmcut import states
from svmcut.errors import TrainingError, UsageError
from svmcut.models import renumber
from svmcut.outcomes import FULL
from svmcut.risks.protocol import DrawnRisk
from svmcut.solvers.protocol import Problem
from svmcut.spaces.kernel import KernelSpace
from svmcut.span_train import SpanTrainer
from svmcut.training import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from svmcut.solvers.constant_cuts import ConstantCuts, SampleSpace
    from svmcut.solvers.protocol import Progress
    from svmcut.solvers.sampled_cuts import SampledCuts
    from svmcut.training import Objective


class KernelCutTrainer(SpanTrainer):
    """Trains expansions over the training points, or over a basis of them, by cutting planes.

    Parameters
    ----------
    examples : Examples
    config : Config
    solver : {"cutting-plane", "subspace", "sampled-cuts", "constant-cuts"}
    """

    def _make_space(self):
        super()._make_space()
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
        self._sampled: dict[str, Any] | None = None
        if self.space is not None:
            outcome = self._fit_exactly(objective, observe, self.space, state)
        else:
            outcome = self._fit_sampled(objective, observe, state)
        outcome.seconds = time.perf_counter() - began
        outcome.kernel_evaluations = self._evaluations()
        return outcome

    def state(self) -> dict[str, Any]:
        """As Trainer.state; beside it the points of the sampled cuts, once they are found."""
        return {**super().state(), "sampled": self._sampled}

    def _fit_sampled(self, objective: Objective, observe, state: dict[str, Any] | None) -> Outcome:
        """Sampled cuts, then exact training in the span of the points they chose, unless the options say otherwise."""
        config, reduced = self.config, self.config.reduced
        if state is not None and state["sampled"] is not None:
            count = states.COUNT
            counts = states.fields(cuts=count, rounds=count, points=count, primal=states.REAL, kernel_evaluations=count)
            kind = states.expansion(dict, len(self.examples), full=states.flag, cuts=counts)
            states.checked(state["sampled"], kind, "sampled")
            return self._polished(state["sampled"], objective, observe, state)
        if not isinstance(self.risk, DrawnRisk):
            raise UsageError(
                f"solver '{self.solver}' does not train for '{self.config.loss}', which is no sum of terms to draw "
                "from; use solver='cutting-plane' or 'subspace'"
            )
        try:
            sampler = self.risk.sampler()
        except ValueError as error:
            raise TrainingError(f"{self.examples.source.path}: {error}; use solver='subspace'") from None
        before = self._rows.evaluations
        space: KernelSpace | SampleSpace
        solver: SampledCuts | ConstantCuts
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
        problem = Problem(objective.risk, space, objective.C, self._rule(objective), self.config.qp)
        progress, stopped_by = self._run(solver, problem, objective, observe, None, state)
        w, run = progress.solution(), self._solver
        full = self.solver == "sampled-cuts" and run.full
        cuts = {"cuts": progress.cuts, "rounds": progress.iteration, "points": len(w.points), "primal": progress.primal,
                "kernel_evaluations": self._rows.evaluations - before}  # fmt: skip
        if self.solver == "constant-cuts":
            s = self._rows.accumulate(w.points, w.coef)
            cuts["primal"] = 0.5 * float(w.coef @ s[w.points]) + objective.C * self.risk.linearize(s).value
        if reduced.polish and stopped_by in (None, "rounding") and len(w.points):
            sampled = {"points": w.points, "coef": w.coef, "cuts": cuts, "full": full}
            return self._polished(sampled, objective, observe)
        outcome = self._bare(w, objective, progress, run)
        outcome.judge(problem.stop, stopped_by, "limit" if full else "samples")
        return _with_sampled(outcome, cuts, full)

    def _bare(self, w, objective: Objective, progress: Progress, run) -> Outcome:
        """The function of the sampled cuts, with a bound from the exact cuts or, for the hinge, its clipped self."""
        self._basis, C, bundle = None, objective.C, run.bundle
        model = self._kernel_model(w, progress.cuts)
        primal, dual = progress.primal, math.nan
        if self._certifies():
            primal = self._primal(model, objective)
        if self._certifies() and self.solver == "sampled-cuts":
            dual = self._dual(*run.dual_point(C, len(self.examples)))
        elif self._certifies():
            box = np.zeros(len(self.examples))
            box[w.points] = np.clip(w.coef * self._signs[w.points], 0.0, C)
            dual = self._dual(float(box.sum()), box * self._signs, C / max(float(box.max()), 1e-300))
        squared = float(w.coef @ self._rows.accumulate(w.points, w.coef)[w.points]) if len(w.points) else 0.0
        return Outcome(
            model, objective, progress._replace(primal=primal, dual=dual, gap=primal - dual), self.solver, 0.0,
            bundle.largest_norm, math.sqrt(max(0.0, squared)), objective.c * bundle.beta[1:],
        )  # fmt: skip

    def _polished(self, sampled: dict[str, Any], objective: Objective, observe, state=None) -> Outcome:
        """Exact training in the span of the points with the largest coefficients."""
        self._sampled, cuts = sampled, sampled["cuts"]
        points = self._heaviest(sampled["points"], sampled["coef"])
        outcome = self._fit_in_span(points, objective, observe, state)
        if not outcome.primal <= cuts["primal"]:
            outcome.warnings.append(
                f"the sampled cuts alone reached {cuts['primal']:.6g}, less than the polish in the span of "
                f"{outcome.details['basis']['vectors']} points; raise parameter 'basis'"
            )
        return _with_sampled(outcome, cuts, sampled["full"])

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


def _with_sampled(outcome: Outcome, cuts: dict[str, Any], full: bool) -> Outcome:
    outcome.details["sampled"] = cuts
    if full:
        outcome.warnings.append(FULL)
    return outcome
