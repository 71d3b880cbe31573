# SPDX-License-Identifier: BSD-3-Clause
"""The exact QP of a few points in boxes: an interior point, then the face that it points to.

    problem      max_x  r.x - 1/2 x'Qx,   0 <= x <= top,   A x = m: no sum, one, or several over
                 parts of the points; coefficients of a sum are 1 and -1, and 0 beside its part
    interior     predictor and corrector (Mehrotra, SIAM J. Optim. 2, 1992) on x z = mu and
                 (top - x) t = mu with Qx - r + A'lambda = z - t: one Cholesky factorisation of
                 Q + diag(z / x + t / (top - x)) a step, its diagonal scaled to 1 and its solutions
                 refined
    face         x goes to the bound whose multiplier is larger than its distance, in parts of the
                 box; Newton steps over the others by least squares, as rows may depend on each
                 other, none beyond a bound nor the best point of its line

The scales of Q and top, which steps of two coordinates suffer from, matter little: 20 to 60
factorisations do what 30 million pairs of SMO did not. The point returned is the one of the three,
interior, at its bounds, or on the face, whose own primal proves most of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, qr

from svmcut.base.typing import Any

STEPS, WAIT = 200, 20  # at most; without a tenth less to go
CLOSE = 1e-14  # of the objective, for the sum of x z and (top - x) t
RIDGES = 0.0, 1e-15, 1e-13, 1e-11  # on the scaled diagonal, where rounding takes definiteness
FACES = 30  # Newton steps on a face
BACK = 0.995  # of the way to the nearest bound
EQUAL = 1e-12  # part by which a sum may differ from all that its boxes hold


def _value(Q: Any, r: NDArray, x: NDArray) -> float:
    return float(r @ x - 0.5 * (x @ (Q @ x)))


class Product:
    """Q = B B' + diag(h) that is not formed, so that columns of B may be of any scales: equations
    are solved by orthogonal factors of [diag(h)^1/2, B]'.

    Parameters
    ----------
    B : (n, d) float64
    h : (n,) float64
        At least 0.
    """

    def __init__(self, B: NDArray, h: NDArray):
        self._B, self._h = B, h

    def __matmul__(self, x: NDArray) -> NDArray[np.float64]:
        product: NDArray[np.float64] = self._B @ (self._B.T @ x) + self._h * x
        return product

    def part(self, at: NDArray) -> Product:
        """That of some of the points."""
        return Product(self._B[at], self._h[at])

    def formed(self, at: NDArray) -> NDArray[np.float64]:
        """Rows and columns of some points."""
        own: NDArray[np.float64] = self._B[at] @ self._B[at].T + np.diag(self._h[at])
        return own

    def raised(self, more: NDArray) -> Product:
        """Q + diag(more)."""
        return Product(self._B, self._h + more)

    def factors(self) -> tuple[NDArray, NDArray, NDArray]:
        """R, the order of its columns and their scales: the largest rows come first, or rounding of
        large ones is all that small ones see."""
        scales = 1 / np.sqrt(self._h + np.square(self._B).sum(axis=1))
        tall = np.vstack([np.diag(np.sqrt(self._h)), self._B.T]) * scales
        order = np.argsort(-np.abs(tall).max(axis=1), kind="stable")
        R, columns = qr(tall[order], mode="r", pivoting=True)
        return R[: len(scales)], columns, scales


class Sums:
    """The rows of A, their parts and the m that they have to be.

    Parameters
    ----------
    A : (k, n) float64 in {-1, 0, +1}
        No column has more than one entry.
    m : (k,) float64
        0 where a row has both signs.
    """

    def __init__(self, A: NDArray, m: NDArray):
        self.A, self.m = A, m
        self.parts = [np.flatnonzero(row) for row in A]

    @classmethod
    def of(cls, A: NDArray | None, m: NDArray | None, n: int) -> Sums:
        """Of rows, a single one that has the sum 0, or none."""
        rows = np.zeros((0, n)) if A is None else np.atleast_2d(A)
        return cls(rows, np.zeros(len(rows)) if m is None else np.asarray(m, np.float64))

    def off(self, x: NDArray) -> NDArray:
        """A x - m."""
        return self.A @ x - self.m

    def inner(self, top: NDArray) -> NDArray:
        """A point inside the box."""
        x = 0.5 * top
        for row, mass, at in zip(self.A, self.m, self.parts, strict=True):
            sums = [float(top[row == sign].sum()) for sign in (1, -1)]
            each = 0.5 * min(sums) if all(sums) else abs(mass)
            x[at] = top[at] * np.where(row[at] > 0, each / (sums[0] or 1), each / (sums[1] or 1))
        return x

    def full(self, top: NDArray) -> NDArray:
        """Where x has to be top."""
        full = top <= 0
        for row, mass, at in zip(self.A, self.m, self.parts, strict=True):
            if abs(row.sum()) == len(at) and abs(mass) >= (1 - EQUAL) * float(top[at].sum()):
                full[at] = True
        return full

    def without(self, fixed: NDArray) -> Sums:
        """Those of the points that are left; parts are fixed as a whole."""
        left = self.A[:, ~fixed]
        stays = left.any(axis=1)
        return Sums(left[stays], self.m[stays])

    def balance(self, x: NDArray, top: NDArray) -> NDArray:
        """x of these sums but for the rounding of a last one: what is too much leaves the
        largest."""
        for row, mass, at in zip(self.A, self.m, self.parts, strict=True):
            for _ in range(len(at)):
                off = float(row @ x) - float(mass)
                if abs(off) <= 1e-16 * float(x[at].sum()):
                    break
                room = np.where(row[at] * off > 0, x[at], top[at] - x[at])
                within = (x[at] > 0) & (x[at] < top[at])
                j = at[int(np.argmax(np.where(within, room, 0.0) if within.any() else room))]
                x[j] = min(max(x[j] - row[j] * off, 0.0), top[j])
        return x


def _formed(Q: Any, at: NDArray) -> NDArray[np.float64]:
    own: NDArray[np.float64] = Q.formed(at) if isinstance(Q, Product) else Q[np.ix_(at, at)]
    return own


def slopes(Q: Any, r: NDArray, top: NDArray, sums: Sums, x: NDArray) -> NDArray[np.float64]:
    """(n,) r - Q x - A'lambda at the lambda that leaves the least gap, of those where one is 0."""
    slope: NDArray[np.float64] = r - Q @ x
    for row, at in zip(sums.A, sums.parts, strict=True):
        s, own = row[at], slope[at]
        each = own - np.multiply.outer(own * s, s)
        slope[at] = each[np.argmin(np.maximum(each, 0.0) @ top[at] - each @ x[at])]
    return slope


