# SPDX-License-Identifier: BSD-3-Clause
"""The equations of a Newton step on features: (I + C A'BA) p = -gradient.

A'BA         sum over the rows with a curvature of bends x x' / width;  - h h' / sum bends, h = sum
             bends x, where a free bias is eliminated
factors      of Cholesky, where features are few
products     of conjugate gradients otherwise (Lin, Weng and Keerthi, JMLR 2008), whose trust region
             the line search replaces, preconditioned by the square root of the diagonal: by all
             of it (Hsia, Chiang and Lin, ACML 2018) frequent features that say much the same are
             trusted too little. Where a thousand features have many nonzeros, factors are made once
             the products of all steps have cost half as much as they do
changes      where a curvature is one of two numbers, A'BA is the last one and what the rows that
             came and went add
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from svmcut._native import newton as native
from svmcut.base.typing import Any
from svmcut.risks.smoothed import Smoothed, SmoothedRisk
from svmcut.solvers.auto import DENSE_DIM
from svmcut.spaces.linear import ArraySpace, LinearSpace
from svmcut.spec import schemas
from svmcut.spec.schemas import Form, Kept

#: Features up to which the Hessian is factorised, however many nonzeros a row has.
FULL_DIM = 128
#: Mean nonzeros of a row up to which its outer product costs less than twenty products with it.
FEW_NONZEROS = 80
#: Half the time of the factors by dim^3, over that of a product by its nonzeros.
FACTOR = 0.01
#: Most products of a step, and the part of the gradient that they may leave.
CG_STEPS, CG_REST = 200, 0.1


def border(space: Any, at: Smoothed) -> tuple[Any, float] | None:
    """Return (h / sum bends, sum bends) of a free bias, h an element of the space; None without a
    free bias or curvatures."""
    return None if at.shares is None or not len(at.rows) else (space.adjoint(at.shares), at.total)


class Curvature(Kept):
    """The Hessian of a minimisation on features, from step to step."""

    called = "curvature"

    def __init__(self, space: LinearSpace, risk: SmoothedRisk):
        self._space, self._has_two_curvatures = space, risk.has_two_curvatures
        cheap = risk.has_narrow_band or space.X.nnz <= FEW_NONZEROS * space.n_rows
        #: Whether the Hessian is formed and factorised.
        self.factored = space.dim <= FULL_DIM or (space.dim <= DENSE_DIM and cheap)
        #: A'BA (dim, dim) of the last step, lower triangle, and its curvatures (n,), where the next
        #: one changes it.
        self.before: tuple[NDArray, NDArray] | None = None
        #: Passes over the features of the last step; products with the Hessian of all steps.
        self.passes, self.products = 0.0, 0

    def form(self) -> Form:
        dim, n = self._space.dim, self._space.n_rows
        before = schemas.row(schemas.reals(dim, dim), schemas.reals(n, low=0))
        return {
            "factored": schemas.flag,
            "products": schemas.COUNT,
            "before": schemas.maybe(before),
        }

    def direction(self, at: Smoothed, C: float, gradient: NDArray) -> NDArray[np.float64]:
        """Return the step p, to CG_REST of the gradient where the Hessian is not factorised."""
        space, scale, self.passes = self._space, C / at.width, 0.0
        free = border(space, at)
        if not self.factored:
            most = self._max_products(len(at.rows))
            p, products = self.conjugate_gradients(at, scale, gradient, free, most)
            self.products += products
            self.factored = products == most and space.dim <= DENSE_DIM
            if not self.factored:
                return p
        H, p = self._form_hessian(at), -gradient
        if free:
            mean, total = free
            H -= np.multiply.outer(total * mean, mean)
        if native.solve_shifted(H, scale, p):
            return p
        return self.conjugate_gradients(at, scale, gradient, free)[0]

    def _form_hessian(self, at: Smoothed) -> NDArray[np.float64]:
        """Form sum bends x x', lower triangle, in an array that the caller may change."""
        space, rows, bends, last = self._space, at.rows, at.bends, None
        if self.before is not None and bends is not None:
            H, known = self.before
            changed = np.flatnonzero(bends != known).astype(np.int32)
            if 2 * len(changed) <= len(rows):
                rows, bends, last = changed, bends - known, H
        out = np.empty((space.dim, space.dim))
        native.band_gram(space.rows, rows, space.bias, out, space.threads, bends)
        self.passes += len(rows) / max(1, space.n_rows)
        if last is not None:
            out += last
        if self._has_two_curvatures and at.bends is not None:
            self.before = out.copy(), at.bends
        return out

    def _max_products(self, rows: int) -> int:
        """Return how many more products with the Hessian of so many rows a step may take before
        they have cost half as much as factors; without limit where it is never factorised."""
        dim, nonzeros = self._space.dim, self._space.X.nnz / max(1, self._space.n_rows)
        if dim > DENSE_DIM:
            return CG_STEPS
        worth = int(nonzeros / 6 + FACTOR * dim**3 / max(1.0, rows * nonzeros))
        return max(1, 1 + worth - self.products)

    def conjugate_gradients(
        self, at: Smoothed, scale: float, gradient, free, most: int = CG_STEPS, rest=CG_REST
    ):
        """Solve by the function of this name; count the passes."""
        space = self._space

        def product(q: NDArray) -> NDArray[np.float64]:
            Hq = space.zero()
            native.band_product(space.rows, at.rows, space.bias, q, Hq, space.threads, at.bends)
            self.passes += 2 * len(at.rows) / space.n_rows
            if free:
                mean, total = free
                Hq -= total * space.dot(mean, q) * mean
            Hq *= scale
            Hq += q
            return Hq

        ahead = self._preconditioner(at, scale)
        return conjugate_gradients(product, ahead, gradient, space, most, rest)

    def _preconditioner(self, at: Smoothed, scale: float) -> NDArray[np.float64]:
        """Return 1 / sqrt(diagonal of I + scale A'BA), (dim,)."""
        space = self._space
        diagonal = space.zero()
        native.band_diagonal(space.rows, at.rows, space.bias, diagonal, space.threads, at.bends)
        self.passes += len(at.rows) / space.n_rows
        return preconditioner(diagonal, scale)


def preconditioner(diagonal: NDArray, scale: float) -> NDArray[np.float64]:
    """Turn a diagonal (dim,) into 1 / sqrt(1 + scale diagonal), in its place."""
    diagonal *= scale
    diagonal += 1.0
    np.sqrt(diagonal, out=diagonal)
    return np.reciprocal(diagonal, out=diagonal)


def conjugate_gradients(
    product: Callable[[NDArray], NDArray],
    ahead: NDArray,
    gradient: NDArray,
    space: ArraySpace,
    most: int = CG_STEPS,
    rest: float = CG_REST,
) -> tuple[NDArray[np.float64], int]:
    """Return (p, products): p to a residual of `rest` of the gradient, both measured by the inverse
    of the preconditioner, or as far as so many products lead.

    `product` gives (I + C A'BA) q as a new array, q changing afterwards; `ahead` (dim,) is the
    inverse of the preconditioner.
    """
    p, r = space.zero(), -gradient
    q = ahead * r
    rr = space.dot(r, q)
    enough = rest * rest * rr
    products = 0
    while products < most:
        products += 1
        Hq = product(q)
        t = rr / space.dot(q, Hq)
        p += t * q
        r -= t * Hq
        z = ahead * r
        before, rr = rr, space.dot(r, z)
        if not rr > enough:
            break
        q *= rr / before
        q += z
    return p, products
