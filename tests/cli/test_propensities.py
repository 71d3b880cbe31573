# SPDX-License-Identifier: BSD-3-Clause
"""Clicks with propensities: the risk by its definition, and svmcut rank --propensities and
svm_proprank_learn from file to model."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest
from programs import call
from reference import risks as truth

import svmcut
from svmcut.base.errors import DataError, TrainingError
from svmcut.formats import read_model
from svmcut.originals.names import LAUNCHERS
from svmcut.risks.rankings import PropensityRisk


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def clicks(rng, queries=60, rows=10, d=4):
    """Logged sessions: X, relevance, clicks, queries, and 1 over the probability that a place is
    looked at, which falls with the place; the ranker that logged knows only the last feature."""
    w = np.linspace(1.0, -1.0, d)
    X = rng.normal(size=(queries * rows, d)).round(3)
    qid = np.repeat(np.arange(1, queries + 1), rows)
    order = np.lexsort((-X[:, -1], qid))
    place = np.empty(len(X), np.int64)
    place[order] = np.tile(np.arange(rows), queries)
    relevant = X @ w + 0.3 * rng.normal(size=len(X)) > 1.0
    seen = 1.0 / (1.0 + place)
    clicked = relevant & (rng.random(len(X)) < seen)
    return X, relevant, clicked, qid, 1.0 / seen


def write(name, X, y, qid, cost=None):
    lines = []
    for i, row in enumerate(X):
        weight = f" cost:{cost[i]:g}" if cost is not None and y[i] > 0 else ""
        pairs = " ".join(f"{k}:{value:g}" for k, value in enumerate(row, 1))
        lines.append(f"{int(y[i])} qid:{qid[i]}{weight} {pairs}\n")
    Path(name).write_text("".join(lines), encoding="ascii")


def document(name):
    return json.loads(Path(name).read_text(encoding="ascii"))


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_the_cut_is_the_sum_over_pairs(n, rng):
    for trial in range(25):
        y, qid = rng.choice([-1.0, 0.0, 1.0, 2.0], n), np.sort(rng.integers(0, 3, n))
        cost = rng.choice([0.0, 1.0, 1.3, 8.25], n)
        cost[0] = 2.5
        s = (rng.normal(size=n) * rng.choice([0.3, 3.0])).round(int(rng.integers(0, 3)))
        bound = PropensityRisk().bind(y, qid, cost)
        cut = bound.linearize(s)
        assert cut.value == pytest.approx(truth.propensities(s, y, qid, cost), rel=1e-12, abs=1e-12)
        assert cut.offset + cut.coef @ s == pytest.approx(cut.value, rel=1e-11, abs=1e-11)
        elsewhere = rng.normal(size=n) * 3
        least = cut.offset + cut.coef @ elsewhere
        assert truth.propensities(elsewhere, y, qid, cost) >= least - 1e-10, trial


def test_the_cut_does_not_depend_on_threads_and_grows_with_nothing_but_the_sort(rng):
    n = 70_000
    y, cost = (rng.random(n) < 0.1) * 1.0, rng.uniform(1, 9, n)
    s = rng.normal(size=n)
    cuts = [PropensityRisk().bind(y, None, cost, threads).linearize(s) for threads in (1, 2)]
    assert cuts[0].value == cuts[1].value and cuts[0].coef.tobytes() == cuts[1].coef.tobytes()
    i = np.flatnonzero(y)[::700]
    bound = PropensityRisk().bind(np.isin(np.arange(n), i) * 1.0, None, cost)
    hinges = sum(cost[k] * (np.maximum(0, 1 - s[k] + s).sum() - 1) for k in i)
    assert bound.linearize(s).value == pytest.approx(hinges, rel=1e-10)


def test_the_sum_of_ranks_lies_below(rng):
    s, y = rng.normal(size=30), (rng.random(30) < 0.3) * 1.0
    cost = rng.uniform(1, 5, 30)
    ranks = [(s >= s[i]).sum() - 1 for i in np.flatnonzero(y)]
    assert PropensityRisk().bind(y, None, cost).linearize(s).value >= cost[y > 0] @ ranks


def test_a_model_is_trained_from_the_shell_and_by_the_name(folder, rng, capsys):
    X, _, clicked, qid, cost = clicks(rng)
    write("clicks", X, clicked, qid, cost)
    known = ("-c", "2", "-v", "0", "-e", "1e-4")
    asked = [*known, "--report", "report", "clicks", "model"]
    assert call("svmcut rank --propensities", *asked) == 0
    report = document("report")
    assert report["converged"] and report["loss"] == "propensities"
    w = read_model("model").w
    value = truth.propensities(X @ w, clicked, qid, cost)
    assert report["primal"] == pytest.approx(w @ w / 2 + 2 * value, rel=1e-5)
    assert call("svmcut rank", *known, "-l", "propensities", "clicks", "same") == 0
    assert read_model("same").w.tobytes() == w.tobytes()
    module, program = LAUNCHERS["svm_proprank_learn"].split(":")
    words = ["-c", "2", "-e", "1e-4", "clicks", "theirs"]
    assert getattr(importlib.import_module(module), program)(words) == 0
    assert np.abs(read_model("theirs").w - w).max() < 1e-2 * np.abs(w).max()
    assert getattr(importlib.import_module(module), program)(["-c", "2", "-l", "1", "clicks"]) == 1
    assert "-l" in capsys.readouterr().err


def test_costs_undo_the_bias_of_the_places(folder, rng):
    X, _, clicked, qid, cost = clicks(rng, queries=600)
    Y, best, _, test, _ = clicks(rng, queries=200)
    write("weighed", X, clicked, qid, cost)
    write("plain", X, clicked, qid)
    write("test", Y, best, test)

    def rank_of(name):
        assert call("svmcut rank --propensities -v 0 --gap 1e-3 -c 1", name, "model") == 0
        s = Y @ read_model("model").w * 1e6  # a hinge of such scores is a step
        return truth.ordinal(s, best * 1.0, test, "pairs")

    assert rank_of("weighed") < rank_of("plain")


def test_weights_of_rows_from_python_are_costs(folder, rng):
    X, _, clicked, qid, cost = clicks(rng)
    write("clicks", X, clicked, qid, cost)
    known = {"task": "rank", "loss": "propensities", "cost": 2.0, "gap": 1e-6}
    rows = (X, clicked * 1.0, qid)
    of_file = svmcut.train("clicks", **known).model.w
    given = svmcut.train(rows, weights=cost, **known).model.w
    assert np.abs(of_file - given).max() < 1e-3 * np.abs(of_file).max()
    with pytest.raises(DataError, match="one for every row"):
        svmcut.train(rows, weights=cost[:60], **known)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("1 qid:1 1:1\n0 qid:1 cost:2 1:2\n", "clicks:2: cost 2 stands on a line of label 0"),
        ("1 qid:1 cost:-1 1:1\n0 qid:1 1:2\n", "clicks:1: a click weighs -1"),
        ("1 qid:1 cost:0 1:1\n0 qid:1 cost:1 1:2\n", "all clicks weigh 0"),
    ],
)
def test_costs_that_mean_nothing_are_refused(lines, told, folder, capsys):
    Path("clicks").write_text(lines, encoding="ascii")
    assert call("svmcut rank --propensities -c 1 clicks model") in (1, 2)
    assert told in capsys.readouterr().err and not Path("model").exists()


def test_the_flag_takes_no_other_loss_and_no_clicks_are_told(folder, capsys):
    Path("clicks").write_text("0 qid:1 1:1\n0 qid:1 1:2\n", encoding="ascii")
    assert call("svmcut rank --propensities -l map -c 1 clicks model") == 2
    assert "--propensities is -l propensities; leave out -l map" in capsys.readouterr().err
    assert call("svmcut rank --propensities -c 1 clicks model") == 0
    assert "no query has a clicked row, of label above 0, and another" in capsys.readouterr().err
    with pytest.raises(TrainingError, match="qid"):
        PropensityRisk().bind(np.ones(2), np.array([2, 1]))
