# SPDX-License-Identifier: BSD-3-Clause
"""Lines of tables behind models, and lines of models, are read as written or refused with their
place."""

import numpy as np
import pytest
from programs import uncertified

import svmcut
from svmcut.base.errors import ModelError
from svmcut.base.records import replace
from svmcut.formats import read_model, write_model
from svmcut.tables.lines import format_lines, parse_lines


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model of a table with columns of every kind, as text, and its path."""
    folder = tmp_path_factory.mktemp("table")
    rng = np.random.default_rng(1)
    lines = ["y,a,b,c,t"]
    for k in range(20):
        words = " ".join(rng.choice(["alpha", "beta", "gamma"], 2))
        lines.append(f"{['no', 'yes'][k % 2]},{rng.normal():.3f},{k % 3 == 0},r{k % 2},{words}")
    (folder / "a.csv").write_text("\n".join(lines) + "\n")
    found = svmcut.train(str(folder / "a.csv"), label="y", text=["t"]).model
    write_model(str(folder / "model"), found)
    return folder / "model"


def changed(text, old, new):
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rows=20", "rows=3"),
        ("rows=20", "rows=-1"),
        ("rows=20", "rows=99999999999999999999"),
        ("term alpha ", "term alpha 9223372036854775808"),
        ("term alpha ", "term alpha -"),
        ("term alpha ", "term alpha +"),
        ("term beta", "term alpha"),
        ("ngrams=1,1", "ngrams=1,2147483648"),
        ("ngrams=1,1", "ngrams=0,1"),
        ("ngrams=1,1", "ngrams=1"),
        ("column b boolean", "column a boolean"),
        ("column b boolean", "column y boolean"),
        ("column c category r0 r1", "column c category r0 r0"),
        ("column c category r0 r1", "column c category r0 \\x"),
        ("column a number", "column a number nan"),
        ("label 2 yes", "label 3 yes"),
        ("label 2 yes", "label 2 no"),
        ("label 2 yes", "label ² yes"),
        ("#@ label 2 yes", "## label 2 yes"),
        ("column b boolean", "column b\udcff boolean"),
        ("idf=smooth", "idf=none none=idf x"),
    ],
)
def test_a_line_of_a_table_that_is_none_is_refused_with_its_place(model, tmp_path, old, new):
    text = changed(model.read_text(encoding="utf-8"), old, new)
    data = text.encode("utf-8", "surrogateescape")
    (tmp_path / "bad").write_bytes(data)
    with pytest.raises(ModelError, match=r"^\S*bad:\d+:1: line '#.*' is refused") as found:
        read_model(str(tmp_path / "bad"))
    named = int(str(found.value).split(":")[1])
    good = model.read_bytes().split(b"\n")
    differs = next(k for k, line in enumerate(data.split(b"\n"), 1) if line != good[k - 1])
    # a number of rows that is too small is told of the first word that stands in more
    assert named == differs + (new == "rows=3")


@pytest.mark.parametrize("count", ["900", "9" * 30])
def test_a_count_of_more_lines_than_there_are_is_refused(model, tmp_path, count):
    lines = uncertified(model).decode().split("\n")
    lines[-2] = f"#@ table {count} csv"
    (tmp_path / "bad").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(
        ModelError, match=f"bad:{len(lines) - 1}:1: the last line counts more lines of"
    ):
        read_model(str(tmp_path / "bad"))


def test_a_table_has_the_features_and_the_labels_of_its_model(model, tmp_path):
    lines = uncertified(model).decode().split("\n")
    count = int(lines[-2].split()[2])
    for left_out, message in (
        ("#@ column a ", "has weights of 7 features, and the columns of its table make 6"),
        ("#@ label 2 ", "has no line '#@ label 2', and predicts that label"),
    ):
        kept = [line for line in lines if not line.startswith(left_out)]
        kept[-2] = f"#@ table {count - 1} csv"
        (tmp_path / "bad").write_text("\n".join(kept), encoding="utf-8")
        with pytest.raises(ModelError, match=message):
            read_model(str(tmp_path / "bad"))


def test_lines_of_a_table_read_back(model):
    table = read_model(str(model)).table
    text = format_lines(table)
    assert format_lines(parse_lines("a", text, 1)) == text
    assert replace(table, format="tsv") != table


def test_a_fourier_model_with_a_line_more_is_refused_there(tmp_path):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(40, 3)).astype(np.float32), np.tile([-1.0, 1.0], 20)
    how = {"kernel": "rbf", "gamma": 0.5, "basis_kind": "fourier", "basis": 8}
    write_model(str(tmp_path / "model"), svmcut.train((X, y), **how).model)
    lines = (tmp_path / "model").read_text().split("\n")
    for row in ("7", lines[8], "7 8 1:1 2:1 3:1 #"):
        (tmp_path / "bad").write_text("\n".join([*lines[:11], row, *lines[11:]]))
        with pytest.raises(ModelError, match="bad:12:1: one line more than the 4 of line 4"):
            read_model(str(tmp_path / "bad"))
