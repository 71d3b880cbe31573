# SPDX-License-Identifier: BSD-3-Clause
"""The one-class machine on features, by pairs of coordinates.

    problem      min_w  P = 1/2 |w|^2 - m rho + sum_i max(0, rho - w.x_i),   m = nu n
    dual         max_alpha   D = -1/2 |w|^2,   w = sum_i alpha_i x_i,   0 <= alpha_i <= 1,
                 sum alpha = m
    update       pairs from both ends of the order of scores (csrc/linear/one_class.cc): over all
                 rows once, then over those between their bounds and those just moved
    certificate  P - D at the exact rho, the quantile of the scores of mass m, with w formed anew;
                 where the origin is among the rows, w = 0 is best and all else is rounding

LIBLINEAR's -s 21. Chou, Lin and Lin, Dual coordinate descent methods for large-scale linear
one-class SVM, SDM 2020, choose pairs in this way.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from svmcut._native import one_class, sparse
from svmcut.base.records import record
from svmcut.solvers.nu import ZERO, NuProblem
from svmcut.solvers.protocol import Progress, Run, Solution, Solver, Start
from svmcut.spec import schemas
from svmcut.spec.schemas import Form

#: Most passes over the rows between their bounds after one over all.
_INNER = 20


class OneClassCdRun(Run):
    """A step is a pass over all rows and the passes over some rows after it."""

    _problem: NuProblem

    def __init__(self, solver: OneClassCd, problem: NuProblem, start: Start | None):
        super().__init__(solver, problem, start)
        X = problem.X
        self._rows, n = sparse.Rows(X), X.n_rows
        self._norms = np.empty(n)
        sparse.row_norms(self._rows, self._norms)
        self._top = np.ones(n)
        mass = float(problem.masses[0])
        self._nothing = ZERO * float(self._norms.mean()) * mass * mass
        self._alpha, self._k = problem.start(), 0
        self._w = np.zeros(X.n_features)
        self._form_w()

    def form(self) -> Form:
        row = schemas.row(schemas.REAL)
        return {"_alpha": row, "_w": row, "_k": schemas.COUNT}

    def __iter__(self) -> Iterator[Progress]:
        began, target = time.perf_counter(), self._problem.gap
        assert target is not None
        while True:
            self._form_w()
            progress = self._progress(began)
            yield progress
            if progress.gap <= target * abs(progress.primal) or -progress.dual <= self._nothing:
                return
            self._k += 1
            self._pass()

    def _form_w(self) -> None:
        """Form w of alpha anew, without the rounding of the steps."""
        self._w[:] = 0.0
        sparse.adjoint(self._rows, self._alpha, self._w)

    def scores(self) -> NDArray[np.float64]:
        """Return w.x_i (n,)."""
        f = np.empty(len(self._alpha))
        sparse.scores(self._rows, self._w, 0.0, f, self._solver.threads)
        return f

    def _pass(self) -> None:
        alpha, before = self._alpha, self._alpha.copy()
        every = np.arange(len(alpha), dtype=np.int32)
        self._pairs(every, self._f)
        moved = (alpha != before) | ((alpha > 0) & (alpha < self._top))
        some = np.flatnonzero(moved).astype(np.int32)
        for _ in range(_INNER):
            if not self._pairs(some, None):
                break

    def _pairs(self, rows: NDArray[np.int32], scores: NDArray[np.float64] | None) -> int:
        return one_class.pairs(
            self._rows, self._norms, self._top, rows, self._alpha, self._w, scores
        )

    def _progress(self, began: float) -> Progress:
        problem, half = self._problem, 0.5 * float(self._w @ self._w)
        self._f = self.scores()
        risk = problem.risk(-self._f)
        primal = half + problem.C * risk
        support = int(np.count_nonzero(self._alpha))
        return Progress.since(
            began, self._k, self._k, primal, -half, self.expansion, 0, support, risk, risk
        )

    @property
    def iterations(self) -> int:
        """Passes over all rows."""
        return self._k

    def expansion(self) -> Solution:
        """Return the present solution."""
        return Solution(self._alpha.copy(), 0.0)

    def levels(self) -> tuple[float, float]:
        """Return rho, and 0."""
        return self._problem.levels(-self._f)

    @property
    def w(self) -> NDArray[np.float64]:
        """(d,)"""
        return self._w


@record
class OneClassCd(Solver):
    """Pairs of coordinates on a NuProblem with one side, the linear kernel, C = 1 and no weights,
    to its relative gap."""

    run = OneClassCdRun
    patience = 30
    threads: int = 1
