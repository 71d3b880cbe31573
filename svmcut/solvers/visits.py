# SPDX-License-Identifier: BSD-3-Clause
"""Solvers that visit one point after the other; only a visit that changes its coefficient costs a
kernel row.
"""

from __future__ import annotations

import numpy as np

from svmcut._native.expansion import PEGASOS, PERCEPTRON, SDCA, Visits
from svmcut._native.sparse import hinge_line
from svmcut.base.records import record
from svmcut.base.typing import ClassVar
from svmcut.solvers.expansion import ExpansionRun, Look, StepSolver


class VisitRun(ExpansionRun):
    """A run by one of the rules of svmcut._native.expansion."""

    rule: ClassVar[str]

    def _open(self) -> None:
        solver, problem = self._solver, self._problem
        shuffled = solver.sampling == "shuffled"
        self._native = Visits(
            problem.expansion, self.rule, problem.C, solver.seed, shuffled, problem.trained_weights
        )

    def _steps_done(self) -> int:
        return self._native.visits


@record
class VisitSolver(StepSolver):
    """A StepSolver of visits."""

    #: "shuffled": every point once an epoch in random order; "independent": drawn at every visit.
    sampling: str = "shuffled"


class PegasosRun(VisitRun):
    """The looks of Pegasos."""

    rule = PEGASOS

    def _look(self) -> Look:
        native, problem = self._native, self._problem
        scale = problem.total * problem.C / native.visits
        return self._judge(native.visits, native.a, native.c, 0.0, scale)


class Pegasos(VisitSolver):
    """Pegasos with a kernel: stochastic subgradient steps on the regularised hinge loss.

        problem      min_w  lambda/2 |w|^2 + 1/V sum_i v_i max(0, 1 - y_i w.phi(x_i)),
                     lambda = 1/(V C),  V = sum v_i
        update       at visit t of point i: h_i += 1 where y_i f_t(x_i) < 1, f_t = 1/(lambda (t-1))
                     sum_j h_j y_j K(x_j, .)
        result       f = 1/(lambda T) sum_j h_j y_j K(x_j, .), the best of several looks by the
                     primal value
        certificate  none of its own; h / (lambda T) clipped to [0, C v] gives a bound in training

    Shalev-Shwartz, Singer, Srebro and Cotter, Math. Prog. 127, 2011, Figure 3. Responses are kept,
    as in Cotter, Shalev-Shwartz and Srebro, ICML 2012: a visit without a violation costs no kernel
    value.

    Deviations: points are visited in shuffled epochs, as often as their weight v_i says (1 without
    weights), unless draws are independent; no projection.
    """

    run = PegasosRun


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
    """The perceptron with a kernel.

        update       h_i += 1 where y_i f(x_i) <= 0, f = sum_j h_j y_j K(x_j, .)
        result       f times the factor that is best for 1/2 |f|^2 + C sum_i v_i max(0, 1 -
                     y_i f(x_i)), the best of several looks

    The factor changes no prediction; it makes the scores and the primal value comparable with those
    of other solvers. Cotter, Shalev-Shwartz and Srebro, ICML 2012, Section 4.5, for the comparison
    with the stochastic batch perceptron.
    """

    run = PerceptronRun


class SdcaRun(VisitRun):
    """The looks of SDCA."""

    rule = SDCA

    def _look(self) -> Look:
        native = self._native
        dual = float(native.a.sum()) - 0.5 * float(native.a @ native.c)
        return self._judge(native.visits, native.a, native.c, 0.0, 1.0)._replace(dual=dual)


class Sdca(VisitSolver):
    """Stochastic dual coordinate ascent with a kernel.

        dual         max over 0 <= alpha_i <= C_i  D = sum_i alpha_i - 1/2 sum_ij alpha_i alpha_j
                     y_i y_j K(x_i, x_j)
        update       alpha_i <- clip(alpha_i + (1 - y_i f(x_i)) / K(x_i, x_i), 0, C_i), f = sum_j
                     alpha_j y_j K(x_j, .)
        certificate  P(f) - D at every look;  C_i = C v_i

    Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML 2008; the rival of the stochastic batch
    perceptron in Cotter, Shalev-Shwartz and Srebro, ICML 2012, Section 4.4. Responses are kept.
    """

    run = SdcaRun
