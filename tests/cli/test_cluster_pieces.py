# SPDX-License-Identifier: BSD-3-Clause
"""Machines of classes that workers share: the bytes of one machine, with checkpoints, in any order.
Workers are threads here; other hands are functions."""

import json
from itertools import pairwise

import numpy as np
import pytest
from programs import call

pytest.importorskip("distributed")
from dask.distributed import Client

import svmcut
import svmcut.dask
from svmcut.api import complete, examples_of
from svmcut.base.errors import UsageError
from svmcut.loading import Fitted
from svmcut.solvers import one_vs_rest
from svmcut.spec.schemas import StateError
from svmcut.training import pieces

RNG = np.random.default_rng(1)
X = RNG.normal(size=(150, 4))
Y = (X @ RNG.normal(size=(4, 4)) + 0.3 * RNG.normal(size=(150, 4))).argmax(1)
RBF = {"kernel": "rbf", "gamma": 0.3, "example_cost": 2.0}
ELEVEN = (X @ RNG.normal(size=(4, 11)) + 0.3 * RNG.normal(size=(150, 11))).argmax(1)
LINEAR = {"multiclass": "one-vs-rest", "example_cost": 2.0, "gap": 1e-4}
WAYS = {
    "one-vs-one": RBF,
    "one-vs-rest": RBF,
    "subspace": {**RBF, "multiclass": "one-vs-one", "solver": "subspace", "basis": 30},
    "linear": LINEAR,
    "squared": {**LINEAR, "loss": "squared-hinge"},
    "newton": {**LINEAR, "solver": "newton", "free_bias": True},
    "absolute": {**LINEAR, "gap": None, "epsilon": 0.001},
}


@pytest.fixture(scope="module")
def client():
    """Of two workers, threads of this process."""
    few = {"n_workers": 2, "threads_per_worker": 1, "processes": False}
    with Client(**few, dashboard_address="127.0.0.1:0") as client:
        yield client


def rows_of(way):
    return X, ELEVEN if WAYS[way].get("multiclass") == "one-vs-rest" else Y


def asked(way):
    return {"multiclass": way, **WAYS[way]}


def driver_of(way, hands, **more):
    own, examples, settings, _ = examples_of(rows_of(way), "multiclass", None, asked(way) | more)
    driver = own.plan(examples, settings)
    pieces.split(driver, examples, hands)
    return driver, examples


def saved(outcome, path):
    outcome.save(path)
    return path.read_bytes()


def backwards(work, objective, open_now, left):
    yield from pieces.here(work, objective, open_now[::-1], left)


@pytest.mark.parametrize("way", WAYS)
def test_pieces_in_any_order_are_the_model_of_one_machine(tmp_path, way):
    whole = svmcut.train(rows_of(way), task="multiclass", **asked(way))
    driver, examples = driver_of(way, backwards)
    steps = []
    outcome = driver.fit(None, 2.0, lambda progress, objective: steps.append(progress))
    outcome.model = complete(outcome, examples, driver.settings)
    assert saved(Fitted.of(outcome), tmp_path / "a") == saved(whole, tmp_path / "b")
    assert len(steps) > 2 and outcome.gap == whole.gap
    assert all(a.dual <= b.dual for a, b in pairwise(steps))
    assert [step.extra["pieces_over"] for step in steps] == [*range(len(steps))]


@pytest.mark.parametrize("gap", [0.3, 0.1, 0.03])
def test_machines_against_the_rest_end_with_their_sums(monkeypatch, gap):
    monkeypatch.setattr(one_vs_rest, "ENTRIES", 2000)
    monkeypatch.setattr(one_vs_rest, "ALPHAS", 2000)  # several waves
    again, so_far = [], one_vs_rest.GroupRun.so_far
    monkeypatch.setattr(
        one_vs_rest.GroupRun, "so_far", lambda *how: again.append(how) or so_far(*how)
    )
    whole = svmcut.train((X, ELEVEN), task="multiclass", **LINEAR | {"gap": gap})
    driver, _ = driver_of("linear", backwards, gap=gap)
    outcome = driver.fit(None, 2.0)
    assert outcome.model.W.tobytes() == whole.model.W.tobytes() and outcome.dual == whole.dual
    assert outcome.progress.iteration == whole.progress.iteration
    assert gap > 0.1 or again  # some machines were over their own target when the sums met theirs


