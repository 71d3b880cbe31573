# SPDX-License-Identifier: BSD-3-Clause
"""Random training runs: a file of examples, and the options that train on it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: Losses of svmcut learn other than the plain hinge, and those that have slack rescaling and squared slack.
TABLES = ("zero-one", "f1", "prbep", "prec-at-k", "rec-at-k")
MULTIVARIATE = (*TABLES, "roc-area", "average-precision")
RANKED = ("swapped-pairs", "swapped-fraction", "pairs", "map", "ndcg")
#: Trainers that end after their epochs, whatever the gap is then.
BY_EPOCHS = ("sbp", "pegasos", "sdca", "perceptron")
ON_BUDGET = ("bsca", "bsgd")


@dataclass
class Case:
    """One run.

    Attributes
    ----------
    name : str
        Seed and number, from which `make` makes it again.
    family : str
        One of FAMILIES.
    X : (n, d) float32
    y : list
        Labels; tags of tokens from 1; label sets.
    qid : list of int or None
    words : list of str
        The command and its options, without files.
    facts : dict
        What the options mean: loss, cost or example_cost, bias, ...
    """

    name: str
    family: str
    X: Any
    y: list
    qid: list | None
    words: list[str]
    facts: dict[str, Any] = field(default_factory=dict)

    def text(self):
        """The example file."""
        lines = []
        for k, row in enumerate(self.X):
            label = self.y[k]
            words = [",".join(map(str, label)) if isinstance(label, tuple) else f"{label:g}"]
            if self.qid is not None:
                words.append(f"qid:{self.qid[k]}")
            words += [f"{j + 1}:{value:.9g}" for j, value in enumerate(row) if value]
            lines.append(" ".join(words) + "\n")
        return "".join(lines)

    def line(self):
        """The command line."""
        return "svmcut " + shlex.join([*self.words, "--report", "report", "train", "model"])


class _Maker:
    """Options gathered one by one."""

    def __init__(self, rng):
        self.rng, self.words, self.facts = rng, [], {}

    def pick(self, *values, p=None):
        return values[self.rng.choice(len(values), p=p)]

    def chance(self, p):
        return self.rng.random() < p

    def option(self, *words):
        self.words += [str(word) for word in words]

    def cost(self, example_cost, typical):
        """C around a typical value, or anywhere from 1e-8 to 1e8."""
        value = 10.0 ** (self.rng.uniform(-8, 8) if self.chance(0.5) else self.rng.uniform(-2, 3)) * typical
        text = f"{min(1e8, max(1e-8, value)):.4g}"
        self.facts["example_cost" if example_cost else "cost"] = float(text)
        self.option("--example-cost" if example_cost else "-c", text)

    def target(self, gap_only=False):
        """--gap or -e."""
        if gap_only or self.chance(0.7):
            gap = self.pick("0.1", "1e-2", "1e-3", "1e-4", "1e-6", "1e-9", p=[0.1, 0.25, 0.25, 0.2, 0.15, 0.05])
            self.facts["gap"] = float(gap)
            self.option("--gap", gap)
        else:
            epsilon = self.pick("0.1", "0.01", "0.5", "1e-3", "1e-5")
            self.facts["epsilon"] = float(epsilon)
            self.option("-e", epsilon)

    def kernel(self, name, scale):
        """-t and its parameters: fitting the scale of the features, or anything."""
        number = ("linear", "polynomial", "rbf", "sigmoid").index(name)
        unit = scale if self.chance(0.7) else 1.0
        self.option("-t", number)
        self.facts["kernel"] = name
        if name == "rbf":
            self.option("-g", f"{10.0 ** self.rng.uniform(-2, 1) / unit**2:.4g}")
        elif name in ("polynomial", "sigmoid"):
            self.option("-s", f"{10.0 ** self.rng.uniform(-2, 0.3) / unit**2:.4g}", "-r", self.pick("0", "1", "0.5"))
            if name == "polynomial":
                self.option("-d", self.pick(1, 2, 3))
            elif self.chance(0.3):
                self.option("-r", "-1")


def _rows(make, most=60):
    """Features of a style, their scale, and scores that a linear rule gives them."""
    rng = make.rng
    n = int(make.pick(2, 3, 5, 8, 12, 20, 40, 60))
    n, d = min(n, most), int(make.pick(1, 2, 3, 5, 8, 12))
    X = rng.normal(size=(n, d))
    style = make.pick("dense", "dense", "sparse", "whole", "duplicates", "zeros", "columns", "constant", "shifted")
    if style == "sparse":
        X *= rng.random((n, d)) < 0.3
    elif style == "whole":
        X = rng.integers(-2, 3, (n, d)).astype(float)
    elif style == "duplicates":
        X = X[rng.integers(0, max(1, n // 3), n)]
    elif style == "zeros":
        X[rng.random(n) < 0.4] = 0
    elif style == "columns":
        X *= 10.0 ** rng.uniform(-6, 6, d)
    elif style == "constant":
        X[:, rng.integers(d)] = 1
    elif style == "shifted":
        X += rng.normal(size=d) * 10
    scores = X @ rng.normal(size=d) / max(1e-30, np.abs(X).max())
    scale = 1.0 if make.chance(0.45) else 10.0 ** rng.uniform(-12, 12)
    make.facts |= {"style": style, "scale": scale}
    return (X * scale).astype(np.float32), scale, scores


def _two_classes(make, scores):
    """Labels that follow the scores, more or less; now and then of one class alone."""
    rng, n = make.rng, len(scores)
    noise = make.pick(0.0, 0.3, 3.0)
    y = np.where(scores + noise * np.std(scores) * rng.normal(size=n) > np.median(scores), 1, -1)
    if make.chance(0.15):
        y[rng.random(n) < 0.8] = -1
    if make.chance(0.9) and np.abs(y.sum()) == n:
        y[rng.integers(n)] *= -1
    return y.tolist()


def _losses(make, plain=0.4):
    """Loss of a sample with its rescaling and slack norm."""
    loss = "error-rate" if make.chance(plain) else make.pick(*MULTIVARIATE)
    tables = loss in TABLES or (loss == "error-rate" and make.chance(0.3))
    rescaling = "slack" if tables and make.chance(0.35) else "margin"
    slack_norm = 2 if tables and make.chance(0.35) else 1
    make.facts |= {"loss": loss, "rescaling": rescaling, "slack_norm": slack_norm}
    if loss != "error-rate":
        make.option("-l", loss)
    if rescaling == "slack":
        make.option("-o", "slack")
    if slack_norm == 2:
        make.option("-p", 2)
    if loss in ("prec-at-k", "rec-at-k"):
        p = make.pick(0.0, 0.25, 1.0) if loss == "prec-at-k" else make.pick(0.0, 1.0, 1.5)
        make.facts["p"] = p or (0.5 if loss == "prec-at-k" else 2.0)
        if p:
            make.option("--p", p)
    return loss == "error-rate" and rescaling == "margin" and slack_norm == 1


def _learn(make):
    X, _, scores = _rows(make)
    plain = _losses(make)
    make.cost(plain and make.chance(0.5), 1.0)
    make.target()
    bias = make.pick(None, "0", "0.01", "100", "1e6", p=[0.5, 0.25, 0.1, 0.1, 0.05])
    make.facts["bias"] = 1.0 if bias is None else float(bias)
    if bias is not None:
        make.option("--b", bias)
    if plain:
        solver = make.pick("auto", "dual-cd", "newton", "cutting-plane", None)
        make.option(*(("--solver", solver) if solver else ("-w", make.pick(0, 1, 2, 3, 4, 9))))
    return X, _two_classes(make, scores), None


def _kernel(make):
    X, scale, scores = _rows(make)
    plain = _losses(make, 0.75)
    name = make.pick("linear", "polynomial", "rbf", "sigmoid", p=[0.15, 0.25, 0.5, 0.1])
    loss = make.facts["loss"]
    known = ["cutting-plane", "subspace", *(["sampled-cuts"] if plain or loss == "roc-area" else [])]
    if plain:
        known += ["auto", "smo", "smo", "smo", "constant-cuts", *BY_EPOCHS, *ON_BUDGET]
    solver = make.pick(*known)
    if name == "linear" and solver in ("auto", "cutting-plane"):  # those would train without kernel values
        solver = "smo" if plain else "subspace"
    make.kernel(name, scale)
    make.option("--solver", solver)
    make.cost(plain and make.chance(0.7), 1.0)
    polished = _reduced(make, solver, name)
    free = solver in ("smo", "sbp") and not polished
    if solver in ("smo", "sbp") and (polished or make.chance(0.4)):
        make.option("--no-free-bias")
        free = False
    make.facts |= {"bias": 0.0, "free_bias": free, "solver": solver}
    if solver == "sdca" and make.chance(0.5):
        make.target(gap_only=True)
    elif solver not in BY_EPOCHS:
        make.target(gap_only=solver in ("smo", "auto"))
    return X, _two_classes(make, scores), None


def _reduced(make, solver, name):
    """Options of trainers that sample or keep a budget; whether --polish is asked for."""
    rng = make.rng
    if solver in ("sampled-cuts", "constant-cuts") and make.chance(0.5):
        make.option("--sample-size", make.pick(3, 10, 50))
    if solver in ("subspace", "sampled-cuts") and make.chance(0.4):
        make.option("--k", make.pick(2, 5, 20))
    if solver in ON_BUDGET:
        make.option("--budget", make.pick(2, 5, 30))
        if make.chance(0.5):
            ways = {"rbf": ("merge", "project", "remove"), "sigmoid": ("remove",)}
            make.option("--maintenance", make.pick(*ways.get(name, ("project", "remove"))))
    if solver in (*ON_BUDGET, *BY_EPOCHS) and make.chance(0.4):
        make.option("--epochs", make.pick(1, 3, 30))
    if solver in (*ON_BUDGET, "sampled-cuts") and make.chance(0.3):
        make.option("--no-polish")
        make.facts["polish"] = False
    polished = solver in BY_EPOCHS and make.chance(0.3)
    if polished:
        make.option("--polish")
        make.facts["polish"] = True
    make.option("--seed", int(rng.integers(100)))
    return polished


def _rank(make):
    X, scale, scores = _rows(make)
    n = len(X)
    loss = make.pick(*RANKED)
    make.facts |= {"loss": loss, "bias": 0.0}
    make.option("-l", loss)
    if loss == "ndcg":
        make.facts["at"] = int(make.pick(1, 3, 10))
        make.option("--at", make.facts["at"])
    make.cost(make.chance(0.4), 1.0)
    if make.chance(0.3):
        drawn = () if loss in ("map", "ndcg") else ("sampled-cuts",)
        name, solver = make.pick("polynomial", "rbf", "linear"), make.pick("cutting-plane", "subspace", *drawn)
        if name == "linear" and solver == "cutting-plane":
            solver = "subspace"
        make.kernel(name, scale)
        make.option("--solver", solver)
        make.facts["solver"] = solver
    elif make.chance(0.3):
        make.option("-w", make.pick(0, 1, 2, 3, 4))
    make.target()
    noise = make.pick(0.0, 0.5, 3.0) * np.std(scores)
    grades = np.digitize(scores + noise * make.rng.normal(size=n), np.quantile(scores, [0.3, 0.6, 0.9]))
    if make.chance(0.2) and loss != "ndcg":
        grades = make.rng.permutation(n)
    queries = np.sort(make.rng.integers(1, 1 + make.pick(1, 2, 5), n)) if make.chance(0.8) else None
    return X, grades.tolist(), None if queries is None else queries.tolist()


def _sequence(make):
    rng = make.rng
    X, scale, _ = _rows(make, 40)
    n, tags = len(X), int(make.pick(1, 2, 3))
    order = int(make.pick(0, 1, 2, p=[0.15, 0.65, 0.2]))
    emissions = int(order > 0 and make.chance(0.2))
    ends = [0]
    while ends[-1] < n:
        ends.append(min(n, ends[-1] + int(rng.integers(1, 6))))
    qid = np.repeat(np.arange(1, len(ends)), np.diff(ends)).tolist()
    y = rng.integers(1, tags + 1, n)
    if make.chance(0.7):  # tags that the features tell
        y = 1 + np.argmax(X / scale @ rng.normal(size=(X.shape[1], tags)), axis=1)
    facts = {"loss": "hamming", "rescaling": "margin", "slack_norm": 1, "order": order, "emissions": emissions}
    make.facts |= facts
    make.option("--task", "sequence", "--t", order, "--e", emissions)
    make.cost(make.chance(0.6), 1.0)
    if not emissions and make.chance(0.2):
        name = make.pick("polynomial", "rbf", "linear")
        solver = "sampled-cuts" if name == "linear" else make.pick("cutting-plane", "sampled-cuts", "auto")
        make.kernel(name, scale)
        make.option("--solver", solver)
        make.facts["solver"] = solver
    elif make.chance(0.3):
        kind = make.pick("zero-one", "slack", "squared", "both")
        make.facts |= {"loss": "zero-one"} if kind == "zero-one" else {}
        make.facts |= {"rescaling": "slack"} if kind in ("slack", "both") else {}
        make.facts |= {"slack_norm": 2} if kind in ("squared", "both") else {}
        make.option(*{"zero-one": ("-l", "zero-one"), "slack": ("-o", "slack"), "squared": ("-p", 2),
                      "both": ("-o", "slack", "-p", 2)}[kind])  # fmt: skip
    else:
        more = ("gdmm", "soft-bcfw") if (order, emissions) == (1, 0) else ()
        make.option("--solver", make.pick("auto", "cutting-plane", "bcfw", "ssg", *more))
    make.target()
    return X, y.tolist(), qid


def _multilabel(make):
    rng = make.rng
    X, scale, _ = _rows(make, 40)
    n, labels = len(X), int(make.pick(1, 2, 3, 4, 5))
    on = rng.random((n, labels)) < 0.4
    if make.chance(0.7):
        on = X / scale @ rng.normal(size=(X.shape[1], labels)) > make.pick(0.0, 0.5)
    on[~X.any(axis=1), 0] = True  # without label and features a line would be blank
    names = np.sort(rng.permutation(20)[:labels])
    y = [tuple(int(name) for name in names[row]) for row in on]
    make.facts |= {"loss": "hamming"}
    make.option("--task", "multilabel", "--pairs", make.pick("all", "all", "none"))
    make.option("--solver", make.pick("auto", "cutting-plane", "bcfw", "ssg", "soft-bcfw", "gdmm"))
    bias = make.pick(None, "0", "0.01", "100", p=[0.6, 0.2, 0.1, 0.1])
    make.facts["bias"] = 1.0 if bias is None else float(bias)
    if bias is not None:
        make.option("--b", bias)
    make.cost(make.chance(0.6), 1.0)
    make.target()
    return X, y, None


FAMILIES = {"learn": _learn, "kernel": _kernel, "rank": _rank, "sequence": _sequence, "multilabel": _multilabel}
SHARES = (0.27, 0.31, 0.12, 0.16, 0.14)


def make_case(seed, number, families=tuple(FAMILIES)):
    """The run of that number; the same for the same seed, whichever others are made."""
    rng = np.random.default_rng([seed, number])
    family = str(rng.choice(list(FAMILIES), p=SHARES))
    if family not in families:
        return None
    make = _Maker(rng)
    X, y, qid = FAMILIES[family](make)
    command = ["rank"] if family == "rank" else ["learn"]
    return Case(f"{seed}:{number}", family, X, y, qid, [*command, *make.words, "--threads", "1"], make.facts)
