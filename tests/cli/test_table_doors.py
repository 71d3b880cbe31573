# SPDX-License-Identifier: BSD-3-Clause
"""Tables with dates, under a limit of memory, and without the library that reads them."""

import builtins
import datetime
import json
import subprocess
import sys

import numpy as np
import pytest
from programs import call

import svmcut
from svmcut.base.errors import UsageError
from svmcut.tables import cells

pa = pytest.importorskip("pyarrow")


def dated(kind, n=24):
    """Rows of a label, a number and a date that says the label."""
    rng = np.random.default_rng(0)
    days = [datetime.datetime(2020, 1, 1 + k % 4, 10 * (kind == "time")) for k in range(n)]
    values = {"date": [day.date() for day in days], "clock": [day.time() for day in days]}
    labels = ["b" if k % 2 else "a" for k in range(n)]
    return {"y": labels, "x": rng.normal(size=n).tolist(), "d": values.get(kind, days)}


def written(path, rows):
    from pyarrow import ipc, parquet

    if path.suffix == ".parquet":
        parquet.write_table(pa.table(rows), path)
    elif path.suffix == ".arrow":
        with ipc.new_file(path, pa.table(rows).schema) as file:
            file.write_table(pa.table(rows))
    else:
        texts = rows | {"d": [str(day).removesuffix(" 00:00:00") for day in rows["d"]]}
        lines = [dict(zip(texts, row, strict=True)) for row in zip(*texts.values(), strict=True)]
        path.write_text(
            "".join(json.dumps(line) + "\n" for line in lines)
            if path.suffix == ".jsonl"
            else ",".join(texts) + "\n" + "".join("{y},{x},{d}\n".format(**row) for row in lines)
        )
    return path


@pytest.mark.parametrize("kind", ["moment", "time", "date"])
@pytest.mark.parametrize("ending", ["jsonl", "parquet", "arrow"])
def test_what_the_refusal_of_dates_says_helps(tmp_path, capfd, kind, ending):
    train = written(tmp_path / f"t.{ending}", dated(kind))
    learn = ("svmcut learn", "-v", 0, "--label", "y", train, tmp_path / "model")
    assert call(*learn) == 1
    told = capfd.readouterr().err
    assert (
        "column 'd' holds dates; make numbers of them, take them as names by --categories d" in told
    )
    assert call(*learn, "--drop", "d") == 0
    assert call(*learn, "--text", "d") == 0
    assert call(*learn, "--categories", "d") == 0
    as_text = written(tmp_path / "t.csv", dated(kind))
    for test in (train, as_text):
        line = ("svmcut classify", "-v", 0, "--labels", test, tmp_path / "model", tmp_path / "out")
        assert call(*line) == 0
        assert (tmp_path / "out").read_text().split() == dated(kind)["y"]


def test_dates_are_names_of_labels_and_groups_too(tmp_path):
    rows = dated("date")
    rows["d"] = [day.replace(day=1 + day.day % 2) for day in rows["d"]]
    table = written(tmp_path / "t.parquet", rows)
    assert call("svmcut learn", "-v", 0, "--label", "d", table, tmp_path / "model") == 0
    assert svmcut.load(tmp_path / "model").model.words == ("2020-01-01", "2020-01-02")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow"), "pip install pyarrow"),
        (ImportError("libarrow.so: cannot open\nshared object"), "libarrow.so: cannot open shared"),
        (ModuleNotFoundError("No module named 'numpy.core'", name="numpy.core"), "numpy.core"),
    ],
)
def test_why_pyarrow_is_not_there(monkeypatch, error, says):
    usual = builtins.__import__

    def failing(name, *words, **named):
        if name == "pyarrow":
            raise error
        return usual(name, *words, **named)

    monkeypatch.setattr(builtins, "__import__", failing)
    with pytest.raises(UsageError, match=says) as refusal:
        cells.import_pyarrow()
    assert ("not installed" in str(refusal.value)) == (says == "pip install pyarrow")


PEAK = """
import resource, sys
from svmcut.cli.start import main
status = main(sys.argv[1:])
print(status, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6)
"""


def trained(path, limit):
    """Status and peak of a run."""
    words = ["learn", "-v", "0", "--threads", "1", "--max-memory", str(limit), "--label", "y"]
    line = [sys.executable, "-c", PEAK, *words, str(path), "/dev/null"]
    status, peak = subprocess.run(line, capture_output=True, text=True).stdout.split()[-2:]
    return int(status), float(peak)


def wide(path, n, kind):
    rng = np.random.default_rng(1)
    number = "1.5,2.5,-1.25" if kind == "numbers" else "red,blue,-1"
    lines = [f"{number},{label}\n" for label in rng.choice(["a", "b"], 50)]
    path.write_text("x,z,w,y\n" + "".join(lines) * (n // 50))
    return path


def test_a_table_beyond_the_limit_is_refused(tmp_path, capfd):
    path = wide(tmp_path / "t.csv", 100_000, "numbers")
    assert call("svmcut learn", "--max-memory", 20, "--label", "y", path, tmp_path / "model") == 1
    assert "take more than 20 MB, the limit; raise --max-memory" in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["numbers", "names"])
def test_a_table_that_is_trained_stays_below_the_limit(tmp_path, kind):
    _, usual = trained(wide(tmp_path / "small.csv", 50, kind), 1000)
    path = wide(tmp_path / "t.csv", 1_000_000, kind)
    ends = [trained(path, limit) for limit in (100, 250, 400, 600, 1000)]
    statuses = [status for status, _ in ends]
    assert statuses == sorted(statuses, reverse=True) and {*statuses} == {0, 1}
    for (status, peak), limit in zip(ends, (100, 250, 400, 600, 1000), strict=True):
        assert status or peak - usual <= limit


def test_a_quoted_name_may_hold_newlines(tmp_path, capsys):
    rows = '"a","b\n""c""",y\n' + "1,x,p\n2,z,q\n" * 5
    (tmp_path / "t.csv").write_text(rows)
    train, model = str(tmp_path / "t.csv"), str(tmp_path / "model")
    assert call("svmcut learn", "--label", "y", train, model) == 0
    assert call("svmcut classify", train, model, str(tmp_path / "out")) == 0
    assert "100.00 %" in capsys.readouterr().out
    (tmp_path / "t.csv").write_text(rows + "3\n")
    assert call("svmcut learn", "--label", "y", train, model) == 1
    assert "row 11 has 1 columns; expected 3, as in the header" in capsys.readouterr().err
