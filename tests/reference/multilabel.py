# SPDX-License-Identifier: BSD-3-Clause
"""Slow truths of label sets: the relaxed hinge by linear programming, decoding by enumeration."""

from itertools import combinations, product

import numpy as np
from scipy.optimize import linprog


def relaxed(theta, v):
    """max over the local polytope of theta.p + sum v_kl q_kl: value."""
    K = len(theta)
    pairs = list(combinations(range(K), 2))
    c = -np.concatenate([theta, [v[k, l] for k, l in pairs]])
    A, b = [], []
    for f, (k, l) in enumerate(pairs):
        for signs, bound in (((-1, 0, 1), 0), ((0, -1, 1), 0), ((1, 1, -1), 1)):
            row = np.zeros(len(c))
            row[k], row[l], row[K + f] = signs
            A.append(row)
            b.append(bound)
    done = linprog(c, A_ub=np.array(A) if A else None, b_ub=b or None, bounds=[(0, 1)] * len(c))
    assert done.status == 0
    return -done.fun


def best_set(s, v):
    """max over y in {0, 1}^K of s.y + sum v_kl y_k y_l: value and y."""
    best = max(product((0, 1), repeat=len(s)), key=lambda y: score(np.array(y), s, v))
    return score(np.array(best), s, v), np.array(best)


def score(y, s, v):
    """s.y + sum over pairs of v_kl y_k y_l."""
    return float(s @ y + 0.5 * y @ v @ y)


def hinge(x, gold, W, v, loss=1.0):
    """max over the local polytope of score + loss times wrong labels, less the gold score."""
    s = x @ W
    theta = s + loss * np.where(gold, -1.0, 1.0)
    return relaxed(theta, v) + loss * gold.sum() - score(gold.astype(float), s, v)


def joint_feature(x, y):
    """Psi(x, y) of labels as svmcut.structured.multilabel gives them: W (d, K), and v (K, K), its
    upper triangle."""
    W, v = np.outer(x, [0.5 if label & 1 else label / 2 for label in y]), np.zeros((len(y), len(y)))
    halves = [k for k, label in enumerate(y) if label & 1]
    for k, l in combinations(range(len(y)), 2):
        if k in halves and l in halves:
            v[k, l] = 0.5 * ((y[k] >> 2) >> halves.index(l) & 1)
        elif y[k] and y[l]:
            v[k, l] = 0.5 if k in halves or l in halves else 1.0
    return W, v


def primal(X, gold, W, v, C):
    """1/2 |W|^2 + 1/2 |v|^2 + C sum of the relaxed hinges; X with its constant column."""
    squared = np.sum(W**2) + 0.5 * np.sum(v**2)
    return 0.5 * squared + C * sum(hinge(x, g, W, v) for x, g in zip(X, gold))


def top_measures(scores, gold, beyond, inverse, unknown, tops):
    """Precision, nDCG and propensity-scored precision at k of scores (n, K), in percent; row i has
    beyond[i] labels more, that no score is for."""
    found = {}
    n = len(scores)
    for k in tops:
        hits = gain = got = possible = 0.0
        for s, right, more in zip(scores, gold, beyond):
            ranked = sorted(range(len(s)), key=lambda label: (-s[label], right[label]))[:k]
            on = [right[label] for label in ranked]
            hits += sum(on)
            size = max(1, int(right.sum() + more))
            ideal = sum(1 / np.log2(1 + r) for r in range(1, min(k, size) + 1))
            gain += sum(hit / np.log2(1 + r) for r, hit in enumerate(on, 1)) / ideal
            got += sum(inverse[label] for label in ranked if right[label])
            worth = [*inverse[right], *[unknown] * int(more)]
            possible += sum(sorted(worth, reverse=True)[:k])
        found[f"precision@{k}"] = 100 * hits / (k * n)
        found[f"ndcg@{k}"] = 100 * gain / n
        found[f"psp@{k}"] = 100 * got / possible
    return found


def tree_scores(f, first, leads, K):
    """(n, K) of every label the sum of log sigma(4 f) over the children on its path, which are
    sought from the label up."""
    node = {int(lead): child for child, lead in enumerate(leads)}
    above = np.searchsorted(first, np.arange(len(leads)), side="right") - 1
    scores = np.zeros((len(f), K))
    for k in range(K):
        child = node[~k]
        while child is not None:
            scores[:, k] += np.log(1 / (1 + np.exp(-4 * f[:, child])))
            child = node.get(int(above[child])) if above[child] else None
    return scores
