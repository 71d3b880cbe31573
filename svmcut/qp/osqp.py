# SPDX-License-Identifier: BSD-3-Clause
"""OSQP on the unit simplex (Stellato et al., 2020), never trusted on its status alone.

Measured on cutting-plane problems: with default settings OSQP's objective is off by 1e-6 to 2e-3; with polishing, tight
tolerances and its own scaling of the data the error is at rounding level up to some 200 cuts. P and q are divided by
their largest entry; importing osqp (and scipy with it) costs 0.2 s and waits until it is needed.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np


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
        eps_abs=1e-8, eps_rel=1e-8, max_iter=4000, polishing=True, polish_refine_iter=10, delta=1e-9,
        adaptive_rho=True, adaptive_rho_interval=50, warm_starting=True, verbose=False,
    )  # fmt: skip

    def solve(self, H, b, C: float, beta0, tol: float):
        """The projected answer of OSQP, whatever its status; None where that is no finite vector, or a refusal.

        OSQP refuses matrices that rounding made indefinite.
        """
        import osqp
        from scipy import sparse

        k = len(b)
        scale = max(C * float(np.max(np.abs(H))), float(np.max(np.abs(b))), 1e-300)
        problem = osqp.OSQP()
        constraints = sparse.vstack([np.ones((1, k)), sparse.identity(k)], format="csc")
        lower, upper = np.zeros(k + 1), np.ones(k + 1)
        lower[0] = 1.0
        try:
            problem.setup(
                P=sparse.csc_matrix(np.triu(H * (C / scale))), q=-b / scale, A=constraints, l=lower, u=upper,
                **self.SETTINGS,
            )  # fmt: skip
            problem.warm_start(x=beta0)
            answer = problem.solve(raise_error=False).x
        except osqp.OSQPException:
            return None
        if answer is None or not np.all(np.isfinite(answer)):
            return None
        return project_on_simplex(np.asarray(answer))
