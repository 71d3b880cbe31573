# SPDX-License-Identifier: BSD-3-Clause
"""Queries in a file beside the rows."""

import re
from pathlib import Path

import numpy as np
import pytest
from programs import call

import svmcut
from svmcut.base.errors import DataError
from svmcut.files.weights import read_queries

ROWS = ["2 1:1 2:0.5", "1 2:1", "1 1:0.5", "3 1:2 2:1", "2 2:3", "1 1:1"]
QIDS = [1, 1, 1, 3, 3, 3]
COUNTS = "3\n0\n3\n"
NOTE = (
    "rows has no qid, and its 6 rows are taken as one query; write qid:N into every line, or a "
    "file of this name"
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rows").write_text("\n".join(ROWS) + "\n")
    with_qid = (row.replace(" ", f" qid:{qid} ", 1) for row, qid in zip(ROWS, QIDS, strict=True))
    Path("full").write_text("\n".join(with_qid) + "\n")


@pytest.mark.parametrize(
    "name, text",
    [
        ("rows.group", COUNTS),
        ("rows.query", COUNTS.replace("\n", "\r\n")),
        ("rows.query", "1\n1\n1\n3\n3\n3"),
    ],
)
def test_rows_are_read_with_the_queries_beside(name, text, capsys):
    Path(name).write_text(text)
    assert (
        call("svmcut rank", "-v", 0, "rows", "model") == 0
        and call("svmcut rank", "-v", 0, "full", "other") == 0
    )
    assert Path("model").read_bytes() == Path("other").read_bytes()
    assert (
        svmcut.train("rows", task="rank").model.w.tobytes()
        == svmcut.train("full", task="rank").model.w.tobytes()
    )
    told = []
    capsys.readouterr()
    for examples in ("rows", "full"):
        assert call("svmcut classify", "-v", 0, examples, "model", f"{examples}.scores") == 0
        told.append(capsys.readouterr())
    assert told[0] == told[1] and not told[0].err and "Swapped pairs" in told[0].out
    assert Path("rows.scores").read_bytes() == Path("full.scores").read_bytes()
    # the originals read one file
    assert call("svm_rank_learn", "-v", 0, "-c", 1, "rows", "model") == 0
    Path(name).unlink()
    assert call("svm_rank_learn", "-v", 0, "-c", 1, "rows", "other") == 0
    assert Path("model").read_bytes() == Path("other").read_bytes()


def test_without_queries_a_line_says_that_they_are_one(capsys):
    assert call("svmcut rank", "-l", "ndcg", "-c", 10, "rows", "model") == 0
    assert (
        sum(line.startswith(f"NOTE: {NOTE}") for line in capsys.readouterr().out.splitlines()) == 1
    )
    assert call("svm_rank_learn", "-c", 1, "rows", "model") == 0
    assert call("svmcut rank", "full", "model") == 0
    assert "has no qid" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "text, told",
    [
        ("3\nx\n", "rows.group:2: 'x' is no whole number"),
        ("", "rows.group:1: '' is no whole number"),
        ("3\n-3\n", "rows.group:2: '-3' is no whole number"),
        (
            "3\n4\n",
            "rows.group: its 2 numbers are neither counts that add up to the 6 rows of rows nor "
            "one qid a row",
        ),
        ("1\n1\n3\n2\n5\n5\n", "rows.group:4: qid 2 follows 3"),
        ("9223372036854775807\n" * 2, "rows.group:1: '9223"),
    ],
)
def test_what_is_refused(text, told, capsys):
    Path("rows.group").write_text(text)
    with pytest.raises(DataError, match="^" + re.escape(told)):
        read_queries("rows.group", 6, "rows")
    assert call("svmcut rank", "-v", 0, "rows", "model") == 1 and told in capsys.readouterr().err
    Path("full.group").write_text(text)  # the lines have queries
    assert call("svmcut rank", "-v", 0, "full", "model") == 0


def test_counts_come_first():
    Path("rows.group").write_text("1\n" * 6)
    assert np.array_equal(read_queries("rows.group", 6, "rows"), np.arange(1, 7))
