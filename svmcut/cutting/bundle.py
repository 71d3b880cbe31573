# SPDX-License-Identifier: BSD-3-Clause
"""The cuts in use: offsets, Gram matrix, and multipliers beta on the unit simplex.

    lower model   1/2 |w|^2 + C max_t (b_t + a_t.w), with the cut (0, 0) among the t, as R >= 0
    its dual      D(beta) = C b.beta - (C^2/2) beta'H beta,   H = A A',  w = -C sum_t beta_t a_t
    near v        + (mu/2) |w - v|^2: the same QP with C/(1 + mu) for C and b + mu/(1 + mu) A v for
                  b; w = (mu v - C sum_t beta_t a_t)/(1 + mu)

D is a lower bound of the primal for any feasible beta, including those of the QP near v. It is
computed from w and not from H, so rounding in H can cost steps but never the certificate.
"""

from __future__ import annotations

import numpy as np

from svmcut._native import sparse
from svmcut.base.typing import Any, NamedTuple, Protocol
from svmcut.spec import schemas


class Cut(NamedTuple):
    """The bound R(w') >= b + a.w' for every w'."""

    a: Any
    b: float
    #: R at the point where the cut was made.
    risk: float
    #: (n,) with a = A^T coef, if known; must not change afterwards.
    coef: Any = None
    #: (n,) A a, for a space of many features.
    scores: Any = None


class BundleSolution(NamedTuple):
    """The minimiser of a model and the certified bound of its multipliers."""

    w: Any
    lower: float
    #: max_t b_t + a_t.w over the cuts in use.
    slack: float
    squared_norm: float


class SimplexQp(Protocol):
    """Maximises b.beta - C/2 beta'H beta on the unit simplex."""

    def solve(self, H, b, C: float, beta0, tol: float): ...