def gap(Q: Any, r: NDArray, top: NDArray, sums: Sums, x: NDArray) -> float:
    """How much more than x has the optimum may have."""
    slope = slopes(Q, r, top, sums, x)
    return float(np.maximum(slope, 0.0) @ top - slope @ x)


def _fits(*pairs: tuple[NDArray, NDArray]) -> float:
    """The longest step <= 1 that leaves all of these positive."""
    length = 1.0
    for x, dx in pairs:
        falls = dx < 0
        if falls.any():
            length = min(length, BACK * float(np.min(-x[falls] / dx[falls])))
    return length


class _Interior:
    """A point within the box, and its step."""

    def __init__(self, Q: Any, r: NDArray, top: NDArray, sums: Sums):
        self._Q, self._r, self._top, self._sums = Q, r, top, sums
        self.x, self._levels = sums.inner(top), np.zeros(len(sums.m))
        slope = Q @ self.x - r
        size = float(np.abs(slope).mean() + np.abs(r).mean()) or 1.0
        self.z, self.t = np.maximum(slope, 0.0) + size, np.maximum(-slope, 0.0) + size

    def measure(self) -> float:
        """How far it is from the optimum, in units of the objective."""
        x, sums = self.x, self._sums
        self._room, slope = self._top - x, self._Q @ x - self._r
        self._rest = slope - self.z + self.t + self._levels @ sums.A
        self._off = sums.off(x)
        self._between = float(x @ self.z + self._room @ self.t)
        return self._between + float(np.abs(self._rest) @ self._top)

    def factor(self) -> None:
        """The equations of a step.

        Raises
        ------
        LinAlgError, ValueError
            Where rounding is all that is left, or Q is not semidefinite.
        """
        bends = self.z / self.x + self.t / self._room
        if isinstance(self._Q, Product):
            self._M: Any = self._Q.raised(bends)
            self._R, self._columns, self._root = self._M.factors()
        else:
            self._factor_formed(bends)
        rows = [self._solved(row) for row in self._sums.A]
        self._across = np.array(rows).reshape(-1, len(bends))
        self._bent = self._across @ self._sums.A.T

    def _factor_formed(self, bends: NDArray) -> None:
        self._M = self._Q + np.diag(bends)
        self._root = 1 / np.sqrt(self._M.diagonal())
        scaled = self._M * self._root * self._root[:, None]
        for ridge in RIDGES:
            try:
                self._factor = cho_factor(scaled + ridge * np.eye(len(bends)), lower=True)
                break
            except LinAlgError:
                if ridge == RIDGES[-1]:
                    raise

    def _halves(self, b: NDArray) -> NDArray:
        if not isinstance(self._Q, Product):
            solved: NDArray = cho_solve(self._factor, b)
            return solved
        x = np.empty(len(b))
        x[self._columns] = cho_solve((self._R, False), b[self._columns])
        return x

    def _solved(self, b: NDArray) -> NDArray:
        x = np.zeros(len(b))
        for _ in range(3):
            x += self._root * self._halves(self._root * (b - self._M @ x))
        return x

    def _moves(self, up: NDArray | float, down: NDArray | float) -> tuple:
        """dx, dz, dt and the rise of lambda to x z = up and (top - x) t = down."""
        up, down = up / self.x - self.z, down / self._room - self.t
        dx, rise = self._solved(up - down - self._rest), np.zeros(len(self._off))
        if len(rise):
            rise = np.linalg.solve(self._bent, self._sums.A @ dx + self._off)
            dx = dx - rise @ self._across
        return dx, up - self.z / self.x * dx, down + self.t / self._room * dx, rise

    def step(self) -> bool:
        """Goes on; whether it is still inside."""
        x, u, z, t = self.x, self._room, self.z, self.t
        mu = self._between / (2 * len(x))
        dx, dz, dt, _ = self._moves(0.0, 0.0)
        a = _fits((x, dx), (u, -dx), (z, dz), (t, dt))
        after = float((x + a * dx) @ (z + a * dz) + (u - a * dx) @ (t + a * dt)) / (2 * len(x))
        aim = min(1.0, max(after / mu, 0.0) ** 3) * mu
        dx, dz, dt, rise = self._moves(aim - dx * dz, aim + dx * dt)
        a = _fits((x, dx), (u, -dx), (z, dz), (t, dt))
        self.x, self.z, self.t = x + a * dx, z + a * dz, t + a * dt
        self._levels = self._levels + a * rise
        return bool((self.x > 0).all() and (self.x < self._top).all())


