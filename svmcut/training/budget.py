# SPDX-License-Identifier: BSD-3-Clause
"""Training on a budget of centres that need not be training points, then in the span of the
centres."""

from __future__ import annotations

import math

import numpy as np

from svmcut.data.examples import Csr, Examples
from svmcut.errors import MemoryLimitError, TrainingError
from svmcut.models import KernelModel
from svmcut.solvers.smo import KernelProblem
from svmcut.spec import schemas
from svmcut.spec.parameters import Settings
from svmcut.spec.records import replace
from svmcut.training.outcome import Objective, Outcome
from svmcut.training.room import KernelPlan, KernelRoom
from svmcut.training.span import Span, judged
from svmcut.training.stage import Ended, make_solver
from svmcut.training.two_stages import Chosen
from svmcut.training.vectors import Vectors
from svmcut.typing import Any

#: Megabytes of features in the polish; more rows than that allows are represented by a sample.
POLISH_MB = 200.0


class BudgetPlan(Chosen):
    """Steps on a budget.

    Training ends after its epochs, and the polish by the stopping rule.

    Raises
    ------
    MemoryLimitError
        When the centres do not fit.
    """

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
        handed["model"].checked(self.room.vectors.examples.X.n_features)
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
            **ended.run.judged(),
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
        return room.least(
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
        aim = part.units.objective(None, objective.C * whole.units.samples / part.units.samples)
        return Span(
            KernelRoom(part, replace(self.settings, certify=False), KernelPlan.exact_work), Z
        ), aim

    def polished(
        self, span: Span, objective: Objective, handed: dict[str, Any], ended: Ended
    ) -> Outcome:
        if span.room is self.room:
            return span.judged(ended)
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
        return judged(room, outcome, self.stop(objective), stopped_by, True)
