# SPDX-License-Identifier: BSD-3-Clause
"""Names of labels, and labels in a file of their own."""

from pathlib import Path

import pytest
from programs import call

ROWS = ["0:1 2:0.5", "1:1", "0:0.25 1:2", "2:1"]
LABELS = ["1:1 3:1", "", "3:1.0 1:0", "1:1"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("X").write_text("4 3\n" + "\n".join(ROWS) + "\n")
    Path("Y").write_text("4 5\n" + "\n".join(LABELS) + "\n")
    return tmp_path


def test_two_files_are_joined_and_learnt_from(folder, capsys):
    assert call("svmcut convert X train --label-file Y") == 0
    expected = "4 3 5\n1,3 0:1 2:0.5\n 1:1\n3 0:0.25 1:2\n1 2:1\n"
    assert Path("train").read_text() == expected
    words = ["--task", "multilabel", "--pairs", "none", "--example-cost", "1"]
    assert call("svmcut learn -v 0", *words, "train", "model") == 0
    Path("names").write_text("zero\none\ntwo\nthe  third\n")
    assert call("svmcut classify -v 0 --label-names names train model sets") == 0
    assert call("svmcut classify -v 0 --label-names names --top 2 train model top") == 0
    assert Path("sets").read_text().splitlines()[0].split(",")[-1] in ("one", "the third", "")
    pairs = [line.split("\t") for line in Path("top").read_text().splitlines()]
    found = {pair.rsplit(":", 1)[0] for line in pairs for pair in line}
    assert [len(line) for line in pairs] == [2] * 4 and found == {"one", "the third"}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("Y", "4\n1:1\n", "Y:1: expected a first line ROWS COLUMNS"),
        ("Y", "3 5\n1:1\n\n\n", "Y:1: 3 rows, but X has 4"),
        ("Y", "4 5\n1:1\n\n5:1\n\n", "Y:4: '5:1' is no label; expected 0 to 4"),
        ("Y", "4 5\n1:1\n\n1:x\n\n", "Y:4: '1:x' is no label"),
        ("Y", "4 5\n1:1\n", "Y: the file ends before line 3"),
        ("X", "4 3\n1:1\n", "X: the file ends before line 3"),
        ("X", "", "X:1: expected a first line"),
    ],
)
def test_files_that_do_not_fit_are_refused(folder, capsys, name, text, said):
    Path(name).write_text(text)
    assert call("svmcut convert X train --label-file Y") == 1
    assert said in capsys.readouterr().err and not Path("train").exists()


def test_names_that_do_not_fit_are_refused(folder, capsys):
    assert call("svmcut convert X train --label-file Y") == 0
    words = ["--task", "multilabel", "--pairs", "none", "--example-cost", "1"]
    assert call("svmcut learn -v 0", *words, "train", "model") == 0
    for text, said in (
        ("a\nb\n", "names: 2 names, but the model has the label 3"),
        ("a\n\nb\nc\n", "names:2: the name of label 1 is empty"),
    ):
        Path("names").write_text(text)
        assert call("svmcut classify --label-names names train model out") == 1
        assert said in capsys.readouterr().err
    assert call("svmcut convert X train --label-file Y --names n") == 2
    assert "leave out --label-file" in capsys.readouterr().err
