# SPDX-License-Identifier: BSD-3-Clause
"""Every solver, from every kind of place: a fit that goes on ends in the bytes of one that never
stopped."""

import numpy as np
import pytest
from drivers import driver

from svmcut.base.records import replace
from svmcut.data.examples import Csr, Examples, Source
from svmcut.files.checkpoints import read_checkpoint, write_checkpoint
from svmcut.spaces.rows import RowSpace
from svmcut.spec.schemas import state_classes

RBF = {"kernel": "rbf", "gamma": 0.3}
RUNS = {
    "cutting-plane": {"solver": "cutting-plane", "gap": 1e-4},
    "f1": {"solver": "cutting-plane", "loss": "f1"},
    "squared slack": {"solver": "cutting-plane", "slack_norm": 2},
    "ranking": {"solver": "cutting-plane", "task": "rank", "loss": "swapped-pairs", "gap": 1e-3},
    "map": {"solver": "cutting-plane", "task": "rank", "loss": "map", "gap": 1e-4},
    "ndcg": {"solver": "cutting-plane", "task": "rank", "loss": "ndcg", "at": 4, "gap": 1e-4},
    "ndcg, subspace": {"solver": "subspace", "task": "rank", "loss": "ndcg", **RBF},
    "few rows": {"solver": "cutting-plane", "gap": 1e-4},
    "few rows, ranking": {"solver": "auto", "task": "rank", "loss": "swapped-pairs", "gap": 1e-3},
    "dual-cd": {"solver": "dual-cd", "gap": 1e-6},
    "newton": {"solver": "newton", "gap": 1e-13},
    "squared hinge, dual-cd": {"solver": "dual-cd", "loss": "squared-hinge", "gap": 1e-8},
    "squared hinge, newton": {"solver": "newton", "loss": "squared-hinge", "gap": 1e-10},
    "regression, dual-cd": {"solver": "dual-cd", "task": "regression", "gap": 1e-4},
    "regression, newton": {"solver": "newton", "task": "regression", "gap": 1e-6},
    "logistic, dual-cd": {"solver": "dual-cd", "loss": "logistic", "gap": 1e-8},
    "logistic, newton": {"solver": "newton", "loss": "logistic", "gap": 1e-13},
    "kernel cutting-plane": {"solver": "cutting-plane", **RBF},
    "subspace": {"solver": "subspace", **RBF},
    "sampled-cuts": {"solver": "sampled-cuts", **RBF},
    "sampled-cuts, bare": {
        "solver": "sampled-cuts",
        "sample_size": 20,
        "epsilon": 20.0,
        "polish": False,
        **RBF,
    },
    "constant-cuts": {"solver": "constant-cuts", "sample_size": 40, "epsilon": 20.0, **RBF},
    "bsca": {"solver": "bsca", **RBF, "budget": 30, "epochs": 3},
    "bsca, bare": {
        "solver": "bsca",
        **RBF,
        "budget": 30,
        "epochs": 3,
        "polish": False,
        "hold_out": 0.2,
    },
    "bsca, adaptive": {"solver": "bsca", **RBF, "budget": 30, "epochs": 3, "sampling": "adaptive"},
    "bsgd": {"solver": "bsgd", **RBF, "budget": 30, "epochs": 3, "maintenance": "project"},
    "sbp": {"solver": "sbp", **RBF, "polish": False},
    "sbp, held out": {"solver": "sbp", "free_bias": False, **RBF, "hold_out": 0.2},
    "pegasos": {"solver": "pegasos", **RBF, "polish": False},
    "sdca": {"solver": "sdca", **RBF, "polish": False, "sampling": "independent"},
    "sdca to a gap": {"solver": "sdca", **RBF, "gap": 1e-2, "polish": False, "epochs": 50},
    "perceptron": {"solver": "perceptron", **RBF, "polish": False},
    "smo": {"solver": "smo", **RBF},
    "smo to a gap": {"solver": "smo", **RBF, "gap": 1e-7},
    "smo without bias": {"solver": "smo", "free_bias": False, **RBF},
    "nu of two classes": {"nu": 0.4, **RBF, "gap": 1e-7, "cost": None, "example_cost": 1.0},
    "nu of one class": {"task": "one-class", "nu": 0.2, **RBF, "gap": 1e-8},
    "nu of numbers": {"task": "regression", "nu": 0.4, **RBF, "gap": 1e-5},
}


