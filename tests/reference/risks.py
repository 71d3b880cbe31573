# SPDX-License-Identifier: BSD-3-Clause
"""Slow truths of the risks, from their definitions: all pairs, all labellings, all tables, all rankings."""

import itertools
import math

import numpy as np


def ordinal(s, y, qid, normalisation):
    """Sum over pairs y_i > y_j of one query of max(0, 1 - (s_i - s_j)), normalised; O(n^2)."""
    n = len(y)
    qid = np.zeros(n, np.int64) if qid is None else np.asarray(qid)
    queries = np.unique(qid)
    total, fraction, all_pairs = 0.0, 0.0, 0
    for query in queries:
        rows = np.flatnonzero(qid == query)
        above = y[rows][:, None] > y[rows][None, :]
        hinge = np.maximum(0.0, 1.0 - (s[rows][:, None] - s[rows][None, :]))[above]
        pairs = int(above.sum())
        total += math.fsum(hinge)
        fraction += math.fsum(hinge) / pairs if pairs else 0.0
        all_pairs += pairs
    if normalisation == "swapped-pairs":
        return total / len(queries)
    if normalisation == "swapped-fraction":
        return fraction / len(queries)
    return total / all_pairs if all_pairs else 0.0


def ordinal_squared(s, y, qid, normalisation):
    """Mean over queries of the square of the best sqrt(v m) - v (sum of the m smallest differences); O(n^2)."""
    qid = np.zeros(len(y), np.int64) if qid is None else np.asarray(qid)
    queries, total = np.unique(qid), 0.0
    for query in queries:
        rows = np.flatnonzero(qid == query)
        above = y[rows][:, None] > y[rows][None, :]
        differences = np.sort((s[rows][:, None] - s[rows][None, :])[above])
        if len(differences):
            v = 1.0 if normalisation == "swapped-pairs" else 1.0 / len(differences)
            sums = [math.fsum(differences[:m]) for m in range(len(differences) + 1)]
            total += max(math.sqrt(v * m) - v * part for m, part in enumerate(sums)) ** 2
    return total / len(queries)


def sets_of_pairs(y):
    """Every set of pairs y_i > y_j of one query."""
    pairs = list(zip(*np.nonzero(y[:, None] > y[None, :]), strict=True))
    return [part for m in range(len(pairs) + 1) for part in itertools.combinations(pairs, m)]


def ordinal_squared_by_sets(s, y):
    """H of one query by its definition, over all sets of pairs, swapped-pairs."""
    return max(math.sqrt(len(part)) - math.fsum(s[i] - s[j] for i, j in part) for part in sets_of_pairs(y))


def ordinal_squared_optimum(X, y, qid, normalisation, c):
    """min 1/2 w'w + (c/Q) sum_q xi_q^2 with a constraint for every set of pairs, as a least distance.

    z = (w, sqrt(2c/Q) xi): min 1/2 z'z, G z >= b, as in Lawson and Hanson, Solving least squares problems, ch. 23.
    """
    from scipy.optimize import nnls

    queries, rows_of_G, b = np.unique(qid), [], []
    for k, query in enumerate(queries):
        rows = np.flatnonzero(qid == query)
        sets = sets_of_pairs(y[rows])
        v = 1.0 if normalisation == "swapped-pairs" else 1.0 / max(1, len(sets[-1]))
        slack = np.zeros(len(queries))
        slack[k] = math.sqrt(len(queries) / (2 * c))
        for part in sets[1:]:
            normal = v * sum(X[rows[i]].astype(float) - X[rows[j]] for i, j in part)
            rows_of_G.append(np.concatenate([normal, slack]))
            b.append(math.sqrt(v * len(part)))
    if not b:
        return 0.0
    E = np.vstack([np.array(rows_of_G).T, b])
    target = np.zeros(len(E))
    target[-1] = 1.0
    residual = E @ nnls(E, target, maxiter=100 * len(b))[0] - target
    z = -residual[:-1] / residual[-1]
    return float(0.5 * z @ z)


def ordinal_by_grades(s, y):
    """Coefficients, pairs in the cut and pairs of one query, unweighted; O(R n log n), one pass per pair of grades."""
    coef, cut, pairs = np.zeros(len(y)), 0, 0
    grades = np.unique(y)
    t = s + 1.0
    for low in grades:
        lower, higher = np.flatnonzero(y == low), np.flatnonzero(y > low)
        pairs += len(lower) * len(higher)
        c_plus = len(lower) - np.searchsorted(np.sort(t[lower]), s[higher], side="right")
        c_minus = np.searchsorted(np.sort(s[higher]), t[lower], side="left")
        assert c_plus.sum() == c_minus.sum()
        coef[higher] -= c_plus
        coef[lower] += c_minus
        cut += int(c_plus.sum())
    return coef, cut, pairs


