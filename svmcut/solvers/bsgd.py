# SPDX-License-Identifier: BSD-3-Clause
"""Budgeted stochastic gradient descent.

    problem      min_f  1/2 |f|^2 + C sum_i v_i max(0, 1 - y_i f(x_i)),  without bias
    update       f <- (1 - 1/t) f, and + (V C / t) y_i K(x_i, .) where y_i f(x_i) < 1; f is cut back
                 to B centres
    certificate  none

Of targets y the losses are max(0, |y_i - f(x_i)| - tube), and beyond the tube the sign of y_i -
f(x_i) stands for y_i.

Wang, Crammer and Vucetic, JMLR 13, 2012: Pegasos with a budget, lambda = 1 / (V C), V = sum v_i; V
= n without weights. Without a budget the steps that add to f tend to the mean of alpha / C (Qaadan,
Schueler, Glasmachers, 2018, Lemma 2).

Deviations from the paper: the order is a new shuffle every epoch by default, with a row as often as
its weight says; a row that is a centre still gets no second one; no projection on a ball; see
budget.py for the answer.
"""

from __future__ import annotations

from svmcut.solvers.budget import BudgetedSolver


class Bsgd(BudgetedSolver):
    """Stochastic gradient steps in the primal."""

    dual = False