#: Their rows have weights.
WEIGHTED = {
    "few rows",
    "dual-cd",
    "newton",
    "kernel cutting-plane",
    "sampled-cuts, bare",
    "constant-cuts",
    "bsca, bare",
    "bsca, adaptive",
    "bsgd",
    "sbp, held out",
    "pegasos",
    "sdca to a gap",
    "smo to a gap",
    "smo without bias",
    "nu of two classes",
}


def examples(rng, n=300, d=12, few=False):
    """With few, rows so few and sparse that cutting planes work with combinations of them."""
    X = rng.normal(size=(n, d)).astype(np.float32)
    noise = rng.normal(size=n)
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.7 * noise > 0, 1.0, -1.0)
    indices = np.tile(np.arange(d, dtype=np.int32), n)
    if few:
        n = 40
        columns = np.sort(rng.permutation(50 * n)[: n * d].reshape(n, d) // 2, axis=1)
        columns += np.arange(d)  # each once
        rows = Csr(
            X[:n].ravel(), columns.astype(np.int32).ravel(), np.arange(0, n * d + 1, d), 30 * n
        )
        return Examples(rows, y[:n], np.arange(n) // 10, None, Source("train"))
    rows = Csr(X.ravel(), indices, np.arange(0, n * d + 1, d), d)
    return Examples(rows, y, np.arange(n) // 10, None, Source("train"))


def essence(outcome):
    """What must be the same to the last bit."""
    model, p = outcome.model, outcome.progress
    arrays = (
        (model.w,)
        if hasattr(model, "w")
        else (model.alpha, model.support.data, model.support.indices)
    )
    return (
        [array.tobytes() for array in arrays],
        model.b,
        p.primal,
        repr(outcome.gap),
        p.iteration,
        outcome.stopped_by,
    )


@pytest.mark.every(3)
@pytest.mark.parametrize("costs", [(1.0,), (0.1, 30.0)], ids=["one C", "second of a path"])
@pytest.mark.parametrize("name", RUNS)
def test_going_on_from_a_state(rng, tmp_path, name, costs):
    data, run = examples(rng, few=name.startswith("few")), RUNS[name]
    if name in WEIGHTED:
        data = replace(data, weights=rng.uniform(0.2, 3.0, len(data)))
    if name == "ranking":
        data = replace(data, weights=1.0 + data.qid % 4)
    is_sum = run.keys().isdisjoint(("task", "loss", "slack_norm"))
    costs = [(None, c) if is_sum else (c, None) for c in costs]
    trainer, states = driver(data, **run), []
    assert isinstance(getattr(trainer.plan, "space", None), RowSpace) == name.startswith("few")
    for cost in costs[:-1]:
        trainer.fit(*cost)
    whole = trainer.fit(*costs[-1], lambda progress, objective: states.append(trainer.state()))
    assert states
    places = {0, len(states) // 3, len(states) - 1}
    if len(costs) > 1:  # what the fit before leaves behind shows in any state
        places = {2 * len(states) // 3}
    for at in sorted(places & set(range(len(states)))):
        write_checkpoint(str(tmp_path / "ck"), {}, states[at], state_classes())
        _, state = read_checkpoint(str(tmp_path / "ck"), state_classes())
        resumed = driver(data, **run).fit(*costs[-1], None, state)
        assert essence(resumed) == essence(whole), f"from state {at} of {len(states)}"


def test_the_accelerated_trainers_hand_over_and_go_on(rng):
    """Both hand-overs happen among the states: to Newton's method and to cutting planes."""
    data = examples(rng)
    for solver, gap, C in (("dual-cd", 1e-10, 10.0), ("newton", 1e-15, 1.0)):
        trainer, states = driver(data, solver=solver, gap=gap), []
        whole = trainer.fit(
            None, C, lambda progress, objective, t=trainer, s=states: s.append(t.state())
        )
        handed = [state for state in states if state["solver"]["stage"] == "handed"]
        assert handed
        for state in (handed[0], handed[len(handed) // 2]):
            resumed = driver(data, solver=solver, gap=gap).fit(None, C, None, state)
            assert essence(resumed) == essence(whole)