def interior(Q: Any, r: NDArray, top: NDArray, sums: Sums) -> tuple[NDArray, ...]:
    """x, z and t near the optimum."""
    at = _Interior(Q, r, top, sums)
    least, best, waited = np.inf, (at.x, at.z, at.t), 0
    for _ in range(STEPS):
        error = at.measure()
        waited = 0 if error < 0.9 * least else waited + 1
        if error < least:
            least, best = error, (at.x, at.z, at.t)
        if error <= CLOSE * abs(_value(Q, r, at.x)) or waited > WAIT:
            break
        try:
            at.factor()
            if not at.step():
                break
        except (LinAlgError, ValueError):
            break
    return best


def _snapped(top: NDArray, near: tuple) -> tuple[NDArray, NDArray]:
    """x at its bounds where those multipliers say so, and what is at none."""
    x, z, t = near
    low, high = x < z * top, top - x < t * top
    return np.where(low, 0.0, np.where(high, top, x)), ~(low | high)


def faced(Q: Any, r: NDArray, top: NDArray, sums: Sums, near: tuple) -> NDArray:
    """The optimum of the face that x, z and t point to, as far as steps stay in the box."""
    x, free = _snapped(top, near)
    for _ in range(FACES):
        at = np.flatnonzero(free)
        if not len(at):
            break
        slope, off = (r - Q @ x)[at], sums.off(x)
        H, sides = _formed(Q, at), sums.A[:, at]
        scale = float(np.abs(H).max()) or 1.0
        H = np.block([[H, scale * sides.T], [scale * sides, np.zeros((len(off), len(off)))]])
        b = np.append(slope, -scale * off)
        try:
            d = np.linalg.lstsq(H, b, rcond=len(b) * 2e-16)[0][: len(at)]
        except LinAlgError:
            break
        room = np.where(d > 0, (top[at] - x[at]) / d, np.where(d < 0, -x[at] / d, np.inf))
        length = min(1.0, float(room.min()))
        moved = x.copy()
        moved[at] = np.clip(x[at] + length * d, 0.0, top[at])
        first = at[room <= length]
        moved[first] = np.where(d[room <= length] > 0, top[first], 0.0)
        better = _value(Q, r, moved) > _value(Q, r, x)
        if better or off.any():
            x = moved
        if length == 1.0 or not len(first):
            if not better:
                break
            continue
        free[first] = False
    return x


def optimum(
    Q: NDArray[np.float64] | Product,
    r: NDArray[np.float64],
    top: NDArray[np.float64],
    A: NDArray[np.float64] | None = None,
    m: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """The best x that is ends, in its box and of its sums.

    Parameters
    ----------
    Q : (n, n) float64, positive semidefinite; or a Product
    r, top : (n,) float64
    A : (k, n) or (n,) float64 in {-1, 0, +1}, or None
        Rows of sums, each over other points.
    m : (k,) float64 or None
        What they have to be, above 0 of a row of one sign, else 0; None for 0 of a row of both.
    """
    sums = Sums.of(A, m, len(r))
    full = sums.full(top)
    if full.any():
        x, rest = top * full, ~full
        if rest.any():
            left = sums.without(full)
            inner = Q.part(rest) if isinstance(Q, Product) else Q[np.ix_(rest, rest)]
            x[rest] = optimum(inner, (r - Q @ x)[rest], top[rest], left.A, left.m)
        return x
    with np.errstate(all="ignore"):
        near = interior(Q, r, top, sums)
        ends = [faced(Q, r, top, sums, near), _snapped(top, near)[0], near[0].copy()]
        even = [sums.balance(x, top) for x in ends]
        return min(even, key=lambda x: gap(Q, r, top, sums, x))
