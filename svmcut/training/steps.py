# SPDX-License-Identifier: BSD-3-Clause
"""The stochastic batch perceptron and its rivals: expansions over the training points, step by
step.

Sampled cuts: they choose points, and their function is a model of its own.

Training on a budget of centres that need not be training points, then in the span of the
centres.
"""

from __future__ import annotations

import math

import numpy as np

from svmcut.base.errors import MemoryLimitError, TrainingError, UsageError
from svmcut.base.messages import Message
from svmcut.base.records import replace
from svmcut.base.typing import Any
from svmcut.data.examples import Csr, Examples
from svmcut.models import KernelModel
from svmcut.risks.weights import boxes, total
from svmcut.solvers.expansion import ExpansionProblem
from svmcut.solvers.protocol import Problem
from svmcut.solvers.smo import KernelProblem
from svmcut.spaces.kernel import DrawnSpace
from svmcut.spec import schemas
from svmcut.spec.catalog import SOLVERS, SUBSPACE, solver_class
from svmcut.spec.parameters import Settings
from svmcut.training.driver import Ended, make_solver
from svmcut.training.kernel_cuts import Chosen, Span, judge_span
from svmcut.training.kernel_plan import KernelPlan, KernelRoom
from svmcut.training.outcome import FULL, Objective, Outcome
from svmcut.training.vectors import Vectors


class StepPlan(Chosen):
    """Steps over the points that are not held out.

    Training ends after its epochs or with the error on the points held out, and the polish by the
    stopping rule. Raises UsageError or TrainingError when nothing is left to train on or to hold
    out, or a free bias meets one class.
    """

    key = "stochastic"

    def __init__(self, examples: Examples, settings: Settings):
        super().__init__(examples, settings)
        s, n = settings, self.room.X.n_rows
        self._y = np.ascontiguousarray(self.room.vectors.risk.signs, np.float64)
        self._held = np.zeros(n, bool)
        if s.hold_out:
            count = int(s.hold_out * n)
            if not 0 < count < n:
                raise UsageError("{hold_out=} of {} examples leaves one part empty", s.hold_out, n)
            self._held[np.random.default_rng(s.seed).permutation(n)[:count]] = True
        trained = self._y[~self._held]
        if s.free_bias and abs(trained.sum()) == len(trained):
            raise TrainingError(
                "{}: solver '{}' with its free bias needs "
                "labels of both signs; add {free_bias=False}",
                self.path,
                s.solver,
            )

    def check(self, handed: Any) -> None:
        details = schemas.fields(
            steps=schemas.COUNT, epochs=schemas.REAL, kernel_evaluations=schemas.COUNT
        )
        known = {"details": details, "evaluations": schemas.COUNT}
        schemas.checked(handed, schemas.expansion(dict, self.room.X.n_rows, **known), "found")

    def first(self, objective: Objective) -> tuple[Any, ExpansionProblem]:
        s, room = self.settings, self.room
        own: dict[str, Any] = {"bound": s.certify} if self._has_level else {}
        solver = make_solver(s.solver, s, max_steps=s.max_iterations, **own)
        weights = room.vectors.risk.weights
        return solver, ExpansionProblem(
            room.X, self._y, room.kernel, objective.C, self._held, s.gap, s.threads, weights
        )

    @property
    def _has_level(self) -> bool:
        """True for the stochastic batch perceptron, which raises a level and follows its mean
        slack."""
        return "nu" in SOLVERS[self.settings.solver].takes

    def stopped_by(self, ended: Ended) -> str | None:
        over = ended.run.best.step >= ended.run.total and self.settings.max_iterations is None
        return None if over and ended.stopped_by == "limit" else ended.stopped_by

    def handover(self, objective: Objective, ended: Ended) -> dict[str, Any]:
        run, progress, beta = ended.run, ended.progress, ended.run.solution().beta
        details = {
            "steps": progress.iteration,
            "epochs": progress.passes,
            "best_step": run.best.step,
            "kernel_evaluations": progress.evaluations,
        }
        if self._held.any():
            details |= {"held_out": int(self._held.sum()), "held_out_error": run.best.error}
        if self._has_level:
            details["nu"] = run.found_nu
        dual = self._bound(run, objective.C, details) if self.settings.certify else math.nan
        rows = np.flatnonzero(beta)
        return {
            "points": rows,
            "coef": beta[rows],
            "details": details,
            "dual": dual,
            "evaluations": progress.evaluations,
        }

    def bare(self, objective: Objective, handed: dict[str, Any], ended: Ended) -> Outcome:
        """The best function met, its exact primal and the bound."""
        best, f, held = ended.run.best, ended.run.solution(), bool(self._held.any())
        model = self.room.machine(f.beta, f.b)
        squared = 2 * (best.primal - objective.C * best.risk)
        outcome = ended.outcome(
            self.settings.solver, model, squared, longest_cut=0.0, multipliers=f.beta
        )
        if self.settings.certify:
            primal = best.primal if held else self.room.primal(model, objective.C)
            outcome.certificate = self.room.bracket(primal, handed["dual"])
        stop = self.stop(objective)
        # the primal is that of the rows that are not held out, which the room does not know
        reading = None if held else self.room.reading(outcome, stop)
        outcome.judge(stop, self.stopped_by(ended), "epochs", reading)
        return outcome if held else self.room.improve(outcome, bool(self.settings.free_bias))

    def _bound(self, run, C: float, details: dict[str, Any]) -> float:
        """A dual bound of the problem over the points trained on, which is one of the problem over
        all."""
        y, v = self._y, self.room.vectors.risk.weights
        if not self._has_level:
            return self.room.bound(np.clip(run.solution().beta * y, 0.0, boxes(C, v)), C)
        p = run.distribution()
        if p is None:
            return math.nan
        coef, most = p * y, float((p if v is None else p / v).max())
        trained = total(None if v is None else v[~self._held], len(y) - int(self._held.sum()))
        squared = self.room.squared_norm(coef)
        details["level_bound"] = math.sqrt(squared) + run.found_nu * trained * most
        return self.room.dual_bound(1.0, coef, C / most, squared)


