# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of random training runs: a file of examples, and the options that train on it."""

from __future__ import annotations

import numpy as np

from attack.maker import bias, rows, two_classes, weights

#: Losses of svmcut learn other than the plain hinge, and those that have slack rescaling and
#: squared slack.
TABLES = ("zero-one", "f1", "prbep", "prec-at-k", "rec-at-k")
MULTIVARIATE = (*TABLES, "roc-area", "average-precision")
RANKED = ("swapped-pairs", "swapped-fraction", "pairs", "map", "ndcg", "propensities")
#: Trainers that end after their epochs, whatever the gap is then.
BY_EPOCHS = ("sbp", "pegasos", "sdca", "perceptron")
ON_BUDGET = ("bsca", "bsgd")


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
    X, _, scores = rows(make)
    plain = _losses(make)
    make.cost(plain and make.chance(0.5), 1.0)
    if plain:
        weights(make, len(X))
    make.target()
    bias(make)
    if plain:
        solver = make.pick("auto", "dual-cd", "newton", "cutting-plane", None)
        make.option(*(("--solver", solver) if solver else ("-w", make.pick(0, 1, 2, 3, 4, 9))))
    return X, two_classes(make, scores), None


def _kernel(make):
    X, scale, scores = rows(make)
    plain = _losses(make, 0.75)
    name = make.pick("linear", "polynomial", "rbf", "sigmoid", p=[0.15, 0.25, 0.5, 0.1])
    if plain and make.chance(0.1):
        return X, _fourier(make, scale, scores), None
    loss = make.facts["loss"]
    known = [
        "cutting-plane",
        "subspace",
        *(["sampled-cuts"] if plain or loss == "roc-area" else []),
    ]
    if plain:
        known += ["auto", "smo", "smo", "smo", "constant-cuts", *BY_EPOCHS, *ON_BUDGET]
    solver = make.pick(*known)
    if name == "linear" and solver in (
        "auto",
        "cutting-plane",
    ):  # those would train without kernel values
        solver = "smo" if plain else "subspace"
    make.kernel(name, scale)
    make.option("--solver", solver)
    make.cost(plain and make.chance(0.7), 1.0)
    if plain:
        weights(make, len(X))
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
    return X, two_classes(make, scores), None


def _fourier(make, scale, scores):
    """Options of random Fourier features; the labels."""
    make.kernel("rbf", scale)
    make.option("--solver", "subspace", "--basis-kind", "fourier", "--k", make.pick(2, 5, 30, 200))
    make.option("--seed", int(make.rng.integers(100)))
    make.cost(make.chance(0.7), 1.0)
    weights(make, len(scores))
    make.target()
    make.facts |= {"bias": 0.0, "solver": "subspace", "waves": True}
    return two_classes(make, scores)


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
    X, scale, scores = rows(make)
    n = len(X)
    loss = make.pick(*RANKED)
    make.facts |= {"loss": loss, "bias": 0.0}
    make.option("-l", loss)
    if loss == "ndcg":
        make.facts["at"] = int(make.pick(1, 3, 10))
        make.option("--at", make.facts["at"])
    make.cost(make.chance(0.4), 1.0)
    if make.chance(0.3):
        drawn = () if loss in ("map", "ndcg", "propensities") else ("sampled-cuts",)
        name, solver = (
            make.pick("polynomial", "rbf", "linear"),
            make.pick("cutting-plane", "subspace", *drawn),
        )
        if name == "linear" and solver == "cutting-plane":
            solver = "subspace"
        make.kernel(name, scale)
        make.option("--solver", solver)
        make.facts["solver"] = solver
    elif make.chance(0.3):
        make.option("-w", make.pick(0, 1, 2, 3, 4))
    make.target()
    noise = make.pick(0.0, 0.5, 3.0) * np.std(scores)
    grades = np.digitize(
        scores + noise * make.rng.normal(size=n), np.quantile(scores, [0.3, 0.6, 0.9])
    )
    if make.chance(0.2) and loss != "ndcg":
        grades = make.rng.permutation(n)
    queries = np.sort(make.rng.integers(1, 1 + make.pick(1, 2, 5), n)) if make.chance(0.8) else None
    return X, grades.tolist(), None if queries is None else queries.tolist()


