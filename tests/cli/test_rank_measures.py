# SPDX-License-Identifier: BSD-3-Clause
"""svmcut rank -l map and -l ndcg, from file to measures."""

import json
from pathlib import Path

import numpy as np
import pytest
from programs import call

from svmcut.formats import read_model

DATA = Path(__file__).resolve().parents[2] / "data"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def document(name):
    return json.loads(Path(name).read_text(encoding="ascii"))


@pytest.mark.parametrize(("loss", "words"), [("map", ()), ("ndcg", ()), ("ndcg", ("--at", "3"))])
def test_a_model_is_trained_certified_and_measured(loss, words, folder, capsys):
    options = ["-l", loss, *words, "--gap", "1e-3", "--report", "report"]
    assert call("svmcut rank", "-c", "30", *options, DATA / "ranking.train", "model") == 0
    report = document("report")
    assert report["converged"] and report["options"]["at"] in (int(words[1]) if words else None, 10)
    assert report["options"]["loss"] == loss
    assert 0 < report["dual"] <= report["primal"] < 30  # at w = 0: 30 times a loss of at most 1
    assert (
        call("svmcut classify", "--report", "measures", DATA / "ranking.test", "model", "scores")
        == 0
    )
    measured = document("measures")
    assert measured["map"] > 0.85 and measured["ndcg@10"] > 0.85
    capsys.readouterr()


def test_epsilon_is_in_the_unit_of_the_loss(folder, capsys):
    for loss in ("map", "ndcg"):
        options = ["-c", "300", "-e", "0.01", "-l", loss, "--report", "report"]
        assert call("svmcut rank", *options, DATA / "ranking.train", "model") == 0
        assert 0 < document("report")["gap"] <= 3
    assert "Adjusted stopping criterion" not in capsys.readouterr().out


def test_a_measure_chooses_among_its_path(folder, capsys):
    path = ["-c", "1,30,1000", "-l", "map", "--validate", DATA / "ranking.test", "--select", "map"]
    assert call("svmcut rank", *path, DATA / "ranking.train", "model") == 0
    assert capsys.readouterr().out.count("<- selected") == 1
    assert read_model("model.1").w.any() and read_model("model").w.any()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-l", "map", "--at", "5"), "--at is for -l ndcg; leave it out with loss 'map'"),
        (("--at", "10"), "--at is for -l ndcg; leave it out with loss 'swapped-pairs'"),
        (("-l", "ndcg", "--at", "0"), "option --at: '0' is not a whole number of at least 1"),
        (("-l", "map", "-p", "2"), "slack norm 2 is not implemented for loss 'map'; use -p 1"),
        (
            ("-l", "map", "-t", "2", "--solver", "sampled-cuts"),
            "does not train with -l map; leave out --solver",
        ),
    ],
)
def test_what_a_measure_cannot_use_is_refused(words, told, folder, capsys):
    assert call("svmcut rank", "-c", "1", *words, DATA / "ranking.train", "model") == 2
    assert told in capsys.readouterr().err


def test_the_executable_does_not_know_them(folder, capsys):
    assert call("svm_rank_learn", "-c", "1", "-l", "ndcg", DATA / "ranking.train", "model") == 1
    assert "'ndcg' is unknown" in capsys.readouterr().err


def test_too_many_grades_are_refused_in_the_words_of_the_options(folder, capsys):
    rows = [f"{k} qid:1 1:{np.sin(k):.4f}\n" for k in range(40)]
    Path("train").write_text("".join(rows), encoding="ascii")
    assert call("svmcut rank", "-c", "1", "-l", "ndcg", "train", "model") == 1
    told = capsys.readouterr().err
    assert "train: the query of rows 1 to 40 has 40 grades" in told
    assert told.endswith("lower --at, merge grades, or use -l swapped-pairs\n")
    assert call("svmcut rank", "-c", "1", "-l", "ndcg", "--at", "2", "train", "model") == 0


def test_nothing_to_rank_is_said_in_the_terms_of_the_measure(folder, capsys):
    Path("train").write_text(
        "2 qid:1 1:1\n1 qid:1 1:2\n0 qid:2 1:3\n0.5 qid:2 1:1\n", encoding="ascii"
    )
    assert call("svmcut rank", "-c", "1", "-l", "map", "train", "model") == 0
    told = capsys.readouterr().err
    assert (
        "no query has a relevant row, of label 1 or more, and another; there is nothing to rank"
        in told
    )
    assert call("svmcut rank", "-c", "1", "-l", "ndcg", "train", "model") == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("loss", ["map", "ndcg"])
def test_a_run_that_ends_at_no_weights_says_so_with_a_remedy(loss, folder, capsys):
    rows = [f"{label} qid:{q} 1:{(q + label) % 2}" for q in range(1, 5) for label in (1, 0)]
    Path("against").write_text(
        "\n".join(rows) + "\n"
    )  # what a weight does for two queries it undoes for two
    says = (
        " leaves 100 % of the slack of w = 0: the model may be underfitted; compare larger values "
        "of C, or give -l "
    )
    for words, warned in (
        (("-c", "1", "against"), True),
        (("-c", "30", DATA / "ranking.train"), False),
    ):
        assert (
            call("svmcut rank", "-v", "0", "-l", loss, "--report", "report", *words, "model") == 0
        )
        found = [text for text in document("report")["warnings"] if "underfitted" in text]
        assert [text.partition(says)[2] for text in found] == ["swapped-pairs"] * warned
        assert warned == (not read_model("model").w.any())
    capsys.readouterr()
