# SPDX-License-Identifier: BSD-3-Clause
"""Runs of the programs with the originals' names, and what they print."""

from __future__ import annotations

import re

import numpy as np

from attack.cases import tokens
from attack.maker import rows, two_classes, weights  # noqa: F401

LOSSES = {
    "error-rate": 2,
    "zero-one": 0,
    "f1": 1,
    "prbep": 3,
    "prec-at-k": 4,
    "rec-at-k": 5,
    "roc-area": 10,
}
NUMBER = {
    name: re.compile(pattern + r"(\S+)")
    for name, pattern in (
        ("primal", "pval="),
        ("dual", "dval="),
        ("loss", "L1 loss: loss="),
        ("norm", r"Norm of weight vector: \|w\|="),
    )
}


def _stop(make, *values):
    """-e."""
    epsilon = make.pick(*values)
    make.facts["epsilon"] = float(epsilon)
    make.option("-e", epsilon)


def _kernel(make, scale):
    """A kernel in half of the runs; whether."""
    if make.chance(0.5):
        return False
    make.kernel(make.pick("polynomial", "rbf", "rbf", "sigmoid"), scale)
    if make.chance(0.08):
        at = make.place("-g" if make.facts["kernel"] == "rbf" else "-s")
        make.words[at] = f"-{make.words[at]}"
        make.facts["gamma" if make.facts["kernel"] == "rbf" else "scale_kernel"] *= -1
    make.facts |= {"solver": "cutting-plane", "bias": 0.0}
    return True


def _perf(make):
    X, scale, scores = rows(make)
    make.kind, loss = "learn", make.pick("error-rate", "error-rate", *LOSSES)
    slack = loss not in ("error-rate", "roc-area") and make.chance(0.2)
    make.facts |= {
        "loss": loss,
        "rescaling": "slack" if slack else "margin",
        "slack_norm": 1,
        "bias": 1.0,
    }
    make.facts["p"] = {"prec-at-k": 0.5, "rec-at-k": 2.0}.get(loss, 0.0)
    make.cost(False, 1.0)
    make.option("-l", LOSSES[loss], *(["-o", 1] if slack else []))
    if _kernel(make, scale):
        make.option("--b", 0, "-w", make.pick(2, 3, 4))
        if make.chance(0.3):
            make.option("--i", 0, "--t", make.pick(1, 2), "--k", make.pick(2, 5, 20))
    else:
        make.option("-w", make.pick(0, 2, 3, 4, *([9] if loss == "error-rate" else [])))
    _stop(make, "0.1", "0.01", "1e-3")
    return X, two_classes(make, scores), None


def _rank(make):
    X, scale, scores = rows(make)
    loss = make.pick("swapped-pairs", "swapped-fraction")
    make.kind = "rank"
    make.facts |= {"loss": loss, "bias": 0.0}
    make.cost(False, 1.0)
    make.option("-l", 1 if loss == "swapped-pairs" else 2, "-w", make.pick(2, 3, 4))
    _kernel(make, scale)
    _stop(make, "1e-3", "0.01")
    grades = np.digitize(scores, np.quantile(scores, [0.3, 0.6, 0.9]))
    return (
        X,
        grades.tolist(),
        np.sort(make.rng.integers(1, 1 + make.pick(1, 2, 5), len(X))).tolist(),
    )


def _hmm(make):
    X, scale, y, qid, order, emissions = tokens(make)
    make.kind = "sequence"
    make.cost(False, 1.0)
    if _kernel(make, scale):
        make.facts["emissions"] = emissions = 0
    make.option("--t", order, "--e", emissions)
    _stop(make, "0.1", "0.01", "1e-3")
    return X, y, qid


def _multiclass(make):
    X, scale, scores = rows(make)
    K = int(make.pick(2, 3, 4))
    make.kind = "classes"
    make.facts |= {
        "loss": "error-rate",
        "multiclass": "crammer-singer",
        "rows": len(X),
        "bias": 0.0,
    }
    make.cost(False, 100.0)
    _kernel(make, scale)
    _stop(make, "0.1", "0.01")
    y = 1 + np.digitize(scores, np.quantile(scores, np.linspace(0, 1, K + 1)[1:-1]))
    return X, y.tolist(), None


def _light(make):
    X, scale, scores = rows(make)
    numbers = make.chance(0.3)
    make.kind, make.facts["bias"] = "regression" if numbers else "kernel", 0.0
    make.facts |= {
        "loss": "epsilon-insensitive" if numbers else "error-rate",
        "rescaling": "margin",
        "slack_norm": 1,
    }
    make.facts |= {"tube": 0.1, "rows": len(X), "solver": "smo"}
    make.cost(True, 1.0)
    make.words[-2] = "-c"
    make.option(
        "-z", "r" if numbers else "c", *(["-w", "0.1"] if numbers else []), "-b", make.pick(0, 1, 1)
    )
    _kernel(make, scale)
    y = [float(f"{value:.9g}") for value in scores] if numbers else two_classes(make, scores)
    if not numbers and abs(sum(y)) == len(y):
        y[0] *= -1
    return X, y, None


PROGRAMS = {
    "svm_perf_learn": _perf,
    "svm_rank_learn": _rank,
    "svm_hmm_learn": _hmm,
    "svm_multiclass_learn": _multiclass,
    "svm_learn": _light,
}


def original(make):
    """A run of one of the programs."""
    make.program = str(make.pick(*PROGRAMS))
    return PROGRAMS[make.program](make)


def printed_numbers(out):
    """The last of each number, where it stands there."""
    return {
        name: float(found[-1])
        for name, pattern in NUMBER.items()
        if (found := pattern.findall(out))
    }
