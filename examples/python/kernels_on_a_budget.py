#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An rbf kernel with all support vectors, in the span of a few rows, and on a budget: what fewer
vectors cost.

python examples/python/kernels_on_a_budget.py [PICTURE]
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from svmcut import KernelSVM

picture = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_suffix(".png")
X, y = make_moons(1500, noise=0.25, random_state=0)
X, y, test, right = X[:1000], y[:1000], X[1000:], y[1000:]

warnings.simplefilter(
    "ignore", ConvergenceWarning
)  # with so few vectors no gap of tol can be reached
machines = {"exact": KernelSVM(gamma=2.0).fit(X, y)}
for vectors in (5, 10, 20, 40):
    machines[f"span of {vectors}"] = KernelSVM(gamma=2.0, solver="subspace", basis=vectors).fit(
        X, y
    )
    machines[f"budget of {vectors}"] = KernelSVM(
        gamma=2.0, solver="bsca", budget=vectors, random_state=0
    ).fit(X, y)

print(f"{'':14} {'vectors':>7} {'primal':>8} {'bound':>8} {'test error':>10}")
found = {}
for name, machine in machines.items():
    count, error = machine.support_vectors_.shape[0], 100 * (1 - machine.score(test, right))
    found[name] = count, error
    print(f"{name:14} {count:7} {machine.primal_[0]:8.2f} {machine.dual_[0]:8.2f} {error:9.1f}%")

figure = Figure(figsize=(10, 3.4), layout="constrained")
across, up = np.meshgrid(np.linspace(-1.8, 2.8, 80), np.linspace(-1.4, 1.9, 80))
grid = np.column_stack([across.ravel(), up.ravel()])
*pictures, curve = figure.subplots(1, 3)
for axes, name in zip(pictures, ("exact", "budget of 10"), strict=True):
    axes.contourf(
        across, up, machines[name].decision_function(grid).reshape(across.shape), 12, cmap="RdBu"
    )
    axes.scatter(*X.T, c=y, s=2, cmap="RdBu", edgecolors="none")
    axes.scatter(
        *machines[name].support_vectors_.toarray().T,
        s=9,
        facecolors="none",
        edgecolors="k",
        linewidths=0.5,
    )
    axes.set(title=f"{name}: {found[name][0]} vectors", xticks=[], yticks=[])
for kind in ("span", "budget"):
    curve.semilogx(
        *zip(*(found[name] for name in found if kind in name), strict=True),
        "o-",
        label=f"{kind} of n",
    )
curve.axhline(found["exact"][1], color="k", label="exact")
curve.set(xlabel="vectors", ylabel="test error in percent")
curve.legend()
figure.savefig(picture)
