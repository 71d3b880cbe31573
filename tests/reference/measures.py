# SPDX-License-Identifier: BSD-3-Clause
"""Measures from their definitions, pair by pair and rank by rank; slow on purpose."""

import math

import numpy as np

from reference import tables


def ranked_labels(labels, scores):
    """Labels by falling score, the smaller label first among equal scores."""
    return [label for _, label in sorted(zip(scores, labels), key=lambda pair: (-pair[0], pair[1]))]


def roc_area(positive, scores):
    pairs = [
        (s, t) for p, s in zip(positive, scores) if p for q, t in zip(positive, scores) if not q
    ]
    return sum(s > t for s, t in pairs) / len(pairs) if pairs else math.nan


def average_precision(positive, scores):
    ranked = ranked_labels([bool(p) for p in positive], scores)
    precisions = [sum(ranked[: r + 1]) / (r + 1) for r in range(len(ranked)) if ranked[r]]
    return sum(precisions) / len(precisions) if precisions else math.nan


def prbep(positive, scores):
    n_positive = sum(bool(p) for p in positive)
    return (
        sum(ranked_labels([bool(p) for p in positive], scores)[:n_positive]) / n_positive
        if n_positive
        else 0.0
    )


def contingency(positive, scores):
    """True positives, false positives, false negatives, true negatives."""
    cells = [(bool(p), s > 0) for p, s in zip(positive, scores)]
    return tuple(
        cells.count(cell) for cell in ((True, True), (False, True), (True, False), (False, False))
    )


def swapped_pairs(y, scores):
    """Swapped pairs and pairs of one query."""
    pairs = [(s, t) for a, s in zip(y, scores) for b, t in zip(y, scores) if a > b]
    return sum(s <= t for s, t in pairs), len(pairs)


def ndcg(y, scores, k):
    def dcg(grades):
        return sum((2.0 ** max(g, 0) - 1) / math.log2(r + 2) for r, g in enumerate(grades[:k]))

    ideal = dcg(sorted(y, reverse=True))
    return dcg(ranked_labels(y, scores)) / ideal if ideal else 0.0


def label_precision(gold, scores, k):
    """Right labels among the k that rank first, over rows; among equal scores the wrong label comes
    first."""
    hits = [sum(ranked_labels([bool(g) for g in row], s)[:k]) for row, s in zip(gold, scores)]
    return sum(hits) / (k * len(hits))


def of_table(m, b, P, N, beta):
    """Measures of m misses and b false positives, by the losses of tables."""
    rates = [wrong / rows for wrong, rows in ((m, P), (b, N)) if rows]
    percent = {
        "gmean": 100 - tables.loss_of("gmean", P, N, m, b),
        "fbeta": 100 - tables.loss_of("fbeta", P, N, m, b, beta=beta) if P + b else 0.0,
        "balanced_error": 100 * sum(rates) / len(rates),
    }
    mixed = 1.0 if beta == 2.0 else beta
    for name in ("q", "qacc", "qf1", "qgm"):
        percent[name] = 100 - tables.loss_of(name, P, N, m, b, beta=mixed)
    names = {"kld": "kld", "nkld": "nkld", "prevalence_ae": "mae", "prevalence_rae": "mrae"}
    return percent | {key: tables.loss_of(name, P, N, m, b) for key, name in names.items()}


def at_thresholds(positive, scores, floor, rates):
    """Best recall and best precision over all thresholds at which the other reaches the floor, and
    the partial area by pairs."""
    P, N = sum(map(bool, positive)), sum(not p for p in positive)
    if not P:
        return dict.fromkeys(
            ("recall_at_precision", "precision_at_recall", "partial_auc"), math.nan
        )
    recalls, precisions = [0.0], []
    for threshold in scores:
        taken = [bool(p) for p, s in zip(positive, scores) if s >= threshold]
        precision, recall = sum(taken) / len(taken), sum(taken) / P
        recalls += [recall] * (precision >= floor - 1e-12)
        precisions += [precision] * (recall >= floor - 1e-12)
    area = math.nan
    if N:
        positive = np.array(positive, bool)
        area = 100 - tables.partial_auc_loss(np.array(scores, float), positive, rates)
    return {
        "recall_at_precision": 100 * max(recalls),
        "precision_at_recall": 100 * max(precisions),
        "partial_auc": area,
    }
