# SPDX-License-Identifier: BSD-3-Clause
"""Machines by every name in Python, and svm-train, on rows with a large column: scripts that hold
what a fit tells to what it predicts."""

from __future__ import annotations

import json

from attack import by_svm_train
from attack.in_python import START

#: What stands around the fit of a machine, and how its objectives are formed.
CLASSES, PAIRS = "classified(m, X, y, C, {loss!r})", "classified(m, X, y, C, paired=True, own=s)"
NUMBERS, KKT, GAP = "numbered(m, X, r, C, {tube!r})", "C * tol * 2.02 * len(X)", "1.001 * tol * v"


def _kernel(make, facts):
    name = make.pick("linear", "linear", "rbf", "poly")
    gamma = make.pick("scale", "auto", 10.0 ** make.rng.uniform(-10, 0))
    found = {"kernel": name, "gamma": gamma, "max_iter": 20_000}
    return found | ({"degree": int(make.pick(1, 2, 3)), "coef0": 1.0} if name == "poly" else {})


def _fit(make, facts):
    """A line that makes and fits m, the objectives of its predictions, and the most of their
    gaps."""
    kind = make.pick(
        "SVC", "SVC", "SVR", "K", "K", "KR", "one", "nu", "nur", "L", "LC", "LR", "LSR"
    )
    C, tol = facts["C"], facts["tol"]
    how = {"tol": tol} | (_kernel(make, facts) if kind[0] not in "L" else {"max_iter": 2_000})
    y = "y" if facts["K"] == 2 else "three"
    if kind == "SVC":
        values = CLASSES.format(loss="hinge") if y == "y" else PAIRS
        own = "m.set_params(decision_function_shape='ovo').decision_function(X)"
        return f"compat.SVC(C={C}, **{how}).fit(X, {y})", values, KKT, own
    if kind == "SVR":
        return f"compat.SVR(C={C}, **{how}).fit(X, r)", NUMBERS.format(tube=0.1), KKT, "None"
    if kind == "K":
        how["multi_class"] = make.pick("ovr", "ovo")
        paired = how["multi_class"] == "ovo" and y != "y"
        own = "m._machines()[0].decisions(m._rows(X))" if paired else "None"
        values = PAIRS if paired else CLASSES.format(loss="hinge")
        return f"svmcut.KernelSVM({C}, **{how}).fit(X, {y})", values, GAP, own
    if kind == "KR":
        line = f"svmcut.KernelSVMRegressor({C}, **{how}).fit(X, r)"
        return line, NUMBERS.format(tube=0.1), GAP, "None"
    if kind == "one":
        nu, name = make.pick(0.1, 0.5), make.pick("compat", "svmcut")
        return f"{name}.OneClassSVM(nu={nu}, **{how}).fit(X)", f"inside(m, X, {nu})", "None", "None"
    if kind == "nu":
        return f"compat.NuSVC(nu=0.3, **{how}).fit(X, y)", "nu_classified(m, X, y, 0.3)", "", ""
    if kind == "nur":
        line = f"compat.NuSVR(C={C}, nu=0.3, **{how}).fit(X, r)"
        return line, "nu_numbered(m, X, r, C, 0.3)", "", ""
    squared = make.chance(0.5)
    if kind in ("LC", "LSR"):
        how["tol"] = 10 * tol  # whose promise is a tenth of it
    if kind == "L":
        loss = make.pick("hinge", "squared-hinge", "logistic")
        line = f"svmcut.LinearSVM({C}, loss={loss!r}, **{how}).fit(X, {y})"
        return line, CLASSES.format(loss=loss), GAP, "None"
    if kind == "LC":
        loss = make.pick("hinge", "squared-hinge")
        line = f"compat.LinearSVC(C={C}, loss={loss.replace('-', '_')!r}, **{how}).fit(X, {y})"
        return line, CLASSES.format(loss=loss), GAP, "None"
    name = "squared_epsilon_insensitive" if squared else "epsilon_insensitive"
    values = f"numbered(m, X, r, C, 0.0, {squared})"
    if kind == "LR":
        line = f"svmcut.LinearSVMRegressor({C}, tube=0.0, loss={name.replace('_', '-')!r}, **{how})"
        return f"{line}.fit(X, r)", values, GAP, "None"
    return f"compat.LinearSVR(C={C}, loss={name!r}, **{how}).fit(X, r)", values, GAP, "None"


def named_machine(make):
    """A script that trains one of them and writes down what is wrong."""
    rng = make.rng
    make.program, make.kind = "python", "named"
    n, d = int(make.pick(8, 20, 40, 80)), int(make.pick(2, 3, 5))
    g = rng.normal(size=(n, d))
    X, r = g.copy(), g[:, 0] + g[:, -1] + make.pick(0.0, 0.5) * rng.normal(size=n)
    X[:, -1] *= 10.0 ** rng.uniform(1, 7)
    X[:, -1] += make.pick(0, 0, 1) * X[:, -1].std()
    facts = {"C": float(f"{10.0 ** rng.uniform(-2, 3):.3g}"), "tol": make.pick(1e-2, 1e-3, 1e-5)}
    facts["K"] = int(make.pick(2, 2, 3))
    if make.chance(0.2):
        make.facts, words = facts, by_svm_train.draw(make, facts)
        labels = "y" if words[1] == "0" else "r"
        make.words = [
            *START,
            "from attack.by_svm_train import wrongs_of",
            "r, y = y, (y > np.median(y)).astype(int)",
            f"wrong = wrongs_of({words}, X, {labels}, {facts['C']}, {facts['tol']})",
            'json.dump(wrong, open("report", "w"))',
        ]
        return X, r.tolist(), None
    line, values, most, own = _fit(make, facts)
    make.facts = facts
    judged = (
        [f"wrong = [between(m, *{values})]"]
        if not most
        else [f"s = {own}", f"v = {values}", "wrong = [difference(m, v, 1e-5)]"]
        + ([f"wrong.append(promise(m, v, {most}))"] if most != "None" else [])
    )
    make.words = [
        *START,
        "from svmcut import compat",
        "from attack.predicted import *",
        f"C, tol = {facts['C']}, {facts['tol']}",
        "r, y, three = y, (y > np.median(y)).astype(int), np.digitize(y, np.quantile(y, [.3, .6]))",
        *([] if facts["K"] == 2 or "three" not in line else ["y = three"]),
        "try:",
        f"    m = {line}",
        "except SvmcutError as error:",
        "    sys.exit(print(error, file=sys.stderr) or 1)",
        *judged,
        'json.dump([text for text in wrong if text], open("report", "w"))',
    ]
    return X, r.tolist(), None


def wrongs(path):
    """The violations that a script has written down."""
    with open(path, encoding="utf-8") as file:
        return [("predicted", text) for text in json.load(file)]
