# SPDX-License-Identifier: BSD-3-Clause
"""Chains and label sets, every solver: a fit that goes on ends in the bytes of one that never
stopped."""

import numpy as np
import pytest
from drivers import driver

from svmcut.base.records import replace
from svmcut.data.examples import Csr, MultilabelExamples, Sequences, Source
from svmcut.data.label_clusters import build_label_tree
from svmcut.files.checkpoints import read_checkpoint, write_checkpoint
from svmcut.spec.schemas import state_classes

CHAINS = {
    "bcfw": ("bcfw", 1e-3, {}, 5),
    "bcfw of higher orders": ("bcfw", 1e-2, {"transitions": 2, "emissions": 1}, 4),
    "ssg": ("ssg", 0.1, {}, 5),
    "gdmm": ("gdmm", 1e-2, {}, 5),
    "gdmm, many tags": ("gdmm", 1e-1, {}, 70),
    "gdmm, parts of the tags": ("gdmm", 1e-2, {"parts": 2}, 5),
    "soft-bcfw": ("soft-bcfw", 0.3, {}, 5),
    "cutting-plane": ("cutting-plane", 1e-2, {}, 5),
    "cutting-plane, beam": ("cutting-plane", 5e-2, {"beam": 2}, 5),
}
SCALED = {
    "slack": {"rescaling": "slack"},
    "zero-one": {"loss": "zero-one"},
    "squared": {"slack_norm": 2},
    "squared slack": {"rescaling": "slack", "slack_norm": 2},
}
LABELS = {
    "gdmm": ("gdmm", 1e-2, True),
    "gdmm, parts of the labels": ("gdmm", 1e-2, True),
    "gdmm without pairs": ("gdmm", 1e-3, False),
    "bcfw": ("bcfw", 1e-2, True),
    "bcfw without pairs": ("bcfw", 1e-2, False),
    "ssg": ("ssg", 0.2, True),
    "soft-bcfw": ("soft-bcfw", 0.3, True),
    "cutting-plane": ("cutting-plane", 5e-2, True),
}
#: They are given weights.
WEIGHTED = ("bcfw", "ssg", "soft-bcfw")


def rows(rng, n, d):
    X = rng.normal(size=(n, d)).astype(np.float32)
    return X, Csr(
        X.ravel(), np.tile(np.arange(d, dtype=np.int32), n), np.arange(0, n * d + 1, d), d
    )


def sequences(rng, n_tags, n=40, d=6):
    """Tags that follow one another by a rule, and features that say a part of them."""
    indptr = np.concatenate([[0], np.cumsum(rng.integers(1, 9, n))]).astype(np.int64)
    tokens = int(indptr[-1])
    X, csr = rows(rng, tokens, d)
    own = (X @ rng.normal(size=(d, n_tags)) + rng.normal(size=(tokens, n_tags))).argmax(axis=1)
    tags = np.where(rng.random(tokens) < 0.3, np.roll(own, 1), own).astype(np.int32)
    tags[:n_tags] = np.arange(n_tags)
    return Sequences(csr, indptr, tags, Source("train"))


def label_sets(rng, n=80, d=8, K=6):
    X, csr = rows(rng, n, d)
    scores = X @ rng.normal(size=(d, K)) + 0.7 * rng.normal(size=(n, K))
    gold = scores > 0.5
    gold[:, 1] |= gold[:, 0] & (rng.random(n) < 0.8)
    indptr = np.concatenate([[0], np.cumsum(gold.sum(axis=1))]).astype(np.int64)
    return MultilabelExamples(
        csr, np.arange(K) + 3, indptr, np.nonzero(gold)[1].astype(np.int32), Source("train")
    )


def essence(outcome):
    """What must be the same to the last bit."""
    model, p = outcome.model, outcome.progress
    arrays = [
        value
        for value in (getattr(model, name, None) for name in ("w", "W", "v", "alpha"))
        if value is not None
    ]
    numbers = (
        p.iteration,
        p.passes,
        p.primal,
        p.dual,
        p.cuts,
        p.support,
        p.slack,
        p.risk,
        outcome.longest_cut,
    )
    return [array.tobytes() for array in arrays], repr(numbers), outcome.stopped_by


