# SPDX-License-Identifier: BSD-3-Clause
"""The cuts in use: offsets, Gram matrix, and beta on the unit simplex.

    lower model   1/2 |w|^2 + C max_t (b_t + a_t.w)          cuts t, one of them the flat plane (0,
    0): R >= 0 its dual      D(beta) = C b.beta - (C^2/2) beta'H beta,   H = A A',  w = -C sum_t
    beta_t a_t

    near v        + (mu/2) |w - v|^2: the same QP with C/(1 + mu) for C and b + mu/(1 + mu) A v for
    b;
                  w = (mu v - C sum_t beta_t a_t)/(1 + mu)

D is a lower bound of the primal for any feasible beta, those of the QP near v among them. It is
computed from the w it belongs to and not from H, so that rounding in H can cost steps but never the
certificate.
"""

from __future__ import annotations

import numpy as np

from svmcut._native import sparse
from svmcut.base.typing import Any, NamedTuple, Protocol
from svmcut.spec import schemas


class Cut(NamedTuple):
    """R(w') >= b + a.w' for every w'; risk is R at the point where the cut was made.

    coef : (n,) float64 or None
        Where it is known: a = A^T coef. It must not change any more.
    scores : (n,) float64 or None
        A a, where a space of many features is told them.
    """

    a: Any
    b: float
    risk: float
    coef: Any = None
    scores: Any = None


class BundleSolution(NamedTuple):
    """Minimiser of a model, the certified bound of its multipliers, and max_t b_t + a_t.w over the
    cuts in use."""

    w: Any
    lower: float
    slack: float
    squared_norm: float


class SimplexQp(Protocol):
    """Maximises b.beta - C/2 beta'H beta on the unit simplex."""

    def solve(self, H, b, C: float, beta0, tol: float): ...


class CutBundle:
    """Cuts of a convex risk that is nowhere negative.

    Parameters
    ----------
    space : Space
        Gives dot products and combinations of cuts.
    qp : SimplexQp
        Solves the dual of the lower model.

    Notes
    -----
    (I1) index 0 is the flat plane and is never pruned. (I2) beta >= 0 and sum beta = 1; the
    multipliers of the model near a point likewise. (I3) H is symmetric. The space says what is kept
    of a normal; it may be less.
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
        """Takes the place of the bundle whose `state` this is; normal: of what is kept of a cut,
        where it is not the space's."""
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
        """The bundle as it stands; later cuts do not change it."""
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
        """Normals of the cuts, without the flat plane's."""
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
        """Bytes of what is kept of the cuts."""
        return self._H.nbytes + sum(element.nbytes for element in self._elements[1:])

    def add(self, cut: Cut) -> None:
        """Takes in a cut with multiplier 0; one dot product for every cut there is."""
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
        """Minimises the lower model to within tol, in units of D/C; the multipliers are kept as the
        next start."""
        self._maximise(C, tol)
        return self.solution(C)

    def bound(self, C: float, tol: float) -> tuple[float, float]:
        """Bound and slack of `solve`, where its w is not asked for."""
        self._maximise(C, tol)
        squared = self.space.combined_square(*self._sum(C, self.beta))
        products = self._at_sum(C, self.beta)
        return self._dual(C, self.beta, squared), max(
            0.0, float(np.max(self._b[: len(products)] + products))
        )

    def solution(self, C: float) -> BundleSolution:
        """w, bound and slack of the multipliers as they stand."""
        w, squared, lower, products = self._combined(C, self.beta)
        slack = float(np.max(self._b[: len(products)] + products))
        return BundleSolution(w, lower, max(0.0, slack), squared)

    def solve_near(self, C: float, centre, mu: float, tol: float) -> BundleSolution:
        """Minimises the lower model + (mu/2) |w - centre|^2; `beta` stays as it is.

        The bound is that of the lower model itself at these multipliers.
        """
        k = len(self._elements)
        H, b = np.ascontiguousarray(self._H[:k, :k]), self._b[:k]
        at_centre = np.concatenate([[0.0], self.space.dots(self.elements(), centre)])
        pull = mu / (1 + mu)
        self._near = self._qp.solve(H, b + pull * at_centre, C / (1 + mu), self._near, tol)
        self._idle[self._near > 0] = 0
        free_w, _, lower, products = self._combined(C, self._near)
        w = self.space.blend(pull, centre, 1 - pull, free_w)
        slack = float(np.max(b + pull * at_centre + (1 - pull) * products))
        return BundleSolution(w, lower, max(0.0, slack), self.space.dot(w, w))

    def _maximise(self, C: float, tol: float) -> None:
        """The QP's multipliers, from those of before."""
        k = len(self._elements)
        H = np.ascontiguousarray(self._H[:k, :k])
        self.beta = self._qp.solve(H, self._b[:k], C, self.beta, tol)
        self._idle = np.where(self.beta > 0, 0, self._idle + 1)

    def _sum(self, C: float, beta):
        """Weights and elements whose sum is w = -C sum_t beta_t a_t."""
        used = 1 + np.flatnonzero(beta[1:])
        return -C * beta[used], [self._elements[t] for t in used]

    def _at_sum(self, C: float, beta):
        """Dot products of all cuts with w."""
        k, used = len(self._elements), 1 + np.flatnonzero(beta[1:])
        products = np.empty(k)
        sparse.combine(-C * beta[used], [self._H[t, :k] for t in used.tolist()], products)
        return products

    def _dual(self, C: float, beta, squared: float) -> float:
        """D(beta), squared being |w|^2."""
        return C * sparse.dot(self._b[: len(beta)], beta) - 0.5 * squared

    def _combined(self, C: float, beta):
        """w, |w|^2, D(beta), and the dot products of all cuts with w."""
        w = self.space.combine(*self._sum(C, beta))
        squared = self.space.dot(w, w)
        return w, squared, self._dual(C, beta, squared), self._at_sum(C, beta)

    def prune(self, max_idle: int) -> int:
        """Drops the cuts whose multiplier was 0 in the last max_idle solutions; returns how
        many."""
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
