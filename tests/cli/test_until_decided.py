# SPDX-License-Identifier: BSD-3-Clause
"""learn --until-decided: what it trains to, reports and refuses."""

import json

import pytest
from programs import BENCHMARKS, call

import svmcut

DATA = BENCHMARKS.parent / "data"
TRAIN, TEST = DATA / "text.train", DATA / "text.test"


def learn(*words):
    return call("svmcut learn", *words)


def test_training_ends_where_the_share_is_decided(tmp_path, capsys):
    model, report = tmp_path / "m", tmp_path / "r"
    known = []
    for share in (0.5, 0.95):
        asked = ("--until-decided", TEST, "--fraction", share, "--report", report)
        assert learn(*asked, TRAIN, model) == 0
        told, document = capsys.readouterr().out, json.loads(report.read_text())
        count = document["decided"]
        assert f"Decided        {count} of 600 labels" in told and document["converged"]
        assert (
            document["decided_fraction"] == count / 600 >= share and document["decided_rounds"] > 0
        )
        assert call("svmcut classify", "--certify", TEST, model, tmp_path / "p") == 0
        assert f"Certified: {count} of 600 labels" in capsys.readouterr().out
        known.append(document["gap"])
    assert known[1] < known[0]
    X, _ = svmcut.load_svmlight_file(TEST, n_features=2000)
    for rows in (str(TEST), X):
        outcome = svmcut.train(str(TRAIN), until_decided=rows, fraction=0.95)
        assert outcome.details["decided"] == count and outcome.converged


def test_a_limit_ends_it_with_status_3_and_a_resumed_run_reaches_it(tmp_path, capsys):
    model, whole, kept = tmp_path / "m", tmp_path / "w", tmp_path / "c"
    asked = ("-v", "0", "--until-decided", TEST, "--checkpoint", kept)
    assert learn(*asked, TRAIN, whole) == 0
    assert learn(*asked, "--max-iterations", "3", TRAIN, model) == 3
    assert "stopped by a limit" in capsys.readouterr().err and kept.exists()
    assert learn(*asked, "--resume", TRAIN, model) == 0
    assert model.read_bytes() == whole.read_bytes()


def test_a_grid_is_chosen_first(tmp_path, capsys):
    asked = ("--until-decided", TEST, "--fraction", "0.9", "--cv", "2", "--example-cost", "0.5,2")
    assert learn(*asked, TRAIN, tmp_path / "m") == 0
    told = capsys.readouterr().out
    assert "<- selected" in told and "Decided" in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--gap", "1e-3"), "--until-decided does not go with --gap; leave one of them out"),
        (("--free-bias",), "--until-decided needs --no-free-bias"),
        (("--example-cost", "1,2"), "--until-decided trains one model"),
        (("--scheduler", "local:1"), "--until-decided and --scheduler do not go together"),
    ],
)
def test_what_it_does_not_go_with_is_refused(words, said, tmp_path, capsys):
    assert learn("--until-decided", TEST, *words, TRAIN, tmp_path / "m") == 2
    assert said in capsys.readouterr().err and not (tmp_path / "m").exists()


def test_a_share_alone_is_refused(tmp_path, capsys):
    assert learn("--fraction", "0.5", TRAIN, tmp_path / "m") == 2
    assert "add --until-decided" in capsys.readouterr().err
    assert learn("--task", "regression", "--until-decided", TEST, TRAIN, tmp_path / "m") == 2
    assert "belongs to --task" in capsys.readouterr().err
