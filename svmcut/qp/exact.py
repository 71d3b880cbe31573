# SPDX-License-Identifier: BSD-3-Clause
"""The exact small QP: a primal active-set method in C that checks OSQP and takes over where it
falls short."""

from __future__ import annotations

import numpy as np

from svmcut._native import qp


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
