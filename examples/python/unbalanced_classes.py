#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Four positives in a hundred: weights of classes, and machines trained for the measure itself.

python examples/python/unbalanced_classes.py [PICTURE]
"""

import sys
import warnings
from pathlib import Path

from matplotlib.figure import Figure
from sklearn.metrics import f1_score, roc_auc_score, roc_curve

import svmcut
from svmcut import LinearSVM, PerfClassifier

DATA = Path(__file__).resolve().parents[2] / "data"
picture = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_suffix(".png")

X, y = svmcut.load_svmlight_file(DATA / "unbalanced.train")
test, right = svmcut.load_svmlight_file(DATA / "unbalanced.test", n_features=X.shape[1])

machines = {
    "fewest errors": LinearSVM(C=1.0, random_state=0),
    "balanced weights": LinearSVM(C=1.0, class_weight="balanced", random_state=0),
    "trained for F1": PerfClassifier("f1", C=300.0),
    "trained for ROC area": PerfClassifier("roc-area", C=10.0),
}
warnings.simplefilter(
    "ignore", UserWarning
)  # no w brings the bound of F1 far down on rows like these; F1 rises still
figure = Figure(figsize=(9, 4), layout="constrained")
bars, curves = figure.subplots(1, 2)
print(f"{'':22} {'F1':>6} {'ROC area':>9}")
found = {}
for name, machine in machines.items():
    scores = machine.fit(X, y).decision_function(test)
    found[name] = 100 * f1_score(right, machine.predict(test))
    print(f"{name:22} {found[name]:6.1f} {100 * roc_auc_score(right, scores):9.1f}")
    wrong, hit, _ = roc_curve(right, scores)
    curves.plot(100 * wrong, 100 * hit, label=name)

# What is trained for ROC area orders the rows; 0 is no threshold of its scores.
bars.barh(list(found), list(found.values()))
bars.invert_yaxis()
bars.set(title="F1 at threshold 0, in percent")
curves.set(
    xlabel="false positives in percent",
    ylabel="true positives in percent",
    title="Over all thresholds",
)
curves.legend(fontsize="small")
figure.savefig(picture)
