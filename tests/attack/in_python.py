# SPDX-License-Identifier: BSD-3-Clause
"""Runs in Python: scripts that train, save the model and write down the attributes."""

from __future__ import annotations

import numpy as np

from attack.cases import KINDS, exact

FLAGS = {
    "--task": "task",
    "-l": "loss",
    "-o": "rescaling",
    "-p": "slack_norm",
    "--p": "p",
    "-c": "cost",
    "--example-cost": "example_cost",
    "--gap": "gap",
    "-e": "epsilon",
    "--b": "bias",
    "--solver": "solver",
    "-t": "kernel",
    "-g": "gamma",
    "-s": "scale_kernel",
    "-r": "coef0",
    "-d": "degree",
    "--t": "transitions",
    "--e": "emissions",
    "--k": "basis",
    "--basis-kind": "basis_kind",
    "--sample-size": "sample_size",
    "--budget": "budget",
    "--maintenance": "maintenance",
    "--epochs": "epochs",
    "--seed": "seed",
    "--multiclass": "multiclass",
    "--tube": "tube",
    "--penalty": "penalty",
    "--l1-ratio": "l1_ratio",
    "--at": "at",
}
SWITCHES = {
    "--no-free-bias": ("free_bias", False),
    "--free-bias": ("free_bias", True),
    "--polish": ("polish", True),
    "--no-polish": ("polish", False),
}
KERNELS = ("linear", "polynomial", "rbf", "sigmoid")
START = (
    "import json, math, sys, warnings",
    "import numpy as np, svmcut",
    "from svmcut.base.errors import SvmcutError",
    "from svmcut.formats import write_model",
    'warnings.simplefilter("ignore")',
    'X, y, qid, weights = (np.load(name + ".npy", allow_pickle=True) for name in ("X", "y", '
    '"qid", "weights"))',
)
KEEP = (
    "report = {name: None if isinstance(value, float) and math.isnan(value) else value "
    "for name, value in report.items()}",
    'json.dump(report, open("report", "w"))',
)


def _guarded(*lines):
    """A line of training; what svmcut refuses is told, with status 1."""
    return (
        "try:",
        *(f"    {line}" for line in lines),
        "except SvmcutError as error:",
        "    sys.exit(print(error, file=sys.stderr) or 1)",
    )


