# SPDX-License-Identifier: BSD-3-Clause
"""SMO on the Gram matrix of the rows of a linear machine, where they are few and ill-conditioned.

    problem      min_w  1/2 |w|^2 + sum_i C_i max(0, 1 - y_i w.x_i),   the constant feature within w
                 and x_i
    its dual     in beta = alpha y:  max  beta.y - 1/2 beta'K beta,   0 <= beta_i y_i <= C_i,   K =
    A A^T, w = A^T beta
    update       two beta at a time to their best point in the box (smo.py), n steps between two
                 looks
    certificate  alpha / C_i is a cut; P on the line from the best point so far to the best multiple
                 of w

Long rows of which a short part matters cost coordinate descent tens of thousands of epochs, as each
step ignores the others; a step here chooses the pair that gains most. v = y - A w is formed afresh
from the features at every look, so that the steps may read a matrix in single precision. Where they
stall, cutting planes go on.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
from numpy.typing import NDArray

from svmcut._native import smo, sparse
from svmcut._native.kernels import KernelRows
from svmcut.base.records import record
from svmcut.data.examples import Csr
from svmcut.models.kernels import Kernel
from svmcut.risks.weights import boxes
from svmcut.solvers.descent import hinge_cut, squared_norms
from svmcut.solvers.fractional import FractionalRun
from svmcut.solvers.protocol import Interrupted, Problem, Progress, Solver, Stall, Start
from svmcut.spaces.linear import LinearSpace
from svmcut.spec import schemas
from svmcut.spec.schemas import OWN, Form, State

CACHE_MB = 40.0  # for rows of the active points
CHUNK = 1000  # steps between two checks of signals
BLOCK = 256  # rows of the matrix that are formed at once


def gram(space: LinearSpace) -> NDArray:
    """Return A A^T (n, n), float64 where SMO wants that, else float32."""
    X, n = space.X, space.X.n_rows
    if n <= smo.EXACT_POINTS:
        return sparse.gram(space.rows, space.bias**2)
    rows = KernelRows(X, Kernel("polynomial", 1, 1.0, 1.0, space.bias**2), space.threads)
    out = np.empty((n, n), np.float32)
    for start in range(0, n, BLOCK):
        rows.against(X.rows(start, min(start + BLOCK, n)), out[start : start + BLOCK])
    return out


class GramSmoRun(FractionalRun):
    """A look every n steps; it begins at the fractions of the start."""

    def __init__(self, solver: GramSmo, problem: Problem, start: Start | None):
        super().__init__(solver, problem, start)
        n = problem.space.X.n_rows
        self._boxes = boxes(problem.C, problem.risk.weights)
        self._alpha, self._looks, self._stall = np.zeros(n), n // 2, Stall(60)
        self.fractions = None if start is None else start.fractions
        self._set_alpha()

    def _set_alpha(self) -> None:
        if self.fractions is not None:
            np.multiply(self.fractions, self._boxes, out=self._alpha)

    def form(self) -> Form:
        fractions = schemas.reals(len(self._alpha), low=0, high=1)
        return super().form() | {"fractions": schemas.maybe(fractions)}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._set_alpha()

    def _descent_form(self) -> Form:
        boxes = np.broadcast_to(self._boxes, len(self._alpha))
        return {"_alpha": schemas.below(boxes, 0.0), "_looks": schemas.COUNT, "_stall": OWN}

    def _descend(self, saved: State | None) -> Generator[Progress, None, bool]:
        problem, n = self._problem, len(self._alpha)
        space, signs = problem.space, problem.risk.signs
        if saved is not None:
            schemas.restore(self, self._descent_form(), saved, "descent")
        # SMO needs the points only for the diagonal where it gets the kernel values
        lengths = np.sqrt(squared_norms(space)).astype(np.float32)[:, None]
        native = smo.Smo(
            Csr.from_dense(lengths),
            signs,
            Kernel("linear"),
            problem.C,
            False,
            CACHE_MB,
            space.threads,
            weights=problem.risk.weights,
            shared=gram(space),
            places=np.arange(n),
        )
        self._stage = "descent"
        while True:
            try:
                s = self._look() if saved is None else self._point()[-1]
                met = self.is_met()
                yield self.progress(again=saved is not None)
                saved = None
                if met:
                    return False
                if self._stall.has_stalled(self.gap):
                    return True
                self._steps(native, s)
            except KeyboardInterrupt:
                self._look()
                raise Interrupted(self.progress()) from None

    def _point(self) -> tuple[NDArray, float, NDArray, NDArray, NDArray[np.float64]]:
        """Return coefficients, offset and normal of the cut of alpha, its w and the scores of w."""
        problem = self._problem
        space = problem.space
        self.fractions = np.minimum(self._alpha / self._boxes, 1.0)
        coef, offset = hinge_cut(self.fractions, problem.risk.signs, problem.risk.weights)
        a = space.adjoint(coef)
        w = space.blend(-problem.C, a, 0.0, a)
        return coef, offset, a, w, space.scores(w)

    def _look(self) -> NDArray[np.float64]:
        """Take in alpha as a cut and as a point; return the scores of its w."""
        coef, offset, a, w, s = self._point()
        self._looks += 2
        self.passes = float(self._looks)
        self.search(w, s)
        self.cut(a, offset, self.risk, coef)
        return s

    def _steps(self, native: smo.Smo, s: NDArray[np.float64]) -> None:
        """Take n steps from alpha, whose scores are s."""
        y, n = self._problem.risk.signs, len(s)
        beta, v, C = self._alpha * y, y - s, self._problem.C
        head = np.array([n, 0, 0, min(n, 1000), 0, -1])
        dual = 0.5 * float(beta @ (y + v))
        reals = np.concatenate([[C, dual, 0, 0, 0], v, beta, v, beta])
        native.restore({"integers": np.concatenate([head, np.arange(n)]), "reals": reals})
        native.make_whole()
        for _ in range(-(-n // CHUNK)):
            if native.run(0.0, CHUNK):
                break
        np.clip(native.solution()[0] * y, 0.0, self._boxes, out=self._alpha)


@record
class GramSmo(Solver):
    """SMO on the Gram matrix of the rows."""

    run = GramSmoRun
