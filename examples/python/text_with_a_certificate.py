#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Short documents in two classes: every fit brackets the optimum, so a table over C compares models
and not luck.

python examples/python/text_with_a_certificate.py [PICTURE]
"""

import sys
from pathlib import Path

from matplotlib.figure import Figure

import svmcut
from svmcut import LinearSVM

DATA = Path(__file__).resolve().parents[2] / "data"
picture = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_suffix(".png")

X, y = svmcut.load_svmlight_file(DATA / "text.train")
test, right = svmcut.load_svmlight_file(DATA / "text.test", n_features=X.shape[1])

# A path of C: warm_start begins each fit where the last one ended.
machine = LinearSVM(tol=1e-3, warm_start=True, random_state=0)
path = []
print(f"{'C':>6} {'primal':>10} {'at most above':>14} {'accuracy':>9}")
for C in (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0):
    machine.set_params(C=C).fit(X, y)
    path.append((C, 100 * machine.score(X, y), 100 * machine.score(test, right)))
    print(f"{C:6g} {machine.primal_[0]:10.4f} {max(0, machine.gap_[0]):14.4f} {path[-1][2]:8.1f}%")
    assert machine.converged_

# What one run knows on its way: a callback gets every step.
steps = []
svmcut.train((X, y), solver="cutting-plane", gap=1e-4, callback=steps.append)
print(
    f"cutting planes: {len(steps)} cuts, optimum between {steps[-1].dual:.4f} and "
    f"{steps[-1].primal:.4f}"
)

figure = Figure(figsize=(9, 3.5), layout="constrained")
left, right_side = figure.subplots(1, 2)
numbers = [step.iteration for step in steps]
left.plot(numbers, [step.primal for step in steps], label="primal of the best w")
left.plot(numbers, [step.dual for step in steps], label="lower bound")
left.set(
    xlabel="cuts", ylabel="objective", title="What is left to gain", ylim=(0, 2 * steps[-1].primal)
)
left.legend()
right_side.semilogx([C for C, *_ in path], [train for _, train, _ in path], "o-", label="training")
right_side.semilogx([C for C, *_ in path], [held for *_, held in path], "o-", label="test")
right_side.set(xlabel="C", ylabel="accuracy in percent", title="4 % of the labels are wrong")
right_side.legend()
figure.savefig(picture)
