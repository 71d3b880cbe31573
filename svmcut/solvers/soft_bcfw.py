# SPDX-License-Identifier: BSD-3-Clause
"""Block-coordinate Frank-Wolfe on the dual with soft agreement of factors: the trainer GDMM is
measured against.

    problem      the dual of svmcut.solvers.gdmm with rho/2 |M alpha_f - alpha_j|^2 in place of the
                 constraints
    update       one factor at a time: a Frank-Wolfe step towards its best state, exact on the line
    certificate  pairs are repaired to agree with their nodes; P by the argmax of the model

The larger rho, the nearer its optimum is to that of the problem, and the slower it gets there: the
certified gap ends above 0, and the run where it stands still. Meshi, Srebro and Hazan, AISTATS
2015.

Deviation from the paper: factors are visited example by example. On label sets every pair of every
example is a factor.
"""

from __future__ import annotations

from svmcut.errors import MemoryLimitError
from svmcut.resources import shortage
from svmcut.solvers.gdmm import Gdmm, GdmmRun
from svmcut.solvers.protocol import Start
from svmcut.spec.catalog import TASKS
from svmcut.spec.records import replace
from svmcut.structured.multilabel import LabelSets
from svmcut.structured.protocol import StructuredProblem

PAIR_BYTES = 72
RHO = 10.0  # for C = 1: disagreement grows with C


class SoftBcfwRun(GdmmRun):
    """As GdmmRun.

    Raises
    ------
    MemoryLimitError
        When the factors of label sets would not fit.
    """

    soft = True

    def __init__(self, solver: Gdmm, problem: StructuredProblem, start: Start | None):
        model = problem.model
        if isinstance(model, LabelSets) and model.pairs:
            need = 1e-6 * PAIR_BYTES * model.n_samples * model.n_labels * (model.n_labels - 1) / 2
            if there := shortage(need):
                others = " or ".join(map(repr, reversed(TASKS["multilabel"].auto)))
                raise MemoryLimitError(
                    "soft-bcfw keeps every pair of {} labels for {} examples, about {:,.0f} MB, "
                    "and {}; use {solver=}",
                    model.n_labels,
                    model.n_samples,
                    need,
                    there,
                    others,
                )
        mean = problem.C * (model.total / model.n_samples)
        known = solver if solver.rho is not None else replace(solver, rho=RHO / mean)
        super().__init__(known, problem, start)


class SoftBcfw(Gdmm):
    """Soft-BCFW over label sets or chains; without a rho it is 10 / C, C that of the mean
    weight."""

    run = SoftBcfwRun
