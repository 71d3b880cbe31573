# SPDX-License-Identifier: BSD-3-Clause
"""Block-coordinate Frank-Wolfe and stochastic subgradients for label sets, an example at a time by
its relaxed argmax.

    problem      min_w  1/2 |w|^2 + sum_n C_n H_n(w)                  H_n by the local polytope
    its dual     max    sum_n l_n - 1/2 |w|^2,   w = sum_n w_n,   (w_n, l_n) in the hull of C_n
    (psi_n, Delta_n)
    BCFW         (w_n, l_n) moves towards its argmax, exactly on the line
                 (csrc/labels/label_blocks.cc)
    SSG          w = n (mean of the C_n psi_n met so far): after whole passes a point of the hull
                 too
    certificate  P at w or at the weighted average of w, less the dual of w; one pass of the argmax
                 each

Lacoste-Julien, Jaggi, Schmidt and Pletscher, ICML 2013, Algorithm 4 and section 3.

Deviation from the paper: the average is taken over passes, weighted by their number.
"""

from __future__ import annotations

import numpy as np

from svmcut._native import multilabel
from svmcut.base.records import record
from svmcut.base.typing import Any, ClassVar
from svmcut.solvers.passes import PassRun, due
from svmcut.solvers.protocol import Solver, Start
from svmcut.spec import schemas
from svmcut.spec.schemas import OWN, Form, State
from svmcut.structured.protocol import StructuredProblem


class LabelRun(PassRun):
    """Iterations are passes: `_visit` makes one and returns the linear part of the dual, `_points`
    returns w and its mean."""

    def __init__(self, solver: LabelBcfw, problem: StructuredProblem, start: Start | None):
        model = problem.model
        # at 0 every label is wrong
        super().__init__(
            solver, problem, start, problem.C * model.weighted_sum(np.diff(model.parts)), 40
        )
        self.passes, self.looks, self.total = 0, 0, 0.0
        shapes = (model.n_rows, model.n_labels), (model.n_labels, model.n_labels)
        #: One for features and one for pairs, and both again; 0 at first.
        self.arrays = [np.zeros(shape) for shape in 2 * shapes]
        self.blocks: Any = None
        if model.n_labels:
            self.blocks = multilabel.Blocks(
                model.rows,
                model.sets,
                model.n_labels,
                model.bias,
                model.pairs,
                problem.C,
                solver.seed,
                model.weights,
            )

    def form(self) -> Form:
        arrays = schemas.row(*(schemas.weights(*array.shape) for array in self.arrays))
        counts = {"passes": schemas.COUNT, "looks": schemas.COUNT}
        own = {"blocks": OWN} if self.blocks else {}
        return super().form() | own | counts | {"arrays": arrays, "total": schemas.REAL}

    def restore(self, state: State) -> None:
        super().restore(state)
        schemas.require(
            schemas.scheduled(self.passes, due), "the passes of the state", "those of a look"
        )

    def _counts(self) -> dict[str, Any]:
        return {"iteration": max(1, self.passes), "passes": float(self.passes + self.looks)}

    def _advance(self) -> None:
        linear, next_look = 0.0, due(self.passes)
        while self.passes < next_look:
            self.passes += 1
            linear = self._visit()
        w, mean = self._points()
        W, v = w
        self.lower = max(
            self.lower, linear - 0.5 * float(np.vdot(W, W)) - 0.25 * float(np.vdot(v, v))
        )
        for W, v in (w, mean):
            value = self.model.primal(W, v if self.model.pairs else None, self.C)
            self.looks += 1
            if value < self.primal:
                self.primal, self.best = value, self.model.join(W, v)

    def _visit(self) -> float:
        raise NotImplementedError

    def _points(self) -> tuple[Any, Any]:
        raise NotImplementedError


class BcfwRun(LabelRun):
    """The passes of BCFW."""

    def _visit(self) -> float:
        W, v, mean_W, mean_v = self.arrays
        linear = self.blocks.bcfw(W, v)
        self.total += self.passes
        for mean, now in ((mean_W, W), (mean_v, v)):
            mean += self.passes / self.total * (now - mean)
        return linear

    def _points(self):
        return self.arrays[:2], self.arrays[2:]


class SsgRun(LabelRun):
    """The passes of SSG."""

    def _visit(self) -> float:
        self.total += self.blocks.ssg(*self.arrays)
        n = self.model.n_samples
        return self.C * n / float(n * self.passes) * self.total

    def _points(self):
        z, zv, weighted, weighted_v = self.arrays
        n = self.model.n_samples
        visits = float(n * self.passes)
        now, mean = self.C * n / visits, 2 * self.C * n / (visits * (visits + 1))
        return (now * z, now * zv), (
            mean * (visits * z - weighted),
            mean * (visits * zv - weighted_v),
        )


@record
class LabelBcfw(Solver):
    """Block-coordinate Frank-Wolfe on label sets; a seed draws the order of the visits."""

    run: ClassVar[type[LabelRun]] = BcfwRun
    seed: int = 0


class LabelSsg(LabelBcfw):
    """Stochastic subgradients on label sets, whose gap falls like one over the passes; a seed draws
    the order of the visits."""

    run = SsgRun
