# SPDX-License-Identifier: BSD-3-Clause
"""Files as people have them: what is said of those that cannot be learnt from, and how others are
read."""

import csv
import gzip
import io
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from programs import call

import svmcut
from svmcut.base.errors import DataError

HEAD = ["name", "age", "city name", "joined", "income", "churn", "last comment"]
OF_ALL = ("--label", "churn", "--drop", "name,joined", "--text", "last comment")


def people(n=60, seed=3):
    """Rows of customers: ids, holes, commas, quotes, dates and comments over two lines."""
    rng = np.random.default_rng(seed)
    cities = ["Paris", "Berlin, Mitte", 'New "York"']
    rows = []
    for k in range(n):
        age, income = int(rng.integers(18, 80)), int(rng.integers(500, 5000))
        note = ['said "hi",\nthen left', "fine service", "slow and late"][k % 3] + f" {k}"
        churn = "yes" if age < 40 else "no"
        date = f"2020-{k % 12 + 1:02d}-{k % 28 + 1:02d}"
        shown = "" if k % 9 == 4 else age
        rows.append([f"P{k}", shown, cities[k % 3], date, income, churn, note])
    return rows


def write(path, rows, head=HEAD, sign=",", encoding="utf-8"):
    text = io.StringIO()
    csv.writer(text, delimiter=sign).writerows([head, *rows])
    path.write_bytes(text.getvalue().encode(encoding))
    return path


def model_of(path, capsys):
    model = path.with_suffix(".model")
    assert call("svmcut learn", path, model, *OF_ALL) == 0
    assert capsys.readouterr().err == ""
    return model.read_bytes()


def test_semicolons_marks_and_packed_files_give_the_same_model(tmp_path, capsys):
    plain = model_of(write(tmp_path / "plain.csv", people()), capsys)
    for name, sign, encoding in (("semi", ";", "utf-8"), ("bom", ",", "utf-8-sig")):
        path = write(tmp_path / f"{name}.csv", people(), sign=sign, encoding=encoding)
        assert model_of(path, capsys) == plain
    packed = tmp_path / "packed.csv.gz"
    packed.write_bytes(gzip.compress((tmp_path / "plain.csv").read_bytes()))
    assert model_of(packed, capsys) == plain


def with_column(place, change):
    return [
        [*row[:place], change(k, row[place]), *row[place + 1 :]] for k, row in enumerate(people())
    ]


ONE = ("--drop", "name,joined", "--text", "last comment")
REFUSED = [
    (
        people(),
        (),
        "people.csv: 3 columns are neither numbers nor categories: 'name' (60 different texts, "
        "such as 'P0'), 'joined' (dates, such as '2020-01-01'), 'last comment' (60 different "
        "texts, such as 'said \"hi\",\\nthen left 0'); give --drop name,joined --text "
        "'last comment'",
    ),
    (
        with_column(4, lambda k, old: "abc" if k == 5 else old),
        ONE,
        "people.csv: column 'income' holds numbers and 'abc'; correct that or leave the cell "
        "empty, or take all as --categories income",
    ),
    (
        with_column(4, lambda k, old: f"{old},5"),
        ONE,
        "people.csv: column 'income' holds numbers with a decimal comma, such as ",
    ),
    (
        people(),
        ("--drop", "nam,joined"),
        "svmcut learn: --drop names 'nam', which is no column of people.csv; did you mean 'name'?",
    ),
]


@pytest.mark.parametrize(("rows", "options", "message"), REFUSED)
def test_columns_that_cannot_be_learnt_from_are_named_with_the_remedy(
    rows, options, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "people.csv", rows)
    assert call("svmcut learn", "people.csv", "model", "--label", "churn", *options) in (1, 2)
    assert capsys.readouterr().err.startswith(message)
    assert not (tmp_path / "model").exists()


def test_the_remedy_in_python_is_python(tmp_path):
    path = write(tmp_path / "people.csv", people())
    with pytest.raises(DataError, match=r"give drop=\['name', 'joined'\] text=\['last comment'\]$"):
        svmcut.train(path, label="churn")
    svmcut.train(path, label="churn", drop=["name", "joined"], text=["last comment"])


