# SPDX-License-Identifier: BSD-3-Clause
"""Block-coordinate Frank-Wolfe for chains, with the labellings of each sequence kept.

    problem      min_w  1/2 |w|^2 + sum_n C_n H_n(w)                          H_n = max_y [Delta +
                 w.(Psi - Psi_n)]
    its dual     max    sum_n C_n sum_y q_n(y) Delta(y_n, y) - 1/2 |w|^2,     w = sum_n C_n sum_y
    q_n(y) psi_n(y)
    update       one sequence at a time: its most violated labelling joins those known, then q_n
                 moves to the optimum over them (csrc/chain/chain_bcfw.cc)
    certificate  P at w or at the weighted average of w, whichever is lower, less the dual of q

The fastest solver for chains with few tags. Lacoste-Julien, Jaggi, Schmidt and Pletscher, ICML
2013, Algorithm 4, with the pairwise steps, cached labellings and choice of blocks by gaps of
Osokin, Alayrac, Lukasewitz, Dokania and Lacoste-Julien, ICML 2016.

Deviations from the papers: a visit goes on to the optimum over the labellings of the sequence,
which costs no more features; sequences whose gap was small rest for some passes, where the paper
samples; the average is taken over passes, weighted by their number; w is float32 in the passes and
is summed afresh from the labellings, in float64, whenever the certificate is computed.

Block-coordinate Frank-Wolfe on the dual with soft agreement of factors, the rival of GDMM.

    problem      the dual of svmcut.solvers.gdmm with rho/2 |M alpha_f - alpha_j|^2 in place of the
                 constraints
    update       one factor at a time: a Frank-Wolfe step towards its best state, exact on the line
    certificate  pairs are repaired to agree with their nodes; P by the argmax of the model

The larger rho, the nearer its optimum is to that of the problem, and the slower it gets there: the
certified gap ends above 0, and the run ends where it stalls. Meshi, Srebro and Hazan, AISTATS 2015.

Deviation from the paper: factors are visited example by example. On label sets every pair of every
example is a factor.
"""

from __future__ import annotations

import math

import numpy as np

from svmcut._native.chain_bcfw import Blocks
from svmcut.base.errors import MemoryLimitError
from svmcut.base.records import record, replace
from svmcut.base.resources import describe_shortage
from svmcut.base.typing import Any
from svmcut.solvers.gdmm import Gdmm, GdmmRun
from svmcut.solvers.passes import PassRun
from svmcut.solvers.protocol import Solver, Start
from svmcut.spec import schemas
from svmcut.spec.catalog import TASKS
from svmcut.spec.schemas import OWN, Form, State
from svmcut.structured.multilabel import LabelSets
from svmcut.structured.protocol import StructuredProblem

CHUNK = 5000  # visits between two checks of signals


