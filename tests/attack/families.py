# SPDX-License-Identifier: BSD-3-Clause
"""Families of runs: those of attack.cases, and what stands around them, of which each run has
one."""

from __future__ import annotations

import numpy as np

from attack.cases import KINDS, exact, tokens
from attack.given_values import given_values
from attack.in_python import script
from attack.maker import Case, Maker
from attack.nu_machines import nu_machine
from attack.originals import original
from attack.own_measures import own_measure
from attack.proofs import proof

SUMS = (
    "error-rate",
    "squared-hinge",
    "logistic",
    "epsilon-insensitive",
    "squared-epsilon-insensitive",
)


def _of(make, *kinds):
    """A run of one of these kinds; `exact` is of two classes with a kernel."""
    kind = make.pick(*kinds)
    make.kind = "kernel" if kind == "exact" else kind
    return exact(make) if kind == "exact" else KINDS[kind](make)


def _again(make):
    """Forgets all options and facts."""
    make.words, make.facts = [], {}


def _costs(make, most):
    """More values of C in the place of one."""
    at = make.place("-c", "--example-cost")
    middle, factor = float(make.words[at]), 10.0 ** make.rng.uniform(0.2, 2)
    texts = [
        f"{min(1e9, max(1e-9, middle * factor**k)):.4g}"
        for k in range(int(make.pick(*range(2, most + 1))))
    ]
    texts = list(dict.fromkeys(texts))
    if make.chance(0.2):
        texts.reverse()
    make.words[at] = ",".join(texts)
    make.facts["costs"] = [float(text) for text in texts]


def _path(make):
    made = _of(
        make,
        "learn",
        "learn",
        "exact",
        "exact",
        "kernel",
        "rank",
        "sequence",
        "multilabel",
        "smooth",
        "regression",
        "classes",
        "classes",
    )
    _costs(make, 5)
    return made


def _cv(make):
    made = _of(
        make,
        "learn",
        "exact",
        "exact",
        "rank",
        "sequence",
        "multilabel",
        "smooth",
        "regression",
        "classes",
    )
    if make.chance(0.7):
        _costs(make, 3)
    for option, name in (("-g", "gamma"), ("-s", "scale_kernel")):
        if option in make.words and make.chance(0.7):
            at = make.place(option)
            texts = [make.words[at], repr(float(make.words[at]) / 3)]
            make.words[at], make.facts["grid"] = (
                ",".join(texts),
                {name: [float(text) for text in texts]},
            )
    folds = int(make.pick(2, 3))
    make.option("--cv", folds)
    make.facts["cells"] = folds * (1 + ("grid" in make.facts))
    return made


def _initial(make):
    made = _of(make, "learn", "smooth", "exact", "exact")
    facts = make.facts
    if make.kind != "kernel":
        newton = (
            "l1" not in facts
            and facts["loss"] in SUMS
            and facts.get("rescaling") != "slack"
            and facts.get("slack_norm") != 2
        )
        for option in ("--solver", "-w"):
            if option in make.words:
                at = make.place(option)
                del make.words[at - 1 : at + 1]
        make.option(
            "--solver",
            "cdn"
            if "l1" in facts
            else make.pick("cutting-plane", *(["newton", "newton"] if newton else [])),
        )
    elif facts["solver"] == "auto":
        make.words[make.place("--solver")] = facts["solver"] = "smo"
    at = make.place("-c", "--example-cost")
    other = f"{min(1e8, max(1e-8, float(make.words[at]) * 10.0 ** make.rng.uniform(-3, 3))):.4g}"
    make.before = [
        "learn",
        *make.words[:at],
        other,
        *make.words[at + 1 :],
        "--threads",
        "1",
        "train",
        "first",
    ]
    make.option("--initial", "first")
    return made


def _probability(make):
    while True:
        made = _of(make, "learn", "exact", "exact", "smooth", "classes", "classes")
        facts = make.facts
        plain = facts.get("rescaling") != "slack" and facts.get("slack_norm") != 2
        if facts["loss"] in SUMS and plain and facts.get("solver") not in ("bsca", "bsgd"):
            break
        _again(make)
    make.option("--probability")
    make.after = ["classify", "--probability", "train", "model", "probabilities"]
    return made


def _quick(make):
    X, _, y, qid, order, emissions = tokens(make)
    make.kind = "sequence"
    make.option(
        *("--task", "sequence", "--t", order, "--e", emissions, "--quick"),
        *("--seed", int(make.rng.integers(100))),
    )
    make.cost(make.chance(0.6), 1.0)
    return X, y, qid


def _indefinite(make):
    make.indefinite = True
    while "kernel" not in make.facts or "waves" in make.facts or make.facts["kernel"] == "linear":
        _again(make)
        made = _of(
            make, "exact", "exact", "exact", "kernel", "rank", "sequence", "regression", "classes"
        )
    if make.chance(0.15):
        at = make.place("-s")
        make.words[at], make.facts["refused"] = f"-{make.words[at]}", True
    return made


FAMILIES = {
    "measures": own_measure,
    **KINDS,
    "path": _path,
    "cv": _cv,
    "initial": _initial,
    "probability": _probability,
    "quick": _quick,
    "indefinite": _indefinite,
    "python": script,
    "originals": original,
    "nu": nu_machine,
    "given": given_values,
    "proofs": proof,
}
SHARES = (
    0.03,
    0.07,
    0.11,
    0.06,
    0.1,
    0.05,
    0.04,
    0.06,
    0.12,
    0.05,
    0.03,
    0.03,
    0.03,
    0.02,
    0.05,
    0.06,
    0.03,
    0.03,
    0.01,
    0.02,
)


def make_case(seed, number, families=tuple(FAMILIES)):
    """The run of that number; the same for the same seed, whichever others are made."""
    rng = np.random.default_rng([seed, number])
    family = str(rng.choice(list(FAMILIES), p=SHARES))
    if family not in families:
        return None
    make = Maker(rng)
    X, y, qid = FAMILIES[family](make)
    words = make.words
    if make.program == "svmcut":
        words = ["rank" if (make.kind or family) == "rank" else "learn", *words, "--threads", "1"]
    return Case(
        f"{seed}:{number}",
        family,
        X,
        y,
        qid,
        words,
        make.facts,
        make.kind,
        make.program,
        make.before,
        make.after,
    )