class CutBundle:
    """Cuts of a nonnegative convex risk.

    Invariants: (I1) index 0 is the flat cut (0, 0) and is never pruned. (I2) beta >= 0 and sum beta
    = 1; so are the multipliers of the model near a point. (I3) H is symmetric. `space.keep` decides
    what is stored of a normal.
    """

    def __init__(self, space, qp: SimplexQp):
        self.space, self._qp = space, qp
        self._elements: list = [None]  # None is the flat plane's normal, the zero of the space
        self._H = np.zeros((16, 16))
        self._b = np.zeros(16)
        self.beta = np.ones(1)
        self._near = np.ones(1)
        self._idle = np.zeros(1, np.int64)

    def restore(self, state: dict[str, Any], normal: schemas.Check | None = None) -> None:
        """Restore the bundle that has this `state`. `normal` checks the kept normals, by default as
        the space does."""
        elements = schemas.many(normal or self.space.kinds().normal)
        schemas.checked(state, schemas.fields(elements=elements), "bundle")
        k = 1 + len(state["elements"])
        weights = schemas.reals(k, low=0, high=1 + 1e-6)
        schemas.checked(
            state,
            schemas.fields(
                H=schemas.reals(k, k),
                b=schemas.reals(k),
                beta=weights,
                near=weights,
                idle=schemas.array(np.int64, k, low=0),
            ),
            "bundle",
        )
        schemas.require(
            abs(float(state["beta"].sum()) - 1) <= 1e-6, "the multipliers of bundle", "a sum of 1"
        )
        size = max(16, 1 << (k - 1).bit_length())
        self._elements = [None, *state["elements"]]
        self._H, self._b = np.zeros((size, size)), np.zeros(size)
        self._H[:k, :k], self._b[:k] = state["H"], state["b"]
        self.beta, self._near, self._idle = state["beta"], state["near"], state["idle"]

    def state(self) -> dict[str, Any]:
        """A snapshot of the bundle that later cuts do not change."""
        k = len(self._elements)
        return {
            "elements": self.elements(),
            "H": self._H[:k, :k].copy(),
            "b": self._b[:k].copy(),
            "beta": self.beta.copy(),
            "near": self._near.copy(),
            "idle": self._idle.copy(),
        }

    def __len__(self) -> int:
        """Number of cuts, without the flat plane."""
        return len(self._elements) - 1

    def elements(self) -> list:
        """Normals of the cuts, without that of the flat cut."""
        return self._elements[1:]

    @property
    def support(self) -> int:
        """Number of cuts with a positive multiplier."""
        return int(np.count_nonzero(self.beta[1:]))

    @property
    def largest_norm(self) -> float:
        """Length of the longest cut normal."""
        k = len(self._elements)
        return float(np.sqrt(max(0.0, np.max(np.diagonal(self._H)[:k]))))

    @property
    def nbytes(self) -> int:
        """Bytes used by the cuts."""
        return self._H.nbytes + sum(element.nbytes for element in self._elements[1:])

    def add(self, cut: Cut) -> None:
        """Add a cut with multiplier 0; computes its dot product with every other cut."""
        k = len(self._elements)
        if k == len(self._b):
            size = 2 * k
            H, b = np.zeros((size, size)), np.zeros(size)
            H[:k, :k], b[:k] = self._H, self._b
            self._H, self._b = H, b
        known = {} if cut.scores is None else {"scores": cut.scores}
        self._elements.append(self.space.keep(cut.a, cut.coef, **known))
        self._b[k] = cut.b
        self._H[k, 0] = self._H[0, k] = 0.0
        self._H[k, 1 : k + 1] = self._H[1 : k + 1, k] = self.space.dots(
            self.elements(), cut.a, **known
        )
        self.beta, self._near = np.append(self.beta, 0.0), np.append(self._near, 0.0)
        self._idle = np.append(self._idle, 0)

    def solve(self, C: float, tol: float) -> BundleSolution:
        """Minimise the lower model to within `tol`, in units of D/C, starting from the last
        multipliers."""
        self._maximise_dual(C, tol)
        return self.solution(C)

    def bound(self, C: float, tol: float) -> tuple[float, float]:
        """Bound and slack as from `solve`, without forming w."""
        self._maximise_dual(C, tol)
        squared = self.space.combined_square(*self._terms(C, self.beta))
        products = self._products(C, self.beta)
        return self._dual_value(C, self.beta, squared), max(
            0.0, float(np.max(self._b[: len(products)] + products))
        )

    def solution(self, C: float) -> BundleSolution:
        """w, bound and slack at the present multipliers."""
        w, squared, lower, products = self._combine(C, self.beta)
        slack = float(np.max(self._b[: len(products)] + products))
        return BundleSolution(w, lower, max(0.0, slack), squared)

    def solve_near(self, C: float, centre, mu: float, tol: float) -> BundleSolution:
        """Minimise the lower model + (mu/2) |w - centre|^2, leaving `beta` as it is; the bound is
        that of the lower model itself."""
        k = len(self._elements)
        H, b = np.ascontiguousarray(self._H[:k, :k]), self._b[:k]
        at_centre = np.concatenate([[0.0], self.space.dots(self.elements(), centre)])
        pull = mu / (1 + mu)
        self._near = self._qp.solve(H, b + pull * at_centre, C / (1 + mu), self._near, tol)
        self._idle[self._near > 0] = 0
        free_w, _, lower, products = self._combine(C, self._near)
        w = self.space.blend(pull, centre, 1 - pull, free_w)
        slack = float(np.max(b + pull * at_centre + (1 - pull) * products))
        return BundleSolution(w, lower, max(0.0, slack), self.space.dot(w, w))

    def _maximise_dual(self, C: float, tol: float) -> None:
        """Solve the QP, starting from the last multipliers."""
        k = len(self._elements)
        H = np.ascontiguousarray(self._H[:k, :k])
        self.beta = self._qp.solve(H, self._b[:k], C, self.beta, tol)
        self._idle = np.where(self.beta > 0, 0, self._idle + 1)

    def _terms(self, C: float, beta):
        """Weights and elements whose sum is w = -C sum_t beta_t a_t."""
        used = 1 + np.flatnonzero(beta[1:])
        return -C * beta[used], [self._elements[t] for t in used]

    def _products(self, C: float, beta):
        """Dot products of all cuts with w."""
        k, used = len(self._elements), 1 + np.flatnonzero(beta[1:])
        products = np.empty(k)
        sparse.combine(-C * beta[used], [self._H[t, :k] for t in used.tolist()], products)
        return products

    def _dual_value(self, C: float, beta, squared: float) -> float:
        """D(beta); `squared` is |w|^2."""
        return C * sparse.dot(self._b[: len(beta)], beta) - 0.5 * squared

    def _combine(self, C: float, beta):
        """w, |w|^2, D(beta), and the dot products of all cuts with w."""
        w = self.space.combine(*self._terms(C, beta))
        squared = self.space.dot(w, w)
        return w, squared, self._dual_value(C, beta, squared), self._products(C, beta)

    def prune(self, max_idle: int) -> int:
        """Drop the cuts whose multiplier was 0 in the last `max_idle` solutions, and return their
        number."""
        keep = self._idle < max_idle
        keep[0] = True
        dropped = int(np.count_nonzero(~keep))
        if dropped:
            rows = np.flatnonzero(keep)
            H, b = np.zeros_like(self._H), np.zeros_like(self._b)
            H[: len(rows), : len(rows)] = self._H[rows][:, rows]
            b[: len(rows)] = self._b[rows]
            self._H, self._b = H, b
            self._elements = [self._elements[t] for t in rows]
            self.beta, self._near, self._idle = self.beta[rows], self._near[rows], self._idle[rows]
        return dropped
