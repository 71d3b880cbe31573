# SPDX-License-Identifier: BSD-3-Clause
"""The QP of the cutting planes by the solver that was asked for, and the exact one to check it and
to take over.

The exact solver starts from OSQP's answer, so an answer within the tolerance costs one gradient and
any other is mended.

The exact small QP: a primal active-set method in C that checks OSQP and takes over where it
falls short.

OSQP on the unit simplex (Stellato et al., 2020), never trusted on its status alone.

    maximise  b.beta - (C/2) beta'H beta,   beta >= 0,  sum beta = 1
    gap       max_t g_t - g.beta,   g = b - C H beta: what any feasible beta is short of the maximum
              at most

Most cuts have multiplier 0 at the solution, and OSQP's answer is only as good as its guess which.
So it is asked about a working set: the cuts with a positive multiplier and the few that promise
most; an exact line search takes the answer in, and the set grows until the gap is met. P and q are
divided by their largest entry. Importing osqp (and scipy with it) costs 0.2 s and waits until it is
needed.

What was tried on the 248 QPs of adult at C = 100 per example (up to 115 cuts, gap of the run 1e-3),
CPU seconds on one machine; the exact solver takes 0.07 s and meets the tolerance in all of them:

    all cuts, set up anew                                4.3 s   tolerance met in 147
    all cuts, one workspace of 16, 32, .. cuts, `update` 10.9 s                    128
    the same without OSQP's scaling                      11.4 s                    121
    the same, loose and without polishing                 0.9 s                     23
    working set, set up anew                              2.5 s                    238

A workspace that is kept pays for its whole capacity in every factorisation, and every new cut
changes P, so that nothing of the old factor serves; loose answers cost more rounds than they save.
"""

from __future__ import annotations

import numpy as np

from svmcut._native import qp
from svmcut.base.typing import Any, ClassVar


class ExactSimplexQp:
    """Maximises b.beta - (C/2) beta'H beta over the unit simplex by active sets.

    Parameters
    ----------
    max_steps : int
        Steps before the best beta so far is returned.
    """

    def __init__(self, max_steps: int = 20_000):
        self.max_steps = max_steps

    def solve(self, H, b, C: float, beta0, tol: float):
        """A feasible beta whose objective is within tol of the maximum (or as near as rounding
        allows).

        Parameters
        ----------
        H : (k, k) float64, C-contiguous
            Gram matrix of the cuts.
        b : (k,) float64
            Offsets of the cuts.
        C : float
            Multiplies H.
        beta0 : (k,) float64
            Where to start; need not be feasible.
        tol : float
            In units of the objective.
        """
        beta = np.array(beta0, dtype=np.float64)
        qp.simplex_qp(H, b, C, tol, self.max_steps, beta)
        return beta


def objective(H, b, C: float, beta) -> float:
    """b.beta - C/2 beta'H beta, the lower bound divided by C."""
    return float(b @ beta - 0.5 * C * (beta @ (H @ beta)))


class CheckedSimplexQp:
    """The SimplexQp of the bundle.

    Parameters
    ----------
    osqp_from : float
        Number of cuts from which OSQP is asked first. Below it the exact solver needs microseconds,
        and a short run never imports osqp.
    """

    def __init__(self, osqp_from: float = 500):
        self.osqp_from = osqp_from
        self._exact = ExactSimplexQp()
        self._osqp: Any = None

    def solve(self, H, b, C: float, beta0, tol: float):
        """As ExactSimplexQp.solve; the answer is never worse than beta0."""
        start = np.asarray(beta0, dtype=np.float64)
        if len(b) >= self.osqp_from:
            if self._osqp is None:
                self._osqp = OsqpSimplexQp()
            proposed = self._osqp.solve(H, b, C, start, tol)
            if proposed is not None and objective(H, b, C, proposed) > objective(H, b, C, start):
                start = proposed
        return self._exact.solve(H, b, C, start, tol)


#: Times the working set may grow, and cuts that join it each time.
_ROUNDS, _JOIN = 12, 4
#: Multipliers below this are 0.
_TINY = 1e-12


def project_on_simplex(beta):
    """The nearest point of the unit simplex; O(k log k).

    References
    ----------
    Duchi, Shalev-Shwartz, Singer, Chandra, ICML 2008, Figure 1.
    """
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
        """A feasible beta, no worse than beta0 projected on the simplex; None where OSQP refuses or
        fails at once.

        OSQP refuses matrices that rounding made indefinite.
        """
        beta = project_on_simplex(np.asarray(beta0, np.float64))
        for round in range(_ROUNDS):
            gradient = b - C * (H @ beta)
            level = float(gradient @ beta)
            if gradient.max() - level <= tol:
                break
            used = np.flatnonzero(beta)
            rising = np.setdiff1d(np.flatnonzero(gradient > level), used)
            joining = rising[np.argsort(-gradient[rising], kind="stable")[:_JOIN]]
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
            beta[beta < _TINY] = 0.0
            beta /= beta.sum()
        return beta

    def _ask(self, H, b, C: float, beta0):
        """The projected answer of OSQP, whatever its status; None where that is no finite vector,
        or a refusal."""
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