class DrawPlan(Chosen):
    """Cuts of some terms of the loss, by linear or by constant time a cut."""

    key = "sampled"
    counts = "cuts"

    @property
    def _constant(self) -> bool:
        """True if the time for a cut does not grow with the rows."""
        return "patience" in SOLVERS[self.settings.solver].takes

    def check(self, handed: Any) -> None:
        count = schemas.COUNT
        counts = schemas.fields(
            cuts=count, rounds=count, points=count, primal=schemas.REAL, kernel_evaluations=count
        )
        known = {
            "full": schemas.flag,
            "squared": schemas.REAL,
            "cuts": counts,
            "evaluations": count,
        }
        schemas.checked(handed, schemas.expansion(dict, self.room.X.n_rows, **known), "found")

    def first(self, objective: Objective) -> tuple[Any, Problem]:
        room, s, kind = self.room, self.settings, solver_class(self.settings.solver)
        try:
            sampler = room.vectors.risk.sampler()
        except ValueError as error:
            raise TrainingError("{}: {}; use {solver=}", self.path, error, SUBSPACE) from None
        self._before = room.rows.evaluations
        space: Any
        if self._constant:
            from svmcut.solvers.constant_cuts import SampleSpace

            space, solver = SampleSpace(room.rows), kind(sampler, s.sample_size, s.patience, s.seed)
        else:
            space = DrawnSpace(room.rows)
            solver = kind(sampler, s.sample_size, s.seed, memory=room.memory / 2, trace=s.certify)
        return solver, Problem(room.vectors.risk, space, objective.C, self.stop(objective), s.qp)

    def handover(self, objective: Objective, ended: Ended) -> dict[str, Any]:
        w, progress, room = ended.progress.solution(), ended.progress, self.room
        squared = 2 * (progress.primal - objective.C * progress.risk)
        cuts = {
            "cuts": progress.cuts,
            "rounds": progress.iteration,
            "points": len(w.points),
            "primal": progress.primal,
            "kernel_evaluations": room.rows.evaluations - self._before,
        }
        if self._constant and self.settings.certify:
            s = room.rows.accumulate(w.points, w.coef)
            value, squared = room.vectors.risk.linearize(s).value, float(w.coef @ s[w.points])
            cuts["primal"] = 0.5 * squared + objective.C * value
        full = not self._constant and ended.run.full
        return {
            "points": w.points,
            "coef": w.coef,
            "cuts": cuts,
            "full": full,
            "squared": squared,
            "evaluations": 0,
        }

    def bare(self, objective: Objective, handed: dict[str, Any], ended: Ended) -> Outcome:
        """The function of the cuts, with a bound from the exact cuts or, for the hinge, its clipped
        self."""
        room, w, C, n = self.room, ended.progress.solution(), objective.C, self.room.X.n_rows
        model = room.model(w, ended.progress.cuts)
        primal, dual = ended.progress.primal, math.nan
        if self.settings.certify:
            primal = room.primal(model, C)
            if self._constant:
                alpha = np.zeros(n)
                risk, at = room.vectors.risk, w.points
                most = boxes(C, None if risk.weights is None else risk.weights[at])
                alpha[at] = np.clip(w.coef * risk.signs[at], 0.0, most)
                dual = room.bound(alpha, C)
            else:
                offset, coef = ended.run.dual_point(C, n)
                dual = room.dual_bound(offset, coef)
        squared = handed["squared"]
        progress = ended.progress._replace(primal=primal, dual=dual, gap=primal - dual)
        outcome = ended._replace(progress=progress).outcome(self.settings.solver, model, squared)
        otherwise = "limit" if handed["full"] else "samples"
        stop = self.stop(objective)
        return self._warn_if_full(
            outcome.judge(stop, ended.stopped_by, otherwise, room.reading(outcome, stop)), handed
        )

    def finish_polish(
        self, span: Span, objective: Objective, handed: dict[str, Any], ended: Ended
    ) -> Outcome:
        outcome, primal = span.judge(ended), handed["cuts"]["primal"]
        estimated = self._constant and not self.settings.certify
        # below the polish by more than its rule leaves open: not by rounding or an early end
        if not (
            estimated or outcome.primal <= primal + self.stop(objective).target(outcome.primal)
        ):
            outcome.warnings.append(
                Message(
                    "the sampled cuts alone reached {:.6g}, less than the polish in the span of "
                    "{} points; raise "
                    "{basis}",
                    primal,
                    outcome.details["basis"]["vectors"],
                )
            )
        return self._warn_if_full(outcome, handed)

    def _warn_if_full(self, outcome: Outcome, handed: dict[str, Any]) -> Outcome:
        if handed["full"]:
            outcome.warnings.append(FULL)
        return outcome


