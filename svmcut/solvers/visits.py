# SPDX-License-Identifier: BSD-3-Clause
"""Solvers that visit one point after the other; only a visit that changes its coefficient costs a
kernel row."""

from __future__ import annotations

from svmcut._native.expansion import Visits
from svmcut.base.records import record
from svmcut.base.typing import ClassVar
from svmcut.solvers.expansion import ExpansionRun, StepSolver


class VisitRun(ExpansionRun):
    """A run by one of the rules of svmcut._native.expansion."""

    rule: ClassVar[str]

    def _open(self) -> None:
        solver, problem = self._solver, self._problem
        shuffled = solver.sampling == "shuffled"
        self._native = Visits(
            problem.expansion, self.rule, problem.C, solver.seed, shuffled, problem.trained_weights
        )

    def _steps_done(self) -> int:
        return self._native.visits


@record
class VisitSolver(StepSolver):
    """A StepSolver of visits."""

    #: "shuffled": every point once an epoch in random order; "independent": drawn at every visit.
    sampling: str = "shuffled"
