# SPDX-License-Identifier: BSD-3-Clause
"""Sampled cuts: they choose points, and their function is a model of its own."""

from __future__ import annotations

import math

import numpy as np

from svmcut.errors import TrainingError
from svmcut.messages import Message
from svmcut.risks.weights import boxes
from svmcut.solvers.protocol import Problem
from svmcut.spaces.kernel import DrawnSpace
from svmcut.spec import schemas
from svmcut.spec.catalog import SOLVERS, SUBSPACE, solver_class
from svmcut.training.outcome import FULL, Objective, Outcome
from svmcut.training.span import Span
from svmcut.training.stage import Ended
from svmcut.training.two_stages import Chosen
from svmcut.typing import Any


class DrawPlan(Chosen):
    """Cuts of some terms of the loss, by linear or by constant time a cut."""

    key = "sampled"
    counts = "cuts"

    @property
    def _constant(self) -> bool:
        """Whether a cut takes time that does not grow with the rows."""
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
        return self._told(
            outcome.judge(stop, ended.stopped_by, otherwise, room.reading(outcome, stop)), handed
        )

    def polished(
        self, span: Span, objective: Objective, handed: dict[str, Any], ended: Ended
    ) -> Outcome:
        outcome, primal = span.judged(ended), handed["cuts"]["primal"]
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
        return self._told(outcome, handed)

    def _told(self, outcome: Outcome, handed: dict[str, Any]) -> Outcome:
        if handed["full"]:
            outcome.warnings.append(FULL)
        return outcome
