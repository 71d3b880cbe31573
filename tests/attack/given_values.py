# SPDX-License-Identifier: BSD-3-Clause
"""Runs on kernel values that are given, and what their models are worth: rows of a matrix in any
order, under their serial numbers."""

from __future__ import annotations

import numpy as np

from attack.maker import rows, two_classes, weights
from attack.nu_machines import NuMachine
from attack.scored import Numbers
from attack.truths import Vectors

UNIT = 2.0**-24  # of float32


def given_values(make):
    """Two classes, numbers or one class, with a C or a nu, on a matrix of a kernel or of none."""
    make.kind = "given"
    K, scores = _matrix(make)
    rng, n = make.rng, len(K)
    way = make.pick("classes", "classes", "numbers", "one-class")
    nu = way == "one-class" or make.chance(0.35)
    make.facts |= {"kernel": "precomputed", "way": way, "bias": 0.0, "solver": "smo"}
    make.facts |= {"loss": "error-rate", "rescaling": "margin", "slack_norm": 1, "tube": 0.1}
    make.option("-t", make.pick("4", "precomputed"))
    if way == "classes":
        y = two_classes(make, scores)
    elif way == "one-class":
        y = [1.0] * n
        make.option("--task", "one-class")
    else:
        y = scores + make.pick(0.0, 0.3, 3.0) * np.std(scores) * rng.normal(size=n)
        y = [float(f"{value:.9g}") for value in y]
        make.option("--task", "regression")
    if nu:
        make.facts["nu"] = float(f"{make.pick(0.05, 0.2, 0.4, rng.uniform(0.01, 1)):.4g}")
        make.option("--nu", make.facts["nu"])
    if nu and way != "numbers":
        make.facts["example_cost"] = 1.0
    else:
        make.cost(make.chance(0.6), 1.0)
    if not nu and make.chance(0.3):
        make.option("--no-free-bias")
    weights(make, n)
    make.target(gap_only=True)
    places = make.facts["serials"] = rng.permutation(n).tolist()
    return K[places].astype(np.float32), [y[place] for place in places], None


def _matrix(make):
    """Kernel values of rows, scaled; now and then of no kernel."""
    X, scale, scores = rows(make)
    Z = X.astype(float) / scale
    name = make.pick("linear", "rbf", "polynomial", "none")
    dot = Z @ Z.T
    if name == "rbf":
        lengths = np.diag(dot)
        dot = np.exp(-0.3 * np.maximum(0, lengths[:, None] + lengths[None] - 2 * dot))
    elif name == "polynomial":
        dot = (dot / max(1.0, np.abs(dot).max()) + 1) ** 3
    elif name == "none":
        dot = make.rng.normal(size=dot.shape)
        dot = dot + dot.T
    K = (make.pick(1e-6, 1e-3, 1.0, 1e3, 1e6) * dot).astype(np.float32)
    return np.maximum(K, K.T), scores  # to the bit


class Given:
    """Puts the numbers of the rows in the place of features, and the matrix in that of a kernel."""

    def _model(self, model):
        values, serials = np.asarray(self.case.X, np.longdouble), self.facts["serials"]
        model.kernel.matrix = np.empty_like(values)
        model.kernel.matrix[serials] = values
        v = np.asarray(self.facts.get("weights", np.ones(len(serials))), float)
        used = np.asarray(serials)[v > 0]  # the others are left out
        known = model.kernel.matrix[np.ix_(used, used)].astype(float)
        low, high = np.linalg.eigvalsh(known)[[0, -1]] if len(used) else (0.0, 0.0)
        largest = max(float(np.diag(values[np.argsort(serials)]).max()), 0.0)
        room = UNIT * len(values) * largest
        model.kernel.may_claim = low >= -room - 1e-12 * abs(high)
        model.kernel.is_definite = low >= -1e-9 * abs(high)
        self.X = np.eye(len(values), dtype=np.longdouble)[serials]
        super()._model(model)


class GivenClasses(Given, Vectors):
    """With a C."""


class GivenNumbers(Given, Numbers):
    """With a C."""


class GivenNu(Given, NuMachine):
    """With a nu."""


def given_truth(case, model):
    """The truth of a model over values that are given."""
    if "nu" in case.facts:
        return GivenNu(case, model)
    return (GivenNumbers if case.facts["way"] == "numbers" else GivenClasses)(case, model)
