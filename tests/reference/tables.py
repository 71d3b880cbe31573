# SPDX-License-Identifier: BSD-3-Clause
"""Losses of contingency tables from their definitions, and their maxima over all labellings; slow
on purpose."""

import math

import numpy as np

#: What a floor may lack by rounding.
ROUNDING = 1e-12


def loss_of(name, P, N, m, b, at=0.9, beta=1.0):
    """The loss of m misses and b false positives among P positives and N negatives."""
    n, a, k, square = P + N, P - m, b - m, beta**2
    recall, specificity = (a / P if P else 1.0), ((N - b) / N if N else 1.0)
    gmean = math.sqrt(recall * specificity)
    if name in ("kld", "nkld"):
        p, q = (P + 0.5) / (n + 1), (P + k + 0.5) / (n + 1)
        divergence = max(0.0, p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q)))
        return divergence if name == "kld" else 100 - 200 / (1 + math.exp(divergence))
    if name == "mae":
        return 100 * abs(k) / n
    if name == "mrae":
        return 50 * abs(k) * (1 / (P + 0.5) + 1 / (N + 0.5))
    if name in ("q", "qacc", "qf1", "qgm"):
        f1 = 2 * a / (2 * a + m + b) if a + m + b else 1.0
        rate = {"q": recall, "qacc": 1 - (m + b) / n, "qf1": f1, "qgm": gmean}[name]
        agreement = 1 - abs(k) / max(P, N)
        under = square * rate + agreement
        return 100 * (1 - ((1 + square) * agreement * rate / under if under else 0.0))
    if name == "gmean":
        return 100 * (1 - gmean)
    if name == "fbeta":
        whole = (1 + square) * a + square * m + b
        return 100 * (1 - ((1 + square) * a / whole if whole else 1.0))
    if name == "balanced-error":
        return 50 * (1 - recall + 1 - specificity)
    if name == "recall-at-precision":
        return 100 * (1 - recall) if a >= at * (1 - ROUNDING) * (a + b) else 100.0
    assert name == "precision-at-recall"
    precise = a / (a + b) if a + b else 1.0
    return 100 * (1 - precise) if a >= at * (1 - ROUNDING) * P else 100.0


def value(s, positive, name, labellings, **parameters):
    """The maximum over labellings, (m, n) of bool; those of loss 0 are left out."""
    positive = np.asarray(positive, bool)
    n, P, ys, best = len(s), int(positive.sum()), np.where(positive, s, -s), 0.0
    for labelling in labellings:
        m, b = int((positive & ~labelling).sum()), int((labelling & ~positive).sum())
        delta = loss_of(name, P, n - P, m, b, **parameters)
        if delta > 0:
            best = max(best, delta - 100 / n * math.fsum(ys[labelling != positive]))
    return best


def of_predictions(name, positive, scores, **parameters):
    """The loss of labels that are positive where the score is above 0."""
    positive, predicted = np.asarray(positive, bool), np.asarray(scores) > 0
    m, b = int((positive & ~predicted).sum()), int((predicted & ~positive).sum())
    return loss_of(name, int(positive.sum()), int((~positive).sum()), m, b, **parameters)


def partial_auc(s, positive, at):
    """The maximum over all rankings of negatives against each positive, by sets of negatives.

    For every positive a set of negatives stands above it; the loss counts, of the negatives in the
    range by falling score, those above it. Sets are those of the highest scores."""
    up, down = s[positive], -np.sort(-s[~positive])
    first = math.floor(at[0] * len(down) * (1 + ROUNDING))
    first = min(first, len(down) - 1)
    last = min(len(down), max(first + 1, math.ceil(at[1] * len(down) * (1 - ROUNDING))))
    total = 0.0
    for score in up:
        values = [max(0, r - first) + math.fsum(down[:r] - score) for r in range(last + 1)]
        total += max(values)
    return 100 * total / (len(up) * (last - first))


def partial_auc_loss(s, positive, at):
    """Percent of the pairs of the range that are wrong, equal scores among them."""
    up, down = s[positive], -np.sort(-s[~positive])
    first = min(math.floor(at[0] * len(down) * (1 + ROUNDING)), len(down) - 1)
    last = min(len(down), max(first + 1, math.ceil(at[1] * len(down) * (1 - ROUNDING))))
    wrong = sum(int((down[first:last] >= score).sum()) for score in up)
    return 100 * wrong / (len(up) * (last - first))
