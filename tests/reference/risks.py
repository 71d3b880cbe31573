# SPDX-License-Identifier: BSD-3-Clause
"""Slow truths of the risks, from their definitions: all pairs, all labellings, all tables, all
rankings."""

import functools
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


def propensities(s, y, qid, cost=None):
    """Mean over queries of the sum over clicked rows i, y_i > 0, of cost_i times the sum over all
    other rows j of max(0, 1 - s_i + s_j); pair by pair."""
    qid = np.zeros(len(y), np.int64) if qid is None else np.asarray(qid)
    cost = np.ones(len(y)) if cost is None else cost
    terms = [
        cost[i] * max(0.0, 1.0 - (s[i] - s[j]))
        for i, j in itertools.permutations(range(len(y)), 2)
        if qid[i] == qid[j] and y[i] > 0
    ]
    return math.fsum(terms) / len(np.unique(qid))


def one_class(s, nu):
    """The least of sum_i max(0, rho - s_i) - nu n rho over rho, which is at one of the scores."""
    return min(math.fsum(np.maximum(0.0, rho - s)) - nu * len(s) * rho for rho in s)


def ordinal_squared(s, y, qid, normalisation):
    """Mean over queries of the square of the best sqrt(v m) - v (sum of the m smallest
    differences); O(n^2)."""
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
    return max(
        math.sqrt(len(part)) - math.fsum(s[i] - s[j] for i, j in part) for part in sets_of_pairs(y)
    )


def ordinal_squared_optimum(X, y, qid, normalisation, c):
    """min 1/2 w'w + (c/Q) sum_q xi_q^2 with a constraint for every set of pairs, as a least
    distance.

    z = (w, sqrt(2c/Q) xi): min 1/2 z'z, G z >= b, as in Lawson and Hanson, Solving least squares
    problems, ch. 23.
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
    """Coefficients, pairs in the cut and pairs of one query, unweighted; O(R n log n), one pass per
    pair of grades."""
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
    """Maximum over the labellings given, (m, n) of bool, of the violated loss; those of loss 0 are
    left out."""
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
    """The best labelling of every table (a, b): the P - a lowest positives and the b highest
    negatives flipped."""
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
    """The same over all n! rankings: shows that either class may be kept in the order of its
    scores."""
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


def measure_loss(grades, loss, at):
    """1 - the average precision or NDCG of grades in their order, of one query, in exact arithmetic
    of few rows."""
    if loss == "map":
        relevant = [g >= 1 for g in grades]
        found = [sum(relevant[: r + 1]) / (r + 1) for r in range(len(grades)) if relevant[r]]
        return 1.0 - math.fsum(found) / len(found)

    def dcg(order):
        return math.fsum(
            (2.0 ** max(g, 0.0) - 1.0) / math.log2(r + 2) for r, g in enumerate(order[:at])
        )

    return 1.0 - dcg(list(grades)) / dcg(sorted(grades, reverse=True))


def graded(y, loss):
    """What rows of a query are ordered by: relevance, or the label where it gains."""
    return (y >= 1).astype(float) if loss == "map" else np.maximum(y, 0.0)


def ranking_measure(s, y, qid, loss, at=10):
    """Mean over queries of the maximum over all rankings of 1 - measure - 2/m (sum of s_hi - s_lo
    over those of the m pairs of unequal grade that are ranked wrongly); 0 for a query without such
    pairs."""
    qid = np.zeros(len(y), np.int64) if qid is None else np.asarray(qid)
    queries, total = np.unique(qid), 0.0
    for query in queries:
        rows = np.flatnonzero(qid == query)
        grade, score = graded(y[rows], loss), s[rows]
        hi, lo = np.nonzero(grade[:, None] > grade[None, :])
        if len(hi) == 0:
            continue
        rankings = np.array(list(itertools.permutations(range(len(rows)))))
        ranks = np.argsort(rankings, axis=1)
        wrong = ranks[:, hi] > ranks[:, lo]
        losses = {
            tuple(order): measure_loss(order, loss, at)
            for order in np.unique(grade[rankings], axis=0)
        }
        deltas = np.array([losses[tuple(order)] for order in grade[rankings]])
        total += max(
            0.0, (deltas - 2.0 / len(hi) * (wrong * (score[hi] - score[lo])).sum(axis=1)).max()
        )
    return total / len(queries)


def ndcg_by_prefixes(s, y, at):
    """The same of one query for NDCG, over the grades of the first places: behind them the order by
    score is best."""
    grade, kinds = np.maximum(y, 0.0), np.unique(np.maximum(y, 0.0))
    above = grade[:, None] > grade[None, :]
    if not above.any():
        return grade[0] * 0
    m, places = type(s[0])(2) / int(above.sum()), min(at, len(y))
    lists = [np.flatnonzero(grade == g)[np.argsort(-s[grade == g], kind="stable")] for g in kinds]
    discount = [1.0 / math.log2(r + 2) for r in range(places)]
    gain = [2.0 ** (g - kinds[-1]) - 2.0 ** -kinds[-1] for g in kinds]
    by_gain = np.searchsorted(kinds, np.sort(grade)[::-1][:places])
    ideal = math.fsum(d * gain[g] for d, g in zip(discount, by_gain))

    @functools.cache
    def lost(a, g, b, h):
        return np.maximum(0, s[lists[h][b:]] - s[lists[g][a]]).sum()

    best = {(0,) * len(kinds): 0.0}
    for r in range(places):
        found = {}
        for counts, value in best.items():
            for g, count in enumerate(counts):
                if count < len(lists[g]):
                    price = sum(lost(count, g, counts[h], h) for h in range(len(kinds)) if h != g)
                    state = (*counts[:g], count + 1, *counts[g + 1 :])
                    step = value - discount[r] * gain[g] / ideal - m * price
                    found[state] = max(step, found.get(state, step))
        best = found
    hinge = np.maximum(0, s[None, :] - s[:, None])[above].sum()
    return max(0, 1 + m * hinge + max(best.values()))


def squared_hinge(s, positive):
    """Sum of the squared hinge losses."""
    return math.fsum(max(0.0, 1.0 - margin) ** 2 for margin in np.where(positive, s, -s))


def logistic(s, positive):
    """Sum of log(1 + exp(-margin))."""
    return math.fsum(np.logaddexp(0.0, -np.where(positive, s, -s)))


def epsilon_insensitive(s, y, tube=0.1):
    """Sum of the errors beyond the tube."""
    return math.fsum(max(0.0, abs(a - b) - tube) for a, b in zip(y, s, strict=True))


def squared_epsilon_insensitive(s, y, tube=0.1):
    """Sum of the squares of these errors."""
    return math.fsum(max(0.0, abs(a - b) - tube) ** 2 for a, b in zip(y, s, strict=True))


#: Losses of classification that are functions of the scores and classes alone, without rescalings.
OF_SCORES = {
    "roc-area": roc_area,
    "average-precision": average_precision,
    "squared-hinge": squared_hinge,
    "logistic": logistic,
}
