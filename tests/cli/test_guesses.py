# SPDX-License-Identifier: BSD-3-Clause
"""Commands, options and values that people type, and what they are told."""

import pytest
from programs import call

from svmcut.cli.commands import COMMANDS
from svmcut.cli.guesses import _COMMANDS, _OPTIONS


@pytest.mark.parametrize(
    "line, told",
    [
        ("lern a b", "no such command 'lern'; did you mean svmcut learn?"),
        ("train a b", "no such command 'train'; did you mean svmcut learn?"),
        ("predict a b c", "no such command 'predict'; did you mean svmcut classify?"),
        ("forest a", "no such command 'forest'; svmcut --help lists the commands"),
        ("learn --tube 1 a b", "option --tube is unknown; it belongs to --task regression"),
        ("rank --tube 1 a b", "it belongs to svmcut learn --task regression"),
        ("rank --task sequence a b", "option --task is unknown; it belongs to svmcut learn"),
        ("classify --cv 3 a b", "option --cv is unknown; it belongs to svmcut learn"),
        ("learn --labels a b", "option --labels is unknown; it belongs to svmcut classify"),
        ("learn --gama 1 a b", "option --gama is unknown; did you mean --gamma?"),
        ("learn --n-jobs 1 a b", "option --n-jobs is unknown; give --threads"),
        ("learn --C 1 a b", "option --C is unknown; give -c C, or --example-cost C"),
        ("learn -l hing a b", "'hing' is unknown; did you mean error-rate?"),
        ("learn -t gausian a b", "'gausian' is unknown; did you mean rbf?"),
        ("learn --xylophone a b", "option --xylophone is unknown; svmcut learn --help lists"),
        ("learn --task Rank a b", "'Rank' has a command of its own, svmcut rank; expected"),
        ("learn --task regresion a b", "'regresion' is unknown; did you mean regression?"),
        ("learn -l f2 -c 1 a b", "'f2' is unknown; "),
        ("learn -l NDCG -c 1 a b", "'NDCG' is a loss of svmcut rank; expected one of zero-one"),
        ("rank -l f1 a b", "'f1' is a loss of svmcut learn --task classification; expected one"),
        ("learn --task regression -l mean_squared_error a b", "is -l squared-epsilon-insensitive"),
        ("learn --task regression -l hinge a b", "is a loss of svmcut learn --task classification"),
    ],
)
def test_what_a_wrong_word_is_answered(capsys, line, told):
    assert call("svmcut", *line.split()) == 2
    errors = capsys.readouterr().err
    assert told in errors and errors.count("\n") == 1, errors


def test_other_names_lead_to_what_there_is():
    assert {*_COMMANDS.values()} <= COMMANDS.keys() and not _COMMANDS.keys() & COMMANDS.keys()
    for other in _OPTIONS:
        assert other.startswith("-")


def test_help_is_a_word_too(capsys):
    assert call("svmcut", "help") == 0
    assert "classify" in capsys.readouterr().out
    assert call("svmcut", "help", "scale") == 0
    assert "svmcut scale" in capsys.readouterr().out


@pytest.mark.parametrize("words", ["-l hinge", "-l ERROR_RATE", "-l 2", "-l error-rate"])
def test_spellings_of_a_loss_train_the_same_model(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train").write_text("-1 1:1\n+1 1:2 2:1\n-1 2:0.5\n+1 1:3\n")
    assert call("svmcut", "learn", "-v", "0", "-c", "1", "train", "plain") == 0
    assert call("svmcut", "learn", "-v", "0", "-c", "1", *words.split(), "train", "other") == 0
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "other").read_bytes()