def check_going_on(make, costs, tmp_path):
    """From the first, the last and states between, through a file and in a new trainer."""
    trainer, states = make(), []
    for cost in costs[:-1]:
        trainer.fit(None, cost)
    whole = trainer.fit(None, costs[-1], lambda progress, objective: states.append(trainer.state()))
    assert len(states) > 3
    assert whole.progress.iteration > 1
    for at in sorted(
        {0, 1, len(states) // 3, 2 * len(states) // 3, len(states) - 2, len(states) - 1}
    ):
        write_checkpoint(str(tmp_path / "ck"), {}, states[at], state_classes())
        _, state = read_checkpoint(str(tmp_path / "ck"), state_classes())
        resumed = make().fit(None, costs[-1], None, state)
        assert essence(resumed) == essence(whole), f"from state {at} of {len(states)}"


@pytest.mark.every(2)
@pytest.mark.parametrize("costs", [(0.3,), (0.02, 0.3)], ids=["one C", "second of a path"])
@pytest.mark.parametrize("name", CHAINS)
def test_chains_go_on_from_a_state(rng, tmp_path, name, costs):
    solver, gap, orders, n_tags = CHAINS[name]
    data = sequences(rng, n_tags)
    if solver in WEIGHTED:
        data = replace(data, weights=rng.uniform(0.2, 3.0, len(data)))
    check_going_on(
        lambda: driver(data, task="sequence", solver=solver, gap=gap, **orders), costs, tmp_path
    )


@pytest.mark.parametrize("costs", [(0.3,), (0.02, 0.3)], ids=["one C", "second of a path"])
@pytest.mark.parametrize("name", SCALED)
def test_chains_of_other_risks_go_on_from_a_state(rng, tmp_path, name, costs):
    data = sequences(rng, 5)
    if name in ("slack", "squared slack"):
        data = replace(data, weights=rng.uniform(0.2, 3.0, len(data)))
    check_going_on(lambda: driver(data, task="sequence", gap=5e-2, **SCALED[name]), costs, tmp_path)


@pytest.mark.parametrize("costs", [(0.3,), (0.02, 0.3)], ids=["one C", "second of a path"])
@pytest.mark.parametrize("solver", ["cutting-plane", "sampled-cuts"])
def test_chains_with_a_kernel_go_on_from_a_state(rng, tmp_path, solver, costs):
    data, own = sequences(rng, 5), {"sample_size": 10} if solver == "sampled-cuts" else {}
    data = replace(data, weights=rng.uniform(0.2, 3.0, len(data)))
    known = {
        "solver": solver,
        "gap": 2e-2,
        "kernel": "rbf",
        "gamma": 0.3,
        "cache_size": 0.01,
        **own,
    }
    check_going_on(lambda: driver(data, task="sequence", **known), costs, tmp_path)


@pytest.mark.parametrize("costs", [(0.3,), (0.02, 0.3)], ids=["one C", "second of a path"])
@pytest.mark.parametrize("name", LABELS)
def test_label_sets_go_on_from_a_state(rng, tmp_path, name, costs):
    solver, gap, pairs = LABELS[name]
    data = label_sets(rng)
    if solver in WEIGHTED:
        data = replace(data, weights=rng.uniform(0.2, 3.0, len(data)))
    known = {"solver": solver, "gap": gap, "pairs": "all" if pairs else "none"} | (
        {"parts": 3} if "," in name else {}
    )
    check_going_on(lambda: driver(data, task="multilabel", **known), costs, tmp_path)


@pytest.mark.parametrize("prune", [None, 0.05, "auto"])
def test_labels_in_lanes_go_on_inside_a_block(rng, tmp_path, monkeypatch, prune):
    monkeypatch.setattr("svmcut.solvers.label_lanes.ENTRIES", 1)
    data = label_sets(rng)
    known = {"task": "multilabel", "pairs": "none", "gap": 1e-3, "label_block": 64, "prune": prune}
    check_going_on(lambda: driver(data, **known), (0.3,), tmp_path)


@pytest.mark.parametrize("prune", [None, 0.05])
def test_a_tree_of_labels_goes_on_inside_its_nodes(rng, tmp_path, monkeypatch, prune):
    monkeypatch.setattr("svmcut.solvers.label_lanes.ENTRIES", 1)
    tree = build_label_tree
    monkeypatch.setattr(
        "svmcut.training.label_sets.build_label_tree", lambda *given: tree(*given, 2)
    )
    data = label_sets(rng)
    known = {"task": "multilabel", "pairs": "none", "gap": 1e-3, "tree": True, "prune": prune}
    check_going_on(lambda: driver(data, **known), (0.3,), tmp_path)


RUNS = {
    "bcfw": (sequences, "bcfw", "blocks"),
    "gdmm": (sequences, "gdmm", "descent"),
    "label bcfw": (label_sets, "bcfw", "blocks"),
    "label gdmm": (label_sets, "gdmm", "descent"),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_state_that_does_not_fit_is_refused(rng, name):
    make_data, solver, key = RUNS[name]
    samples = "sequences" if make_data is sequences else "examples"
    known = {"solver": solver, "gap": 1e-2, "max_iterations": 20}
    known["task"], data = (
        ("sequence", sequences(rng, 5))
        if make_data is sequences
        else ("multilabel", label_sets(rng))
    )
    make = lambda: driver(data, **known)  # noqa: E731
    trainer = make()
    trainer.fit(None, 0.3)
    state = trainer.state()
    own = state["solver"]["first"]["solver"]
    holder = own if key == "blocks" else own["factors"]
    integers, reals = holder[key]["integers"], holder[key]["reals"]
    far = integers.copy()
    far[-40:] += 10**9
    for damaged in (
        (integers[:-1], reals),
        (integers, reals[:-1]),
        (integers, np.append(reals, 0.0)),
        (far, reals),
    ):
        holder[key] = {"integers": damaged[0], "reals": damaged[1]}
        with pytest.raises(ValueError, match=f"the state is not one of these {samples}"):
            make().fit(None, 0.3, None, state)
    holder[key] = {"integers": integers, "reals": reals}
    make().fit(None, 0.3, None, state)


@pytest.mark.parametrize("make_data", [sequences, label_sets])
def test_long_cuts_are_kept_whole(rng, monkeypatch, make_data):
    """Where a vector machine keeps coefficients of rows, labels and their scores have none to
    keep."""
    if make_data is sequences:
        data, known = sequences(rng, 5, n=4, d=20), {"task": "sequence"}
    else:
        data, known = (
            label_sets(rng, n=20, d=100),
            {"task": "multilabel", "bias": 0.0, "pairs": "none"},
        )
    make = lambda: driver(data, solver="cutting-plane", gap=1e-2, **known)  # noqa: E731
    whole = make().fit(None, 0.3)
    monkeypatch.setattr("svmcut.spaces.linear.LARGE_DIM", 10)
    assert essence(make().fit(None, 0.3)) == essence(whole)
