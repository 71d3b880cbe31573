# SPDX-License-Identifier: BSD-3-Clause
"""The QP of the cutting planes by the solver that was asked for, and the exact one to check it and
to take over.

The exact solver starts from OSQP's answer, so an answer within the tolerance costs one gradient and
any other is mended.
"""

from __future__ import annotations

import numpy as np

from svmcut.qp.exact import ExactSimplexQp
from svmcut.typing import Any


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
                from svmcut.qp.osqp import OsqpSimplexQp

                self._osqp = OsqpSimplexQp()
            proposed = self._osqp.solve(H, b, C, start, tol)
            if proposed is not None and objective(H, b, C, proposed) > objective(H, b, C, start):
                start = proposed
        return self._exact.solve(H, b, C, start, tol)
