# SPDX-License-Identifier: BSD-3-Clause
"""learn --certify-choice: what it writes and says, limits, resumed runs, and what is refused."""

import itertools
import json
import re

import pytest
from programs import BENCHMARKS, call

DATA = BENCHMARKS.parent / "data"
TRAIN, TEST = DATA / "wine.train", DATA / "wine.test"
ASKED = ("--example-cost", "0.001:10", "--certify-choice", "0.1")


def learn(*words):
    return call("svmcut learn", *words)


@pytest.mark.parametrize("held", [("--validate", TEST), ("--cv", "3")])
def test_the_model_of_the_chosen_C_alone_is_written(held, tmp_path, capsys):
    model, report, page = tmp_path / "m", tmp_path / "r", tmp_path / "p.html"
    assert learn(*ASKED, *held, "--report", report, TRAIN, model) == 0
    told, document = capsys.readouterr().out, json.loads(report.read_text())
    choice = document["choice"]
    assert choice["proven"] and choice["within"] <= 0.1 + 1e-12
    assert choice["errors"] == min(row["errors"] for row in choice["trained"])
    least = min(row["at_least"] for row in choice["intervals"])
    assert choice["errors"] - least == pytest.approx(choice["within"])
    ends = [(row["low"], row["high"]) for row in choice["intervals"]]
    assert ends[0][0] == 0.001 and ends[-1][1] == 10
    assert all(a[1] == b[0] for a, b in itertools.pairwise(ends))
    assert f"C = {choice['C']:g} has {100 * choice['errors']:.2f} % errors" in told
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "r"]
    alone = tmp_path / "alone"
    gap = next(row["gap"] for row in choice["trained"] if row["C"] == choice["C"])
    given = ("--example-cost", repr(choice["C"]), "--gap", repr(gap))
    assert learn("-v", "0", *given, TRAIN, alone) == 0
    assert alone.read_bytes() == model.read_bytes()
    capsys.readouterr()
    asked = ("--report", report, "--html", page)
    assert call("svmcut inspect", model, "--top", "1", *asked) == 0
    assert call("svmcut inspect", model, "--top", "1", "--report", report) == 0
    assert re.search(r"Choice of C\n +C +\S+\n +Errors", capsys.readouterr().out)
    assert "Errors over C" in page.read_text()


def test_inspect_knows_the_C_that_a_grid_chose(tmp_path, capsys):
    model, report = tmp_path / "m", tmp_path / "r"
    assert learn("--cv", "2", "--example-cost", "0.1,1", "--report", report, TRAIN, model) == 0
    assert call("svmcut inspect", model, "--report", report) == 0
    assert re.search(r"\n +C +(0.1|1) \(--example-cost\)", capsys.readouterr().out)


def test_a_limit_ends_it_with_status_3_and_a_resumed_run_proves_it(tmp_path, capsys):
    model, whole, kept, report = (tmp_path / name for name in "mwcr")
    asked = ("-v", "0", *ASKED, "--cv", "2")
    assert learn(*asked, TRAIN, whole) == 0
    limited = ("--time-limit", "1e-6", "--checkpoint", kept, "--report", report)
    assert learn(*asked, *limited, TRAIN, model) == 3
    assert "a limit came before the ends of the interval" in capsys.readouterr().err
    assert not json.loads(report.read_text())["choice"]["proven"]
    assert learn(*asked, "--checkpoint", kept, "--resume", TRAIN, model) == 0
    assert model.read_bytes() == whole.read_bytes()


def test_without_C_the_interval_is_that_of_cv(tmp_path, capsys):
    assert learn("--cv", "2", "--certify-choice", "0.5", TRAIN, tmp_path / "m") == 0
    assert "Choosing C from 0.0078125 to 128 by the errors on 2 folds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-c", "1:2"), "is chosen from by --certify-choice; add it"),
        (("-c", "1:2", "--certify-choice", "0.1"), "add --validate or --cv"),
        (("-c", "1,2", "--certify-choice", "0.1", "--cv", "2"), "give C as LOW:HIGH"),
        (("-c", "2:1", "--certify-choice", "0.1", "--cv", "2"), "'2:1' is no interval"),
        (("-c", "1:x", "--certify-choice", "0.1", "--cv", "2"), "'x'"),
        ((*ASKED, "--cv", "2", "-t", "rbf"), "is for two classes on features"),
        ((*ASKED, "--cv", "2", "--select", "f1"), "leave out --select"),
        ((*ASKED, "--cv", "2", "--free-bias"), "needs --no-free-bias"),
        ((*ASKED, "--cv", "2", "--epsilon", "0.1"), "give --gap"),
        ((*ASKED, "--cv", "2", "--validate", TEST), "one of them"),
    ],
)
def test_what_it_does_not_go_with_is_refused(words, said, tmp_path, capsys):
    assert learn(*words, TRAIN, tmp_path / "m") == 2
    assert said in capsys.readouterr().err and not (tmp_path / "m").exists()


@pytest.mark.parametrize("held", [("--validate", TEST), ("--cv", "3")])
def test_a_plain_grid_says_what_it_proves(held, tmp_path, capsys):
    values = ",".join(f"{0.004 * 1.15**k:.4g}" for k in range(12))
    model, report, page = tmp_path / "m", tmp_path / "r", tmp_path / "p.html"
    asked = ("--example-cost", values, "--gap", "1e-4", "--report", report, *held)
    assert learn(*asked, TRAIN, model) == 0
    told, document = capsys.readouterr().out, json.loads(report.read_text())
    choice = document["choice"]
    least = 100 * (choice["errors"] - choice["within"])
    assert least > 0 and len(choice["intervals"]) == 11 and "proven" not in choice
    line = f"No C from 0.004 to {values.split(',')[-1]} has fewer than {least:.2f} % errors"
    assert f"{line}: none is better by more than {100 * choice['within']:.2f} %" in told
    if held[0] == "--validate":
        shares = {row["C"]: row["validation"]["accuracy"] for row in document["path"]}
        for row in choice["trained"]:
            assert row["errors"] == pytest.approx(1 - shares[row["C"]] / 100)
        assert learn(*asked, "--threads", "1", TRAIN, model) == 0
        assert json.loads(report.read_text())["choice"] == choice
        return
    assert call("svmcut inspect", model, "--report", report, "--html", page) == 0
    assert "Errors over C" in page.read_text()
    assert learn("--no-certify", *asked, TRAIN, model) == 0
    assert "choice" not in json.loads(report.read_text())


def test_a_resumed_grid_says_where_it_proves_something(tmp_path, capsys):
    words = ("--cv", "2", "--example-cost", "0.1,1", "--checkpoint", tmp_path / "k")
    words = (*words, "--report", tmp_path / "r", TRAIN, tmp_path / "m")
    assert learn("--time-limit", "1e-9", *words) == 3
    capsys.readouterr()
    assert learn("--resume", *words) == 0
    assert "known where one machine trains it in one run" in capsys.readouterr().out
    assert "choice" not in json.loads((tmp_path / "r").read_text())
