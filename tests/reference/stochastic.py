# SPDX-License-Identifier: BSD-3-Clause
"""Slow truth of the stochastic kernel trainers, from the papers: full matrices, sorting, a linear
program."""

import numpy as np
from scipy.optimize import linprog


class SplitMix:
    """The generator of the compiled loops."""

    def __init__(self, state):
        self.state = state

    def word(self):
        mask = 2**64 - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    def below(self, bound):
        return ((self.word() >> 32) * bound) >> 32

    def uniform(self):
        return (self.word() >> 11) * 2.0**-53

    def evenly(self, v):
        """len(v) places, each v_i len(v) / sum v times, rounded down or up."""
        at = (np.arange(len(v)) + self.uniform()) * (np.sum(v) / len(v))
        return [int(np.argmax(np.cumsum(v) > x)) for x in at]

    def shuffle(self, items):
        for k in range(len(items) - 1, 0, -1):
            j = self.below(k + 1)
            items[k], items[j] = items[j], items[k]


def level_program(c, y, volume, free_bias):
    """The water level by linear programming: max g over xi >= 0, b with g <= c_i + y_i b + xi_i,
    sum xi <= volume."""
    n = len(c)
    A = np.zeros((n + 1, n + 2))
    A[:n, 0], A[:n, 1], A[:n, 2:] = 1.0, -y if free_bias else 0.0, -np.eye(n)
    A[n, 2:] = 1.0
    bounds = [(None, None), (None, None) if free_bias else (0, 0)] + [(0, None)] * n
    found = linprog(
        [-1.0] + [0.0] * (n + 1), A, np.append(c, volume), bounds=bounds, method="highs"
    )
    assert found.status == 0
    return -found.fun


def level_sorted(c, volume):
    """(level, covered) of one basin: g = (volume + S_k) / k for the k lowest that g covers; all
    ties without water."""
    order = np.sort(c)
    if volume == 0:
        return order[0], np.count_nonzero(c == order[0])
    sums = np.cumsum(order)
    k = max(k for k in range(1, len(c) + 1) if k * order[k - 1] - sums[k - 1] < volume or k == 1)
    return (volume + sums[k - 1]) / k, k


def batch_perceptron(K, y, nu, steps, seed, first_step=1.0):
    """Algorithm 1 without bias, nothing scaled lazily: iterates (steps, n) of a and the levels
    before each step."""
    n, random = len(y), SplitMix(seed)
    a, c, iterates, levels = np.zeros(n), np.zeros(n), [], []
    Q = K * np.outer(y, y)
    for t in range(1, steps + 1):
        level, k = level_sorted(c, n * nu)
        under = np.sort(np.argsort(c, kind="stable")[:k])
        j = under[random.below(k)]
        eta = first_step / np.sqrt(t)
        a[j] += eta
        c += eta * Q[j]
        norm = np.sqrt(a @ c)
        if norm > 1:
            a, c = a / norm, c / norm
        iterates.append(a.copy())
        levels.append(level)
    return np.array(iterates), np.array(levels)


def visits(rule, K, y, C, count, seed, shuffled, v=None):
    """Coefficients after `count` visits of pegasos, sdca or the perceptron; v: weights of the
    points."""
    n, random = len(y), SplitMix(seed)
    a, order, Q = np.zeros(n), list(range(n)), K * np.outer(y, y)
    drawn, total = v is not None and rule != "sdca", n if v is None else np.sum(v)
    for t in range(1, count + 1):
        if shuffled and (t - 1) % n == 0:
            order = random.evenly(v) if drawn else order
            random.shuffle(order)
        if shuffled:
            i = order[(t - 1) % n]
        else:
            i = (
                int(np.argmax(np.cumsum(v) > random.uniform() * total))
                if drawn
                else random.below(n)
            )
        c = Q[i] @ a
        if rule == "pegasos":
            a[i] += t == 1 or total * C / (t - 1) * c < 1
        elif rule == "sdca":
            a[i] = np.clip(a[i] + (1 - c) / K[i, i], 0, C if v is None else C * v[i])
        else:
            a[i] += c <= 0
    return a