def tokens(make):
    """Rows in sequences, their scale, tags, sequences; the orders of transitions and emissions."""
    rng = make.rng
    X, scale, _ = rows(make, 40)
    n, tags = len(X), int(make.pick(1, 2, 3))
    order = int(make.pick(0, 1, 2, p=[0.15, 0.65, 0.2]))
    emissions = int(order > 0 and make.chance(0.2))
    ends = [0]
    while ends[-1] < n:
        ends.append(min(n, ends[-1] + int(rng.integers(1, 6))))
    qid = np.repeat(np.arange(1, len(ends)), np.diff(ends)).tolist()
    y = rng.integers(1, tags + 1, n)
    if make.chance(0.7):  # tags that the features tell
        y = 1 + np.argmax((X - X.mean(0)) / scale @ rng.normal(size=(X.shape[1], tags)), axis=1)
    facts = {
        "loss": "hamming",
        "rescaling": "margin",
        "slack_norm": 1,
        "order": order,
        "emissions": emissions,
    }
    make.facts |= facts
    return X, scale, y.tolist(), qid, order, emissions


def _sequence(make):
    X, scale, y, qid, order, emissions = tokens(make)
    make.option("--task", "sequence", "--t", order, "--e", emissions)
    make.cost(make.chance(0.6), 1.0)
    if not emissions and make.chance(0.35):
        name = make.pick("polynomial", "rbf", "rbf", "linear")
        solver = (
            "sampled-cuts"
            if name == "linear"
            else make.pick("cutting-plane", "sampled-cuts", "auto")
        )
        make.kernel(name, scale)
        make.option("--solver", solver)
        make.facts["solver"] = solver
    elif make.chance(0.3):
        kind = make.pick("zero-one", "slack", "squared", "both")
        make.facts |= {"loss": "zero-one"} if kind == "zero-one" else {}
        make.facts |= {"rescaling": "slack"} if kind in ("slack", "both") else {}
        make.facts |= {"slack_norm": 2} if kind in ("squared", "both") else {}
        make.option(
            *{
                "zero-one": ("-l", "zero-one"),
                "slack": ("-o", "slack"),
                "squared": ("-p", 2),
                "both": ("-o", "slack", "-p", 2),
            }[kind]
        )
    else:
        more = ("gdmm", "soft-bcfw") if (order, emissions) == (1, 0) else ()
        make.option("--solver", make.pick("auto", "cutting-plane", "bcfw", "ssg", *more))
    make.target()
    return X, y, qid


def _multilabel(make):
    rng = make.rng
    X, scale, _ = rows(make, 40)
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
    bias(make)
    make.cost(make.chance(0.6), 1.0)
    make.target()
    return X, y, None


def _scored(make, *solvers):
    """Options of the losses of scores, which are sums."""
    make.cost(make.chance(0.6), 1.0)
    weights(make, make.facts["rows"])
    make.target()
    bias(make)
    make.option("--solver", make.pick("auto", "cutting-plane", *solvers))


def exact(
    make, solvers=("smo", "smo", "cutting-plane", "auto"), names=("polynomial", "rbf", "rbf")
):
    """Two classes with a kernel and all of its values."""
    X, scale, scores = rows(make)
    solver = make.pick(*solvers)
    make.facts |= {
        "loss": "error-rate",
        "rescaling": "margin",
        "slack_norm": 1,
        "bias": 0.0,
        "solver": solver,
    }
    make.kernel(make.pick(*names), scale)
    make.option("--solver", solver)
    if solver == "smo" and make.chance(0.4):
        make.option("--no-free-bias")
    make.cost(make.chance(0.7), 1.0)
    weights(make, len(X))
    make.target(gap_only=solver != "cutting-plane")
    return X, two_classes(make, scores), None


def _smooth(make):
    X, _, scores = rows(make)
    loss = make.pick("squared-hinge", "logistic", "squared-hinge", "logistic", "error-rate")
    make.facts |= {"loss": loss, "rows": len(X)}
    make.option("-l", loss)
    if loss == "error-rate" or make.chance(0.35):
        _penalised(make, *(("l1",) if loss != "error-rate" else ()))
    else:
        _scored(make, "dual-cd", "newton")
    return X, two_classes(make, scores), None


def _penalised(make, *others):
    """Options of weights that may be 0, and of the bias beside them; or of that bias alone."""
    name = make.pick("elastic-net", "l2", *others)
    if name != "l2":
        make.option("--penalty", name)
        make.facts["l1"] = 1.0
    if name == "elastic-net":
        make.facts["l1"] = float(make.pick(0.1, 0.5, 0.95))
        make.option("--l1-ratio", make.facts["l1"])
    make.cost(make.chance(0.6), 1.0)
    weights(make, make.facts["rows"])
    make.target()
    if name == "l2" or make.chance(0.3):
        make.option("--free-bias")
        make.facts |= {"bias": 0.0, "free": True}
    else:
        bias(make)
    known = ("auto", "newton", "cutting-plane") if name == "l2" else ("auto", "cdn")
    make.option("--solver", make.pick(*known))


