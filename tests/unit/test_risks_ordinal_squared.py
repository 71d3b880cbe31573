# SPDX-License-Identifier: BSD-3-Clause
"""Squared slacks of rankings against their definition, and trained to the optimum of all
constraints."""

import json

import numpy as np
import pytest
from drivers import risk_of
from programs import call
from reference import risks as truth

from svmcut.formats import read_model
from svmcut.risks.ordinal import BoundSquaredOrdinal, SquaredOrdinalRisk

LOSSES = ("swapped-pairs", "swapped-fraction")


def put(path, X, y, qid):
    rows = (
        f"{y[i]:g} qid:{qid[i]} " + " ".join(f"{j}:{v:.9g}" for j, v in enumerate(row, 1))
        for i, row in enumerate(X)
    )
    path.write_text("\n".join(rows) + "\n")


def test_the_slow_truth_is_the_maximum_over_all_sets_of_pairs(rng):
    for _ in range(12):
        y, s = rng.choice([0.0, 1.0, 2.0], 4), rng.normal(size=4)
        expected = truth.ordinal_squared_by_sets(s, y) ** 2
        assert truth.ordinal_squared(s, y, None, "swapped-pairs") == pytest.approx(
            expected, rel=1e-12
        )


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("scale", [1e-3, 0.1, 1.0, 1e9])
def test_sizes_and_ties(name, scale, rng):
    for digits in (15, 1, 0):
        n = int(rng.integers(30, 90))
        y, qid = rng.choice([0.0, 1.0, 2.0, 9.0], n), np.sort(rng.integers(0, 4, n))
        s = scale * np.round(rng.normal(size=n), digits)
        cut = risk_of(name, slack_norm=2).bind(y, qid).linearize(s)
        assert cut.value == pytest.approx(truth.ordinal_squared(s, y, qid, name), rel=1e-12)
        assert cut.offset + cut.coef @ s == pytest.approx(cut.value, rel=1e-11)


def test_the_search_takes_few_steps(rng, monkeypatch):
    steps = []
    below = BoundSquaredOrdinal._below
    monkeypatch.setattr(
        BoundSquaredOrdinal, "_below", lambda *args: steps.append(1) or below(*args)
    )
    n = 3000
    y, s = rng.integers(0, 5, n).astype(float), rng.normal(size=n)
    for scores in (s, np.round(s, 1), np.repeat(s[: n // 2], 2)):
        for name in LOSSES:
            steps.clear()
            risk_of(name, slack_norm=2).bind(y).linearize(scores)
            assert len(steps) <= 60


def test_unknown_normalisations_are_refused():
    with pytest.raises(ValueError, match="'pairs'"):
        SquaredOrdinalRisk("pairs")


@pytest.mark.every(2)
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("c", [0.05, 1.0, 30.0])
def test_training_reaches_the_optimum_over_all_constraints(name, c, rng, tmp_path, capsys):
    X = np.round(rng.normal(size=(11, 3)), 2).astype(np.float32)
    y, qid = (
        np.array([1, 0, 2, 0, 1, 1, 0, 3, 1, 2, 0]),
        np.array([1, 1, 1, 2, 2, 2, 2, 5, 5, 5, 6]),
    )
    put(tmp_path / "train", X, y, qid)
    minimum = truth.ordinal_squared_optimum(X, y.astype(float), qid, name, c)
    words = ("-c", c, "-l", name, "-p", 2)
    options = ("-w", 0, "--gap", 1e-6, "--report", tmp_path / "report")
    assert call("svmcut rank", *words, *options, tmp_path / "train", tmp_path / "model") == 0
    report = json.loads((tmp_path / "report").read_text())
    assert report["converged"]
    assert report["dual"] <= minimum * (1 + 1e-9) and report["primal"] >= minimum * (1 - 1e-9)
    assert report["primal"] == pytest.approx(minimum, rel=2e-6)
    w = read_model(str(tmp_path / "model")).w
    at_model = 0.5 * w @ w + c * truth.ordinal_squared(X @ w, y, qid, name)
    assert at_model == pytest.approx(minimum, rel=1e-5)
    capsys.readouterr()
    for algorithm in (0, 1):
        assert (
            call(
                "svm_rank_learn",
                *(*words, "-w", algorithm, tmp_path / "train", tmp_path / f"model{algorithm}"),
            )
            == 0
        )
        printed = capsys.readouterr()
        dual = float(printed.out.partition("dval=")[2].split()[0])
        assert dual <= minimum * (1 + 1e-5) and printed.err == ""
        assert "Norm of weight vector (including L2-loss): |w|=" in printed.out
        epsilon = 0.001 * (10 / 4 if name == "swapped-pairs" else 1)
        assert minimum - dual <= c * epsilon * 1.001 + 1e-5
        assert (f"maximum loss: eps={epsilon:.6f}" in printed.out) == (name == "swapped-pairs")
    assert (tmp_path / "model0").read_bytes() == (tmp_path / "model1").read_bytes()
    assert (
        call("svm_rank_learn", *words, tmp_path / "train", tmp_path / "no") == 1
    )  # -w 3 is its default
    assert "goes with -w 0 or 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [("-t", 2, "-g", 0.5), ("-t", 1, "-d", 2, "--solver", "subspace")]
)
def test_kernels(words, rng, tmp_path):
    X, qid = rng.normal(size=(40, 3)), np.repeat(np.arange(5), 8)
    put(tmp_path / "train", X, np.round(X[:, 0] + rng.normal(size=40)), qid)
    status = call(
        "svmcut rank",
        *("-c", 0.5, "-p", 2, "-v", 0, "--report", tmp_path / "report", *words, tmp_path / "train"),
        tmp_path / "model",
    )
    report = json.loads((tmp_path / "report").read_text())
    assert status == 0 and report["converged"] and 0 <= report["dual"] <= report["primal"]


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSSES)
def test_certificates_of_many_sets(name, rng, tmp_path):
    for trial in range(30):
        n, d = int(rng.integers(5, 13)), int(rng.integers(1, 5))
        X = np.round(rng.normal(size=(n, d)) * rng.choice([0.1, 1.0, 10.0]), 2).astype(np.float32)
        qid = np.sort(rng.integers(0, 4, n))
        y = np.concatenate([rng.permutation(m) % 3 for m in np.unique(qid, return_counts=True)[1]])
        if max(len(truth.sets_of_pairs(y[qid == q])) for q in np.unique(qid)) > 300 or len(y) < 2:
            continue
        c = float(rng.choice([0.01, 0.3, 5.0, 100.0]))
        put(tmp_path / "train", X, y, qid)
        call(
            "svmcut rank",
            *("-c", c, "-l", name, "-p", 2, "-v", 0, "--gap", 1e-6),
            *("--report", tmp_path / "report", tmp_path / "train", tmp_path / "model"),
        )
        report = json.loads((tmp_path / "report").read_text())
        if report["primal"] == 0.0:
            continue
        minimum = truth.ordinal_squared_optimum(X, y.astype(float), qid, name, c)
        assert report["dual"] <= minimum * (1 + 1e-6), trial
        assert report["primal"] >= minimum * (1 - 1e-6), trial
        assert report["gap"] <= 1.01e-6 * report["primal"], trial
