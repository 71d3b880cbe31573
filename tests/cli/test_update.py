# SPDX-License-Identifier: BSD-3-Clause
"""learn --added and --removed: what is proven before training, what training finds, refusals."""

import json
from pathlib import Path

import pytest
from programs import BENCHMARKS, call

from svmcut.formats import read_model, write_model

DATA = BENCHMARKS.parent / "data"
TRAIN, TEST = DATA / "text.train", DATA / "text.test"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The model of text.train, ten of its rows, and the others."""
    monkeypatch.chdir(tmp_path)
    lines = TRAIN.read_text().splitlines(keepends=True)
    (tmp_path / "gone").write_text("".join(lines[100:110]))
    (tmp_path / "rest").write_text("".join(lines[:100] + lines[110:]))
    keep = ("-v", 0, "--example-cost", 0.1, "--gap", "1e-5", "--keep-multipliers")
    assert call("svmcut learn", *keep, TRAIN, "old") == 0
    return tmp_path


def learn(*words, status=0):
    assert call("svmcut learn", *words) == status


def report():
    return json.loads(Path("report").read_text())


def test_rows_are_forgotten_and_come_back(folder, capsys):
    learn("--initial", "old", "--removed", "gone", "--report", "report", TRAIN, "less")
    told = capsys.readouterr().out
    assert "Rows           10 removed and 0 added since the earlier model" in told
    assert "bounded by the earlier training" in told and "0 iterations" in told
    assert report()["stopped_by"] == "bounded" and report()["rows_removed"] == 10
    assert call("svmcut classify", "--certify", TEST, "less", "p") == 0
    proven = int(capsys.readouterr().out.split("Certified: ")[1].split()[0])
    aim = ("--until-decided", TEST, "--fraction", proven / 600, "--report", "report")
    learn("--initial", "old", "--removed", "gone", *aim, TRAIN, "same")
    known = report()
    assert known["decided"] == proven > 200 and known["decided_rounds"] == 0
    assert (
        f"Unchanged      {known['unchanged']} of the labels are those of" in capsys.readouterr().out
    )
    assert (folder / "same").read_bytes() == (folder / "less").read_bytes()
    closer = ("--gap", "1e-6", "--keep-multipliers", "--report", "report")
    learn("--initial", "old", "--removed", "gone", *closer, TRAIN, "trained")
    learn("-v", 0, "--example-cost", 0.1, "--gap", "1e-6", "rest", "cold")
    cold, trained = read_model("cold").certificate, read_model("trained").certificate
    assert trained[0] <= 1e-6 * report()["primal"] and abs(trained[1] - cold[1]) < cold[1]
    learn("--initial", "trained", "--added", "gone", *closer, "rest", "back")
    assert report()["rows_added"] == 10 and report()["converged"]
    assert len(read_model("back").multipliers[1]) > 100


def test_a_model_with_multipliers_is_written_and_read_whole(folder):
    model = read_model("old")
    write_model("copy", model)
    assert (folder / "copy").read_bytes() == (folder / "old").read_bytes()
    assert call("svmcut inspect", "old") == 0
    learn("-v", 0, "--example-cost", 0.1, "--gap", "1e-5", TRAIN, "bare")
    words = ("-v", 0, "--example-cost", 0.1, "--gap", "1e-5", "--keep-multipliers", "--threads")
    for threads in (1, 2):
        learn(*words, threads, TRAIN, f"m{threads}")
    assert (folder / "m1").read_bytes() == (folder / "m2").read_bytes()
    assert read_model("bare").multipliers is None


def test_a_kernel_machine_and_a_loss_are_those_of_the_model(folder, capsys):
    for name, words in {
        "kernel": ("-t", "rbf", "-g", "0.05", "--example-cost", "1", "--gap", "1e-4"),
        "logistic": ("-l", "logistic", "--example-cost", "0.1", "--gap", "1e-5"),
    }.items():
        learn("-v", 0, *words, "--keep-multipliers", TRAIN, name)
        learn("--initial", name, "--removed", "gone", "--report", "report", TRAIN, "less")
        known = report()
        assert known["rows_removed"] == 10 and known["iterations"] == 0
        assert known["loss"] == ("logistic" if name == "logistic" else "error-rate")
        assert read_model("less").certificate[1] > 0
    assert read_model("less").loss == "logistic"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--removed", "gone", TRAIN), "--removed changes the rows of a model; name it with"),
        (("--initial", "bare", "--removed", "gone", TRAIN), "bare: the model keeps no multipliers"),
        (("--initial", "old", "--removed", TEST, TRAIN), "text.test:1: this row, with its label"),
        (("--initial", "old", "--removed", "gone", "rest"), "gone:1: this row, with its label, is"),
        (("--initial", "old", "--added", "gone", "rest"), "are not in rest; give the rows that it"),
        (("--initial", "old", "--added", "gone", "--cv", "3", TRAIN), "does not go with --cv"),
        (("--initial", "old", "--added", "gone", "-c", "1,2", TRAIN), "is for one model; give"),
        (
            ("--initial", "old", "--added", "gone", "--solver", "newton", TRAIN),
            "give --solver dual",
        ),
        (("--initial", "old", "--added", "gone", "--no-certify", TRAIN), "leaves out"),
        (("--keep-multipliers", "-l", "f1", "-c", "1", TRAIN), "--keep-multipliers is for two"),
    ],
)
def test_what_is_no_update_is_refused(folder, words, said, capsys):
    learn("-v", 0, TRAIN, "bare")
    status = call("svmcut learn", *words, "out")
    told = capsys.readouterr().err
    assert status in (1, 2) and said in told and not (folder / "out").exists(), told
