# SPDX-License-Identifier: BSD-3-Clause
"""Slow truth of budgeted training: every step from its formula, merges by search on a fine grid of
h."""

import numpy as np

from reference.kernel_rows import gram

GOLDEN, MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


class Words:
    """splitmix64."""

    def __init__(self, state):
        self.state = state & MASK

    def next(self):
        self.state = (self.state + GOLDEN) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, bound):
        return ((self.next() >> 32) * bound) >> 32

    def uniform(self):
        return (self.next() >> 11) * 2.0**-53


def stream(seed, epoch):
    words = Words(seed)
    words.state = (words.next() + epoch * 0xD1342543DE82EF95) & MASK
    return words.next()


def visits(n, steps, sampling="shuffled", seed=0, v=None):
    """The first rows a run visits; v: weights they are drawn by."""
    order, epoch = [], 0
    while len(order) < steps:
        words = Words(stream(seed, epoch))
        if sampling == "independent":
            draws = [Words(words.state + place * GOLDEN) for place in range(n)]
            order += [
                draw.below(n) if v is None else place_of(v, draw.uniform() * np.sum(v))
                for draw in draws
            ]
        else:
            items = list(range(n))
            if v is not None:
                start = words.uniform()
                items = [place_of(v, (k + start) * np.sum(v) / n) for k in range(n)]
            for k in range(n - 1, 0, -1):
                j = words.below(k + 1)
                items[k], items[j] = items[j], items[k]
            order += items
        epoch += 1
    return order[:steps]


def place_of(v, at):
    return int(np.argmax(np.cumsum(v) > at))


def best_place(m, kappa):
    """h in [0, 1/2] that maximises m kappa^((1-h)^2) + (1-m) kappa^(h^2), by grids that close
    in."""
    low, high = 0.0, 0.5
    for _ in range(12):
        h = np.linspace(low, high, 41)
        k = int(np.argmax(m * kappa ** ((1 - h) ** 2) + (1 - m) * kappa ** (h**2)))
        low, high = h[max(k - 1, 0)], h[min(k + 1, 40)]
    return 0.5 * (low + high)


def merge_loss(m, kappa):
    """|m phi_a + (1 - m) phi_b - s phi_z| / m at the best z."""
    h = best_place(m, kappa)
    s = m * kappa ** ((1 - h) ** 2) + (1 - m) * kappa ** (h**2)
    return np.sqrt(max(0.0, m * m + (1 - m) ** 2 + 2 * m * (1 - m) * kappa - s * s)) / m


class SlowBudget:
    """f = scale sum beta_k K(z_k, .); lists of centres, coefficients and owners."""

    def __init__(self, X, y, kernel, C, budget, dual=True, maintenance="merge", v=None, tube=None):
        self.X, self.y, self.kernel, self.C, self.budget = (
            X.astype(np.float64),
            y,
            kernel,
            C,
            budget,
        )
        self.v = np.ones(len(y)) if v is None else v
        self.dual, self.maintenance, self.tube = dual, maintenance, tube
        self.Z, self.beta, self.owner, self.alpha = [], [], [], np.zeros(len(y), np.float32)
        self.scale, self.t, self.moves, self.maintained = 1.0, 0, 0, 0

    def K(self, A, B):
        return gram(self.kernel, np.atleast_2d(A), np.atleast_2d(B))

    def step(self, i):
        x, y = self.X[i], self.y[i]
        f = self.scale * float(np.array(self.beta) @ self.K(self.Z, x)[:, 0]) if self.Z else 0.0
        self.t += 1
        if self.dual:
            own = float(self.K(x, x)[0, 0])
            before, most = self.alpha[i], self.C * self.v[i]
            if self.tube is None:
                self.alpha[i] = min(max(float(before) + (1 - y * f) / own, 0.0), most)
            else:
                u = float(before) + (y - f) / own
                self.alpha[i] = np.sign(u) * min(max(abs(u) - self.tube / own, 0.0), most)
            change = (y if self.tube is None else 1) * (float(self.alpha[i]) - float(before))
        else:
            if self.t > 1:
                self.scale *= 1 - 1 / self.t
            pull = (
                y * (y * f < 1) if self.tube is None else np.sign(y - f) * (abs(y - f) > self.tube)
            )
            change = pull * self.v.sum() * self.C / (self.t * self.scale)
        if change == 0:
            return
        self.moves += 1
        if i in self.owner:
            k = self.owner.index(i)
            self.beta[k] += change
            if self.beta[k] == 0:
                self.remove(k)
            return
        self.Z.append(x.copy())
        self.beta.append(change)
        self.owner.append(i)
        if len(self.Z) > self.budget:
            self.maintain()

    def remove(self, k):
        for items in (self.Z, self.beta, self.owner):
            items[k] = items[-1]
            items.pop()

    def maintain(self):
        self.maintained += 1
        roots = [np.sqrt(self.K(z, z)[0, 0]) for z in self.Z]
        a = int(np.argmin(np.abs(self.beta) * roots))
        own, z = self.beta[a], self.Z[a]
        if self.maintenance == "merge":
            same = [j for j in range(len(self.Z)) if j != a and self.beta[j] * own > 0]
            if same:
                kappa = self.K(z, [self.Z[j] for j in same])[0]
                weights = [own / (own + self.beta[j]) for j in same]
                best = int(
                    np.argmin([merge_loss(m, k) for m, k in zip(weights, kappa, strict=True)])
                )
                j, h = same[best], best_place(weights[best], kappa[best])
                self.beta[j] = own * kappa[best] ** ((1 - h) ** 2) + self.beta[j] * kappa[best] ** (
                    h * h
                )
                self.Z[j], self.owner[j] = h * z + (1 - h) * self.Z[j], -1
        self.remove(a)
        if self.maintenance == "project":
            change = np.linalg.solve(self.K(self.Z, self.Z), own * self.K(self.Z, z)[:, 0])
            self.beta = [b + c for b, c in zip(self.beta, change, strict=True)]
