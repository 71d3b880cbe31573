# SPDX-License-Identifier: BSD-3-Clause
"""Trainers that visit one point after the other; only a visit that changes its coefficient costs a kernel row."""

from __future__ import annotations

from svmcut._native.expansion import Visits
from svmcut.solvers.expansion import ExpansionSolver


class VisitSolver(ExpansionSolver):
    """As ExpansionSolver.

    Parameters
    ----------
    epochs, seed, max_steps
        As there.
    sampling : {"shuffled", "independent"}
        Every point once an epoch in random order, or drawn anew at every visit.
    """

    def __init__(self, epochs: float, seed: int = 0, max_steps: int | None = None, sampling: str = "shuffled"):
        super().__init__(epochs, seed, max_steps)
        self.sampling = sampling

    def _open(self) -> None:
        problem = self._problem
        self._native = Visits(problem.expansion, self.name, problem.C, self.seed, self.sampling == "shuffled")

    def _done(self) -> int:
        return self._native.visits
