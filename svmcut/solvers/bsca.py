# SPDX-License-Identifier: BSD-3-Clause
"""Budgeted stochastic coordinate ascent.

    problem      min_f  1/2 |f|^2 + sum_i C_i max(0, 1 - y_i f(x_i)),  without bias;  C_i = C v_i, C
                 without weights
    dual         max    sum_i alpha_i - 1/2 |sum_i alpha_i y_i K(x_i, .)|^2,   0 <= alpha_i <= C_i
    update       alpha_i <- clip(alpha_i + (1 - y_i f(x_i)) / K(x_i, x_i), 0, C_i); the change times
                 y_i K(x_i, .) joins f, which is cut back to B centres; alpha is not
    certificate  while nothing has been cut back, sum alpha - 1/2 |f|^2 is a lower bound; later none

Of targets y the losses are max(0, |y_i - f(x_i)| - tube), alpha = beta lies between -C_i and C_i,
the dual is sum beta_i y_i - tube |beta_i| - 1/2 |f|^2, and a step the exact one of that (Ho and
Lin, JMLR 2012, Algorithm 4).

Qaadan, Schueler and Glasmachers, Dual SVM training on a budget, 2018, Algorithm 1. Without a budget
the steps that move f tend to the part of the alphas strictly between 0 and C (Lemma 2).

Deviations from the paper: the order is a new shuffle every epoch by default; a row that is a centre
still gets no second one; merging filters by the sign of beta, not by the label, from which a
falling alpha differs; see budget.py for the answer.
"""

from __future__ import annotations

from svmcut.solvers.budget import BudgetedSolver


class Bsca(BudgetedSolver):
    """Coordinate ascent in the dual."""
