# SPDX-License-Identifier: BSD-3-Clause
"""Runs of nu machines, of two classes, of one and of numbers, and what their models are worth in
LIBSVM's scale."""

from __future__ import annotations

import numpy as np

from attack.cases import rows, two_classes, weights
from attack.truths import REAL, Vectors, of_digits


def nu_machine(make):
    """One of the three, with any kernel."""
    make.kind = "nu"
    X, scale, scores = rows(make)
    way = make.pick("classes", "one-class", "numbers")
    nu = float(f"{make.pick(0.05, 0.2, 0.4, 0.6, make.rng.uniform(0.01, 1)):.4g}")
    make.facts |= {"loss": "error-rate", "bias": 0.0, "solver": "smo", "way": way, "nu": nu}
    make.option("--nu", nu)
    if make.chance(0.3):
        make.option("--solver", "smo")
    make.kernel(make.pick("linear", "polynomial", "rbf", "rbf", "sigmoid"), scale)
    if way == "classes":
        y = two_classes(make, scores)
        make.facts["example_cost"] = 1.0
    elif way == "one-class":
        y = [1.0] * len(X)
        make.option("--task", "one-class")
        make.facts["example_cost"] = 1.0
    else:
        y = scores + make.pick(0.0, 0.3, 3.0) * np.std(scores) * make.rng.normal(size=len(X))
        y = [float(f"{value:.9g}") for value in y]
        make.option("--task", "regression")
        make.cost(make.chance(0.6), 1.0)
    weights(make, len(X))
    make.target(gap_only=True)
    return X, y, None


class NuMachine(Vectors):
    """A model of one; the report has rho, or the tube."""

    def told(self, report):
        """Takes rho and the tube from the report."""
        self.rho, self.tube = (REAL(report.get(name) or 0.0) for name in ("rho", "tube"))
        self.mass = REAL(self.facts["nu"]) * self.v.sum()
        # a limit or rounding may leave no margin, and scores as they are
        self.scale = self.rho if self.facts["way"] == "classes" and self.rho > 0 else REAL(1)

    @property
    def C(self):
        facts = self.facts
        return facts["example_cost"] if "example_cost" in facts else facts["cost"]

    @property
    def written(self):
        slope = self.C * self.scale * (self.mass + self.v.sum())
        return of_digits(self) + float(5e-8 * abs(self.threshold) * slope)

    def risk(self, t):
        way, v = self.facts["way"], self.v
        if way == "numbers":
            losses = np.maximum(0, np.abs(self.y - t * self.s) - self.tube)
            value = self.mass * self.tube + (v * losses).sum()
            return value, self.mass * self.tube + (v * (np.abs(self.y) + t * self.size)).sum()
        if way == "classes":
            sides = np.where(self.positive, 1, -1)
            losses = self.scale * np.maximum(0, self.rho / self.scale - sides * self.s)
            level = self.rho
        else:
            losses, level = np.maximum(0, -self.s), self.threshold
        size = (v * (abs(level) + self.scale * self.size)).sum() + self.mass * abs(level)
        return t * ((v * losses).sum() - self.mass * level), t * size

    def primal(self, t=1.0):
        value, size = self.risk(REAL(t))
        factor, C = REAL(t) ** 2 * self.scale**2, REAL(self.C)
        return float(self.half_norm * factor + C * value), float(self.half_size * factor + C * size)