class BcfwRun(PassRun):
    """Runs with two passes over the features a look; points of the start are evaluated, labellings
    found afresh."""

    def __init__(self, solver: Bcfw, problem: StructuredProblem, start: Start | None):
        super().__init__(solver, problem, start, math.inf, 60)
        model = self.model
        self._blocks = Blocks(model.chains, self.C, solver.seed, model.weights)
        self._points = start.points if start else ()
        self._risk = 0.0
        self.longest_cut = 0.0
        self._looks = 1
        self._iteration = 1
        self._passes = 1.0
        self._average, self._weight, self._due = np.zeros(model.dim), 0.0, 1

    def form(self) -> Form:
        numbers = dict.fromkeys(("_risk", "longest_cut", "_passes", "_weight"), schemas.REAL)
        ahead = dict.fromkeys(("_iteration", "_due"), schemas.count(1))
        own = {"_blocks": OWN, "_average": schemas.weights(self.model.dim), "_looks": schemas.COUNT}
        return super().form() | own | numbers | ahead

    def restore(self, state: State) -> None:
        super().restore(state)
        # these decide when the next look comes
        n = self.model.n_samples
        fits = self._blocks.visits == n * (self._iteration - 1)
        fits = fits and self._due <= max(1, self._iteration // 8)
        schemas.require(fits, "the visits and numbers of the state", f"{n} visits an iteration")

    def _begin(self) -> None:
        for point in (self.best, *self._points):
            self._look(point)

    def _end_early(self) -> None:
        w = np.zeros(self.model.dim)
        self._blocks.weights(True, w)
        if not w.any():
            return
        self.lower = max(self.lower, self._blocks.loss - 0.5 * float(w @ w))
        before, risk = self.primal, self._look(w)
        if self.primal == before and self.model.is_model(w):
            self.best, self.primal, self._risk = w, 0.5 * float(w @ w) + self.C * risk, risk

    def _look(self, w) -> float:
        """Take w as the best point where its primal is lowest; return its risk."""
        model, separation = self.model, self.model.separate(w)
        cut = model.joint(separation.labels, model.weights)
        self.longest_cut = max(self.longest_cut, float(np.linalg.norm(cut)))
        risk = model.weighted_sum(separation.slacks)
        value = 0.5 * float(w @ w) + self.C * risk
        if value < self.primal:
            self.best, self.primal, self._risk = w.copy(), value, risk
        return risk

    def _counts(self) -> dict[str, Any]:
        blocks, best = self._blocks, self.best
        slack = max(0.0, (self.lower - 0.5 * float(best @ best)) / self.C)
        return {
            "iteration": self._iteration,
            "passes": self._passes,
            "cuts": blocks.cached,
            "support": blocks.support,
            "slack": slack,
            "risk": self._risk,
        }

    def _advance(self) -> None:
        blocks, average, n = self._blocks, self._average, self.model.n_samples
        w, target, rounds = np.zeros(self.model.dim), self.stop.target(self.primal), 0
        while True:
            for start_at in range(0, n, CHUNK):
                blocks.visit(min(CHUNK, n - start_at))
            blocks.weights(False, w)
            rounds += 1
            at = self._iteration + rounds
            average *= self._weight / (self._weight + at)
            average += at / (self._weight + at) * w
            self._weight += at
            if rounds >= self._due or blocks.gap <= target:
                break
        self._iteration += rounds
        self._due = max(1, self._iteration // 8)
        blocks.weights(True, w)
        self.lower = max(self.lower, blocks.loss - 0.5 * float(w @ w))
        self._look(w)
        self._look(average)
        self._looks += 2
        self._passes = self._looks + blocks.visits / n


@record
class Bcfw(Solver):
    """Block-coordinate ascent over sequences."""

    run = BcfwRun
    #: Seed of the order of the visits.
    seed: int = 0


PAIR_BYTES = 72
RHO = 10.0  # for C = 1: disagreement grows with C


class SoftBcfwRun(GdmmRun):
    """A GdmmRun with soft agreement; raises MemoryLimitError where the factors of label sets would
    not fit."""

    soft = True

    def __init__(self, solver: Gdmm, problem: StructuredProblem, start: Start | None):
        model = problem.model
        if isinstance(model, LabelSets) and model.pairs:
            need = 1e-6 * PAIR_BYTES * model.n_samples * model.n_labels * (model.n_labels - 1) / 2
            if there := describe_shortage(need):
                others = " or ".join(map(repr, reversed(TASKS["multilabel"].auto)))
                raise MemoryLimitError(
                    "soft-bcfw keeps every pair of {} labels for {} examples, about {:,.0f} MB, "
                    "and {}; use {solver=}",
                    model.n_labels,
                    model.n_samples,
                    need,
                    there,
                    others,
                )
        mean = problem.C * (model.total / model.n_samples)
        known = solver if solver.rho is not None else replace(solver, rho=RHO / mean)
        super().__init__(known, problem, start)


class SoftBcfw(Gdmm):
    """Soft-BCFW over label sets or chains; rho is 10 / C, C that of the mean weight, unless
    given."""

    run = SoftBcfwRun
