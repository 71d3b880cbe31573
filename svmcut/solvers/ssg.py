# SPDX-License-Identifier: BSD-3-Clause
"""Stochastic subgradients for chains, certified by one cut a pass.

    problem      min_w  P(w) = 1/2 |w|^2 + sum_n C_n H_n(w),  C_n = C v_n, C without weights
    update       w <- (1 - r) w + r n C_n psi_n(y),  r = 1/(k + 1),  y the most violated labelling
                 of sequence n at w; after k steps w = (n C / k) sum v psi. Sequences come in random
                 order, each once a pass
    average      wbar <- k/(k + 2) wbar + 2/(k + 2) w
    certificate  a pass finds a labelling of every sequence, which is a cut; P(wbar) less the bound
                 of the bundle

Shalev-Shwartz, Singer and Srebro, ICML 2007; the average is that of Lacoste-Julien, Schmidt and
Bach, 2012. Deviations: passes in random order, not single draws; the method itself has no bound,
the cuts of its passes have.
"""

from __future__ import annotations

import math

import numpy as np

from svmcut._native import chain_ssg
from svmcut.base.records import record
from svmcut.base.typing import Any
from svmcut.cutting.bundle import Cut, CutBundle
from svmcut.qp import make_qp
from svmcut.solvers.passes import PassRun
from svmcut.solvers.protocol import Solver, Start
from svmcut.spaces.structures import ChainSpace
from svmcut.spec import schemas
from svmcut.spec.schemas import OWN, Form
from svmcut.structured.protocol import StructuredProblem

CHUNK = 5000  # visits between two checks of signals


class SsgRun(PassRun):
    """A look every pass. It uses bundle and points of the start; the steps begin at w = 0."""

    def __init__(self, solver: Ssg, problem: StructuredProblem, start: Start | None):
        super().__init__(solver, problem, start, math.inf, 60)
        model, qp = self.model, make_qp(problem.qp)
        self._space = space = ChainSpace(model.sequences.X, model.chains, model.threads)
        self._max_idle = solver.max_idle
        self._start = start
        self._rng = np.random.default_rng(solver.seed)
        self._z, self._weighted, self._visits = space.zero(), space.zero(), 0
        self._risk, self._slack, self._iteration, self._passes = 0.0, 0.0, 1, 1.0
        self.bundle = start.bundle if start else CutBundle(space, qp)

    def form(self) -> Form:
        w, real = schemas.weights(self._space.dim), schemas.REAL
        own = {"bundle": OWN, "_rng": schemas.generator, "_z": w, "_weighted": w}
        counts = {"_visits": schemas.COUNT, "_iteration": schemas.count(1)}
        reals = {"_risk": real, "_slack": real, "_passes": real}
        return super().form() | own | counts | reals

    def _begin(self) -> None:
        start = self._start
        for point in (self.best, *(start.points if start else ())):
            self._look(point)
        if start:
            solution = self.bundle.solve(self.C, 0.01 * self.stop.target(self.primal) / self.C)
            self.lower, self._slack = max(0.0, solution.lower), solution.slack

    def _look(self, w) -> None:
        risk = self.model.weighted_sum(self.model.separate(w).slacks)
        value = 0.5 * self._space.dot(w, w) + self.C * risk
        if value < self.primal:
            self.best, self.primal, self._risk = w, value, risk

    def _counts(self) -> dict[str, Any]:
        return {
            "iteration": self._iteration,
            "passes": self._passes,
            "cuts": len(self.bundle),
            "support": self.bundle.support,
            "slack": self._slack,
            "risk": self._risk,
        }

    def _advance(self) -> None:
        model, n, C, z, bundle = self.model, self.model.n_samples, self.C, self._z, self.bundle
        before, loss = z.copy(), 0.0
        order = self._rng.permutation(n).astype(np.int32)
        for start_at in range(0, n, CHUNK):
            part = order[start_at : start_at + CHUNK]
            self._visits, wrong, _ = chain_ssg.visit(
                model.chains, C, part, self._visits, z, self._weighted, weights=model.weights
            )
            loss += wrong
        bundle.add(Cut(before - z, loss, self._risk))
        solution = bundle.solve(
            C, 0.1 * max(self.primal - self.lower, self.stop.target(self.primal)) / C
        )
        self.lower, self._slack = max(self.lower, solution.lower), solution.slack
        bundle.prune(self._max_idle)
        self._look(
            2 * n * C / (self._visits * (self._visits + 1)) * (self._visits * z - self._weighted)
        )
        self._iteration += 1
        self._passes += 2


@record
class Ssg(Solver):
    """Stochastic subgradient steps with a weighted average."""

    run = SsgRun
    #: Seed of the order of the visits.
    seed: int = 0
    #: As in CuttingPlane.
    max_idle: int = 50
