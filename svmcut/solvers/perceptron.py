# SPDX-License-Identifier: BSD-3-Clause
"""The perceptron with a kernel.

    update       h_i += 1 where y_i f(x_i) <= 0, f = sum_j h_j y_j K(x_j, .)
    result       f times the factor that is best for 1/2 |f|^2 + C sum_i v_i max(0, 1 - y_i f(x_i)),
                 the best of several looks

The factor changes no prediction; it makes the scores and the primal value comparable with those of
other solvers. Cotter, Shalev-Shwartz and Srebro, ICML 2012, Section 4.5, for the comparison with
the stochastic batch perceptron.
"""

from __future__ import annotations

import numpy as np

from svmcut._native.expansion import PERCEPTRON
from svmcut._native.sparse import hinge_line
from svmcut.solvers.expansion import Look
from svmcut.solvers.visits import VisitRun, VisitSolver


class PerceptronRun(VisitRun):
    """The looks of the perceptron."""

    rule = PERCEPTRON

    def _look(self) -> Look:
        native, problem = self._native, self._problem
        m, squared = problem.trained, float(native.a @ native.c)
        scale = 0.0
        if squared > 0:
            ones, v = np.ones(m), problem.trained_weights
            scale = hinge_line(
                ones, np.zeros(m), native.c[:m], 0.0, squared, problem.C, problem.threads, v
            )
        return self._judge(native.visits, native.a, native.c, 0.0, scale)


class Perceptron(VisitSolver):
    """The perceptron; see the head of this file."""

    run = PerceptronRun
