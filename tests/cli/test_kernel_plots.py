# SPDX-License-Identifier: BSD-3-Clause
"""benchmarks/kernel_plots.py records curves of kernel trainers and draws them."""

import csv
import gzip
import math
import shutil

import pytest
from programs import BENCHMARKS, benchmark

WINE = [BENCHMARKS.parent / "data" / f"wine.{part}" for part in ("train", "test")]
PEER = shutil.which("svm-train") is not None


def rows_of(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture
def draw(monkeypatch, capsys):
    """A figure of a CSV file, drawn in this process; the lines it prints."""
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import kernel_plots

    def call(target, source):
        capsys.readouterr()
        kernel_plots.draw(target, source)
        return capsys.readouterr().out.splitlines()

    return call


def draws_the_same(draw, folder, name, label):
    """The table of a figure that has a label and the same bytes twice."""
    drawn = []
    for _ in range(2):
        table = draw(folder / f"{name}.svg", folder / f"{name}.csv")
        drawn.append((folder / f"{name}.svg").read_bytes())
    assert drawn[0] == drawn[1] and label in drawn[0]
    return table


@pytest.mark.slow
def test_growth_is_recorded_once_and_drawn(tmp_path, draw):
    words = ("kdd2008.py", "rows", "growth.csv", "--seeds", 1, "-n")
    benchmark(tmp_path, *words, 60)
    first = rows_of(tmp_path / "growth.csv")
    trainers = [row["curve"] for row in first]
    assert trainers == ["smo", "subspace", "sampled-cuts", "constant-cuts"]
    assert all(0 <= float(row[name]) <= 60 for row in first for name in ("train_error", "error"))
    with (tmp_path / "growth.csv").open("a") as output:
        output.writelines(
            f"checkers,{name},120,0,1.0,10,50,5.0,{k}.25\n" for k, name in enumerate(trainers[1:])
        )
    benchmark(tmp_path, *words, 60, 120)
    found = rows_of(tmp_path / "growth.csv")
    assert found[:4] == first and [(row["curve"], row["x"]) for row in found[7:]] == [
        ("smo", "120")
    ]
    table = draws_the_same(draw, tmp_path, "growth", b"sampled-cuts")
    assert sum(line.startswith("| checkers |") for line in table) >= 8
    assert any(
        line.startswith("| checkers | sampled-cuts | 120 | 1 |") and "1.25" in line
        for line in table
    )


def test_growth_is_printed(tmp_path):
    words = ("--growth", "-n", 50, "-g", 8, "-r", 20, "--solvers", "smo", "-c", 1)
    printed = benchmark(tmp_path, "sampled_cuts.py", *words)
    (row,) = printed[2:]
    assert 0 <= float(row.split("|")[-2]) <= 60


@pytest.mark.slow
def test_samples_are_recorded_and_drawn(tmp_path, draw):
    words = ("--gamma", 0.1, "-r", 10, 40, "--example-costs", 1, "--seeds", 1)
    benchmark(tmp_path, "kdd2008.py", "samples", "samples.csv", "--files", *WINE, *words)
    found = rows_of(tmp_path / "samples.csv")
    assert [(row["panel"], row["curve"], row["x"]) for row in found] == [
        (solver, "C = 1", r) for r in ("10", "40") for solver in ("constant-cuts", "sampled-cuts")
    ]
    assert all(float(row["error"]) < 20 and float(row["iterations"]) > 1 for row in found)
    assert (
        sum("| C = 1 |" in line for line in draws_the_same(draw, tmp_path, "samples", b"C = 1"))
        >= 4
    )


@pytest.mark.slow
def test_evaluations_are_recorded_and_drawn(tmp_path, draw):
    (tmp_path / "adult").mkdir()
    for name, path in zip(("a9a.gz", "a9a.t.gz"), WINE):
        (tmp_path / "adult" / name).write_bytes(gzip.compress(path.read_bytes()))
    words = ("--data", tmp_path, "--epochs", 0.5, "--seeds", 2)
    benchmark(tmp_path, "kernel_plots.py", "evaluations", "evaluations.csv", "adult", *words)
    table = draws_the_same(draw, tmp_path, "evaluations", b"sdca iid")
    points = {
        (row["curve"], row["x"]): float(row["error"])
        for row in rows_of(tmp_path / "evaluations.csv")
    }
    assert table[0].endswith("| 0.0625 | 0.125 | 0.25 | 0.5 |")
    (sbp,) = (line for line in table if "| sbp |" in line)
    mean, _, deviation = sbp.split("|")[-2].partition("±")
    assert float(mean) == pytest.approx(points["sbp", "0.5"], abs=0.006) and 0 <= float(mean) < 30
    assert float(deviation) >= 0


@pytest.mark.slow
def test_budget_is_recorded_and_drawn(tmp_path, draw):
    text = f"wine={WINE[0]},{WINE[1]}:2:0.1"
    benchmark(
        tmp_path,
        "kernel_plots.py",
        "budget",
        "budget.csv",
        text,
        *("-B", 5, 20, "--epochs", 3, "--peers"),
    )
    found = rows_of(tmp_path / "budget.csv")
    assert [row["epoch"] for row in found if (row["curve"], row["budget"]) == ("bsca", "20")] == [
        "1",
        "2",
        "3",
    ]
    ends = [row for row in found if math.isnan(float(row["epoch"]))]
    assert [row["curve"] for row in ends] == 2 * ["bsca, polished", "bsgd, polished"] + [
        "smo"
    ] + PEER * ["svm-train"]
    assert all(float(row["error"]) < 10 for row in ends)
    table = draw(tmp_path / "budget.svg", tmp_path / "budget.csv")
    assert len(table) == 2 + 2 * 4 + 1 + PEER
    assert (tmp_path / "budget.svg").read_text().startswith("<?xml")


@pytest.mark.slow
def test_states_of_a_budget_are_drawn(tmp_path, draw):
    lines = [
        f"wine,{solver},{B},{epoch},{9 / epoch},{dual},{90 + epoch},{B / 2}"
        for solver, dual in (("bsca", 1.5), ("bsgd", "nan"))
        for B in (5, 20)
        for epoch in (1, 2)
    ]
    head = "panel,curve,budget,epoch,primal,dual,accuracy,merging"
    (tmp_path / "states.csv").write_text("\n".join([head, *lines, ""]))
    table = draws_the_same(draw, tmp_path, "states", b"bsca, B = 20")
    assert table[2] == "| wine | bsca | 5 | 4.5 | 1.5 | 92.00 | 2.5 |" and table[3].endswith(
        "| 92.00 | 10.0 |"
    )
    assert len(table) == 2 + 4 and "nan" in table[4]


def test_a_file_of_others_is_refused(tmp_path, draw):
    (tmp_path / "a.csv").write_text("trainer,seconds\nbcfw,1\n")
    with pytest.raises(SystemExit, match=r"a\.csv:1: its columns"):
        draw(tmp_path / "a.svg", tmp_path / "a.csv")
