#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How much more data would help, by the measure that counts: learning curves of F1 on rare
positives.

python examples/python/learning_curve.py [PICTURE]
"""

import sys
import warnings
from pathlib import Path

from matplotlib.figure import Figure
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import StratifiedKFold, learning_curve

import svmcut
from svmcut import LinearSVM, PerfClassifier

DATA = Path(__file__).resolve().parents[2] / "data"
picture = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_suffix(".png")
warnings.simplefilter("ignore", UserWarning)  # F1's bound is far from 0 on rows like these

X, y = svmcut.load_svmlight_file(DATA / "unbalanced.train")
machines = {
    "fewest errors": LinearSVM(C=1.0, random_state=0),
    "trained for F1": PerfClassifier("f1", C=300.0),
}
folds = StratifiedKFold(5, shuffle=True, random_state=0)
measure = make_scorer(f1_score, zero_division=0.0)

figure = Figure(figsize=(6, 4), layout="constrained")
curves = figure.subplots()
print(f"{'rows':>20} {'of training':>12} {'held out':>9}   F1, means of 5 folds")
for name, machine in machines.items():
    sizes, seen, held = learning_curve(
        machine, X, y, train_sizes=[0.2, 0.4, 0.7, 1.0], cv=folds, scoring=measure
    )
    print(name)
    for size, own, other in zip(sizes, seen.mean(axis=1), held.mean(axis=1), strict=True):
        print(f"{size:20} {100 * own:12.1f} {100 * other:9.1f}")
    mean, spread = 100 * held.mean(axis=1), 100 * held.std(axis=1)
    (line,) = curves.plot(sizes, mean, marker="o", label=f"{name}, held out")
    curves.fill_between(sizes, mean - spread, mean + spread, color=line.get_color(), alpha=0.15)
    curves.plot(sizes, 100 * seen.mean(axis=1), "--", color=line.get_color(), label="on its rows")

curves.set(xlabel="training rows", ylabel="F1 in percent", title="Would more rows help?")
curves.legend(fontsize="small")
figure.savefig(picture)
