#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of docs/howto/which-measure.md (make docs): measures-labels.svg and measures-order.svg,
of one model of data/unbalanced.train and its test rows."""

from __future__ import annotations

import numpy as np
from sketches import BLUE, DOCS, GREEN, GREY, RED, Sketch

DATA = DOCS.parent / "data"


def scored():
    """Scores of the test rows, higher for a positive, and which are positive."""
    import svmcut

    X, y = svmcut.load_svmlight_file(DATA / "unbalanced.train")
    Z, z = svmcut.load_svmlight_file(DATA / "unbalanced.test", n_features=X.shape[1])
    model = svmcut.train((X, y), loss="balanced-error", cost=100.0, gap=1e-3)
    return model.decision_function(Z), z > 0


def draw_table(to: Sketch, s, positive):
    """What each side of the threshold holds, in numbers."""
    to.text(20, 28, "Labels: counts on both sides of a threshold", weight="bold", size=15)
    to.text(
        20, 46, "Positives above, negatives below the line; scores from left to right.", size=12
    )
    low, high = np.quantile(s, [0.005, 0.999])
    across = lambda score: 30 + 400 * (np.clip(score, low, high) - low) / (high - low)  # noqa: E731
    bins = np.linspace(low, high, 33)
    for of, colour, sign in ((s[positive], RED, -1), (s[~positive], BLUE, 1)):
        counts, _ = np.histogram(np.clip(of, low, high), bins)
        for left, right, count in zip(bins, bins[1:], 60 * counts / counts.max()):
            if count:
                middle = (across(left) + across(right)) / 2
                to.line([(middle, 140), (middle, 140 + sign * count)], colour, 9)
    to.line([(across(0), 66), (across(0), 208)], GREEN, 2)
    to.text(across(0) + 6, 76, "threshold 0", GREEN, size=12)
    a, m = int((s[positive] > 0).sum()), int((s[positive] <= 0).sum())
    b, rest = int((s[~positive] > 0).sum()), int((s[~positive] <= 0).sum())
    to.text(40, 100, f"{m} missed", RED, size=12)
    to.text(372, 66, f"{a} found", RED, "start", 12)
    to.text(430, 195, f"{b} false alarms", BLUE, "end", 12)
    to.text(40, 215, f"{rest} right", BLUE, size=12)
    P, n, F = a + m, len(s), 2 * a / (2 * a + m + b)
    lines = (
        ("error rate", f"({m} + {b}) / {n:,} = {100 * (m + b) / n:.1f} %"),
        ("balanced error", f"half of {m}/{P} and {b}/{n - P} = {50 * (m / P + b / (n - P)):.1f} %"),
        ("F1", f"2 x {a} / (2 x {a} + {m} + {b}) = {100 * F:.1f} %"),
        ("prevalence", f"{a + b} called positive, {P} are: off by {100 * abs(b - m) / n:.1f} %"),
    )
    for place, (name, text) in enumerate(lines):
        to.text(480, 84 + 34 * place, name, weight="bold", size=13)
        to.text(480, 100 + 34 * place, text, size=12)


def axes(to: Sketch, left: float, title: str, x: str, y: str):
    """A square from 0 to 1; how its points are placed."""
    across, up = (lambda v: left + 30 + 190 * v), (lambda v: 250 - 190 * v)
    to.text(left, 28, title, weight="bold", size=15)
    to.line([(across(0), up(1)), (across(0), up(0)), (across(1), up(0))], GREY, 1)
    to.text(across(0.5), 272, x, anchor="middle", size=12)
    to.text(across(0) + 6, up(1) - 4, y, size=12)
    return across, up


def draw_area(to: Sketch, s, positive):
    """The ROC curve, all of it and its first part."""
    hits = positive[np.argsort(-s, kind="stable")]
    recall = np.append(0, np.cumsum(hits)) / hits.sum()
    alarms = np.append(0, np.cumsum(~hits)) / (~hits).sum()
    across, up = axes(to, 20, "ROC area", "false-positive rate", "recall")
    part = alarms <= 0.1
    for x, top in zip(alarms[part], recall[part]):
        to.line([(across(x), up(0)), (across(x), up(top))], "#b2dfdb", 1.2)
    to.line(list(zip(across(alarms), up(recall))), RED, 2.2)
    to.text(across(0.16), up(0.2), "shaded: partial-auc", GREEN, size=12)
    to.text(across(0.16), up(0.12), "at 0,0.1", GREEN, size=12)
    to.text(across(0.4), up(0.62), "roc-area: all of it", RED, size=12)
    return hits


def draw_floors(to: Sketch, hits):
    """The curve of precision over recall, and its floors."""
    recall = np.cumsum(hits) / hits.sum()
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    across, up = axes(to, 300, "Precision and recall", "recall", "precision")
    to.line(list(zip(across(recall), up(precision))), BLUE, 2)
    best = recall[precision >= 0.5].max(initial=0.0)
    to.line([(across(0), up(0.5)), (across(1), up(0.5))], GREEN, 1, "4 3")
    to.dot(across(best), up(0.5), GREEN, 6)
    to.text(across(0.03), up(0.45) + 4, f"floor 0.5: recall {best:.2f}", GREEN, size=12)
    most = precision[recall >= 0.8].max(initial=0.0)
    to.line([(across(0.8), up(0)), (across(0.8), up(1))], RED, 1, "4 3")
    to.dot(across(0.8), up(most), RED, 6)
    to.text(across(0.76), up(0.12), f"floor 0.8: precision {most:.2f}", RED, "end", 12)


def draw_survival(to: Sketch):
    """Which pairs of times can be compared."""
    to.text(580, 28, "Survival", weight="bold", size=15)
    to.text(580, 46, "Pairs whose order is known", size=12)
    lanes = (("A", 60, True), ("B", 110, False), ("C", 160, True), ("D", 190, False))
    for place, (name, time, event) in enumerate(lanes):
        height = 80 + 38 * place
        to.text(584, height + 4, name, weight="bold")
        to.line([(605, height), (605 + time, height)], RED if event else GREY, 3)
        to.dot(605 + time, height, RED if event else GREY, 5, ring=not event)
    to.dot(590, 226, RED, 5)
    to.text(602, 230, "event", size=12)
    to.dot(660, 226, GREY, 5, ring=True)
    to.text(672, 230, "not observed any longer", size=12)
    to.text(580, 256, "A before B, C, D; C before D.", size=12)
    to.text(580, 272, "B and C: nobody knows.", size=12)


def labels(s, positive):
    """docs/measures-labels.svg."""
    to = Sketch(800, 230, "Counts on both sides of a threshold, and measures of them")
    draw_table(to, s, positive)
    to.saved("measures-labels.svg")


def order(s, positive):
    """docs/measures-order.svg."""
    to = Sketch(840, 285, "ROC area and its first part, precision over recall, survival")
    draw_floors(to, draw_area(to, s, positive))
    draw_survival(to)
    to.saved("measures-order.svg")


if __name__ == "__main__":
    found = scored()
    labels(*found)
    order(*found)