def test_a_checkpoint_keeps_the_pieces_that_are_over(tmp_path):
    whole, _ = driver_of("one-vs-one", pieces.here)
    trained, states = [], []

    def counted(work, objective, open_now, left):
        trained.extend(open_now)
        yield from pieces.here(work, objective, open_now, left)

    outcome = whole.fit(None, 2.0, lambda *_: states.append(whole.state()))
    again, _ = driver_of("one-vs-one", counted)
    found = again.fit(None, 2.0, None, states[4])
    assert trained == [4, 5] and found.model.alpha.tobytes() == outcome.model.alpha.tobytes()


def test_groups_against_the_rest_go_on_from_a_checkpoint_too():
    driver, _ = driver_of("linear", pieces.here)
    states = []
    outcome = driver.fit(None, 2.0, lambda *_: states.append(driver.state()))
    again, _ = driver_of("linear", backwards)
    found = again.fit(None, 2.0, None, states[1])
    assert found.model.W.tobytes() == outcome.model.W.tobytes() and found.converged
    states[1]["solver"]["over"][0][1].details["piece"]["W"][0, 0] = np.nan
    with pytest.raises(StateError, match="W"):
        driver_of("linear", pieces.here)[0].fit(None, 2.0, None, states[1])


def test_what_workers_cannot_share_is_refused():
    with pytest.raises(UsageError, match="'max_iterations' counts the steps of one machine"):
        driver_of("one-vs-one", pieces.here, max_iterations=5)


def test_a_limit_leaves_the_machines_before_the_first_that_is_missing():
    def two(work, objective, open_now, left):
        yield from pieces.here(work, objective, [0, 1, 3], left)
        raise KeyboardInterrupt

    driver, _ = driver_of("one-vs-one", two)
    outcome = driver.fit(None, 2.0)
    assert outcome.stopped_by == "interrupt" and len(outcome.details["machines"]) == 2
    assert outcome.primal > outcome.dual and not outcome.model.b[2:].any()


@pytest.mark.parametrize("way", ["one-vs-one", "linear"])
def test_workers_share_machines(client, tmp_path, way, capsys):
    rows = [
        f"{label} " + " ".join(f"{j + 1}:{x:.5f}" for j, x in enumerate(row))
        for label, row in zip(Y + 1, X, strict=True)
    ]
    path = tmp_path / "train.dat"
    path.write_text("\n".join(rows) + "\n")
    kernel = way == "one-vs-one"
    own = ("svmcut learn", "--multiclass", way if kernel else "one-vs-rest", path)
    own += ("-t", "rbf", "-g", "0.3") if kernel else ("--gap", "1e-4")
    there = ("--scheduler", client.scheduler.address, "--report", tmp_path / "report")
    checkpoint = ("--checkpoint", tmp_path / "checkpoint", "--checkpoint-every", "0.001")
    assert call(*own, tmp_path / "here") == 0, capsys.readouterr().err
    assert call(*own, tmp_path / "there", *there, *checkpoint) == 0, capsys.readouterr().err
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()
    assert json.loads((tmp_path / "report").read_text())["iterations"] > 1
    file = tmp_path / "state"
    how = {"multiclass": way if kernel else "one-vs-rest", "checkpoint": file}
    how |= {"kernel": "rbf", "gamma": 0.3} if kernel else {"gap": 1e-4}
    outcome = svmcut.dask.train(client, path, example_cost=[0.1, 1.0], **how)[1]
    assert saved(outcome, tmp_path / "python") == (tmp_path / "here").read_bytes()
    assert not file.exists()


def test_two_classes_of_a_kernel_are_one_piece(client):
    with pytest.raises(UsageError, match="one piece of work, which workers cannot share"):
        svmcut.dask.train(client, (X, Y > 1), kernel="rbf")
