# SPDX-License-Identifier: BSD-3-Clause
"""svmcut convert writes tables as examples for other programs."""

import sys

import numpy as np
import pytest
from programs import call, forked
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import TfidfVectorizer

TEXTS = ["free money now", "meeting at ten", "free offer", "hello there"]
MAIL = "label,text\n" + "".join(
    f"{label},{text}\n" for label, text in zip(("spam", "ham") * 2, TEXTS)
)


@pytest.fixture
def mail(tmp_path):
    path = tmp_path / "mail.csv"
    path.write_text(MAIL, encoding="utf-8")
    return path


def test_a_table_is_written_as_examples_with_the_names_of_its_features(mail, tmp_path, capsys):
    out, names = tmp_path / "out.svm", tmp_path / "names"
    words = ["--label", "label", "--text", "text", "--names", names]
    assert call("svmcut convert", mail, out, *words) == 0
    X, y = load_svmlight_file(str(out))
    theirs = TfidfVectorizer().fit(TEXTS)
    np.testing.assert_allclose(X.toarray(), theirs.transform(TEXTS).toarray(), rtol=1e-6)
    assert y.tolist() == [1, -1, 1, -1]
    found = names.read_text(encoding="utf-8").split()
    assert found == [*theirs.get_feature_names_out()]
    shown = capsys.readouterr().out
    assert "text: 9 words" in shown and "-1 is ham and 1 is spam" in shown


def test_what_is_not_said_is_asked_for(mail, tmp_path, capsys):
    assert call("svmcut convert", mail, tmp_path / "out.svm") == 2
    shown = capsys.readouterr().err
    assert "has the columns label and text; name the label as in --label label" in shown
    assert call("svmcut convert", mail, tmp_path / "out.svm", "--label", "label") == 1
    assert "take them as --text text or as --categories text, or" in capsys.readouterr().err
    assert call("svmcut convert", mail.rename(tmp_path / "mail"), tmp_path / "out.svm") == 2
    assert "say what it is by --input csv or text" in capsys.readouterr().err
    assert not (tmp_path / "out.svm").exists()


def test_classes_sets_queries_and_weights_are_written(tmp_path):
    table, out = tmp_path / "a.csv", tmp_path / "out"
    table.write_text("y,q,w,x\nb|a,1,2,5\na,1,1,6\nc,2,1,7\n", encoding="utf-8")
    words = ["--label", "y", "--standardise", "off"]
    assert call("svmcut convert", table, out, *words, "--group", "q", "--weight-column", "w") == 0
    assert out.read_text().splitlines() == [
        "2 qid:1 cost:2.0 1:5",
        "1 qid:1 cost:1.0 1:6",
        "3 qid:2 cost:1.0 1:7",
    ]
    assert call("svmcut convert", table, out, *words, "--columns", "x,q", "--sets") == 0
    assert [line.split(" ")[0] for line in out.read_text().splitlines()] == ["1,2", "1", "3"]


def test_without_pyarrow_the_remedy_is_said_and_texts_are_read(mail, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = forked("svmcut convert", mail, tmp_path / "out", "--label", "label")
    assert done.returncode == 2 and "pip install pyarrow" in done.stderr
    lines = tmp_path / "lines.txt"
    lines.write_text("spam\tfree money\nham\thello\n", encoding="utf-8")
    done = forked("svmcut convert", lines, tmp_path / "out", "--input", "text")
    assert done.returncode == 0 and "3 words" in done.stdout
