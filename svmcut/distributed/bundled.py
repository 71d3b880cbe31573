# SPDX-License-Identifier: BSD-3-Clause
"""What runs on rows in parts have in common that keep their best point beside a bundle of cuts."""

from __future__ import annotations

import math
import time

from svmcut.cutting.bundle import CutBundle
from svmcut.qp import make_qp
from svmcut.solvers.protocol import Progress, Run, Solver, Start, kept
from svmcut.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from svmcut.distributed.oracle import PartedProblem


class BundledRun(Run):
    """The best point, its primal value and risk, and the bound of the cuts, which never falls."""

    def __init__(self, solver: Solver, problem: PartedProblem, start: Start | None):
        super().__init__(solver, problem, start)
        space = problem.space
        self._start = start
        self.bundle = start.bundle if start else CutBundle(space, make_qp(problem.qp))
        self._iteration, self._lower, self._slack, self._going = 0, 0.0, 0.0, True
        self._w, self._primal, self._risk = space.zero(), math.inf, 0.0

    def _progress(self, passes: float, began: float) -> Progress:
        """After so many passes, of a run that began at that time."""
        return Progress(
            self._iteration,
            passes,
            self._primal,
            self._lower,
            self._primal - self._lower,
            time.perf_counter() - began,
            kept(self._w),
            len(self.bundle),
            self.bundle.support,
            self._slack,
            self._risk,
        )

    def _solve(self) -> None:
        """Bounds the minimum by the cuts."""
        C, stop, primal = self._problem.C, self._problem.stop, self._primal
        least = max(stop.target(primal), 1e-12 * primal) if math.isfinite(primal) else C
        model = self.bundle.solve(C, 0.01 * least / C)
        self._lower, self._slack = max(self._lower, model.lower), model.slack