def roc_area(s, positive):
    """100/(P N) times the sum over pairs of max(0, 1 - (s_p - s_n))."""
    return 100.0 * ordinal(s, np.where(positive, 1.0, -1.0), None, "pairs")


def error_table(a, b, P, N, loss, k):
    """Loss in percent (zero-one: 0 or 1) of a true and b false positives; None: not admissible."""
    n = P + N
    precision = a / (a + b) if a + b else 0.0
    recall = a / P if P else 0.0
    if loss == "zero-one":
        return float(a < P or b > 0)
    if loss == "f1":
        return 100.0 * (1.0 - 2.0 * a / (P + a + b)) if a else 100.0
    if loss == "error-rate":
        return 100.0 * (P - a + b) / n
    if loss == "prbep":
        return 100.0 * (1.0 - min(precision, recall)) if a + b == P else None
    if loss == "prec-at-k":
        return 100.0 * (1.0 - precision) if a + b >= k else None
    return 100.0 * (1.0 - recall) if a + b <= k else None


def contingency(s, positive, loss, k, rescaling, slack_norm, labellings):
    """Maximum over the labellings given, (m, n) of bool, of the violated loss; those of loss 0 are left out."""
    positive = np.asarray(positive, bool)
    n, P = len(s), int(positive.sum())
    ys = np.where(positive, s, -s)
    best = 0.0
    for labelling in labellings:
        a, b = int(labelling[positive].sum()), int(labelling[~positive].sum())
        delta = error_table(a, b, P, n - P, loss, k)
        if delta is None or delta <= 0.0:
            continue
        delta = math.sqrt(delta) if slack_norm == 2 else delta
        loss_of_score = 100.0 / n * math.fsum(ys[labelling != positive])
        value = delta * (1.0 - loss_of_score) if rescaling == "slack" else delta - loss_of_score
        best = max(best, value)
    return best


def all_labellings(n):
    """All 2^n labellings."""
    return np.array(list(itertools.product([False, True], repeat=n)), bool)


def table_labellings(s, positive):
    """The best labelling of every table (a, b): the P - a lowest positives and the b highest negatives flipped."""
    positive = np.asarray(positive, bool)
    low = np.flatnonzero(positive)[np.argsort(s[positive], kind="stable")]
    high = np.flatnonzero(~positive)[np.argsort(-s[~positive], kind="stable")]
    for lost in range(len(low) + 1):
        for b in range(len(high) + 1):
            labelling = positive.copy()
            labelling[low[:lost]] = False
            labelling[high[:b]] = True
            yield labelling


def average_precision(s, positive, scale=100.0, weight=2.0):
    """Maximum over all interleavings of positives and negatives, either by descending score."""
    positive = np.asarray(positive, bool)
    up, down = -np.sort(-s[positive]), -np.sort(-s[~positive])
    P, N = len(up), len(down)
    best = 0.0
    for places in itertools.combinations(range(P + N), P):
        precision, wrong = [], []
        for k, place in enumerate(places):
            precision.append((k + 1) / (place + 1))
            wrong.extend(up[k] - down[: place - k])
        best = max(best, scale * (1.0 - math.fsum(precision) / P) - weight * math.fsum(wrong))
    return best


def average_precision_all_permutations(s, positive, scale=100.0, weight=2.0):
    """The same over all n! rankings: shows that either class may be kept in the order of its scores."""
    positive = np.asarray(positive, bool)
    n, P = len(s), int(positive.sum())
    best = 0.0
    for ranking in itertools.permutations(range(n)):
        seen, precision, wrong = 0, 0.0, 0.0
        for rank, row in enumerate(ranking):
            if positive[row]:
                seen += 1
                precision += seen / (rank + 1) / P
                wrong += sum(s[row] - s[other] for other in ranking[:rank] if not positive[other])
        best = max(best, scale * (1.0 - precision) - weight * wrong)
    return best


def average_precision_quadratic(s, positive, scale=100.0, weight=2.0):
    """The same in O(P N): the best place of every negative by a full search."""
    positive = np.asarray(positive, bool)
    up, down = -np.sort(-s[positive]), -np.sort(-s[~positive])
    P = len(up)
    i = np.arange(1, P + 1)
    total = 0.0
    for j, t in enumerate(down, start=1):
        gain = scale / P * i / ((i + j - 1.0) * (i + j)) - weight * (up - t)
        total += max(0.0, float(np.cumsum(gain[::-1]).max()))
    return total


#: Losses of classification that are functions of the scores and classes alone, without rescalings.
OF_SCORES = {"roc-area": roc_area, "average-precision": average_precision}
