# SPDX-License-Identifier: BSD-3-Clause
"""The exact QP of a few points in boxes: an interior point, then the face that it points to.

    problem      max_x  r.x - 1/2 x'Qx,   0 <= x <= top,   s.x = 0 if there are sides s
    interior     predictor and corrector (Mehrotra, SIAM J. Optim. 2, 1992) on x z = mu and
                 (top - x) t = mu with Qx - r + lambda s = z - t: one Cholesky factorisation of
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
from scipy.linalg import LinAlgError, cho_factor, cho_solve

STEPS, WAIT = 200, 20  # at most; without a tenth less to go
CLOSE = 1e-14  # of the objective, for the sum of x z and (top - x) t
RIDGES = 0.0, 1e-15, 1e-13, 1e-11  # on the scaled diagonal, where rounding takes definiteness
FACES = 30  # Newton steps on a face
BACK = 0.995  # of the way to the nearest bound


def _value(Q: NDArray, r: NDArray, x: NDArray) -> float:
    return float(r @ x - 0.5 * (x @ (Q @ x)))


def gap(Q: NDArray, r: NDArray, top: NDArray, s: NDArray | None, x: NDArray) -> float:
    """How much more than x has the optimum may have: at the best lambda, of the n where a slope is
    0."""
    slope = r - Q @ x
    slopes = slope[None] if s is None else slope - np.multiply.outer(slope * s, s)
    return float((np.maximum(slopes, 0.0) @ top - slopes @ x).min())


def _inner(top: NDArray, s: NDArray | None) -> NDArray:
    """A point inside the box, on s.x = 0."""
    if s is None:
        return 0.5 * top
    sums = [float(top[side].sum()) for side in (s > 0, s < 0)]
    least = 0.5 * min(sums)
    return top * np.where(s > 0, least / sums[0], least / sums[1])


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

    def __init__(self, Q: NDArray, r: NDArray, top: NDArray, s: NDArray | None):
        self._Q, self._r, self._top, self._s = Q, r, top, s
        self.x, self._level = _inner(top, s), 0.0
        slope = Q @ self.x - r
        size = float(np.abs(slope).mean()) + 1.0
        self.z, self.t = np.maximum(slope, 0.0) + size, np.maximum(-slope, 0.0) + size

    def measure(self) -> float:
        """How far it is from the optimum, in units of the objective."""
        x, s = self.x, self._s
        self._room, slope = self._top - x, self._Q @ x - self._r
        self._rest = slope - self.z + self.t + (0.0 if s is None else self._level * s)
        self._off = 0.0 if s is None else float(s @ x)
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
        if self._s is not None:
            self._across = self._solved(self._s)

    def _solved(self, b: NDArray) -> NDArray:
        x = np.zeros(len(b))
        for _ in range(3):
            x += self._root * cho_solve(self._factor, self._root * (b - self._M @ x))
        return x

    def _moves(self, up: NDArray | float, down: NDArray | float) -> tuple:
        """dx, dz, dt and dlambda to x z = up and (top - x) t = down."""
        up, down = up / self.x - self.z, down / self._room - self.t
        dx, rise = self._solved(up - down - self._rest), 0.0
        if self._s is not None:
            rise = (float(self._s @ dx) + self._off) / float(self._s @ self._across)
            dx = dx - rise * self._across
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
        self._level += a * rise
        return bool((self.x > 0).all() and (self.x < self._top).all())


def interior(Q: NDArray, r: NDArray, top: NDArray, s: NDArray | None) -> tuple[NDArray, ...]:
    """x, z and t near the optimum."""
    at = _Interior(Q, r, top, s)
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
        except (LinAlgError, ValueError):
            break
        if not at.step():
            break
    return best


def _snapped(top: NDArray, near: tuple) -> tuple[NDArray, NDArray]:
    """x at its bounds where those multipliers say so, and what is at none."""
    x, z, t = near
    low, high = x < z * top, top - x < t * top
    return np.where(low, 0.0, np.where(high, top, x)), ~(low | high)


def faced(Q: NDArray, r: NDArray, top: NDArray, s: NDArray | None, near: tuple) -> NDArray:
    """The optimum of the face that x, z and t point to, as far as steps stay in the box."""
    x, free = _snapped(top, near)
    for _ in range(FACES):
        at = np.flatnonzero(free)
        if not len(at):
            break
        slope, off = (r - Q @ x)[at], 0.0 if s is None else float(s @ x)
        A, b = Q[np.ix_(at, at)], slope
        if s is not None:
            scale = float(np.abs(A).max()) or 1.0
            A = np.block([[A, scale * s[at, None]], [scale * s[at], np.zeros((1, 1))]])
            b = np.append(slope, -scale * off)
        try:
            d = np.linalg.lstsq(A, b, rcond=len(b) * 2e-16)[0][: len(at)]
        except LinAlgError:
            break
        room = np.where(d > 0, (top[at] - x[at]) / d, np.where(d < 0, -x[at] / d, np.inf))
        length = min(1.0, float(room.min()))
        moved = x.copy()
        moved[at] = np.clip(x[at] + length * d, 0.0, top[at])
        first = at[room <= length]
        moved[first] = np.where(d[room <= length] > 0, top[first], 0.0)
        better = _value(Q, r, moved) > _value(Q, r, x)
        if better or abs(off) > 0:
            x = moved
        if length == 1.0 or not len(first):
            if not better:
                break
            continue
        free[first] = False
    return x


def _balanced(x: NDArray, top: NDArray, s: NDArray | None) -> NDArray:
    """x where s.x is 0 but for the rounding of a last sum: what is too much leaves the largest."""
    if s is None:
        return x
    for _ in range(len(x)):
        off = float(s @ x)
        if abs(off) <= 1e-16 * float(x.sum()):
            break
        room = np.where(s * off > 0, x, top - x)
        within = (x > 0) & (x < top)
        j = int(np.argmax(np.where(within, room, 0.0) if within.any() else room))
        x[j] = min(max(x[j] - s[j] * off, 0.0), top[j])
    return x


def optimum(
    Q: NDArray[np.float64],
    r: NDArray[np.float64],
    top: NDArray[np.float64],
    s: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """The best x that is found, in its box and on s.x = 0.

    Parameters
    ----------
    Q : (n, n) float64
        Positive semidefinite.
    r, top : (n,) float64
        top > 0.
    s : (n,) float64 in {-1, +1}, both of them; or None
    """
    with np.errstate(all="ignore"):
        near = interior(Q, r, top, s)
        candidates = [faced(Q, r, top, s, near), _snapped(top, near)[0], near[0].copy()]
        return min((_balanced(x, top, s) for x in candidates), key=lambda x: gap(Q, r, top, s, x))
