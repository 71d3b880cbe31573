# SPDX-License-Identifier: BSD-3-Clause
"""A random training run, and what most of them draw: rows, labels, weights, C, the target, a
kernel."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import Any

import numpy as np


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
    kind : str
        The family whose problem it is, where that is another: one of attack.cases.KINDS.
    program : str
        svmcut, one of the originals' names, or python, whose `words` are the lines of a script.
    before, after : list of str
        Words of svmcut that run before, for a first model; and behind it, for predictions.
    """

    name: str
    family: str
    X: Any
    y: list
    qid: list | None
    words: list[str]
    facts: dict[str, Any] = field(default_factory=dict)
    kind: str = ""
    program: str = "svmcut"
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)

    def __post_init__(self):
        self.kind = self.kind or self.family

    def text(self):
        """The example file."""
        lines = []
        for k, row in enumerate(self.X):
            label = self.y[k]
            words = [",".join(map(str, label)) if isinstance(label, tuple) else f"{label:.9g}"]
            if "weights" in self.facts:
                words.append(f"cost:{self.facts['weights'][k]:g}")
            if self.qid is not None:
                words.append(f"qid:{self.qid[k]}")
            if "serials" in self.facts:  # of kernel values that are given
                words.append(f"0:{self.facts['serials'][k] + 1}")
            words += [
                f"{j + 1}:{value:.9g}"
                for j, value in enumerate(row)
                if value or "serials" in self.facts
            ]
            lines.append(" ".join(words) + "\n")
        return "".join(lines)

    def line(self):
        """The command line, of all it takes."""
        if self.program == "python":
            return (
                "python script.py, of\n"
                + "".join(f"        {word}\n" for word in self.words).rstrip()
            )
        lines = [shlex.join([self.program, *self.words, *self.files])]
        lines = [shlex.join(["svmcut", *self.before])] * bool(self.before) + lines
        return " && ".join([*lines, *[shlex.join(["svmcut", *self.after])] * bool(self.after)])

    @property
    def files(self):
        """What stands behind the options."""
        told = ["--report", "report", "--format", "original"]
        return [*(told if self.program == "svmcut" else []), "train", "model"]


class Maker:
    """Options gathered one by one.

    Attributes
    ----------
    indefinite : bool
        Whether kernels are to have no bound.
    """

    def __init__(self, rng, indefinite=False):
        self.rng, self.words, self.facts, self.indefinite = rng, [], {}, indefinite
        self.kind, self.program, self.before, self.after = "", "svmcut", [], []

    def pick(self, *values, p=None):
        return values[self.rng.choice(len(values), p=p)]

    def chance(self, p):
        return self.rng.random() < p

    def option(self, *words):
        self.words += [str(word) for word in words]

    def cost(self, example_cost, typical):
        """C around a typical value, or anywhere from 1e-8 to 1e8."""
        value = (
            10.0 ** (self.rng.uniform(-8, 8) if self.chance(0.5) else self.rng.uniform(-2, 3))
            * typical
        )
        text = f"{min(1e8, max(1e-8, value)):.4g}"
        self.facts["example_cost" if example_cost else "cost"] = float(text)
        self.option("--example-cost" if example_cost else "-c", text)

    def target(self, gap_only=False):
        """--gap or -e."""
        if gap_only or self.chance(0.7):
            gap = self.pick(
                "0.1", "1e-2", "1e-3", "1e-4", "1e-6", "1e-9", p=[0.1, 0.25, 0.25, 0.2, 0.15, 0.05]
            )
            self.facts["gap"] = float(gap)
            self.option("--gap", gap)
        else:
            epsilon = self.pick("0.1", "0.01", "0.5", "1e-3", "1e-5")
            self.facts["epsilon"] = float(epsilon)
            self.option("-e", epsilon)

    def real(self, option, name, value):
        """A parameter of a kernel: a short number, or one that eight digits do not hold."""
        way = self.rng.random()
        text = (
            f"{value:.4g}"
            if way < 0.4
            else repr(float(f"{value:.1g}") / 3)
            if way < 0.7
            else repr(float(value))
        )
        self.facts[name] = float(text)
        self.option(option, text)

    def kernel(self, name, scale):
        """-t and its parameters: fitting the scale of the features, or anything."""
        if self.indefinite:
            name = self.pick("polynomial", "polynomial", "sigmoid")
        number = ("linear", "polynomial", "rbf", "sigmoid").index(name)
        unit = scale if self.chance(0.7) else 1.0
        self.option("-t", number)
        self.facts["kernel"] = name
        if name == "rbf":
            self.real("-g", "gamma", 10.0 ** self.rng.uniform(-2, 1) / unit**2)
        elif name in ("polynomial", "sigmoid"):
            if self.chance(0.5):
                unit *= self.facts.get("shift", 1.0)
            self.real("-s", "scale_kernel", 10.0 ** self.rng.uniform(-2, 0.3) / unit**2)
            below = self.chance(0.3) if name == "sigmoid" else self.indefinite
            above = ("0", "1", "0.5", "0.3333333333333333", "1234567.890123")
            self.option(
                "-r",
                self.pick(*(("-1", "-0.1", "-0.3333333333333333", "-1000.5") if below else above)),
            )
            self.facts["coef0"] = float(self.words[-1])
            if name == "polynomial":
                self.facts["degree"] = int(self.pick(1, 2, 3))
                self.option("-d", self.facts["degree"])

    def place(self, *options):
        """Where the value of the first of these options stands."""
        return next(k + 1 for k, word in enumerate(self.words) if word in options)


