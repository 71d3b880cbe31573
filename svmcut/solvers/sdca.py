# SPDX-License-Identifier: BSD-3-Clause
"""Stochastic dual coordinate ascent with a kernel.

    dual         max over 0 <= alpha_i <= C_i  D = sum_i alpha_i - 1/2 sum_ij alpha_i alpha_j y_i
                 y_j K(x_i, x_j)
    update       alpha_i <- clip(alpha_i + (1 - y_i f(x_i)) / K(x_i, x_i), 0, C_i), f = sum_j
                 alpha_j y_j K(x_j, .)
    certificate  P(f) - D at every look;  C_i = C v_i

Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML 2008; the rival of the stochastic batch perceptron
in Cotter, Shalev-Shwartz and Srebro, ICML 2012, Section 4.4. Responses are kept.
"""

from __future__ import annotations

from svmcut._native.expansion import SDCA
from svmcut.solvers.expansion import Look
from svmcut.solvers.visits import VisitRun, VisitSolver


class SdcaRun(VisitRun):
    """The looks of SDCA."""

    rule = SDCA

    def _look(self) -> Look:
        native = self._native
        dual = float(native.a.sum()) - 0.5 * float(native.a @ native.c)
        return self._judge(native.visits, native.a, native.c, 0.0, 1.0)._replace(dual=dual)


class Sdca(VisitSolver):
    """SDCA; see the head of this file."""

    run = SdcaRun
