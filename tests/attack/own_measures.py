# SPDX-License-Identifier: BSD-3-Clause
"""Runs for losses of tables beside svm_perf's, parts of the ROC area and times until an event, and
what their models are worth."""

from __future__ import annotations

import functools

import numpy as np
from reference import survival, tables

from attack.maker import bias, rows, two_classes, weights
from attack.truths import REAL, Vectors

MIXED = ("q", "qacc", "qf1", "qgm", "fbeta")
FLOORED = ("recall-at-precision", "precision-at-recall")
PLAIN = ("kld", "nkld", "mae", "mrae", "gmean", "balanced-error")
SURVIVAL = ("survival-squared-hinge", "survival-hinge")


def own_measure(make):
    """One of these losses, with features or a kernel."""
    make.kind = "measures"
    X, scale, scores = rows(make)
    loss = make.pick(*MIXED, *FLOORED, *PLAIN, "partial-auc", *SURVIVAL, *SURVIVAL)
    make.facts |= {"loss": loss, "rescaling": "margin", "slack_norm": 1}
    make.option("-l", loss)
    if loss in SURVIVAL:
        make.option("--task", "survival")
        y = _times(make, scores)
        weights(make, len(X))
        make.facts["bias"] = 0.0
    else:
        y = two_classes(make, scores)
    _parameters(make, loss)
    make.cost(loss in SURVIVAL and make.chance(0.5), 1.0)
    if make.chance(0.3):
        make.kernel(make.pick("polynomial", "rbf", "rbf"), scale)
        solver = make.pick("auto", "cutting-plane", "subspace")
        make.option("--solver", solver)
        make.facts |= {"bias": 0.0, "solver": solver}
    elif loss not in SURVIVAL:
        bias(make)
    make.target()
    return X, y, None


def _times(make, scores):
    """Earlier where scores are high; some not seen, some equal."""
    rng, n = make.rng, len(scores)
    noise = make.pick(0.0, 0.5, 3.0) * np.std(scores) * rng.normal(size=n)
    times = 1.0 + np.argsort(np.argsort(-(scores + noise)))
    if make.chance(0.4):
        times = np.ceil(times / 3)
    times = times * np.where(rng.random(n) < make.pick(0.0, 0.3, 0.9), -1, 1)
    return times.tolist()


def _parameters(make, loss):
    if loss in MIXED and make.chance(0.6):
        make.facts["beta"] = float(make.pick(0.1, 0.5, 2.0, 30.0))
        make.option("--beta", make.facts["beta"])
    if loss in FLOORED:
        make.facts["at"] = float(make.pick(0.05, 0.5, 0.8, 0.95, 1.0))
        make.option("--at", make.facts["at"])
    if loss == "partial-auc":
        low, high = make.pick("0,0.1", "0,0.5", "0.2,0.7", "0,1", "0.9,1").split(",")
        make.facts["at"] = float(low), float(high)
        make.option("--at", f"{low},{high}")


class OwnMeasure(Vectors):
    """A model for one of these losses."""

    is_sum = False

    @property
    def C(self):
        return self.facts.get("example_cost", self.facts.get("cost"))

    @property
    def c(self):
        return self.C

    @functools.cached_property
    def _losses(self):
        """(P + 1, N + 1): of m misses and b false positives."""
        facts, P = self.facts, int(self.positive.sum())
        own = {name: facts[name] for name in ("at", "beta") if name in facts}
        N = len(self.positive) - P
        return np.array(
            [
                [tables.loss_of(facts["loss"], P, N, m, b, **own) for b in range(N + 1)]
                for m in range(P + 1)
            ],
            REAL,
        )

    def risk(self, t):
        loss, s, size = self.facts["loss"], self.s * t, self.size * abs(t)
        if loss in SURVIVAL:
            return self._pairs(s, size, 2 if "squared" in loss else 1)
        up, down = s[self.positive], s[~self.positive]
        if loss == "partial-auc":
            value = tables.partial_auc(s, self.positive, self.facts["at"])
            sizes = size[self.positive][:, None] + size[~self.positive][None]
            return value, 100 * (1 + sizes.max(1)).mean() * (1 + len(down) / self._range(down))
        lost = np.concatenate([[REAL(0)], np.cumsum(np.sort(up))])
        gained = np.concatenate([[REAL(0)], np.cumsum(np.sort(-down))])
        share = 100 / REAL(len(s))
        values = self._losses - share * (lost[:, None] + gained[None, :])
        seen = self._losses > 0
        value = max(REAL(0), values[seen].max()) if seen.any() else REAL(0)
        return value, self._losses.max() + share * size.sum()

    def _range(self, down):
        low, high = self.facts["at"]
        return max(1, (high - low) * len(down))

    def _pairs(self, s, size, power):
        i, j = survival.pairs(self.y)
        each = self.v[i] * self.v[j]
        if not each.sum():
            return REAL(0), REAL(0)
        scale = self.v.sum() / each.sum()
        slack = np.maximum(0, 1 - (s[i] - s[j])) ** power
        return scale * (each @ slack), scale * (each @ (1 + size[i] + size[j]) ** power)