def test_labels_and_their_likely_column_are_worded(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "people.csv", people())
    assert call("svmcut learn", "people.csv", "model") == 2
    assert capsys.readouterr().err.endswith("name the label as in --label churn\n")
    write(tmp_path / "last.csv", people(), ["a", "b", "c", "d", "e", "f", "what then"])
    assert call("svmcut learn", "last.csv", "model") == 2
    assert capsys.readouterr().err.endswith("name the label as in --label 'what then'\n")
    assert call("svmcut learn", "people.csv", "model", "--label", "Churn") == 2
    assert capsys.readouterr().err.endswith("did you mean 'churn'?\n")
    write(tmp_path / "one.csv", [[*row[:5], "yes", row[6]] for row in people()])
    assert call("svmcut learn", "one.csv", "model", *OF_ALL) == 0
    assert "all 60 labels of one.csv are yes; there is no other class" in capsys.readouterr().err


def workbook(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("xl/workbook.xml", "<workbook/>")


@pytest.mark.parametrize("options", [(), ("--label", "y")])
@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        ("sales.xlsx", workbook, "is an Excel workbook or a ZIP archive; save its sheet as CSV"),
        (
            "old.xls",
            lambda path: path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
            "is an Excel workbook; save its sheet as CSV",
        ),
        ("part", lambda path: path.write_bytes(b"PAR1\x15\x04"), "add --input parquet"),
        ("folder", lambda path: path.mkdir(), "Is a directory"),
    ],
)
def test_files_of_other_kinds_are_called_by_their_kind(
    name, make, message, options, tmp_path, capsys
):
    make(tmp_path / name)
    assert call("svmcut learn", tmp_path / name, tmp_path / "model", *options) == 1
    assert message in capsys.readouterr().err


def test_texts_of_other_encodings_name_the_program_that_converts_them(tmp_path, capsys):
    rows = with_column(2, lambda k, old: "Zürich")
    for encoding in ("latin-1", "utf-16"):
        path = write(tmp_path / "people.csv", rows, encoding=encoding)
        assert call("svmcut learn", path, tmp_path / "model", *OF_ALL) == 1
        told = "; save the file as UTF-8, or convert it with iconv\n"
        assert capsys.readouterr().err.endswith(told)


def test_no_model_and_other_slips(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "people.csv", people())
    assert call("svmcut classify", "people.csv", "people.csv", "out") == 1
    assert capsys.readouterr().err.startswith("people.csv:1:1: no model; it starts with 'name,age")
    assert call("svmcut learn", "--version") == 2
    assert "svmcut --version prints it" in capsys.readouterr().err
    assert call("svmcut learn", "-B", "1", "people.csv", "model") == 2
    assert "option -B is unknown; give --b" in capsys.readouterr().err


def test_the_first_screen_has_examples_that_are_commands():
    words = [sys.executable, "-m", "svmcut", "--help"]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "svmcut learn people.csv model --label" in text and max(map(len, text.splitlines())) < 81


def test_classify_prints_what_matters_and_its_steps_when_asked(tmp_path, capsys):
    path, model = write(tmp_path / "people.csv", people()), tmp_path / "model"
    assert call("svmcut learn", path, model, *OF_ALL, "-v", "0") == 0
    assert call("svmcut classify", path, model, tmp_path / "out") == 0
    assert capsys.readouterr().out.startswith("Positive class: yes\n\nAccuracy ")
    bare = write(tmp_path / "new.csv", [[*r[:5], r[6]] for r in people(7)], [*HEAD[:5], HEAD[6]])
    assert call("svmcut classify", bare, model, tmp_path / "out") == 0
    assert capsys.readouterr().out == "7 predictions written\n"
    assert call("svmcut classify", "-v", "2", bare, model, tmp_path / "out") == 0
    assert capsys.readouterr().out.startswith("Reading model...done.\nReading test examples...")