def _regression(make):
    X, scale, scores = rows(make)
    unit = 1.0 if make.chance(0.6) else 10.0 ** make.rng.uniform(-6, 6)
    y = unit * (
        scores
        + make.pick(0.0, 0.3, 3.0) * np.std(scores) * make.rng.normal(size=len(X))
        + make.pick(0, 10)
    )
    squared = make.chance(0.3)
    loss = "squared-epsilon-insensitive" if squared else "epsilon-insensitive"
    make.facts |= {"loss": loss, "rows": len(X), "tube": 0.1}
    make.option("--task", "regression", *(("-l", loss) if squared else ()))
    if make.chance(0.6):
        make.facts["tube"] = float(f"{make.pick(0, 0.01, 0.3, 10) * unit:.4g}")
        make.option("--tube", make.facts["tube"])
    if make.chance(0.25) and squared:
        _penalised(make, "l1")
    elif make.chance(0.15):
        _penalised(make) if squared else _free(make)
    elif make.chance(0.5):
        _expanded(make, scale)
    else:
        _scored(make, "dual-cd", "newton")
    return X, [float(f"{value:.9g}") for value in y], None


def _free(make):
    """Options of a bias that is free."""
    _scored(make, "newton")
    for option in ("--b", "--solver"):
        if option in make.words:
            at = make.place(option)
            del make.words[at - 1 : at + 1]
    make.option("--free-bias")
    make.facts |= {"bias": 0.0, "free": True}


def _expanded(make, scale, example_cost=0.6):
    """Options of kernels for numbers and classes."""
    name = make.pick("linear", "polynomial", "rbf", "rbf", "sigmoid")
    own = (
        () if name == "linear" else ("auto", "cutting-plane")
    )  # with which that would train without kernel values
    hinge = not make.facts["loss"].startswith("squared")
    solver = make.pick(*(("smo", "smo", *ON_BUDGET) if hinge else ()), "subspace", *own)
    make.kernel(name, scale)
    make.option("--solver", solver)
    make.cost(make.chance(example_cost), 1.0)
    weights(make, make.facts["rows"])
    _reduced(make, solver, name)
    if solver == "smo" and make.chance(0.4):
        make.option("--no-free-bias")
    make.target(gap_only=solver in ("smo", "auto"))
    make.facts |= {"bias": 0.0, "solver": solver}


def _joint(make, scale):
    """Options of a kernel for all classes at once."""
    solver = make.pick("auto", "cutting-plane", "cutting-plane", "sampled-cuts")
    make.facts |= {
        "loss": "error-rate",
        "multiclass": "crammer-singer",
        "bias": 0.0,
        "solver": solver,
    }
    make.option("--multiclass", "crammer-singer", "--solver", solver)
    make.kernel(make.pick("polynomial", "rbf", "rbf"), scale)
    make.cost(make.chance(0.6), 1.0)
    weights(make, make.facts["rows"])
    make.target()


def _classes(make):
    X, scale, scores = rows(make)
    names = np.sort(make.rng.permutation(20)[: int(make.pick(2, 3, 4, 6))] - 5)
    noise = make.pick(0.0, 0.3, 3.0) * np.std(scores) * make.rng.normal(size=len(X))
    cuts = np.quantile(scores, np.linspace(0, 1, len(names) + 1)[1:-1])
    make.facts |= {
        "loss": make.pick("error-rate", "error-rate", "squared-hinge", "logistic"),
        "rows": len(X),
    }
    make.option("--task", "multiclass")
    if make.chance(0.35):
        make.facts["loss"] = "error-rate"
        make.option("--multiclass", make.pick("one-vs-one", "one-vs-rest"))
        _expanded(make, scale, 1.0)
    elif make.chance(0.5):
        _joint(make, scale)
    else:
        rest = make.facts["loss"] != "error-rate" or make.chance(0.4)
        make.facts["multiclass"] = "one-vs-rest" if rest else "crammer-singer"
        make.option("-l", make.facts["loss"], "--multiclass", make.facts["multiclass"])
        _scored(make, "dual-cd", *(["newton"] if rest else []))
    return X, names[np.digitize(scores + noise, cuts)].tolist(), None


KINDS = {
    "learn": _learn,
    "kernel": _kernel,
    "rank": _rank,
    "sequence": _sequence,
    "multilabel": _multilabel,
    "smooth": _smooth,
    "regression": _regression,
    "classes": _classes,
}