def rows(make, most=60):
    """Features of a style, their scale, and scores that a linear rule gives them."""
    rng = make.rng
    n = int(make.pick(2, 3, 5, 8, 12, 20, 40, 60))
    n, d = min(n, most), int(make.pick(1, 2, 3, 5, 8, 12))
    X = rng.normal(size=(n, d))
    style = make.pick(
        "dense",
        "dense",
        "sparse",
        "whole",
        "duplicates",
        "zeros",
        "columns",
        "constant",
        "shifted",
        "far",
        "far",
    )
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
    elif style == "far":
        make.facts["shift"] = 10.0 ** rng.uniform(2, 6)
        X += make.facts["shift"] * (make.pick(1.0, rng.choice([-1, 1], d), rng.normal(size=d)))
    scores = (X - X.mean(0) * (style == "far")) @ rng.normal(size=d) / max(1e-30, np.abs(X).max())
    scale = 1.0 if make.chance(0.8 if style == "far" else 0.45) else 10.0 ** rng.uniform(-12, 12)
    make.facts |= {"style": style, "scale": scale}
    return (X * scale).astype(np.float32), scale, scores


def two_classes(make, scores):
    """Labels that follow the scores, more or less; now and then of one class alone."""
    rng, n = make.rng, len(scores)
    noise = make.pick(0.0, 0.3, 3.0)
    y = np.where(scores + noise * np.std(scores) * rng.normal(size=n) > np.median(scores), 1, -1)
    if make.chance(0.15):
        y[rng.random(n) < 0.8] = -1
    if make.chance(0.9) and np.abs(y.sum()) == n:
        y[rng.integers(n)] *= -1
    return y.tolist()


def weights(make, n):
    """Now and then a weight for every row, some of them 0."""
    if make.chance(0.3):
        make.facts["weights"] = make.rng.choice(
            [0, 0.25, 1, 2, 1000], n, p=[0.15, 0.25, 0.3, 0.25, 0.05]
        ).tolist()


def bias(make):
    """--b; without it a constant of 1."""
    bias = make.pick(None, "0", "0.01", "100", "1e6", p=[0.5, 0.25, 0.1, 0.1, 0.05])
    make.facts["bias"] = 1.0 if bias is None else float(bias)
    if bias is not None:
        make.option("--b", bias)