def _read(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _parameters(words):
    """What a command line says, by name."""
    found, at = {}, 0
    while at < len(words):
        if words[at] in SWITCHES:
            name, value = SWITCHES[words[at]]
            found[name], at = value, at + 1
            continue
        name, at = FLAGS.get(words[at], words[at]), at + 2
        if name != "-w":  # svm_perf's algorithm numbers say nothing here
            value = _read(words[at - 1])
            numbered = {"kernel": KERNELS, "rescaling": (None, "slack", "margin")}.get(name)
            found[name] = numbered[value] if numbered and isinstance(value, int) else value
    return found


def _trained(make):
    """svmcut.train."""
    kind = make.pick(
        "learn", "exact", "exact", "kernel", "rank", "sequence", "smooth", "regression", "classes"
    )
    make.kind = "kernel" if kind == "exact" else kind
    X, y, qid = exact(make) if kind == "exact" else KINDS[kind](make)
    parameters = _parameters(make.words)
    parameters.setdefault("task", "rank" if kind == "rank" else "classification")
    if kind == "rank" and qid is None:
        qid = [1] * len(X)
    data = "(X, y, qid)" if qid is not None else "(X, y)"
    given = ", weights=weights" if "weights" in make.facts else ""
    make.words = [
        *START,
        f"parameters = {parameters}",
        *_guarded(f"outcome = svmcut.train({data}{given}, threads=1, **parameters)"),
        'write_model("model", outcome.model)',
        'report = {name: getattr(outcome, name) for name in ("primal", "dual", "gap", '
        '"converged", "stopped_by", '
        '"solver", "primal_of_file")}',
        'if report["primal_of_file"] is None: del report["primal_of_file"]',
        *KEEP,
    ]
    return X, y, qid


def _kernel_of(facts):
    """Parameters of KernelSVM."""
    found = {"kernel": "poly" if facts["kernel"] == "polynomial" else facts["kernel"]}
    found["gamma"] = facts["gamma"] if facts["kernel"] == "rbf" else facts.get("scale_kernel", 1.0)
    return found | {name: facts[name] for name in ("degree", "coef0") if name in facts}


def _estimator(make):
    """One of the estimators, the same as a run of the command line."""
    kinds = ("learn", "exact", "exact", "rank", "sequence", "smooth", "regression", "classes")
    while True:
        kind = make.pick(*kinds)
        make.words, make.facts = [], {}
        X, y, qid = (
            exact(make, ("smo", "smo", "cutting-plane", "auto"))
            if kind == "exact"
            else KINDS[kind](make)
        )
        facts = make.facts
        plain = facts.get("rescaling") != "slack" and facts.get("slack_norm") != 2
        joint = kind in ("rank", "sequence") and ("kernel" in facts or facts["loss"] == "zero-one")
        if "kernel" in facts and "crammer-singer" in make.words:  # which KernelSVM does not train
            continue
        known = facts.get("solver") in (None, "auto", "smo", "cutting-plane", "subspace")
        if "gap" in facts and plain and known and not joint:
            break
    make.kind, weighed = "kernel" if kind == "exact" else kind, "weights" in facts
    kernel, given, rows = "kernel" in facts, {"tol": facts["gap"]}, "X, y"
    sums = facts["loss"] in (
        "error-rate",
        "squared-hinge",
        "logistic",
        "hamming",
        "epsilon-insensitive",
        "squared-epsilon-insensitive",
    )
    C = facts.pop("cost", None) or facts.pop("example_cost")
    facts["cost" if kind == "rank" or not sums else "example_cost"] = C
    given["C"] = C
    if kernel:
        given |= _kernel_of(facts)
        name = "KernelSVM"
        if kind == "regression":  # whose loss is one
            name, facts["loss"] = "KernelSVMRegressor", "epsilon-insensitive"
        if "--solver" in make.words:
            given["solver"] = make.words[make.place("--solver")]
        if "--no-free-bias" in make.words:
            given["fit_intercept"] = False
        facts["solver"] = given.get("solver", "auto")
    else:
        bias = facts.get("bias", 0.0)
        linear = {
            "learn": "LinearSVM" if sums else "PerfClassifier",
            "smooth": "LinearSVM",
            "classes": "LinearSVM",
            "regression": "LinearSVMRegressor",
            "rank": "RankSVM",
            "sequence": "ChainSVM",
        }
        name = linear[kind]
        if kind not in ("rank", "sequence"):
            given |= {"intercept_scaling": bias} if bias else {"fit_intercept": False}
        if name in ("LinearSVM", "PerfClassifier", "RankSVM", "LinearSVMRegressor"):
            given["loss"] = "hinge" if facts["loss"] == "error-rate" else facts["loss"]
    if "l1" in facts:
        given["penalty"] = make.words[make.place("--penalty")]
        given |= {"l1_ratio": facts["l1"]} if given["penalty"] == "elastic-net" else {}
    if "free" in facts:
        given |= {"free_intercept": True, "fit_intercept": True}
    if kind == "regression":
        given["tube"] = facts["tube"]
    if kind == "classes":
        given["multi_class"] = {
            "one-vs-rest": "ovr",
            "one-vs-one": "ovo",
            "crammer-singer": "crammer_singer",
        }[facts.get("multiclass") or make.words[make.place("--multiclass")]]
        facts["multiclass"] = make.words[make.place("--multiclass")]
    if name == "PerfClassifier" and facts["loss"] in ("prec-at-k", "rec-at-k"):
        given["k"] = facts["p"]
    if kind == "rank":
        qid = [1] * len(X) if qid is None else qid
        rows, facts["at"] = "X, y, qid", 10
    if kind == "sequence":
        y = (1 + np.unique(y, return_inverse=True)[1]).tolist()
        given |= {"transitions": facts["order"], "emissions": facts["emissions"]}
        rows = "[X[qid == q] for q in np.unique(qid)], [y[qid == q] for q in np.unique(qid)]"
    facts["memory"] = True
    more = ", sample_weight=weights" if weighed else ""
    scores = kind in ("learn", "smooth", "kernel", "exact") or (
        kind == "classes" and "ovo" not in given.values()
    )
    make.words = [
        *START,
        f"parameters = {given}",
        *_guarded(f"machine = svmcut.{name}(**parameters).fit({rows}{more})"),
        'machine.save("model")',
        'report = {"primal": float(machine.primal_.sum()), "dual": float(machine.dual_.sum()), '
        '"gap": float(machine.gap_.sum()), "converged": bool(machine.converged_), "solver": '
        "machine.solver_, "
        '"stopped_by": None}',
        *(['report["scores"] = machine.decision_function(X).tolist()'] if scores else []),
        *KEEP,
    ]
    return X, y, qid


def script(make):
    """A script that trains by name, by an estimator, or by one of them on a large column."""
    from attack.named_machines import named_machine

    make.program = "python"
    if make.chance(0.3):
        return named_machine(make)
    return _trained(make) if make.chance(0.5) else _estimator(make)
