# SPDX-License-Identifier: BSD-3-Clause
"""Runs down to gaps that float64 cannot tell from 0, whose bounds are held against the optimum in
rational arithmetic; and models that were changed, which must prove nothing."""

from __future__ import annotations

import os
import re
import zlib
from fractions import Fraction

import numpy as np
from reference.exact import ExactMachine
from reference.optima import gram, optimum

from attack.runs import run

LOSSES = {
    "error-rate": "learn",
    "squared-hinge": "smooth",
    "epsilon-insensitive": "regression",
    "polynomial": "kernel",
}
POLYNOMIAL = {"name": "polynomial", "scale": 0.5, "offset": 1.0, "degree": 2}
CERTIFIED = re.compile(r"Certified: ([0-9,]+) of")
TUBE = 0.125


def proof(make):
    """A machine of few rows, and classify --certify on them."""
    rng = make.rng
    loss = make.pick("error-rate", *LOSSES)
    n, d = int(rng.integers(2, 10)), int(rng.integers(1, 4))
    scale = np.ones(d) if loss == "polynomial" else 10.0 ** rng.uniform(-3, 3, make.pick(1, d))
    X = (rng.normal(size=(n, d)) * scale + scale * make.pick(0, 0, 0, 30)).astype(np.float32)
    f = (X - X.mean(0)) @ (rng.normal(size=d) / scale)
    y = [float(f"{value:.9g}") for value in f + 0.5 * rng.normal(size=n)]
    make.kind, make.facts = LOSSES[loss], {"loss": loss, "rows": n, "bias": 0.0}
    if loss == "epsilon-insensitive":
        make.option("--task", "regression", "--tube", TUBE)
        make.facts["tube"] = TUBE
    else:
        y = [1 if value > 0 else -1 for value in y]
        y[:2] = [1, -1]
        make.facts |= {"rescaling": "margin", "slack_norm": 1}
    if loss == "polynomial":
        make.facts |= {"loss": "error-rate", "kernel": "polynomial", "solver": "smo"}
        make.facts |= {"degree": 2, "scale_kernel": 0.5, "coef0": 1.0}
        make.option("-t", 1, "-d", 2, "-s", "0.5", "-r", 1, "--no-free-bias", "--solver", "smo")
    else:
        make.option("-l", loss)
        make.facts["bias"] = float(make.pick(0, 1))
        make.option("--b", make.facts["bias"])
    make.facts |= {"example_cost": 2.0 ** int(rng.integers(-20, 14))}
    make.facts["gap"] = float(f"{10.0 ** rng.uniform(-14, -3):.3g}")
    make.option("--example-cost", repr(make.facts["example_cost"]), "--gap", make.facts["gap"])
    make.after = ["classify", "--certify", "--bounds", "bounds", "train", "model", "scores"]
    return X, y, None


def unproven(case, folder):
    """Violations of the bounds of a run, and of its model when it is changed."""
    with open(os.path.join(folder, "bounds"), encoding="ascii") as file:
        ends = [[*map(Fraction, line.split())] for line in file]
    facts = case.facts
    kernel = POLYNOMIAL if "kernel" in facts else {"name": "linear", "bias": facts["bias"]}
    wide, y = case.X.astype(float), np.array(case.y, float)
    K = gram(kernel["name"], wide, wide, kernel.get("bias", 0.0))
    near = optimum(facts["loss"], K, y, facts["example_cost"])[0]
    exact = ExactMachine(case.X, y, facts["example_cost"], near, kernel, facts["loss"], TUBE)
    found = []
    for x, (low, high) in zip(case.X, ends, strict=True) if exact.beta is not None else ():
        score = exact.score(x)
        if not low <= score <= high:
            texts = f"{float(score)!r} is outside {float(low)!r} to {float(high)!r}"
            found.append(("bounds", f"the optimum's score {texts}"))
        elif low == high and any(exact.beta):
            found.append(("bounds", f"the point {float(low)!r} is no interval"))
    return found + _changed(case, folder)


def _changed(case, folder):
    """Violations of the model with another digit somewhere, and with a certificate by hand."""
    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    with open(os.path.join(folder, "model"), "rb") as file:
        text = file.read()
    digits = [k for k in range(text.index(b"\n") + 1, len(text)) if chr(text[k]).isdigit()]
    other = bytearray(text)
    k = int(rng.choice(digits))
    other[k] = ord("0") + (other[k] - ord("0") + int(rng.integers(1, 10))) % 10
    last = text[: text.rindex(b"#@")]
    found = []
    for changed in (bytes(other), last + b"#@ certificate 0 0 1\n"):
        with open(os.path.join(folder, "changed"), "wb") as file:
            file.write(changed)
        ended = run(["classify", "--certify", "train", "changed", "other"], folder)
        proven = CERTIFIED.search(ended.out)
        if ended.status not in (1, 2) or (proven and proven[1] != "0"):
            told = proven[0] if proven else f"exit status {ended.status}"
            found.append(("changed", f"a model that was changed at byte {k} still says: {told}"))
    return found