#: Megabytes of features in the polish; more rows than that allows are represented by a sample.
POLISH_MB = 200.0


class BudgetPlan(Chosen):
    """Steps on a budget of centres. Training ends after its epochs, and the polish by the stopping
    rule. Raises MemoryLimitError if the centres do not fit."""

    key = "budget"
    exact_work = 2e7  # the steps knew float32 values only

    def __init__(self, examples: Examples, settings: Settings):
        super().__init__(examples, settings)
        room, most, d = self.room, settings.budget, self.room.X.n_features
        need = 5e-6 * (min(most, room.X.n_rows) + 1) * d
        if need > room.memory:
            raise MemoryLimitError(
                "{}: {} centres of {} features need about {:,.0f} MB and {:,.0f} MB are "
                "available; lower {budget}",
                self.path,
                most,
                d,
                need,
                room.memory,
            )

    def check(self, handed: Any) -> None:
        known = {
            "model": schemas.instance(KernelModel),
            "details": schemas.anything,
            "evaluations": schemas.COUNT,
        }
        schemas.checked(handed, schemas.instance(dict, **known), "found")
        handed["model"].validate(self.room.vectors.examples.X.n_features)
        same = handed["model"].support.n_features == self.room.X.n_features
        schemas.require(same, "found.model and the examples", "their width")

    def first(self, objective: Objective) -> tuple[Any, KernelProblem]:
        s, room = self.settings, self.room
        solver = make_solver(s.solver, s, max_steps=s.max_iterations)
        return solver, KernelProblem.of(room.vectors.risk, room.X, room.kernel, objective.C)

    def handover(self, objective: Objective, ended: Ended) -> dict[str, Any]:
        """The centres as a model, and counts."""
        progress, vectors, centres = ended.progress, self.room.vectors, ended.progress.solution()
        used = centres.beta != 0
        Z, beta = Csr.from_dense(centres.Z[used]), centres.beta[used]
        if not (np.isfinite(beta).all() and np.isfinite(Z.data).all()):
            raise TrainingError("{}: kernel values are not finite; scale the features", self.path)
        d, n, counts = vectors.examples.X.n_features, self.room.X.n_rows, ended.run.counts()
        details = {
            "centres": len(beta),
            "epochs": progress.passes,
            "steps": progress.iteration,
            "moves": counts["moves"],
            "maintained": counts["maintained"],
            "dropped": counts["removed"],
            **ended.run.criteria(),
        }
        model = KernelModel(self.room.kernel, Z, beta, 0.0, vectors.columns, d, n)
        return {"model": model, "details": details, "evaluations": counts["evaluations"]}

    def size(self, handed: dict[str, Any]) -> int:
        return len(handed["model"].alpha)

    def bare(self, objective: Objective, handed: dict[str, Any], ended: Ended) -> Outcome:
        """The best f as it is, its exact primal, and the bound that alpha gives where one may be
        computed."""
        room, C, alpha = self.room, objective.C, ended.run.alpha()
        squared, risk = room.parts(handed["model"])
        primal, dual = 0.5 * squared + C * risk, ended.progress.dual
        if alpha is not None and self.settings.certify:
            dual = room.bracket(primal, room.bound(alpha, C))[1]
        ended = ended._replace(
            progress=ended.progress._replace(primal=primal, dual=dual, gap=primal - dual, risk=risk)
        )
        outcome = ended.outcome(self.settings.solver, handed["model"], squared, longest_cut=0.0)
        stop = self.stop(objective)
        return room.improve(
            outcome.judge(stop, ended.stopped_by, "epochs", room.reading(outcome, stop))
        )

    def span(self, objective: Objective, handed: dict[str, Any]) -> tuple[Span, Objective]:
        """The span of the centres, over all rows or over as many as POLISH_MB allows."""
        room, Z, n = self.room, handed["model"].support, self.room.X.n_rows
        m = max(10 * Z.n_rows, int(POLISH_MB / (4e-6 * Z.n_rows)))
        if n <= m:
            return Span(room, Z), objective
        rows = np.sort(np.random.default_rng(self.settings.seed).choice(n, m, replace=False))
        whole = room.vectors
        v = whole.risk.weights
        own = None if v is None else v[rows]
        examples = Examples(
            room.X.take(rows), whole.examples.y[rows], None, own, whole.examples.source
        )
        part = Vectors(examples, self.settings)
        part.X = examples.X  # on the columns of the centres, whichever of them occur
        judge_by_proof = part.units.objective(
            None, objective.C * whole.units.samples / part.units.samples
        )
        return Span(
            KernelRoom(part, replace(self.settings, certify=False), KernelPlan.exact_work), Z
        ), judge_by_proof

    def finish_polish(
        self, span: Span, objective: Objective, handed: dict[str, Any], ended: Ended
    ) -> Outcome:
        if span.room is self.room:
            return span.judge(ended)
        room, outcome, model = self.room, span.outcome(ended), handed["model"]
        spanned = outcome.model
        assert isinstance(spanned, KernelModel)
        polished = replace(
            spanned,
            columns=room.vectors.columns,
            highest_index=model.highest_index,
            n_documents=room.X.n_rows,
        )
        primals = [room.primal(choice, objective.C) for choice in (polished, model)]
        outcome.model = polished if primals[0] <= primals[1] else model
        outcome.objective, outcome.certificate = objective, (min(primals), math.nan)
        outcome.details["basis"]["rows"] = span.room.X.n_rows
        room.extra += span.room.evaluations
        stopped_by = ended.stopped_by if ended.stopped_by in ("limit", "interrupt") else None
        return judge_span(room, outcome, self.stop(objective), stopped_by, True)
