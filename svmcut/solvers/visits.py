# SPDX-License-Identifier: BSD-3-Clause
"""Trainers that visit one point after the other; only a visit that changes its coefficient costs a kernel row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from svmcut._native.expansion import Visits
from svmcut.solvers.expansion import ExpansionProblem, ExpansionRun, StepSolver
from svmcut.solvers.protocol import Start


class VisitRun(ExpansionRun):
    """A run by one of the rules of svmcut._native.expansion."""

    rule: ClassVar[str]

    def __init__(self, solver: VisitSolver, problem: ExpansionProblem, state: dict[str, Any] | None):
        self._draws = solver.seed, solver.sampling == "shuffled"
        super().__init__(solver, problem, state)

    def _open(self) -> None:
        self._native = Visits(self._problem.expansion, self.rule, self._problem.C, *self._draws)

    def _done(self) -> int:
        return self._native.visits


@dataclass(frozen=True)
class VisitSolver(StepSolver):
    """As StepSolver.

    Parameters
    ----------
    epochs, seed, max_steps
        As there.
    sampling : {"shuffled", "independent"}
        Every point once an epoch in random order, or drawn anew at every visit.
    """

    run: ClassVar[type[VisitRun]]
    sampling: str = "shuffled"

    def start(
        self, problem: ExpansionProblem, start: Start | None = None, state: dict[str, Any] | None = None
    ) -> VisitRun:
        return self.run(self, problem, state)
