# SPDX-License-Identifier: BSD-3-Clause
"""Pegasos with a kernel: stochastic subgradient steps on the regularised hinge loss.

    problem      min_w  lambda/2 |w|^2 + 1/V sum_i v_i max(0, 1 - y_i w.phi(x_i)),   lambda = 1/(V
                 C),  V = sum v_i
    update       at visit t of point i: h_i += 1 where y_i f_t(x_i) < 1, f_t = 1/(lambda (t-1))
                 sum_j h_j y_j K(x_j, .)
    result       f = 1/(lambda T) sum_j h_j y_j K(x_j, .), the best of several looks by the primal
                 value
    certificate  none of its own; h / (lambda T) clipped to [0, C v] gives a bound in training

Shalev-Shwartz, Singer, Srebro and Cotter, Math. Prog. 127, 2011, Figure 3. Responses are kept, as
in Cotter, Shalev-Shwartz and Srebro, ICML 2012: a visit without a violation costs no kernel value.

Deviations: points are visited in shuffled epochs, as often as their weight v_i says (1 without
weights), unless draws are independent; no projection.
"""

from __future__ import annotations

from svmcut._native.expansion import PEGASOS
from svmcut.solvers.expansion import Look
from svmcut.solvers.visits import VisitRun, VisitSolver


class PegasosRun(VisitRun):
    """The looks of Pegasos."""

    rule = PEGASOS

    def _look(self) -> Look:
        native, problem = self._native, self._problem
        scale = problem.total * problem.C / native.visits
        return self._judge(native.visits, native.a, native.c, 0.0, scale)


class Pegasos(VisitSolver):
    """Pegasos; see the head of this file."""

    run = PegasosRun
