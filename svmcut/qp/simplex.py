# SPDX-License-Identifier: BSD-3-Clause
"""The QP of cutting planes over the unit simplex: OSQP proposes an answer where there are many
cuts, and an exact active-set method checks and completes it.

    maximise  b.beta - (C/2) beta'H beta,   beta >= 0,  sum beta = 1
    gap       max_t g_t - g.beta,   g = b - C H beta: a bound on what a feasible beta lacks

Most cuts have multiplier 0 at the solution, and OSQP's answer is only as good as its guess of
which. So OSQP (Stellato et al., 2020) solves for a working set: the cuts with a positive multiplier
and the few with the largest gradient. An exact line search takes the answer in, and the set grows
until the gap is met. P and q are divided by their largest entry.

Alternatives tried on the 248 QPs of adult at C = 100 per example (up to 115 cuts, gap of the run
1e-3), CPU seconds on one machine; the exact solver takes 0.07 s and meets the tolerance in all:

    all cuts, set up anew                                4.3 s   tolerance met in 147
    all cuts, one workspace of 16, 32, .. cuts, `update` 10.9 s                    128
    the same without OSQP's scaling                      11.4 s                    121
    the same, loose and without polishing                 0.9 s                     23
    working set, set up anew                              2.5 s                    238

A workspace that is kept pays for its whole capacity in every factorisation, and every new cut
changes P, so the old factor cannot be reused; loose answers cost more rounds than they save.
"""

from __future__ import annotations

import numpy as np

from svmcut._native import qp
from svmcut.base.typing import Any, ClassVar


class ExactSimplexQp:
    """Active-set method for max b.beta - (C/2) beta'H beta over the unit simplex; it returns its
    best beta after `max_steps` steps."""

    def __init__(self, max_steps: int = 20_000):
        self.max_steps = max_steps

    def solve(self, H, b, C: float, beta0, tol: float):
        """A feasible beta whose objective is within `tol` of the maximum, or as near as rounding
        allows.

        H (k, k), C-contiguous, is the Gram matrix of the cuts and b (k,) has their offsets; beta0
        (k,), from where it starts, need not be feasible.
        """
        beta = np.array(beta0, dtype=np.float64)
        qp.simplex_qp(H, b, C, tol, self.max_steps, beta)
        return beta


def objective(H, b, C: float, beta) -> float:
    """b.beta - C/2 beta'H beta, the lower bound divided by C."""
    return float(b @ beta - 0.5 * C * (beta @ (H @ beta)))


class CheckedSimplexQp:
    """The SimplexQp of the bundle: exact, starting from OSQP's answer where there are `osqp_from`
    cuts or more. With fewer the exact solver needs microseconds, and a short run never imports
    osqp."""

    def __init__(self, osqp_from: float = 500):
        self.osqp_from = osqp_from
        self._exact = ExactSimplexQp()
        self._osqp: Any = None

    def solve(self, H, b, C: float, beta0, tol: float):
        """See ExactSimplexQp.solve; the answer is never worse than beta0."""
        start = np.asarray(beta0, dtype=np.float64)
        if len(b) >= self.osqp_from:
            if self._osqp is None:
                self._osqp = OsqpSimplexQp()
            proposed = self._osqp.solve(H, b, C, start, tol)
            if proposed is not None and objective(H, b, C, proposed) > objective(H, b, C, start):
                start = proposed
        return self._exact.solve(H, b, C, start, tol)


#: Times the working set may grow.
_MAX_ROUNDS = 12
#: Cuts that join the working set each time.
_CUTS_A_ROUND = 4
#: Multipliers below this are set to 0.
_MIN_MULTIPLIER = 1e-12


def project_on_simplex(beta):
    """The nearest point of the unit simplex; O(k log k) (Duchi et al., ICML 2008, Figure 1)."""
    ordered = np.sort(beta)[::-1]
    excess = np.cumsum(ordered) - 1.0
    last = np.nonzero(ordered * np.arange(1, len(beta) + 1) > excess)[0][-1]
    beta = np.maximum(beta - excess[last] / (last + 1), 0.0)
    return beta / beta.sum()


class OsqpSimplexQp:
    """Maximises b.beta - (C/2) beta'H beta over the unit simplex with OSQP."""

    SETTINGS: ClassVar[dict] = dict(
        eps_abs=1e-8,
        eps_rel=1e-8,
        max_iter=4000,
        polishing=True,
        polish_refine_iter=10,
        delta=1e-9,
        adaptive_rho=True,
        adaptive_rho_interval=25,
        warm_starting=True,
        verbose=False,
    )

    def solve(self, H, b, C: float, beta0, tol: float):
        """A feasible beta, no worse than beta0 projected on the simplex; None where OSQP fails at
        once, as it does on matrices that rounding made indefinite."""
        beta = project_on_simplex(np.asarray(beta0, np.float64))
        for round in range(_MAX_ROUNDS):
            gradient = b - C * (H @ beta)
            level = float(gradient @ beta)
            if gradient.max() - level <= tol:
                break
            used = np.flatnonzero(beta)
            rising = np.setdiff1d(np.flatnonzero(gradient > level), used)
            joining = rising[np.argsort(-gradient[rising], kind="stable")[:_CUTS_A_ROUND]]
            chosen = np.sort(np.concatenate([used, joining]))
            answer = self._ask(
                np.ascontiguousarray(H[np.ix_(chosen, chosen)]), b[chosen], C, beta[chosen]
            )
            if answer is None:
                return beta if round else None
            direction = -beta
            direction[chosen] += answer
            rise = float(gradient @ direction)
            if rise <= 0:
                break
            bend = C * float(direction @ (H @ direction))
            t = 1.0 if bend <= rise else rise / bend
            beta = np.maximum(beta + t * direction, 0.0)
            beta[beta < _MIN_MULTIPLIER] = 0.0
            beta /= beta.sum()
        return beta

    def _ask(self, H, b, C: float, beta0):
        """OSQP's answer, projected, whatever its status; None if it refuses or the answer is not
        finite."""
        import osqp
        from scipy import sparse

        k, b = len(b), b - b.max()
        scale = max(C * float(np.max(np.abs(H))), float(np.max(np.abs(b))), 1e-300)
        problem = osqp.OSQP()
        constraints = sparse.vstack([np.ones((1, k)), sparse.identity(k)], format="csc")
        lower, upper = np.zeros(k + 1), np.ones(k + 1)
        lower[0] = 1.0
        try:
            problem.setup(
                P=sparse.csc_matrix(np.triu(H * (C / scale))),
                q=-b / scale,
                A=constraints,
                l=lower,
                u=upper,
                **self.SETTINGS,
            )
            problem.warm_start(x=beta0)
            answer = problem.solve(raise_error=False).x
        except osqp.OSQPException:
            return None
        if answer is None or not np.all(np.isfinite(answer)):
            return None
        return project_on_simplex(np.asarray(answer))
